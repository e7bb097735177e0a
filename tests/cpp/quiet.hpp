#pragma once
/// @file
/// A multicopter's options without noise.

#include <propwash/vehicle/multicopter.hpp>

inline propwash::MulticopterOptions quiet(
    propwash::Integrator integrator = propwash::Integrator::rk4) {
  propwash::MulticopterOptions options;
  options.integrator = integrator;
  options.noise = false;
  return options;
}
