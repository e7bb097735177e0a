#pragma once
/// @file
/// Derivatives of a step: the linear model of a multicopter about a state and a command.
///
/// The equations of motion, the integrators and the rate controller are evaluated with dual numbers
/// (math/dual.hpp), so the derivatives are exact but for rounding, and hold for the discrete step
/// as it is computed. See docs/linearize.md.
///
/// An attitude has three degrees of freedom and four components. It is perturbed in body axes,
///
///     q_WB = q0_WB o [1, theta / 2],      theta a small rotation vector [rad], body frame,
///
/// on both sides of a step: the next attitude's perturbation is in the axes of the next body.

#include <array>
#include <cmath>
#include <cstddef>
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

/// The Jacobian of any function of numbers at x: f takes an array of scalars of any type, by a
/// generic lambda, and gives one. Row i, column j: the derivative of f_i with respect to x_j.
///
///     auto J = jacobian([](const auto& x) { return std::array{x[0] * x[1], sin(x[0])}; },
///                       std::array{0.5, 2.0});
template <class F, std::size_t Columns>
auto jacobian(const F& f, const std::array<double, Columns>& x) {
  constexpr int columns = static_cast<int>(Columns);
  std::array<Dual<double, columns>, Columns> seeded;
  for (int j = 0; j < columns; ++j) {
    const auto place = static_cast<std::size_t>(j);
    seeded[place] = Dual<double, columns>::variable(x[place], j);
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

/// dx/dt = A x + B u or x_next = A x + B u, y = C x + D u, of perturbations about a point.
///
/// States, in this order: position 3 [m], velocity 3 [m/s], attitude 3 [rad, body axes], body rates
/// 3 [rad/s], rotor speeds N [rad/s]; under a RateThrust the controller's filtered rates 3 [rad/s],
/// their derivative 3 [rad/s^2] and integrals 3 [rad]; of a discrete model of motors with a command
/// delay the commands on their way, N each, the latest first [rad/s].
/// Inputs: N rotor speeds [rad/s]; or body rates 3 [rad/s] and thrust [N].
/// Outputs: specific force 3 [m/s^2] and angular rate 3 [rad/s] as the IMU reads them at the start
/// of the step, and the N speeds that the motors are driven to [rad/s].
struct LinearModel {
  Eigen::MatrixXd A, B, C, D;  ///< x' = A x + B u, y = C x + D u
  /// What the perturbations do by themselves where the point is no equilibrium: their rate, or the
  /// next state's distance from this one.
  Eigen::VectorXd drift;
};

/// Options of linearisation.
struct LinearizeOptions {
  bool discrete = false;  ///< the step of dt as it is computed, or d/dt of the state
  Integrator integrator = Integrator::rk4;  ///< of a discrete model
  double dt = 1.0 / 960.0;                  ///< s, of a discrete model
};

/// The linear models of one vehicle. What cannot be differentiated is left out: noise and biases
/// are zero, the IMU's resolution and range are ideal. The battery is at its nominal voltage.
///
///     Linearizer hover{vehicles::flightgoggles()};
///     LinearModel model = hover.at(uav.state(), RotorSpeeds{speeds});
/// `Columns` of a Jacobian are computed in a pass; more than one is no faster.
template <int Columns>
class BasicLinearizer {
 public:
  using State = MulticopterState<double, Dynamic>;  ///< state at which the model is linearised
  /// Rotor speeds [rad/s] at which the model is linearised.
  using Speeds = SmallArray<double, Dynamic>;

  /// @throws ParameterError for a vehicle or a time step that cannot be.
  explicit BasicLinearizer(const VehicleParameters& vehicle, const LinearizeOptions& options = {});

  /// About `state` under rotor speeds, which are limited to the motors' range.
  LinearModel at(const State& state, const Speeds& command) const;
  /// About `state` in the loop with the rate controller; a discrete model only.
  /// @throws ParameterError where the rotors cannot control rates and thrust,
  /// std::invalid_argument for a continuous model or an IMU that is slower than the steps.
  LinearModel at(const State& state, const RateThrust<double>& command,
                 const RateControllerState<double>& controller = {}) const;

  /// At rest in level attitude, rotors at hover speed.
  State trim() const;
  /// Number of rotors.
  int rotors() const { return constants_.allocation.rotors(); }
  /// The vehicle's parameters.
  const VehicleParameters& parameters() const { return parameters_; }

 private:
  using Number = Dual<double, Columns>;

  /// The vehicle without its controller, with respect to state and speeds of the motors' command.
  struct Plant {
    Eigen::MatrixXd state, output;  // columns: states, then commands
    Eigen::VectorXd drift;
  };
  /// One tick of the controller, with respect to rates, its memory and its command.
  struct Tick {
    Eigen::MatrixXd memory, speeds;  // columns: body rates 3, memory 9, command 4
    Eigen::VectorXd drift;
    Speeds command;
  };
  using Moving = MulticopterState<Number, Dynamic>;
  using Input = MulticopterInput<Number, Dynamic, Zero3, Zero3>;

  Plant plant(const State& state, const Speeds& command) const;
  Moving moved(const Moving& state, const Input& input) const;
  Eigen::VectorXd slope(const Moving& from, const Moving& end, int i) const;
  Eigen::VectorXd drift(const State& from, const Moving& end) const;
  Tick tick(const State& state, const RateThrust<double>& command,
            const RateControllerState<double>& controller) const;
  LinearModel joined(const Plant& plant, const Eigen::MatrixXd& memory,
                     const Eigen::MatrixXd& speeds, const Eigen::VectorXd& memory_drift) const;
  void require_loop() const;

  VehicleParameters parameters_;
  LinearizeOptions options_;
  TickConstants<double, Dynamic, GeneralShape> constants_{};
  StepDelay delay_{};
};
using Linearizer = BasicLinearizer<1>;  ///< the linearizer for one vehicle

}  // namespace propwash

#include "propwash/vehicle/impl/linearize.hpp"
