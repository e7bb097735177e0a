#pragma once
/// @file
/// Quaternions: Hamilton product, scalar first (w, x, y, z), right-handed. A unit quaternion q_AB
/// transforms a vector from frame B to frame A: v_A = q_AB o v_B o q_AB*.

#include "propwash/math/mat3.hpp"
#include "propwash/math/structured.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// A quaternion w + x i + y j + z k.
template <class T>
struct Quat {
  using Scalar = T;      ///< type of a component
  T w{}, x{}, y{}, z{};  ///< scalar part w, vector part (x, y, z)

  /// No rotation.
  PROPWASH_FN static Quat identity() {
    const T zero(constant<T>(0));
    return {T(constant<T>(1)), zero, zero, zero};
  }
  PROPWASH_MEMBERS(w, x, y, z)
};
template <class T>
Quat(T, T, T, T) -> Quat<T>;

/// A quaternion from its components.
template <class T>
PROPWASH_FN Quat<T> make_quat(const T& w, const T& x, const T& y, const T& z) {
  return Quat<T>{w, x, y, z};
}

template <class A, class B>
PROPWASH_FN auto operator+(const Quat<A>& a, const Quat<B>& b) {
  return make_quat(a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z);
}
template <class T, class S>
PROPWASH_FN auto operator*(const Quat<T>& q, const S& s) {
  return make_quat(q.w * s, q.x * s, q.y * s, q.z * s);
}
/// The Hamilton product a o b.
template <class A, class B>
PROPWASH_FN auto operator*(const Quat<A>& a, const Quat<B>& b) {
  return make_quat(
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w);
}
/// The product q o [0, v].
template <class A, class B>
PROPWASH_FN auto operator*(const Quat<A>& q, const Vec3<B>& v) {
  return make_quat(-(q.x * v.x + q.y * v.y + q.z * v.z), q.w * v.x + q.y * v.z - q.z * v.y,
                   q.w * v.y + q.z * v.x - q.x * v.z, q.w * v.z + q.x * v.y - q.y * v.x);
}

/// The conjugate: the inverse of a unit quaternion.
template <class T>
PROPWASH_FN Quat<T> conjugate(const Quat<T>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}
/// The squared Euclidean norm.
template <class T>
PROPWASH_FN T squared_norm(const Quat<T>& q) {
  return q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
}
/// The unit quaternion along q, which must not be zero.
template <class T>
PROPWASH_FN Quat<T> normalized(const Quat<T>& q) {
  return q * (T(constant<T>(1)) / sqrt(squared_norm(q)));
}

/// q o v o q*: transforms v from frame B to frame A, for a unit quaternion q_AB.
template <class A, class B>
PROPWASH_FN auto rotate(const Quat<A>& q, const Vec3<B>& v) {
  const auto axis = make_vec3(q.x, q.y, q.z);
  const auto t = cross(axis, v) * constant<A>(2);
  return v + t * q.w + cross(axis, t);
}
template <class A, class B>
PROPWASH_FN auto rotate(const Quat<A>& q, const AlongZ<B>& v) {
  const auto twice = v.z * constant<A>(2);
  return make_vec3((q.x * q.z + q.w * q.y) * twice, (q.y * q.z - q.w * q.x) * twice,
                   v.z - (q.x * q.x + q.y * q.y) * twice);
}
/// q* o v o q: transforms v from frame A to frame B, for a unit quaternion q_AB.
template <class A, class B>
PROPWASH_FN auto rotate_inverse(const Quat<A>& q, const Vec3<B>& v) {
  return rotate(conjugate(q), v);
}

/// The rotation matrix R_AB of a unit quaternion q_AB.
template <class T>
PROPWASH_FN Mat3<T> to_matrix(const Quat<T>& q) {
  const auto two = constant<T>(2);
  const T one(constant<T>(1));
  return {{one - two * (q.y * q.y + q.z * q.z), two * (q.x * q.y - q.w * q.z),
           two * (q.x * q.z + q.w * q.y), two * (q.x * q.y + q.w * q.z),
           one - two * (q.x * q.x + q.z * q.z), two * (q.y * q.z - q.w * q.x),
           two * (q.x * q.z - q.w * q.y), two * (q.y * q.z + q.w * q.x),
           one - two * (q.x * q.x + q.y * q.y)}};
}

/// The unit quaternion of a rotation by `angle` [rad] about the unit vector `axis`.
template <class T>
PROPWASH_FN Quat<T> from_axis_angle(const Vec3<T>& axis, const T& angle) {
  const T half = angle * constant<T>(0.5);
  const T s = sin(half);
  return {cos(half), axis.x * s, axis.y * s, axis.z * s};
}

/// Converts to another scalar type: `cast<float>(q)`.
template <class U, class T>
PROPWASH_FN Quat<U> cast(const Quat<T>& q) {
  return {U(q.w), U(q.x), U(q.y), U(q.z)};
}

}  // namespace propwash
