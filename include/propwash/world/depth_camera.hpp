#pragma once
/// @file
/// Depth images for many bodies, from one ray through the centre of each pixel.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-C: depth along the optical axis, at
/// most 100 m; see docs/sensors.md.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "propwash/random/sample_noise.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/poses.hpp"
#include "propwash/world/stereo_error.hpp"

namespace propwash {

/// Parameters of a depth camera.
template <class P>
struct DepthParameters {
  P max_depth{constant<P>(100)};  ///< m, the reading where nothing is nearer
  P deviation{constant<P>(0)};    ///< m, of white noise
  StereoError<P> stereo{};        ///< the errors of depth from stereo
};

/// Unit vectors through the centres of all pixels, row by row from the top, camera frame.
template <class T>
std::vector<Vec3<T>> pixel_rays(const Camera<double>& camera) {
  std::vector<Vec3<T>> rays;
  for (int row = 0; row < static_cast<int>(camera.height); ++row) {
    for (int column = 0; column < static_cast<int>(camera.width); ++column) {
      rays.push_back(cast<T>(pixel_ray(camera, column + 0.5, row + 0.5)));
    }
  }
  return rays;
}

/// m, the depth reading for a hit at `distance` along a ray, with noise from a standard normal. It
/// is max_depth beyond that depth, or without a hit.
template <class T>
PROPWASH_FN T depth_reading(const T& max_depth, const T& deviation, const Vec3<T>& ray_C,
                            const T& distance, const T& normal) {
  const T depth = distance * ray_C.x + deviation * normal;
  return max(min(depth, max_depth), T(constant<T>(0)));
}

/// Writes the images of bodies in `range`, (n, height, width), with buffers for one image.
/// `rays_C`: pixel_rays(), the same for all cameras; camera_of(i): the camera of body i, for its
/// mounting; cast: as for measure_ranges(). The readings of a diverged body are NaN, those of
/// pixels that stereo does not measure 0.
template <class T, class CameraOf, class Cast>
void measure_depth(const CameraOf& camera_of, const std::vector<Vec3<T>>& rays_C,
                   const DepthParameters<T>& parameters, const Poses<T>& poses, PoseRange range,
                   const SampleNoise& noise, const Cast& cast, T* images) {
  const auto& [max_depth, deviation, stereo] = parameters;
  const std::size_t count = rays_C.size();
  T min_cosine(1);
  for (const auto& ray : rays_C) min_cosine = std::min(min_cosine, ray.x);
  const T max_range = max_depth / min_cosine;
  std::vector<T> origins(3 * count), directions(3 * count), normals(count, T(0));
  detail::StereoErrorFilter<T> errors(stereo, rays_C);
  for (std::size_t i = range.first; i < range.last; ++i) {
    T* image = images + i * count;
    if (!poses.is_finite(i)) {
      std::fill_n(image, count, std::numeric_limits<T>::quiet_NaN());
      continue;
    }
    const auto& camera = camera_of(i);
    const auto pose = camera_pose(camera, poses.position_of(i), poses.attitude_of(i));
    const Mat3<T> r_WC = to_matrix(pose.q_WC);
    for (std::size_t j = 0; j < count; ++j) {
      const Vec3<T> ray_W = r_WC * rays_C[j];
      origins[3 * j] = pose.position_W.x, directions[3 * j] = ray_W.x;
      origins[3 * j + 1] = pose.position_W.y, directions[3 * j + 1] = ray_W.y;
      origins[3 * j + 2] = pose.position_W.z, directions[3 * j + 2] = ray_W.z;
    }
    cast(count, origins.data(), directions.data(), max_range, image);
    errors.apply(camera, pose, noise, i, max_range, cast, image);
    if (deviation > T(0)) noise.draw(i, 0, count, normals.data());
    for (std::size_t j = 0; j < count; ++j) {
      image[j] = depth_reading(max_depth, deviation, rays_C[j], image[j], normals[j]);
    }
    if (stereo.baseline > T(0)) {
      std::replace_if(image, image + count, [](T x) { return std::isnan(x); }, T(0));
    }
  }
}

}  // namespace propwash
