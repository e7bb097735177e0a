/// @file
/// A fleet on one core: vehicle-steps per second, by what a step includes. The kernels are those of
/// this translation unit, so of the instruction set for which it is compiled.
///
///     physics      rotor speeds commanded; lag, thrust, torques, drag, rigid body
///     noise        and a random force and torque, drawn anew for every step
///     closed_loop  rates and thrust commanded; and IMU noise, bias walk, low-pass, PID, allocation
///
/// `fleet/<work>/<type>/<integrator>/n<vehicles>/k<steps a call>`.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "propwash/fleet/fleet.hpp"
#include "propwash/vehicle/vehicles.hpp"

namespace {

namespace pw = propwash;

enum class Work { physics, noise, closed_loop };

struct Case {
  std::string name;  ///< of what is unusual about it; empty: the usual quadcopter
  pw::VehicleParameters vehicle = pw::vehicles::flightgoggles();
  Work work = Work::physics;
  pw::Integrator integrator = pw::Integrator::rk4;
  std::size_t size = 4096;
  int substeps = 10;
  bool own_parameters = false;
};

/// With commanded rotor speeds nothing reads the IMU; only the walk of its biases would be drawn.
pw::VehicleParameters vehicle_of(const Case& c) {
  pw::VehicleParameters vehicle = c.vehicle;
  if (c.work == Work::noise) {
    vehicle.imu.accelerometer_bias_walk = 0.0;
    vehicle.imu.gyroscope_bias_walk = 0.0;
  }
  return vehicle;
}

/// The kernels of one number of rotors in the usual shape, so that no other is compiled.
template <class T, int N>
pw::FleetKernels<T> principal_kernels(int, bool) {
  return pw::make_fleet_kernels<pw::NativeIsa, T, pw::NativePack<T>::lanes, N,
                                pw::PrincipalShape>();
}

/// Between -1 and 1, another one for each i.
double spread(std::size_t i) { return std::sin(static_cast<double>(i) + 1.0); }

template <class T, int N>
pw::Fleet<T, N> fleet_of(const Case& c, pw::FleetKernelSource<T> kernels) {
  pw::FleetOptions options;
  options.integrator = c.integrator;
  options.noise = c.work != Work::physics;
  options.seed = 7;
  pw::Fleet<T, N> fleet(vehicle_of(c), c.size, options, kernels);
  if (c.own_parameters) {
    pw::VehicleParameters own = fleet.vehicle();
    fleet.set_parameters([&](std::size_t i) -> const pw::VehicleParameters& {
      own.body.mass = c.vehicle.body.mass * (1.0 + 0.1 * spread(i));
      return own;
    });
  }
  return fleet;
}

/// Steps under a command that is held; starts again before the vehicles have fallen far.
template <class T, int N, class Command>
void fly(benchmark::State& state, const Case& c, pw::Fleet<T, N>& fleet, const Command& command) {
  constexpr int longest = 10'000;  // steps
  int flown = 0;
  for (auto _ : state) {
    fleet.step(command, c.substeps);
    flown += c.substeps;
    if (flown > longest) {
      state.PauseTiming();
      fleet.reset();
      flown = 0;
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * c.substeps * static_cast<std::int64_t>(c.size));
}

template <class T, int N>
void run(benchmark::State& state, const Case& c, pw::FleetKernelSource<T> kernels) {
  auto fleet = fleet_of<T, N>(c, kernels);
  if (c.work == Work::closed_loop) {
    std::vector<T> rates(3 * c.size);
    std::vector<T> thrust(c.size, static_cast<T>(9.81 * c.vehicle.body.mass));
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = static_cast<T>(0.2 * spread(i));
    fly(state, c, fleet, pw::FleetRateThrust<T>{rates, thrust});
  } else {
    std::vector<T> speeds(static_cast<std::size_t>(fleet.rotors()) * c.size);
    fleet.read(pw::FleetField::rotor_speeds, speeds);  // those of hover
    for (std::size_t i = 0; i < speeds.size(); ++i)
      speeds[i] *= static_cast<T>(1 + 0.01 * spread(i));
    fly(state, c, fleet, pw::FleetRotorSpeeds<T>{speeds});
  }
}

std::string name_of(const Case& c, const char* type) {
  static constexpr const char* works[] = {"physics", "noise", "closed_loop"};
  return std::string("fleet/") + works[static_cast<int>(c.work)] + "/" + type + "/" +
         (c.integrator == pw::Integrator::rk4 ? "rk4" : "euler") + "/n" + std::to_string(c.size) +
         "/k" + std::to_string(c.substeps) + (c.name.empty() ? "" : "/" + c.name);
}

template <class T, int N>
void add(const Case& c, pw::FleetKernelSource<T> kernels = &pw::native_fleet_kernels<T, N>) {
  benchmark::RegisterBenchmark(name_of(c, sizeof(T) == 4 ? "float" : "double").c_str(),
                               [=](benchmark::State& state) { run<T, N>(state, c, kernels); });
}

/// A multicopter of N rotors on a circle, of the usual one's mass and lift.
pw::VehicleParameters multicopter_of(int rotors) {
  auto vehicle = pw::vehicles::flightgoggles();
  const auto usual = vehicle.rotors;
  vehicle.rotors.clear();
  for (int i = 0; i < rotors; ++i) {
    const double angle = 2.0 * 3.14159265358979 * (i + 0.5) / rotors;
    auto rotor = usual[static_cast<std::size_t>(i % 2)];
    rotor.position = {0.113 * std::cos(angle), 0.113 * std::sin(angle), 0.0};
    rotor.thrust_coefficient *= 4.0 / rotors;
    vehicle.rotors.push_back(rotor);
  }
  return vehicle;
}

template <int N>
void add_rotors() {
  Case c;
  c.name = std::to_string(N) + "_rotors";
  c.vehicle = multicopter_of(N);
  add<float, N>(c, &principal_kernels<float, N>);
}

bool add_all() {
  for (const Work work : {Work::physics, Work::noise, Work::closed_loop}) {
    for (const int substeps : {1, 10}) {
      Case c;
      c.work = work;
      c.substeps = substeps;
      add<float, 4>(c);
      add<double, 4>(c);
    }
    Case c;
    c.work = work;
    c.name = "own_parameters";
    c.own_parameters = true;
    add<float, 4>(c);
    c = {};
    c.work = work;
    c.name = "all_terms";  // rotor drag, blow-back and two time constants in full matrices
    c.vehicle = pw::vehicles::crazyflie();
    add<float, 4>(c);
    c = {};
    c.work = work;
    c.integrator = pw::Integrator::euler;
    add<float, 4>(c);
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{1} << 20}) {
    for (const int substeps : {1, 10}) {
      Case c;
      c.size = size;
      c.substeps = substeps;
      add<float, 4>(c);
    }
  }
  add_rotors<3>();
  add_rotors<6>();
  add_rotors<8>();
  return true;
}

[[maybe_unused]] const bool added = add_all();

}  // namespace
