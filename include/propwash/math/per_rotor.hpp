#pragma once
/// @file
/// Numbers that rotors have in common, or that each rotor has for itself.

#include <initializer_list>

#include "propwash/math/small_array.hpp"

namespace propwash {

/// A parameter that is one number for all rotors, or one number for each rotor, in the vehicle's
/// order of rotors: `motor.speed_max = 2200.0;` or `motor.speed_max = {2200.0, 2150.0, …};`.
template <class P>
struct PerRotor {
  P values[max_size]{};    ///< the first `count` are used
  std::int64_t count = 1;  ///< 1, or the number of rotors; 0, which is invalid, of a longer list

  PROPWASH_FN PerRotor(const P& all = P{}) : values{all} {}  // implicit: a plain number is one
  PerRotor(std::initializer_list<P> each)
      : count(each.size() <= std::size_t{max_size} ? static_cast<std::int64_t>(each.size()) : 0) {
    if (count == 0) return;
    int i = 0;
    for (const P& value : each) values[i++] = value;
  }

  PROPWASH_FN const P& operator[](int rotor) const { return values[count == 1 ? 0 : rotor]; }
  PerRotor& operator*=(const P& factor) {
    for (int i = 0; i < static_cast<int>(count); ++i) values[i] = values[i] * factor;
    return *this;
  }
  PROPWASH_FN const P* begin() const { return values; }
  PROPWASH_FN const P* end() const { return values + count; }

  /// Whether all rotors have the same number.
  bool is_uniform() const {
    for (const P& value : *this) {
      if (value != values[0]) return false;
    }
    return true;
  }
};

/// The smallest number of any rotor.
template <class P>
P min_of(const PerRotor<P>& numbers) {
  P least = numbers[0];
  for (const P& value : numbers) least = min(least, value);
  return least;
}
/// The largest number of any rotor.
template <class P>
P max_of(const PerRotor<P>& numbers) {
  P greatest = numbers[0];
  for (const P& value : numbers) greatest = max(greatest, value);
  return greatest;
}

/// Each rotor's number, limited to its own range.
template <class P>
PerRotor<P> clamp(const PerRotor<P>& numbers, const PerRotor<P>& low, const PerRotor<P>& high) {
  PerRotor<P> result;
  for (const auto* each : {&numbers, &low, &high}) {
    if (each->count > result.count) result.count = each->count;
  }
  for (int i = 0; i < static_cast<int>(result.count); ++i) {
    result.values[i] = clamp(numbers[i], low[i], high[i]);
  }
  return result;
}

/// What all rotors have in common, with the interface of a SmallArray of N: one register, or one
/// constant in memory, instead of N.
template <class X, int N = Dynamic>
struct AllRotors {
  X value{};  ///< the value of every rotor

  /// Does nothing: all sizes are the same.
  PROPWASH_FN void resize(int) {}
  PROPWASH_FN X& operator[](int) { return value; }
  PROPWASH_FN const X& operator[](int) const { return value; }
};

/// Each rotor's number, limited to its own range.
template <class T, int N, class Limits>
PROPWASH_FN SmallArray<T, N> clamp(const SmallArray<T, N>& numbers, const Limits& low,
                                   const Limits& high) {
  SmallArray<T, N> result;
  result.resize(numbers.size());
  for_each_index<N>(numbers.size(),
                    [&](int i) PROPWASH_LAMBDA { result[i] = clamp(numbers[i], low[i], high[i]); });
  return result;
}

}  // namespace propwash
