// The kernels for GPUs, run on the host as a loop over threads, give the bits of the kernels of
// packs: state, readings and snapshots, with every feature, over a thousand steps and more.
#include <algorithm>
#include <functional>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "fleet_threads.hpp"

namespace test_fleet_thread {

namespace pw = propwash;
using pw::VehicleParameters;

namespace {

constexpr std::size_t size = 37;  // of two blocks, the second with five vehicles

/// A fleet to compare, what is set in it, and how it is commanded.
template <class T>
struct Case {
  std::string name;
  VehicleParameters vehicle = pw::vehicles::flightgoggles();
  pw::FleetOptions options{};
  bool rates = true;
  std::function<void(pw::Fleet<pw::Multicopter<>, T>&)> set = [](pw::Fleet<pw::Multicopter<>, T>&) {
  };
};

/// `count` numbers from `low` to `high`, in an order without a pattern.
template <class T>
std::vector<T> spread(std::size_t count, double low, double high) {
  std::vector<T> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = static_cast<double>(i * 7919 % 1009) / 1009.0;
    numbers.push_back(static_cast<T>(low + (high - low) * fraction));
  }
  return numbers;
}

template <class T>
void set_surroundings(pw::Fleet<pw::Multicopter<>, T>& fleet) {
  std::vector<std::uint32_t> delays(size);
  for (std::size_t i = 0; i < size; ++i) delays[i] = static_cast<std::uint32_t>(i % 5);
  fleet.set_action_delay(delays);
  fleet.set_wind(spread<T>(3 * size, -3.0, 3.0));
  fleet.set_external_wrench(spread<T>(3 * size, -0.5, 0.5), spread<T>(3 * size, -1e-3, 1e-3));
}

/// Tilted rotors, full matrices, different motors, rotor drag, inflow, ground effect, feet, battery
/// circuit; an IMU with lever arm, rotation and quantisation.
VehicleParameters with_all_terms(VehicleParameters vehicle) {
  vehicle.body.inertia(0, 1) = vehicle.body.inertia(1, 0) = 0.1 * vehicle.body.inertia(0, 0);
  vehicle.motor.time_constant_down *= 1.5;
  vehicle.rotor_drag.linear = {0.1, 0.1, 0.05};
  vehicle.inflow = {1e-7, 1e-2, 0.1, 1e-5, 1e-4, 1e-6};
  vehicle.ground_effect.radius = 0.1;
  vehicle.contact.frequency = 15.0, vehicle.contact.leg = 0.03, vehicle.contact.height = -0.2;
  vehicle.battery = {14.8, 4.0, 1.3, 4.2, 0.02, 0.01, 2.0, 0.7, 5.0};
  for (auto& rotor : vehicle.rotors) {
    const pw::Vec3<double> axis{0.1 * rotor.position.y, -0.2 * rotor.position.x, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
  }
  vehicle.imu.position = {0.01, -0.02, 0.005};
  vehicle.imu.attitude = pw::from_axis_angle(pw::Vec3<double>{0.6, 0.0, 0.8}, 0.5);
  vehicle.imu.accelerometer_resolution = 0.01;
  vehicle.imu.gyroscope_range = 2.5;
  return vehicle;
}

/// All combinations of what a kernel branches on.
template <class T>
std::vector<Case<T>> cases() {
  std::vector<Case<T>> all;
  for (const bool rates : {false, true}) {
    Case<T> c;
    c.rates = rates;
    c.name = "noise";
    all.push_back(c);
    c.vehicle.imu.gyroscope_bias_walk = c.vehicle.imu.accelerometer_bias_walk = 0.0;
    c.name = "process noise";
    all.push_back(c);
    c.options.noise = false;
    c.name = "physics";
    all.push_back(c);

    c = {"every feature of parallel rotors"};
    c.rates = rates;
    c.options = all_options();
    c.vehicle.motor.command_delay = 0.0046;
    c.vehicle.battery.nominal_voltage = 12.0;
    c.set = [](pw::Fleet<pw::Multicopter<>, T>& fleet) {
      set_surroundings(fleet);
      fleet.set_battery_voltage(spread<T>(size, 11.0, 13.0));
    };
    all.push_back(c);
    c.vehicle.imu.rate = 130.0;
    c.vehicle.imu.gyroscope_bias_initial = 0.01;
    c.name += ", slow IMU";
    all.push_back(c);
    c.options.integrator = pw::Integrator::euler;
    c.name += ", Euler";
    all.push_back(c);

    c = {"individual parameters"};
    c.rates = rates;
    c.set = [](pw::Fleet<pw::Multicopter<>, T>& fleet) {
      std::vector<VehicleParameters> vehicles(size, fleet.vehicle());
      const auto factors = spread<double>(size, 0.9, 1.2);
      for (std::size_t i = 0; i < size; ++i) {
        vehicles[i].body.mass *= factors[i];
        vehicles[i].motor.time_constant_up *= factors[i];
        vehicles[i].motor.time_constant_down *= factors[i];
        vehicles[i].imu.gyroscope_noise_density *= factors[i];
        vehicles[i].rate_controller.proportional.x *= factors[i];
      }
      fleet.set_parameters(pw::EachVehicle{vehicles});
      fleet.set_rotor_effectiveness(spread<T>(4 * size, 0.9, 1.0));
    };
    all.push_back(c);

    for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter()}) {
      c = {"every term, " + vehicle.name, with_all_terms(vehicle), all_options(), rates,
           set_surroundings<T>};
      all.push_back(c);
    }
    c.options.integrator = pw::Integrator::euler;
    c.name += ", Euler";
    all.push_back(c);
    c = {"six rotors", ring_of(6), {}, rates};
    all.push_back(c);
  }
  return all;
}

