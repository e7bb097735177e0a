#pragma once
/// @file
/// Linear models of any vehicle about a state and a command; see vehicle/custom_vehicle.hpp for
/// what it supplies, and vehicle/linearize.hpp for multicopters.

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "propwash/math/dual.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/vehicle/custom_vehicle.hpp"
#include "propwash/vehicle/linearize.hpp"

namespace propwash {

namespace detail {

/// A number of a state, or its attitude of four numbers; and its first degree of freedom.
struct StatePart {
  bool is_attitude;
  std::size_t first;
  int column;
};

template <class X>
inline constexpr bool is_quat = false;
template <class T>
inline constexpr bool is_quat<Quat<T>> = true;

/// Appends the parts of x; `first` and `column` are those of the next one.
template <class X>
void append_parts(X& x, std::vector<StatePart>& parts, std::size_t& first, int& column) {
  const auto append = [&](bool is_attitude) {
    parts.push_back({is_attitude, first, column});
    first += is_attitude ? 4 : 1;
    column += is_attitude ? 3 : 1;
  };
  if constexpr (is_quat<X>) {
    append(true);
  } else if constexpr (std::is_array_v<X>) {
    for (auto& element : x) append_parts(element, parts, first, column);
  } else if constexpr (HasMembers<X>::value) {
    X::members(x, [&](auto&... members) { (append_parts(members, parts, first, column), ...); });
  } else {  // a number, or a SmallArray
    for_each_number(x, [&](const auto&) { append(false); });
  }
}

template <class X>
std::vector<double> numbers_of(const X& x) {
  std::vector<double> numbers;
  for_each_number(x, [&](double number) { numbers.push_back(number); });
  return numbers;
}

/// A struct of dual numbers with one variable, from values and derivatives.
template <class X>
X seeded(const std::vector<double>& values, const std::vector<double>& partials) {
  X x{};
  std::size_t i = 0;
  for_each_number(x, [&](Dual<double, 1>& number) {
    number.value = values[i];
    number.partials[0] = partials[i++];
  });
  return x;
}

inline Quat<double> quat_at(const std::vector<double>& numbers, std::size_t first) {
  return {numbers[first], numbers[first + 1], numbers[first + 2], numbers[first + 3]};
}

}  // namespace detail

/// The linear model of a vehicle, without noise, about a `state` with normalised attitudes and a
/// `command`. Its states and inputs
/// are the numbers of State and Command in the order of their members, except that a Quat of the
/// state is a rotation vector of three [rad, body axes], as in vehicle/linearize.hpp. Its outputs
/// are its states.
///
///     LinearModel model = linearize<Glider>(parameters, trimmed, command);
///
/// @throws std::invalid_argument for symplectic_euler, or for a continuous model of a vehicle that
/// has a tick and no derivative; ParameterError for a dt that is not > 0 s, and of
/// Vehicle::constants().
template <class Vehicle>
LinearModel linearize(const typename Vehicle::Parameters& parameters,
                      const typename Vehicle::template State<double>& state,
                      const typename Vehicle::template Command<double>& command,
                      const LinearizeOptions& options = {}) {
  using Number = Dual<double, 1>;
  using State = typename Vehicle::template State<Number>;
  using Command = typename Vehicle::template Command<Number>;
  if (options.integrator == Integrator::symplectic_euler) {
    PROPWASH_THROW(std::invalid_argument("integrator = symplectic_euler: expected rk4 or euler"));
  }
  if (!detail::has_derivative<Vehicle>() && !options.discrete) {
    PROPWASH_THROW(
        std::invalid_argument("options.discrete = false: expected true for a vehicle that has a "
                              "tick and no derivative; set discrete and dt"));
  }
  if (options.discrete) detail::check_dt<double>(options.dt);
  const auto constants = Vehicle::constants(parameters, options.dt);
  const auto method = [&](const auto& f, const auto& x, double dt) {
    return options.integrator == Integrator::euler ? Euler{}(f, x, dt) : Rk4{}(f, x, dt);
  };
  // the next state, or the time derivative
  const auto evaluate = [&](const State& x, const Command& u) -> State {
    if constexpr (detail::has_derivative<Vehicle>()) {
      if (!options.discrete) return constants.derivative(x, u);
    }
    return vehicle_step<Vehicle>(method, constants, x, u, QuietHost<Number>{}, options.dt);
  };

  std::vector<detail::StatePart> parts;
  std::size_t width = 0;
  int states = 0;
  State layout{};
  detail::append_parts(layout, parts, width, states);
  const std::vector<double> x = detail::numbers_of(state), u = detail::numbers_of(command);
  const int inputs = static_cast<int>(u.size());
  LinearModel model;
  model.A = Eigen::MatrixXd(states, states);
  model.B = Eigen::MatrixXd(states, inputs);
  model.C = Eigen::MatrixXd::Identity(states, states);
  model.D = Eigen::MatrixXd::Zero(states, inputs);
  model.drift = Eigen::VectorXd(states);

  // column of the Jacobian for derivatives of state and command
  const auto column_of = [&](const std::vector<double>& of_state,
                             const std::vector<double>& of_command) {
    const State y =
        evaluate(detail::seeded<State>(x, of_state), detail::seeded<Command>(u, of_command));
    std::vector<double> values, partials;
    for_each_number(y, [&](const Number& number) {
      values.push_back(number.value);
      partials.push_back(number.partials[0]);
    });
    Eigen::VectorXd column(states);
    for (const auto& [is_attitude, first, row] : parts) {
      if (!is_attitude) {
        column(row) = partials[first];
        model.drift(row) = values[first] - (options.discrete ? x[first] : 0.0);
        continue;
      }
      const Quat<double> q = detail::quat_at(x, first), y_q = detail::quat_at(values, first),
                         change = detail::quat_at(partials, first);
      Vec3<double> rotation = detail::tangent(options.discrete ? y_q : q, change);
      Vec3<double> drift = detail::tangent(q, y_q);
      if (options.discrete) {
        drift = detail::rotation_between(q, y_q);
      } else {
        // the rotation vector is in the nominal body frame, which rotates
        const auto theta = conjugate(q) * detail::quat_at(of_state, first);
        const auto transport = (conjugate(q) * y_q) * theta;
        rotation = rotation - Vec3<double>{transport.x, transport.y, transport.z} * 2.0;
      }
      column.segment<3>(row) = to_eigen(rotation);
      model.drift.segment<3>(row) = to_eigen(drift);
    }
    return column;
  };
  const std::vector<double> fixed_state(width), fixed_command(u.size());
  for (const auto& [is_attitude, first, column] : parts) {
    std::vector<double> direction = fixed_state;
    if (!is_attitude) {
      direction[first] = 1.0;
      model.A.col(column) = column_of(direction, fixed_command);
      continue;
    }
    for (int axis = 0; axis < 3; ++axis) {
      Vec3<double> half{};
      half[axis] = 0.5;
      const Quat<double> change = detail::quat_at(x, first) * half;
      const double numbers[] = {change.w, change.x, change.y, change.z};
      // compilers warn of a write beyond the state where it is shorter than a quaternion
      if constexpr (state_width<Vehicle> >= 4) std::copy_n(numbers, 4, &direction[first]);
      model.A.col(column + axis) = column_of(direction, fixed_command);
    }
  }
  for (int i = 0; i < inputs; ++i) {
    std::vector<double> direction = fixed_command;
    direction[static_cast<std::size_t>(i)] = 1.0;
    model.B.col(i) = column_of(fixed_state, direction);
  }
  return model;
}

}  // namespace propwash
