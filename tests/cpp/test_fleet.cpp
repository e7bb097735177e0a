// A vehicle of a fleet equals the Multicopter with its id, for all types, integrators, rotors and
// commands, with all noise.
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "instances.hpp"
#include "support.hpp"

namespace test_fleet {

namespace pw = propwash;
using pw::FleetField;
using pw::VehicleParameters;

namespace {

// for states, rates and speeds: absolute below 1, relative above
constexpr double double_bound = 1e-12;
constexpr double float_bound = 5e-4;

/// The conditions of a comparison.
struct Flight {
  pw::Integrator integrator = pw::Integrator::rk4;
  bool rates = true;            ///< rates and thrust; false: rotor speeds
  int calls = 48;               ///< 0.5 s at ten substeps
  pw::Vec3<double> wind{};      ///< m/s
  double voltage = 0.0;         ///< V, 0: nominal
  bool pushed = false;          ///< by a different wrench for each vehicle
  bool reduced_rotors = false;  ///< each rotor differently
};

/// The single vehicles of a fleet.
class Singles {
 public:
  Singles(const std::vector<VehicleParameters>& vehicles, const pw::FleetOptions& options) {
    for (std::size_t i = 0; i < vehicles.size(); ++i) {
      pw::MulticopterOptions single;
      single.integrator = options.integrator;
      single.seed = options.seed;
      single.id = options.first_id + static_cast<std::uint32_t>(i);
      single.noise = options.noise;
      vehicles_.emplace_back(vehicles[i], single);
    }
  }
  pw::Multicopter<>& operator[](std::size_t i) { return vehicles_[i]; }
  std::size_t size() const { return vehicles_.size(); }

  template <class T>
  void step(const FleetCommands<T>& c, bool rates, int substeps, double dt) {
    for (std::size_t i = 0; i < size(); ++i) {
      auto& uav = vehicles_[i];
      pw::SmallArray<double> speeds;
      speeds.resize(uav.rotors());
      for (int r = 0; r < uav.rotors(); ++r) {
        speeds[r] = static_cast<double>(
            c.speeds[i * static_cast<std::size_t>(uav.rotors()) + static_cast<std::size_t>(r)]);
      }
      const pw::Vec3<double> body_rates{static_cast<double>(c.rates[3 * i]),
                                        static_cast<double>(c.rates[3 * i + 1]),
                                        static_cast<double>(c.rates[3 * i + 2])};
      const auto thrust = static_cast<double>(c.thrust[i]);
      for (int k = 0; k < substeps; ++k) {
        if (rates) {
          step_single(uav, pw::RateThrust<double>{body_rates, thrust}, dt);
        } else {
          step_single(uav, speeds, dt);
        }
      }
    }
  }

