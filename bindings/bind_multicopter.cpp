#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include "arrays.hpp"
#include "commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/fleet/impl/fleet_samplers.hpp"
#include "propwash/vehicle/multicopter.hpp"
#include "recorder.hpp"
#include "snapshot_bytes.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

/// Calls f(name, value) for each recorded quantity of a rollout.
template <class Vehicle, class F>
void each_recorded(const Vehicle& vehicle, const F& f) {
  const auto& state = vehicle.state();
  const auto imu = vehicle.imu();
  f("time", vehicle.time());
  f("position", state.position);
  f("velocity", state.velocity);
  f("attitude", state.attitude);
  f("body_rates", state.body_rates);
  f("rotor_speeds", state.rotor_speeds);
  f("rotor_command", vehicle.rotor_command());
  f("specific_force", imu.specific_force);
  f("angular_rate", imu.angular_rate);
  f("accelerometer_bias", vehicle.imu_bias().accelerometer);
  f("gyroscope_bias", vehicle.imu_bias().gyroscope);
}

template <int N>
py::tuple tuple_of(const MulticopterState<double, N>& state) {
  return py::make_tuple(to_array(state.position), to_array(state.velocity),
                        to_array(state.attitude), to_array(state.body_rates),
                        to_array(state.rotor_speeds));
}

template <class Vehicle>
void require_rotors(const Command& command, const Vehicle& vehicle) {
  const CommandArray& speeds = *command.numbers(0);
  if (speeds.shape(speeds.ndim() - 1) == vehicle.rotors()) return;
  refuse("speeds", std::to_string(vehicle.rotors()) + " rotor speeds [rad/s]", speeds.copy());
}
template <class Vehicle>
auto speeds_of(const Command& command, py::ssize_t row, const Vehicle& vehicle) {
  auto speeds = vehicle.state().rotor_speeds;
  for (int i = 0; i < vehicle.rotors(); ++i) speeds[i] = command.number(0, row, i);
  return RotorSpeeds{speeds};
}

template <class Vehicle>
std::string kind_of(const Vehicle& vehicle) {
  return "multicopter " + std::to_string(vehicle.rotors());
}

