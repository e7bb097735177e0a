#pragma once
/// @file
/// The errors of depth from stereo: deviation and quantisation of the disparity, pixels that only
/// one of the two views shows, and dropout.
///
/// Khoshelham and Elberink, "Accuracy and resolution of Kinect depth data", Sensors 12
/// (2012); Keselman et al., "Intel RealSense stereoscopic depth cameras", CVPR workshops 2017; see
/// docs/sensors.md.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "propwash/math/vec3.hpp"
#include "propwash/random/sample_noise.hpp"
#include "propwash/world/camera.hpp"

namespace propwash {

/// Parameters of a stereo pair whose left view is the depth image.
template <class P>
struct StereoError {
  P baseline = P(0);             ///< m, to the right view; 0: no errors
  P focal = P(0);                ///< pixels, of the views that are matched
  P disparity_deviation = P(0);  ///< pixels, of white noise on the disparity
  P disparity_step = P(0);       ///< pixels, to which the disparity is rounded; 0: not rounded
  P dropout_rate = P(0);         ///< probability that a pixel has no reading
  bool shadow = true;            ///< whether pixels that the right view does not show are missing
};

/// The same parameters in another scalar type.
template <class U, class P>
StereoError<U> cast(const StereoError<P>& error) {
  return {static_cast<U>(error.baseline),
          static_cast<U>(error.focal),
          static_cast<U>(error.disparity_deviation),
          static_cast<U>(error.disparity_step),
          static_cast<U>(error.dropout_rate),
          error.shadow};
}

/// m, the depth of the disparity f b / depth with noise from a standard normal, rounded to a step.
/// Infinite for a disparity that is not positive.
template <class T>
T stereo_depth(const StereoError<T>& error, T depth, T normal) {
  const T scale = error.focal * error.baseline;
  T disparity = scale / depth + error.disparity_deviation * normal;
  if (error.disparity_step > T(0)) {
    disparity = error.disparity_step * std::floor(disparity / error.disparity_step + T(0.5));
  }
  return disparity > T(0) ? scale / disparity : std::numeric_limits<T>::infinity();
}

/// The standard normal that is exceeded with probability 1 - `probability`, by bisection.
inline double normal_quantile(double probability) {
  double low = -40.0, high = 40.0;
  for (int i = 0; i < 80; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return high;
}

namespace detail {

/// Applies the errors to images of distances, with buffers for one image.
template <class T>
class StereoErrorFilter {
 public:
  /// rays_C: of the pixels, see pixel_rays(); they must exist as long as this object.
  StereoErrorFilter(const StereoError<T>& error, const std::vector<Vec3<T>>& rays_C)
      : error_(error), rays_C_(rays_C), dropout_below_(T(0)) {
    if (error.dropout_rate > T(0)) {
      dropout_below_ = static_cast<T>(normal_quantile(static_cast<double>(error.dropout_rate)));
    }
    if (error.baseline > T(0)) normals_.resize(rays_C.size());
    if (has_shadow()) {
      origins_.resize(3 * rays_C.size());
      directions_.resize(3 * rays_C.size());
      lengths_.resize(rays_C.size());
      seen_.resize(rays_C.size());
    }
  }

  /// Changes the distances along the rays of a vehicle's image; those of missing pixels become NaN.
  /// cast, max_range: as in measure_depth(), which uses normals 0 to n - 1 of an image of n pixels.
  /// With m = n rounded up to a multiple of 24, pixel j uses normals m + j (disparity) and 2 m + j
  /// (dropout) here.
  template <class Cast>
  void apply(const Camera<T>& camera, const CameraPose<T>& left, const SampleNoise& noise,
             std::size_t vehicle, T max_range, const Cast& cast, T* distance) {
    if (!(error_.baseline > T(0))) return;
    const std::size_t count = rays_C_.size(), next = (count + 23) / 24 * 24;
    if (has_shadow()) remove_shadow(camera, left, max_range, cast, distance);
    if (error_.dropout_rate > T(0)) {
      noise.draw(vehicle, 2 * next, count, normals_.data());
      for (std::size_t j = 0; j < count; ++j) {
        if (normals_[j] < dropout_below_) distance[j] = missing;
      }
    }
    const bool is_noisy = error_.disparity_deviation > T(0);
    if (is_noisy) noise.draw(vehicle, next, count, normals_.data());
    for (std::size_t j = 0; j < count; ++j) {
      if (!is_surface(distance[j])) continue;
      const T along = rays_C_[j].x, normal = is_noisy ? normals_[j] : T(0);
      distance[j] = stereo_depth(error_, distance[j] * along, normal) / along;
    }
  }

 private:
  static constexpr T missing = std::numeric_limits<T>::quiet_NaN();

  static bool is_surface(T distance) { return distance < std::numeric_limits<T>::infinity(); }
  bool has_shadow() const { return error_.shadow && error_.baseline > T(0); }

  /// Removes the surfaces that are hidden from the right view, or to the left of its image.
  template <class Cast>
  void remove_shadow(const Camera<T>& camera, const CameraPose<T>& left, T max_range,
                     const Cast& cast, T* distance) {
    const std::size_t count = rays_C_.size();
    const Vec3<T> right_C{T(0), -error_.baseline, T(0)};
    const Mat3<T> r_WC = to_matrix(left.q_WC);
    const Vec3<T> right_W = left.position_W + r_WC * right_C;
    for (std::size_t j = 0; j < count; ++j) {
      const T along = is_surface(distance[j]) ? distance[j] : T(1);
      const Vec3<T> to_C = rays_C_[j] * along - right_C;
      lengths_[j] = norm(to_C);
      const Vec3<T> ray_W = r_WC * to_C * (T(1) / lengths_[j]);
      for (int k = 0; k < 3; ++k) {
        origins_[3 * j + static_cast<std::size_t>(k)] = right_W[k];
        directions_[3 * j + static_cast<std::size_t>(k)] = ray_W[k];
      }
    }
    cast(count, origins_.data(), directions_.data(), max_range + error_.baseline, seen_.data());
    constexpr T nearer = T(0.999);  // of an occluder, beyond the rounding errors of both rays
    for (std::size_t j = 0; j < count; ++j) {
      if (!is_surface(distance[j])) continue;
      const Vec3<T> point_C = rays_C_[j] * distance[j] - right_C;
      if (seen_[j] < nearer * lengths_[j] || project(camera, point_C).u < T(0))
        distance[j] = missing;
    }
  }

  StereoError<T> error_;
  const std::vector<Vec3<T>>& rays_C_;
  T dropout_below_;
  std::vector<T> normals_, origins_, directions_, lengths_, seen_;
};

}  // namespace detail

}  // namespace propwash
