#pragma once
/// @file
/// Derivatives of a fleet's flight with respect to its commands, its start and the parameters of
/// its vehicles, in reverse and in forward mode. See docs/gradients.md.
///
/// The functions of vehicle/tick.hpp and of the outer loops are recorded once with traced numbers
/// (math/traced.hpp). A flight stores the state before each command. The derivatives repeat the
/// steps of a command from that state, with the fleet's kernels, and then evaluate the derivative
/// of each step.

#include <cstddef>
#include <functional>
#include <vector>

#include "propwash/fleet/impl/trace_function.hpp"
#include "propwash/fleet/impl/trace_step.hpp"
#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash {

/// The physical states after each command, or their cotangents or tangents: (K, size, width); null:
/// none.
template <class Number>
struct FleetRecord {
  Number* position{};      ///< m, world frame, width 3
  Number* velocity{};      ///< m/s, world frame, width 3
  Number* attitude{};      ///< q_WB, w x y z, width 4
  Number* body_rates{};    ///< rad/s, body frame, width 3
  Number* rotor_speeds{};  ///< rad/s, width rotors()
};

/// The variables of a flight, or the derivatives with respect to them: the commands (K, size,
/// command_width()), the start (size, width of the physical state), the motor commands before the
/// start, constant in time (size, rotors), and the parameters in sequence (size, width each).
template <class Number>
struct FleetVariables {
  Number* commands{};        ///< (K, size, command_width())
  Number* start{};           ///< (size, state_width())
  Number* motor_commands{};  ///< (size, rotors())
  Number* parameters{};      ///< (size, parameter_width())
};

/// A flight recorded for differentiation.
///
///     FleetGradient<Multicopter<>> gradient(fleet, kind, parameters_of, {});
///     for (…) gradient.record(fleet, command, substeps), fleet.step(…, substeps);
///     gradient.pull(cotangents, derivatives);
///
/// Derivatives are computed in double. Noise must be off. During the flight only step() may
/// change the fleet.
template <class T, int N>
class FleetGradient<Multicopter<N>, T> {
  using Blocks = detail::LineVector<T>;

 public:
  /// Returns the parameters of a vehicle.
  using ParametersOf = std::function<const VehicleParameters&(std::size_t)>;

  /// `requested`: indices of the fields (vehicle/fields.hpp) with respect to which derivatives are
  /// computed.
  /// @throws std::invalid_argument for a fleet with noise, turbulence or an IMU slower than its
  /// steps.
  FleetGradient(Fleet<Multicopter<N>, T>& fleet, const FleetCommandKind& kind,
                const ParametersOf& parameters_of, const std::vector<std::size_t>& requested,
                TraceRunner runner = native_trace_runner());

  /// Stores the state of the fleet and the parts of the command that it executes next for
  /// `substeps` steps; empty parts are zero.
  void record(Fleet<Multicopter<N>, T>& fleet, Span<const Span<const T>> parts, int substeps);

  /// Adds the vector-Jacobian product to `to`. If `window` > 0, states at multiples of `window`
  /// commands are constants.
  void pull(const FleetRecord<const double>& cotangents, const FleetVariables<double>& to,
            std::size_t window = 0, ExecutorRef executor = {}) const;
  /// Writes the Jacobian-vector product.
  void push(const FleetVariables<const double>& tangents, const FleetRecord<double>& to,
            ExecutorRef executor = {}) const;

