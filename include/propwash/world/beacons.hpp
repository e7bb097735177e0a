#pragma once
/// @file
/// Infrared beacons: where in a camera's picture markers are seen that nothing hides.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-B; see docs/sensors.md.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "propwash/math/pack.hpp"
#include "propwash/random/sample_noise.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/poses.hpp"

namespace propwash {

/// Markers in the world, coordinate by coordinate, so that lanes load them at once.
template <class T>
class Markers {
 public:
  /// The lanes of one register, or a plain number where there are none.
#if PROPWASH_HAS_PACKS
  using Lane = NativePack<T>;
  static constexpr std::size_t lanes = Lane::lanes;  ///< markers that are processed at once
#else
  using Lane = T;
  static constexpr std::size_t lanes = 1;  ///< markers that are processed at once
#endif

  Markers() = default;
  explicit Markers(const std::vector<Vec3<double>>& positions_W) : size_(positions_W.size()) {
    const std::size_t padded = (size_ + lanes - 1) / lanes * lanes;
    for (auto& row : rows_) row.assign(padded, T(0));
    for (std::size_t j = 0; j < size_; ++j) {
      for (int k = 0; k < 3; ++k) {
        rows_[k][j] = static_cast<T>(positions_W[j][k]);
      }
    }
  }

  /// Number of markers.
  std::size_t size() const { return size_; }
  /// Number of markers, rounded up to full lanes.
  std::size_t padded() const { return rows_[0].size(); }
  Vec3<T> operator[](std::size_t j) const { return {rows_[0][j], rows_[1][j], rows_[2][j]}; }
  /// Markers j, j + 1, …
  Vec3<Lane> lane(std::size_t j) const {
    return {load(&rows_[0][j]), load(&rows_[1][j]), load(&rows_[2][j])};
  }
  /// Values of the next `lanes` markers.
  static Lane load(const T* from) {
#if PROPWASH_HAS_PACKS
    return Lane::load(from);
#else
    return *from;
#endif
  }
  /// Writes values of `lanes` markers.
  static void store(const Lane& x, T* to) {
#if PROPWASH_HAS_PACKS
    x.store(to);
#else
    *to = x;
#endif
  }

