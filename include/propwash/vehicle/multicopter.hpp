#pragma once
/// @file
/// One multicopter: command -> rate controller -> motors -> forces -> rigid body -> IMU.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "propwash/control/outer_commands.hpp"
#include "propwash/control/rate_controller.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/imu.hpp"
#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/multicopter_snapshot.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"
#include "propwash/vehicle/trim.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A command: rotor speeds [rad/s], in the vehicle's order of rotors.
template <int N = Dynamic, class T = double>
struct RotorSpeeds {
  SmallArray<T, N> speeds{};  ///< rad/s
};
template <class... U>
RotorSpeeds(U...) -> RotorSpeeds<static_cast<int>(sizeof...(U)), std::common_type_t<U...>>;
template <class T, int N>
RotorSpeeds(SmallArray<T, N>) -> RotorSpeeds<N, T>;

/// Options of a multicopter, fixed when it is made.
struct MulticopterOptions {
  Integrator integrator = Integrator::rk4;  ///< method of integration
  std::uint64_t seed = 0;                   ///< key of all noise
  std::uint32_t id = 0;  ///< number of the vehicle: vehicles with one seed differ by it
  bool noise = true;     ///< false: process noise, IMU noise and bias are off
};

/// The FlightGoggles multicopter with N rotors, or with any number (Dynamic) up to twelve.
///
///     Multicopter<4> uav{vehicles::flightgoggles()};
///     for (int i = 0; i < 960; ++i) uav.step(RateThrust{rates, thrust}, 1.0 / 960);
///
/// Not modelled: contact, ground effect, flexibility, the air's own dynamics. A step allocates
/// nothing. It throws only before anything has changed: ParameterError for a dt that
/// validate_time_step refuses or rates that the rotors cannot control, std::invalid_argument for
/// another number of rotors. Numbers of commands, wind and external wrench are not checked: what is
/// not finite gives a state that is not finite. A dt that is too long for the motors is flown;
/// `warning()` then says why the result is doubtful.
///
/// An object is aligned to 64 bytes. A copy is independent; a moved-from object may only be
/// assigned to or destroyed. See docs/embedding.md.
template <int N = Dynamic, class T = double>
class Multicopter {
 public:
  using State = MulticopterState<T, N>;        ///< physical state
  using Snapshot = MulticopterSnapshot<N, T>;  ///< everything that affects the future

  /// @throws ParameterError for a vehicle that cannot be, or whose number of rotors is not N.
  explicit Multicopter(const VehicleParameters& parameters, const MulticopterOptions& options = {});

  /// At rest in level attitude at the origin, rotors at hover speed.
  State trim() const;
  /// In a steady flight, straight or turning, from the origin with its heading along world x; the
  /// flight is through the air, so the present wind is in the velocity. See vehicle/trim.hpp.
  /// @throws ParameterError where there is no such flight within the rotors' limits.
  State trim(const SteadyFlight& flight) const;

  /// The physical state after the last step.
  const State& state() const { return memory_.state; }
  /// Replaces the physical state; time, controller, biases and noise go on. The attitude is
  /// normalised.
  /// @throws std::invalid_argument for another number of rotors, a number that is not finite or an
  /// attitude of zero; nothing has changed then.
  void set_state(const State& state) {
    require_rotors(state.rotor_speeds.size());
    memory_.state = checked(state);
  }
  /// Starts again at time 0 from `state`: controller and delays start again, biases are drawn anew.
  /// The counter of the noise goes on, so that no two episodes are alike. Wind, battery voltage,
  /// external wrench and rotor effectiveness stay. Throws as set_state does.
  void reset(const State& state);
  void reset() { reset(trim()); }
  /// The same with this key of the noise and its counter at 0, as a new vehicle.
  void reset(const State& state, std::uint64_t seed);

  /// Advances by dt [s] > 0 under a command that is held.
  ///
  /// With RateThrust, the rate controller takes the gyroscope reading of the end of the previous
  /// step, as in the published node. Rotor speeds are limited to the motors' range.
  template <class U>
  void step(const RateThrust<U>& command, double dt) {
    if (constants_.allocation.rank < 4) validate_allocation(parameters_);
    prepare_step(dt);
    memory_.outer_loop = -1;
    advance(rate_controlled(command));
  }
  template <int M, class U>
  void step(const RotorSpeeds<M, U>& command, double dt) {
    const SmallArray<T, N> speeds = speeds_of(command);
    prepare_step(dt);
    memory_.outer_loop = -1;
    advance(speeds);
  }

