#pragma once
/// @file
/// Open-loop simulation of windows of a recorded flight, with the derivatives of the result with
/// respect to unknown parameters, by forward-mode automatic differentiation.
///
/// The equations are those of vehicle/tick.hpp with Rk4. The scalar is a Dual of a Pack: one window
/// in each lane, a partial for each unknown of a group. Parameters and commands may have
/// derivatives; the measured initial states are constants. See docs/identify.md.

#include <cstddef>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/aligned_vector.hpp"
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

/// Logged duty cycles of motors on a uniform grid. Arrays belong to the caller.
struct OpenLoopDuty {
  std::size_t rows{};              ///< K of the grid
  double period{};                 ///< s, from row to row
  const double* duty{};            ///< (K - 1, N), of full speed, held from one row to the next
  const double* voltage{};         ///< (K - 1) V; null: the nominal voltage
  const double* voltage_slopes{};  ///< (D, K - 1) V, derivatives of the voltage; null: zeros
};

/// A vehicle and its derivatives with respect to unknowns.
///
///     OpenLoop vehicle(parameters, slopes);
///     vehicle.fly(flight, record, pool);
class OpenLoop {
 public:
  /// `slopes` has one entry for each unknown: the derivatives of all parameters of `vehicle` with
  /// respect to it. Empty: values only.
  /// @throws ParameterError for an invalid vehicle, std::invalid_argument for slopes with another
  /// number of rotors.
  OpenLoop(const VehicleParameters& vehicle, const std::vector<VehicleParameters>& slopes,
           OpenLoopKernelSource source = &native_open_loop_kernel<>);

  /// Simulates all windows. The motors are simulated over the whole log, from the speed of its
  /// first command, so that each window starts with the rotor speeds of that time. The results do
  /// not depend on the executor.
  /// @throws std::invalid_argument for a window outside the log or an invalid time step.
  void fly(const OpenLoopFlight& flight, const OpenLoopRecord& record,
           ExecutorRef executor = {}) const;

  /// Computes the motor commands of a log by `drive_motors` of vehicle/tick.hpp, with the vehicle's
  /// command delay and battery: `commands` (K - 1, N) and their derivatives `slopes` (D, K - 1, N),
  /// rad/s. At a delay of whole periods the derivative is discontinuous; the one towards longer
  /// delays is returned.
  void drive(const OpenLoopDuty& log, double* commands, double* slopes) const;

  /// Number of unknowns.
  std::size_t unknowns() const { return unknowns_; }
  /// Rotors of the vehicle.
  std::size_t rotors() const { return static_cast<std::size_t>(motors_.front().rotors.size()); }

 private:
  using Slope = Dual<double, 1>;
  using Model = MulticopterModel<Slope, Dynamic, GeneralShape>;

  std::vector<double> run_motors(const OpenLoopFlight& flight, const ExecutorRef& executor) const;
  void run_motors(const OpenLoopFlight& flight, std::size_t unknown, double* values,
                  double* slopes) const;
  void drive(const OpenLoopDuty& log, std::size_t unknown, double* values, double* slopes) const;
  bool moves_motors(const OpenLoopFlight& flight, std::size_t unknown) const;

  OpenLoopKernel kernel_;
  ImuDevice<double> imu_;
  std::size_t unknowns_;
  std::vector<Model> motors_;                       // for each unknown, at least one
  std::vector<Slope> delays_;                       // s, of commands, likewise
  std::vector<Slope> offsets_;                      // of the map from duty cycles, likewise
  double nominal_voltage_;                          // V, or 0
  detail::LineVector<std::byte> kernel_constants_;  // for each group of unknowns
};

}  // namespace propwash

#include "propwash/fleet/impl/open_loop.hpp"
