#pragma once
/// @file
/// Ray casting and lines of sight over arrays. This header includes no code that a linker could
/// merge between instruction sets.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/math/impl/rows.hpp"
#include "propwash/world/cast.hpp"

namespace propwash {

/// m, the length at each end of a line of sight in which contacts are ignored; more for coordinates
/// with a larger rounding error.
inline constexpr double sight_margin = 1e-4;

namespace detail {

/// The loops of a translation unit, identified by Isa; see fleet/impl/kernel.hpp.
template <class Isa, class T>
struct WorldLoops {
  using W = WorldLanes<T>;
  static constexpr std::size_t lanes{LanesOf<W>::count};
  /// Relative to the sum of a line's coordinates and length.
  static constexpr T sight_rounding = 8 * std::numeric_limits<T>::epsilon();

  PROPWASH_FN static Vec3<W> load(const T* rows, std::size_t first, std::size_t size) {
    if constexpr (lanes == 1) {
      return {rows[3 * first], rows[3 * first + 1], rows[3 * first + 2]};
    } else {
      W columns[3];
      load_rows<3>(rows, first, size, columns);
      return {columns[0], columns[1], columns[2]};
    }
  }
  PROPWASH_FN static void spread(const W& x, T (&to)[lanes]) {
    if constexpr (lanes == 1) {
      to[0] = x;
    } else {
      x.store(to);
    }
  }
  PROPWASH_FN static void store(const PackHit<W>& hit, std::size_t count, T* distance,
                                std::int32_t* id, T* normal) {
    T far[lanes], item[lanes], x[lanes], y[lanes], z[lanes];
    spread(hit.distance, far);
    spread(hit.id, item);
    for (std::size_t i = 0; i < count; ++i) {
      distance[i] = far[i];
      id[i] = static_cast<std::int32_t>(item[i]);
    }
    if (normal == nullptr) return;
    spread(hit.normal.x, x);
    spread(hit.normal.y, y);
    spread(hit.normal.z, z);
    for (std::size_t i = 0; i < count; ++i) {
      normal[3 * i] = x[i];
      normal[3 * i + 1] = y[i];
      normal[3 * i + 2] = z[i];
    }
  }

  /// Normalises vectors whose squares may underflow or overflow. Zero becomes NaN, which hits
  /// nothing.
  PROPWASH_FN static Vec3<W> unit(const Vec3<W>& direction) {
    const W largest = max(max(abs(direction.x), abs(direction.y)), abs(direction.z));
    const Vec3<W> part = direction * (W(T(1)) / largest);
    return part * (W(T(1)) / norm(part));
  }

  static void raycast(const SceneView<T>& scene, std::size_t n, const T* origins,
                      const T* directions, T max_range, T* distance, std::int32_t* id, T* normal) {
    for (std::size_t first = 0; first < n; first += lanes) {
      const Vec3<W> direction_W = unit(load(directions, first, n));
      const PackHit<W> hit = cast(scene, load(origins, first, n), direction_W, W(max_range));
      const std::size_t count = n - first < lanes ? n - first : lanes;
      store(hit, count, distance + first, id + first,
            normal == nullptr ? nullptr : normal + 3 * first);
    }
  }

  static void visible(const SceneView<T>& scene, std::size_t n, const T* from, const T* to,
                      std::uint8_t* flags) {
    for (std::size_t first = 0; first < n; first += lanes) {
      const Vec3<W> start = load(from, first, n);
      const Vec3<W> line = load(to, first, n) - start;
      const W length = norm(line);
      const W size = abs(start.x) + abs(start.y) + abs(start.z) + length;
      const W margin = max(W(T(sight_margin)), size * sight_rounding);
      const Vec3<W> direction = line * (W(T(1)) / max(length, margin));
      const W range = length - (margin + margin);
      const auto met = meets_any(scene, start + direction * margin, direction, range);
      const auto sound = both(is_finite(size), size < W(T(1e18)));
      const W free = select(met, W(T(0)), select(sound, W(T(1)), W(T(0))));
      T flag[lanes];
      spread(free, flag);
      const std::size_t count = n - first < lanes ? n - first : lanes;
      for (std::size_t i = 0; i < count; ++i) flags[first + i] = flag[i] > T(0) ? 1 : 0;
    }
  }
};

/// Identifies the including program.
struct NativeWorld {};

}  // namespace detail

/// The functions of one instruction set.
template <class T>
struct WorldKernels {
  /// Distances, ids and normals of n rays: see raycast.
  void (*raycast)(const SceneView<T>&, std::size_t n, const T* origins, const T* directions,
                  T max_range, T* distance, std::int32_t* id, T* normal) = nullptr;
  /// Whether nothing blocks the lines between n pairs of points: see visible.
  void (*visible)(const SceneView<T>&, std::size_t n, const T* from, const T* to,
                  std::uint8_t* flags) = nullptr;
};

/// The first hits of n rays. `origins` and `directions` are (n, 3), world frame, m; directions need
/// not be unit vectors. Writes `distance` [m], `id` and, if not null, `normal` (n, 3); without a
/// hit before `max_range` [m] they are infinity, -1 and zero.
template <class T>
void raycast(const SceneView<T>& scene, std::size_t n, const T* origins, const T* directions,
             T max_range, T* distance, std::int32_t* id, T* normal) {
  detail::WorldLoops<detail::NativeWorld, T>::raycast(scene, n, origins, directions, max_range,
                                                      distance, id, normal);
}

/// Sets `flags` to 1 for lines from `from` to `to`, both (n, 3) m, that nothing blocks. Contacts
/// within `sight_margin` of an end are ignored. A line that is not finite counts as blocked.
template <class T>
void visible(const SceneView<T>& scene, std::size_t n, const T* from, const T* to,
             std::uint8_t* flags) {
  detail::WorldLoops<detail::NativeWorld, T>::visible(scene, n, from, to, flags);
}

}  // namespace propwash
