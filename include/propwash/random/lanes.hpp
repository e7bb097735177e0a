#pragma once
/// @file
/// The normals of normal.hpp for as many vehicles as a Pack has lanes: bit for bit those of each
/// vehicle by itself in packs of double, and within a few last bits in packs of float, whose sums
/// and products the compiler may fuse.

#include <cstdint>
#include <cstring>

#include "propwash/math/pack.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/random/normal.hpp"

#if PROPWASH_RANDOM_LANES

namespace propwash {

/// Six normals for each lane. `ids` are the numbers of the vehicles, one per lane; seed, step and
/// stream are shared.
template <class T, int N>
PROPWASH_FN NormalsOf<Pack<T, N>> lane_normals(std::uint64_t seed, const std::uint32_t* ids,
                                               std::uint64_t step, Stream stream) {
  // a vector unit has no register of two floats: two doubles draw four normals and take two
  constexpr int drawn = N < 4 ? 4 : N;
  // where the physics is in float, the last bit of a float is below its rounding
  using Lanes = detail::VectorLanes<drawn, std::is_same_v<T, float>>;
  using U = typename Lanes::U;
  U id{};
  std::memcpy(&id, ids, sizeof(std::uint32_t) * N);
  const auto z = detail::normals<Lanes>(seed, id, U{} + static_cast<std::uint32_t>(step),
                                        U{} + static_cast<std::uint32_t>(step >> 32),
                                        U{} + static_cast<std::uint32_t>(stream));
  NormalsOf<Pack<T, N>> result;
  for_each_index<6>(6, [&](int i) PROPWASH_LAMBDA {
    if constexpr (drawn == N) {
      result.value[i] = __builtin_convertvector(z[i], typename Pack<T, N>::Vector);
    } else {
      for (int lane = 0; lane < N; ++lane) result.value[i].v[lane] = T(z[i][lane]);
    }
  });
  return result;
}

}  // namespace propwash

#endif  // PROPWASH_RANDOM_LANES
