#pragma once
/// @file
/// Validation of parameters before the first step, and of dt whenever it changes.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "propwash/control/make_allocation.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/impl/contact_time.hpp"
#include "propwash/vehicle/impl/restart.hpp"
#include "propwash/vehicle/impl/violations.hpp"
#include "propwash/vehicle/make_model.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"
#include "propwash/vehicle/ranges.hpp"

namespace propwash {

namespace detail {

/// The name of number i of a field: "rotors[2].position[1]", "body.inertia[0][2]".
inline std::string element_name(const ConstFieldView& field, int i) {
  constexpr std::string_view rotors = "rotors.";
  const auto index = [](int k) { return "[" + std::to_string(k) + "]"; };
  const int column = i % field.columns;
  std::string text(field.name);
  if (field.name.substr(0, rotors.size()) == rotors) {
    text.insert(rotors.size() - 1, index(i / field.columns));
  }
  if (field.columns == 9 && field.shape.rank == 2) {
    return text + index(column / 3) + index(column % 3);
  }
  return field.columns > 1 ? text + index(column) : text;
}

inline bool is_accepted(Accepts accepts, double x) {
  if (accepts == Accepts::coupled) return true;
  if (accepts == Accepts::positive_or_infinite) return !is_nan(x) && x > 0.0;
  if (!is_finite(x) || accepts == Accepts::finite) return is_finite(x);
  return accepts == Accepts::positive ? x > 0.0 : x >= 0.0;
}

/// The text after "expected" for a field.
inline std::string expected_text(const FieldSchema& field) {
  std::string text = field.accepts == Accepts::finite         ? "a finite value"
                     : field.accepts == Accepts::not_negative ? "a finite value >= 0"
                     : field.accepts == Accepts::positive     ? "a finite value > 0"
                                                              : "a value > 0";
  if (*field.unit != 0) text += " " + std::string(field.unit);
  return field.accepts == Accepts::positive_or_infinite ? text + ", or inf" : text;
}

/// Adds every number that its field does not accept.
template <class Fields>
void check_fields(const Fields& fields, Violations& violations) {
  for (const ConstFieldView& field : fields) {
    for (int i = 0; i < field.size(); ++i) {
      const double x = field[i];
      if (!is_accepted(field.accepts, x)) {
        violations.add(element_name(field, i), x, expected_text(field));
      } else if (is_outside(x, field.smallest, field.largest)) {
        violations.add(element_name(field, i), x,
                       magnitude_range(field.smallest, field.largest, field.unit));
      }
    }
  }
}

/// Adds ratios between parameters that are out of range.
inline void check_ratios(const VehicleParameters& vehicle,
                         const Allocation<double, Dynamic>& allocation, Violations& violations) {
  for (const Ratio& ratio : vehicle_ratios(vehicle, allocation)) {
    if (!is_outside(ratio.value, ratio.smallest, ratio.largest)) continue;
    violations.add(
        ratio.name, ratio.value,
        magnitude_range(ratio.smallest, ratio.largest, ratio.unit) + "; see " + ratio.parameters);
  }
}

inline void check_inertia(const RigidBodyParameters<double>& body, Violations& violations) {
  const auto& inertia = body.inertia;
  const double size = frobenius_norm(inertia);
  if (!is_finite(size) || asymmetry(inertia) > 1e-9 * size) {
    violations.add("body.inertia", formatted(inertia),
                   "a symmetric matrix of finite values, kg m^2");
    return;
  }
  const auto principal = principal_values(inertia);
  const auto value = [&] {
    return formatted(Vec3<double>{principal[0], principal[1], principal[2]});
  };
  if (principal[0] <= 0.0) {
    violations.add("body.inertia, principal moments", value(), "values > 0 kg m^2");
  } else if (principal[2] > (principal[0] + principal[1]) * (1.0 + 1e-9)) {
    violations.add("body.inertia, principal moments", value(),
                   "no value larger than the sum of the other two");
  }
}

/// Adds an invalid number of rotors, and motor parameters that have neither one value nor one per
/// rotor.
template <class Fields>
void check_counts(const Fields& fields, std::size_t rotors, Violations& violations) {
  const auto number = static_cast<std::int64_t>(rotors);
  if (number < 1 || number > max_size) {
    violations.add("number of rotors", number, "1 to " + std::to_string(max_size));
  }
  for (const ConstFieldView& field : fields) {
    if (field.count == nullptr || *field.count == 1 || *field.count == number) continue;
    violations.add(std::string(field.name) + ", number of values",
                   *field.count > 0 ? std::to_string(*field.count)
                                    : "0 or more than " + std::to_string(max_size),
                   "1, or " + std::to_string(rotors) + ", one per rotor");
  }
}

inline void check_rotors(const VehicleParameters& vehicle, Violations& violations) {
  for (std::size_t i = 0; i < vehicle.rotors.size(); ++i) {
    const auto& rotor = vehicle.rotors[i];
    const auto name = [i] { return "rotors[" + std::to_string(i) + "]"; };
    if (!is_finite(rotor.axis) || std::abs(norm(rotor.axis) - 1.0) >= 1e-6) {
      violations.add(name() + ".axis", formatted(rotor.axis), "a unit vector");
    }
    if (!is_finite(rotor.spin) || std::abs(rotor.spin) != 1.0) {
      violations.add(name() + ".spin", rotor.spin, "+1 (counter-clockwise) or -1 (clockwise)");
    }
  }
}

inline void check_speeds(const MotorParameters<double>& motor, Violations& violations) {
  const auto& minimum = motor.speed_min;
  const auto& maximum = motor.speed_max;
  const int compared = static_cast<int>(std::max(minimum.count, maximum.count));
  for (int i = 0; i < compared; ++i) {
    if (!is_finite(maximum[i]) || maximum[i] <= 0.0) continue;  // reported by check_fields
    if (is_finite(minimum[i]) && minimum[i] < maximum[i]) continue;
    violations.add(
        compared == 1 ? "motor.speed_min" : "motor.speed_min[" + std::to_string(i) + "]",
        minimum[i],
        "a finite value less than motor.speed_max = " + formatted(maximum[i]) + " rad/s");
  }
}

/// Detects other frame conventions: thrust along -z of the body (FRD), or gravity along +z of the
/// world (NED). Gravity in any other direction is accepted.
inline void check_convention(const VehicleParameters& vehicle, double lift,
                             Violations& violations) {
  const auto& gravity = vehicle.body.gravity;
  const bool is_frd = lift < 0.0;
  const bool is_ned = gravity.x == 0.0 && gravity.y == 0.0 && gravity.z > 0.0;
  const std::string convert =
      "; convert a vehicle in forward-right-down axes and a north-east-down world with "
      "ned_frd_to_enu_flu of propwash/vehicle/frames.hpp, in Python with "
      "propwash.frames.vehicle_ned_frd_to_enu_flu";
  if (is_frd) {
    violations.add("total thrust along body z at motor.speed_max", lift,
                   "a value > 0 N, because body z points up" + convert);
  }
  if (is_ned) {
    violations.add("body.gravity[2]", gravity.z,
                   "a value <= 0 m/s^2, because world z points up" +
                       (is_frd ? convert : "; convert gravity with ned_to_enu"));
  }
}

/// Checks that thrust exceeds weight and that the rotors can hover in level attitude.
inline void check_thrust(const VehicleParameters& vehicle,
                         const Allocation<double, Dynamic>& allocation, Violations& violations) {
  double lift = 0.0;
  int index = 0;
  for (const auto& rotor : vehicle.rotors) {
    lift += rotor_thrust(rotor, vehicle.motor.speed_max[index++]) * rotor.axis.z;
  }
  const auto count = violations.texts.size();
  check_convention(vehicle, lift, violations);
  if (violations.texts.size() > count) return;
  const double weight = weight_of(vehicle.body);
  if (is_nan(lift) || is_nan(weight) || lift <= weight) {
    violations.add("total thrust at motor.speed_max", lift,
                   "more than the weight, " + formatted(weight) +
                       " N; check body.mass, rotors.thrust_coefficient and motor.speed_max");
    return;
  }
  if (allocation.rank < 4 || weight == 0.0) return;
  const auto hover = attained_wrench(allocation, allocate(allocation, Wrench<double>{{}, weight}));
  double lever_arm = 0.0;
  for (const auto& rotor : vehicle.rotors) lever_arm = std::max(lever_arm, norm(rotor.position));
  if (norm(hover.torque_B) > 1e-6 * weight * lever_arm ||
      std::abs(hover.thrust - weight) > 1e-6 * weight) {
    violations.add("torque in hover = " + formatted(hover.torque_B) + " N m, thrust in hover",
                   hover.thrust,
                   "zero torque and the weight, " + formatted(weight) +
                       " N, at speeds from motor.speed_min to motor.speed_max; check that the "
                       "centre of mass is between the rotors");
  }
}

inline void check_drag(const DragParameters<double>& drag, Violations& violations) {
  const double size = frobenius_norm(drag.rotational);
  if (!is_finite(size) || principal_values(drag.rotational)[0] < -1e-12 * size) {
    violations.add("drag.rotational", formatted(drag.rotational),
                   "a positive semi-definite matrix N m/(rad/s)^2");
  }
}

inline void check_attitude(const ImuParameters<double>& imu, Violations& violations) {
  if (is_finite(imu.attitude) && std::abs(squared_norm(imu.attitude) - 1.0) < 1e-6) return;
  violations.add("imu.attitude, squared norm", squared_norm(imu.attitude), "a unit quaternion");
}

/// Checks that a battery circuit is complete; without cells it is off.
inline void check_battery(const BatteryParameters<double>& battery, Violations& violations) {
  const double cells = battery.cells;
  if (std::floor(cells) != cells) violations.add("battery.cells", cells, "a whole number");
  if (cells <= 0.0) return;
  const std::string with = ", as battery.cells = " + formatted(cells);
  const auto require = [&](const char* name, double value, const char* expected) {
    if (value <= 0.0) violations.add(name, value, expected + with);
  };
  require("battery.capacity", battery.capacity, "a value > 0 A h");
  require("battery.full_voltage", battery.full_voltage, "4 to 4.5 V, 4.2 for lithium polymer");
  require("battery.efficiency", battery.efficiency, "a value > 0");
  if (!is_within(battery.nominal_voltage, 2.0 * cells, 5.0 * cells)) {
    violations.add("battery.nominal_voltage", battery.nominal_voltage,
                   "2 to 5 V for each cell" + with);
  }
}

/// Checks that a residual has a domain.
inline void check_residual(const VehicleParameters& vehicle, Violations& violations) {
  if (!has_residual(vehicle)) return;
  for (const auto name :
       {"residual.velocity", "residual.rates", "residual.thrust", "residual.torque"}) {
    const ConstFieldView field = *find_field(vehicle, name);
    for (int i = 0; i < field.size(); ++i) {
      if (field[i] > 0.0) continue;
      violations.add(element_name(field, i), field[i],
                     "a value > 0 " + std::string(field.unit) +
                         ", the semi-axis of the domain, as [residual] has coefficients");
    }
  }
}

inline Violations violations_of(const ImuParameters<double>& imu) {
  Violations violations;
  check_fields(fields(imu), violations);
  check_attitude(imu, violations);
  return violations;
}

template <class = void>  // a template so that propwash::static compiles it once
Violations violations_of(const VehicleParameters& vehicle) {
  Violations violations;
  const auto all = fields(vehicle);
  check_counts(all, vehicle.rotors.size(), violations);
  if (!violations.empty()) return violations;  // the fields of some rotors are missing
  check_fields(all, violations);
  check_inertia(vehicle.body, violations);
  check_rotors(vehicle, violations);
  check_speeds(vehicle.motor, violations);
  check_drag(vehicle.drag, violations);
  check_attitude(vehicle.imu, violations);
  if (!violations.empty()) return violations;
  check_battery(vehicle.battery, violations);
  check_residual(vehicle, violations);
  const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  check_thrust(vehicle, allocation, violations);
  if (violations.empty()) check_ratios(vehicle, allocation, violations);
  return violations;
}

inline Violations violations_of(const CarParameters& car) {
  Violations violations;
  if (!is_finite(car.speed_min) || !is_finite(car.speed_max) || car.speed_min > car.speed_max) {
    violations.add("speed_min", car.speed_min,
                   "at most speed_max = " + formatted(car.speed_max) + " m/s");
  }
  check_fields(fields(car), violations);
  return violations;
}

/// validate() for vehicle number i of a fleet; the message starts with the number.
template <class Vehicle>
void validate_one(const Vehicle& vehicle, std::size_t i) {
  violations_of(vehicle).throw_if_any("vehicle " + std::to_string(i) + ": " + quoted(vehicle.name));
}

}  // namespace detail

/// Checks every field (fields.hpp), inertia (symmetric, positive definite, triangle inequality),
/// thrust against weight, drag, and ratios between parameters (ranges.hpp).
/// @throws ParameterError that lists every violation.
inline void validate(const VehicleParameters& vehicle) {
  detail::violations_of(vehicle).throw_if_any(detail::quoted(vehicle.name));
}

/// @throws ParameterError that lists every field out of range.
inline void validate(const ImuParameters<double>& imu) {
  detail::violations_of(imu).throw_if_any("inertial sensor");
}

/// @throws ParameterError that lists every field out of range.
inline void validate(const CarParameters& car) {
  detail::violations_of(car).throw_if_any(detail::quoted(car.name));
}

/// Checks that torque on three axes and thrust can be commanded independently.
/// @throws ParameterError if the rank of the allocation matrix (23) is below four.
inline void validate_allocation(const VehicleParameters& vehicle) {
  const int rank = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor).rank;
  if (rank == 4) return;
  detail::Violations violations;
  violations.add("rank of the allocation matrix", rank,
                 std::string("4, so that torque on three axes and thrust can be commanded; command "
                             "RotorSpeeds, or ") +
                     (vehicle.rotors.size() < 4 ? "use at least four rotors"
                                                : "change positions, spins or axes of the rotors"));
  violations.throw_if_any(detail::quoted(vehicle.name));
}

