#pragma once
/// @file
/// From actions in [-1, 1] to commands of a fleet. Only the nominal vehicle goes in.

#include <cstddef>
#include <cstdint>

#include "propwash/math/finite.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::learn {

/// What clipping found.
struct Clipped {
  bool any = false;         ///< whether a number was out of range
  std::ptrdiff_t bad = -1;  ///< the first row with a number that is none, -1 for no such row
};

/// Actions (size, width), limited to [-1, 1]; `counts` (size) get how many of a row were beyond.
/// Rows of which `ignored` (size, or null) is true count nothing, and may hold anything.
template <class T>
Clipped clip_actions(const T* given, std::size_t size, std::size_t width, const bool* ignored,
                     T* clipped, std::int32_t* counts) {
  int beyond = 0;
  for (std::size_t i = 0; i < size * width; ++i) {
    const T x = given[i];
    const T low = x > T(-1) ? x : T(-1);
    clipped[i] = low < T(1) ? low : T(1);
    // as integers, above those of 1: greater magnitudes and NaN
    const auto magnitude = propwash::detail::plain_bits(x) << 1;
    beyond |= static_cast<int>(magnitude > propwash::detail::plain_bits(T(1)) << 1);
  }
  Clipped found;
  if (beyond == 0) return found;
  for (std::size_t row = 0; row < size; ++row) {
    counts[row] = 0;
    const bool is_ignored = ignored != nullptr && ignored[row];
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const bool is_number = !is_nan(given[i]);
      if (!is_number) clipped[i] = T(0);
      if (is_ignored || (is_number && clipped[i] == given[i])) continue;
      if (!is_number && found.bad < 0) found.bad = static_cast<std::ptrdiff_t>(row);
      ++counts[row];
      found.any = true;
    }
  }
  return found;
}

/// Three body rates and the collective thrust: -1 none, 0 the vehicle's weight, 1 all there is,
/// straight lines between.
template <class T>
struct RateThrustAction {
  Vec3<T> max_rates;  ///< rad/s, for an action of 1
  T weight;           ///< N
  T reserve;          ///< N, all thrust less the weight

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
