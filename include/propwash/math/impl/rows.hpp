#pragma once
/// @file
/// From rows, as callers hold them, to lanes.

#include <cstddef>
#include <utility>

#include "propwash/math/pack.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::detail {

/// Of `Width` registers that hold rows one after the other, the one of column `Column`: what each
/// register has of it is shuffled into its place, in turn.
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

/// Columns of `size` rows of `width` numbers, from row `first` on, into lanes; lanes beyond the
/// last row repeat it.
template <class T, int N>
PROPWASH_FN void load_some_rows(const T* rows, int width, std::size_t first, std::size_t size,
                                Pack<T, N>* columns) {
  const auto stride = static_cast<std::size_t>(width);
  for (std::size_t column = 0; column < stride; ++column) {
    Pack<T, N> read{};
    for (int lane = 0; lane < N; ++lane) {
      const std::size_t row = first + static_cast<std::size_t>(lane);
      read.v[lane] = rows[(row < size ? row : size - 1) * stride + column];
    }
    columns[column] = read;
  }
}

/// The same for rows of `Width` numbers: in registers where a block is full.
template <int Width, class T, int N>
PROPWASH_FN void load_rows(const T* rows, std::size_t first, std::size_t size,
                           Pack<T, N>* columns) {
  if (first + N > size) return load_some_rows(rows, Width, first, size, columns);
  Pack<T, N> read[std::size_t{Width}];
  for (int i = 0; i < Width; ++i) {
    read[i] = Pack<T, N>::load(rows + first * Width + static_cast<std::size_t>(i * N));
  }
  transpose<Width>(read, columns, std::make_integer_sequence<int, Width>{});
}

}  // namespace propwash::detail

#endif  // PROPWASH_HAS_PACKS