 private:
  std::vector<pw::Multicopter<>> vehicles_;
};

/// The fields of everything_of without wind, contact and divergence.
const FleetField compared[] = {FleetField::position,           FleetField::velocity,
                               FleetField::attitude,           FleetField::body_rates,
                               FleetField::rotor_speeds,       FleetField::rotor_command,
                               FleetField::accelerometer_bias, FleetField::gyroscope_bias};

void append(std::vector<double>& to, const pw::Vec3<double>& v) {
  to.insert(to.end(), {v.x, v.y, v.z});
}

std::vector<double> numbers(const pw::Multicopter<>& uav, FleetField field) {
  std::vector<double> of;
  const auto& x = uav.state();
  switch (field) {
    case FleetField::position:
      append(of, x.position);
      break;
    case FleetField::velocity:
      append(of, x.velocity);
      break;
    case FleetField::attitude:
      of = {x.attitude.w, x.attitude.x, x.attitude.y, x.attitude.z};
      break;
    case FleetField::body_rates:
      append(of, x.body_rates);
      break;
    case FleetField::rotor_speeds:
      of.assign(x.rotor_speeds.begin(), x.rotor_speeds.end());
      break;
    case FleetField::rotor_command:
      of.assign(uav.rotor_command().begin(), uav.rotor_command().end());
      break;
    case FleetField::accelerometer_bias:
      append(of, uav.imu_bias().accelerometer);
      break;
    case FleetField::gyroscope_bias:
      append(of, uav.imu_bias().gyroscope);
      break;
    default:
      break;
  }
  return of;
}

template <class T>
double apart(const T* many, const std::vector<double>& one) {
  double largest = 0.0;
  for (std::size_t k = 0; k < one.size(); ++k) {
    const double error = std::abs(static_cast<double>(many[k]) - one[k]) / (1.0 + std::abs(one[k]));
    if (!(error <= largest)) largest = error;  // NaN counts as the largest
  }
  return largest;
}

/// The largest difference between a fleet and single vehicles, IMU readings included.
template <class T>
double apart(const pw::Fleet<pw::Multicopter<>, T>& fleet, Singles& singles) {
  double largest = 0.0;
  const auto take = [&](const std::vector<T>& many, std::size_t i, const std::vector<double>& one) {
    const double error = apart(many.data() + i * one.size(), one);
    if (!(error <= largest)) largest = error;
  };
  for (const FleetField field : compared) {
    const auto many = rows(fleet, field);
    for (std::size_t i = 0; i < singles.size(); ++i) take(many, i, numbers(singles[i], field));
  }
  std::vector<T> force(3 * fleet.size()), rate(3 * fleet.size());
  fleet.read_imu(force, rate);
  for (std::size_t i = 0; i < singles.size(); ++i) {
    const auto reading = singles[i].imu();
    std::vector<double> one;
    append(one, reading.specific_force);
    take(force, i, one);
    one.clear();
    append(one, reading.angular_rate);
    take(rate, i, one);
  }
  return largest;
}

/// A different force and torque for each vehicle.
template <class T>
void push(pw::Fleet<pw::Multicopter<>, T>& fleet, Singles& singles) {
  Dice dice(19);
  std::vector<T> forces, torques;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    const auto force_W = pw::cast<double>(pw::cast<float>(dice.vec3(2.0)));
    const auto torque_B = pw::cast<double>(pw::cast<float>(dice.vec3(0.01)));
    singles[i].set_external_wrench(force_W, torque_B);
    for (int k = 0; k < 3; ++k) forces.push_back(T(force_W[k])), torques.push_back(T(torque_B[k]));
  }
  fleet.set_external_wrench(forces, torques);
}

/// A different effectiveness for each rotor.
template <class T>
void reduce_rotors(pw::Fleet<pw::Multicopter<>, T>& fleet, Singles& singles) {
  Dice dice(20);
  std::vector<T> factors;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    auto own = singles[i].rotor_effectiveness();
    for (double& factor : own) {
      factor = static_cast<float>(dice.uniform(0.85, 1.05));
      factors.push_back(T(factor));
    }
    singles[i].set_rotor_effectiveness(own);
  }
  fleet.set_rotor_effectiveness(factors);
}

/// Simulates a fleet of `vehicles` and each of them separately; returns the largest difference.
template <class T>
double simulated_difference(const std::vector<VehicleParameters>& vehicles, bool own,
                            const Flight& flight) {
  pw::FleetOptions options;
  options.integrator = flight.integrator;
  options.seed = 11;
  options.first_id = 1000;
  auto fleet = make_fleet<T>(vehicles[0], vehicles.size(), options);
  if (own) fleet.set_parameters(pw::EachVehicle{vehicles});
  if (own) fleet.reset({}, options.seed);
  Singles singles(vehicles, options);
  const auto& w = flight.wind;
  fleet.set_wind(std::vector<T>{T(w.x), T(w.y), T(w.z)});
  if (flight.voltage > 0.0) fleet.set_battery_voltage(std::vector<T>{T(flight.voltage)});
  for (std::size_t i = 0; i < singles.size(); ++i) {
    singles[i].set_wind(w);
    if (flight.voltage > 0.0) singles[i].set_battery_voltage(flight.voltage);
  }
  if (flight.pushed) push(fleet, singles);
  if (flight.reduced_rotors) reduce_rotors(fleet, singles);
  double largest = apart(fleet, singles);
  for (int call = 0; call < flight.calls; ++call) {
    const auto commands = fleet_commands<T>(call, vehicles[0], vehicles.size());
    fly(fleet, flight.rates, commands, 10);
    singles.step(commands, flight.rates, 10, options.dt);
    largest = std::max(largest, apart(fleet, singles));
  }
  for (std::size_t i = 0; i < singles.size(); ++i) {
    CHECK(norm(singles[i].state().velocity) > 0.01);
    CHECK(norm(singles[i].state().body_rates) > 0.01);
  }
  return largest;
}

/// `count` copies of the vehicle, or random variations with the same structure.
std::vector<VehicleParameters> vehicles_like(const VehicleParameters& vehicle, std::size_t count,
                                             bool own) {
  std::vector<VehicleParameters> vehicles(count, vehicle);
  if (!own) return vehicles;
  Dice dice(5);
  for (auto& v : vehicles) {
    const auto vary = [&](double& x) { x *= dice.uniform(0.8, 1.2); };
    vary(v.body.mass), vary(v.drag.translational);
    // adding a sphere keeps the inertia valid
    const double sphere = dice.uniform(0.0, 0.1) * v.body.inertia(0, 0);
    const double larger = dice.uniform(0.8, 1.2);
    for (double& element : v.body.inertia.elements) element *= larger;
    for (int i = 0; i < 3; ++i) v.body.inertia(i, i) += sphere;
    const double thrust = dice.uniform(0.9, 1.2);
    for (auto& rotor : v.rotors) rotor.thrust_coefficient *= thrust, vary(rotor.inertia);
    const double lag = dice.uniform(0.8, 1.2);
    v.motor.time_constant_up *= lag, v.motor.time_constant_down *= lag;
    vary(v.process_noise.force), vary(v.process_noise.torque);
    vary(v.imu.gyroscope_noise_density), vary(v.imu.accelerometer_noise_density);
    vary(v.imu.gyroscope_bias_walk), vary(v.imu.accelerometer_bias_walk);
    v.imu.gyroscope_bias_initial = dice.uniform(0.0, 0.02);
    v.imu.accelerometer_bias_initial = dice.uniform(0.0, 0.2);
    for (int i = 0; i < 3; ++i) vary(v.rate_controller.proportional[i]);
    vary(v.rate_controller.filter.stiffness);
  }
  return vehicles;
}