 private:
  std::size_t size_ = 0;
  std::vector<T> rows_[3];
};

/// What a camera sees of m markers, in arrays of the caller, (n, m).
template <class T>
struct BeaconReadings {
  T* u = nullptr;           ///< pixels from the left edge; NaN where not visible
  T* v = nullptr;           ///< pixels from the upper edge; NaN where not visible
  bool* visible = nullptr;  ///< in the picture, in front and not hidden
};

namespace detail {

/// Pixels and margins of all markers for a camera in the world; rows of markers.padded() numbers.
template <class T>
void project_markers(const Camera<T>& camera, const CameraPose<T>& pose, const Markers<T>& markers,
                     T* u, T* v, T* margin) {
  using Lane = typename Markers<T>::Lane;
  const Mat3<T> r_CW = transpose(to_matrix(pose.q_WC));
  for (std::size_t j = 0; j < markers.padded(); j += Markers<T>::lanes) {
    const Vec3<Lane> from_camera_W = markers.lane(j) - pose.position_W;
    const Pixel<Lane> pixel = project(camera, r_CW * from_camera_W);
    Markers<T>::store(pixel.u, u + j);
    Markers<T>::store(pixel.v, v + j);
    Markers<T>::store(view_margin(camera, pixel), margin + j);
  }
}

/// A line of sight that must be free for a beacon to be seen.
struct Sight {
  std::size_t body;
  std::size_t marker;
};

/// Leaves the sights that are free, and makes beacons of the others invisible.
template <class T>
void keep_free(std::vector<Sight>& sights, const std::vector<std::uint8_t>& free, std::size_t count,
               const BeaconReadings<T>& readings) {
  std::size_t kept = 0;
  for (std::size_t s = 0; s < sights.size(); ++s) {
    const std::size_t k = sights[s].body * count + sights[s].marker;
    if (free[s] != 0) {
      readings.visible[k] = true;
      sights[kept++] = sights[s];
    } else {
      readings.u[k] = readings.v[k] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  sights.resize(kept);
}

/// Normals that are drawn for sights; beacon j has 2 j and 2 j + 1 of its body's.
struct SightNoise {
  std::vector<NoiseBlock> blocks;
  std::vector<SixNormals> normals;
};

template <class T>
void add_noise(const std::vector<Sight>& sights, std::size_t count, const SampleNoise& noise,
               T deviation, const BeaconReadings<T>& readings, SightNoise& drawn) {
  auto& blocks = drawn.blocks;
  blocks.clear();
  const auto is_last = [&](const Sight& sight) {
    return !blocks.empty() && blocks.back().vehicle == sight.body &&
           blocks.back().block == sight.marker / 3;
  };
  for (const auto& sight : sights) {
    if (!is_last(sight)) blocks.push_back({sight.body, sight.marker / 3});
  }
  drawn.normals.resize(blocks.size());
  noise.draw_blocks(blocks.size(), blocks.data(), drawn.normals.data());
  std::size_t at = 0;
  for (const auto& sight : sights) {
    while (blocks[at].vehicle != sight.body || blocks[at].block != sight.marker / 3) ++at;
    const std::size_t k = sight.body * count + sight.marker;
    const auto first = static_cast<int>(2 * (sight.marker % 3));
    readings.u[k] += deviation * static_cast<T>(drawn.normals[at][first]);
    readings.v[k] += deviation * static_cast<T>(drawn.normals[at][first + 1]);
  }
}

}  // namespace detail

/// The readings of bodies in `range`. camera_of(i) gives the camera that body i carries.
///
/// deviation: pixels, of the white noise on u and v, which may carry a beacon at the rim out of the
/// picture. see(k, from, to, flags) tells of k segments, rows of three numbers, which meet nothing;
/// visible() of scene_index.hpp does it. A body that has diverged sees none.
template <class T, class CameraOf, class See>
void measure_beacons(const CameraOf& camera_of, const Markers<T>& markers, const Poses<T>& poses,
                     PoseRange range, const SampleNoise& noise, T deviation, const See& see,
                     const BeaconReadings<T>& readings) {
  constexpr std::size_t bodies = 256;
  const std::size_t count = markers.size();
  const std::size_t padded = markers.padded();
  std::vector<T> u(padded), v(padded), margin(padded), from, to;
  std::vector<detail::Sight> sights;
  std::vector<std::uint8_t> free;
  detail::SightNoise drawn;
  for (std::size_t first = range.first; first < range.last; first += bodies) {
    const std::size_t last = std::min(range.last, first + bodies);
    from.clear(), to.clear(), sights.clear();
    for (std::size_t i = first; i < last; ++i) {
      std::fill_n(readings.u + i * count, count, std::numeric_limits<T>::quiet_NaN());
      std::fill_n(readings.v + i * count, count, std::numeric_limits<T>::quiet_NaN());
      std::fill_n(readings.visible + i * count, count, false);
      if (!poses.is_finite(i)) continue;
      const Camera<T>& camera = camera_of(i);
      const auto pose = camera_pose(camera, poses.position_of(i), poses.attitude_of(i));
      detail::project_markers(camera, pose, markers, u.data(), v.data(), margin.data());
      for (std::size_t j = 0; j < count; ++j) {
        if (!(margin[j] > T(0))) continue;
        sights.push_back({i, j});
        const auto marker_W = markers[j];
        for (int k = 0; k < 3; ++k) from.push_back(pose.position_W[k]), to.push_back(marker_W[k]);
        readings.u[i * count + j] = u[j];
        readings.v[i * count + j] = v[j];
      }
    }
    free.resize(sights.size());
    see(sights.size(), from.data(), to.data(), free.data());
    detail::keep_free(sights, free, count, readings);
    if (deviation > T(0)) detail::add_noise(sights, count, noise, deviation, readings, drawn);
  }
}

}  // namespace propwash
