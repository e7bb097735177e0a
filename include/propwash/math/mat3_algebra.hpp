#pragma once
/// @file
/// Products and sums of 3 x 3 matrices.

#include "propwash/math/mat3.hpp"

namespace propwash {

template <class A, class B>
PROPWASH_FN auto operator*(const Mat3<A>& a, const Mat3<B>& b) {
  const auto element = [&](int i, int j) PROPWASH_LAMBDA {
    return a(i, 0) * b(0, j) + a(i, 1) * b(1, j) + a(i, 2) * b(2, j);
  };
  return Mat3<decltype(a(0, 0) * b(0, 0))>{{element(0, 0), element(0, 1), element(0, 2),
                                            element(1, 0), element(1, 1), element(1, 2),
                                            element(2, 0), element(2, 1), element(2, 2)}};
}
template <class T, class S>
PROPWASH_FN Mat3<T> operator*(const Mat3<T>& m, const S& s) {
  Mat3<T> r;
  for (int i = 0; i < 9; ++i) r.elements[i] = m.elements[i] * s;
  return r;
}
template <class T>
PROPWASH_FN Mat3<T> operator+(const Mat3<T>& a, const Mat3<T>& b) {
  Mat3<T> r;
  for (int i = 0; i < 9; ++i) r.elements[i] = a.elements[i] + b.elements[i];
  return r;
}

/// The matrix of the vector product: skew(a) * b = a x b.
template <class T>
PROPWASH_FN Mat3<T> skew(const Vec3<T>& a) {
  const T o(constant<T>(0));
  return {{o, -a.z, a.y, a.z, o, -a.x, -a.y, a.x, o}};
}

}  // namespace propwash
