#pragma once
/// @file
/// Many multicopters at once: one call steps all of them, in SIMD lanes and, where the caller lends
/// threads, on several cores.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/kernels.hpp"
#include "propwash/fleet/impl/make_constants.hpp"
#include "propwash/fleet/impl/memory.hpp"
#include "propwash/fleet/impl/outer_pass.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

namespace detail {
struct FleetSnapshotHeader;
}

struct FleetOptions {
  Integrator integrator = Integrator::rk4;  ///< rk4 or euler
  double dt = 1.0 / 960.0;                  ///< s, of every step
  std::uint64_t seed = 0;                   ///< key of all noise
  std::uint32_t first_id = 0;               ///< number of vehicle 0; the others follow
  bool noise = true;  ///< false: process noise, IMU noise and bias are off; turbulence is not
  double floor = -std::numeric_limits<double>::infinity();  ///< m, height of the ground
  DrydenParameters<double> turbulence{};                    ///< wind_speed_6m 0: still air
  double turbulence_heading = 0.0;  ///< rad, to where the mean wind blows, from world x
  int max_action_delay = 0;         ///< steps, the longest that set_action_delay will take
  /// Whether every rate controller goes by the inertia, rotors and motors of the fleet's vehicle,
  /// whatever the vehicle that it flies has of its own; its gains stay its own.
  bool nominal_controller = false;
};

/// Commands of a fleet, in the caller's memory.
template <class T>
struct FleetRateThrust {
  Span<const T> rates;   ///< rad/s, body frame, (size, 3)
  Span<const T> thrust;  ///< N, (size)
};
template <class T>
struct FleetRotorSpeeds {
  Span<const T> speeds;  ///< rad/s, (size, rotors)
};

/// Parts of the state of a fleet, each (size, width), or (width) for all vehicles alike, or empty
/// for what is not said.
template <class T>
struct FleetState {
  Span<const T> position;      ///< m, world frame, width 3
  Span<const T> velocity;      ///< m/s, world frame, width 3
  Span<const T> attitude;      ///< q_WB, unit, w x y z, width 4
  Span<const T> body_rates;    ///< rad/s, body frame, width 3
  Span<const T> rotor_speeds;  ///< rad/s, width rotors
};

/// What can be read of a fleet, one row per vehicle.
enum class FleetField {
  position,             ///< m, world frame, 3
  velocity,             ///< m/s, world frame, 3
  attitude,             ///< q_WB, w x y z, 4
  body_rates,           ///< rad/s, body frame, 3
  rotor_speeds,         ///< rad/s, one per rotor
  rotor_command,        ///< rad/s, what the motors were driven to in the last step
  rotor_effectiveness,  ///< factors on thrust and torque, one per rotor
  wind,                 ///< m/s, mean wind, world frame, 3
  external_force,       ///< N, world frame, 3
  external_torque,      ///< N m, body frame, 3
  accelerometer_bias,   ///< m/s^2, sensor axes, 3
  gyroscope_bias,       ///< rad/s, sensor axes, 3
  contact,              ///< 1 where the floor was touched during the last call, 1
  diverged              ///< 1 where a state is not finite, 1
};

/// `size` FlightGoggles multicopters with N rotors, or with any number (Dynamic) up to twelve.
///
///     Fleet<float, 4> fleet{vehicles::flightgoggles(), 4096, options};
///     fleet.step(FleetRateThrust<float>{rates, thrust}, 10);
///
/// Vehicle i is Multicopter{parameters, {integrator, seed, first_id + i}}, but for rounding: its
/// noise depends on seed, id and step alone, so its bits are the same in any fleet that flies on
/// the same kernel, on any threads. A step allocates nothing, starts no thread and does not check
/// the numbers of a command. A dt that is too long for the motors is flown; `warning()` then says
/// why the result is doubtful. What throws, throws before anything has changed: ParameterError for
/// vehicles and options that cannot be, std::invalid_argument for sizes.
template <class T = float, int N = Dynamic>
class Fleet {
 public:
  Fleet(const VehicleParameters& vehicle, std::size_t size, const FleetOptions& options = {},
        FleetKernelSource<T> kernels = &native_fleet_kernels<T, N>);

