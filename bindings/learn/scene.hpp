#pragma once
/// @file
/// Vehicles that share a scene: the nearest others, collisions and downwash.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "propwash/learn/impl/rows.hpp"
#include "propwash/model/downwash.hpp"
#include "propwash/model/rotor.hpp"

namespace propwash::learn {

/// Vehicles of scenes, `vehicles` consecutive rows for each.
template <class T>
struct SceneRows {
  std::size_t size, vehicles;
  const T* position;   ///< m, world frame, (size, 3)
  const bool* active;  ///< whether the vehicle is present
};

/// Calls f(j) for each other active vehicle j of the scene of i; not at all if i is not active.
template <class T, class F>
void each_other(const SceneRows<T>& rows, std::size_t i, const F& f) {
  if (!rows.active[i]) return;
  const std::size_t first = i - i % rows.vehicles;
  for (std::size_t j = first; j < first + rows.vehicles; ++j) {
    if (j != i && rows.active[j]) f(j);
  }
}

namespace detail {

/// The smallest squared norm of a vector that changes linearly from `start` to `end`.
template <class T>
T least_squared_norm(const Vec3<T>& start, const Vec3<T>& end) {
  const Vec3<T> moved = end - start;
  const T length = squared_norm(moved);
  const T along = length > T(0) ? std::clamp(-dot(start, moved) / length, T(0), T(1)) : T(0);
  return squared_norm(start + moved * along);
}

}  // namespace detail

/// closest (size): distance to the nearest other [m], infinity without others. collided (size):
/// whether the spheres of the vehicle and of another touched while both moved straight from
/// `before` (size, 3) to their positions. radius: of the spheres [m].
template <class T>
void judge_meetings(const SceneRows<T>& rows, const T* before, T radius, T* closest,
                    bool* collided) {
  for (std::size_t i = 0; i < rows.size; ++i) {
    const Vec3<T> here = detail::row3(rows.position, i);
    const Vec3<T> previous = detail::row3(before, i);
    T least = std::numeric_limits<T>::infinity(), nearest = least;
    each_other(rows, i, [&](std::size_t j) {
      const Vec3<T> end = detail::row3(rows.position, j) - here;
      const Vec3<T> start = detail::row3(before, j) - previous;
      nearest = std::min(nearest, squared_norm(end));
      least = std::min(least, detail::least_squared_norm(start, end));
    });
    closest[i] = std::sqrt(nearest);
    collided[i] = least < T(4) * radius * radius;
  }
}

inline constexpr std::size_t neighbour_columns = 7;

/// Number of a vehicle and the squared distance from it [m^2].
template <class T>
struct Neighbour {
  T squared;
  std::size_t row;
};

/// seen (size, 7 count): for each of the nearest `count` others, the nearest first, its position
/// [m] and velocity [m/s] relative to the vehicle, and 1; zeros for each missing one. attitude
/// (size, 4): for vectors in the vehicle's body frame, null for the world frame. found: memory for
/// `count`.
template <class T>
void see_others(const SceneRows<T>& rows, const T* velocity, const T* attitude, std::size_t count,
                Neighbour<T>* found, T* seen) {
  const std::size_t width = neighbour_columns * count;
  std::fill(seen, seen + rows.size * width, T(0));
  for (std::size_t i = 0; i < rows.size && count > 0; ++i) {
    const Vec3<T> here = detail::row3(rows.position, i), speed = detail::row3(velocity, i);
    std::size_t present = 0;
    each_other(rows, i, [&](std::size_t j) {
      const T squared = squared_norm(detail::row3(rows.position, j) - here);
      std::size_t place = present < count ? present++ : count;
      for (; place > 0 && squared < found[place - 1].squared; --place) {
        if (place < count) found[place] = found[place - 1];
      }
      if (place < count) found[place] = {squared, j};
    });
    Quat<T> inverse{T(1), T(0), T(0), T(0)};
    if (attitude != nullptr) {
      const T* q = attitude + 4 * i;
      inverse = conjugate(Quat<T>{q[0], q[1], q[2], q[3]});
    }
    T* to = seen + i * width;
    for (std::size_t k = 0; k < present; ++k, to += neighbour_columns) {
      Vec3<T> offset = detail::row3(rows.position, found[k].row) - here;
      Vec3<T> relative = detail::row3(velocity, found[k].row) - speed;
      if (attitude != nullptr)
        offset = rotate(inverse, offset), relative = rotate(inverse, relative);
      for (int axis = 0; axis < 3; ++axis) {
        to[axis] = offset[axis];
        to[3 + axis] = relative[axis];
      }
      to[6] = T(1);
    }
  }
}

/// forces (size, 3): of the downwash of the others [N, world frame]. attitude (size, 4), thrust
/// (size) [N], along z of the vehicle.
template <class T>
void judge_downwash(const SceneRows<T>& rows, const DownwashParameters<T>& jet, const T* attitude,
                    const T* thrust, T* forces) {
  for (std::size_t i = 0; i < rows.size; ++i) {
    const Vec3<T> here = detail::row3(rows.position, i);
    Vec3<T> sum{};
    each_other(rows, i, [&](std::size_t j) {
      const T* q = attitude + 4 * j;
      const Vec3<T> up = rotate(Quat<T>{q[0], q[1], q[2], q[3]}, AlongZ<T>{T(1)});
      const Vec3<T> offset = here - detail::row3(rows.position, j);
      sum = sum + downwash_force(jet, thrust[j], up, offset);
    });
    for (int axis = 0; axis < 3; ++axis) forces[3 * i + std::size_t(axis)] = sum[axis];
  }
}

}  // namespace propwash::learn
