#pragma once
/// @file
/// Any number of normals for one reading of a sensor, a pure function of key, vehicle, sample and
/// stream.
///
/// normal.hpp gives six normals per (seed, id, step, stream). A reading may need more: block b of
/// six normals uses step = sample + b 2^40.

#include <cstddef>
#include <cstdint>

#include "propwash/random/normal.hpp"

namespace propwash {

/// The key of a sensor's noise, from the seed of the run and the seed of the sensor. One round of
/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
inline std::uint64_t sensor_key(std::uint64_t seed, std::uint64_t sensor_seed) {
  std::uint64_t x = sensor_seed + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (x ^ (x >> 31));
}

/// Block number `block` of a vehicle's normals.
struct NoiseBlock {
  std::size_t vehicle;  ///< index of the vehicle
  std::size_t block;    ///< index of the block of six normals in the sample
};

/// The normals of one sample of a sensor on many vehicles.
struct SampleNoise {
  std::uint64_t key = 0;       ///< seed
  std::uint64_t sample = 0;    ///< sample number, below 2^40
  std::uint32_t first_id = 0;  ///< number of vehicle 0
  /// Selects an independent stream of the same key.
  std::uint32_t stream = static_cast<std::uint32_t>(Stream::user);

  /// Writes normals number `first` to `first + count - 1` of vehicle first_id + `vehicle`. `first`
  /// is a multiple of 24, the number drawn at once.
  template <class T>
  void draw(std::size_t vehicle, std::size_t first, std::size_t count, T* normals) const {
    const auto kind = static_cast<Stream>(stream);
    if (count <= 6) {
      const SixNormals z = six_normals(key, id_of(vehicle), step_of(first / 6), kind);
      for (std::size_t i = 0; i < count; ++i) normals[i] = static_cast<T>(z[static_cast<int>(i)]);
      return;
    }
    for (std::size_t done = 0; done < count; done += 24) {
      const std::size_t block = (first + done) / 6;
      FourDraws draws;
      for (std::size_t b = 0; b < 4; ++b) draws.draw[b] = {step_of(block + b), kind};
      const StepNormals z = step_normals(key, id_of(vehicle), draws);
      for (std::size_t i = 0; i < 24 && done + i < count; ++i) {
        normals[done + i] = static_cast<T>(z[static_cast<int>(i / 6)][static_cast<int>(i % 6)]);
      }
    }
  }

  /// Writes the six normals of each of `count` requested blocks, four blocks at a time. Normals
  /// 6 b, …, 6 b + 5 of draw() are those of block b.
  void draw_blocks(std::size_t count, const NoiseBlock* blocks, SixNormals* normals) const {
    std::size_t done = 0;
#if PROPWASH_RANDOM_LANES
    using U = detail::FourLanes::U;
    for (; done + 4 <= count; done += 4) {
      U id{}, low{}, high{};
      for (std::size_t lane = 0; lane < 4; ++lane) {
        const NoiseBlock& block = blocks[done + lane];
        const std::uint64_t step = step_of(block.block);
        id[lane] = id_of(block.vehicle);
        low[lane] = static_cast<std::uint32_t>(step);
        high[lane] = static_cast<std::uint32_t>(step >> 32);
      }
      const auto z = detail::normals<detail::FourLanes>(key, id, low, high, U{} + stream);
      for (std::size_t lane = 0; lane < 4; ++lane) {
        for (int i = 0; i < 6; ++i) normals[done + lane].value[i] = z[i][lane];
      }
    }
#endif
    for (; done < count; ++done) {
      const auto& [vehicle, block] = blocks[done];
      normals[done] = six_normals(key, id_of(vehicle), step_of(block), static_cast<Stream>(stream));
    }
  }

 private:
  std::uint32_t id_of(std::size_t vehicle) const {
    return first_id + static_cast<std::uint32_t>(vehicle);
  }
  std::uint64_t step_of(std::size_t block) const { return sample + (std::uint64_t{block} << 40); }
};

}  // namespace propwash
