/// @file
/// The Jacobian of an RK4 step of a quadcopter, 16 x 20 on its tangent space, with a vehicle in
/// each lane. `plain` is the fleet's step of the same vehicles, one step per call; the ratio is the
/// cost of a Jacobian in steps. One core.
///
///     linearize/<plain|jacobian>/<type>/n<vehicles>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "propwash/fleet/fleet.hpp"
#include "propwash/fleet/step_jacobian.hpp"
#include "propwash/vehicle/vehicles.hpp"

namespace {

namespace pw = propwash;

constexpr std::size_t size = 512;

template <class T>
pw::FleetKernels<T> kernels(int, bool) {
  return pw::make_fleet_kernels<pw::NativeIsa, T, pw::NativePack<T>::lanes, 4,
                                pw::PrincipalShape>();
}

/// A number between -1 and 1 that varies with i.
double spread(std::size_t i) { return std::sin(static_cast<double>(i) + 1.0); }

template <class T>
void plain(benchmark::State& state) {
  pw::FleetOptions options;
  options.noise = false;
  pw::Fleet<T, 4> fleet(pw::vehicles::flightgoggles(), size, options, &kernels<T>);
  std::vector<T> speeds(4 * size);
  fleet.read(pw::FleetField::rotor_speeds, speeds);  // at hover
  for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] *= static_cast<T>(1 + 1e-3 * spread(i));
  for (auto _ : state) fleet.step(pw::FleetRotorSpeeds<T>{speeds}, 1);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

template <class T>
void jacobian(benchmark::State& state) {
  using Real = pw::NativePack<T>;
  using Jacobian = pw::StepJacobian<pw::Rk4, Real, 4, Real>;
  const auto vehicle = pw::vehicles::flightgoggles();
  const pw::FleetSetting setting;
  const Jacobian step_jacobian(pw::principal_constants<Real, 4>(vehicle, setting), setting.dt);
  constexpr std::size_t entries = std::size_t{Jacobian::rows} * Jacobian::columns;
  const std::size_t blocks = size / Real::lanes;
  std::vector<Real> result(blocks * entries);
  std::vector<pw::MulticopterState<Real, 4>> states(blocks);
  std::vector<pw::SmallArray<Real, 4>> commands(blocks);
  auto lanes = [n = std::size_t{0}](double mean, double width) mutable {
    Real x{};
    for (int lane = 0; lane < Real::lanes; ++lane) {
      x.v[lane] = static_cast<T>(mean + width * spread(n++));
    }
    return x;
  };
  for (std::size_t b = 0; b < blocks; ++b) {
    auto& x = states[b];
    for (int axis = 0; axis < 3; ++axis) {
      x.position[axis] = lanes(0, 1), x.velocity[axis] = lanes(0, 5);
      x.body_rates[axis] = lanes(0, 2);
    }
    x.attitude =
        pw::normalized(pw::Quat<Real>{lanes(1, 0.1), lanes(0, 0.5), lanes(0, 0.5), Real{}});
    for (int k = 0; k < 4; ++k) {
      x.rotor_speeds[k] = lanes(1000, 100), commands[b][k] = lanes(1100, 100);
    }
  }
  for (auto _ : state) {
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto next = step_jacobian(states[b], commands[b], result.data() + b * entries);
      states[b].position = next.position;
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

template <class T>
void add(const char* type) {
  const std::string end = std::string("/") + type + "/n" + std::to_string(size);
  benchmark::RegisterBenchmark(("linearize/plain" + end).c_str(), &plain<T>);
  benchmark::RegisterBenchmark(("linearize/jacobian" + end).c_str(), &jacobian<T>);
}

[[maybe_unused]] const bool added = [] {
  add<float>("float");
  add<double>("double");
  return true;
}();

}  // namespace
