#pragma once
/// @file
/// The version. CMake and the Python package parse this file.

/// Major version.
#define PROPWASH_VERSION_MAJOR 0
/// Minor version.
#define PROPWASH_VERSION_MINOR 3
/// Patch version.
#define PROPWASH_VERSION_PATCH 0
/// The version as text.
#define PROPWASH_VERSION "0.3.0"
