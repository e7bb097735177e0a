#pragma once
/// @file
/// Infrared beacons: the pixels of the markers that are visible to a camera.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-B; see docs/sensors.md.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "propwash/math/lanes.hpp"
#include "propwash/random/sample_noise.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/poses.hpp"

namespace propwash {

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
  bool* visible = nullptr;  ///< in the image, in front and not occluded
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

/// Keeps the lines that nothing blocks; the beacons of the others become invisible.
template <class T>
void remove_blocked(std::vector<LineOfSight>& lines, const std::vector<std::uint8_t>& is_free,
                    std::size_t count, const BeaconReadings<T>& readings) {
  std::size_t free_lines = 0;
  for (std::size_t s = 0; s < lines.size(); ++s) {
    const std::size_t k = lines[s].body * count + lines[s].marker;
    if (is_free[s] != 0) {
      readings.visible[k] = true;
      lines[free_lines++] = lines[s];
    } else {
      readings.u[k] = readings.v[k] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  lines.resize(free_lines);
}

/// Normals of the lines of sight; beacon j uses numbers 2 j and 2 j + 1 of its body.
struct BeaconNoise {
  std::vector<NoiseBlock> blocks;
  std::vector<SixNormals> normals;
};

template <class T>
void add_noise(const std::vector<LineOfSight>& lines, std::size_t count, const SampleNoise& noise,
               T deviation, const BeaconReadings<T>& readings, BeaconNoise& drawn) {
  auto& blocks = drawn.blocks;
  blocks.clear();
  const auto is_last = [&](const LineOfSight& line) {
    return !blocks.empty() && blocks.back().vehicle == line.body &&
           blocks.back().block == line.marker / 3;
  };
  for (const auto& line : lines) {
    if (!is_last(line)) blocks.push_back({line.body, line.marker / 3});
  }
  drawn.normals.resize(blocks.size());
  noise.draw_blocks(blocks.size(), blocks.data(), drawn.normals.data());
  std::size_t at = 0;
  for (const auto& line : lines) {
    while (blocks[at].vehicle != line.body || blocks[at].block != line.marker / 3) ++at;
    const std::size_t k = line.body * count + line.marker;
    const auto first = static_cast<int>(2 * (line.marker % 3));
    readings.u[k] += deviation * static_cast<T>(drawn.normals[at][first]);
    readings.v[k] += deviation * static_cast<T>(drawn.normals[at][first + 1]);
  }
}

}  // namespace detail

/// The readings of bodies in `range`. camera_of(i) returns the camera of body i.
///
/// deviation: pixels, of the white noise on u and v, which may move a beacon out of the image.
/// is_visible(k, from, to, flags) sets the flags of k segments, (k, 3) each, that nothing blocks,
/// as visible() of raycast.hpp does. To a body that has diverged, no beacon is visible.
template <class T, class CameraOf, class IsVisible>
void measure_beacons(const CameraOf& camera_of, const Markers<T>& markers, const Poses<T>& poses,
                     PoseRange range, const SampleNoise& noise, T deviation,
                     const IsVisible& is_visible, const BeaconReadings<T>& readings) {
  constexpr std::size_t bodies = 256;
  const std::size_t count = markers.size();
  const std::size_t padded = markers.padded();
  std::vector<T> u(padded), v(padded), margin(padded), from, to;
  std::vector<detail::LineOfSight> lines;
  std::vector<std::uint8_t> is_free;
  detail::BeaconNoise drawn;
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
        lines.push_back({i, j});
        const auto marker_W = markers[j];
        for (int k = 0; k < 3; ++k) from.push_back(pose.position_W[k]), to.push_back(marker_W[k]);
        readings.u[i * count + j] = u[j];
        readings.v[i * count + j] = v[j];
      }
    }
    is_free.resize(lines.size());
    is_visible(lines.size(), from.data(), to.data(), is_free.data());
    detail::remove_blocked(lines, is_free, count, readings);
    if (deviation > T(0)) detail::add_noise(lines, count, noise, deviation, readings, drawn);
  }
}

}  // namespace propwash
