#pragma once
// Member functions of BasicLinearizer; include propwash/vehicle/linearize.hpp.

#include <functional>

#include "propwash/vehicle/linearize.hpp"

namespace propwash {

namespace detail {

inline constexpr int body_states = 12;   // position, velocity, attitude, body rates
inline constexpr int memory_states = 9;  // of the rate controller

/// Converts values to dual numbers; the variables are columns first, first + 1, … of the Jacobian.
template <class T>
struct Seeds {
  int first;
  T operator()(double x, int column) const {
    const int index = column - first;
    return index >= 0 && index < T::variables ? T::variable(x, index) : T(x);
  }
  Vec3<T> operator()(const Vec3<double>& v, int column) const {
    return {(*this)(v.x, column), (*this)(v.y, column + 1), (*this)(v.z, column + 2)};
  }
  template <int N>
  SmallArray<T, N> operator()(const SmallArray<double, N>& a, int column) const {
    SmallArray<T, N> result;
    result.resize(a.size());
    for (int i = 0; i < a.size(); ++i) result[i] = (*this)(a[i], column + i);
    return result;
  }
  /// q o [1, theta / 2] with variable theta; the value equals q exactly.
  Quat<T> operator()(const Quat<double>& q, int column) const {
    Quat<T> result = q * ((*this)(Vec3<double>{}, column) * 0.5);
    result.w.value = q.w, result.x.value = q.x, result.y.value = q.y, result.z.value = q.z;
    return result;
  }
  template <int N>
  MulticopterState<T, N> operator()(const MulticopterState<double, N>& x) const {
    return {(*this)(x.position, 0), (*this)(x.velocity, 3), (*this)(x.attitude, 6),
            (*this)(x.body_rates, 9), (*this)(x.rotor_speeds, body_states)};
  }
};

template <class T>
Vec3<double> values_of(const Vec3<T>& v) {
  return {v.x.value, v.y.value, v.z.value};
}
template <class T>
Quat<double> values_of(const Quat<T>& q) {
  return {q.w.value, q.x.value, q.y.value, q.z.value};
}
template <class T>
Vec3<double> partials_of(const Vec3<T>& v, int i) {
  return {v.x.partials[i], v.y.partials[i], v.z.partials[i]};
}
template <class T>
Quat<double> partials_of(const Quat<T>& q, int i) {
  return {q.w.partials[i], q.x.partials[i], q.y.partials[i], q.z.partials[i]};
}
/// 2 vec(conj(q) o p): the rotation vector [body frame] of a change p of a unit quaternion q.
inline Vec3<double> tangent(const Quat<double>& q, const Quat<double>& p) {
  const auto change = conjugate(q) * p;
  return {2.0 * change.x, 2.0 * change.y, 2.0 * change.z};
}
/// The rotation from one attitude to another, by at most half a turn: w >= 0.
inline Quat<double> short_rotation(const Quat<double>& from, const Quat<double>& to) {
  const auto rotation = conjugate(from) * to;
  return rotation.w < 0.0 ? rotation * -1.0 : rotation;
}
/// The rotation vector [body frame] from one attitude to another.
inline Vec3<double> rotation_between(const Quat<double>& from, const Quat<double>& to) {
  const auto rotation = short_rotation(from, to);
  const Vec3<double> axis{rotation.x, rotation.y, rotation.z};
  const double sine = norm(axis);
  return axis * (sine > 1e-12 ? 2.0 * std::atan2(sine, rotation.w) / sine : 2.0);
}

/// An integrator chosen at run time. std::function avoids one copy of the equations per integrator.
struct IntegratorByName {
  Integrator integrator;

