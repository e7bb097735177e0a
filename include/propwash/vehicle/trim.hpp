#pragma once
/// @file
/// Trim: the attitude, body rates and rotor speeds of a steady flight, straight or turning.
///
/// In a frame that rotates with the vehicle about world z, all quantities are constant. With the
/// yaw rate w e_z and the velocity v relative to the air,
///
///     dv/dt = w e_z x v,    dW/dt = 0,    W = R_WB^T w e_z,    rotors at their command.
///
/// The six unknowns are roll, pitch and the wrench that the allocation (23) maps to rotor speeds.
/// Newton's method solves the six equations of motion, with all terms of the model except the
/// ground effect and contact. See docs/trim.md.

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "propwash/control/make_allocation.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/vehicle/make_model.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A steady flight with heading along the horizontal velocity. All zero: hover.
struct SteadyFlight {
  double velocity = 0.0;  ///< m/s, relative to the air, along the heading; < 0: backwards
  double climb = 0.0;     ///< m/s, relative to the air, up
  double yaw_rate = 0.0;  ///< rad/s, about world z; circle of radius velocity / yaw_rate
};

namespace detail {

/// Solves A x = b by Gaussian elimination with pivoting; overwrites b with x. Returns whether A is
/// regular.
template <std::size_t N>
bool solve(std::array<std::array<double, N>, N> a, std::array<double, N>& b) {
  for (std::size_t k = 0; k < N; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < N; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (a[pivot][k] == 0.0) return false;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < N; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < N; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = N; k-- > 0;) {
    for (std::size_t j = k + 1; j < N; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return true;
}

/// The trim equations of a vehicle for a steady flight.
class TrimEquations {
 public:
  using State = MulticopterState<double, Dynamic>;
  /// Roll and pitch [rad], thrust over mass [m/s^2], torques over moments of inertia [rad/s^2].
  using Unknowns = std::array<double, 6>;
  /// Errors of acceleration [m/s^2] and angular acceleration [rad/s^2].
  using Residual = std::array<double, 6>;

  TrimEquations(const VehicleParameters& vehicle, const SteadyFlight& flight)
      : model_(make_model<double, Dynamic, GeneralShape>(vehicle)),
        allocation_(make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor)),
        inertia_{vehicle.body.inertia(0, 0), vehicle.body.inertia(1, 1),
                 vehicle.body.inertia(2, 2)},
        velocity_W_{flight.velocity, 0.0, flight.climb},
        yaw_rate_W_{0.0, 0.0, flight.yaw_rate},
        acceleration_W_(cross(yaw_rate_W_, velocity_W_)) {
    model_.air.ground_area = 0.0;  // a climb is not steady close to the ground
    model_.feet.has_contact = false;
  }

  /// Initial guess: thrust that balances weight, drag and centripetal acceleration; no torque.
  Unknowns guess() const {
    const auto drag_W = drag_force(model_.drag, velocity_W_);
    const auto force_W =
        acceleration_W_ - model_.body.gravity_W - drag_W * model_.body.inverse_mass;
    const double magnitude = norm(force_W);
    if (magnitude == 0.0) return {};
    return {-std::asin(force_W.y / magnitude), std::atan2(force_W.x, force_W.z), magnitude};
  }

  State state(const Unknowns& x) const {
    State state;
    state.velocity = velocity_W_;
    state.attitude = from_axis_angle(Vec3<double>{0.0, 1.0, 0.0}, x[1]) *
                     from_axis_angle(Vec3<double>{1.0, 0.0, 0.0}, x[0]);
    state.body_rates = rotate_inverse(state.attitude, yaw_rate_W_);
    const double wrench[] = {x[3] * inertia_.x, x[4] * inertia_.y, x[5] * inertia_.z,
                             x[2] * model_.body.mass};
    state.rotor_speeds.resize(allocation_.rotors());
    for (int i = 0; i < allocation_.rotors(); ++i) {
      double square = 0.0;
      for (int k = 0; k < 4; ++k) square += wrench[k] * allocation_.squares_from_wrench[k][i];
      state.rotor_speeds[i] = signed_sqrt(square);
    }
    return state;
  }

  Residual residual(const Unknowns& x) const {
    const State state = this->state(x);
    MulticopterInput<double, Dynamic, Zero3, Zero3> input;
    input.command = state.rotor_speeds;
    const State rate = multicopter_derivative(model_, state, input);
    const auto error_W = rate.velocity - acceleration_W_;
    return {error_W.x,         error_W.y,         error_W.z,
            rate.body_rates.x, rate.body_rates.y, rate.body_rates.z};
  }

  /// The state with rotor speeds limited to the range of the motors.
  State limited(const State& state) const { return projected(model_, state); }

  /// Computes the Newton step at x with residual r; returns false if the Jacobian is singular.
  bool step(const Unknowns& x, const Residual& r, Unknowns& change) const {
    constexpr double h = 1e-5;
    std::array<Residual, 6> jacobian{};
    for (std::size_t j = 0; j < 6; ++j) {
      Unknowns x_low = x, x_high = x;
      x_low[j] -= h, x_high[j] += h;
      const Residual low = residual(x_low), high = residual(x_high);
      for (std::size_t i = 0; i < 6; ++i) jacobian[i][j] = (high[i] - low[i]) / (2.0 * h);
    }
    change = r;
    return solve(jacobian, change);
  }

 private:
  MulticopterModel<double, Dynamic, GeneralShape> model_;
  Allocation<double, Dynamic> allocation_;
  Vec3<double> inertia_;
  Vec3<double> velocity_W_, yaw_rate_W_, acceleration_W_;
};

inline double norm_of(const TrimEquations::Residual& r) {
  double sum = 0.0;
  for (const double x : r) sum += x * x;
  return std::sqrt(sum);
}

/// Newton's method with step halving, from the guess x. Returns the norm of the final residual.
inline double solve_trim(const TrimEquations& equations, TrimEquations::Unknowns& x) {
  auto r = equations.residual(x);
  double error = norm_of(r);
  for (int iteration = 0; iteration < 60; ++iteration) {
    TrimEquations::Unknowns change{};
    if (!equations.step(x, r, change)) break;
    double factor = 1.0;
    bool is_better = false;
    for (; !is_better && factor > 1e-6; factor *= 0.5) {
      auto next = x;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] -= factor * change[i];
      const auto residual = equations.residual(next);
      const double norm = norm_of(residual);
      is_better = is_finite(norm) && norm < error;
      if (is_better) x = next, r = residual, error = norm;
    }
    if (!is_better) break;
  }
  return error;
}

[[noreturn]] inline void throw_trim_error(const SteadyFlight& flight, const std::string& why) {
  PROPWASH_THROW(ParameterError("trim at velocity = " + formatted(flight.velocity) +
                                " m/s, climb = " + formatted(flight.climb) + " m/s, yaw_rate = " +
                                formatted(flight.yaw_rate) + " rad/s: " + why));
}

}  // namespace detail

