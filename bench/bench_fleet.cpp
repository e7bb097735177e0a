/// @file
/// Vehicle-steps per second of a fleet on one core, by the features of a step. The kernels are
/// those of this translation unit and its instruction set.
///
///     physics      rotor speed commands; motor lag, thrust, torques, drag, rigid body
///     noise        the same with a random force and torque in every step
///     closed_loop  rate and thrust commands; also IMU noise, bias walk, low-pass, PID, allocation
///
/// `fleet/<work>/<type>/<integrator>/n<vehicles>/k<steps per call>`.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "propwash/fleet/multicopter_fleet.hpp"
#include "propwash/vehicle/vehicles.hpp"

namespace {

namespace pw = propwash;

enum class Work { physics, noise, closed_loop };

struct Case {
  std::string name;  ///< of a variant; empty: the default quadcopter
  pw::VehicleParameters vehicle = pw::vehicles::flightgoggles();
  Work work = Work::physics;
  pw::Integrator integrator = pw::Integrator::rk4;
  std::size_t size = 4096;
  int substeps = 10;
  bool individual_parameters = false;
};

/// Without a bias walk, which would be drawn although rotor speed commands do not use the IMU.
pw::VehicleParameters vehicle_of(const Case& c) {
  pw::VehicleParameters vehicle = c.vehicle;
  if (c.work == Work::noise) {
    vehicle.imu.accelerometer_bias_walk = 0.0;
    vehicle.imu.gyroscope_bias_walk = 0.0;
  }
  return vehicle;
}

/// The kernels for one number of rotors and PrincipalShape, so that no others are compiled.
template <class T, int N>
pw::FleetKernels<T> principal_kernels(int, bool) {
  return pw::make_fleet_kernels<pw::NativeIsa, T, pw::NativePack<T>::lanes, N,
                                pw::PrincipalShape>();
}

/// A number between -1 and 1 that varies with i.
double spread(std::size_t i) { return std::sin(static_cast<double>(i) + 1.0); }

template <class T, int N>
pw::Fleet<pw::Multicopter<N>, T> fleet_of(const Case& c, pw::FleetKernelSource<T> kernels) {
  pw::FleetOptions options;
  options.integrator = c.integrator;
  options.noise = c.work != Work::physics;
  options.seed = 7;
  pw::Fleet<pw::Multicopter<N>, T> fleet(vehicle_of(c), c.size, options, kernels);
  if (c.individual_parameters) {
    pw::VehicleParameters vehicle = fleet.vehicle();
    fleet.set_parameters([&](std::size_t i) -> const pw::VehicleParameters& {
      vehicle.body.mass = c.vehicle.body.mass * (1.0 + 0.1 * spread(i));
      return vehicle;
    });
  }
  return fleet;
}

/// Steps with a constant command; resets before the vehicles have fallen far.
template <class T, int N, class Command>
void fly(benchmark::State& state, const Case& c, pw::Fleet<pw::Multicopter<N>, T>& fleet,
         const Command& command) {
  constexpr int max_steps = 10'000;
  int steps = 0;
  for (auto _ : state) {
    fleet.step(command, c.substeps);
    steps += c.substeps;
    if (steps > max_steps) {
      state.PauseTiming();
      fleet.reset();
      steps = 0;
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
    fleet.read(pw::FleetField::rotor_speeds, speeds);  // at hover
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

/// A multicopter with N rotors on a circle, with the mass and lift of the default one.
pw::VehicleParameters multicopter_of(int rotors) {
  auto vehicle = pw::vehicles::flightgoggles();
  const auto quad_rotors = vehicle.rotors;
  vehicle.rotors.clear();
  for (int i = 0; i < rotors; ++i) {
    const double angle = 2.0 * 3.14159265358979 * (i + 0.5) / rotors;
    auto rotor = quad_rotors[static_cast<std::size_t>(i % 2)];
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

/// A small residual in a domain that a hovering Crazyflie does not leave.
pw::ResidualParameters<double> residual() {
  pw::ResidualParameters<double> r;
  r.velocity = r.rates = {10.0, 10.0, 10.0};
  r.thrust = 1.0, r.torque = {0.01, 0.01, 0.01};
  r.force_z[1] = 1e-3, r.torque_x[0] = 1e-6;
  return r;
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
    c.name = "individual_parameters";
    c.individual_parameters = true;
    add<float, 4>(c);
    c = {};
    c.work = work;
    c.name = "all_terms";  // rotor drag, blow-back and two time constants in full matrices
    c.vehicle = pw::vehicles::crazyflie();
    add<float, 4>(c);
    c.name = "residual";  // the same with a residual
    c.vehicle.residual = residual();
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