  /// The state of a fleet before a command, and the command.
  struct Point {
    Blocks state;                 ///< of each block, in the order of the fleet's memory
    Blocks motor_delay;           ///< past motor commands
    Blocks action_delay;          ///< delayed commands
    Blocks memory;                ///< of the outer loops
    Blocks held;                  ///< outputs of the outer loops
    std::vector<double> command;  ///< (size, command_width())
    std::uint64_t step = 0;       ///< number of the step before which the command begins
    int substeps = 0;             ///< steps of the command
    bool starts_loop = false;     ///< whether the outer loops begin with this command
  };
  /// What record() would store, for a flight whose commands depend on its states.
  Point point(Fleet<Multicopter<N>, T>& fleet, Span<const Span<const T>> parts, int substeps) const;
  /// Adds the vector-Jacobian product of one command to `to`.
  /// memory: (size, memory_width()) cotangents of the memory of controllers and delays, past motor
  /// commands first; in: after the command, out: before it.
  void pull(const Point& point, const FleetRecord<const double>& cotangents, double* memory,
            const FleetVariables<double>& to, ExecutorRef executor = {}) const;
  /// Count of numbers in the memory of a vehicle that a command leaves to the next one.
  int memory_width() const;
  /// Count of numbers of past motor commands in that memory.
  int history_width() const { return motor_slots_ * setting_.rotors + setting_.kept_commands(); }
  /// Whether parameters, wind, external wrench and delays of the fleet are still those of the
  /// construction.
  bool is_current(const Fleet<Multicopter<N>, T>& fleet) const;

  /// Number K of recorded commands.
  std::size_t commands() const { return points_.size(); }
  /// Count of numbers in a command.
  int command_width() const { return command_width_; }
  /// Count of numbers in the physical state.
  int state_width() const { return detail::TraceSetting::body + setting_.rotors; }
  /// Count of rotors of a vehicle.
  int rotors() const { return setting_.rotors; }
  /// Count of numbers in the requested parameters of a vehicle.
  int parameter_width() const { return parameter_width_; }

 private:
  static constexpr std::size_t lanes = trace_lanes;
  using Rows = detail::LineVector<double>;  // each of trace_lanes numbers, one per vehicle

  struct Replay;
  struct Sweep;

  void choose_numbers(const Fleet<Multicopter<N>, T>& fleet, const ParametersOf& parameters_of,
                      const std::vector<std::size_t>& requested);
  void trace();
  void record_command(Span<const Span<const T>> parts, std::vector<double>& to) const;
  /// Count of numbers of a block in a point: of body and rate controller, and (point_stride) of all
  /// fields.
  std::size_t point_head() const {
    static_assert(FleetLayout::controller == detail::TraceSetting::body);
    return static_cast<std::size_t>(detail::TraceSetting::body + setting_.controller()) *
           fleet_lanes_;
  }
  std::size_t point_stride() const {
    return point_head() + static_cast<std::size_t>(2 * setting_.rotors) * fleet_lanes_;
  }
  std::size_t block_stride() const {
    return static_cast<std::size_t>(layout_.size()) * fleet_lanes_;
  }
  std::size_t group_count() const { return (size_ + lanes - 1) / lanes; }
  bool is_due(const Point& point, int substep) const;

  std::size_t size_, fleet_lanes_;
  FleetCommandKind kind_;
  TraceRunner runner_;
  detail::TraceSetting setting_;
  detail::TraceOuter outer_;
  OuterLoopParameters outer_parameters_;
  std::uint64_t interval_ = 1;
  int command_width_ = 0, parameter_width_ = 0, loop_memory_ = 0;
  detail::TraceNumbers numbers_;
  bool is_individual_;
  std::vector<double> values_;  // (size or 1, numbers_.count())
  std::vector<double> slopes_;  // (size or 1, numbers_.requested, parameter_width)
  detail::TraceFunction step_, limits_, loop_;
  typename FleetKernels<T>::Step kernel_;
  FleetBatch<T> batch_;  // refers to no memory of the fleet, which may change later
  FleetLayout layout_;
  detail::LineVector<std::byte> constants_;
  Blocks state_;  // before the first command
  std::vector<std::uint32_t> action_delay_;
  int motor_slots_ = 0, action_slots_ = 0;
  std::vector<Point> points_;
};

}  // namespace propwash

#include "propwash/fleet/impl/gradient_record.hpp"
#include "propwash/fleet/impl/gradient_sweep.hpp"
