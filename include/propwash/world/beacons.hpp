#pragma once
/// @file
/// Infrared beacons: the pixels of the markers that are visible to a camera.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-B; see docs/sensors.md.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "propwash/math/lanes.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/random/sample_noise.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/poses.hpp"

namespace propwash {

/// What a camera detects of the visible markers.
template <class T>
struct BeaconParameters {
  T deviation = T(0);                            ///< pixels, of the white noise on u and v
  T reach = std::numeric_limits<T>::infinity();  ///< m, from the camera; not seen beyond it
  T miss_rate = T(0);  ///< probability that a visible beacon is missing from a reading
};

/// Positions of markers in the world, stored by coordinate for loads into lanes.
template <class T>
class Markers {
 public:
  using Lane = WorldLanes<T>;                                ///< a pack, or a scalar
  static constexpr std::size_t lanes{LanesOf<Lane>::count};  ///< markers of a pack

  Markers() = default;
  explicit Markers(const std::vector<Vec3<double>>& positions_W) : size_(positions_W.size()) {
    const std::size_t padded = (size_ + lanes - 1) / lanes * lanes;
    for (auto& row : rows_) row.assign(padded, T(0));
    for (std::size_t j = 0; j < size_; ++j) {
      for (int k = 0; k < 3; ++k) rows_[k][j] = static_cast<T>(positions_W[j][k]);
    }
  }

  /// Number of markers.
  std::size_t size() const { return size_; }
  /// Number of markers, rounded up to full lanes.
  std::size_t padded() const { return rows_[0].size(); }
  Vec3<T> operator[](std::size_t j) const { return {rows_[0][j], rows_[1][j], rows_[2][j]}; }
  /// Markers j to j + lanes - 1.
  Vec3<Lane> lane(std::size_t j) const {
    return {load(&rows_[0][j]), load(&rows_[1][j]), load(&rows_[2][j])};
  }
  /// Loads the values of `lanes` markers.
  static Lane load(const T* from) {
    if constexpr (lanes == 1) {
      return *from;
    } else {
      return Lane::load(from);
    }
  }
  /// Stores the values of `lanes` markers.
  static void store(const Lane& x, T* to) {
    if constexpr (lanes == 1) {
      *to = x;
    } else {
      x.store(to);
    }
  }

