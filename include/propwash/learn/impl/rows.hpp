#pragma once
/// @file
/// SIMD access to environments in the caller's memory, one row each. A thread of a GPU passes its
/// environment alone, and has one lane.

#include <cstddef>
#include <type_traits>

#include "propwash/math/impl/rows.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::learn {

/// Non-owning view of the states of `size` vehicles, one row each.
template <class T>
struct StateRows {
  std::size_t size = 0;
  const T* position = nullptr;    ///< m, world frame, (size, 3)
  const T* velocity = nullptr;    ///< m/s, world frame, (size, 3)
  const T* attitude = nullptr;    ///< q_WB, unit, w x y z, (size, 4)
  const T* body_rates = nullptr;  ///< rad/s, body frame, (size, 3)
};

/// Actions of the same vehicles, (size, width) each, within [-1, 1].
template <class T>
struct ActionRows {
  int width = 0;
  const T* now = nullptr;
  const T* before = nullptr;  ///< one step earlier
};

namespace detail {

template <class T>
Vec3<T> row3(const T* rows, std::size_t i) {
  return {rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]};
}

template <class T>
using Lanes = WorldLanes<T>;

/// A block of environments: index of the first, and number of lanes in use.
struct Block {
  std::size_t first;
  std::size_t count;
};

/// Calls f(block) for blocks that cover n environments.
template <class T, class F>
PROPWASH_FN void each_block(std::size_t n, const F& f) {
  constexpr auto lanes = static_cast<std::size_t>(LanesOf<Lanes<T>>::count);
  for (std::size_t first = 0; first < n; first += lanes)
    f(Block{first, lanes < n - first ? lanes : n - first});
}

template <class T, int Width>
struct Columns {
  Lanes<T> at[std::size_t{Width}];
};

template <int Width, class T>
PROPWASH_FN Columns<T, Width> columns_of(const T* rows, const Block& block, std::size_t size) {
  Columns<T, Width> columns;
  propwash::detail::load_rows<Width>(rows, block.first, size, columns.at);
  return columns;
}
template <class T>
PROPWASH_FN Vec3<Lanes<T>> vec3_of(const T* rows, const Block& block, std::size_t size) {
  const auto c = columns_of<3>(rows, block, size);
  return {c.at[0], c.at[1], c.at[2]};
}
template <class T>
PROPWASH_FN Quat<Lanes<T>> quat_of(const T* rows, const Block& block, std::size_t size) {
  const auto c = columns_of<4>(rows, block, size);
  return {c.at[0], c.at[1], c.at[2], c.at[3]};
}
/// One column of rows of `width`.
template <class T>
PROPWASH_FN Lanes<T> column_of(const T* rows, std::size_t width, std::size_t column,
                               const Block& block) {
  if constexpr (std::is_floating_point_v<Lanes<T>>) {
    return rows[block.first * width + column];
  } else {
    Lanes<T> x{};
    for (std::size_t lane = 0; lane < block.count; ++lane) {
      x.v[static_cast<int>(lane)] = rows[(block.first + lane) * width + column];
    }
    return x;
  }
}

/// Writes lanes, numbers or Booleans, to one column of rows of `width`.
template <class W, class To>
PROPWASH_FN void put(const W& x, To* rows, std::size_t width, std::size_t column,
                     const Block& block) {
  To* to = rows + block.first * width + column;
  if constexpr (std::is_floating_point_v<W> || std::is_same_v<W, bool>) {
    *to = x;
  } else {
    if (block.count == static_cast<std::size_t>(LanesOf<W>::count)) {
      for (int lane = 0; lane < LanesOf<W>::count; ++lane, to += width) {
        *to = x[lane];
      }
      return;
    }
    for (std::size_t lane = 0; lane < block.count; ++lane, to += width)
      *to = x[static_cast<int>(lane)];
  }
}
template <class W, class T>
PROPWASH_FN void put(const Vec3<W>& v, T* rows, std::size_t width, std::size_t column,
                     const Block& block) {
  put(v.x, rows, width, column, block);
  put(v.y, rows, width, column + 1, block);
  put(v.z, rows, width, column + 2, block);
}

/// Writes four adjacent columns; registers of four lanes are transposed and stored row by row.
template <class W, class T>
PROPWASH_FN void put_four(const W (&x)[4], T* rows, std::size_t width, std::size_t column,
                          const Block& block) {
  if constexpr (LanesOf<W>::count == 4) {
    if (block.count == 4) {
      const auto low_01 = __builtin_shufflevector(x[0].v, x[1].v, 0, 4, 1, 5);
      const auto high_01 = __builtin_shufflevector(x[0].v, x[1].v, 2, 6, 3, 7);
      const auto low_23 = __builtin_shufflevector(x[2].v, x[3].v, 0, 4, 1, 5);
      const auto high_23 = __builtin_shufflevector(x[2].v, x[3].v, 2, 6, 3, 7);
      T* const to = rows + block.first * width + column;
      W(__builtin_shufflevector(low_01, low_23, 0, 1, 4, 5)).store(to);
      W(__builtin_shufflevector(low_01, low_23, 2, 3, 6, 7)).store(to + width);
      W(__builtin_shufflevector(high_01, high_23, 0, 1, 4, 5)).store(to + 2 * width);
      W(__builtin_shufflevector(high_01, high_23, 2, 3, 6, 7)).store(to + 3 * width);
      return;
    }
  }
  for (std::size_t k = 0; k < 4; ++k) put(x[k], rows, width, column + k, block);
}

/// Sum over the columns of the squared change of action.
template <class T>
PROPWASH_FN Lanes<T> squared_change(const ActionRows<T>& action, const Block& block,
                                    std::size_t size) {
  Lanes<T> sum{};
  const auto add = [&](const Lanes<T>& now, const Lanes<T>& before) PROPWASH_LAMBDA {
    sum = sum + (now - before) * (now - before);
  };
  if (action.width == 4) {  // by far the most common; transposed in registers
    const auto now = columns_of<4>(action.now, block, size);
    const auto before = columns_of<4>(action.before, block, size);
    for (int k = 0; k < 4; ++k) add(now.at[k], before.at[k]);
    return sum;
  }
  const auto width = static_cast<std::size_t>(action.width);
  for (std::size_t k = 0; k < width; ++k) {
    add(column_of(action.now, width, k, block), column_of(action.before, width, k, block));
  }
  return sum;
}

}  // namespace detail

}  // namespace propwash::learn
