#pragma once
/// @file
/// Rays and lines of sight over arrays, a register of them at a time. Headers that this one
/// includes hold no code that a linker could share between instruction sets.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/math/impl/rows.hpp"
#include "propwash/world/cast.hpp"

namespace propwash {

/// How far from each of its ends a line of sight may touch something, m; more where coordinates are
/// so large that rounding is.
inline constexpr double sight_margin = 1e-4;

namespace detail {

/// The loops of a translation unit, for which Isa stands; see fleet/impl/kernel.hpp.
template <class Isa, class T>
struct WorldLoops {
  using W = WorldLanes<T>;
  static constexpr std::size_t lanes{LanesOf<W>::count};
  /// Of the coordinates and the length of a line of sight together.
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

  /// Of any length, the squares of which may vanish or overflow; not finite for none, so no hit.
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

/// The unit of a program that includes the headers.
struct NativeWorld {};

}  // namespace detail

/// Loops of one instruction set, for a table.
template <class T>
struct WorldKernels {
  int lanes = 0;  ///< rays that are cast at once
  /// Distances, ids and normals of n rays: see raycast.
  void (*raycast)(const SceneView<T>&, std::size_t n, const T* origins, const T* directions,
                  T max_range, T* distance, std::int32_t* id, T* normal) = nullptr;
  /// Whether n pairs of points see each other: see visible.
  void (*visible)(const SceneView<T>&, std::size_t n, const T* from, const T* to,
                  std::uint8_t* flags) = nullptr;
};

/// The loops of the present translation unit, for which Isa, a type local to it, stands.
template <class Isa, class T>
WorldKernels<T> make_world_kernels() {
  using Loops = detail::WorldLoops<Isa, T>;
  return {Loops::lanes, &Loops::raycast, &Loops::visible};
}

/// What n rays meet first. `origins` and `directions` are (n, 3), world frame, m; directions of any
/// length but zero. Writes `distance` [m] (infinity), `id` (-1) and, where not null, `normal`
/// (n, 3) (zero); in brackets what stands where nothing is met before `max_range`.
template <class T>
void raycast(const SceneView<T>& scene, std::size_t n, const T* origins, const T* directions,
             T max_range, T* distance, std::int32_t* id, T* normal) {
  detail::WorldLoops<detail::NativeWorld, T>::raycast(scene, n, origins, directions, max_range,
                                                      distance, id, normal);
}

/// Whether the lines from `from` to `to`, both (n, 3), meet nothing; what touches them within
/// `sight_margin` of an end, or some roundings far from the origin, does not count. A line that is
/// not of finite numbers is not free.
template <class T>
void visible(const SceneView<T>& scene, std::size_t n, const T* from, const T* to,
             std::uint8_t* flags) {
  detail::WorldLoops<detail::NativeWorld, T>::visible(scene, n, from, to, flags);
}

}  // namespace propwash
