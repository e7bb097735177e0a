#pragma once
/// @file
/// Conversion of actions in [-1, 1] to commands of a fleet, scaled by the nominal vehicle.

#include <cstddef>
#include <cstdint>

#include "propwash/math/finite.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::learn {

/// Result of clip_actions().
struct Clipped {
  bool any = false;         ///< whether an action was out of range or NaN
  std::ptrdiff_t bad = -1;  ///< index of the first row with a NaN, -1 without one
};

/// Clips actions (size, width) to [-1, 1]. counts (size): number of clipped actions in each row,
/// written only if any action is out of range. ignored (size, or null): rows that may contain any
/// values and are not counted.
template <class T>
Clipped clip_actions(const T* actions, std::size_t size, std::size_t width, const bool* ignored,
                     T* clipped, std::int32_t* counts) {
  int outside = 0;
  for (std::size_t i = 0; i < size * width; ++i) {
    const T x = actions[i];
    const T low = x > T(-1) ? x : T(-1);
    clipped[i] = low < T(1) ? low : T(1);
    // compared as integers, greater magnitudes and NaN are above 1
    const auto magnitude = propwash::detail::plain_bits(x) << 1;
    outside |= static_cast<int>(magnitude > propwash::detail::plain_bits(T(1)) << 1);
  }
  Clipped found;
  if (outside == 0) return found;
  for (std::size_t row = 0; row < size; ++row) {
    counts[row] = 0;
    const bool is_ignored = ignored != nullptr && ignored[row];
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const bool is_number = !is_nan(actions[i]);
      if (!is_number) clipped[i] = T(0);
      if (is_ignored || (is_number && clipped[i] == actions[i])) continue;
      if (!is_number && found.bad < 0) found.bad = static_cast<std::ptrdiff_t>(row);
      ++counts[row];
      found.any = true;
    }
  }
  return found;
}

/// Three body rates and the collective thrust. Thrust is 0 for an action of -1, the weight for 0,
/// the maximum for 1, and linear between them.
template <class T>
struct RateThrustAction {
  Vec3<T> max_rates;  ///< rad/s, for an action of 1
  T weight;           ///< N
  T reserve;          ///< N, maximum thrust minus weight

  void operator()(const T* action, std::size_t size, T* rates, T* thrust) const {
    for (std::size_t i = 0; i < size; ++i, action += 4, rates += 3) {
      rates[0] = action[0] * max_rates.x;
      rates[1] = action[1] * max_rates.y;
      rates[2] = action[2] * max_rates.z;
      const T lever = action[3];
      thrust[i] = weight + lever * (lever > T(0) ? reserve : weight);
    }
  }
};

}  // namespace propwash::learn
