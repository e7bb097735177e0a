#pragma once
/// @file
/// Windows of a recorded flight, flown open loop by a vehicle whose parameters are unknown: where
/// they lead, and the derivatives of that with respect to each unknown, by dual numbers.
///
/// The equations are those of every multicopter (vehicle/tick.hpp) by Rk4, and their
/// scalar is a Dual of a Pack: a window in each lane, some of the unknowns beside each number. The
/// vehicle's parameters and its commands bring derivatives along; measurements, from which windows
/// start, are constants. See docs/identify.md.

#include <cstddef>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/memory.hpp"
#include "propwash/fleet/impl/open_loop_kernel.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// The kernel for the instruction set of the including program.
template <class Number = WorldLanes<double>>
OpenLoopKernel native_open_loop_kernel(std::size_t rotors) {
  struct Native {};
  return open_loop_kernel<Native, Number>(rotors);
}

/// A vehicle and the unknowns on which it depends.
///
///     OpenLoop vehicle(parameters, slopes);
///     vehicle.fly(flight, record, pool);
class OpenLoop {
 public:
  /// `slopes` has a vehicle for each unknown, whose numbers are the derivatives of those of
  /// `vehicle` with respect to it; none where values alone are wanted.
  /// @throws ParameterError for a vehicle that cannot be, std::invalid_argument for slopes of
  /// another number of rotors.
  OpenLoop(const VehicleParameters& vehicle, const std::vector<VehicleParameters>& slopes,
           OpenLoopKernelSource source = &native_open_loop_kernel<>);

  /// Flies all windows. Motors run along with the whole log, from the speed of its first command,
  /// so that a window starts with the rotor speeds that the vehicle would have there. What is
  /// written does not depend on the executor.
  /// @throws std::invalid_argument for a window that is not within the log, or no time step.
  void fly(const OpenLoopFlight& flight, const OpenLoopRecord& record,
           ExecutorRef executor = {}) const;

  /// Number of unknowns with derivatives.
  std::size_t unknowns() const { return unknowns_; }
  /// Rotors of the vehicle.
  std::size_t rotors() const { return static_cast<std::size_t>(motors_.front().rotors.size()); }

 private:
  using Slope = Dual<double, 1>;
  using Model = MulticopterModel<Slope, Dynamic, GeneralShape>;

  std::vector<double> run_motors(const OpenLoopFlight& flight, const ExecutorRef& executor) const;
  void run_motors(const OpenLoopFlight& flight, std::size_t unknown, double* values,
                  double* slopes) const;
  bool moves_motors(const OpenLoopFlight& flight, std::size_t unknown) const;

  OpenLoopKernel kernel_;
  ImuDevice<double> imu_;
  std::size_t unknowns_;
  std::vector<Model> motors_;                       // for each unknown, at least one
  detail::LineVector<std::byte> kernel_constants_;  // for each group of unknowns
};

}  // namespace propwash

#include "propwash/fleet/impl/open_loop.hpp"
