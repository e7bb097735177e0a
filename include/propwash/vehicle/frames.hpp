#pragma once
/// @file
/// Conversion of vehicles, states and readings between a simulator with a north-east-down world
/// (NED) and forward-right-down body axes (FRD), and propwash; in Python, propwash.frames.
///
///     const VehicleParameters vehicle = ned_frd_to_enu_flu(vehicle_frd);
///     Multicopter<4> uav{vehicle};
///     uav.reset(ned_frd_to_enu_flu(state_frd));
///     const ImuReading<double> reading_frd = flu_to_frd(uav.imu());
///
/// The origins of world and body do not change. Scalars do not change either; these include rotor
/// speeds and the spin of a rotor, which is defined relative to its axis.

#include <utility>

#include "propwash/math/frames.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

namespace detail {

/// Converts between FRD and FLU axes, in which y and z have opposite signs.
inline void exchange_frd_flu(ResidualParameters<double>& residual) {
  const auto signs = residual_monomials<double>({1, -1, -1, -1, -1}, {-1, 1, -1, 1, -1});
  const auto convert = [](auto& numbers, const auto& sign, double of_output) {
    int i = 0;
    for (double& x : numbers) x = x == 0.0 ? 0.0 : x * sign[i] * of_output, ++i;
  };
  residual.velocity_centre = frd_to_flu(residual.velocity_centre);
  residual.thrust_centre = 0.0 - residual.thrust_centre;
  convert(residual.force_x, signs.even, 1.0), convert(residual.torque_x, signs.odd, 1.0);
  convert(residual.force_y, signs.odd, -1.0), convert(residual.torque_y, signs.even, -1.0);
  convert(residual.force_z, signs.even, -1.0), convert(residual.torque_z, signs.odd, -1.0);
}

}  // namespace detail

/// Converts a vehicle with vectors in FRD body axes and gravity (0, 0, 9.81) m/s^2 in an NED world.
/// The axes of the IMU change with those of the body: an IMU that is aligned with the body remains
/// so. frd_to_flu() and flu_to_frd() convert its readings.
inline VehicleParameters ned_frd_to_enu_flu(VehicleParameters vehicle) {
  auto& body = vehicle.body;
  body.inertia = frd_to_flu(body.inertia);
  body.gravity = ned_to_enu(body.gravity);
  for (auto& rotor : vehicle.rotors) {
    rotor.position = frd_to_flu(rotor.position);
    rotor.axis = frd_to_flu(rotor.axis);
  }
  vehicle.drag.rotational = frd_to_flu(vehicle.drag.rotational);
  vehicle.ground_effect.height = 0.0 - vehicle.ground_effect.height;
  vehicle.contact.height = 0.0 - vehicle.contact.height;
  detail::exchange_frd_flu(vehicle.residual);
  auto& imu = vehicle.imu;
  imu.position = frd_to_flu(imu.position);
  // both frames of the rotation change, so its axis is converted like a vector
  imu.attitude = {imu.attitude.w, imu.attitude.x, -imu.attitude.y, -imu.attitude.z};
  return vehicle;
}
/// Converts a vehicle to FRD body axes and an NED world.
inline VehicleParameters enu_flu_to_ned_frd(VehicleParameters vehicle) {
  return ned_frd_to_enu_flu(std::move(vehicle));  // its own inverse
}

/// Converts a state with position and velocity in an NED world, attitude from FRD body to NED world
/// and body rates in FRD axes.
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

/// Converts a reading from FRD to FLU axes.
template <class T>
PROPWASH_FN ImuReading<T> frd_to_flu(const ImuReading<T>& reading) {
  return {frd_to_flu(reading.specific_force), frd_to_flu(reading.angular_rate), reading.time};
}
/// Converts a reading from FLU to FRD axes.
template <class T>
PROPWASH_FN ImuReading<T> flu_to_frd(const ImuReading<T>& reading) {
  return frd_to_flu(reading);
}

}  // namespace propwash
