#pragma once
/// @file
/// Simulation of one multicopter; see tick.hpp for the order of a step.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "propwash/control/outer_commands.hpp"
#include "propwash/control/rate_controller.hpp"
#include "propwash/fwd.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/imu.hpp"
#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/multicopter_snapshot.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"
#include "propwash/vehicle/trim.hpp"
#include "propwash/vehicle/turbulence.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A command of rotor speeds [rad/s], in the rotor order of the vehicle.
template <int N = Dynamic, class T = double>
struct RotorSpeeds {
  SmallArray<T, N> speeds{};  ///< rad/s
};
template <class... U>
RotorSpeeds(U...) -> RotorSpeeds<static_cast<int>(sizeof...(U)), std::common_type_t<U...>>;
template <class T, int N>
RotorSpeeds(SmallArray<T, N>) -> RotorSpeeds<N, T>;

/// Options of a Multicopter.
struct MulticopterOptions {
  Integrator integrator = Integrator::rk4;  ///< method of integration
  std::uint64_t seed = 0;                   ///< seed of all noise
  std::uint32_t id = 0;  ///< vehicle id, selects the noise among vehicles with the same seed
  bool noise = true;     ///< false: no process noise, IMU noise and IMU bias; turbulence remains
  /// The vehicle that all controllers assume; none: the vehicle that they control. See
  /// docs/control/control-vehicle.md.
  std::optional<VehicleParameters> control_vehicle{};
  /// {wind_speed_6m, altitude, airspeed}; wind_speed_6m 0: none. Added to the wind.
  DrydenParameters<double> turbulence{};
  double turbulence_heading = 0.0;  ///< rad, where the mean wind blows to, from world x
};

/// A multicopter with N rotors, or with up to twelve (Dynamic); the FlightGoggles model.
///
///     Multicopter<4> uav{vehicles::flightgoggles()};
///     for (int i = 0; i < 960; ++i) uav.step(RateThrust{rates, thrust}, 1.0 / 960);
///
/// Not modelled: flexible structures, dynamics of the air; contact only with level ground. A step
/// does not allocate. If it throws, the object is unchanged: ParameterError for a dt that
/// validate_time_step rejects or for a RateThrust that the rotors cannot control,
/// std::invalid_argument for a wrong number of rotors. Values of commands, wind and external wrench
/// are not checked; non-finite values make the state non-finite. A dt that is too long for the time
/// constants of the motors is accepted; see warning().
///
/// Objects are aligned to 64 bytes. Copies are independent; a moved-from object may only be
/// assigned to or destroyed. See docs/embedding.md.
template <int N, class T>
class Multicopter {
  static_assert(N == Dynamic || (N > 0 && N <= max_size),
                "Multicopter<N, T>: expected N from 1 to 12 rotors, or Dynamic");
  static_assert(std::is_floating_point_v<T>, "Multicopter<N, T>: expected T = float or double");

 public:
  using State = MulticopterState<T, N>;        ///< physical state
  using Snapshot = MulticopterSnapshot<N, T>;  ///< the complete state

  /// @throws ParameterError for invalid parameters, or if the number of rotors is not N.
  explicit Multicopter(const VehicleParameters& parameters, const MulticopterOptions& options = {});

  /// The state at rest in level attitude at the origin, rotors at hover speed.
  State trim() const;
  /// The state of a steady flight, straight or turning, at the origin with heading along world x.
  /// The flight is relative to the air: the present wind is added to the velocity. See
  /// vehicle/trim.hpp.
  /// @throws ParameterError if no such flight exists within the speed limits of the rotors.
  State trim(const SteadyFlight& flight) const;

  /// The physical state after the last step.
  const State& state() const { return memory_.state; }
  /// Replaces the physical state and normalises its attitude; time, controller, biases and noise
  /// are unchanged.
  /// @throws std::invalid_argument for a wrong number of rotors, a number that is not finite or a
  /// zero attitude; the object is then unchanged.
  void set_state(const State& state) {
    require_rotors(state.rotor_speeds.size());
    memory_.state = checked(state);
  }
  /// Restarts at time 0 from `state`: resets controller and delay, draws new biases. The noise
  /// counter continues, so that episodes differ. A battery circuit is fully charged; wind, a given
  /// battery voltage, external wrench and rotor effectiveness are unchanged. Throws like set_state.
  void reset(const State& state);
  void reset() { reset(trim()); }
  /// The same with a new seed and the noise counter at 0, like a new vehicle.
  void reset(const State& state, std::uint64_t seed);

