#pragma once
/// @file
/// A stand-alone rate controller: rate_control.hpp and the allocation (23).
///
/// Equations (19) to (23) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/control/rate_controller.md.

#include <stdexcept>
#include <string>

#include "propwash/control/make_allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"

namespace propwash {

/// The output of one update.
template <int N, class T>
struct RotorCommand {
  SmallArray<T, N> speeds{};  ///< rad/s, after the limits
  Wrench<T> desired{};        ///< output of the control law
  Wrench<T> attained{};       ///< wrench of the limited speeds in steady state
};

/// A stand-alone rate controller: filter -> PID -> inversion -> allocation -> speed limits.
///
///     RateController<4> controller{vehicles::flightgoggles(), 1.0 / 960};
///     auto speeds = controller.update(gyroscope, RateThrust{rates, thrust}).speeds;
template <int N = Dynamic, class T = double>
class RateController {
 public:
  /// `vehicle` is a VehicleParameters that passes validate(); dt [s] is the time between updates.
  /// @throws std::invalid_argument if the rotors cannot control torque on three axes and thrust, if
  /// their number is not N, or if dt is not finite and > 0.
  template <class Vehicle>
  RateController(const Vehicle& vehicle, double dt)
      : law_(make_rate_control_law<T>(vehicle.rate_controller, cast<T>(vehicle.body.inertia), dt)),
        allocation_(make_allocation<T, N>(vehicle.rotors, vehicle.motor)) {
    if (allocation_.rank < 4) {
      PROPWASH_THROW(std::invalid_argument(
          "rank of the allocation matrix = " + std::to_string(allocation_.rank) +
          ": expected 4, so that torque on three axes and thrust can be commanded"));
    }
    if (!is_finite(dt) || dt <= 0.0)
      PROPWASH_THROW(
          std::invalid_argument("dt = " + std::to_string(dt) + ": expected a finite value > 0 s"));
  }

  /// One update with a gyroscope reading [rad/s, body frame].
  RotorCommand<N, T> update(const Vec3<T>& gyroscope_B, const RateThrust<T>& command) {
    RotorCommand<N, T> result;
    result.desired = {rate_control(law_, state_, gyroscope_B, command.rates), command.thrust};
    result.speeds = allocate(allocation_, result.desired);
    result.attained = attained_wrench(allocation_, result.speeds);
    return result;
  }
  /// Clears the filter and the integrals.
  void reset() { state_ = {}; }
  /// The complete state; restore() continues bit for bit.
  const RateControllerState<T>& snapshot() const { return state_; }
  /// Continues from a snapshot.
  void restore(const RateControllerState<T>& snapshot) { state_ = snapshot; }
  /// The control allocation of the vehicle.
  const Allocation<T, N>& allocation() const { return allocation_; }

 private:
  RateControlLaw<T> law_;
  Allocation<T, N> allocation_;
  RateControllerState<T> state_{};
};

}  // namespace propwash