 private:
  std::size_t size_ = 0;
  std::vector<T> rows_[3];
};

/// The readings of m markers by n cameras, in arrays of the caller, (n, m).
template <class T>
struct BeaconReadings {
  T* u = nullptr;           ///< pixels from the left edge; NaN if not visible
  T* v = nullptr;           ///< pixels from the upper edge; NaN if not visible
  bool* visible = nullptr;  ///< in the image, in front, within reach, not occluded, not missed
};

namespace detail {

/// Pixels and view margins of all markers for one camera; arrays of markers.padded() numbers.
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

/// The line of sight between a body's camera and a marker.
struct LineOfSight {
  std::size_t body;
  std::size_t marker;
};

/// Keeps the lines for which keep(s) is true; the beacons of the others become invisible.
template <class T, class Keep>
void keep_lines(std::vector<LineOfSight>& lines, std::size_t count,
                const BeaconReadings<T>& readings, const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t s = 0; s < lines.size(); ++s) {
    const std::size_t k = lines[s].body * count + lines[s].marker;
    readings.visible[k] = keep(s);
    if (readings.visible[k]) {
      lines[kept++] = lines[s];
    } else {
      readings.u[k] = readings.v[k] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  lines.resize(kept);
}

/// The normals of each line of sight, in blocks of six that hold those of `per_block` markers.
class BeaconNormals {
 public:
  /// Calls use(s, normals) for each line s with the six / per_block normals of its marker.
  template <class Use>
  void draw(const std::vector<LineOfSight>& lines, const SampleNoise& noise,
            std::size_t first_block, std::size_t per_block, const Use& use) {
    blocks_.clear(), at_.clear();
    for (const auto& line : lines) {
      const NoiseBlock block{line.body, first_block + line.marker / per_block};
      const bool is_same = !blocks_.empty() && blocks_.back().vehicle == block.vehicle &&
                           blocks_.back().block == block.block;
      if (!is_same) blocks_.push_back(block);
      at_.push_back(blocks_.size() - 1);
    }
    normals_.resize(blocks_.size());
    noise.draw_blocks(blocks_.size(), blocks_.data(), normals_.data());
    for (std::size_t s = 0; s < lines.size(); ++s) {
      const std::size_t first = 6 / per_block * (lines[s].marker % per_block);
      use(s, &normals_[at_[s]].value[first]);
    }
  }

 private:
  std::vector<NoiseBlock> blocks_;
  std::vector<std::size_t> at_;
  std::vector<SixNormals> normals_;
};

/// Noise blocks of missed beacons start here, those of pixels at 0.
inline constexpr std::size_t first_miss_block = std::size_t{1} << 22;

/// Removes each beacon with the probability of a miss: marker j by its normal z if Φ(z) is smaller.
template <class T>
void remove_missed(std::vector<LineOfSight>& lines, std::size_t count, const SampleNoise& noise,
                   T miss_rate, const BeaconReadings<T>& readings, BeaconNormals& normals,
                   std::vector<std::uint8_t>& is_seen) {
  is_seen.resize(lines.size());
  normals.draw(lines, noise, first_miss_block, 6, [&](std::size_t s, const auto* z) {
    is_seen[s] = 0.5 * std::erfc(-static_cast<double>(*z) * 0.70710678118654752) >=
                 static_cast<double>(miss_rate);
  });
  keep_lines(lines, count, readings, [&](std::size_t s) { return is_seen[s] != 0; });
}

/// Adds white noise to the pixels; beacon j uses normals 2 j and 2 j + 1 of its body.
template <class T>
void add_noise(const std::vector<LineOfSight>& lines, std::size_t count, const SampleNoise& noise,
               T deviation, const BeaconReadings<T>& readings, BeaconNormals& normals) {
  normals.draw(lines, noise, 0, 3, [&](std::size_t s, const auto* z) {
    const std::size_t k = lines[s].body * count + lines[s].marker;
    readings.u[k] += deviation * static_cast<T>(z[0]);
    readings.v[k] += deviation * static_cast<T>(z[1]);
  });
}

}  // namespace detail

/// The readings of bodies in `range`. camera_of(i) returns the camera of body i.
///
/// The noise may move a beacon out of the image.
/// is_visible(k, from, to, flags) sets the flags of k segments, (k, 3) each, that nothing blocks,
/// as visible() of raycast.hpp does. To a body that has diverged, no beacon is visible.
template <class T, class CameraOf, class IsVisible>
void measure_beacons(const CameraOf& camera_of, const Markers<T>& markers, const Poses<T>& poses,
                     PoseRange range, const SampleNoise& noise,
                     const BeaconParameters<T>& parameters, const IsVisible& is_visible,
                     const BeaconReadings<T>& readings) {
  constexpr std::size_t bodies = 256;
  const std::size_t count = markers.size();
  const std::size_t padded = markers.padded();
  std::vector<T> u(padded), v(padded), margin(padded), from, to;
  std::vector<detail::LineOfSight> lines;
  std::vector<std::uint8_t> flags;
  detail::BeaconNormals normals;
  for (std::size_t first = range.first; first < range.last; first += bodies) {
    const std::size_t last = std::min(range.last, first + bodies);
    from.clear(), to.clear(), lines.clear();
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
        const auto marker_W = markers[j];
        if (norm(marker_W - pose.position_W) > parameters.reach) continue;
        lines.push_back({i, j});
        for (int k = 0; k < 3; ++k) from.push_back(pose.position_W[k]), to.push_back(marker_W[k]);
        readings.u[i * count + j] = u[j];
        readings.v[i * count + j] = v[j];
      }
    }
    flags.resize(lines.size());
    is_visible(lines.size(), from.data(), to.data(), flags.data());
    detail::keep_lines(lines, count, readings, [&](std::size_t s) { return flags[s] != 0; });
    const auto& p = parameters;
    if (p.miss_rate > T(0)) {
      detail::remove_missed(lines, count, noise, p.miss_rate, readings, normals, flags);
    }
    if (p.deviation > T(0)) {
      detail::add_noise(lines, count, noise, p.deviation, readings, normals);
    }
  }
}

}  // namespace propwash