  /// Advances by dt [s] > 0 with a constant command.
  ///
  /// For a RateThrust, the rate controller uses the gyroscope reading at the end of the previous
  /// step, as in the published node. Rotor speeds are limited to the range of the motors.
  template <class U>
  void step(const RateThrust<U>& command, double dt) {
    if (constants_.allocation.rank < 4) refuse_rate_thrust();
    prepare_step(dt);
    memory_.outer_loop = -1;
    const RateThrust<T> rates{cast<T>(command.rates), T(command.thrust)};
    advance(&rates, nullptr);
  }
  template <int M, class U>
  void step(const RotorSpeeds<M, U>& command, double dt) {
    const SmallArray<T, N> speeds = speeds_of(command);
    prepare_step(dt);
    memory_.outer_loop = -1;
    advance(nullptr, &speeds);
  }

  /// The same for an AttitudeThrust, VelocityCommand, PositionCommand or TrajectoryCommand of
  /// scalar type T. An outer loop is updated when steps() is a multiple of outer_loops().interval
  /// and when the loop changes; its output is held between updates. It uses position, velocity and
  /// attitude of `estimate`, by default the true ones; body rates are always measured, those of the
  /// estimate are ignored.
  template <class Command>
  auto step(const Command& command, double dt, const MotionEstimate<T>* estimate = nullptr)
      -> decltype(void(outer_command(command))) {
    step(outer_command(command), dt, estimate);
  }
  void step(const OuterLoopCommand<T>& command, double dt,
            const MotionEstimate<T>* estimate = nullptr);
  /// Gains and limits of the outer loops. Until they are set: outer_loops_for(control_vehicle(), dt
  /// of the last step).
  OuterLoopParameters outer_loops() const;
  /// @throws ParameterError for gains out of range, or a vehicle that outer loops cannot control.
  void set_outer_loops(const OuterLoopParameters& parameters);

  /// The IMU reading for the present state; the last sample if the IMU has a lower rate
  /// than the steps.
  ImuReading<T> imu() const { return step_.imu_is_slower ? memory_.held_reading : measured(); }
  /// Time derivative of the state under the inputs of the last step.
  State derivative() const { return rate(memory_.state, present_input()); }
  /// Time derivative of any state with normalised attitude under commanded rotor speeds, which are
  /// limited: with the present battery voltage, wind and external wrench, without command delay and
  /// noise.
  /// @throws std::invalid_argument for a wrong number of rotors.
  template <int M, class U>
  State derivative(const State& state, const RotorSpeeds<M, U>& command) const {
    require_rotors(state.rotor_speeds.size());
    MulticopterInput<T, N> input = present_input();
    input.command = limited(constants_.model, speeds_of(command));
    drive_motors(
        constants_.model, input.command, [](SmallArray<T, N>&) {}, has_battery(),
        [this](const SmallArray<T, N>&) { return voltage_ratio(); });
    input.force_W = memory_.external_force_W;
    input.torque_B = memory_.external_torque_B;
    return rate(state, input);
  }

