#pragma once
/// @file
/// Validation at the edge, once, before the first step. A step asks again only for a new dt.

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
#include "propwash/vehicle/impl/complaints.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"
#include "propwash/vehicle/ranges.hpp"

namespace propwash {

namespace detail {

/// "rotors[2].position[1]", "body.inertia[0][2]": number i of a field.
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

inline std::string expected_of(const FieldSchema& field) {
  std::string text = field.accepts == Accepts::finite         ? "a number"
                     : field.accepts == Accepts::not_negative ? "a finite value >= 0"
                     : field.accepts == Accepts::positive     ? "a finite value > 0"
                                                              : "a value > 0";
  if (*field.unit != 0) text += " " + std::string(field.unit);
  return field.accepts == Accepts::positive_or_infinite ? text + ", or inf" : text;
}

/// Complains of every number that its field does not accept.
template <class Fields>
void check_fields(const Fields& fields, Complaints& complaints) {
  for (const ConstFieldView& field : fields) {
    for (int i = 0; i < field.size(); ++i) {
      const double x = field[i];
      if (!is_accepted(field.accepts, x)) {
        complaints.add(element_name(field, i), x, expected_of(field));
      } else if (is_outside(x, field.smallest, field.largest)) {
        complaints.add(element_name(field, i), x,
                       magnitudes(field.smallest, field.largest, field.unit));
      }
    }
  }
}

/// Complains of ratios between parameters that are outside their ranges.
inline void check_ratios(const VehicleParameters& vehicle,
                         const Allocation<double, Dynamic>& allocation, Complaints& complaints) {
  for (const Ratio& ratio : vehicle_ratios(vehicle, allocation)) {
    if (!is_outside(ratio.value, ratio.smallest, ratio.largest)) continue;
    complaints.add(
        ratio.name, ratio.value,
        magnitudes(ratio.smallest, ratio.largest, ratio.unit) + "; see " + ratio.parameters);
  }
}

inline void check_inertia(const RigidBodyParameters<double>& body, Complaints& complaints) {
  const auto& inertia = body.inertia;
  if (!is_finite(size_of(inertia)) || skew_of(inertia) > 1e-9 * size_of(inertia)) {
    complaints.add("body.inertia", formatted(inertia), "a symmetric matrix kg m^2");
    return;
  }
  const auto principal = principal_values(inertia);
  const auto value = [&] {
    return formatted(Vec3<double>{principal[0], principal[1], principal[2]});
  };
  if (principal[0] <= 0.0) {
    complaints.add("body.inertia, principal moments", value(), "all > 0 kg m^2");
  } else if (principal[2] > (principal[0] + principal[1]) * (1.0 + 1e-9)) {
    complaints.add("body.inertia, principal moments", value(),
                   "that none exceeds the sum of the other two: no body has such an inertia");
  }
}

/// Complains of too few or too many rotors, and of parameters of the motors that are neither one
/// number nor one for each rotor.
template <class Fields>
void check_counts(const Fields& fields, std::size_t rotors, Complaints& complaints) {
  const auto number = static_cast<std::int64_t>(rotors);
  if (number < 1 || number > max_size) {
    complaints.add("rotors, their number", number, "1 to " + std::to_string(max_size));
  }
  for (const ConstFieldView& field : fields) {
    if (field.count == nullptr || *field.count == 1 || *field.count == number) continue;
    complaints.add(std::string(field.name) + ", their number",
                   *field.count > 0 ? std::to_string(*field.count)
                                    : "0 or more than " + std::to_string(max_size),
                   "1, or " + std::to_string(rotors) + ", one for each rotor");
  }
}

inline void check_rotors(const VehicleParameters& vehicle, Complaints& complaints) {
  for (std::size_t i = 0; i < vehicle.rotors.size(); ++i) {
    const auto& rotor = vehicle.rotors[i];
    const auto name = [i] { return "rotors[" + std::to_string(i) + "]"; };
    if (!is_finite(rotor.axis) || std::abs(norm(rotor.axis) - 1.0) >= 1e-6) {
      complaints.add(name() + ".axis", formatted(rotor.axis), "a unit vector");
    }
    if (!is_finite(rotor.spin) || std::abs(rotor.spin) != 1.0) {
      complaints.add(name() + ".spin", rotor.spin, "+1 (counter-clockwise) or -1 (clockwise)");
    }
  }
}

inline void check_speeds(const MotorParameters<double>& motor, Complaints& complaints) {
  const auto& minimum = motor.speed_min;
  const auto& maximum = motor.speed_max;
  const int compared = static_cast<int>(std::max(minimum.count, maximum.count));
  for (int i = 0; i < compared; ++i) {
    if (!is_finite(maximum[i]) || maximum[i] <= 0.0) continue;  // said already
    if (is_finite(minimum[i]) && minimum[i] < maximum[i]) continue;
    complaints.add(
        compared == 1 ? "motor.speed_min" : "motor.speed_min[" + std::to_string(i) + "]",
        minimum[i],
        "a finite value less than motor.speed_max = " + formatted(maximum[i]) + " rad/s");
  }
}

/// Whether the vehicle is one of another convention: thrust along -z of the body, or gravity along
/// +z of the world. Gravity in any other direction is a rotated world's.
inline void check_up(const VehicleParameters& vehicle, double lift, Complaints& complaints) {
  const auto& gravity = vehicle.body.gravity;
  const bool is_frd = lift < 0.0;
  const bool is_ned = gravity.x == 0.0 && gravity.y == 0.0 && gravity.z > 0.0;
  const std::string convert =
      "; convert a vehicle of forward-right-down axes in a north-east-down world with "
      "ned_frd_to_enu_flu of propwash/vehicle/frames.hpp, in Python with "
      "propwash.frames.vehicle_ned_frd_to_enu_flu";
  if (is_frd) {
    complaints.add("rotors, their thrust along body z at motor.speed_max", lift,
                   "more than 0 N, as body z points up" + convert);
  }
  if (is_ned) {
    complaints.add("body.gravity[2]", gravity.z,
                   "a value <= 0 m/s^2, as the world's z points up" +
                       (is_frd ? convert : "; convert gravity with ned_to_enu"));
  }
}

/// The thrust at full speed against the weight that it must hold, and whether it holds it upright.
inline void check_thrust(const VehicleParameters& vehicle,
                         const Allocation<double, Dynamic>& allocation, Complaints& complaints) {
  double lift = 0.0;
  int index = 0;
  for (const auto& rotor : vehicle.rotors) {
    lift += rotor_thrust(rotor, vehicle.motor.speed_max[index++]) * rotor.axis.z;
  }
  const auto before = complaints.texts.size();
  check_up(vehicle, lift, complaints);
  if (complaints.texts.size() > before) return;
  const double weight = weight_of(vehicle.body);
  if (is_nan(lift) || is_nan(weight) || lift <= weight) {
    complaints.add("rotors, their thrust at motor.speed_max", lift,
                   "more than the weight, " + formatted(weight) +
                       " N; see body.mass, rotor.thrust_coefficient and motor.speed_max");
    return;
  }
  if (allocation.rank < 4 || weight == 0.0) return;
  const auto hover = attained_wrench(allocation, allocate(allocation, Wrench<double>{{}, weight}));
  double reach = 0.0;
  for (const auto& rotor : vehicle.rotors) reach = std::max(reach, norm(rotor.position));
  if (norm(hover.torque_B) > 1e-6 * weight * reach ||
      std::abs(hover.thrust - weight) > 1e-6 * weight) {
    complaints.add("rotors, torque " + formatted(hover.torque_B) + " N m and thrust in hover",
                   hover.thrust,
                   "no torque and the weight, " + formatted(weight) +
                       " N, each rotor between motor.speed_min and motor.speed_max; is the centre "
                       "of mass between the rotors?");
  }
}

inline void check_drag(const DragParameters<double>& drag, Complaints& complaints) {
  const double size = size_of(drag.rotational);
  if (!is_finite(size) || principal_values(drag.rotational)[0] < -1e-12 * size) {
    complaints.add("drag.rotational", formatted(drag.rotational),
                   "a positive semi-definite matrix N m/(rad/s)^2");
  }
}

inline void check_attitude(const ImuParameters<double>& imu, Complaints& complaints) {
  if (is_finite(imu.attitude) && std::abs(squared_norm(imu.attitude) - 1.0) < 1e-6) return;
  complaints.add("imu.attitude, squared norm", squared_norm(imu.attitude), "a unit quaternion");
}

inline Complaints complaints_of(const ImuParameters<double>& imu) {
  Complaints complaints;
  check_fields(fields(imu), complaints);
  check_attitude(imu, complaints);
  return complaints;
}

inline Complaints complaints_of(const VehicleParameters& vehicle) {
  Complaints complaints;
  const auto all = fields(vehicle);
  check_counts(all, vehicle.rotors.size(), complaints);
  if (!complaints.texts.empty()) return complaints;  // fields have no number for some rotor
  check_fields(all, complaints);
  check_inertia(vehicle.body, complaints);
  check_rotors(vehicle, complaints);
  check_speeds(vehicle.motor, complaints);
  check_drag(vehicle.drag, complaints);
  check_attitude(vehicle.imu, complaints);
  if (!complaints.texts.empty()) return complaints;
  const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  check_thrust(vehicle, allocation, complaints);
  if (complaints.texts.empty()) check_ratios(vehicle, allocation, complaints);
  return complaints;
}

inline Complaints complaints_of(const CarParameters& car) {
  Complaints complaints;
  if (!is_finite(car.speed_min) || !is_finite(car.speed_max) || car.speed_min > car.speed_max) {
    complaints.add("speed_min", car.speed_min,
                   "at most speed_max = " + formatted(car.speed_max) + " m/s");
  }
  check_fields(fields(car), complaints);
  return complaints;
}

/// validate() of vehicle number i of many: the message starts with the number.
template <class Vehicle>
void validate_one(const Vehicle& vehicle, std::size_t i) {
  const auto complaints = complaints_of(vehicle);
  if (complaints.texts.empty()) return;
  refuse(vehicle.name, complaints.texts, "vehicle " + std::to_string(i) + ": ");
}

}  // namespace detail

/// Throws ParameterError that lists every field out of its range (fields.hpp), and what does not
/// fit together: inertia (symmetric, positive definite, triangle inequality), thrust against
/// weight, drag, and ratios between parameters (ranges.hpp).
inline void validate(const VehicleParameters& vehicle) {
  const auto complaints = detail::complaints_of(vehicle);
  if (!complaints.texts.empty()) detail::refuse(vehicle.name, complaints.texts);
}

/// Throws ParameterError that lists every field out of its range.
inline void validate(const ImuParameters<double>& imu) {
  const auto complaints = detail::complaints_of(imu);
  if (!complaints.texts.empty()) detail::refuse_subject("inertial sensor", complaints.texts);
}

/// Throws ParameterError that lists every field out of its range.
inline void validate(const CarParameters& car) {
  const auto complaints = detail::complaints_of(car);
  if (!complaints.texts.empty()) detail::refuse(car.name, complaints.texts);
}

/// Whether body rates and thrust can all be commanded: throws ParameterError where the rotors'
/// geometry leaves the allocation matrix (23) with a rank below four.
inline void validate_allocation(const VehicleParameters& vehicle) {
  const int rank = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor).rank;
  if (rank == 4) return;
  detail::Complaints complaints;
  complaints.add("rotors, rank of their allocation matrix", rank,
                 std::string("4, so that torque on three axes and thrust can be commanded; command "
                             "RotorSpeeds, or ") +
                     (vehicle.rotors.size() < 4 ? "add rotors: fewer than four cannot"
                                                : "change the rotors' positions, spins or axes"));
  detail::refuse(vehicle.name, complaints.texts);
}