  /// The same under an AttitudeThrust, VelocityCommand, PositionCommand or TrajectoryCommand of
  /// numbers of type T. An outer loop runs where steps() is a multiple of outer_loops().interval,
  /// and where it was not the one flown before; between its runs, what it gave is held. It takes
  /// the state as known but for the body rates.
  template <class Command>
  auto step(const Command& command, double dt) -> decltype(void(outer_command(command))) {
    step(outer_command(command), dt);
  }
  void step(const OuterLoopCommand<T>& command, double dt);
  /// Gains and limits of the outer loops: outer_loops_for(parameters(), dt of the last step), until
  /// they are set.
  OuterLoopParameters outer_loops() const {
    return outer_is_set_ ? outer_parameters_ : outer_loops_for(parameters_, memory_.dt);
  }
  /// @throws ParameterError for gains out of range, or a vehicle that outer loops cannot fly.
  void set_outer_loops(const OuterLoopParameters& parameters);

  /// The IMU's reading for the present state; the last one taken where the IMU is slower than the
  /// physics.
  ImuReading<T> imu() const { return step_.imu_is_slower ? memory_.held_reading : measured(); }
  /// d/dt of the state under what acted during the last step.
  State derivative() const { return rate(memory_.state, memory_.input); }
  /// d/dt of any state, its attitude of unit length, under rotor speeds: within the motors' limits,
  /// at the present battery voltage, in the present wind, under the external wrench; without
  /// command delay and noise.
  template <int M, class U>
  State derivative(const State& state, const RotorSpeeds<M, U>& command) const {
    require_rotors(state.rotor_speeds.size());
    MulticopterInput<T, N> input = memory_.input;
    input.command = driven(speeds_of(command), [](SmallArray<T, N>&) {});
    input.force_W = memory_.external_force_W;
    input.torque_B = memory_.external_torque_B;
    return rate(state, input);
  }

  double time() const { return memory_.time; }  ///< s, since reset
  /// Steps since construction or since a reset with a seed: the counter of the noise.
  std::uint64_t steps() const { return memory_.steps; }
  /// Number of rotors.
  int rotors() const { return constants_.allocation.rotors(); }
  /// The parameters that the vehicle was made with.
  const VehicleParameters& parameters() const { return parameters_; }
  /// The options that the vehicle was made with.
  const MulticopterOptions& options() const { return options_; }
  /// The control allocation.
  const Allocation<T, N>& allocation() const { return constants_.allocation; }
  /// The present biases of the IMU.
  const ImuBias<T>& imu_bias() const { return memory_.bias; }
  /// rad/s, the rotor speeds that the motors were driven to in the last step.
  const SmallArray<T, N>& rotor_command() const { return memory_.input.command; }
  /// Memory of the rate controller.
  const RateControllerState<T>& controller() const { return memory_.controller; }
  /// Replaces the memory of the rate controller.
  void set_controller(const RateControllerState<T>& state) { memory_.controller = state; }

  /// Why the results of steps of the last dt are doubtful, or an empty text, also before the first
  /// step: see time_step_warning.
  std::string warning() const {
    if (memory_.time == 0.0) return {};
    return time_step_warning(fastest_motor(parameters_.motor), options_.integrator, memory_.dt);
  }

  const Vec3<T>& wind() const { return memory_.input.wind_W; }  ///< m/s, world frame
  /// Mean wind [m/s] in the world frame, until it is changed.
  void set_wind(const Vec3<T>& wind_W) { memory_.input.wind_W = wind_W; }
  /// Force [N, world frame] and torque [N m, body frame] that act on the vehicle beside those of
  /// the model, at its centre of mass, until they are changed: a payload, a tether, contact in a
  /// host simulator. The accelerometer measures them.
  void set_external_wrench(const Vec3<T>& force_W, const Vec3<T>& torque_B) {
    memory_.external_force_W = force_W;
    memory_.external_torque_B = torque_B;
    is_pushed_ = is_pushed();
    apply_wrench();
  }
  const Vec3<T>& external_force() const { return memory_.external_force_W; }    ///< N, world frame
  const Vec3<T>& external_torque() const { return memory_.external_torque_B; }  ///< N m, body frame
  /// Factors on the thrust and the aerodynamic torque of each rotor until they are changed: 1 as in
  /// the parameters, 0 for a lost propeller. Controllers do not know of them.
  /// @throws std::invalid_argument for another number of rotors, or factors outside 0 to
  /// max_effectiveness; nothing has changed then.
  void set_rotor_effectiveness(const SmallArray<T, N>& factors);
  /// Factors on thrust and torque of each rotor.
  const SmallArray<T, N>& rotor_effectiveness() const { return memory_.rotor_effectiveness; }
  double battery_voltage() const { return memory_.voltage; }  ///< V
  /// Without effect on a vehicle whose battery.nominal_voltage is 0.
  void set_battery_voltage(double voltage) { memory_.voltage = voltage; }

