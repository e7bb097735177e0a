#pragma once
/// @file
/// Derivatives of the flight of a fleet of any vehicle with respect to its commands, its start and
/// its constants, in reverse and in forward mode. Those of multicopters are fleet/gradient.hpp.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "propwash/fleet/fleet.hpp"
#include "propwash/fleet/impl/trace_function.hpp"
#include "propwash/math/impl/trace_numbers.hpp"

namespace propwash {

/// The variables of a flight of K commands, or the derivatives with respect to them; null: none.
template <class Number>
struct VehicleVariables {
  Number* commands{};   ///< (K, size, command_width)
  Number* start{};      ///< (size, state_width)
  Number* constants{};  ///< (size, constants_width), the numbers of Vehicle::Constants
};

/// A flight recorded for differentiation.
///
///     FleetGradient<Glider> gradient(fleet);
///     for (…) gradient.record(fleet, commands, substeps), fleet.step(commands, substeps);
///     gradient.pull(cotangents, derivatives);
///
/// Derivatives are computed in double. The step of the vehicle is recorded once with traced numbers
/// (math/traced.hpp); a flight stores the states before each command. During the flight only step()
/// may change the fleet.
template <class Vehicle, class T>
class FleetGradient {
 public:
  /// @throws std::invalid_argument for a vehicle with noise that is on.
  explicit FleetGradient(const Fleet<Vehicle, T>& fleet, TraceRunner runner = native_trace_runner())
      : size_(fleet.size()), options_(fleet.options()), runner_(runner) {
    if (!detail::has_derivative<Vehicle>() && fleet.options().noise) {
      PROPWASH_THROW(std::invalid_argument(
          "noise = true: expected false for derivatives; set VehicleFleetOptions::noise"));
    }
    const auto& options = fleet.options();
    detail::TraceNumbers numbers;
    for (int i = 0; i < constants_count; ++i) numbers.inputs.push_back(i);
    numbers.literals.resize(numbers.inputs.size());
    numbers.requested = constants_count;
    step_ = detail::TraceFunction(
        states + commands, 0, numbers,
        [&](const std::vector<int>& of_constants, const std::vector<int>& inputs) {
          typename Vehicle::template Constants<Traced> constants{};
          typename Vehicle::template State<Traced> state{};
          typename Vehicle::template Command<Traced> command{};
          detail::TraceReader(of_constants).read(constants);
          detail::TraceReader read(inputs);
          read.read(state), read.read(command);
          const QuietHost<Traced> host{};
          const auto next =
              options.integrator == Integrator::euler
                  ? vehicle_step<Vehicle>(Euler{}, constants, state, command, host, options.dt)
                  : vehicle_step<Vehicle>(Rk4{}, constants, state, command, host, options.dt);
          std::vector<int> nodes;
          detail::TraceWriter{nodes}.add(next);
          return nodes;
        });
    constants_ = constants_of(fleet);
  }

  /// Stores the state of the fleet and the commands that it executes next for `substeps` steps:
  /// (size, command_width), or (command_width) for all.
  /// @throws std::invalid_argument for another size, or a fleet with other parameters or options
  /// than that of the constructor.
  void record(const Fleet<Vehicle, T>& fleet, Span<const T> of_fleet, int substeps = 1) {
    detail::check_substeps(substeps);
    if (fleet.size() != size_) {
      PROPWASH_THROW(std::invalid_argument("fleet of " + std::to_string(fleet.size()) +
                                           " vehicles: expected " + std::to_string(size_) +
                                           ", those of the constructor"));
    }
    const auto& options = fleet.options();
    if (options.dt != options_.dt || options.integrator != options_.integrator ||
        constants_of(fleet) != constants_) {
      PROPWASH_THROW(std::invalid_argument(
          "fleet: expected the dt, integrator and parameters of the constructor's fleet; make a "
          "FleetGradient of this one"));
    }
    detail::check_count(of_fleet.size(), size_ * std::size_t{commands}, commands, "commands");
    std::vector<T> rows(size_ * std::size_t{states});
    fleet.read(rows);
    Point point{{rows.begin(), rows.end()}, {}, substeps};
    for (std::size_t i = 0; i < size_; ++i) {
      const T* const row = detail::row_of(of_fleet, commands, i);
      point.command.insert(point.command.end(), row, row + commands);
    }
    points_.push_back(std::move(point));
  }
  /// The same with one command for all.
  void record(const Fleet<Vehicle, T>& fleet, const typename Fleet<Vehicle, T>::Command& command,
              int substeps = 1) {
    record(fleet, Span<const T>(detail::Row<commands, T>(command)), substeps);
  }
  /// Number K of recorded commands.
  std::size_t size() const { return points_.size(); }

  /// Adds the vector-Jacobian product to `to`. `cotangents`: of the states after each command, (K,
  /// size, state_width).
  void pull(const double* cotangents, const VehicleVariables<double>& to,
            ExecutorRef executor = {}) const {
    executor(groups(), [&](std::size_t group) { pull(cotangents, to, group * lanes); });
  }
  /// Writes the Jacobian-vector product: the tangents of the states after each command, (K, size,
  /// state_width).
  void push(const VehicleVariables<const double>& tangents, double* to,
            ExecutorRef executor = {}) const {
    executor(groups(), [&](std::size_t group) { push(tangents, to, group * lanes); });
  }

