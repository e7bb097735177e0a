/// @file
/// The time of random numbers: a Threefry block, six normals, the 24 normals of a multicopter's
/// step, and the same number from the standard library.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "propwash/random/normal.hpp"

namespace {

using propwash::Stream;

constexpr std::uint64_t seed = 0x0123456789abcdef;

void threefry_block(benchmark::State& state) {
  std::uint64_t key = seed;
  std::uint32_t n = 0;
  benchmark::DoNotOptimize(key);
  for (auto _ : state) {
    auto block = propwash::threefry4x32(
        propwash::Words<std::uint32_t>{
            {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), 0, 0}},
        propwash::Words<std::uint32_t>{{7, n++, 0, 0}});
    benchmark::DoNotOptimize(block);
  }
}
BENCHMARK(threefry_block);

void six_normals(benchmark::State& state) {
  std::uint64_t key = seed;
  std::uint64_t n = 0;
  benchmark::DoNotOptimize(key);
  for (auto _ : state) {
    auto z = propwash::six_normals(key, 7, n++, Stream::process_noise);
    benchmark::DoNotOptimize(z);
  }
  state.SetItemsProcessed(6 * state.iterations());
}
BENCHMARK(six_normals);

void step_normals(benchmark::State& state) {
  std::uint64_t key = seed;
  std::uint64_t n = 0;
  benchmark::DoNotOptimize(key);
  for (auto _ : state) {
    auto z = propwash::step_normals(key, 7,
                                    {{{n, Stream::process_noise},
                                      {n, Stream::imu_bias_walk},
                                      {n + 1, Stream::imu_noise},
                                      {n, Stream::user}}});
    benchmark::DoNotOptimize(z);
    ++n;
  }
  state.SetItemsProcessed(24 * state.iterations());
}
BENCHMARK(step_normals);

/// The latency of a call: each step depends on the numbers of the previous one. It reads one number
/// of each component, so that the compiler computes all of them.
void step_normals_latency(benchmark::State& state) {
  std::uint64_t key = seed;
  std::uint64_t n = 0;
  for (auto _ : state) {
    auto z = propwash::step_normals(key, 7,
                                    {{{n, Stream::process_noise},
                                      {n, Stream::imu_bias_walk},
                                      {n + 1, Stream::imu_noise},
                                      {n, Stream::user}}});
    const float sum = z[0][0] + z[1][1] + z[2][2] + z[3][3] + z[0][4] + z[1][5];
    n += sum > 0.0f ? 1 : 2;
    benchmark::DoNotOptimize(n);
  }
}
BENCHMARK(step_normals_latency);

void standard_library_24(benchmark::State& state) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  for (auto _ : state) {
    float sum = 0.0f;
    for (int i = 0; i < 24; ++i) sum += normal(generator);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(24 * state.iterations());
}
BENCHMARK(standard_library_24);

}  // namespace
