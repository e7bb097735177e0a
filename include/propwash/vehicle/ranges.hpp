#pragma once
/// @file
/// The ranges of the ratios between a vehicle's parameters. docs/vehicles.md gives the reasons.
///
/// These ranges and those of single numbers (fields.hpp) include every aircraft from an insect to
/// an airliner. They are narrow enough that a step of at most 0.01 s about which validate_time_step
/// does not warn, in `float`, from any state with speeds up to 300 m/s and body rates up to 100
/// rad/s, ends in a finite state. A single number cannot ensure this: thrust, drag and torque
/// matter relative to mass and inertia, hence the ratios.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "propwash/control/make_allocation.hpp"
#include "propwash/math/impl/jacobi.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// A quantity of several parameters, and its accepted magnitudes.
struct Ratio {
  const char* name;        ///< what is compared
  const char* unit;        ///< SI unit of both
  double smallest;         ///< of a quantity that is not zero
  double largest;          ///< the largest valid value
  const char* parameters;  ///< those that it is made of
  double value;            ///< the value of this vehicle
};

namespace detail {

/// Ascending, of the symmetric part.
inline std::array<double, 3> principal_values(const Mat3<double>& m) {
  std::array<std::array<double, 3>, 3> symmetric{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      symmetric[i][j] = 0.5 * (m.elements[3 * i + j] + m.elements[3 * j + i]);
    }
  }
  auto values = symmetric_eigen<3>(symmetric).values;
  std::sort(values.begin(), values.end());
  return values;
}

/// rad/s, the larger magnitude of a motor's limits.
inline double full_speed(const MotorParameters<double>& motor, int rotor) {
  return std::max(std::abs(motor.speed_min[rotor]), motor.speed_max[rotor]);
}

/// N m: the smallest torque about a body axis at full speed, as the sum of the rotors' magnitudes,
/// among the axes that have any; 0 where none has.
inline double min_axis_torque(const VehicleParameters& vehicle,
                              const Allocation<double, Dynamic>& allocation) {
  double smallest = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    double sum = 0.0;
    int rotor = 0;
    for (const double torque : allocation.wrench_from_squares[axis]) {
      const double speed = full_speed(vehicle.motor, rotor++);
      sum += std::abs(torque) * speed * speed;
    }
    if (sum > 0.0 && (smallest == 0.0 || sum < smallest)) smallest = sum;
  }
  return smallest;
}

}  // namespace detail

/// The ratios of a vehicle whose numbers are finite, its mass and principal moments of inertia > 0.
/// "Full speed" is the larger magnitude of motor.speed_min and motor.speed_max, "moment of inertia"
/// the smallest principal one. `allocation` is that of the vehicle.
inline auto vehicle_ratios(const VehicleParameters& vehicle,
                           const Allocation<double, Dynamic>& allocation) {
  const double mass = vehicle.body.mass;
  const auto principal = detail::principal_values(vehicle.body.inertia);
  const double inertia = principal[0];
  double thrust = 0.0, torque = 0.0, momentum = 0.0;
  int index = 0;
  for (const auto& rotor : vehicle.rotors) {
    const double speed = detail::full_speed(vehicle.motor, index++);
    thrust += rotor.thrust_coefficient * speed * speed;
    torque += (norm(rotor.position) * rotor.thrust_coefficient + rotor.torque_coefficient) * speed *
              speed;
    momentum += rotor.inertia * speed;
  }
  double rotational = 0.0;  // the largest row sum bounds the spectral norm
  for (int row = 0; row < 3; ++row) {
    double sum = 0.0;
    for (int column = 0; column < 3; ++column) {
      sum += std::abs(vehicle.drag.rotational(row, column));
    }
    rotational = std::max(rotational, sum);
  }
  return std::array{
      Ratio{"smallest principal moment of inertia", "kg m^2", 1e-14, 1e10, "body.inertia", inertia},
      Ratio{"largest over smallest principal moment of inertia", "", 1.0, 1e6, "body.inertia",
            principal[2] / inertia},
      Ratio{"thrust at full speed over mass", "m/s^2", 1e-6, 1e4,
            "body.mass, rotors.thrust_coefficient and motor.speed_max", thrust / mass},
      Ratio{"rotor torque at full speed over moment of inertia", "rad/s^2", 0.0, 2e5,
            "body.inertia, rotors.position, rotors.thrust_coefficient, rotors.torque_coefficient "
            "and motor.speed_max",
            torque / inertia},
      Ratio{"smallest rotor torque about a body axis over largest moment of inertia", "rad/s^2",
            1e-9, 2e5,
            "body.inertia, rotors.position, rotors.thrust_coefficient, rotors.torque_coefficient "
            "and motor.speed_max",
            detail::min_axis_torque(vehicle, allocation) / principal[2]},
      Ratio{"rotor momentum at full speed over moment of inertia", "rad/s", 0.0, 1e3,
            "body.inertia, rotors.inertia and motor.speed_max", momentum / inertia},
      Ratio{"drag.translational over mass", "1/m", 0.0, 10.0, "body.mass and drag.translational",
            vehicle.drag.translational / mass},
      Ratio{"drag.rotational over moment of inertia", "1/rad", 0.0, 5.0,
            "body.inertia and drag.rotational", rotational / inertia},
      Ratio{"rotor_drag.blow_back over moment of inertia", "rad/(m s)", 0.0, 1e3,
            "body.inertia and rotor_drag.blow_back", vehicle.rotor_drag.blow_back / inertia},
      Ratio{"root of process_noise.force over mass", "m/s/sqrt(s)", 0.0, 10.0,
            "body.mass and process_noise.force", std::sqrt(vehicle.process_noise.force) / mass},
      Ratio{"root of process_noise.torque over moment of inertia", "rad/s/sqrt(s)", 0.0, 100.0,
            "body.inertia and process_noise.torque",
            std::sqrt(vehicle.process_noise.torque) / inertia},
  };
}

}  // namespace propwash