 private:
  static constexpr int states = state_width<Vehicle>, commands = command_width<Vehicle>,
                       constants_count = constants_width<Vehicle>;
  static constexpr std::size_t lanes = trace_lanes;
  using Rows = detail::LineVector<double>;  // each of trace_lanes numbers, one per vehicle

  /// The states before a command, and the command.
  struct Point {
    std::vector<double> state, command;
    int substeps;
  };

  static std::vector<double> constants_of(const Fleet<Vehicle, T>& fleet) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const auto of_vehicle = fleet.constants(i);
      for_each_number(of_vehicle,
                      [&](const T& number) { numbers.push_back(static_cast<double>(number)); });
    }
    return numbers;
  }
  std::size_t groups() const { return (size_ + lanes - 1) / lanes; }
  static Rows rows(int count) { return Rows(static_cast<std::size_t>(count) * lanes); }

  /// Calls f(number of the array (size, count), number of the rows) for vehicles first, ….
  template <class F>
  void each(int count, std::size_t first, const F& f) const {
    const auto width = static_cast<std::size_t>(count);
    for (std::size_t lane = 0; lane < std::min(lanes, size_ - first); ++lane) {
      for (std::size_t c = 0; c < width; ++c) f((first + lane) * width + c, c * lanes + lane);
    }
  }
  void add(const double* from, int count, std::size_t first, Rows& to) const {
    if (from == nullptr) return;
    each(count, first,
         [&](std::size_t of_array, std::size_t of_rows) { to[of_rows] += from[of_array]; });
  }
  void add(const Rows& from, int count, std::size_t first, double* to) const {
    if (to == nullptr) return;
    each(count, first,
         [&](std::size_t of_array, std::size_t of_rows) { to[of_array] += from[of_rows]; });
  }
  Rows gathered(const double* from, int count, std::size_t first) const {
    Rows to = rows(count);
    add(from, count, first, to);
    return to;
  }
  /// The numbers of command k in an array (K, size, count).
  template <class Number>
  Number* at(Number* all, std::size_t k, int count) const {
    return all == nullptr ? nullptr : all + k * size_ * static_cast<std::size_t>(count);
  }

  void pull(const double* cotangents, const VehicleVariables<double>& to, std::size_t first) const {
    detail::TraceCall run(step_.run), pull(step_.pull);
    Rows of_state = rows(states), of_constants = rows(constants_count);
    const Rows constants = gathered(constants_.data(), constants_count, first);
    run.set(step_.first_number(), constants.data(), constants_count);
    pull.set(step_.first_number(), constants.data(), constants_count);
    std::vector<Rows> steps;
    for (std::size_t k = points_.size(); k-- > 0;) {
      const Point& point = points_[k];
      const Rows command = gathered(point.command.data(), commands, first);
      run.set(states, command.data(), commands);
      pull.set(states, command.data(), commands);
      steps.assign(1, gathered(point.state.data(), states, first));
      for (int s = 1; s < point.substeps; ++s) {
        run.set(0, steps.back().data(), states);
        run.run(runner_);
        steps.push_back(rows(states));
        run.get(0, states, steps.back().data());
      }
      add(at(cotangents, k, states), states, first, of_state);
      Rows of_command = rows(commands);
      for (; !steps.empty(); steps.pop_back()) {
        pull.set(0, steps.back().data(), states);
        pull.set(step_.first_seed(), of_state.data(), states);
        pull.run(runner_);
        pull.get(0, states, of_state.data());
        pull.add(states, commands, of_command.data());
        pull.add(states + commands, constants_count, of_constants.data());
      }
      add(of_command, commands, first, at(to.commands, k, commands));
    }
    add(of_state, states, first, to.start);
    add(of_constants, constants_count, first, to.constants);
  }

  void push(const VehicleVariables<const double>& tangents, double* to, std::size_t first) const {
    detail::TraceCall run(step_.run), push(step_.push);
    Rows tangent = gathered(tangents.start, states, first);
    const Rows constants = gathered(constants_.data(), constants_count, first);
    const Rows of_constants = gathered(tangents.constants, constants_count, first);
    run.set(step_.first_number(), constants.data(), constants_count);
    push.set(step_.first_number(), constants.data(), constants_count);
    push.set(step_.first_seed() + states + commands, of_constants.data(), constants_count);
    for (std::size_t k = 0; k < points_.size(); ++k) {
      const Point& point = points_[k];
      const Rows command = gathered(point.command.data(), commands, first);
      const Rows of_command = gathered(at(tangents.commands, k, commands), commands, first);
      Rows state = gathered(point.state.data(), states, first);
      run.set(states, command.data(), commands);
      push.set(states, command.data(), commands);
      push.set(step_.first_seed() + states, of_command.data(), commands);
      for (int s = 0; s < point.substeps; ++s) {
        run.set(0, state.data(), states);
        push.set(0, state.data(), states);
        push.set(step_.first_seed(), tangent.data(), states);
        push.run(runner_);
        push.get(0, states, tangent.data());
        run.run(runner_);
        run.get(0, states, state.data());
      }
      each(states, first, [&, to_k = at(to, k, states)](std::size_t of_array, std::size_t of_rows) {
        to_k[of_array] = tangent[of_rows];
      });
    }
  }

  std::size_t size_;
  VehicleFleetOptions options_;
  TraceRunner runner_;
  detail::TraceFunction step_;
  std::vector<double> constants_;  // (size, constants_count)
  std::vector<Point> points_;
};

}  // namespace propwash
