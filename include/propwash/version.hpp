#pragma once
/// @file
/// The version, stated here and nowhere else: CMake and the Python package read it from this text.

#define PROPWASH_VERSION_MAJOR 0
#define PROPWASH_VERSION_MINOR 1
#define PROPWASH_VERSION_PATCH 0
#define PROPWASH_VERSION "0.1.0"
