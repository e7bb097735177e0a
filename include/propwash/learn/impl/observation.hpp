#pragma once
/// @file
/// The layout of an observed state: position error, velocity, rotation from body to world row by
/// row, body rates, last action; then the task's extras.

#include <cstring>

#include "propwash/learn/impl/rows.hpp"
#include "propwash/math/mat3.hpp"

namespace propwash::learn {

/// Number of columns of an observed state before the action.
inline constexpr std::size_t state_columns = 18;

/// Extra columns (size, width), copied unchanged.
template <class T>
struct ExtraRows {
  std::size_t width = 0;
  const T* rows = nullptr;
};

namespace detail {

/// Copies (size, Columns) into rows of `width`. With the number of columns known at compile time,
/// memcpy is inlined; a call for the few numbers of a row would take longer than the copy.
template <std::size_t Columns, class T>
void copy_columns(const T* from, std::size_t size, T* to, std::size_t width) {
  for (std::size_t i = 0; i < size; ++i, from += Columns, to += width) {
    std::memcpy(to, from, Columns * sizeof(T));
  }
}
template <class T>
void copy_columns(const T* from, std::size_t columns, std::size_t size, T* to, std::size_t width) {
  if (columns == 4) return copy_columns<4>(from, size, to, width);
  if (columns == 9) return copy_columns<9>(from, size, to, width);
  if (columns == 12) return copy_columns<12>(from, size, to, width);
  for (std::size_t i = 0; i < size; ++i, from += columns, to += width) {
    std::memcpy(to, from, columns * sizeof(T));
  }
}

}  // namespace detail

/// Writes rows of `width` to `seen`.
/// target: m, world frame, (size, 3), or (3) with `one_target`; null for the origin.
/// in_body: whether position error and velocity are in the body frame instead of the world frame.
template <class T>
void observe_state(const StateRows<T>& state, const T* target, bool one_target,
                   const ActionRows<T>& action, bool in_body, T* seen, std::size_t width) {
  const auto actions = static_cast<std::size_t>(action.width);
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    Vec3<W> error = detail::vec3_of(state.position, block, state.size);
    if (target != nullptr && one_target) {
      error = error - Vec3<W>{W(target[0]), W(target[1]), W(target[2])};
    } else if (target != nullptr) {
      error = error - detail::vec3_of(target, block, state.size);
    }
    Vec3<W> velocity = detail::vec3_of(state.velocity, block, state.size);
    const Quat<W> q = detail::quat_of(state.attitude, block, state.size);
    const Mat3<W> rotation = to_matrix(q);
    if (in_body) {
      error = transpose(rotation) * error;
      velocity = transpose(rotation) * velocity;
    }
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, state.size);
    const W columns[state_columns] = {
        error.x,        error.y,        error.z,        velocity.x,     velocity.y,
        velocity.z,     rotation(0, 0), rotation(0, 1), rotation(0, 2), rotation(1, 0),
        rotation(1, 1), rotation(1, 2), rotation(2, 0), rotation(2, 1), rotation(2, 2),
        rates.x,        rates.y,        rates.z};
    for (std::size_t k = 0; k < 16; k += 4) {
      const W four[4] = {columns[k], columns[k + 1], columns[k + 2], columns[k + 3]};
      detail::put_four(four, seen, width, k, block);
    }
    for (std::size_t k = 16; k < state_columns; ++k) {
      detail::put(columns[k], seen, width, k, block);
    }
  });
  detail::copy_columns(action.now, actions, state.size, seen + state_columns, width);
}

/// Writes extra columns, starting at `column`.
template <class T>
void append(const ExtraRows<T>& extra, std::size_t size, T* seen, std::size_t width,
            std::size_t column) {
  detail::copy_columns(extra.rows, extra.width, size, seen + column, width);
}

/// Transforms vectors (size, count, 3) from the world frame to each vehicle's body frame, in place.
template <class T>
void rotate_to_body(const T* attitude, std::size_t size, std::size_t count, T* vectors) {
  for (std::size_t i = 0; i < size; ++i) {
    const T* q = attitude + 4 * i;
    const Mat3<T> rotation = transpose(to_matrix(Quat<T>{q[0], q[1], q[2], q[3]}));
    for (std::size_t k = 0; k < count; ++k) {
      T* v = vectors + (i * count + k) * 3;
      const Vec3<T> rotated = rotation * Vec3<T>{v[0], v[1], v[2]};
      v[0] = rotated.x, v[1] = rotated.y, v[2] = rotated.z;
    }
  }
}

/// Rotation matrices (size, 3, 3), body to world, row by row.
template <class T>
void rotation_matrices(const T* attitude, std::size_t size, T* to) {
  for (std::size_t i = 0; i < size; ++i, attitude += 4) {
    const Quat<T> q{attitude[0], attitude[1], attitude[2], attitude[3]};
    for (const T x : to_matrix(q).elements) *to++ = x;
  }
}

}  // namespace propwash::learn
