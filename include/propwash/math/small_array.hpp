#pragma once
/// @file
/// Arrays of at most 12 elements, stored in place: one element per rotor.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// Template argument of an array whose size is known only at run time.
inline constexpr int Dynamic = -1;

/// The capacity of an array of Dynamic size.
inline constexpr int max_size = 12;

namespace detail {
template <int From, class F, int... I>
PROPWASH_FN void each_index(std::integer_sequence<int, I...>, F&& f) {
  (f(From + I), ...);
}
}  // namespace detail

/// Calls f(i) for i = From … size - 1. For a fixed N the calls are unrolled here: if the compiler
/// unrolls a loop in a late pass, arrays stay in memory and a step takes twice as long.
template <int N, int From = 0, class F>
PROPWASH_FN void for_each_index([[maybe_unused]] int size, F&& f) {
  if constexpr (N == Dynamic) {
    for (int i = From; i < size; ++i) f(i);
  } else {
    detail::each_index<From>(std::make_integer_sequence<int, N - From>{}, f);
  }
}

/// N elements, N known at compile time; an aggregate: `SmallArray<double, 4>{a, b, c, d}`.
template <class T, int N = Dynamic>
struct SmallArray {
  static_assert(N > 0 && N <= max_size, "1 to 12 elements, or propwash::Dynamic");
  T values[std::size_t{N}];  ///< the elements

  static constexpr int capacity = N;  ///< the largest size
  /// All elements equal to `value`. `size` must be N.
  static SmallArray filled([[maybe_unused]] int size, const T& value) {
    assert(size == N);
    SmallArray a{};
    for (T& v : a.values) v = value;
    return a;
  }
  /// Number of elements.
  PROPWASH_FN static constexpr int size() { return N; }
  PROPWASH_FN void resize([[maybe_unused]] int size) { assert(size == N); }

  PROPWASH_FN T& operator[](int i) { return values[i]; }
  PROPWASH_FN const T& operator[](int i) const { return values[i]; }
  PROPWASH_FN T* begin() { return values; }
  PROPWASH_FN T* end() { return values + N; }
  PROPWASH_FN const T* begin() const { return values; }
  PROPWASH_FN const T* end() const { return values + N; }
};

/// Up to max_size elements, their number known at run time.
template <class T>
struct SmallArray<T, Dynamic> {
  T values[max_size];
  std::int64_t count;  ///< size; 64 bits, so that there is no padding

  static constexpr int capacity = max_size;
  PROPWASH_FN SmallArray() : values{}, count(0) {}
  SmallArray(std::initializer_list<T> list) : values{}, count(static_cast<int>(list.size())) {
    assert(count <= max_size);
    int i = 0;
    for (const T& v : list) values[i++] = v;
  }
  /// `size` elements equal to `value`.
  static SmallArray filled(int size, const T& value) {
    assert(size <= max_size);
    SmallArray a;
    a.count = size;
    for (T& v : a) v = value;
    return a;
  }
  PROPWASH_FN int size() const { return static_cast<int>(count); }
  /// Sets the number of elements, at most max_size.
  PROPWASH_FN void resize(int size) {
    assert(size <= max_size);
    count = size;
  }

  PROPWASH_FN T& operator[](int i) { return values[i]; }
  PROPWASH_FN const T& operator[](int i) const { return values[i]; }
  PROPWASH_FN T* begin() { return values; }
  PROPWASH_FN T* end() { return values + count; }
  PROPWASH_FN const T* begin() const { return values; }
  PROPWASH_FN const T* end() const { return values + count; }
};

/// Calls f with every number of the elements.
template <class T, int N, class F>
PROPWASH_FN void for_each_number(SmallArray<T, N>& a, F&& f) {
  for_each_index<N>(a.size(), [&](int i) PROPWASH_LAMBDA { for_each_number(a[i], f); });
}
template <class T, int N, class F>
PROPWASH_FN void for_each_number(const SmallArray<T, N>& a, F&& f) {
  for_each_index<N>(a.size(), [&](int i) PROPWASH_LAMBDA { for_each_number(a[i], f); });
}

/// Calls f(a, b) with corresponding numbers of two arrays of the same size.
template <class A, class B, int N, class F>
PROPWASH_FN void for_each_pair(SmallArray<A, N>& a, const SmallArray<B, N>& b, F&& f) {
  for_each_index<N>(a.size(), [&](int i) PROPWASH_LAMBDA { for_each_pair(a[i], b[i], f); });
}

/// Sets the size of every SmallArray in x, a struct with PROPWASH_MEMBERS.
template <class X>
PROPWASH_FN void resize_arrays(X& x, int size);
template <class T, int N>
PROPWASH_FN void resize_arrays(SmallArray<T, N>& a, int size) {
  a.resize(size);
}

namespace detail {
struct ResizeArrays {
  int size;
  template <class... Member>
  PROPWASH_FN void operator()(Member&... members) const {
    (resize_arrays(members, size), ...);
  }
};
}  // namespace detail

template <class X>
PROPWASH_FN void resize_arrays(X& x, int size) {
  if constexpr (std::is_array_v<X>) {
    for (auto& element : x) resize_arrays(element, size);
  } else if constexpr (detail::HasMembers<X>::value) {
    X::members(x, detail::ResizeArrays{size});
  }
}

template <class T, int N>
struct detail::NumberCount<SmallArray<T, N>> {
  static constexpr int value = N * NumberCount<T>::value;
};

/// Applies f to each element; returns an array of the same size.
template <class T, int N, class F>
PROPWASH_FN auto map(const SmallArray<T, N>& a, F&& f) {
  SmallArray<decltype(f(a[0])), N> result;
  result.resize(a.size());
  for_each_index<N>(a.size(), [&](int i) PROPWASH_LAMBDA { result[i] = f(a[i]); });
  return result;
}

/// Applies f to corresponding elements of two arrays of the same size.
template <class A, class B, int N, class F>
PROPWASH_FN auto map(const SmallArray<A, N>& a, const SmallArray<B, N>& b, F&& f) {
  SmallArray<decltype(f(a[0], b[0])), N> result;
  result.resize(a.size());
  for_each_index<N>(a.size(), [&](int i) PROPWASH_LAMBDA { result[i] = f(a[i], b[i]); });
  return result;
}

template <class A, class B, int N>
PROPWASH_FN auto operator+(const SmallArray<A, N>& a, const SmallArray<B, N>& b) {
  return map(a, b, [](const A& x, const B& y) PROPWASH_LAMBDA { return x + y; });
}
template <class T, int N, class S>
PROPWASH_FN auto operator*(const SmallArray<T, N>& a, const S& factor) {
  return map(a, [&factor](const T& x) PROPWASH_LAMBDA { return x * factor; });
}

}  // namespace propwash
