#pragma once
/// @file
/// Lead compensation of the motor lag, and of the yaw torque of accelerating rotors.
///
/// Equations (O25) to (O27) of docs/control/motor_lead.md. The present rotor speeds are known, so
/// the lag (1) is inverted for a faster one, as Tal and Karaman do for yaw ("Accurate Tracking of
/// Aggressive Quadrotor Trajectories using Incremental Nonlinear Dynamic Inversion and Differential
/// Flatness", IEEE TCST 29, 2021).

#include "propwash/control/allocation.hpp"

namespace propwash {

/// The motors as the trajectory controllers drive them.
template <class P>
struct MotorLead {
  PerRotor<P> up{};    ///< -, factor on a wanted rise of a rotor's speed, >= 1
  PerRotor<P> down{};  ///< -, the same of a fall
  P time_constant{};   ///< s, of the rotors with the lead
  P reaction_time{};   ///< s, (O26) in hover
  P hover_thrust{};    ///< N, for which reaction_time is given
};

/// (O25) Commands [rad/s], within the motors' range, with which rotors at the speeds `present`
/// reach `wanted` with the time constant of the lead.
template <class T, class P, class Q, int N>
PROPWASH_FN SmallArray<T, N> led_speeds(const MotorLead<P>& lead,
                                        const Allocation<Q, N>& allocation,
                                        const SmallArray<T, N>& wanted,
                                        const SmallArray<T, N>& present) {
  SmallArray<T, N> speeds;
  speeds.resize(wanted.size());
  for_each_index<N>(wanted.size(), [&](int i) PROPWASH_LAMBDA {
    const T change = wanted[i] - present[i];
    const T factor = select(change > T(constant<T>(0)), T(lead.up[i]), T(lead.down[i]));
    speeds[i] =
        clamp(present[i] + change * factor, allocation.speed_min[i], allocation.speed_max[i]);
  });
  return speeds;
}

/// (O26) T_r [s] at a thrust [N]: the torque about body z of the rotors' acceleration is T_r times
/// the rate of that of their speeds. It is inverse to the speed, the root of the thrust.
template <class T, class P>
PROPWASH_FN T reaction_time(const MotorLead<P>& lead, const T& thrust) {
  const T hover(lead.hover_thrust);
  return sqrt(hover / max(thrust, hover * constant<T>(0.1))) * lead.reaction_time;
}

/// (O27) Torque about body z [N m] to allocate, so that together with that of the rotors'
/// acceleration it is `wanted` at once; where T_r is shorter than the lead's time constant,
/// `wanted`. `present` is what the rotors give at their present speeds.
template <class T, class P>
PROPWASH_FN T led_yaw_torque(const MotorLead<P>& lead, const T& wanted, const Wrench<T>& present) {
  const T time(lead.time_constant);
  const T fraction = time / max(time, reaction_time(lead, present.thrust));
  return present.torque_B.z + (wanted - present.torque_B.z) * fraction;
}

}  // namespace propwash
