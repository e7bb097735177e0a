#pragma once
/// @file
/// Conversions between propwash's frames and those of the wire. propwash: right-handed world with z
/// up, cameras and bodies forward-left-up, quaternions scalar first. The wire uses Unity's:
/// left-handed, x right, y up, z forward, quaternions scalar last. propwash's x axis is Unity's z,
/// so its world is that of the published gate files (north-west-up).
///
/// With M = [[0,-1,0],[0,0,1],[1,0,0]]: p_U = M p_W, R_U = M R_W M^T. A camera with the attitude of
/// a body looks along the body's x axis in both; there is no optical frame.

#include <array>

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::render {

/// A vector in Unity's axes, m: x right, y up, z forward.
using UnityVector = std::array<double, 3>;
/// A unit quaternion on the wire: x, y, z, w, in Unity's axes.
using UnityRotation = std::array<double, 4>;

/// A position of the world frame in Unity's left-handed axes.
inline UnityVector unity_position(const Vec3<double>& position_W) {
  return {-position_W.y, position_W.z, position_W.x};
}
/// The inverse of unity_position.
inline Vec3<double> from_unity_position(const UnityVector& p) { return {p[2], -p[0], p[1]}; }

/// An attitude q_WB in Unity's left-handed axes.
inline UnityRotation unity_rotation(const Quat<double>& attitude_WB) {
  return {attitude_WB.y, -attitude_WB.z, -attitude_WB.x, attitude_WB.w};
}
/// The inverse of unity_rotation.
inline Quat<double> from_unity_rotation(const UnityRotation& r) {
  return {r[3], -r[2], r[0], -r[1]};
}

/// The extents of a body along its axes (sizes have no sign).
inline UnityVector unity_size(const Vec3<double>& size_B) { return {size_B.y, size_B.z, size_B.x}; }
/// Extents along Unity's axes as extents along world axes.
inline Vec3<double> from_unity_size(const UnityVector& s) { return {s[2], s[0], s[1]}; }

/// A point in an image: pixels from the upper left corner, u to the right, v down.
struct Pixel {
  double u = 0;  ///< px
  double v = 0;  ///< px
};

/// The pixel of a landmark; on the wire, u and v are fractions from the lower left corner.
inline Pixel landmark_pixel(const Vec3<double>& landmark, int width, int height) {
  return {landmark.x * width, (1.0 - landmark.y) * height};
}
/// The landmark on the wire for a pixel and a depth along the optical axis [m].
inline Vec3<double> landmark_position(const Pixel& pixel, double depth, int width, int height) {
  return {pixel.u / width, 1.0 - pixel.v / height, depth};
}

}  // namespace propwash::render
