#pragma once
/// @file
/// Linear models of a multicopter about a state and a command.
///
/// The equations of motion, the integrators and the rate controller are evaluated with dual numbers
/// (math/dual.hpp). The derivatives are exact up to rounding; those of a discrete model are those
/// of the simulated step. See docs/linearize.md.
///
/// An attitude has four components and three degrees of freedom, so it is perturbed in body axes,
///
///     q_WB = q0_WB o [1, theta / 2],      theta a small rotation vector [rad], body frame,
///
/// before and after a step: the perturbation of the next attitude is in the next body frame.

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

#include "propwash/control/rate_controller.hpp"
#include "propwash/math/dual.hpp"
#include "propwash/math/eigen.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// The Jacobian of a function at x, a fixed-size Eigen matrix with df_i/dx_j in row i, column j.
/// `f` is a generic lambda from an array of scalars of any type to another such array.
///
///     auto J = jacobian([](const auto& x) { return std::array{x[0] * x[1], sin(x[0])}; },
///                       std::array{0.5, 2.0});
template <class F, std::size_t Columns>
auto jacobian(const F& f, const std::array<double, Columns>& x) {
  constexpr int columns = static_cast<int>(Columns);
  std::array<Dual<double, columns>, Columns> seeded;
  for (std::size_t j = 0; j < Columns; ++j) {
    seeded[j] = Dual<double, columns>::variable(x[j], static_cast<int>(j));
  }
  const auto y = f(seeded);
  constexpr int rows = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(y)>>);
  Eigen::Matrix<double, rows, columns> result;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      result(i, j) = y[static_cast<std::size_t>(i)].partials[j];
    }
  }
  return result;
}

/// A linear model of perturbations about a point: dx/dt = A x + B u (continuous) or
/// x_next = A x + B u (discrete), and y = C x + D u.
///
/// States, in this order: position 3 [m], velocity 3 [m/s], attitude 3 [rad, body axes], body rates
/// 3 [rad/s], rotor speeds N [rad/s]; with a RateThrust also the filtered rates of the controller 3
/// [rad/s], their derivative 3 [rad/s^2] and its integrals 3 [rad]; in a discrete model with
/// command delay also the delayed commands, N each, the newest first [rad/s].
///
/// Inputs: N rotor speeds [rad/s]; or body rates 3 [rad/s] and thrust [N].
///
/// Outputs: specific force 3 [m/s^2] and angular rate 3 [rad/s] of the IMU at the start of the
/// step, and the N speeds commanded to the motors [rad/s].
struct LinearModel {
  Eigen::MatrixXd A, B, C, D;  ///< x' = A x + B u, y = C x + D u
  /// Zero at an equilibrium; otherwise the time derivative of the state at the point, or the
  /// difference of next state and state.
  Eigen::VectorXd drift;
};

/// Options of a Linearizer.
struct LinearizeOptions {
  bool discrete = false;  ///< true: the simulated step of dt; false: the time derivative
  Integrator integrator = Integrator::rk4;  ///< discrete model only
  double dt = 1.0 / 960.0;                  ///< s, discrete model only
  /// The vehicle that the rate controller assumes; none: the linearised one.
  std::optional<VehicleParameters> control_vehicle{};
};

/// Computes linear models of one vehicle, without noise and biases, with ideal resolution and range
/// of the IMU, and at the nominal battery voltage.
///
///     Linearizer hover{vehicles::flightgoggles()};
///     LinearModel model = hover.at(uav.state(), RotorSpeeds{speeds});
///
/// `Columns` of the Jacobian are computed in one pass; more than one is not faster.
template <int Columns>
class BasicLinearizer {
 public:
  using State = MulticopterState<double, Dynamic>;  ///< state at which the model is linearised
  /// Rotor speeds [rad/s] at which the model is linearised.
  using Speeds = SmallArray<double, Dynamic>;

  /// @throws ParameterError for an invalid vehicle or time step.
  explicit BasicLinearizer(const VehicleParameters& vehicle, const LinearizeOptions& options = {});

  /// The model about `state` and commanded rotor speeds, which are limited to the range of the
  /// motors.
  /// @throws std::invalid_argument for a wrong number of rotors.
  LinearModel at(const State& state, const Speeds& command) const;
  /// The model of the closed loop with the rate controller, about `state`; discrete only.
  /// @throws ParameterError if the rotors cannot control rates and thrust, std::invalid_argument
  /// for a wrong number of rotors, a continuous model or an IMU that is slower than the steps.
  LinearModel at(const State& state, const RateThrust<double>& command,
                 const RateControllerState<double>& controller = {}) const;

  /// The state at rest in level attitude at the origin, rotors at hover speed.
  State trim() const;
  /// Number of rotors.
  int rotors() const { return constants_.allocation.rotors(); }
  /// The vehicle's parameters.
  const VehicleParameters& parameters() const { return parameters_; }
  /// The vehicle that the rate controller assumes.
  const VehicleParameters& control_vehicle() const {
    return options_.control_vehicle ? *options_.control_vehicle : parameters_;
  }

 private:
  using Number = Dual<double, Columns>;

  /// Derivatives of the vehicle without controller. Columns: states, motor commands.
  struct Plant {
    Eigen::MatrixXd state, output;
    Eigen::VectorXd drift;
  };
  /// Derivatives of one update of the controller. Columns: body rates 3, its state 9, command 4.
  struct ControllerUpdate {
    Eigen::MatrixXd memory, speeds;
    Eigen::VectorXd drift;
    Speeds command;
  };
  using DualState = MulticopterState<Number, Dynamic>;
  using Input = MulticopterInput<Number, Dynamic, Zero3, Zero3>;

  Plant plant(const State& state, const Speeds& command) const;
  DualState evaluate(const DualState& state, const Input& input) const;
  Eigen::VectorXd column(const DualState& from, const DualState& result, int i) const;
  Eigen::VectorXd drift(const State& from, const DualState& result) const;
  ControllerUpdate controller_update(const State& state, const RateThrust<double>& command,
                                     const RateControllerState<double>& controller) const;
  LinearModel combine(const Plant& plant, const Eigen::MatrixXd& memory,
                      const Eigen::MatrixXd& speeds, const Eigen::VectorXd& memory_drift) const;
  void require_closed_loop() const;

  VehicleParameters parameters_;
  LinearizeOptions options_;
  TickConstants<double, Dynamic, GeneralShape> constants_{};
  StepDelay delay_{};
};
using Linearizer = BasicLinearizer<1>;  ///< the linearizer for one vehicle

}  // namespace propwash

#include "propwash/vehicle/impl/linearize.hpp"
