#pragma once
/// @file
/// Parameters with one value for all rotors or one value per rotor.

#include <initializer_list>

#include "propwash/math/small_array.hpp"

namespace propwash {

/// A parameter with one value for all rotors, `motor.speed_max = 2200.0;`, or one value per rotor
/// in the vehicle's rotor order, `motor.speed_max = {2200.0, 2150.0, …};`.
template <class P>
struct PerRotor {
  P values[max_size]{};    ///< the first `count` are used
  std::int64_t count = 1;  ///< 1 or the number of rotors; 0 (invalid) after a list that is too long

  PROPWASH_FN PerRotor(const P& all = P{}) : values{all} {}  // implicit: from a scalar
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

  /// Whether all rotors have the same value.
  bool is_uniform() const {
    for (const P& value : *this) {
      if (value != values[0]) return false;
    }
    return true;
  }
};

/// Calls f(a, b) with the values of each rotor. Both have one value for all rotors, or `a` gets one
/// for each.
template <class A, class B, class F>
void for_each_pair(PerRotor<A>& a, const PerRotor<B>& b, F&& f) {
  for (; a.count < b.count; ++a.count) a.values[a.count] = a.values[0];
  for (int i = 0; i < static_cast<int>(a.count); ++i) f(a.values[i], b[i]);
}

/// The minimum over the rotors.
template <class P>
P min_of(const PerRotor<P>& numbers) {
  P smallest = numbers[0];
  for (const P& value : numbers) smallest = min(smallest, value);
  return smallest;
}
/// The maximum over the rotors.
template <class P>
P max_of(const PerRotor<P>& numbers) {
  P largest = numbers[0];
  for (const P& value : numbers) largest = max(largest, value);
  return largest;
}

/// Limits each rotor's value to that rotor's range.
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

/// One value shared by all rotors, with the interface of a SmallArray of N elements.
template <class X, int N = Dynamic>
struct AllRotors {
  X value{};  ///< the value of every rotor

  /// Does nothing: all sizes are the same.
  PROPWASH_FN void resize(int) {}
  PROPWASH_FN X& operator[](int) { return value; }
  PROPWASH_FN const X& operator[](int) const { return value; }
  PROPWASH_MEMBERS(value)
};

/// Limits each rotor's value to that rotor's range.
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