  std::size_t size() const { return size_; }
  int rotors() const { return rotors_; }
  const FleetOptions& options() const { return options_; }
  /// The vehicle from which the fleet was made.
  const VehicleParameters& vehicle() const { return vehicle_; }

  /// Advances all vehicles by `substeps` steps of dt under a command that is held. With
  /// FleetRateThrust the rate controller runs in every step, on the noisy gyroscope.
  void step(const FleetRateThrust<T>& command, int substeps = 1, ExecutorRef executor = {});
  void step(const FleetRotorSpeeds<T>& command, int substeps = 1, ExecutorRef executor = {});
  /// The same under what outer loops are to do. A loop runs where the counter of the steps is a
  /// multiple of outer_loops().interval, and where it was not the one flown before; between its
  /// runs, what it gave is held. It takes the state as known but for the body rates, and its
  /// vehicle for vehicle(), of which each has its own weight. The first such command allocates.
  void step(const FleetAttitudeThrust<T>& command, int substeps = 1, ExecutorRef executor = {});
  void step(const FleetVelocityCommand<T>& command, int substeps = 1, ExecutorRef executor = {});
  void step(const FleetPositionCommand<T>& command, int substeps = 1, ExecutorRef executor = {});
  void step(const FleetTrajectoryCommand<T>& command, int substeps = 1, ExecutorRef executor = {});

  /// Gains and limits of the outer loops: outer_loops_for(vehicle(), dt), until they are set.
  OuterLoopParameters outer_loops() const;
  /// @throws ParameterError for gains out of range, or a vehicle that outer loops cannot fly.
  void set_outer_loops(const OuterLoopParameters& parameters);

