#pragma once
/// @file
/// A multicopter's options without noise, which most laws are stated for.

#include <propwash/vehicle/multicopter.hpp>

inline propwash::MulticopterOptions quiet(
    propwash::Integrator integrator = propwash::Integrator::rk4) {
  propwash::MulticopterOptions options;
  options.integrator = integrator;
  options.noise = false;
  return options;
}