  template <class Derivative, class State>
  State operator()(const Derivative& derivative, const State& x, double dt) const {
    const std::function<State(const State&)> f = std::cref(derivative);
    switch (integrator) {
      case Integrator::euler:
        return Euler{}(f, x, dt);
      case Integrator::symplectic_euler:
        return SymplecticEuler{}(f, x, dt);
      case Integrator::rk4:
        break;
    }
    return Rk4{}(f, x, dt);
  }
};

}  // namespace detail

template <int Columns>
BasicLinearizer<Columns>::BasicLinearizer(const VehicleParameters& vehicle,
                                          const LinearizeOptions& options)
    : parameters_(vehicle), options_(options) {
  validate(vehicle);
  if (options.discrete) validate_time_step(vehicle, options.integrator, options.dt);
  if (options.control_vehicle) validate_control_vehicle(*options.control_vehicle, vehicle);
  constants_ = make_tick_constants<double, Dynamic, GeneralShape>(vehicle, control_vehicle());
  constants_.imu.is_digital = false;
  if (!options.discrete) return;
  set_time_step(constants_, vehicle, options.integrator, options.dt, false);
  delay_ = step_delay(vehicle.motor.command_delay, options.dt, max_delay_steps + 2);
}

template <int Columns>
typename BasicLinearizer<Columns>::State BasicLinearizer<Columns>::trim() const {
  State state;
  const double weight = weight_of(parameters_.body);
  const auto allocation = make_allocation<double, Dynamic>(parameters_.rotors, parameters_.motor);
  state.rotor_speeds = allocate(allocation, Wrench<double>{{}, weight});
  return state;
}

/// The next state of a discrete model, or the time derivative of the state.
template <int Columns>
typename BasicLinearizer<Columns>::DualState BasicLinearizer<Columns>::evaluate(
    const DualState& state, const Input& input) const {
  if (!options_.discrete) return multicopter_derivative(constants_.model, state, input);
  const detail::IntegratorByName method{options_.integrator};
  return multicopter_step(method, constants_.model, state, input, options_.dt);
}

/// Column i of the Jacobian: partials of the `result` of evaluate(from), attitude as rotation
/// vector.
template <int Columns>
Eigen::VectorXd BasicLinearizer<Columns>::column(const DualState& from, const DualState& result,
                                                 int i) const {
  const auto q = detail::values_of(from.attitude);
  Vec3<double> rotation;
  if (options_.discrete) {
    rotation = detail::tangent(detail::values_of(result.attitude),
                               detail::partials_of(result.attitude, i));
  } else {
    // theta is in the nominal body frame, which rotates
    const auto rate = conjugate(q) * detail::values_of(result.attitude);
    const auto theta = conjugate(q) * detail::partials_of(from.attitude, i);
    const auto transport = rate * theta;
    rotation = detail::tangent(q, detail::partials_of(result.attitude, i)) -
               Vec3<double>{transport.x, transport.y, transport.z} * 2.0;
  }
  Eigen::VectorXd partials(detail::body_states + rotors());
  partials << to_eigen(detail::partials_of(result.position, i)),
      to_eigen(detail::partials_of(result.velocity, i)), to_eigen(rotation),
      to_eigen(detail::partials_of(result.body_rates, i)), Eigen::VectorXd::Zero(rotors());
  for (int k = 0; k < rotors(); ++k) {
    partials(detail::body_states + k) = result.rotor_speeds[k].partials[i];
  }
  return partials;
}

/// LinearModel::drift of the vehicle without controller.
template <int Columns>
Eigen::VectorXd BasicLinearizer<Columns>::drift(const State& from, const DualState& result) const {
  const double before = options_.discrete ? 1.0 : 0.0;
  const auto q = detail::values_of(result.attitude);
  const auto rotation = options_.discrete ? detail::rotation_between(from.attitude, q)
                                          : detail::tangent(from.attitude, q);
  Eigen::VectorXd drift(detail::body_states + rotors());
  drift << to_eigen(detail::values_of(result.position) - from.position * before),
      to_eigen(detail::values_of(result.velocity) - from.velocity * before), to_eigen(rotation),
      to_eigen(detail::values_of(result.body_rates) - from.body_rates * before),
      Eigen::VectorXd::Zero(rotors());
  for (int k = 0; k < rotors(); ++k) {
    drift(detail::body_states + k) = result.rotor_speeds[k].value - before * from.rotor_speeds[k];
  }
  return drift;
}

template <int Columns>
typename BasicLinearizer<Columns>::Plant BasicLinearizer<Columns>::plant(
    const State& state, const Speeds& command) const {
  const int states = detail::body_states + rotors();
  const int columns = states + rotors();
  Plant result{Eigen::MatrixXd(states, columns), Eigen::MatrixXd(6, columns), {}};
  for (int first = 0; first < columns; first += Columns) {
    const detail::Seeds<Number> seed{first};
    const DualState x = seed(state);
    Input input;
    input.command = seed(command, states);
    const DualState end = evaluate(x, input);
    const auto reading =
        imu_read(constants_.model, constants_.imu, x, input, ImuBias<Number>{}, {}, 0.0);
    for (int i = 0; i < Columns && first + i < columns; ++i) {
      result.state.col(first + i) = column(x, end, i);
      result.output.col(first + i) << to_eigen(detail::partials_of(reading.specific_force, i)),
          to_eigen(detail::partials_of(reading.angular_rate, i));
    }
    if (first == 0) result.drift = drift(state, end);
  }
  return result;
}

template <int Columns>
typename BasicLinearizer<Columns>::ControllerUpdate BasicLinearizer<Columns>::controller_update(
    const State& state, const RateThrust<double>& command,
    const RateControllerState<double>& controller) const {
  constexpr int columns = 3 + detail::memory_states + 4;
  ControllerUpdate result{Eigen::MatrixXd(detail::memory_states, columns),
                          Eigen::MatrixXd(rotors(), columns),
                          Eigen::VectorXd(detail::memory_states),
                          {}};
  result.command.resize(rotors());
  const Vec3<double> before[] = {controller.filter.value, controller.filter.derivative,
                                 controller.integral};
  for (int first = 0; first < columns; first += Columns) {
    const detail::Seeds<Number> seed{first};
    const auto rates_B = seed(state.body_rates, 0);
    RateControllerState<Number> memory;
    memory.filter = {seed(before[0], 3), seed(before[1], 6)};
    memory.integral = seed(before[2], 9);
    const auto gyroscope_S =
        read_body_rates(constants_.imu, rates_B, ImuBias<Number>{}, Vec3<Number>{});
    const RateThrust<Number> seeded{seed(command.rates, 12), seed(command.thrust, 15)};
    const auto speeds = rate_loop(constants_, memory, gyroscope_S, seeded);

    const Vec3<Number> after[] = {memory.filter.value, memory.filter.derivative, memory.integral};
    for (int row = 0; row < detail::memory_states; ++row) {
      const Number& x = after[row / 3][row % 3];
      result.drift(row) = x.value - before[row / 3][row % 3];
      for (int i = 0; i < Columns; ++i) result.memory(row, first + i) = x.partials[i];
    }
    for (int k = 0; k < rotors(); ++k) {
      result.command[k] = speeds[k].value;
      for (int i = 0; i < Columns; ++i) result.speeds(k, first + i) = speeds[k].partials[i];
    }
  }
  return result;
}

/// Combines plant and controller. `memory` and `speeds` are the derivatives of the next controller
/// state and of the rotor command with respect to plant states, controller state and inputs.
template <int Columns>
LinearModel BasicLinearizer<Columns>::combine(const Plant& plant, const Eigen::MatrixXd& memory,
                                              const Eigen::MatrixXd& speeds,
                                              const Eigen::VectorXd& memory_drift) const {
  const auto n = plant.state.rows();
  const auto m = memory.rows();
  const Eigen::Index motors = rotors();
  const auto inputs = speeds.cols() - n - m;
  const int delays = options_.discrete ? delay_.steps + (delay_.fraction > 0.0 ? 1 : 0) : 0;
  const auto states = n + m + delays * motors;
  // weight of the command of j steps ago
  const auto weight = [&](int j) {
    if (!options_.discrete) return 1.0;
    if (j == delay_.steps) return 1.0 - delay_.fraction;
    return j == delay_.steps + 1 ? delay_.fraction : 0.0;
  };
  // derivatives of the rotor command and of the delayed command with respect to states and inputs
  Eigen::MatrixXd command = Eigen::MatrixXd::Zero(motors, states + inputs);
  command.leftCols(n + m) = speeds.leftCols(n + m);
  command.rightCols(inputs) = speeds.rightCols(inputs);
  Eigen::MatrixXd delayed = command * weight(0);
  for (int j = 1; j <= delays; ++j) {
    delayed.middleCols(n + m + (j - 1) * motors, motors).diagonal().array() += weight(j);
  }

  Eigen::MatrixXd next = Eigen::MatrixXd::Zero(states, states + inputs);
  next.topLeftCorner(n, n) = plant.state.leftCols(n);
  next.topRows(n) += plant.state.rightCols(motors) * delayed;
  next.block(n, 0, m, n + m) = memory.leftCols(n + m);
  next.block(n, states, m, inputs) = memory.rightCols(inputs);
  if (delays > 0) next.middleRows(n + m, motors) = command;
  if (delays > 1) {
    next.block(n + m + motors, n + m, (delays - 1) * motors, (delays - 1) * motors).setIdentity();
  }
  Eigen::MatrixXd output = Eigen::MatrixXd::Zero(6 + motors, states + inputs);
  output.topLeftCorner(6, n) = plant.output.leftCols(n);
  output.topRows(6) += plant.output.rightCols(motors) * delayed;
  output.bottomRows(motors) = delayed;

  Eigen::VectorXd drift = Eigen::VectorXd::Zero(states);
  drift.head(n) = plant.drift;
  drift.segment(n, m) = memory_drift;
  return {next.leftCols(states), next.rightCols(inputs), output.leftCols(states),
          output.rightCols(inputs), drift};
}

template <int Columns>
LinearModel BasicLinearizer<Columns>::at(const State& state, const Speeds& command) const {
  detail::require_rotors(state.rotor_speeds.size(), rotors());
  detail::require_rotors(command.size(), rotors());
  const auto n = detail::body_states + rotors();
  Eigen::MatrixXd speeds = Eigen::MatrixXd::Zero(rotors(), n + rotors());
  Speeds limited = command;
  for (int k = 0; k < rotors(); ++k) {
    const auto speed = clamp(Dual<double, 1>::variable(command[k], 0),
                             constants_.model.speed_min[k], constants_.model.speed_max[k]);
    limited[k] = speed.value;
    speeds(k, n + k) = speed.partials[0];
  }
  return combine(plant(state, limited), Eigen::MatrixXd(0, n + rotors()), speeds,
                 Eigen::VectorXd(0));
}

template <int Columns>
LinearModel BasicLinearizer<Columns>::at(const State& state, const RateThrust<double>& command,
                                         const RateControllerState<double>& controller) const {
  detail::require_rotors(state.rotor_speeds.size(), rotors());
  require_closed_loop();
  const ControllerUpdate update = controller_update(state, command, controller);
  const auto n = detail::body_states + rotors();
  const auto with_plant_states = [&](const Eigen::MatrixXd& from) {
    Eigen::MatrixXd to = Eigen::MatrixXd::Zero(from.rows(), n + detail::memory_states + 4);
    to.middleCols(9, 3) = from.leftCols(3);
    to.rightCols(detail::memory_states + 4) = from.rightCols(detail::memory_states + 4);
    return to;
  };
  return combine(plant(state, update.command), with_plant_states(update.memory),
                 with_plant_states(update.speeds), update.drift);
}

template <int Columns>
void BasicLinearizer<Columns>::require_closed_loop() const {
  if (!options_.discrete) {
    PROPWASH_THROW(std::invalid_argument(
        "options.discrete = false: expected true for a RateThrust, because the rate controller is "
        "discrete; set LinearizeOptions::discrete and the dt of the controller"));
  }
  validate_allocation(control_vehicle());
  if (is_slower_than_steps(parameters_.imu.rate, options_.dt)) {
    PROPWASH_THROW(std::invalid_argument(
        "imu.rate = " + std::to_string(parameters_.imu.rate) +
        ": expected 0 or at least 1 / dt, because the loop is not time-invariant if readings are "
        "held for several steps; set dt = 1 / imu.rate or imu.rate = 0"));
  }
}

}  // namespace propwash