  /// s, since each vehicle's reset: (size).
  void time(Span<double> seconds) const;
  /// Steps since construction or since a reset with a seed: the counter of the noise.
  std::uint64_t steps() const { return steps_; }
  /// The numbers of a field in one row.
  int width(FleetField field) const;
  /// Copies a field into rows of `width`.
  void read(FleetField field, Span<T> rows) const;
  /// The four fields of rigid bodies at once, for which memory is gone through but once.
  void read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                       Span<T> body_rates) const;
  /// The IMU's readings for the present state, (size, 3) each; where the IMU is slower than the
  /// physics, the last ones taken. Allocates.
  void read_imu(Span<T> specific_force, Span<T> angular_rate, ExecutorRef executor = {}) const;

  /// Starts vehicles again at time 0: at rest in level attitude at the origin, rotors at hover
  /// speed, unless `state` says otherwise, controller at rest, biases drawn anew. `mask` has one
  /// truth value per vehicle; empty, it means all. The counter of the noise goes on, so that no two
  /// episodes are alike. Attitudes are normalised.
  /// @throws std::invalid_argument for parts of another size, numbers that are not finite or an
  /// attitude of zero; nothing has changed then.
  void reset(const FleetState<T>& state = {}, Span<const bool> mask = {});
  /// Starts all vehicles again with another key of the noise, as if new; wind, voltage, delays and
  /// parameters stay.
  void reset(const FleetState<T>& state, std::uint64_t seed);
  /// Replaces parts of the state; time, controller, biases and noise go on. Throws as reset does.
  void set_state(const FleetState<T>& state, Span<const bool> mask = {});

  /// m/s, mean wind in the world frame: (size, 3), or (3) for all.
  void set_wind(Span<const T> wind);
  /// V: (size), or one for all. Without effect where battery.nominal_voltage is 0.
  void set_battery_voltage(Span<const T> voltage);
  /// Force [N, world frame] and torque [N m, body frame] that act beside those of the model, at the
  /// centre of mass, until they are changed: (size, 3) each, or (3) for all. The accelerometers
  /// measure them.
  void set_external_wrench(Span<const T> force_W, Span<const T> torque_B);
  /// Factors on the thrust and the aerodynamic torque of each rotor until they are changed: (size,
  /// rotors), or (rotors) for all. 1 as in the parameters, 0 for a lost propeller. Controllers do
  /// not know of them. The first call makes constants for each vehicle.
  /// @throws std::invalid_argument for factors that are not finite and >= 0.
  void set_rotor_effectiveness(Span<const T> factors);
  /// Steps, 0 to max_action_delay, by which each vehicle's commands act late: (size).
  void set_action_delay(Span<const std::uint32_t> steps);

  /// Replaces the parameters of all vehicles: `of(i)` gives those of vehicle i, the same each time
  /// that it is asked, of the same number of rotors. Structural fields (see fields.hpp) must be
  /// those of vehicle(). State stays.
  /// @throws ParameterError that names the first vehicle that cannot be; nothing has changed then.
  template <class Of>
  void set_parameters(const Of& of);
  /// The same for some vehicles, each named once; the others keep theirs, which `of` gives too, as
  /// it may be asked for those.
  template <class Of>
  void set_parameters(const Of& of, Span<const std::size_t> some);
  /// Whether each vehicle has constants of its own.
  bool has_own_parameters() const { return own_parameters_; }

  /// Why the results of steps of options().dt are doubtful for some vehicle, or an empty text: see
  /// validate_time_step.
  std::string warning() const;

  /// Everything that affects the future but parameters, and back, bit for bit, also into a fleet of
  /// the same vehicle and size for another instruction set.
  std::vector<std::byte> snapshot() const;
  void restore(Span<const std::byte> snapshot);

  /// Bytes of memory that one vehicle takes.
  double bytes_per_vehicle() const;

 private:
  enum class Level : std::uint32_t { none, rates, speeds };
  struct Extent {
    int first, count;
  };
  FleetLayout layout() const { return {rotors_}; }
  std::size_t blocks() const { return (size_ + lanes() - 1) / lanes(); }
  std::size_t lanes() const { return static_cast<std::size_t>(kernels_.lanes); }
  T& at(int field, std::size_t vehicle) {
    return memory_[((vehicle / lanes()) * static_cast<std::size_t>(layout().size()) +
                    static_cast<std::size_t>(field)) *
                       lanes() +
                   vehicle % lanes()];
  }
  T at(int field, std::size_t vehicle) const {
    return const_cast<Fleet*>(this)->at(field, vehicle);
  }
  Extent extent(FleetField field) const;
  /// What reset needs of a vehicle's parameters: deviations of the initial biases [m/s^2, rad/s],
  /// weight [N], the shortest time constant of the motors [s], then rotor speeds in hover [rad/s].
  const T* start(std::size_t vehicle) const {
    return starts_.data() + (own_parameters_ ? vehicle * start_width() : 0);
  }
  static constexpr int start_hover = 4;  // where the rotor speeds are
  std::size_t start_width() const { return static_cast<std::size_t>(start_hover + rotors_); }

  template <class Of>
  void prepare(const Of& of, bool own);
  void check_alike(const VehicleParameters& vehicle, std::size_t i) const;
  bool has_fleet_gravity(const VehicleParameters& vehicle) const;
  void append_start(const VehicleParameters& vehicle, std::vector<T>& starts) const;
  void check_options() const;
  FleetSetting setting() const;
  static void check_count(std::size_t count, std::size_t expected, std::size_t for_all,
                          const char* name);
  void check_state(const FleetState<T>& state, Span<const bool> mask) const;
  void write_state(std::size_t vehicle, const FleetState<T>& state);
  void write(int field, int width, Span<const T> rows, std::size_t vehicle);
  void start_again(std::size_t vehicle);
  void draw_start(std::size_t vehicle);
  void fill_motor_ring(std::size_t vehicle);
  void fill_action_ring(std::size_t vehicle);
  T& ring_slot(detail::LineVector<T>& ring, int slots, int width, std::size_t vehicle, int slot,
               int field) const;
  int action_width() const { return rotors_ < 4 ? 4 : rotors_; }
  int action_slots() const { return options_.max_action_delay + 1; }
  int motor_slots() const { return motor_delay_.steps + 2; }
  static const T* row_of(Span<const T> rows, int width, std::size_t vehicle) {
    const auto columns = static_cast<std::size_t>(width);
    return rows.data() + (rows.size() == columns ? 0 : vehicle * columns);
  }
  static Quat<T> attitude_of(const FleetState<T>& state, std::size_t vehicle) {
    const T* const q = row_of(state.attitude, 4, vehicle);
    return {q[0], q[1], q[2], q[3]};
  }
  void prepare_effectiveness();
  bool has_worn_rotors() const;
  void read_whole_rotors(std::size_t vehicle);
  void apply_effectiveness(std::size_t vehicle);
  void refresh_held_readings(Span<const bool> mask, detail::LineVector<T>& readings);
  FleetBatch<T> batch() const;
  void require_rank() const;
  void begin(Level level);
  /// Steps; `before` is called with the same blocks before the first of them.
  template <class Before>
  void advance(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor,
               const Before& before);
  void step_under(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor);
  void prepare_outer(const OuterLoopParameters& parameters);
  void begin_outer(OuterLoop loop);
  void restart_outer(std::size_t vehicle);
  void fly(const detail::OuterRows<T>& command, int substeps, ExecutorRef executor);
  T& outer_at(int field, std::size_t vehicle);
  T& held_at(std::size_t vehicle, int i);
  int held_width() const {
    return commands_rates(static_cast<OuterLoop>(outer_.loop)) ? 4 : rotors_;
  }
  typename FleetKernels<T>::Step kernel(Level level) const;
  void measure(const FleetBatch<T>& batch, T* readings, std::size_t stride,
               ExecutorRef executor) const;
  detail::FleetSnapshotHeader header() const;
  template <class Visit>
  void visit_vehicle(std::size_t i, Visit& visit);
  std::size_t snapshot_bytes(int outer_loop) const;
  template <class F>
  void in_chunks(std::size_t cost_per_block, ExecutorRef executor, const F& f) const;

  VehicleParameters vehicle_;
  FleetOptions options_;
  FleetKernelSource<T> source_;
  FleetKernels<T> kernels_{};
  FleetSwitches switches_{};
  StepDelay motor_delay_{};
  std::size_t size_ = 0;
  int rotors_ = 0;
  int rank_ = 0;
  bool own_parameters_ = false;
  bool gravity_is_shared_ = true;

  std::uint64_t steps_ = 0;
  double imu_phase_ = 0.0;  // of a sampling interval of an IMU that is slower than the physics
  Level level_ = Level::none;

  detail::LineVector<T> memory_;
  detail::LineVector<std::byte> constants_;
  std::vector<T> starts_;
  std::vector<T> whole_rotors_;  // coefficients at full effectiveness; empty: all are whole
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint64_t> reset_at_;
  detail::LineVector<T> motor_ring_;
  detail::LineVector<T> action_ring_;
  std::vector<std::uint32_t> action_delay_;
  detail::FleetOuter<T> outer_;
};

}  // namespace propwash

#include "propwash/fleet/impl/fleet_make.hpp"
#include "propwash/fleet/impl/fleet_outer.hpp"
#include "propwash/fleet/impl/fleet_read.hpp"
#include "propwash/fleet/impl/fleet_snapshot.hpp"
#include "propwash/fleet/impl/fleet_state.hpp"
#include "propwash/fleet/impl/fleet_step.hpp"

#if defined(PROPWASH_STATIC)  // the instances of propwash::static, in src/fleet.cpp
namespace propwash {
extern template class Fleet<float>;
extern template class Fleet<double>;
extern template FleetKernels<float> native_fleet_kernels<float, Dynamic>(int, bool);
extern template FleetKernels<double> native_fleet_kernels<double, Dynamic>(int, bool);
}  // namespace propwash
#endif