  /// Everything that affects the future, and back: seed and id of the noise too.
  Snapshot snapshot() const { return memory_; }
  /// @throws std::invalid_argument for a snapshot of a multicopter with other parameters,
  /// integrator or noise switch, and for numbers that no snapshot of a finite state has (is_sound);
  /// nothing has changed then.
  void restore(const Snapshot& snapshot);

 private:
  /// The step size, and what follows from it beside constants_.
  struct Step {
    double dt = 0.0;
    bool imu_is_slower = false;
    StepDelay delay;
    bool is_checked = false;  // whether dt has passed require_time_step
  };

  void require_rotors(int count) const { detail::require_rotors(count, rotors()); }
  void apply_wrench() {
    memory_.input.force_W = memory_.external_force_W + memory_.noise_force_W;
    memory_.input.torque_B = memory_.external_torque_B + memory_.noise_torque_B;
  }
  bool is_pushed() const {
    const auto& force_W = memory_.external_force_W;
    const auto& torque_B = memory_.external_torque_B;
    return force_W.x != 0 || force_W.y != 0 || force_W.z != 0 || torque_B.x != 0 ||
           torque_B.y != 0 || torque_B.z != 0;
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
    if (step_.is_checked && same_bits(dt, step_.dt)) return;  // a NaN must not pass
    require_time_step(dt);
    prepare(dt);
    step_.is_checked = true;
  }
  void require_time_step(double dt) const;
  void prepare(double dt);
  SmallArray<T, N> rate_controlled(const RateThrust<T>& command);
  template <class U>
  SmallArray<T, N> rate_controlled(const RateThrust<U>& command) {
    return rate_controlled(RateThrust<T>{cast<T>(command.rates), T(command.thrust)});
  }
  template <class Delay>
  SmallArray<T, N> driven(const SmallArray<T, N>& command, const Delay& delay) const;
  template <class F>
  auto with_model(const F& f) const {
    return parallel_ ? f(parallel_model_) : f(constants_.model);
  }
  State rate(const State& state, const MulticopterInput<T, N>& input) const {
    return with_model(
        [&](const auto& model) { return multicopter_derivative(model, state, input); });
  }
  void advance(const SmallArray<T, N>& command);
  void prepare_outer();
  void run_outer(const OuterLoopCommand<T>& command);
  template <class Held, class Shape>
  void integrate(const MulticopterModel<T, N, Shape>& model);
  void draw_noise();
  void draw_imu_noise();
  ImuReading<T> measured() const;

  VehicleParameters parameters_;
  MulticopterOptions options_;
  bool parallel_ = false;
  bool noisy_ = false;
  bool is_pushed_ = false;  // by an external wrench
  MulticopterModel<T, N, ParallelShape> parallel_model_{};
  TickConstants<T, N, GeneralShape> constants_{};  // their model is of a vehicle of any structure
  Step step_{};
  OuterLoopParameters outer_parameters_{};
  bool outer_is_set_ = false;
  double outer_dt_ = 0.0;  // for which outer_law_ is made
  OuterLoopLaw<T> outer_law_{};
  ImuNoise<T> imu_noise_{};  // of the present reading; from memory_.steps
  // on lines of the cache by itself: a state that straddles them can cost half a step more
  alignas(64) Snapshot memory_{};
};

}  // namespace propwash

#include "propwash/vehicle/impl/multicopter.hpp"
#include "propwash/vehicle/impl/multicopter_outer.hpp"

#if defined(PROPWASH_STATIC)  // the instances of propwash::static, in src/multicopter.cpp
namespace propwash {
extern template class Multicopter<4>;
extern template class Multicopter<>;
}  // namespace propwash
#endif
