#pragma once
/// @file
/// Conversion of vectors, tensors and quaternions between frame conventions; in Python,
/// propwash.frames.
///
/// propwash uses a right-handed world with z up (for example ENU, east-north-up), FLU body axes
/// (forward-left-up) and Hamilton quaternions, scalar first, from body to world. NED is a
/// north-east-down world; FRD are forward-right-down body axes. See vehicle/frames.hpp for
/// vehicles, states and readings.

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Converts a vector from NED to ENU.
template <class T>
PROPWASH_FN Vec3<T> ned_to_enu(const Vec3<T>& v) {
  return {v.y, v.x, -v.z};
}
/// Converts a vector from ENU to NED.
template <class T>
PROPWASH_FN Vec3<T> enu_to_ned(const Vec3<T>& v) {
  return ned_to_enu(v);
}

/// Converts a vector from FRD to FLU axes.
template <class T>
PROPWASH_FN Vec3<T> frd_to_flu(const Vec3<T>& v) {
  return {v.x, -v.y, -v.z};
}
/// Converts a vector from FLU to FRD axes.
template <class T>
PROPWASH_FN Vec3<T> flu_to_frd(const Vec3<T>& v) {
  return frd_to_flu(v);
}

/// Converts a tensor, for example an inertia, from FRD to FLU axes: R J R^T.
template <class T>
PROPWASH_FN Mat3<T> frd_to_flu(const Mat3<T>& m) {
  return {{m(0, 0), -m(0, 1), -m(0, 2), -m(1, 0), m(1, 1), m(1, 2), -m(2, 0), m(2, 1), m(2, 2)}};
}
template <class T>
PROPWASH_FN Mat3<T> flu_to_frd(const Mat3<T>& m) {
  return frd_to_flu(m);
}

/// Converts an attitude (FRD body to NED world) to one of FLU body to ENU world:
/// q_ENU_NED o q o q_FRD_FLU with q_ENU_NED = (0, 1, 1, 0)/sqrt(2), q_FRD_FLU = (0, 1, 0, 0).
template <class T>
PROPWASH_FN Quat<T> quaternion_ned_frd_to_enu_flu(const Quat<T>& q) {
  const auto half = constant<T>(0.70710678118654752440);
  return {-(q.w + q.z) * half, -(q.x + q.y) * half, (q.y - q.x) * half, (q.z - q.w) * half};
}
/// Converts an attitude (FLU body to ENU world) to one of FRD body to NED world.
template <class T>
PROPWASH_FN Quat<T> quaternion_enu_flu_to_ned_frd(const Quat<T>& q) {
  return quaternion_ned_frd_to_enu_flu(q);
}

/// Reads a quaternion from four numbers, scalar last.
template <class T>
PROPWASH_FN Quat<T> xyzw_to_wxyz(const T* xyzw) {
  return {xyzw[3], xyzw[0], xyzw[1], xyzw[2]};
}
/// Writes a quaternion to four numbers, scalar last.
template <class T>
PROPWASH_FN void wxyz_to_xyzw(const Quat<T>& q, T* xyzw) {
  xyzw[0] = q.x, xyzw[1] = q.y, xyzw[2] = q.z, xyzw[3] = q.w;
}

}  // namespace propwash