/// Multicopter with four rotors or any other number of them, as one Python class.
class PyMulticopter {
 public:
  PyMulticopter(const py::object& parameters, const std::string& integrator, std::uint64_t seed,
                std::uint32_t id, bool noise, const py::object& control_vehicle,
                const py::object& turbulence)
      : vehicle_(make(vehicle_parameters(parameters),
                      with_turbulence(MulticopterOptions{integrator_named(integrator), seed, id,
                                                         noise, optional_vehicle(control_vehicle)},
                                      turbulence))) {}

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), vehicle_);
  }
  /// For changes, which are refused while sensors sample.
  template <class F>
  decltype(auto) visit(F&& f) {
    samplers_.require_idle();
    return std::visit(std::forward<F>(f), vehicle_);
  }

  py::tuple steady(const py::object& velocity, const py::object& climb,
                   const py::object& yaw_rate) const {
    SteadyFlight flight;
    flight.velocity = finite_number(velocity, "velocity", "a finite number [m/s]");
    flight.climb = finite_number(climb, "climb", "a finite number [m/s]");
    flight.yaw_rate = finite_number(yaw_rate, "yaw_rate", "a finite number [rad/s]");
    return visit([&](const auto& vehicle) { return tuple_of(vehicle.trim(flight)); });
  }
  py::tuple derivative_of(const py::tuple& fields, const py::object& speeds) const {
    const Command& command = command_of(CommandKind::rotor_speeds, speeds);
    return visit([&](const auto& vehicle) {
      const auto state = state_from(vehicle, fields);
      require_rotors(command, vehicle);
      require_one_command(command.rows(), "derivative()");
      return tuple_of(vehicle.derivative(state, speeds_of(command, 0, vehicle)));
    });
  }
  void set_state(const py::tuple& fields) {
    visit([&](auto& vehicle) { vehicle.set_state(state_from(vehicle, fields)); });
  }
  void reset(const py::tuple& fields, std::optional<std::uint64_t> seed) {
    visit([&](auto& vehicle) {
      const auto state = state_from(vehicle, fields);
      return seed ? vehicle.reset(state, *seed) : vehicle.reset(state);
    });
  }

  void step(const py::object& command, const py::object& dt, const py::object& substeps,
            const py::object& state) {
    const auto estimate = estimate_from(state);
    const py::ssize_t count = whole_number(substeps, "substeps", 1);
    with_command(
        command,
        [&](auto& vehicle, const auto& row_of, py::ssize_t rows) {
          require_one_command(rows, "step()");
          const double seconds = checked_time_step(vehicle, dt);
          const auto held = row_of(0);
          interruptible(count, [&](py::ssize_t) {
            if constexpr (std::is_same_v<decltype(row_of(0)), OuterLoopCommand<double>>) {
              vehicle.step(held, seconds, estimate ? &*estimate : nullptr);
            } else {
              vehicle.step(held, seconds);
            }
            samplers_.sample(vehicle.steps());
          });
        },
        estimate.has_value());
  }

  py::dict rollout(const py::object& command, const py::object& dt, const py::object& steps,
                   const py::object& substeps) {
    const py::ssize_t each = whole_number(substeps, "substeps", 1);
    py::dict result;
    with_command(command, [&](auto& vehicle, const auto& row_of, py::ssize_t rows) {
      const py::ssize_t count = record_count(rows, steps);
      const double seconds = checked_time_step(vehicle, dt);
      const auto each_value = [&](const auto& f) { each_recorded(vehicle, f); };
      result = recorded(count, each, each_value, [&](py::ssize_t row) {
        return [&, held = row_of(row)] {
          vehicle.step(held, seconds);
          samplers_.sample(vehicle.steps());
        };
      });
    });
    return result;
  }

  void check_time_step(const py::object& dt) {
    visit([&](const auto& vehicle) { checked_time_step(vehicle, dt); });
  }

  /// The caller keeps the sampler, a FleetSampler, alive until detach(). Steps must then be of
  /// `dt`.
  void attach(const py::object& sampler, double dt) {
    samplers_.attach(sampler.cast<FleetSampler&>());
    ++attached_;
    sampler_dt_ = dt;
  }
  void detach(const py::object& sampler) {
    samplers_.detach(sampler.cast<FleetSampler&>());
    --attached_;
  }

  void set_rotor_effectiveness(const py::object& value) {
    visit([&](auto& vehicle) {
      const std::string expected = std::to_string(vehicle.rotors()) + " factors from 0 to " +
                                   detail::formatted(max_effectiveness);
      const Array numbers =
          shaped_array(value, "rotor_effectiveness", expected, {vehicle.rotors()});
      auto factors = vehicle.rotor_effectiveness();
      for (int i = 0; i < vehicle.rotors(); ++i) factors[i] = numbers.data()[i];
      vehicle.set_rotor_effectiveness(factors);
    });
  }

  void set_outer_loops(const py::dict& values) {
    visit([&](auto& v) { v.set_outer_loops(outer_loops_from(v.outer_loops(), values)); });
  }

  void restore(const py::bytes& bytes) {
    visit([&](auto& vehicle) {
      using Snapshot = typename std::decay_t<decltype(vehicle)>::Snapshot;
      const std::string owner =
          "a multicopter with " + std::to_string(vehicle.rotors()) + " rotors";
      vehicle.restore(snapshot_from<Snapshot>(kind_of(vehicle), bytes, owner));
    });
  }

 private:
  using Variant = std::variant<Multicopter<4>, Multicopter<>>;

  static Variant make(const VehicleParameters& parameters, const MulticopterOptions& options) {
    if (parameters.rotors.size() == 4) return Multicopter<4>(parameters, options);
    return Multicopter<>(parameters, options);
  }

  /// The vehicle's state with the fields that are not None replaced.
  template <class Vehicle>
  static typename Vehicle::State state_from(const Vehicle& vehicle, const py::tuple& fields) {
    auto state = vehicle.state();
    const auto has = [&](std::size_t field) { return !py::object(fields[field]).is_none(); };
    if (has(0)) state.position = vec3(fields[0], "position", "m, world frame");
    if (has(1)) state.velocity = vec3(fields[1], "velocity", "m/s, world frame");
    if (has(2)) state.attitude = attitude(fields[2], "attitude");
    if (has(3)) state.body_rates = vec3(fields[3], "body_rates", "rad/s, body frame");
    if (has(4)) read_rotor_speeds(vehicle, fields[4], state.rotor_speeds);
    return state;
  }

  template <class Vehicle, class Speeds>
  static void read_rotor_speeds(const Vehicle& vehicle, const py::object& value, Speeds& result) {
    const auto& motor = vehicle.parameters().motor;
    const std::string expected = std::to_string(vehicle.rotors()) + " rotor speeds in [" +
                                 std::to_string(min_of(motor.speed_min)) + ", " +
                                 std::to_string(max_of(motor.speed_max)) + "] rad/s" +
                                 (motor.speed_min.is_uniform() && motor.speed_max.is_uniform()
                                      ? ""
                                      : ", each in the range of its motor");
    const Array speeds = shaped_array(value, "rotor_speeds", expected, {vehicle.rotors()});
    for (int i = 0; i < vehicle.rotors(); ++i) {
      const double speed = speeds.data()[i];
      if (speed < motor.speed_min[i] || speed > motor.speed_max[i]) {
        refuse("rotor_speeds", expected, value);
      }
      result[i] = speed;
    }
  }

  /// The motion of an object with these attributes; empty for None. An attitude that is of unit
  /// length up to rounding keeps its bits.
  static std::optional<MotionEstimate<double>> estimate_from(const py::object& state) {
    if (state.is_none()) return std::nullopt;
    for (const char* const name : {"position", "velocity", "attitude"}) {
      if (!py::hasattr(state, name)) {
        throw py::type_error(
            "state: expected a MotionEstimate or an object with position, velocity and attitude, "
            "got " +
            described(state));
      }
    }
    MotionEstimate<double> estimate;
    estimate.position = vec3(state.attr("position"), "state.position", "m, world frame");
    estimate.velocity = vec3(state.attr("velocity"), "state.velocity", "m/s, world frame");
    const py::object q = state.attr("attitude");
    estimate.attitude = attitude(q, "state.attitude");
    const auto given = quat_at(shaped_array(q, "state.attitude", "4 numbers", {4}).data());
    if (std::abs(squared_norm(given) - 1.0) < 1e-14) estimate.attitude = given;
    return estimate;
  }

  /// Checks the command against the vehicle, then calls f(vehicle, function from row to command,
  /// number of rows). The method command() converts a trajectories.Reference to a command.
  template <class F>
  void with_command(const py::object& value, F&& f, bool has_estimate = false) {
    if (as_command(value) == nullptr && py::hasattr(value, "command")) {
      return with_command(value.attr("command")(), std::forward<F>(f), has_estimate);
    }
    const Command& command = multicopter_command(value);
    if (has_estimate) require_outer_loop(command);
    visit([&](auto& vehicle) {
      switch (command.kind()) {
        case CommandKind::rate_thrust:
          if (vehicle.allocation().rank < 4) validate_allocation(vehicle.control_vehicle());
          return f(
              vehicle, [&](py::ssize_t row) { return command.rate_thrust(row); }, command.rows());
        case CommandKind::rotor_speeds:
          require_rotors(command, vehicle);
          return f(
              vehicle, [&](py::ssize_t row) { return speeds_of(command, row, vehicle); },
              command.rows());
        default:
          return f(
              vehicle, [&](py::ssize_t row) { return command.outer_loop_command(row); },
              command.rows());
      }
    });
  }

  template <class Vehicle>
  double checked_time_step(const Vehicle& vehicle, const py::object& dt) {
    const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
    if (attached_ > 0 && seconds != sampler_dt_) {
      refuse("dt",
             detail::formatted(sampler_dt_) + " s, the dt of attach(), while sensors are attached",
             dt);
    }
    if (seconds == checked_dt_) return seconds;
    warn(validate_time_step(vehicle.parameters(), vehicle.options().integrator, seconds));
    checked_dt_ = seconds;
    return seconds;
  }

  Variant vehicle_;
  double checked_dt_ = std::numeric_limits<double>::quiet_NaN();
  detail::FleetSamplers samplers_;
  int attached_ = 0;
  double sampler_dt_ = 0.0;
};

}  // namespace

