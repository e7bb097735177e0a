#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include "arrays.hpp"
#include "commands.hpp"
#include "modules.hpp"
#include "outer_commands.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/multicopter.hpp"
#include "snapshot_bytes.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

template <int N>
using State = MulticopterState<double, N>;

/// Rows of a rollout, each array of shape (rows, …).
struct Recorder {
  Recorder(py::ssize_t rows, py::ssize_t rotors)
      : time(rows),
        position({rows, py::ssize_t{3}}),
        velocity({rows, py::ssize_t{3}}),
        attitude({rows, py::ssize_t{4}}),
        body_rates({rows, py::ssize_t{3}}),
        rotor_speeds({rows, rotors}),
        rotor_command({rows, rotors}),
        specific_force({rows, py::ssize_t{3}}),
        angular_rate({rows, py::ssize_t{3}}),
        accelerometer_bias({rows, py::ssize_t{3}}),
        gyroscope_bias({rows, py::ssize_t{3}}),
        pointers{time.mutable_data(),          position.mutable_data(),
                 velocity.mutable_data(),      attitude.mutable_data(),
                 body_rates.mutable_data(),    rotor_speeds.mutable_data(),
                 rotor_command.mutable_data(), specific_force.mutable_data(),
                 angular_rate.mutable_data(),  accelerometer_bias.mutable_data(),
                 gyroscope_bias.mutable_data()} {}

  /// Writes the next row; needs no Python.
  template <class Vehicle>
  void record(const Vehicle& vehicle) {
    const auto& state = vehicle.state();
    const auto imu = vehicle.imu();
    *pointers.time++ = vehicle.time();
    put(pointers.position, state.position);
    put(pointers.velocity, state.velocity);
    for (const double value :
         {state.attitude.w, state.attitude.x, state.attitude.y, state.attitude.z}) {
      *pointers.attitude++ = value;
    }
    put(pointers.body_rates, state.body_rates);
    for (const double speed : state.rotor_speeds) *pointers.rotor_speeds++ = speed;
    for (const double speed : vehicle.rotor_command()) *pointers.rotor_command++ = speed;
    put(pointers.specific_force, imu.specific_force);
    put(pointers.angular_rate, imu.angular_rate);
    put(pointers.accelerometer_bias, vehicle.imu_bias().accelerometer);
    put(pointers.gyroscope_bias, vehicle.imu_bias().gyroscope);
  }

  py::dict arrays() const {
    py::dict result;
    result["time"] = time;
    result["position"] = position;
    result["velocity"] = velocity;
    result["attitude"] = attitude;
    result["body_rates"] = body_rates;
    result["rotor_speeds"] = rotor_speeds;
    result["rotor_command"] = rotor_command;
    result["specific_force"] = specific_force;
    result["angular_rate"] = angular_rate;
    result["accelerometer_bias"] = accelerometer_bias;
    result["gyroscope_bias"] = gyroscope_bias;
    return result;
  }

 private:
  static void put(double*& to, const Vec3<double>& v) {
    *to++ = v.x;
    *to++ = v.y;
    *to++ = v.z;
  }

  Array time, position, velocity, attitude, body_rates, rotor_speeds, rotor_command, specific_force,
      angular_rate, accelerometer_bias, gyroscope_bias;
  struct {
    double *time, *position, *velocity, *attitude, *body_rates, *rotor_speeds, *rotor_command,
        *specific_force, *angular_rate, *accelerometer_bias, *gyroscope_bias;
  } pointers;
};

