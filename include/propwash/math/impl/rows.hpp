#pragma once
/// @file
/// Loading of row-major arrays into SIMD lanes, one pack per column, or of one row.

#include <cstddef>
#include <utility>

#include "propwash/math/pack.hpp"

namespace propwash::detail {

/// Loads row `first` of a (size, width) array; instead of one beyond the last, the last.
template <class T>
PROPWASH_FN void load_some_rows(const T* rows, int width, std::size_t first, std::size_t size,
                                T* columns) {
  const T* const row = rows + (first < size ? first : size - 1) * static_cast<std::size_t>(width);
  for (int column = 0; column < width; ++column) columns[column] = row[column];
}
template <int Width, class T>
PROPWASH_FN void load_rows(const T* rows, std::size_t first, std::size_t size, T* columns) {
  load_some_rows(rows, Width, first, size, columns);
}

#if PROPWASH_HAS_PACKS

/// One step of extracting column `Column` from `Width` registers of consecutive rows: merges the
/// elements of that column in register number `Register` into `so_far`.
template <int Column, int Width, class T, int N, int Register, std::size_t... Lane>
PROPWASH_FN typename Pack<T, N>::Vector with_register(const typename Pack<T, N>::Vector& so_far,
                                                      const Pack<T, N>& next,
                                                      std::index_sequence<Lane...>) {
  return __builtin_shufflevector(so_far, next.v,
                                 ((static_cast<int>(Lane) * Width + Column) / N == Register
                                      ? N + (static_cast<int>(Lane) * Width + Column) % N
                                      : static_cast<int>(Lane))...);
}

template <int Column, int Width, class T, int N, int... Register>
PROPWASH_FN Pack<T, N> column_of(const Pack<T, N>* rows, std::integer_sequence<int, Register...>) {
  typename Pack<T, N>::Vector column{};
  ((column = with_register<Column, Width, T, N, Register>(
        column, rows[Register], std::make_index_sequence<std::size_t{N}>{})),
   ...);
  return column;
}

template <int Width, class T, int N, int... Column>
PROPWASH_FN void transpose(const Pack<T, N>* rows, Pack<T, N>* columns,
                           std::integer_sequence<int, Column...>) {
  ((columns[Column] = column_of<Column, Width>(rows, std::make_integer_sequence<int, Width>{})),
   ...);
}

/// Loads rows first, first + 1, … of a (size, width) array, one row per lane, one pack per column.
/// Lanes beyond the last row repeat it.
template <class T, int N>
PROPWASH_FN void load_some_rows(const T* rows, int width, std::size_t first, std::size_t size,
                                Pack<T, N>* columns) {
  const auto stride = static_cast<std::size_t>(width);
  for (std::size_t column = 0; column < stride; ++column) {
    Pack<T, N> loaded{};
    for (int lane = 0; lane < N; ++lane) {
      const std::size_t row = first + static_cast<std::size_t>(lane);
      loaded.v[lane] = rows[(row < size ? row : size - 1) * stride + column];
    }
    columns[column] = loaded;
  }
}

/// The same for a width known at compile time; transposes a full block in registers.
template <int Width, class T, int N>
PROPWASH_FN void load_rows(const T* rows, std::size_t first, std::size_t size,
                           Pack<T, N>* columns) {
  if (first + N > size) return load_some_rows(rows, Width, first, size, columns);
  Pack<T, N> loaded[std::size_t{Width}];
  for (int i = 0; i < Width; ++i) {
    loaded[i] = Pack<T, N>::load(rows + first * Width + static_cast<std::size_t>(i * N));
  }
  transpose<Width>(loaded, columns, std::make_integer_sequence<int, Width>{});
}

#endif  // PROPWASH_HAS_PACKS

}  // namespace propwash::detail
