#pragma once
/// @file
/// Lead compensation of the motor lag, and of the reaction torque of accelerating rotors.
///
/// Equations (O25) to (O27) of docs/control/motor_lead.md. The present rotor speeds are known, so
/// commands can be chosen that replace the lag (1) by a faster one, as Tal and Karaman do for yaw
/// ("Accurate Tracking of Aggressive Quadrotor Trajectories using Incremental Nonlinear Dynamic
/// Inversion and Differential Flatness", IEEE TCST 29, 2021).

#include "propwash/control/allocation.hpp"

namespace propwash {

/// The motor lead of the trajectory controllers.
template <class P>
struct MotorLead {
  PerRotor<P> up{};    ///< -, >= 1, factor on a desired increase of rotor speed
  PerRotor<P> down{};  ///< -, >= 1, factor on a desired decrease
  P time_constant{};   ///< s, of the rotors with lead
  P reaction_time{};   ///< s, (O26) at hover_thrust
  P hover_thrust{};    ///< N
};

/// (O25) Commands [rad/s], within the speed limits, for rotors at speeds `present` to reach
/// `desired` with the time constant of the lead.
template <class T, class P, class Q, int N>
PROPWASH_FN SmallArray<T, N> lead_compensated_speeds(const MotorLead<P>& lead,
                                                     const Allocation<Q, N>& allocation,
                                                     const SmallArray<T, N>& desired,
                                                     const SmallArray<T, N>& present) {
  SmallArray<T, N> speeds;
  speeds.resize(desired.size());
  for_each_index<N>(desired.size(), [&](int i) PROPWASH_LAMBDA {
    const T change = desired[i] - present[i];
    const T factor = select(change > T(constant<T>(0)), T(lead.up[i]), T(lead.down[i]));
    speeds[i] =
        clamp(present[i] + change * factor, allocation.speed_min[i], allocation.speed_max[i]);
  });
  return speeds;
}

/// (O26) T_r [s] at a thrust [N]: the reaction torque of rotor accelerations about body z is T_r
/// times the time derivative of the steady-state yaw torque of the rotors. T_r is inversely
/// proportional to rotor speed, that is to the square root of thrust.
template <class T, class P>
PROPWASH_FN T reaction_time(const MotorLead<P>& lead, const T& thrust) {
  const T hover(lead.hover_thrust);
  return sqrt(hover / max(thrust, hover * constant<T>(0.1))) * lead.reaction_time;
}

/// (O27) Yaw torque [N m] to allocate such that, with the reaction torque of the rotor
/// accelerations, the present torque is `desired`. Equals `desired` if T_r is shorter than the time
/// constant of the lead. `present` is the wrench at the present rotor speeds.
template <class T, class P>
PROPWASH_FN T lead_compensated_yaw_torque(const MotorLead<P>& lead, const T& desired,
                                          const Wrench<T>& present) {
  const T time(lead.time_constant);
  const T fraction = time / max(time, reaction_time(lead, present.thrust));
  return present.torque_B.z + (desired - present.torque_B.z) * fraction;
}

}  // namespace propwash
