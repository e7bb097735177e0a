#pragma once
/// @file
/// Model predictive control of the rotor speeds along a reference (experimental).
///
/// Each command plans the rotor speeds of a horizon that minimise the squared errors of the
/// vehicle's own equations of motion, within the range of the motors, and returns the first ones.
/// Equations (M1) to (M6) of docs/control/mpc.md: one iteration per command (Diehl et al.,
/// "Real-time optimization and nonlinear model predictive control", Journal of Process Control 12,
/// 2002) of differential dynamic programming with limited inputs (Tassa, Mansard and Todorov,
/// "Control-Limited Differential Dynamic Programming", ICRA 2014).

#include <Eigen/Cholesky>
#include <vector>

#include "propwash/math/eigen.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/impl/linearize.hpp"

namespace propwash {

/// Horizon and weights. An error as large as its tolerance costs 1 in each period.
struct MpcParameters {
  int horizon = 20;                    ///< periods
  double period = 0.04;                ///< s
  int substeps = 2;                    ///< RK4 steps of the model in a period
  double position_tolerance = 0.1;     ///< m
  double velocity_tolerance = 1.0;     ///< m/s
  double tilt_tolerance = 1.0;         ///< rad, about body x and y
  double yaw_tolerance = 1.0;          ///< rad, about body z
  double rates_tolerance = 5.0;        ///< rad/s
  double command_tolerance = 0.3;      ///< of the range of a motor
  double disturbance_bandwidth = 5.0;  ///< 1/s, of the disturbance observer; 0: none
};

/// The controller of one vehicle, Mpc.
///
///     Mpc mpc{vehicles::flightgoggles()};
///     // at 240 Hz; points: horizon + 1 states, now, one period later, …
///     const auto speeds = mpc.command(uav.state(), points, 1.0 / 240.0);
///
/// A point is a state on the reference with the rotor speeds that it requires. A command allocates
/// nothing. The model has no delays of commands and no battery circuit, and the ground effect of a
/// change of height is neglected in its derivatives.
///
/// `Columns` of the derivatives are computed in one pass.
template <int Columns>
class BasicMpc {
 public:
  using State = MulticopterState<double, Dynamic>;  ///< of the vehicle, and of the reference
  using Speeds = SmallArray<double, Dynamic>;       ///< rad/s

  /// @throws ParameterError for an invalid vehicle or parameter.
  explicit BasicMpc(const VehicleParameters& vehicle, const MpcParameters& parameters = {});

  /// The rotor speeds to command in `state`, `elapsed` s after the command before. Where the motion
  /// is too fast for the steps of the model, those of the first point.
  /// @throws std::invalid_argument for another number of points or rotors, a state or points that
  /// are not finite, or an `elapsed` that is negative or not finite; the object is then unchanged.
  Speeds command(const State& state, Span<const State> points, double elapsed);
  /// Forgets the plan and the disturbance.
  void reset();

  const MpcParameters& parameters() const { return parameters_; }  ///< of the constructor
  int rotors() const { return model_.rotors.size(); }              ///< number of rotors
  /// The planned states: horizon + 1, the first one measured; before the first command those at
  /// the origin.
  Span<const State> plan() const { return plan_.states; }
  Vec3<double> disturbance_force() const { return force_W_; }    ///< N, world frame, observed
  Vec3<double> disturbance_torque() const { return torque_B_; }  ///< N m, body frame, observed

 private:
  static constexpr int max_states = detail::body_states + max_size;
  // one type for all sizes, and lazy products: others take twice the time to compile
  using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, max_states, 1>;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, max_states,
                               max_states>;

  struct Plan {
    std::vector<State> states;     // horizon + 1
    std::vector<Speeds> commands;  // horizon
  };
  /// The law of a period: command = planned + change + gain * (state - planned).
  struct Law {
    Vector change;
    Matrix gain;
  };
  struct Step {
    Matrix A;
    Matrix B;
  };

  template <class T>
  MulticopterState<T, Dynamic> step(const MulticopterState<T, Dynamic>& x,
                                    const SmallArray<T, Dynamic>& command, double dt,
                                    int substeps) const;
  void check(const State& state, Span<const State> points, double elapsed) const;
  void observe(const State& state, double elapsed);
  void shift(double elapsed);
  double prepare(const State& state, Span<const State> points, double elapsed);
  double roll_out(double fraction, const Plan& nominal, Span<const State> points, Plan& to) const;
  double cost(const State& x, const State& point) const;
  double command_cost(const Speeds& command, const State& point) const;
  Step derivatives(const State& x, const Speeds& command) const;
  void improve(Span<const State> points);
  Speeds limited(Speeds command) const;
  Vector difference(const State& x, const State& from) const;

  MpcParameters parameters_;
  MulticopterModel<double, Dynamic, GeneralShape> model_{};
  Vec3<double> inertia_{};  // kg m^2, diagonal
  Vector weight_;           // of the differences of states
  Vector command_weight_;
  bool has_plan_ = false;
  Plan plan_, next_;
  std::vector<Law> laws_;
  Vec3<double> force_W_{}, torque_B_{};
  State last_state_{};
  Speeds last_command_{};
};
using Mpc = BasicMpc<6>;  ///< the controller of one vehicle

}  // namespace propwash

#include "propwash/vehicle/impl/mpc.hpp"