  double time() const { return memory_.time; }  ///< s, since reset
  /// Number of steps since construction or a reset with a seed; also the noise counter.
  std::uint64_t steps() const { return memory_.steps; }
  /// Number of rotors.
  int rotors() const { return constants_.allocation.rotors(); }
  /// The parameters that the vehicle was constructed with.
  const VehicleParameters& parameters() const { return parameters_; }
  /// The vehicle that the controllers assume: options().control_vehicle, or else parameters().
  const VehicleParameters& control_vehicle() const {
    return options_.control_vehicle ? *options_.control_vehicle : parameters_;
  }
  /// The options that the vehicle was constructed with.
  const MulticopterOptions& options() const { return options_; }
  /// The control allocation of control_vehicle().
  const Allocation<T, N>& allocation() const { return constants_.allocation; }
  /// The present biases of the IMU.
  const ImuBias<T>& imu_bias() const { return memory_.bias; }
  /// Rotor speeds [rad/s] commanded to the motors in the last step, after delay and battery.
  const SmallArray<T, N>& rotor_command() const { return memory_.input.command; }
  /// State of the rate controller.
  const RateControllerState<T>& controller() const { return memory_.controller; }
  /// Replaces the state of the rate controller.
  void set_controller(const RateControllerState<T>& state) { memory_.controller = state; }

  /// The time_step_warning for the last dt; empty if there is none, and before the first step.
  std::string warning() const {
    if (memory_.time == 0.0) return {};
    return time_step_warning(shortest_time_constant(parameters_), options_.integrator, memory_.dt);
  }

  const Vec3<T>& wind() const { return memory_.input.wind_W; }  ///< m/s, world frame
  /// Sets the mean wind [m/s] in the world frame, which applies until it is set again.
  void set_wind(const Vec3<T>& wind_W) { memory_.input.wind_W = wind_W; }
  /// Sets an additional force [N, world frame] at the centre of mass and torque [N m, body frame],
  /// for example of a payload, a tether or a contact. They act until changed; the accelerometer
  /// measures the force.
  void set_external_wrench(const Vec3<T>& force_W, const Vec3<T>& torque_B) {
    memory_.external_force_W = force_W;
    memory_.external_torque_B = torque_B;
    update_wrench();
  }
  const Vec3<T>& external_force() const { return memory_.external_force_W; }    ///< N, world frame
  const Vec3<T>& external_torque() const { return memory_.external_torque_B; }  ///< N m, body frame
  /// Sets factors on thrust and aerodynamic torque of each rotor: 1 nominal, 0 for a lost
  /// propeller. Controllers do not take them into account.
  /// @throws std::invalid_argument for a wrong number of rotors, or factors outside
  /// [0, max_effectiveness]; the object is then unchanged.
  void set_rotor_effectiveness(const SmallArray<T, N>& factors);
  /// Factors on thrust and torque of each rotor.
  const SmallArray<T, N>& rotor_effectiveness() const { return memory_.rotor_effectiveness; }
  /// V; that of the last step if the vehicle has a battery circuit.
  double battery_voltage() const { return memory_.voltage; }
  /// Sets the voltage [V]; no effect if battery.nominal_voltage is 0.
  /// @throws std::invalid_argument if the vehicle has a battery circuit, which computes it.
  void set_battery_voltage(double voltage) {
    require_circuit(false);
    memory_.voltage = voltage;
  }
  /// A, in the last step; 0 without a battery circuit.
  double battery_current() const { return static_cast<double>(memory_.battery.current); }
  /// Remaining fraction of the battery's capacity; 1 without a battery circuit.
  double state_of_charge() const { return static_cast<double>(memory_.battery.state_of_charge); }
  /// Replaces the battery by one at rest with a charge from 0 to 1; reset() charges it to 1.
  /// @throws std::invalid_argument for other numbers, or for a vehicle without a battery circuit.
  void set_state_of_charge(double state_of_charge);

  /// The complete state, including seed and id of the noise; see restore().
  Snapshot snapshot() const { return memory_; }
  /// Continues bit for bit from a snapshot.
  /// @throws std::invalid_argument for a snapshot of a multicopter with other parameters,
  /// turbulence, integrator or noise option, and for an invalid one (is_valid); the object is then
  /// unchanged.
  void restore(const Snapshot& snapshot);

 private:
  /// The step size, and values derived from it that are not in constants_.
  struct Step {
    double dt = 0.0;
    bool imu_is_slower = false;
    StepDelay delay;
    bool is_checked = false;  // whether dt has passed require_time_step
  };

