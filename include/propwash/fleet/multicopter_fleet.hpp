#pragma once
/// @file
/// Many multicopters at once: one call steps all of them, in SIMD lanes and, with an executor that
/// has threads, on several cores.

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
#include "propwash/fwd.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"

namespace propwash {

namespace detail {
struct FleetSnapshotHeader;
}
/// `size` FlightGoggles multicopters with N rotors, or with any number up to twelve (Dynamic).
///
///     Fleet<Multicopter<4>, float> fleet{vehicles::flightgoggles(), 4096, options};
///     fleet.step(FleetRateThrust<float>{rates, thrust}, 10);
///
/// Up to rounding, vehicle i equals Multicopter{parameters, {integrator, seed, first_id + i}}. Its
/// noise depends only on seed, id and step, so its results are bit-identical in any fleet that uses
/// the same kernel, on any number of threads. A step allocates nothing, starts no thread and does
/// not check the values of a command. A dt that is too long for the motors is accepted; `warning()`
/// then says why the result is doubtful. An exception leaves the fleet unchanged: ParameterError
/// for invalid vehicles and options, std::invalid_argument for wrong sizes.
template <class T, int N>
class Fleet<Multicopter<N>, T> {
 public:
  Fleet(const VehicleParameters& vehicle, std::size_t size, const FleetOptions& options = {},
        FleetKernelSource<T> kernels = &native_fleet_kernels<T, N>);

  /// Number of vehicles.
  std::size_t size() const { return memory_.size; }
  /// Rotors of each vehicle.
  int rotors() const { return memory_.rotors; }
  /// The options of the constructor.
  const FleetOptions& options() const { return plan_.options; }
  /// The vehicle of the constructor.
  const VehicleParameters& vehicle() const { return plan_.vehicle; }
  /// The vehicle that the outer loops assume: options().control_vehicle, or else vehicle().
  const VehicleParameters& control_vehicle() const { return plan_.control_vehicle(); }

  /// Advances all vehicles by `substeps` steps of dt with the command held constant: a
  /// FleetRotorSpeeds; a FleetRateThrust, with which the rate controller runs in every step, on the
  /// noisy gyroscope; or a command to an outer loop, FleetAttitudeThrust, FleetVelocityCommand,
  /// FleetPositionCommand or FleetTrajectoryCommand.
  ///
  /// An outer loop runs in each step whose number is a multiple of outer_loops().interval, and in
  /// the first step after a change of loop; its output is held in between. It uses the `estimate`,
  /// by default the true state, held during the call, except for the body rates, which are the rate
  /// controller's filtered ones. It assumes control_vehicle(), but each vehicle's own weight unless
  /// options().control_vehicle is set. The first such command allocates. Other commands ignore the
  /// estimate.
  void step(const FleetCommand<T>& command, int substeps = 1, ExecutorRef executor = {},
            const FleetMotionEstimate<T>& estimate = {});

  /// Attaches a sampler until detach(). Calls of step() are split at its samples, with
  /// bit-identical results. The fleet stores a pointer; a copy of the fleet has no samplers.
  void attach(FleetSampler& sampler) { samplers_.attach(sampler); }
  /// Detaches a sampler.
  void detach(const FleetSampler& sampler) { samplers_.detach(sampler); }
  /// @throws std::logic_error during a sampler's call, as every change of the fleet does then.
  void require_idle() const { samplers_.require_idle(); }

  /// Gains and limits of the outer loops: outer_loops_for(control_vehicle(), dt) by default.
  OuterLoopParameters outer_loops() const;
  /// @throws ParameterError for gains out of range or a vehicle that they cannot control.
  void set_outer_loops(const OuterLoopParameters& parameters);

  /// Writes the time since each vehicle's reset, s: (size).
  void time(Span<double> seconds) const;
  /// Steps since construction or the last reset with a seed; the noise is a function of it.
  std::uint64_t steps() const { return steps_; }
  /// Number of elements of a field per vehicle.
  int width(FleetField field) const { return memory_.extent(field, memory_.layout()).count; }
  /// Copies a field into (size, width) rows.
  void read(FleetField field, Span<T> rows) const;
  /// Copies the four rigid-body fields in one pass over the fleet's memory.
  void read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                       Span<T> body_rates) const;
  /// Copies the IMU's readings at the current state, (size, 3) each, m/s^2 and rad/s in sensor
  /// axes; if the IMU is slower than the physics, the latest sample. Allocates.
  void read_imu(Span<T> specific_force, Span<T> angular_rate, ExecutorRef executor = {}) const;

  /// Restarts vehicles at time 0: at rest and level at the origin, rotors at hover speed, unless
  /// `state` specifies otherwise, with controllers reset, biases drawn again and battery circuits
  /// fully charged. `mask` selects the
  /// vehicles, one flag each; empty: all. The step counter continues, so that each episode has
  /// different noise. Attitudes are normalised.
  /// @throws std::invalid_argument for wrong sizes, values that are not finite or an attitude of
  /// zero; the object is then unchanged.
  void reset(const FleetState<T>& state = {}, Span<const bool> mask = {});
  /// Restarts all vehicles with a new noise seed, as if newly constructed; wind, voltage, delays
  /// and parameters stay.
  void reset(const FleetState<T>& state, std::uint64_t seed);
  /// Replaces parts of the state; time, controllers, biases and noise continue. Throws as reset().
  void set_state(const FleetState<T>& state, Span<const bool> mask = {});