/// Checks the vehicle that the controllers of `vehicle` assume.
/// @throws ParameterError for invalid parameters, or another number of rotors.
inline void validate_control_vehicle(const VehicleParameters& control,
                                     const VehicleParameters& vehicle) {
  validate(control);
  if (control.rotors.size() == vehicle.rotors.size()) return;
  PROPWASH_THROW(ParameterError("control_vehicle '" + control.name + "': number of rotors = " +
                                std::to_string(control.rotors.size()) + ": expected " +
                                std::to_string(vehicle.rotors.size()) + ", as of the vehicle"));
}

namespace detail {

/// Refuses to set the voltage of a vehicle with a battery circuit, or the charge of one without.
[[noreturn]] inline void refuse_battery(const VehicleParameters& vehicle) {
  const std::string cells = "battery.cells = " + formatted(vehicle.battery.cells);
  PROPWASH_THROW(std::invalid_argument(
      vehicle.battery.cells > 0.0
          ? "battery voltage: the battery circuit computes it, as " + cells +
                "; set the state of charge, or battery.cells to 0"
          : "state of charge: expected a vehicle with a battery circuit, got " + cells +
                "; set the fields of [battery]"));
}

/// @throws std::invalid_argument if the number of rotor speeds is not the number of rotors.
inline void require_rotors(int count, int rotors) {
  if (count == rotors) return;
  PROPWASH_THROW(std::invalid_argument("number of rotor speeds = " + std::to_string(count) +
                                       ": expected " + std::to_string(rotors)));
}

/// unit_attitude().
/// @throws std::invalid_argument if it is zero or not finite.
template <class T>
Quat<T> checked_attitude(const Quat<T>& q, const char* name) {
  const T zero{};
  if (!is_finite(q) || (q.w == zero && q.x == zero && q.y == zero && q.z == zero)) {
    PROPWASH_THROW(std::invalid_argument(std::string(name) + " = " + formatted(cast<double>(q)) +
                                         ": expected finite numbers, not all zero"));
  }
  return unit_attitude(q);
}

/// @throws std::invalid_argument if any of `count` numbers is not finite.
template <class T>
void check_finite(const T* numbers, int count, const char* name) {
  for (int i = 0; i < count; ++i) {
    if (is_finite(numbers[i])) continue;
    PROPWASH_THROW(std::invalid_argument(std::string(name) + "[" + std::to_string(i) +
                                         "] = " + formatted(static_cast<double>(numbers[i])) +
                                         ": expected a finite number"));
  }
}

}  // namespace detail

