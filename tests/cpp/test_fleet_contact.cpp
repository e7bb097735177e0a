// Contact with the ground in fleets: equal to single vehicles, in float, off for some vehicles.
#include <propwash/model/contact.hpp>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_fleet_contact {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<>;
using State = pw::MulticopterState<double, pw::Dynamic>;
constexpr double dt = 1.0 / 960;
constexpr double ground = -2.0, leg = 0.03;
constexpr std::size_t size = 5;

pw::VehicleParameters on_feet() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.contact.frequency = 15.0, vehicle.contact.leg = leg, vehicle.contact.height = ground;
  return vehicle;
}

/// Falls from 0 to 0.2 m, tilted and moving sideways.
State start_of(std::size_t i) {
  const double x = static_cast<double>(i);
  State state;
  state.position = {0.1 * x, 0.0, ground + leg + 0.05 * x};
  state.velocity = {0.3, -0.2, 0.0};
  state.attitude = pw::from_axis_angle(pw::Vec3<double>{1.0, 0.0, 0.0}, 0.05 * x);
  state.rotor_speeds = pw::SmallArray<double>::filled(4, 0.0);
  return state;
}

template <class T>
void set_start(pw::Fleet<pw::Multicopter<>, T>& fleet) {
  std::vector<T> position, velocity, attitude, body_rates(3 * size, T(0)), speeds(4 * size, T(0));
  for (std::size_t i = 0; i < size; ++i) {
    const State x = start_of(i);
    for (int k = 0; k < 3; ++k) {
      position.push_back(T(x.position[k])), velocity.push_back(T(x.velocity[k]));
    }
    for (const double q : {x.attitude.w, x.attitude.x, x.attitude.y, x.attitude.z}) {
      attitude.push_back(T(q));
    }
  }
  fleet.set_state(pw::FleetState<T>{position, velocity, attitude, body_rates, speeds});
}

pw::FleetOptions without_noise(pw::Integrator integrator) {
  pw::FleetOptions options;
  options.noise = false, options.dt = dt, options.integrator = integrator;
  return options;
}

constexpr pw::Integrator integrators[] = {pw::Integrator::rk4, pw::Integrator::euler};

}  // namespace

TEST_CASE("a vehicle of a fleet moves and measures as a single vehicle", "[contact]") {
  const std::vector<double> still(4 * size, 0.0);
  for (const auto integrator : integrators) {
    auto fleet = make_fleet<double>(on_feet(), size, without_noise(integrator));
    set_start(fleet);
    std::vector<Uav> uavs(size, Uav(on_feet(), quiet(integrator)));
    for (std::size_t i = 0; i < size; ++i) uavs[i].reset(start_of(i));
    const std::vector<double> wind(3 * size, 1.5);
    fleet.set_wind(wind);
    for (auto& uav : uavs) uav.set_wind({1.5, 1.5, 1.5});
    for (int n = 0; n < 3; ++n) {
      fleet.step(pw::FleetRotorSpeeds<double>{still}, 100);
      const auto position = rows(fleet, pw::FleetField::position);
      const auto velocity = rows(fleet, pw::FleetField::velocity);
      std::vector<double> force(3 * size), rate(3 * size);
      fleet.read_imu(force, rate);
      for (std::size_t i = 0; i < size; ++i) {
        for (int k = 0; k < 100; ++k) {
          step_single(uavs[i], pw::SmallArray<double>::filled(4, 0.0), dt);
        }
        const auto at = [i](const std::vector<double>& v) {
          return pw::Vec3<double>{v[3 * i], v[3 * i + 1], v[3 * i + 2]};
        };
        CHECK(distance(at(position), uavs[i].state().position) < 1e-10);
        CHECK(distance(at(velocity), uavs[i].state().velocity) < 1e-8);
        CHECK(distance(at(force), uavs[i].imu().specific_force) < 1e-5);
      }
    }
  }
}

TEST_CASE("a fleet in float comes to rest", "[contact]") {
  const double rate = 2.0 * pi() * 15.0;
  for (const auto integrator : integrators) {
    auto fleet = make_fleet<float>(on_feet(), size, without_noise(integrator));
    set_start(fleet);
    fleet.step(pw::FleetRotorSpeeds<float>{std::vector<float>(4 * size, 0.0f)}, 1920);
    const auto position = rows(fleet, pw::FleetField::position);
    const auto velocity = rows(fleet, pw::FleetField::velocity);
    for (std::size_t i = 0; i < size; ++i) {
      CHECK(position[3 * i + 2] == Approx(ground + leg - 9.81 / (rate * rate)).margin(1e-5));
      for (std::size_t k = 0; k < 3; ++k) CHECK(std::abs(velocity[3 * i + k]) < 1e-3f);
    }
  }
}

TEST_CASE("vehicles without contact fall through the ground of others", "[contact]") {
  auto fleet = make_fleet<double>(on_feet(), size, without_noise(pw::Integrator::rk4));
  std::vector<pw::VehicleParameters> vehicles(size, on_feet());
  vehicles[1].contact = {}, vehicles[4].contact = {};
  fleet.set_parameters(pw::EachVehicle{vehicles});
  set_start(fleet);
  fleet.step(pw::FleetRotorSpeeds<double>{std::vector<double>(4 * size, 0.0)}, 960);
  const auto position = rows(fleet, pw::FleetField::position);
  for (std::size_t i = 0; i < size; ++i) {
    const bool falls = i == 1 || i == 4;
    CHECK((position[3 * i + 2] < ground - 1.0) == falls);
    CHECK((position[3 * i + 2] > ground) == !falls);
  }
}

}  // namespace test_fleet_contact
