#pragma once
/// @file
/// Vehicles, states and readings of a simulator with a north-east-down world (NED) and
/// forward-right-down body axes (FRD), in propwash's conventions and back. In Python:
/// propwash.frames.
///
///     const VehicleParameters vehicle = ned_frd_to_enu_flu(theirs);
///     Multicopter<4> uav{vehicle};
///     uav.reset(ned_frd_to_enu_flu(their_state));
///     const ImuReading<double> reading_frd = flu_to_frd(uav.imu());
///
/// The origins of world and body stay. Scalars do too: rotor speeds, and each rotor's spin, which
/// is seen from the tip of its own axis.

#include <utility>

#include "propwash/math/frames.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// A vehicle whose vectors are expressed in FRD body axes and whose gravity is in an NED world,
/// (0, 0, 9.81) m/s^2. The sensor's axes are changed with the body's: a sensor that was aligned
/// with the body stays so, and its readings are converted by frd_to_flu() and flu_to_frd().
inline VehicleParameters ned_frd_to_enu_flu(VehicleParameters vehicle) {
  auto& body = vehicle.body;
  body.inertia = frd_to_flu(body.inertia);
  body.gravity = ned_to_enu(body.gravity);
  for (auto& rotor : vehicle.rotors) {
    rotor.position = frd_to_flu(rotor.position);
    rotor.axis = frd_to_flu(rotor.axis);
  }
  vehicle.drag.rotational = frd_to_flu(vehicle.drag.rotational);
  auto& imu = vehicle.imu;
  imu.position = frd_to_flu(imu.position);
  // both axes of the rotation change, so its own axis turns as a vector does
  imu.attitude = {imu.attitude.w, imu.attitude.x, -imu.attitude.y, -imu.attitude.z};
  return vehicle;
}
/// A vehicle of propwash in FRD body axes and an NED world.
inline VehicleParameters enu_flu_to_ned_frd(VehicleParameters vehicle) {
  return ned_frd_to_enu_flu(std::move(vehicle));  // its own inverse
}

/// A state: position and velocity in an NED world, attitude from FRD body to NED world, rates in
/// FRD body axes.
template <class T, int N>
PROPWASH_FN MulticopterState<T, N> ned_frd_to_enu_flu(const MulticopterState<T, N>& state) {
  return {ned_to_enu(state.position), ned_to_enu(state.velocity),
          quaternion_ned_frd_to_enu_flu(state.attitude), frd_to_flu(state.body_rates),
          state.rotor_speeds};
}
template <class T, int N>
PROPWASH_FN MulticopterState<T, N> enu_flu_to_ned_frd(const MulticopterState<T, N>& state) {
  return ned_frd_to_enu_flu(state);
}

/// A reading in FRD axes, of a sensor whose vehicle is converted.
template <class T>
PROPWASH_FN ImuReading<T> frd_to_flu(const ImuReading<T>& reading) {
  return {frd_to_flu(reading.specific_force), frd_to_flu(reading.angular_rate), reading.time};
}
/// A vector, tensor or IMU reading in forward-right-down axes.
template <class T>
PROPWASH_FN ImuReading<T> flu_to_frd(const ImuReading<T>& reading) {
  return frd_to_flu(reading);
}

}  // namespace propwash