void bind_multicopter(py::module_& m) {
  using Self = PyMulticopter;
  const auto getter = [](auto get) { return [get](const Self& s) { return s.visit(get); }; };
  m.attr("max_effectiveness") = max_effectiveness;
  py::class_<Self>(m, "Multicopter", "See propwash.Multicopter.")
      .def(py::init<const py::object&, const std::string&, std::uint64_t, std::uint32_t, bool,
                    const py::object&, const py::object&>(),
           "parameters"_a, "integrator"_a, "seed"_a, "id"_a, "noise"_a, "control_vehicle"_a,
           "turbulence"_a)
      .def("step", &Self::step, "command"_a, "dt"_a = py::float_(1.0 / 960.0), py::kw_only(),
           "substeps"_a = py::int_(1), "state"_a = py::none(),
           "Advances by `substeps` steps of dt [s] under a held command. dt may differ between "
           "calls; a Fleet has a fixed dt.\n\n"
           "command: a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, "
           "TrajectoryCommand, or one row of a trajectories.Reference, which the geometric "
           "controller tracks. With RateThrust the rate controller runs at every step, with the "
           "gyroscope reading of the previous step; rotor speeds are limited to the motors' "
           "range.\n"
           "state: the position, velocity and attitude on which the outer loops compute, held "
           "during the substeps: a MotionEstimate or any object with these attributes; None: the "
           "true state. Body rates and specific force are those of the IMU. Not for RateThrust and "
           "RotorSpeeds.\n"
           "Raises ValueError or TypeError for invalid arguments; the state is then unchanged. "
           "Warns if dt is too long for the motor dynamics. Ctrl-C interrupts between steps.")
      .def("_rollout", &Self::rollout, "command"_a, "dt"_a, "steps"_a, "substeps"_a)
      .def("_check_time_step", &Self::check_time_step, "dt"_a)
      .def("_attach_sampler", &Self::attach, "sampler"_a, "dt"_a)
      .def("_detach_sampler", &Self::detach, "sampler"_a)
      .def("_outer_loops", getter([](auto& v) { return to_dict(v.outer_loops()); }))
      .def("_set_outer_loops", &Self::set_outer_loops, "values"_a)
      .def("_state", getter([](auto& v) { return tuple_of(v.state()); }))
      .def("_trim", getter([](auto& v) { return tuple_of(v.trim()); }))
      .def("_derivative", getter([](auto& v) { return tuple_of(v.derivative()); }))
      .def("_derivative_of", &Self::derivative_of, "fields"_a, "command"_a)
      .def("_steady", &Self::steady, "velocity"_a, "climb"_a, "yaw_rate"_a)
      .def("_set_state", &Self::set_state, "fields"_a)
      .def("_reset", &Self::reset, "fields"_a, "seed"_a)
      .def("_imu", getter([](auto& v) { return tuple_of_reading(v.imu()); }))
      .def("snapshot", getter([](auto& v) { return snapshot_bytes(kind_of(v), v.snapshot()); }),
           "Returns the complete state as bytes: state, filters, integrators, biases, "
           "delays, time, and key and counter of the noise.")
      .def("restore", &Self::restore, "snapshot"_a,
           "Restores a snapshot() of the same vehicle; results are then bitwise equal.\n\n"
           "Raises ValueError for a snapshot of another kind of vehicle; the state is then "
           "unchanged.")
      .def_property_readonly("time", getter([](auto& v) { return v.time(); }), "s, since reset")
      .def_property_readonly("steps", getter([](auto& v) { return v.steps(); }), steps_meaning)
      .def_property_readonly("seed", getter([](auto& v) { return v.options().seed; }), seed_meaning)
      .def_property_readonly("rotors", getter([](auto& v) { return v.rotors(); }),
                             "number of rotors")
      .def_property_readonly("rotor_command",
                             getter([](auto& v) { return to_array(v.rotor_command()); }),
                             "(N,) rad/s, command of the motors in the last step")
      .def_property_readonly("accelerometer_bias",
                             getter([](auto& v) { return to_array(v.imu_bias().accelerometer); }),
                             "(3,) m/s^2, sensor axes")
      .def_property_readonly("gyroscope_bias",
                             getter([](auto& v) { return to_array(v.imu_bias().gyroscope); }),
                             "(3,) rad/s, sensor axes")
      .def_property(
          "wind", getter([](auto& v) { return to_array(v.wind()); }),
          [](Self& s, const py::object& value) {
            const Vec3<double> wind_W = vec3(value, "wind", "m/s, world frame");
            s.visit([&](auto& v) { v.set_wind(wind_W); });
          },
          "(3,) m/s, velocity of the air, world frame; kept by reset()")
      .def(
          "set_external_wrench",
          [](Self& s, const py::object& force, const py::object& torque) {
            const Vec3<double> force_W = vec3(force, "force_W", "N, world frame");
            const Vec3<double> torque_B = vec3(torque, "torque_B", "N m, body frame");
            s.visit([&](auto& v) { v.set_external_wrench(force_W, torque_B); });
          },
          "force_W"_a, "torque_B"_a = py::make_tuple(0.0, 0.0, 0.0),
          "Applies a force [N, world frame] at the centre of mass and a torque [N m, body frame] "
          "in addition to those of the model until the next call; kept by reset().\n\n"
          "For example a payload, a tether, or contact in a host simulator. The accelerometer "
          "measures them.\n"
          "Raises ValueError for anything but 3 finite numbers each; the wrench is then unchanged.")
      .def_property_readonly("external_force",
                             getter([](auto& v) { return to_array(v.external_force()); }),
                             "(3,) N, world frame, set by set_external_wrench()")
      .def_property_readonly("external_torque",
                             getter([](auto& v) { return to_array(v.external_torque()); }),
                             "(3,) N m, body frame, set by set_external_wrench()")
      .def_property(
          "rotor_effectiveness", getter([](auto& v) { return to_array(v.rotor_effectiveness()); }),
          [](Self& s, const py::object& value) { s.set_rotor_effectiveness(value); },
          "(N,) factors on the thrust and aerodynamic torque of each rotor, unknown to the "
          "controllers: 1 is nominal, 0 a lost propeller; kept by reset()")
      .def_property(
          "battery_voltage", getter([](auto& v) { return v.battery_voltage(); }),
          [](Self& s, const py::object& value) {
            const double voltage = finite_number(value, "battery_voltage", "a number >= 0 [V]");
            if (voltage < 0.0) refuse("battery_voltage", "a number >= 0 [V]", value);
            s.visit([&](auto& v) { v.set_battery_voltage(voltage); });
          },
          "V; has no effect if battery.nominal_voltage is 0, and cannot be set if the vehicle has "
          "a "
          "battery circuit, which computes it")
      .def_property_readonly("battery_current", getter([](auto& v) { return v.battery_current(); }),
                             "A, in the last step; 0 without a battery circuit")
      .def_property(
          "state_of_charge", getter([](auto& v) { return v.state_of_charge(); }),
          [](Self& s, const py::object& value) {
            const double charge = finite_number(value, "state_of_charge", "a number from 0 to 1");
            s.visit([&](auto& v) { v.set_state_of_charge(charge); });
          },
          "Remaining fraction of the battery's capacity, 1 without a battery circuit. Setting it "
          "replaces the battery by one at rest; reset() charges it to 1");
}

}  // namespace propwash::bindings
