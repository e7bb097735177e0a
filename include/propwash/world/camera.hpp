#pragma once
/// @file
/// Camera geometry: a pinhole camera with a lens, its mounting on the body, and its matrix.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-B and Table I; see docs/sensors.md.
/// The camera frame C has x forward along the optical axis, y left, z up. Pixel coordinates start
/// at the upper left corner of the image, u to the right, v down; the pixel of column i and row j
/// has its centre at (i + 1/2, j + 1/2).

#include <cmath>

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/world/distortion.hpp"

namespace propwash {

/// A camera and its mounting on the body, which may change from one call to the next.
template <class P>
struct Camera {
  P width{};                                 ///< pixels
  P height{};                                ///< pixels
  P focal{};                                 ///< pixels, the same in both directions
  Vec3<P> position{};                        ///< m, p_BC_B
  Quat<P> attitude{P(1), P(0), P(0), P(0)};  ///< q_BC: camera to body frame
  Distortion<P> lens{};                      ///< radial-tangential distortion
};

/// The pixel and the depth of a point.
template <class T>
struct Pixel {
  T u{};      ///< pixels, to the right of the upper left corner
  T v{};      ///< pixels, down from it
  T depth{};  ///< m, along the optical axis; negative behind the camera
};

/// The pose of a camera in the world.
template <class T>
struct CameraPose {
  Vec3<T> position_W{};  ///< m
  Quat<T> q_WC{};        ///< camera to world frame
};

/// pixels, f = (height / 2) / tan(vertical field of view / 2).
inline double focal_length(double height, double vertical_fov) {
  return 0.5 * height / std::tan(0.5 * vertical_fov);
}

/// A camera with an image of `width` by `height` pixels and a vertical field of view [rad].
inline Camera<double> make_camera(double width, double height, double vertical_fov) {
  Camera<double> camera;
  camera.width = width;
  camera.height = height;
  camera.focal = focal_length(height, vertical_fov);
  return camera;
}

/// The same camera in another scalar type.
template <class U, class P>
PROPWASH_FN Camera<U> cast(const Camera<P>& camera) {
  return {U(camera.width),          U(camera.height),         U(camera.focal),
          cast<U>(camera.position), cast<U>(camera.attitude), cast<U>(camera.lens)};
}

/// K = [f 0 w/2; 0 f h/2; 0 0 1]: optical axes (x right, y down, z forward) to pixels.
template <class P>
PROPWASH_FN Mat3<P> camera_matrix(const Camera<P>& camera) {
  const P o(constant<P>(0));
  const P one(constant<P>(1));
  const auto half = constant<P>(0.5);
  return {{camera.focal, o, camera.width * half, o, camera.focal, camera.height * half, o, o, one}};
}

/// Camera frame to optical axes: (x, y, z) to (-y, -z, x).
template <class T>
PROPWASH_FN Vec3<T> to_optical(const Vec3<T>& point_C) {
  return {-point_C.y, -point_C.z, point_C.x};
}

/// The pose of a body's camera.
template <class T, class P>
PROPWASH_FN CameraPose<T> camera_pose(const Camera<P>& camera, const Vec3<T>& position_W,
                                      const Quat<T>& q_WB) {
  return {position_W + rotate(q_WB, camera.position), q_WB * camera.attitude};
}

/// Transforms a point from the world to the camera frame.
template <class T, class P>
PROPWASH_FN auto in_camera(const CameraPose<T>& pose, const Vec3<P>& point_W) {
  return rotate_inverse(pose.q_WC, point_W - pose.position_W);
}

/// Projects a point of the camera frame: K times its optical coordinates, after the lens. At depth
/// 0 the result is not finite.
template <class T, class P>
PROPWASH_FN Pixel<T> project(const Camera<P>& camera, const Vec3<T>& point_C) {
  const auto half = constant<P>(0.5);
  if (!camera.lens.is_none()) {
    const T per_depth = T(constant<T>(1)) / point_C.x;
    const auto at = distort(camera.lens, T(-point_C.y * per_depth), T(-point_C.z * per_depth));
    return {at.x * camera.focal + camera.width * half, at.y * camera.focal + camera.height * half,
            point_C.x};
  }
  const T scale = T(camera.focal) / point_C.x;
  return {camera.width * half - point_C.y * scale, camera.height * half - point_C.z * scale,
          point_C.x};
}

/// The point of the camera frame at a pixel and depth: the inverse of project().
template <class T, class P>
PROPWASH_FN Vec3<T> unproject(const Camera<P>& camera, const Pixel<T>& pixel) {
  const auto half = constant<P>(0.5);
  if (!camera.lens.is_none()) {
    const T per_focal = T(constant<T>(1)) / camera.focal;
    T x = (pixel.u - camera.width * half) * per_focal;
    T y = (pixel.v - camera.height * half) * per_focal;
    undistort(camera.lens, x, y);
    return {pixel.depth, -x * pixel.depth, -y * pixel.depth};
  }
  const T scale = pixel.depth / camera.focal;
  return {pixel.depth, (camera.width * half - pixel.u) * scale,
          (camera.height * half - pixel.v) * scale};
}

/// The unit vector towards a pixel, camera frame.
template <class T, class P>
PROPWASH_FN Vec3<T> pixel_ray(const Camera<P>& camera, const T& u, const T& v) {
  const Vec3<T> ray = unproject(camera, Pixel<T>{u, v, T(constant<T>(1))});
  return ray * (T(constant<T>(1)) / norm(ray));
}

/// The distance of a pixel from the image border, at most its depth: > 0 if it is in view. Not a
/// mask, because scalars and packs have no common "and" for masks.
template <class T, class P>
PROPWASH_FN T view_margin(const Camera<P>& camera, const Pixel<T>& pixel) {
  const T across = min(pixel.u, T(camera.width - pixel.u));
  const T along = min(pixel.v, T(camera.height - pixel.v));
  return min(min(across, along), pixel.depth);
}

/// The right camera of a stereo pair, `baseline` [m] to the right of `left`.
template <class P>
Camera<P> stereo_partner(const Camera<P>& left, const P& baseline) {
  const P o(constant<P>(0));
  Camera<P> right = left;
  right.position = left.position + rotate(left.attitude, Vec3<P>{o, -baseline, o});
  return right;
}

}  // namespace propwash
