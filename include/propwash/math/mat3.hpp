#pragma once
/// @file
/// 3 x 3 matrices.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Row-major: `m(i, j)` is row i, column j; `Mat3<double>{{a, b, c, d, e, f, g, h, i}}`.
template <class T>
struct Mat3 {
  using Scalar = T;  ///< type of an element
  T elements[9]{};   ///< row by row

  PROPWASH_FN T& operator()(int row, int column) { return elements[3 * row + column]; }
  PROPWASH_FN const T& operator()(int row, int column) const { return elements[3 * row + column]; }

  /// The matrix with this diagonal and zeros elsewhere.
  PROPWASH_FN static Mat3 diagonal(const T& x, const T& y, const T& z) {
    const T zero{};
    return {{x, zero, zero, zero, y, zero, zero, zero, z}};
  }
  /// The identity matrix.
  PROPWASH_FN static Mat3 identity() {
    const T one(constant<T>(1));
    return diagonal(one, one, one);
  }
  PROPWASH_MEMBERS(elements)
};

template <class A, class B>
PROPWASH_FN auto operator*(const Mat3<A>& m, const Vec3<B>& v) {
  return make_vec3(m(0, 0) * v.x + m(0, 1) * v.y + m(0, 2) * v.z,
                   m(1, 0) * v.x + m(1, 1) * v.y + m(1, 2) * v.z,
                   m(2, 0) * v.x + m(2, 1) * v.y + m(2, 2) * v.z);
}

/// The transposed matrix.
template <class T>
PROPWASH_FN Mat3<T> transpose(const Mat3<T>& m) {
  return {{m(0, 0), m(1, 0), m(2, 0), m(0, 1), m(1, 1), m(2, 1), m(0, 2), m(1, 2), m(2, 2)}};
}

/// The determinant.
template <class T>
PROPWASH_FN T determinant(const Mat3<T>& m) {
  return m(0, 0) * (m(1, 1) * m(2, 2) - m(1, 2) * m(2, 1)) -
         m(0, 1) * (m(1, 0) * m(2, 2) - m(1, 2) * m(2, 0)) +
         m(0, 2) * (m(1, 0) * m(2, 1) - m(1, 1) * m(2, 0));
}

/// The inverse by cofactors; the determinant must not be zero.
template <class T>
PROPWASH_FN Mat3<T> inverse(const Mat3<T>& m) {
  const T f = T(constant<T>(1)) / determinant(m);
  return {{f * (m(1, 1) * m(2, 2) - m(1, 2) * m(2, 1)), f * (m(0, 2) * m(2, 1) - m(0, 1) * m(2, 2)),
           f * (m(0, 1) * m(1, 2) - m(0, 2) * m(1, 1)), f * (m(1, 2) * m(2, 0) - m(1, 0) * m(2, 2)),
           f * (m(0, 0) * m(2, 2) - m(0, 2) * m(2, 0)), f * (m(0, 2) * m(1, 0) - m(0, 0) * m(1, 2)),
           f * (m(1, 0) * m(2, 1) - m(1, 1) * m(2, 0)), f * (m(0, 1) * m(2, 0) - m(0, 0) * m(2, 1)),
           f * (m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0))}};
}

/// Converts to another scalar type: `cast<float>(m)`.
template <class U, class T>
PROPWASH_FN Mat3<U> cast(const Mat3<T>& m) {
  Mat3<U> r;
  for (int i = 0; i < 9; ++i) r.elements[i] = U(m.elements[i]);
  return r;
}

}  // namespace propwash
