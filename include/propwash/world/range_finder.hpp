#pragma once
/// @file
/// The readings of range finders in a scene.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "propwash/model/range_finder.hpp"
#include "propwash/random/sample_noise.hpp"
#include "propwash/world/poses.hpp"

namespace propwash {

/// Writes the readings of the bodies with indices in `range` to `readings`, (n, rays_B.size()).
///
/// rays_B: unit vectors, body frame. cast(m, origins, directions, max_range, distances) casts m
/// rays, (m, 3) each in the world frame, as raycast() of raycast.hpp does. The readings
/// of a diverged body are NaN.
template <class T, class Cast>
void measure_ranges(const RangeFinderParameters<T>& finder, const std::vector<Vec3<T>>& rays_B,
                    const Poses<T>& poses, PoseRange range, const SampleNoise& noise,
                    const Cast& cast, T* readings) {
  constexpr std::size_t rays_at_once = 4096;
  const std::size_t count = rays_B.size();
  const std::size_t bodies = std::max<std::size_t>(1, rays_at_once / count);
  std::vector<T> origins(3 * count * bodies), directions(3 * count * bodies);
  std::vector<T> distances(count * bodies), normals(count);
  for (std::size_t first = range.first; first < range.last; first += bodies) {
    const std::size_t last = std::min(range.last, first + bodies);
    T* origin = origins.data();
    T* direction = directions.data();
    for (std::size_t i = first; i < last; ++i) {
      const bool is_valid = poses.is_finite(i);
      const auto q_WB = is_valid ? poses.attitude_of(i) : Quat<T>::identity();
      const auto from_W =
          is_valid ? poses.position_of(i) + rotate(q_WB, finder.position) : Vec3<T>{};
      for (const auto& ray_B : rays_B) {
        const auto ray_W = rotate(q_WB, ray_B);
        for (int k = 0; k < 3; ++k) *origin++ = from_W[k], *direction++ = ray_W[k];
      }
    }
    cast((last - first) * count, origins.data(), directions.data(), finder.max_range,
         distances.data());
    const T* distance = distances.data();
    for (std::size_t i = first; i < last; ++i) {
      noise.draw(i, 0, finder.variance > T(0) ? count : 0, normals.data());
      const bool is_valid = poses.is_finite(i);
      for (std::size_t j = 0; j < count; ++j, ++distance) {
        readings[i * count + j] = is_valid ? range_reading(finder, *distance, normals[j])
                                           : std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
}

}  // namespace propwash
