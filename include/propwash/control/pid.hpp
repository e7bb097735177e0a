#pragma once
/// @file
/// PID with the derivative on the measurement and a bounded integrator.
///
/// Equations (20) and (21) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/control/pid.md.

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// Gains of a PID controller for one axis.
template <class P>
struct PidParameters {
  P proportional{};  ///< gain on the error
  P integral{};      ///< gain on the integral of the error, 1/s times the unit of proportional
  P derivative{};  ///< gain on the derivative of the measurement, s times the unit of proportional
  P integral_bound{};  ///< limit of the integral, +-bound, unit of the error times s
  PROPWASH_MEMBERS(proportional, integral, derivative, integral_bound)
};

/// The integral of the error after dt [s], limited.
template <class T, class P>
PROPWASH_FN T pid_integral(const PidParameters<P>& pid, const T& integral, const T& error,
                           const P& dt) {
  const T bound(pid.integral_bound);
  return max(min(integral + error * dt, bound), -bound);
}

/// (20) K_P e + K_I int(e) - K_D d(measurement)/dt; `integral` is that of pid_integral.
template <class T, class P>
PROPWASH_FN T pid_output(const PidParameters<P>& pid, const T& error, const T& integral,
                         const T& measurement_derivative) {
  return error * pid.proportional + integral * pid.integral -
         measurement_derivative * pid.derivative;
}

}  // namespace propwash
