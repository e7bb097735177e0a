#pragma once
/// @file
/// Many multicopters at once: one call steps all of them, in SIMD lanes and, where the caller lends
/// threads, on several cores.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/fleet_types.hpp"
#include "propwash/fleet/impl/fleet_memory.hpp"
#include "propwash/fleet/impl/fleet_plan.hpp"
#include "propwash/fleet/impl/fleet_samplers.hpp"
#include "propwash/fleet/impl/outer_pass.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"

namespace propwash {

namespace detail {
struct FleetSnapshotHeader;
}

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

  /// Number of vehicles.
  std::size_t size() const { return memory_.size; }
  /// Rotors of each vehicle.
  int rotors() const { return memory_.rotors; }
  /// The options that the fleet was made with.
  const FleetOptions& options() const { return plan_.options; }
  /// The vehicle from which the fleet was made.
  const VehicleParameters& vehicle() const { return plan_.vehicle; }

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

  /// Attaches a sampler, until detach(): steps are split where it is due, and the bits of the
  /// flight stay the same. The fleet holds a pointer; a copy of the fleet has no samplers.
  void attach(FleetSampler& sampler) { samplers_.attach(sampler); }
  /// Ends the calls of a sampler.
  void detach(const FleetSampler& sampler) { samplers_.detach(sampler); }
  /// @throws std::logic_error while samplers are called, as each change of the fleet does then.
  void require_idle() const { samplers_.require_idle(); }

  /// Gains and limits of the outer loops: outer_loops_for(vehicle(), dt), until they are set.
  OuterLoopParameters outer_loops() const;
  /// @throws ParameterError for gains out of range, or a vehicle that outer loops cannot fly.
  void set_outer_loops(const OuterLoopParameters& parameters);

  /// s, since each vehicle's reset: (size).
  void time(Span<double> seconds) const;
  /// Steps since construction or since a reset with a seed: the counter of the noise.
  std::uint64_t steps() const { return steps_; }
  /// The numbers of a field in one row.
  int width(FleetField field) const { return memory_.extent(field).count; }
  /// Copies a field into rows of `width`.
  void read(FleetField field, Span<T> rows) const { memory_.read(field, rows); }
  /// The four fields of rigid bodies at once, for which memory is gone through but once.
  void read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                       Span<T> body_rates) const {
    memory_.read_kinematics(position, velocity, attitude, body_rates);
  }
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
  void set_parameters(const Of& of) {
    samplers_.require_idle();
    plan_.set_parameters(of, memory_);
  }
  /// The same for some vehicles, each named once; the others keep theirs, which `of` gives too, as
  /// it may be asked for those.
  template <class Of>
  void set_parameters(const Of& of, Span<const std::size_t> some) {
    samplers_.require_idle();
    plan_.set_parameters(of, some, memory_);
  }
  /// Whether each vehicle has constants of its own.
  bool has_own_parameters() const { return plan_.own_parameters; }

  /// Why the results of steps of options().dt are doubtful for some vehicle, or an empty text: see
  /// validate_time_step.
  std::string warning() const { return plan_.warning(); }

  /// Everything that affects the future but parameters, and back, bit for bit, also into a fleet of
  /// the same vehicle and size for another instruction set.
  std::vector<std::byte> snapshot() const;
  /// Continues from a snapshot. @throws std::invalid_argument for one of another fleet.
  void restore(Span<const std::byte> snapshot);

  /// Bytes of memory that one vehicle takes.
  double bytes_per_vehicle() const;

 private:
  enum class Level : std::uint32_t { none, rates, speeds };

  FleetBatch<T> view() const;
  FleetBatch<T> batch();
  void start_again(std::size_t vehicle);
  void fill_actions(std::size_t vehicle);
  detail::LineVector<T> readings_to_hold() const;
  void reset(const FleetState<T>& state, Span<const bool> mask, detail::LineVector<T>& readings);
  void refresh_held_readings(Span<const bool> mask, detail::LineVector<T>& readings);
  void begin(Level level);
  /// Steps; `before` is called with the same blocks before the first of them.
  template <class Before>
  void advance(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor,
               const Before& before);
  void step_under(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor);
  void measure(const FleetBatch<T>& batch, T* readings, std::size_t stride,
               ExecutorRef executor) const;
  template <class F>
  void in_chunks(std::size_t cost_per_block, ExecutorRef executor, const F& f) const;
  void prepare_outer(const OuterLoopParameters& parameters);
  void begin_outer(OuterLoop loop);
  void restart_outer(std::size_t vehicle);
  void fly(const detail::OuterRows<T>& command, int substeps, ExecutorRef executor);
  detail::FleetSnapshotHeader header() const;
  bool has_worn_rotors() const;
  std::size_t snapshot_bytes(int outer_loop) const;
  template <class Self, class Visit>
  static void visit(Self& self, std::size_t vehicle, Visit& visit);

  detail::FleetPlan<T> plan_;
  detail::FleetMemory<T> memory_;
  detail::FleetOuter<T> outer_;
  detail::FleetSamplers samplers_;
  std::uint64_t steps_ = 0;
  double imu_phase_ = 0.0;  // of a sampling interval of an IMU that is slower than the physics
  Level level_ = Level::none;
};

}  // namespace propwash

#include "propwash/fleet/impl/fleet_outer.hpp"
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