  /// Sets the mean wind, m/s, world frame: (size, 3), or (3) for all.
  void set_wind(Span<const T> wind);
  /// Sets the battery voltage, V: (size), or one for all; unused if battery.nominal_voltage is 0.
  /// @throws std::invalid_argument if the vehicles have battery circuits, which compute it.
  void set_battery_voltage(Span<const T> voltage);
  /// Replaces the batteries by ones at rest with a charge from 0 to 1: (size), or one for all;
  /// reset() charges to 1. The voltage changes in the next step.
  /// @throws std::invalid_argument for other numbers, or without battery circuits.
  void set_state_of_charge(Span<const T> state_of_charge);
  /// Sets an additional force [N, world frame] and torque [N m, body frame] at the centre of mass:
  /// (size, 3) each, or (3) for all. The accelerometers measure them.
  void set_external_wrench(Span<const T> force_W, Span<const T> torque_B);
  /// Sets factors on the thrust and the aerodynamic torque of each rotor: (size, rotors), or
  /// (rotors) for all; 1: as in the parameters, 0: a lost propeller. Controllers ignore them. The
  /// first call makes constants for each vehicle.
  /// @throws std::invalid_argument for factors outside 0 to max_effectiveness.
  void set_rotor_effectiveness(Span<const T> factors);
  /// Sets the delay of commands, 0 to max_action_delay steps: (size), or one for all.
  /// @throws std::invalid_argument for a longer delay.
  void set_action_delay(Span<const std::uint32_t> steps);

  /// Replaces the parameters of all vehicles; the state stays. parameters_of(i) returns those of
  /// vehicle i, the same in every call. The number of rotors and the structural fields (see
  /// fields.hpp) must equal those of vehicle().
  /// @throws ParameterError that names the first invalid vehicle; the object is then unchanged.
  template <class ParametersOf>
  void set_parameters(const ParametersOf& parameters_of) {
    samplers_.require_idle();
    plan_.set_parameters(parameters_of, memory_);
  }
  /// The same for the `selected` vehicles, each listed once. The others keep their parameters,
  /// which parameters_of must return too.
  template <class ParametersOf>
  void set_parameters(const ParametersOf& parameters_of, Span<const std::size_t> selected) {
    samplers_.require_idle();
    plan_.set_parameters(parameters_of, selected, memory_);
  }
  /// Whether each vehicle has separate constants.
  bool has_individual_parameters() const { return plan_.individual_parameters; }

  /// Why results with steps of options().dt are doubtful for some vehicle, or an empty string: see
  /// validate_time_step.
  std::string warning() const { return plan_.warning(); }

  /// Returns the complete state without the parameters; restore() continues bit for bit.
  std::vector<std::byte> snapshot() const;
  /// Restores a snapshot of a fleet of the same vehicle, size and options, on any instruction set.
  /// @throws std::invalid_argument for other bytes; the object is then unchanged.
  void restore(Span<const std::byte> snapshot);

  /// Memory used per vehicle.
  double bytes_per_vehicle() const;

 private:
  template <class, class>
  friend class FleetGradient;

  enum class Level : std::uint32_t { none, rates, speeds };

  FleetBatch<T> view() const;
  FleetBatch<T> batch();
  void restart(std::size_t vehicle);
  void fill_actions(std::size_t vehicle);
  detail::LineVector<T> readings_to_hold() const;
  void reset(const FleetState<T>& state, Span<const bool> mask, detail::LineVector<T>& readings);
  void refresh_held_readings(Span<const bool> mask, detail::LineVector<T>& readings);
  void begin(Level level);
  /// Steps; calls before(first, last) on each range of blocks before its first step.
  template <class Before>
  void advance(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor,
               const Before& before);
  void measure(const FleetBatch<T>& batch, T* readings, std::size_t stride,
               ExecutorRef executor) const;
  void prepare_outer(const OuterLoopParameters& parameters);
  void begin_outer(OuterLoop loop);
  void restart_outer(std::size_t vehicle);
  void step_outer(const FleetCommand<T>& command, const FleetMotionEstimate<T>& estimate,
                  int substeps, ExecutorRef executor);
  detail::FleetSnapshotHeader header() const;
  bool has_reduced_rotors() const;
  std::size_t snapshot_bytes(int outer_loop) const;
  template <class Self, class Visit>
  static void visit(Self& self, std::size_t vehicle, Visit& visit);

  detail::FleetPlan<T> plan_;
  detail::FleetMemory<T> memory_;
  detail::FleetOuter<T> outer_;
  detail::FleetSamplers samplers_;
  std::uint64_t steps_ = 0;
  double imu_phase_ = 0.0;  // fraction of the sampling interval of an IMU slower than the physics
  Level level_ = Level::none;
};

}  // namespace propwash

#include "propwash/fleet/impl/fleet_outer.hpp"
#include "propwash/fleet/impl/fleet_snapshot.hpp"
#include "propwash/fleet/impl/fleet_state.hpp"
#include "propwash/fleet/impl/fleet_step.hpp"

#if defined(PROPWASH_STATIC)  // the instances of propwash::static, in src/fleet.cpp
namespace propwash {
extern template struct detail::FleetPlan<float>;
extern template struct detail::FleetPlan<double>;
extern template class Fleet<Multicopter<>, float>;
extern template class Fleet<Multicopter<>, double>;
extern template FleetKernels<float> native_fleet_kernels<float, Dynamic>(int, bool);
extern template FleetKernels<double> native_fleet_kernels<double, Dynamic>(int, bool);
}  // namespace propwash
#endif
