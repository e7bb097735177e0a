#pragma once
/// @file
/// Control allocation with priorities: saturation reduces yaw torque first, then changes thrust,
/// then reduces roll and pitch torque.
///
/// Equations (O28) to (O30) of docs/control/allocation.md. The clipping of the paper
/// (allocation.hpp) limits each rotor separately, so a yaw command also changes roll and pitch
/// torque and thrust.

#include "propwash/control/allocation.hpp"

namespace propwash {

/// Whether every rotor contributes to thrust, as allocate_prioritised requires.
template <class P, int N>
bool can_prioritise(const Allocation<P, N>& allocation) {
  for (const P per_thrust : allocation.squares_from_wrench[3]) {
    if (!(per_thrust > P(0))) return false;
  }
  return true;
}

/// Rotor speeds [rad/s] by (23) with priorities: preserves the torque about body x and y with the
/// smallest possible change of thrust, then limits the torque about body z to the remaining range
/// of the rotors. If no rotor saturates, with or without the yaw torque, the result is that of
/// allocate(). The output is a continuous function of the wrench. Requires can_prioritise.
template <class T, class P, int N>
PROPWASH_FN SmallArray<T, N> allocate_prioritised(const Allocation<P, N>& allocation,
                                                  const Wrench<T>& wrench) {
  const int rotors = allocation.rotors();
  const auto low = [&](int i) PROPWASH_LAMBDA { return T(signed_square(allocation.speed_min[i])); };
  const auto high = [&](int i)
                        PROPWASH_LAMBDA { return T(signed_square(allocation.speed_max[i])); };
  const auto& from = allocation.squares_from_wrench;
  const auto& per_thrust = from[3];
  const T one(constant<T>(1));
  const T zero(constant<T>(0));
  const T tiny(constant<T>(1e-20));
  const auto tilt_of = [&](int i) PROPWASH_LAMBDA {
    return wrench.torque_B.x * from[0][i] + wrench.torque_B.y * from[1][i];
  };
  // (O28): every pair of rotors must have a feasible common thrust
  T tilt_fraction = one;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    for_each_index<N>(rotors, [&](int j) PROPWASH_LAMBDA {
      const T difference = tilt_of(i) / per_thrust[i] - tilt_of(j) / per_thrust[j];
      const T range = max(high(i) / per_thrust[i] - low(j) / per_thrust[j], zero);
      const T fraction = range / max(max(difference, range), tiny);
      tilt_fraction = min(tilt_fraction, select(zero < difference, fraction, one));
    });
  });
  // (O29)
  const T infinite(constant<T>(1e30));
  T thrust_min = -infinite, thrust_max = infinite;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    thrust_min = max(thrust_min, (low(i) - tilt_of(i) * tilt_fraction) / per_thrust[i]);
    thrust_max = min(thrust_max, (high(i) - tilt_of(i) * tilt_fraction) / per_thrust[i]);
  });
  const T thrust = max(min(wrench.thrust, thrust_max), thrust_min);
  // (O30)
  T yaw_fraction = one;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    const T base = tilt_of(i) * tilt_fraction + thrust * per_thrust[i];
    const T desired = wrench.torque_B.z * from[2][i];
    const T margin = max(select(desired < zero, base - low(i), high(i) - base), zero);
    yaw_fraction = min(yaw_fraction, margin / max(max(abs(desired), margin), tiny));
  });
  SmallArray<T, N> speeds;
  speeds.resize(rotors);
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    const T square = tilt_of(i) * tilt_fraction + thrust * per_thrust[i] +
                     wrench.torque_B.z * from[2][i] * yaw_fraction;
    speeds[i] = clamp(signed_sqrt(square), allocation.speed_min[i], allocation.speed_max[i]);
  });
  return speeds;
}

}  // namespace propwash
