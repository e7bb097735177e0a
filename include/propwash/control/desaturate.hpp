#pragma once
/// @file
/// Allocation that gives up what can be spared first: yaw torque, then thrust, then tilt torque.
///
/// Beside the paper's clipping (allocation.hpp), which limits each rotor by itself and so turns a
/// wish for yaw into a loss of tilt and thrust; see docs/control/outer-loops.md.

#include "propwash/control/allocation.hpp"

namespace propwash {

/// Whether each rotor has a share of the thrust, as `allocate_prioritised` asks.
template <class P, int N>
bool can_prioritise(const Allocation<P, N>& allocation) {
  for (const P share : allocation.squares_from_wrench[3]) {
    if (!(share > P(0))) return false;
  }
  return true;
}

/// (23) with priorities: torque about body x and y is kept and thrust is changed as little as that
/// needs, then torque about body z takes what the rotors have left. Where the wrench can be had,
/// with and without its yaw, it is `allocate`. What it gives changes without jumps. For what
/// `can_prioritise`. rad/s.
template <class T, class P, int N>
PROPWASH_FN SmallArray<T, N> allocate_prioritised(const Allocation<P, N>& allocation,
                                                  const Wrench<T>& wrench) {
  const int rotors = allocation.rotors();
  const auto low = [&](int i) PROPWASH_LAMBDA { return T(signed_square(allocation.speed_min[i])); };
  const auto high = [&](int i)
                        PROPWASH_LAMBDA { return T(signed_square(allocation.speed_max[i])); };
  const auto& from = allocation.squares_from_wrench;
  const T one(constant<T>(1));
  const T zero(constant<T>(0));
  const auto tilt_of = [&](int i) PROPWASH_LAMBDA {
    return wrench.torque.x * from[0][i] + wrench.torque.y * from[1][i];
  };
  // rotor i allows thrusts from (low_i - s t_i) / c_i to (high_i - s t_i) / c_i, with its share c_i
  // and s times the torque: s is the greatest that leaves a thrust that all of them allow
  const T tiny(constant<T>(1e-20));
  T tilt = one;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    for_each_index<N>(rotors, [&](int j) PROPWASH_LAMBDA {
      const T apart = tilt_of(i) / from[3][i] - tilt_of(j) / from[3][j];
      const T room = max(high(i) / from[3][i] - low(j) / from[3][j], zero);
      tilt = min(tilt, select(zero < apart, room / max(max(apart, room), tiny), one));
    });
  });
  const T far(constant<T>(1e30));
  T least = -far, most = far;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    least = max(least, (low(i) - tilt_of(i) * tilt) / from[3][i]);
    most = min(most, (high(i) - tilt_of(i) * tilt) / from[3][i]);
  });
  const T thrust = max(min(wrench.thrust, most), least);
  T yaw = one;
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    const T base = tilt_of(i) * tilt + thrust * from[3][i];
    const T wish = wrench.torque.z * from[2][i];
    const T margin = max(select(wish < zero, base - low(i), high(i) - base), zero);
    yaw = min(yaw, margin / max(max(abs(wish), margin), tiny));
  });
  SmallArray<T, N> speeds;
  speeds.resize(rotors);
  for_each_index<N>(rotors, [&](int i) PROPWASH_LAMBDA {
    const T square = tilt_of(i) * tilt + thrust * from[3][i] + wrench.torque.z * from[2][i] * yaw;
    speeds[i] = clamp(signed_sqrt(square), allocation.speed_min[i], allocation.speed_max[i]);
  });
  return speeds;
}

}  // namespace propwash