/// The state with a normalised attitude.
/// @throws std::invalid_argument if a number is not finite or the attitude is zero.
template <class T, int N>
MulticopterState<T, N> checked(const MulticopterState<T, N>& state) {
  detail::check_finite(&state.position.x, 3, "position");
  detail::check_finite(&state.velocity.x, 3, "velocity");
  detail::check_finite(&state.body_rates.x, 3, "body_rates");
  detail::check_finite(state.rotor_speeds.begin(), state.rotor_speeds.size(), "rotor_speeds");
  MulticopterState<T, N> result = state;
  result.attitude = detail::checked_attitude(state.attitude, "attitude");
  return result;
}

/// The shortest accepted step [s]; shorter ones are below the resolution of time.
inline constexpr double min_time_step = 1e-9;

/// A warning if dt [s] is too long for an explicit integrator to follow motors and contact with the
/// shortest time constant `time_constant` [s]; else an empty text.
inline std::string time_step_warning(double time_constant, Integrator integrator, double dt) {
  const double limit = integrator == Integrator::rk4 ? 2.78 * time_constant : time_constant;
  if (dt <= limit * (1.0 + 1e-6)) return {};
  std::ostringstream warning;  // six digits: the constants may be floats
  warning << "dt = " << dt << " s is larger than " << limit
          << " s, the limit for the contact or motor time constant of " << time_constant
          << " s: the simulation will oscillate or diverge; reduce dt";
  return warning.str();
}

