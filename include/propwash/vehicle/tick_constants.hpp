#pragma once
/// @file
/// The constants of a step: what follows from a vehicle's parameters for one time step. Made by
/// make_tick_constants.hpp, read by tick.hpp.

#include "propwash/control/allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/integrate/decay.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_model.hpp"

namespace propwash {

/// P is shared by all lanes (scalar) or one per lane (a pack).
template <class P, int N, class Shape>
struct TickConstants {
  MulticopterModel<P, N, Shape> model{};
  DecayStages<P> lag{};  ///< of the motors; PrincipalShape only
  Allocation<P, N, typename Shape::template EachRotor<P, N>> allocation{};
  RateControlLaw<P, typename Shape::template Matrix<P>> law{};
  ImuDevice<P> imu{};
  P per_force{};                      ///< the model's unit of force in a newton
  Vec3<P> per_torque{};               ///< the model's units of torque in a newton metre
  P force_deviation{};                ///< process noise held over dt, in the model's unit of force
  Vec3<P> torque_deviation{};         ///< the same, in the model's units of torque
  ImuDeviations<P> imu_deviations{};  ///< for steps of dt
};

}  // namespace propwash