  bool has_turbulence() const { return options_.turbulence.wind_speed_6m > 0.0; }
  /// The inputs of the last step, with the velocity of the air at its end.
  MulticopterInput<T, N> present_input() const {
    MulticopterInput<T, N> input = memory_.input;
    if (has_turbulence()) {
      input.wind_W = input.wind_W + gust_velocity(constants_.turbulence, memory_.turbulence);
    }
    return input;
  }
  void require_rotors(int count) const { detail::require_rotors(count, rotors()); }
  bool has_battery() const { return parameters_.battery.nominal_voltage > 0.0; }
  bool has_circuit() const { return parameters_.battery.cells > 0.0; }
  void require_circuit(bool expected) const {
    if (has_circuit() != expected) detail::refuse_battery(parameters_);
  }
  void apply_wrench() {
    memory_.input.force_W = memory_.external_force_W + memory_.noise_force_W;
    memory_.input.torque_B = memory_.external_torque_B + memory_.noise_torque_B;
  }
  void update_wrench() {
    const auto& force_W = memory_.external_force_W;
    const auto& torque_B = memory_.external_torque_B;
    has_external_wrench_ = force_W.x != 0 || force_W.y != 0 || force_W.z != 0 || torque_B.x != 0 ||
                           torque_B.y != 0 || torque_B.z != 0;
    apply_wrench();
  }
  void make_rotors();
  template <int M, class U>
  SmallArray<T, N> speeds_of(const RotorSpeeds<M, U>& command) const {
    static_assert(M == N || M == Dynamic || N == Dynamic, "expected as many speeds as rotors");
    if constexpr (M != N || N == Dynamic) require_rotors(command.speeds.size());
    SmallArray<T, N> speeds;
    speeds.resize(rotors());
    for_each_index<N>(rotors(), [&](int i) PROPWASH_LAMBDA { speeds[i] = T(command.speeds[i]); });
    return speeds;
  }
  void prepare_step(double dt) {
    if (step_.is_checked && same_bits(dt, step_.dt))
      return;  // not ==, which -ffast-math breaks for NaN
    require_time_step(dt);
    prepare(dt);
    step_.is_checked = true;
  }
  void require_time_step(double dt) const;
  void prepare(double dt);
  T voltage_ratio() const {
    return static_cast<T>(memory_.voltage / parameters_.battery.nominal_voltage);
  }
  template <class F>
  auto with_model(const F& f) const {
    return parallel_ ? f(parallel_model_) : f(constants_.model);
  }
  State rate(const State& state, const MulticopterInput<T, N>& input) const;
  void refuse_rate_thrust() const;
  template <class HeldWrench>
  struct Host;
  void advance(const RateThrust<T>* rates, const SmallArray<T, N>* speeds);
  template <class Held, class Shape>
  void fly(const MulticopterModel<T, N, Shape>& model, const RateThrust<T>* rates,
           const SmallArray<T, N>* speeds);
  void prepare_outer();
  void update_outer(const OuterLoopCommand<T>& command, const MotionEstimate<T>* estimate);
  void draw_imu_noise();
  ImuReading<T> measured() const;

  VehicleParameters parameters_;
  MulticopterOptions options_;
  bool parallel_ = false;
  bool has_noise_ = false;
  bool has_external_wrench_ = false;
  MulticopterModel<T, N, ParallelShape> parallel_model_{};
  TickConstants<T, N, GeneralShape> constants_{};
  Step step_{};
  OuterLoopParameters outer_parameters_{};
  bool outer_is_set_ = false;
  double outer_dt_ = 0.0;  // of outer_; 0: not computed yet
  OuterLoopConstants<T, N> outer_{};
  ImuNoise<T> imu_noise_{};  // of the present reading
  // aligned to cache lines: otherwise a step can take 1.5 times as long
  alignas(64) Snapshot memory_{};
};

}  // namespace propwash

#include "propwash/vehicle/impl/multicopter.hpp"
#include "propwash/vehicle/impl/multicopter_outer.hpp"

#if defined(PROPWASH_STATIC)  // instantiated in propwash::static, src/multicopter*.cpp
namespace propwash {
extern template class Multicopter<4>;
extern template class Multicopter<>;
}  // namespace propwash
#endif