template <class T>
void fly_both(pw::Fleet<pw::Multicopter<>, T>& a, pw::Fleet<pw::Multicopter<>, T>& b, bool rates,
              int first, int last, int substeps) {
  fly(a, rates, first, last, substeps);
  fly(b, rates, first, last, substeps);
}

template <class T>
void check_bits(pw::FleetKernelSource<T> kernels, const Case<T>& c) {
  INFO(c.name << (c.rates ? ", rates" : ", rotor speeds"));
  auto packs = make_fleet<T>(c.vehicle, size, c.options);
  pw::Fleet<pw::Multicopter<>, T> threads(c.vehicle, size, c.options, kernels);
  c.set(packs), c.set(threads);
  fly_both(packs, threads, c.rates, 0, 20, 25);
  CHECK(packs.snapshot() == threads.snapshot());
  bool mask[size]{};
  mask[3] = mask[35] = true;
  packs.reset({}, {mask, size}), threads.reset({}, {mask, size});
  CHECK(same_bits(everything_of(packs), everything_of(threads)));
  fly_both(packs, threads, c.rates, 20, 520, 1);
  CHECK(packs.snapshot() == threads.snapshot());
  CHECK(same_bits(everything_of(packs), everything_of(threads)));
  const auto diverged = rows(packs, pw::FleetField::diverged);
  CHECK(std::count(diverged.begin(), diverged.end(), T(0)) == std::ptrdiff_t{size});
}

template <class T>
void check_all() {
  for (const auto& c : cases<T>()) check_bits<T>(&thread_kernels<T>, c);
}

}  // namespace

TEST_CASE("a thread per vehicle gives the bits of packs of float", "[fleet]") {
  check_all<float>();
}

TEST_CASE("a thread per vehicle gives the bits of packs of double", "[fleet]") {
  check_all<double>();
}

TEST_CASE("features fixed at compile time change no bit", "[fleet]") {
  check_bits<float>(&closed_loop_kernels, {});
}

TEST_CASE("a snapshot continues in a fleet of threads", "[fleet]") {
  const auto c = cases<double>()[4];
  auto packs = make_fleet<double>(c.vehicle, size, c.options);
  c.set(packs);
  fly(packs, true, 0, 10, 7);
  pw::Fleet<pw::Multicopter<>, double> threads(c.vehicle, size, c.options, &thread_kernels<double>);
  threads.restore(packs.snapshot());
  fly_both(packs, threads, true, 10, 20, 7);
  CHECK(threads.snapshot() == packs.snapshot());
  packs.restore(threads.snapshot());
  CHECK(threads.snapshot() == packs.snapshot());
}

TEST_CASE("outer loops command threads as they command packs", "[fleet]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto packs = make_fleet<float>(vehicle, size);
  pw::Fleet<pw::Multicopter<>, float> threads(vehicle, size, {}, &thread_kernels<float>);
  const auto target = spread<float>(3 * size, -1.0, 1.0);
  const auto velocity = spread<float>(3 * size, -2.0, 2.0);
  for (auto* fleet : {&packs, &threads}) {
    for (int call = 0; call < 50; ++call) {
      fleet->step(pw::FleetPositionCommand<float>{target, {}}, 10);
      fleet->step(pw::FleetVelocityCommand<float>{velocity, {}, {}}, 7);
    }
  }
  CHECK(packs.snapshot() == threads.snapshot());
}

TEST_CASE("a thread reports a diverged vehicle, and the others stay the same", "[fleet]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto packs = make_fleet<float>(vehicle, size);
  pw::Fleet<pw::Multicopter<>, float> threads(vehicle, size, {}, &thread_kernels<float>);
  std::vector<float> force(3 * size, 0.0f);
  force[3 * 34] = 3e38f;
  const std::vector<float> torque(3 * size, 0.0f);
  packs.set_external_wrench(force, torque), threads.set_external_wrench(force, torque);
  fly_both(packs, threads, true, 0, 10, 10);
  const auto diverged = rows(threads, pw::FleetField::diverged);
  CHECK(diverged[34] == 1.0f);
  CHECK(same_bits(diverged, rows(packs, pw::FleetField::diverged)));
  const auto position = rows(threads, pw::FleetField::position);
  const auto expected = rows(packs, pw::FleetField::position);
  for (std::size_t i = 0; i < 3 * size; ++i) {
    if (i / 3 != 34) CHECK(position[i] == expected[i]);
  }
}

}  // namespace test_fleet_thread