/// Multicopter of four rotors, or of any number, behind one Python class.
class PyMulticopter {
 public:
  PyMulticopter(const py::object& parameters, const std::string& integrator, std::uint64_t seed,
                std::uint32_t id, bool noise)
      : vehicle_(make(vehicle_parameters(parameters),
                      MulticopterOptions{integrator_named(integrator), seed, id, noise})) {}

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), vehicle_);
  }
  template <class F>
  decltype(auto) visit(F&& f) {
    return std::visit(std::forward<F>(f), vehicle_);
  }

  py::tuple state() const {
    return visit([](const auto& vehicle) { return tuple_of(vehicle.state()); });
  }
  py::tuple trim() const {
    return visit([](const auto& vehicle) { return tuple_of(vehicle.trim()); });
  }
  py::tuple derivative() const {
    return visit([](const auto& vehicle) { return tuple_of(vehicle.derivative()); });
  }
  py::tuple steady(const py::object& velocity, const py::object& climb,
                   const py::object& yaw_rate) const {
    SteadyFlight flight;
    flight.velocity = finite_number(velocity, "velocity", "a finite number [m/s]");
    flight.climb = finite_number(climb, "climb", "a finite number [m/s]");
    flight.yaw_rate = finite_number(yaw_rate, "yaw_rate", "a finite number [rad/s]");
    return visit([&](const auto& vehicle) { return tuple_of(vehicle.trim(flight)); });
  }
  py::tuple derivative_of(const py::tuple& fields, const RotorSpeedsCommand& command) const {
    return visit([&](const auto& vehicle) {
      const auto state = state_from(vehicle, fields);
      py::tuple result;
      with_speeds(vehicle, command, [&](const auto&, const auto& row_of, py::ssize_t rows) {
        if (rows >= 0) {
          throw py::value_error("command: expected one command for derivative(), got " +
                                std::to_string(rows) + " rows");
        }
        result = tuple_of(vehicle.derivative(state, row_of(0)));
      });
      return result;
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

  py::tuple imu() const {
    return visit([](const auto& vehicle) {
      const auto reading = vehicle.imu();
      return py::make_tuple(to_array(reading.specific_force), to_array(reading.angular_rate),
                            reading.time);
    });
  }

  void step(const py::object& command, const py::object& dt, const py::object& substeps) {
    const py::ssize_t count = whole_number(substeps, "substeps", 1);
    with_command(command, [&](auto& vehicle, const auto& row_of, py::ssize_t rows) {
      require_one_command(rows, "step()");
      const double seconds = checked_time_step(vehicle, dt);
      const auto held = row_of(0);
      interruptible(count, [&](py::ssize_t) { vehicle.step(held, seconds); });
    });
  }

  py::dict rollout(const py::object& command, const py::object& dt, const py::object& steps,
                   const py::object& substeps) {
    const py::ssize_t each = whole_number(substeps, "substeps", 1);
    py::dict result;
    with_command(command, [&](auto& vehicle, const auto& row_of, py::ssize_t rows) {
      const py::ssize_t count = record_count(rows, steps);
      const double seconds = checked_time_step(vehicle, dt);
      Recorder recorder(count, vehicle.rotors());
      interruptible(
          count,
          [&](py::ssize_t row) {
            const auto held = row_of(row);
            for (py::ssize_t i = 0; i < each; ++i) vehicle.step(held, seconds);
            recorder.record(vehicle);
          },
          each);
      result = recorder.arrays();
    });
    return result;
  }

  void set_rotor_effectiveness(const py::object& value) {
    visit([&](auto& vehicle) {
      const std::string expected = std::to_string(vehicle.rotors()) + " factors from 0 to " +
                                   detail::formatted(max_effectiveness);
      const Array numbers = finite_array(value, "rotor_effectiveness", expected);
      if (numbers.ndim() != 1 || numbers.shape(0) != vehicle.rotors()) {
        refuse("rotor_effectiveness", expected, value);
      }
      auto factors = vehicle.rotor_effectiveness();
      for (int i = 0; i < vehicle.rotors(); ++i) factors[i] = numbers.data()[i];
      vehicle.set_rotor_effectiveness(factors);
    });
  }

  py::dict outer_loops() const {
    return visit([](const auto& vehicle) { return to_dict(vehicle.outer_loops()); });
  }
  void set_outer_loops(const py::dict& values) {
    visit([&](auto& vehicle) {
      vehicle.set_outer_loops(outer_loops_from(vehicle.outer_loops(), values));
    });
  }

  py::bytes snapshot() const {
    return visit(
        [](const auto& vehicle) { return snapshot_bytes(header_of(vehicle), vehicle.snapshot()); });
  }
  void restore(const py::bytes& bytes) {
    visit([&](auto& vehicle) {
      using Snapshot = typename std::decay_t<decltype(vehicle)>::Snapshot;
      const auto snapshot = snapshot_from<Snapshot>(header_of(vehicle), bytes);
      if (!snapshot) {
        throw py::value_error(
            "snapshot: expected the bytes that snapshot() of a multicopter with " +
            std::to_string(vehicle.rotors()) + " rotors gave in this version of propwash, got " +
            std::to_string(py::len(bytes)) + " other bytes");
      }
      vehicle.restore(*snapshot);
    });
  }

 private:
  using Variant = std::variant<Multicopter<4>, Multicopter<>>;

  static Variant make(const VehicleParameters& parameters, const MulticopterOptions& options) {
    if (parameters.rotors.size() == 4) return Multicopter<4>(parameters, options);
    return Multicopter<>(parameters, options);
  }

  template <class Vehicle>
  static std::string header_of(const Vehicle& vehicle) {
    return snapshot_header("multicopter " + std::to_string(vehicle.rotors()));
  }

  template <int N>
  static py::tuple tuple_of(const State<N>& state) {
    return py::make_tuple(to_array(state.position), to_array(state.velocity),
                          to_array(state.attitude), to_array(state.body_rates),
                          to_array_of(state.rotor_speeds));
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
    const Array speeds = finite_array(value, "rotor_speeds", expected);
    if (speeds.ndim() != 1 || speeds.shape(0) != vehicle.rotors()) {
      refuse("rotor_speeds", expected, value);
    }
    for (int i = 0; i < vehicle.rotors(); ++i) {
      const double speed = speeds.data()[i];
      if (speed < motor.speed_min[i] || speed > motor.speed_max[i]) {
        refuse("rotor_speeds", expected, value);
      }
      result[i] = speed;
    }
  }

  /// Whether it is a propwash.trajectories.Reference, whose command() gives a TrajectoryCommand.
  static bool is_reference(const py::object& command) {
    return py::isinstance(command, py::module_::import("propwash.trajectories").attr("Reference"));
  }

  /// Calls f(vehicle, function from row to command, number of rows) after checking the command
  /// against the vehicle.
  template <class F>
  void with_command(const py::object& command, F&& f) {
    if (py::isinstance<RateThrustCommand>(command)) {
      const auto& rates = command.cast<const RateThrustCommand&>();
      visit([&](auto& vehicle) {
        if (vehicle.allocation().rank < 4) validate_allocation(vehicle.parameters());
        f(vehicle, [&](py::ssize_t row) { return rates.row(row); }, rates.rows());
      });
    } else if (py::isinstance<RotorSpeedsCommand>(command)) {
      const auto& speeds = command.cast<const RotorSpeedsCommand&>();
      visit([&](auto& vehicle) { with_speeds(vehicle, speeds, std::forward<F>(f)); });
    } else if (py::isinstance<OuterCommand>(command)) {
      const auto& outer = command.cast<const OuterCommand&>();
      const auto row_of = [&](py::ssize_t row) { return outer.row(row); };
      visit([&](auto& vehicle) { f(vehicle, row_of, outer.rows()); });
    } else if (is_reference(command)) {
      with_command(command.attr("command")(), std::forward<F>(f));
    } else {
      throw py::type_error("command: expected " + std::string(commands_expected) + ", got " +
                           described(command));
    }
  }

  template <class Vehicle, class F>
  static void with_speeds(Vehicle& vehicle, const RotorSpeedsCommand& command, F&& f) {
    if (command.rotors() != vehicle.rotors()) {
      refuse("speeds", std::to_string(vehicle.rotors()) + " rotor speeds [rad/s]",
             command.speeds());
    }
    const auto row_of = [&](py::ssize_t row) {
      auto speeds = vehicle.state().rotor_speeds;
      const double* from = command.row(row);
      for (int i = 0; i < vehicle.rotors(); ++i) speeds[i] = from[i];
      return RotorSpeeds{speeds};
    };
    f(vehicle, row_of, command.rows());
  }

  template <class Vehicle>
  double checked_time_step(const Vehicle& vehicle, const py::object& dt) {
    const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
    if (seconds == checked_dt_) return seconds;
    const std::string warning =
        validate_time_step(vehicle.parameters(), vehicle.options().integrator, seconds);
    warn(warning);
    checked_dt_ = seconds;
    return seconds;
  }

  Variant vehicle_;
  double checked_dt_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

void bind_multicopter(py::module_& m) {
  using Self = PyMulticopter;
  m.attr("max_effectiveness") = max_effectiveness;
  py::class_<Self>(m, "Multicopter", "See propwash.Multicopter.")
      .def(py::init<const py::object&, const std::string&, std::uint64_t, std::uint32_t, bool>(),
           py::arg("parameters"), py::arg("integrator"), py::arg("seed"), py::arg("id"),
           py::arg("noise"))
      .def("step", &Self::step, py::arg("command"), py::arg("dt") = py::float_(1.0 / 960.0),
           py::kw_only(), py::arg("substeps") = py::int_(1),
           "Advances by `substeps` steps of dt [s] under a held command. dt is given per call; a "
           "Fleet has one from its construction.\n\n"
           "command: a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, "
           "TrajectoryCommand, or one row of a trajectories.Reference, which the geometric "
           "controller then follows. With RateThrust the rate controller runs at every step, on "
           "the gyroscope reading of the step before; rotor speeds are limited to the motors' "
           "range.\n"
           "Raises ValueError or TypeError for invalid arguments; the state is then unchanged. "
           "Warns where dt is too long for the motors. Ctrl-C stops between steps.")
      .def("_rollout", &Self::rollout, py::arg("command"), py::arg("dt"), py::arg("steps"),
           py::arg("substeps"))
      .def("_outer_loops", &Self::outer_loops)
      .def("_set_outer_loops", &Self::set_outer_loops, py::arg("values"))
      .def("_state", &Self::state)
      .def("_trim", &Self::trim)
      .def("_derivative", &Self::derivative)
      .def("_derivative_of", &Self::derivative_of, py::arg("fields"), py::arg("command"))
      .def("_steady", &Self::steady, py::arg("velocity"), py::arg("climb"), py::arg("yaw_rate"))
      .def("_set_state", &Self::set_state, py::arg("fields"))
      .def("_reset", &Self::reset, py::arg("fields"), py::arg("seed"))
      .def("_imu", &Self::imu)
      .def("snapshot", &Self::snapshot,
           "Everything that affects the future, as bytes: state, filters, integrators, biases, "
           "delays, time, and key and counter of the noise.")
      .def("restore", &Self::restore, py::arg("snapshot"),
           "Continues, bit for bit, from what snapshot() gave for the same vehicle.\n\n"
           "Raises ValueError for a snapshot of another kind of vehicle; nothing changes then.")
      .def_property_readonly(
          "time", [](const Self& s) { return s.visit([](auto& v) { return v.time(); }); },
          "s, since reset")
      .def_property_readonly(
          "steps", [](const Self& s) { return s.visit([](auto& v) { return v.steps(); }); },
          steps_meaning)
      .def_property_readonly(
          "seed", [](const Self& s) { return s.visit([](auto& v) { return v.options().seed; }); },
          seed_meaning)
      .def_property_readonly(
          "rotors", [](const Self& s) { return s.visit([](auto& v) { return v.rotors(); }); },
          "number of rotors")
      .def_property_readonly(
          "rotor_command",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array_of(v.rotor_command()); });
          },
          "(N,) rad/s, what the motors were driven to in the last step")
      .def_property_readonly(
          "accelerometer_bias",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array(v.imu_bias().accelerometer); });
          },
          "(3,) m/s^2, sensor axes")
      .def_property_readonly(
          "gyroscope_bias",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array(v.imu_bias().gyroscope); });
          },
          "(3,) rad/s, sensor axes")
      .def_property(
          "wind", [](const Self& s) { return s.visit([](auto& v) { return to_array(v.wind()); }); },
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
          py::arg("force_W"), py::arg("torque_B") = py::make_tuple(0.0, 0.0, 0.0),
          "Applies a force [N, world frame] at the centre of mass and a torque [N m, body frame] "
          "beside those of the model until they are changed; kept by reset().\n\n"
          "A payload, a tether, contact in a host simulator. The accelerometer measures them.\n"
          "Raises ValueError for anything but 3 finite numbers each; nothing changes then.")
      .def_property_readonly(
          "external_force",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array(v.external_force()); });
          },
          "(3,) N, world frame, set by set_external_wrench()")
      .def_property_readonly(
          "external_torque",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array(v.external_torque()); });
          },
          "(3,) N m, body frame, set by set_external_wrench()")
      .def_property(
          "rotor_effectiveness",
          [](const Self& s) {
            return s.visit([](auto& v) { return to_array_of(v.rotor_effectiveness()); });
          },
          [](Self& s, const py::object& value) { s.set_rotor_effectiveness(value); },
          "(N,) factors on the thrust and aerodynamic torque of each rotor, unknown to the "
          "controllers: 1 as in the parameters, 0 for a lost propeller; kept by reset()")
      .def_property(
          "battery_voltage",
          [](const Self& s) { return s.visit([](auto& v) { return v.battery_voltage(); }); },
          [](Self& s, const py::object& value) {
            const double voltage = finite_number(value, "battery_voltage", "a number >= 0 [V]");
            if (voltage < 0.0) refuse("battery_voltage", "a number >= 0 [V]", value);
            s.visit([&](auto& v) { v.set_battery_voltage(voltage); });
          },
          "V; without effect on a vehicle whose battery.nominal_voltage is 0");
}

}  // namespace propwash::bindings
