#pragma once
/// @file
/// Motor lag: rotor speed follows its command with a first-order lag.
///
/// Equation (1) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see docs/model/motor.md.

#include "propwash/math/per_rotor.hpp"

namespace propwash {

/// Parameters of the motors. All but offset and delay may differ between motors.
template <class P>
struct MotorParameters {
  PerRotor<P> time_constant_up{};    ///< s, tau_m while the speed rises
  PerRotor<P> time_constant_down{};  ///< s, tau_m while the speed falls
  PerRotor<P> speed_min{};           ///< rad/s, lowest speed; commands are limited to it
  PerRotor<P> speed_max{};           ///< rad/s, highest speed; commands are limited to it
  P speed_offset{};   ///< c_0: speed at duty cycle 0, extrapolated, over speed_max; 0 in the papers
  P command_delay{};  ///< s, dead time between command and lag; 0 in the papers
  PROPWASH_MEMBERS(time_constant_up, time_constant_down, speed_min, speed_max, speed_offset,
                   command_delay)
};

/// Steady rotor speed [rad/s] at the nominal voltage for a duty cycle from 0 to 1, affine: Quan,
/// "Introduction to Multicopter Design and Control", 2017, chapter 6.
template <class T, class P>
PROPWASH_FN T speed_at_duty(const T& duty, const P& speed_max, const P& speed_offset) {
  return (duty * (P(constant<P>(1)) - speed_offset) + speed_offset) * speed_max;
}

/// Equal time constants for spin-up and spin-down, as in the paper.
template <class P>
struct MotorLag {
  P rate{};  ///< 1/s, 1 / tau_m
  PROPWASH_MEMBERS(rate)
};

/// Different time constants for spin-up and spin-down, typical of brushed motors.
template <class P>
struct AsymmetricMotorLag {
  P rate_up{};    ///< 1/s
  P rate_down{};  ///< 1/s
  PROPWASH_MEMBERS(rate_up, rate_down)
};

/// (1) dw/dt = (w_c - w) / tau_m, rad/s^2.
template <class T, class P>
PROPWASH_FN T rotor_acceleration(const MotorLag<P>& lag, const T& speed, const T& command) {
  return (command - speed) * lag.rate;
}
template <class T, class P>
PROPWASH_FN T rotor_acceleration(const AsymmetricMotorLag<P>& lag, const T& speed,
                                 const T& command) {
  const T difference = command - speed;
  return difference * select(difference > T(constant<T>(0)), T(lag.rate_up), T(lag.rate_down));
}

}  // namespace propwash