namespace detail {

/// @throws std::invalid_argument for another number of rotor speeds than that of the rotors.
inline void require_rotors(int count, int rotors) {
  if (count == rotors) return;
  PROPWASH_THROW(std::invalid_argument("rotor speeds, their number = " + std::to_string(count) +
                                       ": expected " + std::to_string(rotors)));
}

/// The quaternion in unit length, with its own bits where it is that already but for rounding.
/// @throws std::invalid_argument for zero, or numbers that are not finite.
template <class T>
Quat<T> checked_attitude(const Quat<T>& q, const char* name) {
  // scaled by the largest component, the others neither overflow nor vanish
  const Quat<double> wide = cast<double>(q);
  const double largest = std::max(std::max(std::abs(wide.w), std::abs(wide.x)),
                                  std::max(std::abs(wide.y), std::abs(wide.z)));
  if (!is_finite(q) || largest <= 0.0) {
    PROPWASH_THROW(std::invalid_argument(std::string(name) + " = " + formatted(wide) +
                                         ": expected finite numbers that are not all zero"));
  }
  const Quat<double> scaled{wide.w / largest, wide.x / largest, wide.y / largest, wide.z / largest};
  const double norm = std::sqrt(squared_norm(scaled));
  if (std::abs(largest * norm - 1.0) <= 4.0 * std::numeric_limits<T>::epsilon()) return q;
  return cast<T>(scaled * (1.0 / norm));
}

/// @throws std::invalid_argument where one of `count` numbers is not finite.
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

/// A state as a step expects it: finite numbers, the attitude of unit length.
/// @throws std::invalid_argument for a number that is not finite, or an attitude of zero.
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

/// s, the shortest step: shorter ones are beyond the resolution of time and of noise.
inline constexpr double min_time_step = 1e-9;

/// Why steps of dt [s] are too long for motors whose shortest time constant is `fastest` [s], or an
/// empty text: an explicit method then does not follow the motors' lag.
inline std::string time_step_warning(double fastest, Integrator integrator, double dt) {
  const double limit = integrator == Integrator::rk4 ? 2.78 * fastest : fastest;
  if (dt <= limit * (1.0 + 1e-6)) return {};
  std::ostringstream warning;
  warning << "dt = " << dt << " s is larger than " << limit
          << " s, what the motor time constant of " << fastest
          << " s allows: the rotor speeds will oscillate or diverge; take a shorter dt";
  return warning.str();
}

/// s, the shortest time constant of a vehicle's motors.
inline double fastest_motor(const MotorParameters<double>& motor) {
  return std::min(min_of(motor.time_constant_up), min_of(motor.time_constant_down));
}

/// Throws ParameterError where dt [s] is not a number from min_time_step on, or too short for the
/// memory of the command delay. Returns time_step_warning.
inline std::string validate_time_step(const VehicleParameters& vehicle, Integrator integrator,
                                      double dt) {
  if (!is_finite(dt) || dt < min_time_step) {
    std::ostringstream text;
    text << "dt = " << dt << ": expected a finite value >= " << min_time_step << " s";
    PROPWASH_THROW(ParameterError(text.str()));
  }
  if (vehicle.motor.command_delay > max_delay_steps * dt) {
    std::ostringstream text;
    text << "motor.command_delay = " << vehicle.motor.command_delay << ": expected at most "
         << max_delay_steps << " steps of dt = " << dt << " s, " << max_delay_steps * dt << " s";
    PROPWASH_THROW(ParameterError(text.str()));
  }
  return time_step_warning(fastest_motor(vehicle.motor), integrator, dt);
}

}  // namespace propwash
