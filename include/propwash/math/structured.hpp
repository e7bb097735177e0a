#pragma once
/// @file
/// Matrices and vectors with a structure of zeros that is part of their type.
///
/// A typical quadcopter has a diagonal inertia and rotor thrusts along body z. The equations of
/// motion are written once; for such a vehicle they are instantiated with these types, whose
/// operators omit the products with zero.

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// A diagonal matrix.
template <class T>
struct Diag3 {
  using Scalar = T;  ///< type of an element
  T x{}, y{}, z{};   ///< the diagonal
  PROPWASH_MEMBERS(x, y, z)
};

template <class A, class B>
PROPWASH_FN auto operator*(const Diag3<A>& m, const Vec3<B>& v) {
  return make_vec3(m.x * v.x, m.y * v.y, m.z * v.z);
}
template <class T>
PROPWASH_FN Diag3<T> inverse(const Diag3<T>& m) {
  const T one(constant<T>(1));
  return {one / m.x, one / m.y, one / m.z};
}

/// The zero vector, without storage; adding it needs no operation.
struct Zero3 {};

template <class T>
PROPWASH_FN Vec3<T> operator+(const Vec3<T>& a, Zero3) {
  return a;
}
template <class T>
PROPWASH_FN Vec3<T> operator-(const Vec3<T>& a, Zero3) {
  return a;
}
template <class T>
PROPWASH_FN Vec3<T> operator+(Zero3, const Vec3<T>& a) {
  return a;
}
template <class S>
PROPWASH_FN Zero3 operator*(Zero3, const S&) {
  return {};
}

/// A vector along the z axis.
template <class T>
struct AlongZ {
  using Scalar = T;  ///< type of the component
  T z{};             ///< the component along z

  PROPWASH_FN AlongZ& operator+=(const AlongZ& b) {
    z = z + b.z;
    return *this;
  }
  PROPWASH_MEMBERS(z)
};
template <class T>
AlongZ(T) -> AlongZ<T>;

template <class A, class B>
PROPWASH_FN auto operator+(const AlongZ<A>& a, const AlongZ<B>& b) {
  return AlongZ{a.z + b.z};
}
template <class T>
PROPWASH_FN AlongZ<T> operator+(Zero3, const AlongZ<T>& a) {
  return a;
}
template <class A, class B>
PROPWASH_FN auto operator+(const Vec3<A>& a, const AlongZ<B>& b) {
  return make_vec3(a.x, a.y, a.z + b.z);
}
template <class A, class B>
PROPWASH_FN auto operator+(const AlongZ<A>& a, const Vec3<B>& b) {
  return b + a;
}
template <class T, class S>
PROPWASH_FN auto operator*(const AlongZ<T>& a, const S& s) {
  return AlongZ{a.z * s};
}
template <class T>
PROPWASH_FN AlongZ<T> operator-(const AlongZ<T>& a) {
  return {-a.z};
}

/// The number one, without storage; multiplying by it needs no operation.
struct One {};

template <class T>
PROPWASH_FN Vec3<T> operator*(const Vec3<T>& a, One) {
  return a;
}

}  // namespace propwash