VehicleParameters with_rotors(int count) {
  return count == 4 ? pw::vehicles::flightgoggles() : ring_of(count);
}

template <class T>
void battery(double bound) {
  for (const auto integrator : {pw::Integrator::euler, pw::Integrator::rk4}) {
    for (const int rotors : {3, 4, 6, 8}) {
      for (const bool own : {false, true}) {
        for (const bool rates : {false, true}) {
          if (rates && rotors < 4) continue;  // rejected, see below
          Flight flight;
          flight.integrator = integrator;
          flight.rates = rates;
          CAPTURE(static_cast<int>(integrator), rotors, own, rates);
          // five vehicles do not fill whole blocks
          CHECK(simulated_difference<T>(vehicles_like(with_rotors(rotors), 5, own), own, flight) <
                bound);
        }
      }
    }
  }
}

/// All terms that the vehicles of the papers lack: GeneralShape, all IMU effects, delay, battery.
VehicleParameters with_all_terms(const VehicleParameters& from) {
  auto vehicle = from;
  Dice dice(13);
  auto inertia = rotated(dice.unit_quat(), from.body.inertia);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < i; ++j) inertia(i, j) = inertia(j, i);
  }
  vehicle.body.inertia = inertia;
  vehicle.drag.rotational = rotated(dice.unit_quat(), pw::Mat3<double>::diagonal(1e-7, 2e-7, 3e-7));
  for (auto& rotor : vehicle.rotors) {
    const auto axis = dice.vec3(0.1) + pw::Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
  }
  vehicle.imu.position = {0.01, -0.02, 0.005};
  vehicle.imu.attitude = dice.unit_quat();
  vehicle.imu.accelerometer_resolution = 0.01;
  vehicle.imu.gyroscope_range = 2.5;
  vehicle.imu.gyroscope_bias_walk = 1e-3;
  vehicle.rate_controller.gyroscopic_term = false;
  return vehicle;
}

}  // namespace

TEST_CASE("a fleet in double equals single vehicles", "[fleet]") { battery<double>(double_bound); }

TEST_CASE("a fleet in float equals single vehicles to float precision", "[fleet]") {
  battery<float>(float_bound);
}

TEST_CASE("a vehicle with all terms flies in a fleet like a single one", "[fleet]") {
  // tilted rotors, full matrices, two motor time constants, rotor drag, dead time, battery; an IMU
  // with lever arm, rotation and quantisation
  for (const auto& vehicle :
       {with_all_terms(pw::vehicles::crazyflie()), with_all_terms(pw::vehicles::hexacopter())}) {
    for (const bool own : {false, true}) {
      for (const bool rates : {false, true}) {
        for (const auto integrator : {pw::Integrator::euler, pw::Integrator::rk4}) {
          Flight flight;
          flight.integrator = integrator;
          flight.rates = rates;
          flight.wind = {1.5, -0.5, 0.25};
          flight.voltage = 4.125;
          CAPTURE(vehicle.name, own, rates, static_cast<int>(integrator));
          const auto vehicles = vehicles_like(vehicle, 3, own);
          CHECK(simulated_difference<double>(vehicles, own, flight) < double_bound);
        }
      }
    }
  }
}

TEST_CASE("different motors act in a fleet like in a single vehicle", "[fleet]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.time_constant_up = {0.015, 0.02, 0.03, 0.025};
  vehicle.motor.time_constant_down = {0.02, 0.03, 0.025, 0.04};
  vehicle.motor.speed_min = {0.0, 50.0, 100.0, 0.0};
  vehicle.motor.speed_max = {1500.0, 2200.0, 1400.0, 1450.0};
  for (const bool own : {false, true}) {
    for (const bool rates : {false, true}) {
      Flight flight;
      flight.rates = rates;
      CAPTURE(own, rates);
      const auto vehicles = vehicles_like(vehicle, 3, own);
      CHECK(simulated_difference<double>(vehicles, own, flight) < double_bound);
      CHECK(simulated_difference<float>(vehicles, own, flight) < float_bound);
    }
  }
}

