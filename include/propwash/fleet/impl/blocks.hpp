#pragma once
/// @file
/// Numbers of many vehicles in blocks of SIMD lanes, and the checks that fleets share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/aligned_vector.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/impl/violations.hpp"

namespace propwash::detail {

/// Checks the size of a fleet, the ids of its vehicles and its integrator.
inline void check_fleet(std::size_t size, std::uint32_t first_id, Integrator integrator) {
  const auto refuse = [](const std::string& text) { PROPWASH_THROW(ParameterError(text)); };
  if (size < 1) refuse("size = 0: expected at least 1 vehicle");
  const std::uint64_t ids = (std::uint64_t{1} << 32) - first_id;
  if (size > ids) {
    refuse("size = " + std::to_string(size) + ": expected at most " + std::to_string(ids) +
           " vehicles, so that ids fit in 32 bits");
  }
  if (integrator == Integrator::symplectic_euler) {
    refuse("integrator = symplectic_euler: expected rk4 or euler");
  }
}

/// Throws std::invalid_argument for a number of steps below 1.
inline void check_substeps(int substeps) {
  if (substeps >= 1) return;
  PROPWASH_THROW(
      std::invalid_argument("substeps = " + std::to_string(substeps) + ": expected at least 1"));
}

/// Calls f(first, last) on ranges of all blocks, each large enough for a thread.
template <class F>
void in_chunks(std::size_t blocks, std::size_t cost_per_block, ExecutorRef executor, const F& f) {
  const std::size_t smallest =
      std::max<std::size_t>(1, 80 / std::max<std::size_t>(1, cost_per_block));
  const std::size_t chunk = std::max(smallest, blocks / 64);
  const std::size_t chunks = (blocks + chunk - 1) / chunk;
  if (chunks == 1) return f(std::size_t{0}, blocks);
  executor(chunks, [&](std::size_t i) { f(i * chunk, std::min(blocks, (i + 1) * chunk)); });
}

/// Throws std::invalid_argument unless count is `expected` or, if that is not 0, `for_all`.
inline void check_count(std::size_t count, std::size_t expected, std::size_t for_all,
                        const char* name) {
  if (count == expected || (for_all != 0 && count == for_all)) return;
  PROPWASH_THROW(std::invalid_argument(
      "size of " + std::string(name) + " = " + std::to_string(count) + ": expected " +
      std::to_string(expected) +
      (for_all != 0 ? ", or " + std::to_string(for_all) + " for all vehicles" : "")));
}

/// A vehicle's row of an array with one row for each vehicle or one for all.
template <class T>
const T* row_of(Span<const T> rows, int width, std::size_t vehicle) {
  const auto columns = static_cast<std::size_t>(width);
  return rows.data() + (rows.size() == columns ? 0 : vehicle * columns);
}

/// Copies fields of a block to rows of its vehicles. Width and Lanes, if not 0, are compile-time
/// constants for speed.
template <std::size_t Width, std::size_t Lanes, class T>
void copy_block_of(const T* block, std::size_t lanes, std::size_t present, std::size_t width,
                   T* rows) {
  if constexpr (Width != 0) width = Width;
  if constexpr (Lanes != 0) lanes = Lanes;
  for (std::size_t lane = 0; lane < present; ++lane) {
    for (std::size_t k = 0; k < width; ++k) rows[lane * width + k] = block[k * lanes + lane];
  }
}
template <std::size_t Width, class T>
void copy_block(const T* block, std::size_t lanes, std::size_t present, std::size_t width,
                T* rows) {
  if (lanes == 16) return copy_block_of<Width, 16>(block, lanes, present, width, rows);
  if (lanes == 8) return copy_block_of<Width, 8>(block, lanes, present, width, rows);
  copy_block_of<Width, 0>(block, lanes, present, width, rows);
}

/// Copies fields of all blocks to rows of vehicles.
template <std::size_t Width, class T>
void copy_rows_of(const T* blocks, std::size_t stride, std::size_t lanes, std::size_t size,
                  std::size_t width, T* rows) {
  for (std::size_t first = 0; first < size; first += lanes) {
    copy_block<Width>(blocks + first / lanes * stride, lanes, std::min(lanes, size - first), width,
                      rows + first * width);
  }
}
template <class T>
void copy_rows(const T* blocks, std::size_t stride, std::size_t lanes, std::size_t size, int count,
               T* rows) {
  const auto width = static_cast<std::size_t>(count);
  if (count == 1) return copy_rows_of<1>(blocks, stride, lanes, size, width, rows);
  if (count == 3) return copy_rows_of<3>(blocks, stride, lanes, size, width, rows);
  if (count == 4) return copy_rows_of<4>(blocks, stride, lanes, size, width, rows);
  copy_rows_of<0>(blocks, stride, lanes, size, width, rows);
}

/// A matrix of `rows` by `width` numbers for each vehicle, in blocks of registers.
template <class T>
struct FleetBlocks {
  std::size_t lanes = 1;
  int rows = 0;
  int width = 0;
  LineVector<T> numbers;

  FleetBlocks() = default;
  FleetBlocks(std::size_t padded, std::size_t lanes_of_block, int row_count, int columns)
      : lanes(lanes_of_block), rows(row_count), width(columns), numbers(padded * stride()) {}

  bool empty() const { return numbers.empty(); }
  std::size_t stride() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  }
  std::size_t index(std::size_t vehicle, int row, int column) const {
    const auto field = static_cast<std::size_t>(row * width + column);
    return (vehicle / lanes * stride() + field) * lanes + vehicle % lanes;
  }
  T& at(std::size_t vehicle, int row, int column) { return numbers[index(vehicle, row, column)]; }
  const T& at(std::size_t vehicle, int row, int column) const {
    return numbers[index(vehicle, row, column)];
  }
};

}  // namespace propwash::detail