/// The state of a steady flight in still air, at the origin with heading along world x. Its rotor
/// speeds are also the command that maintains it. Errors of acceleration and angular acceleration
/// are less than 1e-9 m/s^2 and 1e-9 rad/s^2.
/// @throws ParameterError for an invalid vehicle, for rotors that cannot command torque on three
/// axes and thrust, or if no such flight is found within the speed limits of the rotors.
template <class = void>  // a template so that propwash::static compiles it once
MulticopterState<double, Dynamic> trim(const VehicleParameters& vehicle,
                                       const SteadyFlight& flight) {
  validate(vehicle);
  validate_allocation(vehicle);
  if (!is_finite(flight.velocity) || !is_finite(flight.climb) || !is_finite(flight.yaw_rate)) {
    detail::throw_trim_error(flight, "expected finite numbers");
  }
  const auto& gravity = vehicle.body.gravity;
  if (flight.yaw_rate != 0.0 && (gravity.x != 0.0 || gravity.y != 0.0)) {
    detail::throw_trim_error(
        flight, "body.gravity = " + detail::formatted(gravity) +
                    ": expected gravity along z for a turning flight; set yaw_rate to 0");
  }
  const detail::TrimEquations equations(vehicle, flight);
  auto x = equations.guess();
  const double error = detail::solve_trim(equations, x);
  if (!is_within(error, 0.0, 1e-9)) {
    detail::throw_trim_error(flight,
                             "no equilibrium of forces and torques found: expected a slower flight "
                             "or a smaller yaw rate");
  }
  const auto state = equations.state(x);
  const auto limited = equations.limited(state);
  for (int i = 0; i < state.rotor_speeds.size(); ++i) {
    const double speed = state.rotor_speeds[i], limit = limited.rotor_speeds[i];
    if (speed == limit) continue;
    detail::throw_trim_error(
        flight, "speed of rotors[" + std::to_string(i) + "] = " + detail::formatted(speed) +
                    ": expected " + (speed > limit ? "at most " : "at least ") +
                    detail::formatted(limit) +
                    " rad/s, the limit of the motor; reduce the speed of the flight");
  }
  return state;
}

#if defined(PROPWASH_STATIC)  // instantiated in src/vehicle.cpp
extern template MulticopterState<double, Dynamic> trim<void>(const VehicleParameters&,
                                                             const SteadyFlight&);
#endif

}  // namespace propwash
