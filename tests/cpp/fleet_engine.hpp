#pragma once
/// @file
/// The fleet, its kernels and the single vehicle, compiled once for all tests, because they take
/// longer to compile than the tests.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <propwash/fleet/multicopter_fleet.hpp>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

namespace propwash {

/// The argument of set_parameters in the tests.
struct EachVehicle {
  const std::vector<VehicleParameters>& vehicles;
  const VehicleParameters& operator()(std::size_t i) const { return vehicles[i]; }
};

extern template class Fleet<Multicopter<>, float>;
extern template class Fleet<Multicopter<>, double>;
extern template class Fleet<Multicopter<4>, float>;
extern template void Fleet<Multicopter<>, float>::set_parameters(const EachVehicle& of);
extern template void Fleet<Multicopter<>, double>::set_parameters(const EachVehicle& of);
extern template class Multicopter<>;

}  // namespace propwash

/// Options with a floor, turbulence and delayed actions.
inline propwash::FleetOptions all_options(std::uint64_t seed = 5) {
  propwash::FleetOptions options;
  options.seed = seed;
  options.first_id = 17;
  options.floor = -0.05;
  options.turbulence = {6.0, 15.0, 6.0};
  options.turbulence_heading = 1.0;
  options.max_action_delay = 4;
  return options;
}

/// The kernels of the tests, for any number of rotors.
template <class T>
propwash::FleetKernels<T> test_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<float> test_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<double> test_kernels(int rotors, bool parallel);

/// Kernels for four parallel rotors, with twice as many lanes as a register.
propwash::FleetKernels<double> wide_kernels(int rotors, bool parallel);

/// A step of a single vehicle.
void step_single(propwash::Multicopter<>& uav, const propwash::RateThrust<double>& command,
                 double dt);
void step_single(propwash::Multicopter<>& uav, const propwash::SmallArray<double>& speeds,
                 double dt);

/// A fleet for the tests.
template <class T>
propwash::Fleet<propwash::Multicopter<>, T> make_fleet(const propwash::VehicleParameters& vehicle,
                                                       std::size_t size,
                                                       const propwash::FleetOptions& options = {}) {
  return propwash::Fleet<propwash::Multicopter<>, T>(vehicle, size, options, &test_kernels<T>);
}

/// A field of all vehicles, row by row.
template <class T>
std::vector<T> rows(const propwash::Fleet<propwash::Multicopter<>, T>& fleet,
                    propwash::FleetField field) {
  std::vector<T> numbers(fleet.size() * static_cast<std::size_t>(fleet.width(field)));
  fleet.read(field, numbers);
  return numbers;
}

/// All readable fields of a fleet, IMU and time, one after the other.
template <class T>
std::vector<T> everything_of(const propwash::Fleet<propwash::Multicopter<>, T>& fleet) {
  using propwash::FleetField;
  std::vector<T> all;
  const auto add = [&all](const std::vector<T>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const auto field :
       {FleetField::position, FleetField::velocity, FleetField::attitude, FleetField::body_rates,
        FleetField::rotor_speeds, FleetField::rotor_command, FleetField::wind,
        FleetField::accelerometer_bias, FleetField::gyroscope_bias, FleetField::contact,
        FleetField::diverged}) {
    add(rows(fleet, field));
  }
  std::vector<T> force(fleet.size() * 3), rate(fleet.size() * 3);
  fleet.read_imu(force, rate);
  add(force), add(rate);
  std::vector<double> seconds(fleet.size());
  fleet.time(seconds);
  for (const double t : seconds) all.push_back(static_cast<T>(t));
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// The commands of one call, which differ for each vehicle id and call. They are floats, so that
/// fleets of both types get the same.
template <class T>
struct FleetCommands {
  std::vector<T> rates, thrust, speeds;

  propwash::FleetRateThrust<T> rate_thrust() const { return {rates, thrust}; }
  propwash::FleetRotorSpeeds<T> rotor_speeds() const { return {speeds}; }
};

/// For vehicles `first_id` and following: rates of a few rad/s, thrust and speeds near hover.
template <class T>
FleetCommands<T> fleet_commands(int call, const propwash::VehicleParameters& vehicle,
                                std::size_t size, std::uint32_t first_id = 0) {
  FleetCommands<T> commands;
  const auto put = [](std::vector<T>& to, double x) {
    to.push_back(static_cast<T>(static_cast<float>(x)));
  };
  const double weight = vehicle.body.mass * 9.81;
  double lift = 0.0;
  for (const auto& rotor : vehicle.rotors) lift += rotor.thrust_coefficient;
  const double hover = std::sqrt(weight / lift);
  for (std::size_t i = 0; i < size; ++i) {
    const double id = static_cast<double>(first_id) + static_cast<double>(i);
    const double t = 0.35 * call + 0.8 * id;
    put(commands.rates, 4.0 * std::sin(t));
    put(commands.rates, 3.0 * std::cos(0.7 * t + id));
    put(commands.rates, 2.0 * std::sin(0.3 * t));
    put(commands.thrust, weight * (1.0 + 0.4 * std::sin(0.9 * t)));
    for (std::size_t rotor = 0; rotor < vehicle.rotors.size(); ++rotor) {
      const double phase = static_cast<double>(rotor) + 1.3 * t;
      put(commands.speeds, hover * (1.05 + 0.12 * std::sin(phase)));
    }
  }
  return commands;
}

/// One call, by rates and thrust or by rotor speeds.
template <class T>
void fly(propwash::Fleet<propwash::Multicopter<>, T>& fleet, bool rates,
         const FleetCommands<T>& commands, int substeps, propwash::ExecutorRef executor = {}) {
  if (rates) {
    fleet.step(commands.rate_thrust(), substeps, executor);
  } else {
    fleet.step(commands.rotor_speeds(), substeps, executor);
  }
}

/// Calls from `first` to `last` of `substeps` steps each.
template <class T>
void fly(propwash::Fleet<propwash::Multicopter<>, T>& fleet, bool rates, int first, int last,
         int substeps, propwash::ExecutorRef executor = {}) {
  const auto first_id = fleet.options().first_id;
  for (int call = first; call < last; ++call) {
    fly(fleet, rates, fleet_commands<T>(call, fleet.vehicle(), fleet.size(), first_id), substeps,
        executor);
  }
}

/// The default quadcopter's parts with `count` rotors on a circle, with alternating spins.
inline propwash::VehicleParameters ring_of(int count) {
  auto vehicle = propwash::vehicles::flightgoggles();
  const auto rotor = vehicle.rotors[0];
  vehicle.rotors.assign(static_cast<std::size_t>(count), rotor);
  for (int i = 0; i < count; ++i) {
    const double angle = 2.0 * 3.14159265358979323846 * (i + 0.5) / count;
    vehicle.rotors[static_cast<std::size_t>(i)].position = {0.15 * std::cos(angle),
                                                            0.15 * std::sin(angle), 0.01};
    vehicle.rotors[static_cast<std::size_t>(i)].spin = i % 2 == 0 ? 1.0 : -1.0;
  }
  return vehicle;
}
