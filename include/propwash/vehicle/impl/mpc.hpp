#pragma once
// Member functions of BasicMpc; include propwash/vehicle/mpc.hpp.

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "propwash/vehicle/mpc.hpp"

namespace propwash {

namespace detail {

/// RK4 with one copy of the equations, not four.
struct Rk4OfFunction {
  template <class Derivative, class State>
  State operator()(const Derivative& derivative, const State& x, double dt) const {
    return Rk4{}(std::function<State(const State&)>(std::cref(derivative)), x, dt);
  }
};

template <class Vector, class Matrix>
struct BoxSolution {
  Vector x;
  Matrix inverse;  // of the rows and columns of H that no limit holds, zero elsewhere
};

/// The minimum of x'Hx / 2 + g'x with low <= x <= high: projected Newton steps (Tassa et al., II).
template <class Vector, class Matrix>
BoxSolution<Vector, Matrix> box_minimum(const Matrix& H, const Vector& g, const Vector& low,
                                        const Vector& high) {
  const auto size = g.size();
  BoxSolution<Vector, Matrix> solution{Vector::Zero(size), Matrix::Zero(size, size)};
  Vector& x = solution.x;
  x = x.cwiseMax(low).cwiseMin(high);
  const auto value = [&](const Vector& at) {
    const Vector slope = H.lazyProduct(at);
    return at.dot(0.5 * slope + g);
  };
  for (int iteration = 0; iteration < 20; ++iteration) {
    const Vector slope = g + H.lazyProduct(x);
    Matrix free = H, identity = Matrix::Identity(size, size);
    for (Eigen::Index i = 0; i < size; ++i) {
      const bool is_held =
          (x[i] <= low[i] && slope[i] > 0.0) || (x[i] >= high[i] && slope[i] < 0.0);
      if (!is_held) continue;
      free.row(i).setZero(), free.col(i).setZero();
      free(i, i) = 1.0;
      identity(i, i) = 0.0;
    }
    solution.inverse = Eigen::LLT<Matrix>(free).solve(identity);
    const Vector newton = -solution.inverse.lazyProduct(slope);
    if (newton.cwiseAbs().maxCoeff() <= 1e-9 * (1.0 + x.cwiseAbs().maxCoeff())) break;
    double length = 1.0;
    Vector next = (x + newton).cwiseMax(low).cwiseMin(high);
    while (value(next) > value(x) + 0.1 * slope.dot(next - x) && length > 1e-3) {
      length *= 0.5;
      next = (x + length * newton).cwiseMax(low).cwiseMin(high);
    }
    x = next;
  }
  return solution;
}

}  // namespace detail

template <int Columns>
BasicMpc<Columns>::BasicMpc(const VehicleParameters& vehicle, const MpcParameters& parameters)
    : parameters_(parameters) {
  validate(vehicle);
  const auto require = [](bool is_valid, const char* name, double value, const char* expected) {
    if (is_valid) return;
    PROPWASH_THROW(ParameterError(std::string(name) + " = " + detail::formatted(value) +
                                  ": expected " + expected));
  };
  const auto positive = [&](const char* name, double value, const char* unit) {
    require(is_finite(value) && value > 0.0, name, value,
            (std::string("a finite value > 0 ") + unit).c_str());
  };
  require(parameters.horizon >= 1 && parameters.horizon <= 1000, "horizon", parameters.horizon,
          "1 to 1000 periods");
  require(parameters.substeps >= 1 && parameters.substeps <= 1000, "substeps", parameters.substeps,
          "1 to 1000 steps of a period");
  positive("period", parameters.period, "s");
  positive("position_tolerance", parameters.position_tolerance, "m");
  positive("velocity_tolerance", parameters.velocity_tolerance, "m/s");
  positive("tilt_tolerance", parameters.tilt_tolerance, "rad");
  positive("yaw_tolerance", parameters.yaw_tolerance, "rad");
  positive("rates_tolerance", parameters.rates_tolerance, "rad/s");
  positive("command_tolerance", parameters.command_tolerance, "of the range of a motor");
  require(is_finite(parameters.disturbance_bandwidth) && parameters.disturbance_bandwidth >= 0.0,
          "disturbance_bandwidth", parameters.disturbance_bandwidth, "a finite value >= 0 1/s");

  model_ = make_model<double, Dynamic, GeneralShape>(vehicle);
  const double dt = parameters.period / parameters.substeps;
  const double time_constant = shortest_time_constant(vehicle);
  if (dt > 2.0 * time_constant) {  // RK4 is stable up to 2.78
    PROPWASH_THROW(ParameterError(
        "period / substeps = " + detail::formatted(dt) + ": expected at most " +
        detail::formatted(2.0 * time_constant) +
        " s, twice the time constant of the motors or of the contact; use " +
        std::to_string(static_cast<int>(std::ceil(parameters.period / (2.0 * time_constant)))) +
        " substeps"));
  }
  const auto& J = vehicle.body.inertia;
  inertia_ = {J(0, 0), J(1, 1), J(2, 2)};
  const auto inverse_square = [](double x) { return 1.0 / (x * x); };
  weight_ = Vector::Zero(detail::body_states + rotors());  // none on rotor speeds
  weight_.segment(0, 3).setConstant(inverse_square(parameters.position_tolerance));
  weight_.segment(3, 3).setConstant(inverse_square(parameters.velocity_tolerance));
  weight_.segment(6, 2).setConstant(inverse_square(parameters.tilt_tolerance));
  weight_[8] = inverse_square(parameters.yaw_tolerance);
  weight_.segment(9, 3).setConstant(inverse_square(parameters.rates_tolerance));
  command_weight_ = Vector::Zero(rotors());
  for (int i = 0; i < rotors(); ++i) {
    const double range = model_.speed_max[i] - model_.speed_min[i];
    command_weight_[i] = inverse_square(parameters.command_tolerance * range);
  }
  const auto count = static_cast<std::size_t>(parameters.horizon);
  State state{};
  state.rotor_speeds.resize(rotors());
  Speeds speeds{};
  speeds.resize(rotors());
  plan_ = {std::vector<State>(count + 1, state), std::vector<Speeds>(count, speeds)};
  next_ = plan_;
  laws_.resize(count);
  reset();
}

template <int Columns>
void BasicMpc<Columns>::reset() {
  has_plan_ = false;
  force_W_ = torque_B_ = {};
  for (auto& law : laws_) {
    law.change.setZero(rotors());
    law.gain.setZero(rotors(), detail::body_states + rotors());
  }
}

/// (M1) The state after `substeps` steps of dt.
template <int Columns>
template <class T>
MulticopterState<T, Dynamic> BasicMpc<Columns>::step(const MulticopterState<T, Dynamic>& x,
                                                     const SmallArray<T, Dynamic>& command,
                                                     double dt, int substeps) const {
  const MulticopterInput<T, Dynamic, Zero3, Vec3<double>> input{command, {}, force_W_, torque_B_};
  auto result = x;
  for (int i = 0; i < substeps; ++i) {
    result = multicopter_step(detail::Rk4OfFunction{}, model_, result, input, dt);
  }
  return result;
}

template <int Columns>
void BasicMpc<Columns>::check(const State& state, Span<const State> points, double elapsed) const {
  const auto refuse = [](const std::string& text) { PROPWASH_THROW(std::invalid_argument(text)); };
  const auto check_state = [&](const State& x, const std::string& name) {
    if (x.rotor_speeds.size() != rotors()) {
      refuse(name + ": expected " + std::to_string(rotors()) + " rotor speeds, got " +
             std::to_string(x.rotor_speeds.size()));
    }
    bool finite = true;
    for_each_number(x, [&](double number) { finite = finite && is_finite(number); });
    if (!finite) refuse(name + ": expected finite numbers");
    const auto& q = x.attitude;
    const double length = std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    if (std::abs(length - 1.0) > 1e-3) {
      refuse(name + ": expected a unit quaternion, got one of length " + detail::formatted(length));
    }
  };
  if (points.size() != plan_.states.size()) {
    refuse("points: expected horizon + 1 = " + std::to_string(plan_.states.size()) + ", got " +
           std::to_string(points.size()));
  }
  check_state(state, "state");
  for (std::size_t k = 0; k < points.size(); ++k) {
    check_state(points[k], "point " + std::to_string(k));
  }
  if (!is_finite(elapsed) || elapsed < 0.0) {
    refuse("elapsed = " + detail::formatted(elapsed) + ": expected a finite value >= 0 s");
  }
}

template <int Columns>
typename BasicMpc<Columns>::Speeds BasicMpc<Columns>::limited(Speeds command) const {
  for (int i = 0; i < rotors(); ++i) {
    command[i] = std::clamp(command[i], model_.speed_min[i], model_.speed_max[i]);
  }
  return command;
}

/// x - from, with the rotation vector of the attitudes; (M2).
template <int Columns>
typename BasicMpc<Columns>::Vector BasicMpc<Columns>::difference(const State& x,
                                                                 const State& from) const {
  Vector d(detail::body_states + rotors());
  const auto rotation = detail::short_rotation(from.attitude, x.attitude);
  d.segment(0, 3) = to_eigen(x.position - from.position);
  d.segment(3, 3) = to_eigen(x.velocity - from.velocity);
  d.segment(6, 3) << 2.0 * rotation.x, 2.0 * rotation.y, 2.0 * rotation.z;
  d.segment(9, 3) = to_eigen(x.body_rates - from.body_rates);
  for (int i = 0; i < rotors(); ++i) {
    d[detail::body_states + i] = x.rotor_speeds[i] - from.rotor_speeds[i];
  }
  return d;
}

/// (M3)
template <int Columns>
double BasicMpc<Columns>::cost(const State& x, const State& point) const {
  const Vector error = difference(x, point);
  return 0.5 * error.cwiseAbs2().dot(weight_);
}
template <int Columns>
double BasicMpc<Columns>::command_cost(const Speeds& command, const State& point) const {
  double sum = 0.0;
  for (int i = 0; i < rotors(); ++i) {
    const double error = command[i] - point.rotor_speeds[i];
    sum += 0.5 * command_weight_[i] * error * error;
  }
  return sum;
}

/// (M6) The wrench that explains the motion since the last command, low-pass filtered.
template <int Columns>
void BasicMpc<Columns>::observe(const State& state, double elapsed) {
  if (!has_plan_ || elapsed <= 0.0 || parameters_.disturbance_bandwidth == 0.0) return;
  const double dt = parameters_.period / parameters_.substeps;
  const int substeps = static_cast<int>(std::ceil(elapsed / dt * (1.0 - 1e-9)));
  const State expected = step(last_state_, last_command_, elapsed / substeps, substeps);
  const double gain = (1.0 - std::exp(-parameters_.disturbance_bandwidth * elapsed)) / elapsed;
  const auto force_W = force_W_ + (state.velocity - expected.velocity) * (gain * model_.body.mass);
  const auto torque_B =
      torque_B_ + cwise_product(inertia_, state.body_rates - expected.body_rates) * gain;
  if (is_finite(norm(force_W) + norm(torque_B))) force_W_ = force_W, torque_B_ = torque_B;
}

/// Moves the plan `elapsed` s ahead; the last command and gain are held.
template <int Columns>
void BasicMpc<Columns>::shift(double elapsed) {
  const double periods = std::min(elapsed / parameters_.period, double(parameters_.horizon));
  const auto whole = static_cast<std::size_t>(periods);
  const double part = periods - static_cast<double>(whole);
  const std::size_t last = plan_.commands.size();
  const auto mixed = [&](auto& all, std::size_t k, std::size_t end) {
    const auto& a = all[std::min(k + whole, end)];
    const auto& b = all[std::min(k + whole + 1, end)];
    return a * (1.0 - part) + b * part;
  };
  for (std::size_t k = 0; k <= last; ++k) {
    plan_.states[k] = mixed(plan_.states, k, last);
    plan_.states[k].attitude = normalized(plan_.states[k].attitude);
  }
  for (std::size_t k = 0; k < last; ++k) {
    plan_.commands[k] = mixed(plan_.commands, k, last - 1);
    laws_[k].gain = laws_[std::min(k + whole, last - 1)].gain;
    laws_[k].change.setZero();
  }
}

/// (M5) Flies the laws from to.states[0]; the cost.
template <int Columns>
double BasicMpc<Columns>::roll_out(double fraction, const Plan& nominal, Span<const State> points,
                                   Plan& to) const {
  const double dt = parameters_.period / parameters_.substeps;
  double sum = 0.0;
  for (std::size_t k = 0; k < laws_.size(); ++k) {
    const State& x = to.states[k];
    const Vector change =
        fraction * laws_[k].change + laws_[k].gain.lazyProduct(difference(x, nominal.states[k]));
    Speeds command = nominal.commands[k];
    for (int i = 0; i < rotors(); ++i) command[i] += change[i];
    to.commands[k] = limited(command);
    to.states[k + 1] = step(x, to.commands[k], dt, parameters_.substeps);
    sum += command_cost(to.commands[k], points[k]) + cost(to.states[k + 1], points[k + 1]);
  }
  return sum;
}

/// The derivatives of a period. The columns of the position are those of a flight without ground.
template <int Columns>
typename BasicMpc<Columns>::Step BasicMpc<Columns>::derivatives(const State& x,
                                                                const Speeds& command) const {
  using Number = Dual<double, Columns>;
  const int states = detail::body_states + rotors(), count = states + rotors();
  const double dt = parameters_.period / parameters_.substeps;
  Step result;
  result.A.setZero(states, states);
  result.A.topLeftCorner(3, 3).setIdentity();
  result.B.setZero(states, rotors());
  for (int first = 3; first < count; first += Columns) {
    const detail::Seeds<Number> seeds{first};
    const auto y = step(seeds(x), seeds(command, states), dt, parameters_.substeps);
    const auto attitude = detail::values_of(y.attitude);
    for (int j = first; j < std::min(first + Columns, count); ++j) {
      const int i = j - first;
      const auto rotation = detail::tangent(attitude, detail::partials_of(y.attitude, i));
      auto column = [&](auto&& to) {
        to.segment(0, 3) = to_eigen(detail::partials_of(y.position, i));
        to.segment(3, 3) = to_eigen(detail::partials_of(y.velocity, i));
        to.segment(6, 3) = to_eigen(rotation);
        to.segment(9, 3) = to_eigen(detail::partials_of(y.body_rates, i));
        for (int r = 0; r < rotors(); ++r) {
          to[detail::body_states + r] = y.rotor_speeds[r].partials[i];
        }
      };
      if (j < states) {
        column(result.A.col(j));
      } else {
        column(result.B.col(j - states));
      }
    }
  }
  return result;
}

/// (M4) The laws that improve the plan: from the last period to the first one.
template <int Columns>
void BasicMpc<Columns>::improve(Span<const State> points) {
  Vector slope;
  Matrix curvature;
  const auto add_cost = [&](const State& x, const State& point) {
    const Vector error = difference(x, point);
    Matrix of_error = Matrix::Identity(error.size(), error.size());
    const auto [w, a, b, c] = detail::short_rotation(point.attitude, x.attitude);
    of_error.block(6, 6, 3, 3) << w, -c, b, c, w, -a, -b, a, w;
    const Matrix weighted = weight_.asDiagonal() * of_error;
    slope += weighted.transpose().lazyProduct(error);
    curvature += of_error.transpose().lazyProduct(weighted);
  };
  slope.setZero(weight_.size());
  curvature.setZero(weight_.size(), weight_.size());
  for (std::size_t k = laws_.size(); k-- > 0;) {
    add_cost(plan_.states[k + 1], points[k + 1]);
    const auto [A, B] = derivatives(plan_.states[k], plan_.commands[k]);
    Vector low(rotors()), high(rotors()), g(rotors());
    for (int i = 0; i < rotors(); ++i) {
      const double command = plan_.commands[k][i];
      low[i] = model_.speed_min[i] - command, high[i] = model_.speed_max[i] - command;
      g[i] = command_weight_[i] * (command - points[k].rotor_speeds[i]);
    }
    const Matrix effect = B.transpose().lazyProduct(curvature);
    const Matrix cross = effect.lazyProduct(A);
    g += B.transpose().lazyProduct(slope);
    Matrix H = effect.lazyProduct(B);
    H.diagonal() += command_weight_;
    const auto best = detail::box_minimum(H, g, low, high);
    laws_[k].change = best.x;
    laws_[k].gain = -best.inverse.lazyProduct(cross);
    const Matrix& K = laws_[k].gain;
    const Vector residual = H.lazyProduct(best.x) + g;
    Vector next_slope = A.transpose().lazyProduct(slope);
    next_slope += K.transpose().lazyProduct(residual);
    next_slope += cross.transpose().lazyProduct(best.x);
    const Matrix of_plan = curvature.lazyProduct(A), of_gain = H.lazyProduct(K) + cross;
    Matrix next = A.transpose().lazyProduct(of_plan);
    next += K.transpose().lazyProduct(of_gain);
    next += cross.transpose().lazyProduct(K);
    slope = next_slope;
    curvature = 0.5 * (next + next.transpose());
  }
}

/// Flies the plan before, or the commands of the points, from `state`; the cost.
template <int Columns>
double BasicMpc<Columns>::prepare(const State& state, Span<const State> points, double elapsed) {
  if (has_plan_) {
    shift(elapsed);
  } else {
    std::copy(points.begin(), points.end(), plan_.states.begin());
    for (std::size_t k = 0; k < laws_.size(); ++k) {
      plan_.commands[k] = limited(points[k].rotor_speeds);
    }
  }
  next_.states[0] = state;
  return roll_out(0.0, plan_, points, next_);
}

template <int Columns>
typename BasicMpc<Columns>::Speeds BasicMpc<Columns>::command(const State& state,
                                                              Span<const State> points,
                                                              double elapsed) {
  check(state, points, elapsed);
  if (elapsed > parameters_.horizon * parameters_.period) reset();
  observe(state, elapsed);
  double before = prepare(state, points, elapsed);
  if (!is_finite(before) && has_plan_) {
    reset();
    before = prepare(state, points, elapsed);
  }
  if (!is_finite(before)) {  // the motion is too fast for the steps of the model
    reset();
    return limited(points[0].rotor_speeds);
  }
  std::swap(plan_, next_);
  improve(points);
  next_.states[0] = state;
  for (double fraction = 1.0; fraction > 0.1; fraction *= 0.5) {
    if (roll_out(fraction, plan_, points, next_) < before) {
      std::swap(plan_, next_);
      break;
    }
  }
  has_plan_ = true;
  last_state_ = state;
  last_command_ = plan_.commands[0];
  return last_command_;
}

}  // namespace propwash
