// Embeds the parts of a vehicle in a host program's loop: model, integrator, projection, sensor and
// rate controller. The host adds a force that the library does not model.
//
// Compares the composed step with Multicopter, then a flight on an elastic tether with a closed
// form.
#include <cmath>
#include <cstdio>
#include <propwash/control/rate_controller.hpp>
#include <propwash/integrate/rk4.hpp>
#include <propwash/vehicle/imu.hpp>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>

namespace {

namespace pw = propwash;
using Vec3 = pw::Vec3<double>;
using State = pw::MulticopterState<double, 4>;
using Input = pw::MulticopterInput<double, 4>;

constexpr double dt = 1.0 / 960.0;  // s

/// A spring and damper from the origin to the centre of mass that act only in tension.
struct Tether {
  double length = 10.0;     // m
  double stiffness = 20.0;  // N/m; 0: no tether
  double damping = 8.0;     // N/(m/s)

  Vec3 force_W(const State& x) const {
    const double distance = norm(x.position);
    if (distance <= length) return {};
    const Vec3 outwards_W = x.position * (1.0 / distance);
    const double pull = stiffness * (distance - length) + damping * dot(x.velocity, outwards_W);
    return outwards_W * -std::fmax(pull, 0.0);
  }
};

/// The host's vehicle, composed of plain structs and the library's functions.
struct HostVehicle {
  explicit HostVehicle(const pw::VehicleParameters& vehicle)
      : model(pw::make_model<double, 4, pw::ParallelShape>(vehicle)),
        controller(vehicle, dt),
        imu(vehicle.imu, /*seed=*/1) {}

  /// d/dt of the state: the vehicle's equations of motion plus the tether's force.
  State derivative(const State& x) const {
    State rate = multicopter_derivative(model, x, input);
    rate.velocity += tether.force_W(x) * model.body.inverse_mass;
    return rate;
  }

  void step() {
    const auto f = [this](const State& x) { return derivative(x); };
    state = projected(model, pw::Rk4{}(f, state, dt));  // attitude to unit length, speeds limited
  }

  /// The accelerometer measures all forces except gravity, including the tether's.
  pw::ImuReading<double> read() {
    const Vec3 pull_B = rotate_inverse(state.attitude, tether.force_W(state));
    const Vec3 force_B = specific_force(model, state, input) + pull_B * model.body.inverse_mass;
    return imu.read(force_B, state.body_rates, derivative(state).body_rates, dt);
  }

  pw::MulticopterModel<double, 4, pw::ParallelShape> model;
  pw::RateController<4> controller;
  pw::Imu<> imu;
  Tether tether;
  State state{};
  Input input{};  // rotor speeds, wind; held over a step
};

/// The largest distance between the composed vehicle and Multicopter over one second, m.
double difference_to_multicopter(const pw::VehicleParameters& vehicle) {
  pw::MulticopterOptions options;
  options.noise = false;
  pw::Multicopter<4> uav{vehicle, options};
  HostVehicle host{vehicle};
  host.tether.stiffness = host.tether.damping = 0.0;
  host.state = uav.trim();
  double largest = 0.0;
  for (int n = 0; n < 960; ++n) {
    const double wave = 30.0 * std::sin(0.02 * n);
    host.input.command = {900.0 + wave, 905.0, 900.0 - wave, 910.0};
    host.step();
    uav.step(pw::RotorSpeeds<4>{host.input.command}, dt);
    largest = std::fmax(largest, norm(host.state.position - uav.state().position));
  }
  return largest;
}

}  // namespace

int main() {
  const auto vehicle = pw::vehicles::flightgoggles();
  const double difference = difference_to_multicopter(vehicle);
  std::printf("composed step against Multicopter after 1 s: %.1e m\n", difference);

  // climb on the tether with constant thrust; the controller holds the rates on the noisy gyroscope
  HostVehicle host{vehicle};
  const double weight = vehicle.body.mass * 9.81;
  const double thrust = 1.5 * weight;
  host.state = pw::Multicopter<4>{vehicle}.trim();
  host.state.position = {0.0, 0.0, 9.5};
  pw::ImuReading<double> reading = host.read();
  double mean_force = 0.0;
  for (int n = 0; n < 960 * 10; ++n) {
    const auto command = pw::RateThrust<double>{{0.0, 0.0, 0.5}, thrust};
    host.input.command = host.controller.update(reading.angular_rate, command).speeds;
    host.step();
    reading = host.read();
    if (n >= 960 * 9) mean_force += reading.specific_force.z / 960.0;
  }
  const double expected = host.tether.length + (thrust - weight) / host.tether.stiffness;
  const double height = host.state.position.z;
  std::printf("height on the tether %.3f m, closed form %.3f m\n", height, expected);
  std::printf("mean specific force at rest %.2f m/s^2\n", mean_force);
  const bool holds = difference < 1e-9 && std::fabs(height - expected) < 0.05 &&
                     std::fabs(mean_force - 9.81) < 0.1;
  return holds ? 0 : 1;
}
