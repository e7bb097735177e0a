#pragma once
/// @file
/// The normals of normal.hpp for one vehicle per SIMD lane. In packs of double they are bit for bit
/// those of six_normals(); in packs of float they differ in the last few bits, because the compiler
/// may fuse products and sums.

#include <cstdint>
#include <cstring>

#include "propwash/math/pack.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/random/normal.hpp"

#if PROPWASH_RANDOM_LANES

namespace propwash {

/// Six normals per lane. `ids` are the vehicle ids, one per lane; seed, step and stream are common.
template <class T, int N>
PROPWASH_FN NormalsOf<Pack<T, N>> lane_normals(std::uint64_t seed, const std::uint32_t* ids,
                                               std::uint64_t step, Stream stream) {
  // there is no register of two floats: for two lanes of double, four are drawn and two are used
  constexpr int drawn = N < 4 ? 4 : N;
  // physics in float does not need the last bits, so fusing is allowed there
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
