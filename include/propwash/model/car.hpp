#pragma once
/// @file
/// The Dubins car: a point that moves along its heading at the commanded speed.
///
/// Equations (24) to (26) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/model/car.md.

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// State of a car in the plane.
template <class T>
struct CarState {
  T x{};        ///< m, world frame
  T y{};        ///< m, world frame
  T heading{};  ///< rad, psi: counter-clockwise from world x, not wrapped
  PROPWASH_MEMBERS(x, y, heading)
};

template <class A, class B>
PROPWASH_FN auto operator+(const CarState<A>& a, const CarState<B>& b) {
  return CarState<decltype(a.x + b.x)>{a.x + b.x, a.y + b.y, a.heading + b.heading};
}
template <class T, class S>
PROPWASH_FN auto operator*(const CarState<T>& a, const S& s) {
  return CarState<decltype(a.x * s)>{a.x * s, a.y * s, a.heading * s};
}

/// (24), (25) dp/dt = R_psi ([u_v 0]^T + w_v), dpsi/dt = u_psi. `speed` [m/s] is u_v, `yaw_rate`
/// [rad/s] is u_psi, `noise_forward` and `noise_left` [m/s] are a sample of w_v (26) in body axes.
template <class T>
PROPWASH_FN CarState<T> car_derivative(const CarState<T>& state, const T& speed, const T& yaw_rate,
                                       const T& noise_forward, const T& noise_left) {
  const T cosine = cos(state.heading);
  const T sine = sin(state.heading);
  const T forward = speed + noise_forward;
  return {cosine * forward - sine * noise_left, sine * forward + cosine * noise_left, yaw_rate};
}

}  // namespace propwash
