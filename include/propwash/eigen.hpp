#pragma once
/// @file
/// Conversion from and to Eigen.

#include "propwash/math/eigen.hpp"
