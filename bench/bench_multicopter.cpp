/// @file
/// The time of one multicopter's step, by its features. Divide by `scalar_fma_peak` of the same run
/// for a figure that does not depend on the machine's clock.

#include <benchmark/benchmark.h>

#include "propwash/propwash.hpp"

namespace {

namespace pw = propwash;

constexpr double dt = 1.0 / 960.0;

/// A vehicle in fast flight.
template <int N, class T>
pw::Multicopter<N, T> flying(const pw::VehicleParameters& vehicle, pw::Integrator integrator,
                             bool noise) {
  pw::MulticopterOptions options;
  options.integrator = integrator;
  options.noise = noise;
  options.seed = 7;
  pw::Multicopter<N, T> uav(vehicle, options);
  auto state = uav.state();
  state.velocity = {T(3), T(-1), T(0.5)};
  state.body_rates = {T(0.5), T(-0.3), T(0.8)};
  uav.reset(state);
  return uav;
}

/// Rotor speeds held for ten steps, as by a control loop at 96 Hz.
template <int N, class T>
void rotor_speeds(benchmark::State& state, const pw::VehicleParameters& vehicle,
                  pw::Integrator integrator, bool noise, bool read_imu) {
  auto uav = flying<N, T>(vehicle, integrator, noise);
  const auto start = uav.state();
  pw::RotorSpeeds<N, T> command{uav.trim().rotor_speeds};
  benchmark::DoNotOptimize(command);
  int since_reset = 0;
  for (auto _ : state) {
    for (int i = 0; i < 10; ++i) {
      uav.step(command, dt);
      if (read_imu) benchmark::DoNotOptimize(uav.imu());
    }
    benchmark::DoNotOptimize(uav.state());
    if (++since_reset == 100) {  // before it has fallen far
      uav.set_state(start);
      since_reset = 0;
    }
  }
  state.SetItemsProcessed(state.iterations() * 10);
}

void closed_loop(benchmark::State& state, bool noise) {
  auto uav = flying<4, double>(pw::vehicles::flightgoggles(), pw::Integrator::rk4, noise);
  const auto start = uav.state();
  pw::RateThrust<double> command{{0.1, -0.2, 0.3}, 9.81};
  benchmark::DoNotOptimize(command);
  int since_reset = 0;
  for (auto _ : state) {
    for (int i = 0; i < 10; ++i) uav.step(command, dt);
    benchmark::DoNotOptimize(uav.state());
    if (++since_reset == 100) {
      uav.set_state(start);
      since_reset = 0;
    }
  }
  state.SetItemsProcessed(state.iterations() * 10);
}

void many_calls_as_one(benchmark::State& state) {
  auto uav = flying<4, double>(pw::vehicles::flightgoggles(), pw::Integrator::rk4, true);
  const auto start = uav.snapshot();
  pw::RateThrust<double> command{{0.1, -0.2, 0.3}, 9.81};
  benchmark::DoNotOptimize(command);
  for (auto _ : state) {
    uav.restore(start);
    for (int i = 0; i < 1000; ++i) uav.step(command, dt);
    benchmark::DoNotOptimize(uav.state());
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}

/// Independent chains of scalar multiply-adds: the peak speed of one core for a step's arithmetic.
void scalar_fma_peak(benchmark::State& state) {
  constexpr int chains = 10;
  constexpr int rounds = 1000;
  double a[chains];
  for (int i = 0; i < chains; ++i) a[i] = 1.0 + i;
  double factor = 0.999;
  double term = 0.001;
  benchmark::DoNotOptimize(factor);
  benchmark::DoNotOptimize(term);
  for (auto _ : state) {
    for (int r = 0; r < rounds; ++r) {
      for (double& x : a) {
        x = pw::fma(x, factor, term);
#if defined(__GNUC__) && defined(__x86_64__)
        asm volatile("" : "+x"(x));  // chains stay scalar
#endif
      }
    }
    benchmark::DoNotOptimize(a);
  }
  state.SetItemsProcessed(state.iterations() * chains * rounds);
}

template <int N, class T>
void register_rotor_speeds(const char* name, const pw::VehicleParameters& vehicle,
                           pw::Integrator integrator, bool noise_and_imu) {
  benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
    rotor_speeds<N, T>(state, vehicle, integrator, noise_and_imu, noise_and_imu);
  });
}

bool register_all() {
  const auto quadcopter = pw::vehicles::flightgoggles();
  using pw::Integrator;
  register_rotor_speeds<4, double>("rk4", quadcopter, Integrator::rk4, false);
  register_rotor_speeds<4, double>("rk4_noise_imu", quadcopter, Integrator::rk4, true);
  register_rotor_speeds<4, double>("euler", quadcopter, Integrator::euler, false);
  register_rotor_speeds<4, float>("rk4_float", quadcopter, Integrator::rk4, false);
  register_rotor_speeds<pw::Dynamic, double>("rk4_dynamic", quadcopter, Integrator::rk4, false);
  register_rotor_speeds<4, double>("rk4_all_terms", pw::vehicles::crazyflie(), Integrator::rk4,
                                   false);
  register_rotor_speeds<6, double>("rk4_hexacopter", pw::vehicles::hexacopter(), Integrator::rk4,
                                   false);
  benchmark::RegisterBenchmark("rk4_closed_loop",
                               [](benchmark::State& state) { closed_loop(state, false); });
  benchmark::RegisterBenchmark("rk4_closed_loop_noise",
                               [](benchmark::State& state) { closed_loop(state, true); });
  return true;
}

BENCHMARK(scalar_fma_peak);
BENCHMARK(many_calls_as_one);
[[maybe_unused]] const bool registered = register_all();

}  // namespace
