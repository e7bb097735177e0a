// Invalid parameters: one error with field, value and range.
#include <functional>
#include <limits>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/outer_loop_fields.hpp>
#include <propwash/vehicle/validate.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_validate {

namespace pw = propwash;

namespace {

using Vehicle = pw::VehicleParameters;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

/// The message of the exception, or an empty string.
template <class F>
std::string error_message(F&& f) {
  try {
    f();
  } catch (const pw::ParameterError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Fault {
  std::function<void(Vehicle&)> make;
  const char* field;
  const char* value;
  const char* expected;
};

void require_refused(const std::vector<Fault>& faults) {
  for (const auto& fault : faults) {
    INFO(fault.field << " = " << fault.value);
    auto vehicle = pw::vehicles::flightgoggles();
    fault.make(vehicle);
    const auto text = error_message([&] { pw::validate(vehicle); });
    CAPTURE(text);
    CHECK(mentions(text, "vehicle 'flightgoggles'"));
    CHECK(mentions(text, fault.field + std::string(" = ") + fault.value));
    CHECK(mentions(text, fault.expected));
    // one error for one fault
    CHECK(text.find(": expected") == text.rfind(": expected"));
  }
}

/// Checks the rejection of all invalid values of a number that must be finite and >= 0, or > 0.
void require_range(const std::string& field, const std::function<double&(Vehicle&)>& at,
                   bool zero_allowed, bool infinity_allowed = false) {
  INFO(field);
  std::vector<std::pair<double, std::string>> bad = {
      {-1.5, "-1.5"}, {not_a_number, "nan"}, {-inf, "-inf"}};
  if (!zero_allowed) bad.emplace_back(0.0, "0");
  if (!infinity_allowed) bad.emplace_back(inf, "inf");
  for (const auto& [value, shown] : bad) {
    auto vehicle = pw::vehicles::flightgoggles();
    at(vehicle) = value;
    const auto text = error_message([&] { pw::validate(vehicle); });
    CAPTURE(text);
    CHECK(mentions(text, field + " = " + shown + ": expected"));
    CHECK(mentions(text, zero_allowed ? ">= 0" : "> 0"));
  }
  auto vehicle = pw::vehicles::flightgoggles();
  if (zero_allowed) {
    at(vehicle) = 0.0;
    CHECK(error_message([&] { pw::validate(vehicle); }).empty());
  }
}

}  // namespace

TEST_CASE("every shipped vehicle is valid and can be rate controlled", "[validate]") {
  for (const auto& vehicle :
       {pw::vehicles::flightgoggles(), pw::vehicles::penguin(), pw::vehicles::blackbird(),
        pw::vehicles::crazyflie(), pw::vehicles::hexacopter()}) {
    CHECK(error_message([&] { pw::validate(vehicle); }) == "");
    CHECK(error_message([&] { pw::validate_allocation(vehicle); }) == "");
    CHECK(pw::validate_time_step(vehicle, pw::Integrator::euler, 1.0 / 960) == "");
  }
  CHECK(error_message([] { pw::validate(pw::vehicles::car()); }) == "");
}

TEST_CASE("numbers out of range are named with the range", "[validate]") {
#define FIELD(name) #name, [](Vehicle& v) -> double& { return v.name; }
  require_range(FIELD(body.mass), false);
  require_range(
      "motor.time_constant_up",
      [](Vehicle& v) -> double& { return v.motor.time_constant_up.values[0]; }, false);
  require_range(
      "motor.time_constant_down",
      [](Vehicle& v) -> double& { return v.motor.time_constant_down.values[0]; }, false);
  require_range(FIELD(motor.speed_offset), true);
  require_range(FIELD(motor.command_delay), true);
  require_range(FIELD(rotors[2].thrust_coefficient), false);
  require_range(FIELD(rotors[2].torque_coefficient), true);
  require_range(FIELD(rotors[2].inertia), true);
  require_range(FIELD(drag.translational), true);
  require_range(FIELD(rotor_drag.linear[1]), true);
  require_range(FIELD(rotor_drag.blow_back), true);
  require_range(FIELD(inflow.axial), true);
  require_range(FIELD(inflow.translational), true);
  require_range(FIELD(inflow.radius), true);
  require_range(FIELD(inflow.drag), true);
  require_range(FIELD(inflow.axial_drag), true);
  require_range(FIELD(inflow.flapping), true);
  require_range(FIELD(ground_effect.radius), true);
  require_range(FIELD(ground_effect.coefficient), true);
  require_range(FIELD(contact.frequency), true);
  require_range(FIELD(contact.damping), true);
  require_range(FIELD(contact.friction), true);
  require_range(FIELD(contact.leg), true);
  require_range(FIELD(residual.velocity[1]), true);
  require_range(FIELD(residual.rates[2]), true);
  require_range(FIELD(residual.thrust), true);
  require_range(FIELD(residual.torque[0]), true);
  require_range(FIELD(battery.nominal_voltage), true);
  require_range(FIELD(battery.cells), true);
  require_range(FIELD(battery.capacity), true);
  require_range(FIELD(battery.full_voltage), true);
  require_range(FIELD(battery.resistance), true);
  require_range(FIELD(battery.polarisation_resistance), true);
  require_range(FIELD(battery.polarisation_time), true);
  require_range(FIELD(battery.efficiency), true);
  require_range(FIELD(battery.load), true);
  require_range(FIELD(process_noise.force), true);
  require_range(FIELD(process_noise.torque), true);
  require_range(FIELD(imu.accelerometer_noise_density), true);
  require_range(FIELD(imu.gyroscope_noise_density), true);
  require_range(FIELD(imu.accelerometer_bias_walk), true);
  require_range(FIELD(imu.gyroscope_bias_walk), true);
  require_range(FIELD(imu.accelerometer_bias_initial), true);
  require_range(FIELD(imu.gyroscope_bias_initial), true);
  require_range(FIELD(imu.accelerometer_resolution), true);
  require_range(FIELD(imu.gyroscope_resolution), true);
  require_range(FIELD(imu.rate), true);
  require_range(FIELD(imu.accelerometer_range), false, true);
  require_range(FIELD(imu.gyroscope_range), false, true);
  require_range(FIELD(rate_controller.proportional[0]), true);
  require_range(FIELD(rate_controller.integral[1]), true);
  require_range(FIELD(rate_controller.derivative[2]), true);
  require_range(FIELD(rate_controller.integral_bound[0]), true);
  require_range(FIELD(rate_controller.filter.stiffness), false);
  require_range(FIELD(rate_controller.filter.damping), true);
#undef FIELD
}

TEST_CASE("motors have one value, or one for each rotor", "[validate]") {
  using List = pw::PerRotor<double>;
  require_refused({
      {[](Vehicle& v) { v.motor.speed_max = List{2200.0, 2200.0, 2200.0}; },
       "motor.speed_max, number of values", "3", "1, or 4, one per rotor"},
      {[](Vehicle& v) { v.motor.time_constant_up = List{0.02, 0.02, -0.01, 0.02}; },
       "motor.time_constant_up[2]", "-0.01", "> 0"},
      {[](Vehicle& v) { v.motor.speed_min = List{0.0, 0.0, 0.0, 9999.0}; }, "motor.speed_min[3]",
       "9999", "less than motor.speed_max = 2200"},
      {[](Vehicle& v) { v.motor.speed_max = List{2200.0, not_a_number, 2200.0, 2200.0}; },
       "motor.speed_max[1]", "nan", "> 0"},
  });
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.time_constant_down = List{0.04, 0.02, 0.03, 0.001};
  CHECK(error_message([&] { pw::validate(vehicle); }) == "");
  // the fastest motor limits the step
  CHECK(mentions(pw::validate_time_step(vehicle, pw::Integrator::euler, 0.002), "0.001 s"));
}

TEST_CASE("an impossible inertia is rejected", "[validate]") {
  using Mat3 = pw::Mat3<double>;
  require_refused({
      {[](Vehicle& v) { v.body.inertia(0, 1) = 1e-3; }, "body.inertia", "", "symmetric"},
      {[](Vehicle& v) { v.body.inertia(2, 2) = not_a_number; }, "body.inertia", "", "symmetric"},
      {[](Vehicle& v) { v.body.inertia = Mat3::diagonal(0.01, -0.01, 0.01); },
       "body.inertia, principal moments", "(-0.01, 0.01, 0.01)", "values > 0"},
      {[](Vehicle& v) { v.body.inertia = Mat3{}; }, "body.inertia, principal moments", "(0, 0, 0)",
       "values > 0"},
      {[](Vehicle& v) { v.body.inertia = Mat3::diagonal(0.001, 0.001, 0.01); },
       "body.inertia, principal moments", "(0.001, 0.001, 0.01)", "sum of the other two"},
      // diagonal in range, but not its principal moments
      {[](Vehicle& v) { v.body.inertia(0, 1) = v.body.inertia(1, 0) = 0.0049; },
       "body.inertia, principal moments", "(", "> 0"},
  });
  auto plate = pw::vehicles::flightgoggles();  // the limit of flat bodies is allowed
  plate.body.inertia = Mat3::diagonal(0.004, 0.005, 0.009);
  CHECK(error_message([&] { pw::validate(plate); }) == "");
}

TEST_CASE("invalid rotors and motors are rejected", "[validate]") {
  require_refused({
      {[](Vehicle& v) { v.rotors.clear(); }, "number of rotors", "0", "1 to 12"},
      {[](Vehicle& v) { v.rotors.resize(13); }, "number of rotors", "13", "1 to 12"},
      {[](Vehicle& v) { v.rotors[1].axis = {0.0, 0.0, 2.0}; }, "rotors[1].axis", "(0, 0, 2)",
       "unit vector"},
      {[](Vehicle& v) { v.rotors[1].axis = {0.0, not_a_number, 1.0}; }, "rotors[1].axis",
       "(0, nan, 1)", "unit vector"},
      {[](Vehicle& v) { v.rotors[3].spin = 0.5; }, "rotors[3].spin", "0.5", "+1"},
      {[](Vehicle& v) { v.rotors[3].spin = not_a_number; }, "rotors[3].spin", "nan", "+1"},
      {[](Vehicle& v) { v.rotors[0].position.y = inf; }, "rotors[0].position[1]", "inf", "m"},
      {[](Vehicle& v) { v.motor.speed_min = 3000.0; }, "motor.speed_min", "3000",
       "less than motor.speed_max = 2200"},
      {[](Vehicle& v) { v.motor.speed_min = not_a_number; }, "motor.speed_min", "nan", "less than"},
      {[](Vehicle& v) { v.body.mass = 4.0; }, "total thrust at motor.speed_max", "36.97",
       "more than the weight, 39.24"},
      {[](Vehicle& v) { v.body.gravity.x = not_a_number; }, "body.gravity[0]", "nan", "m/s^2"},
  });
}

TEST_CASE("other invalid fields of body and sensor are rejected", "[validate]") {
  require_refused({
      {[](Vehicle& v) { v.drag.rotational(1, 1) = -0.1; }, "drag.rotational", "", "semi-definite"},
      {[](Vehicle& v) { v.drag.rotational(1, 2) = not_a_number; }, "drag.rotational", "",
       "semi-definite"},
      {[](Vehicle& v) { v.imu.attitude = {1.0, 1.0, 0.0, 0.0}; }, "imu.attitude, squared norm", "2",
       "unit quaternion"},
      {[](Vehicle& v) { v.imu.attitude.x = not_a_number; }, "imu.attitude, squared norm", "nan",
       "unit quaternion"},
      {[](Vehicle& v) { v.imu.position.z = not_a_number; }, "imu.position[2]", "nan", "m"},
      {[](Vehicle& v) { v.imu.gyroscope_scale.x = inf; }, "imu.gyroscope_scale[0]", "inf", ""},
      {[](Vehicle& v) { v.imu.accelerometer_scale.y = not_a_number; }, "imu.accelerometer_scale[1]",
       "nan", ""},
  });
}

TEST_CASE("a residual needs a domain and bounded coefficients", "[validate]") {
  require_refused({
      {[](Vehicle& v) { v.residual = some_residual(), v.residual.rates.z = 0.0; },
       "residual.rates[2]", "0", "a value > 0 rad/s, the semi-axis of the domain"},
      {[](Vehicle& v) { v.residual = some_residual(), v.residual.thrust = 0.0; }, "residual.thrust",
       "0", "the semi-axis of the domain"},
      {[](Vehicle& v) { v.residual = some_residual(), v.residual.force_x[21] = not_a_number; },
       "residual.force_x[21]", "nan", "a finite value"},
      {[](Vehicle& v) { v.residual = some_residual(), v.residual.force_z[0] = 2e4; },
       "largest force of [residual] over mass", "4", "at most"},
      {[](Vehicle& v) { v.residual = some_residual(), v.residual.torque_x[0] = 2e4; },
       "largest torque of [residual] over moment of inertia", "8", "at most"},
  });
}

TEST_CASE("invalid IMUs and gains of outer loops are rejected", "[validate]") {
  pw::ImuParameters<double> imu;
  CHECK(error_message([&] { pw::validate(imu); }) == "");
  imu.rate = -1.0;
  imu.gyroscope_scale.x = inf;
  const auto text = error_message([&] { pw::validate(imu); });
  CHECK(mentions(text, "inertial sensor:"));
  CHECK(mentions(text, "imu.rate = -1: expected a finite value >= 0 Hz"));
  CHECK(mentions(text, "imu.gyroscope_scale[0] = inf: expected a finite value"));

  auto loops = pw::outer_loops_for(pw::vehicles::crazyflie(), 1.0 / 960);
  CHECK(error_message([&] { pw::validate(loops); }) == "");
  loops.backstepping.y = -1.0;
  loops.tilt_limit = 1.6;
  const auto gains = error_message([&] { pw::validate(loops); });
  CHECK(mentions(gains, "outer loops:"));
  CHECK(mentions(gains, "backstepping[1] = -1: expected a finite value >= 0 1/s"));
  CHECK(mentions(gains, "tilt_limit = 1.6: expected a magnitude of at most 1.5 rad"));
  loops = pw::outer_loops_for(pw::vehicles::crazyflie(), 1.0 / 960);
  loops.thrust_min = 2.0 * loops.thrust_max;
  CHECK(mentions(error_message([&] { pw::validate(loops); }), ": expected at most thrust_max = "));
}

TEST_CASE("all errors are listed", "[validate]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.mass = -1.0;
  vehicle.imu.rate = -5.0;
  vehicle.rotors[3].spin = 2.0;
  const auto text = error_message([&] { pw::validate(vehicle); });
  for (const char* part : {"body.mass = -1", "imu.rate = -5", "rotors[3].spin = 2"}) {
    CHECK(mentions(text, part));
  }
}

TEST_CASE("rotors that cannot control every axis are rejected for rate control", "[validate]") {
  auto vehicle = pw::vehicles::flightgoggles();
  for (auto& rotor : vehicle.rotors) rotor.spin = 1.0;
  CHECK(error_message([&] { pw::validate(vehicle); }) == "");  // valid for rotor speed commands
  const auto text = error_message([&] { pw::validate_allocation(vehicle); });
  CHECK(mentions(text, "rank of the allocation matrix = 3: expected 4"));
}

TEST_CASE("invalid time steps are rejected, and too long ones cause a warning", "[validate]") {
  const auto vehicle = pw::vehicles::flightgoggles();  // time constant 0.02 s
  for (const double dt : {0.0, -0.001, 1e-320, not_a_number, inf}) {
    const auto text =
        error_message([&] { pw::validate_time_step(vehicle, pw::Integrator::rk4, dt); });
    CHECK(mentions(text, "dt = "));
    CHECK(mentions(text, "expected a finite value >= 1e-09 s"));
  }
  CHECK(pw::validate_time_step(vehicle, pw::Integrator::euler, 0.019) == "");
  const auto warning = pw::validate_time_step(vehicle, pw::Integrator::euler, 0.021);
  CHECK(mentions(warning, "dt = 0.021"));
  CHECK(mentions(warning, "0.02 s"));
  CHECK(pw::validate_time_step(vehicle, pw::Integrator::rk4, 0.05) == "");
  CHECK(pw::validate_time_step(vehicle, pw::Integrator::rk4, 0.06) != "");
}

TEST_CASE("invalid cars are rejected", "[validate]") {
  const auto refused = [](const std::function<void(pw::CarParameters&)>& make, const char* part) {
    auto car = pw::vehicles::car();
    make(car);
    const auto text = error_message([&] { pw::Car<>{car}; });
    INFO(part << " in " << text);
    CHECK(mentions(text, part));
    CHECK(mentions(text, "expected"));
  };
  refused([](auto& c) { c.speed_min = 9.0; }, "speed_min = 9: expected at most speed_max = 5");
  refused([](auto& c) { c.speed_max = not_a_number; }, "speed_max = nan");
  refused([](auto& c) { c.speed_max = inf; }, "speed_max = inf");
  refused([](auto& c) { c.yaw_rate_limit = 0.0; }, "yaw_rate_limit = 0");
  refused([](auto& c) { c.process_noise_forward = -1.0; }, "process_noise[0] = -1");
  refused([](auto& c) { c.process_noise_left = not_a_number; }, "process_noise[1] = nan");
  pw::CarOptions options;
  options.integrator = pw::Integrator::symplectic_euler;
  CHECK(mentions(error_message([&] { pw::Car<>(pw::vehicles::car(), options); }),
                 "integrator = symplectic_euler"));
}

}  // namespace test_validate
