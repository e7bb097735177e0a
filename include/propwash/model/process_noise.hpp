#pragma once
/// @file
/// Process noise: continuous white noise in force and torque, sampled once per step and held.
///
/// Equation (10) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/model/process_noise.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Densities of the random force and torque.
template <class P>
struct ProcessNoiseParameters {
  P force{};   ///< N^2 s, W_f: intensity of the white force on each world axis
  P torque{};  ///< (N m)^2 s, W_mu: intensity of the white torque on each body axis
};

/// (10) standard deviation of a sample held for dt [s], sqrt(W / dt). The integral over a time t
/// then has variance W t, independent of dt.
template <class P>
PROPWASH_FN P held_noise_deviation(const P& intensity, const P& dt) {
  return sqrt(intensity / dt);
}

}  // namespace propwash