/// The shortest time constant [s] of the motors and of the contact with the ground, if any.
inline double shortest_time_constant(const VehicleParameters& vehicle) {
  const auto& motor = vehicle.motor;
  const double fastest = std::min(min_of(motor.time_constant_up), min_of(motor.time_constant_down));
  return std::min(fastest, detail::contact_time_constant(vehicle));
}

/// Checks a time step [s] and returns time_step_warning.
/// @throws ParameterError if dt is not finite, below min_time_step, or so short that the command
/// delay exceeds max_delay_steps.
inline std::string validate_time_step(const VehicleParameters& vehicle, Integrator integrator,
                                      double dt) {
  using detail::formatted;
  if (!is_finite(dt) || dt < min_time_step) {
    PROPWASH_THROW(ParameterError("dt = " + formatted(dt) + ": expected a finite value >= " +
                                  formatted(min_time_step) + " s"));
  }
  const double delay = vehicle.motor.command_delay;
  if (delay > max_delay_steps * dt) {
    PROPWASH_THROW(ParameterError("motor.command_delay = " + formatted(delay) +
                                  ": expected at most " + formatted(max_delay_steps * dt) + " s, " +
                                  std::to_string(max_delay_steps) + " steps of dt"));
  }
  return time_step_warning(shortest_time_constant(vehicle), integrator, dt);
}

#if defined(PROPWASH_STATIC)  // instantiated in src/vehicle.cpp
extern template detail::Violations detail::violations_of<void>(const VehicleParameters&);
#endif

}  // namespace propwash
