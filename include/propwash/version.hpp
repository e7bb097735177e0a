#pragma once
/// @file
/// The version. CMake and the Python package parse this file.

#define PROPWASH_VERSION_MAJOR 0
#define PROPWASH_VERSION_MINOR 1
#define PROPWASH_VERSION_PATCH 0
#define PROPWASH_VERSION "0.1.0"