TEST_CASE("an external wrench acts on a vehicle in a fleet like on a single one", "[fleet]") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    for (const bool noise : {false, true}) {
      for (const bool rates : {false, true}) {
        auto variant = vehicle;
        if (!noise) variant.process_noise = {};
        variant.imu.position = {0.03, 0.01, -0.02};
        Flight flight;
        flight.rates = rates;
        flight.pushed = true;
        CAPTURE(vehicle.name, noise, rates);
        CHECK(simulated_difference<double>(vehicles_like(variant, 3, true), true, flight) <
              double_bound);
        CHECK(simulated_difference<double>(vehicles_like(variant, 3, false), false, flight) <
              double_bound);
      }
    }
  }
}

TEST_CASE("rotors of reduced effectiveness act in a fleet like in a single vehicle", "[fleet]") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    for (const bool own : {false, true}) {
      for (const bool rates : {false, true}) {
        Flight flight;
        flight.rates = rates;
        flight.reduced_rotors = true;
        CAPTURE(vehicle.name, own, rates);
        const auto vehicles = vehicles_like(vehicle, 5, own);
        CHECK(simulated_difference<double>(vehicles, own, flight) < double_bound);
        CHECK(simulated_difference<float>(vehicles, own, flight) < float_bound);
      }
    }
  }
}

TEST_CASE("a number of rotors without a specialised kernel uses the general one", "[fleet]") {
  for (const int rotors : {5, 7, 12}) {
    for (const bool rates : {false, true}) {
      Flight flight;
      flight.rates = rates;
      CAPTURE(rotors, rates);
      CHECK(simulated_difference<double>(vehicles_like(ring_of(rotors), 3, false), false, flight) <
            double_bound);
    }
  }
}

TEST_CASE("the default vehicle with a rotated IMU off centre keeps its specialised kernel",
          "[fleet]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.position = {0.03, 0.01, -0.02};
  vehicle.imu.attitude = Dice(3).unit_quat();
  vehicle.imu.gyroscope_resolution = 0.001;
  vehicle.motor.command_delay = 0.0071;
  Flight flight;
  flight.wind = {-2.0, 1.0, 0.5};
  CHECK(simulated_difference<double>(vehicles_like(vehicle, 3, false), false, flight) <
        double_bound);
}

TEST_CASE("an IMU slower than the physics feeds a fleet's controller like a single one",
          "[fleet]") {
  for (const double rate : {100.0, 300.0, 700.0}) {
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.imu.rate = rate;
    vehicle.imu.gyroscope_bias_initial = 0.01;
    CAPTURE(rate);
    CHECK(simulated_difference<double>(vehicles_like(vehicle, 3, false), false, {}) < double_bound);
    CHECK(simulated_difference<float>(vehicles_like(vehicle, 3, true), true, {}) < float_bound);
  }
}

TEST_CASE("vehicles without noise or bias walk use cheaper kernels", "[fleet]") {
  for (const bool noise : {false, true}) {
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.imu.gyroscope_bias_walk = 0.0;
    vehicle.imu.accelerometer_bias_walk = 0.0;
    if (!noise) vehicle.process_noise = {};
    pw::FleetOptions options;
    auto fleet = make_fleet<double>(vehicle, 3, options);
    Singles singles({vehicle, vehicle, vehicle}, options);
    for (int call = 0; call < 48; ++call) {
      const auto commands = fleet_commands<double>(call, vehicle, 3);
      fly(fleet, false, commands, 10);
      singles.step(commands, false, 10, options.dt);
    }
    CHECK(apart(fleet, singles) < double_bound);
  }
}

TEST_CASE("more lanes than a register change no bit", "[fleet]") {
  pw::FleetOptions options;
  options.seed = 3;
  const auto vehicle = pw::vehicles::flightgoggles();
  auto narrow = make_fleet<double>(vehicle, 7, options);
  pw::Fleet<pw::Multicopter<>, double> wide(vehicle, 7, options, &wide_kernels);
  fly(narrow, true, 0, 20, 10);
  fly(wide, true, 0, 20, 10);
  CHECK(same_bits(everything_of(narrow), everything_of(wide)));
}

TEST_CASE("a fleet whose rotors cannot control rates rejects rate commands", "[fleet]") {
  auto fleet = make_fleet<double>(ring_of(3), 2);
  const auto commands = fleet_commands<double>(0, fleet.vehicle(), 2);
  CHECK_THROWS_AS(fleet.step(commands.rate_thrust()), pw::ParameterError);
  CHECK(fleet.steps() == 0);
  fleet.step(commands.rotor_speeds());
  CHECK(fleet.steps() == 1);
}

}  // namespace test_fleet
