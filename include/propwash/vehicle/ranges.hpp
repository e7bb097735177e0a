#pragma once
/// @file
/// Accepted ranges of ratios between parameters of a vehicle. docs/vehicles.md gives the reasons.
///
/// These ranges and those of single numbers (fields.hpp) include every aircraft from an insect to
/// an airliner. They ensure that a step in `float` ends in a finite state if dt is at most 0.01 s
/// and validate_time_step does not warn, for speeds up to 300 m/s and body rates up to 100 rad/s.
/// Ranges of single numbers cannot ensure this, because the effects of thrust, drag and torque
/// depend on mass and inertia.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "propwash/control/make_allocation.hpp"
#include "propwash/math/impl/jacobi.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// A quantity computed from several parameters, and its accepted magnitudes.
struct Ratio {
  const char* name;        ///< of the quantity
  const char* unit;        ///< SI unit
  double smallest;         ///< smallest magnitude, except zero
  double largest;          ///< largest magnitude
  const char* parameters;  ///< names of the parameters
  double value;            ///< the value of this vehicle
};

namespace detail {

/// Eigenvalues of the symmetric part, ascending.
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

/// The larger magnitude [rad/s] of the speed limits of a motor.
inline double full_speed(const MotorParameters<double>& motor, int rotor) {
  return std::max(std::abs(motor.speed_min[rotor]), motor.speed_max[rotor]);
}

/// A bound of the residual: features of (Q1) are at most sqrt(2) where it is not zero.
template <std::size_t A, std::size_t B, std::size_t C>
double largest_sum(const double (&x)[A], const double (&y)[B], const double (&z)[C]) {
  double sum = 0.0;
  for (const double number : x) sum += 2.0 * std::abs(number);
  for (const double number : y) sum += 2.0 * std::abs(number);
  for (const double number : z) sum += 2.0 * std::abs(number);
  return sum;
}

/// The smallest torque [N m] about a body axis at full speed, summed over the magnitudes of the
/// rotors; axes without torque are ignored. 0 if no axis has torque.
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

/// The ratios of a vehicle with finite parameters, mass > 0 and principal moments of inertia > 0.
/// "Full speed" is the larger magnitude of motor.speed_min and motor.speed_max; "moment of inertia"
/// is the smallest principal one. `allocation` is the allocation of the vehicle.
inline auto vehicle_ratios(const VehicleParameters& vehicle,
                           const Allocation<double, Dynamic>& allocation) {
  const double mass = vehicle.body.mass;
  const auto principal = detail::principal_values(vehicle.body.inertia);
  const double inertia = principal[0];
  double thrust = 0.0, torque = 0.0, momentum = 0.0, axial = 0.0, translational = 0.0;
  double speeds = 0.0, moment = 0.0;
  int index = 0;
  for (const auto& rotor : vehicle.rotors) {
    const double speed = detail::full_speed(vehicle.motor, index++);
    thrust += rotor.thrust_coefficient * speed * speed;
    const double induced = induced_in_hover(vehicle.inflow.radius, rotor.thrust_coefficient);
    torque +=
        ((norm(rotor.position) + induced) * rotor.thrust_coefficient + rotor.torque_coefficient) *
        speed * speed;
    momentum += rotor.inertia * speed;
    const double coefficient = rotor.thrust_coefficient * speed;
    axial = std::max(axial, vehicle.inflow.axial / coefficient);
    translational = std::max(translational, vehicle.inflow.translational / (coefficient * speed));
    speeds += speed;
    moment += (vehicle.inflow.flapping + norm(rotor.position) * vehicle.inflow.drag) * speed +
              5.0 * norm(rotor.position) * vehicle.inflow.axial_drag;  // at 5 m/s along the axis
    if (induced > 0.0) moment += coefficient;
  }
  double rotational = 0.0;  // the largest row sum bounds the spectral norm
  for (int row = 0; row < 3; ++row) {
    double sum = 0.0;
    for (int column = 0; column < 3; ++column) {
      sum += std::abs(vehicle.drag.rotational(row, column));
    }
    rotational = std::max(rotational, sum);
  }
  const auto& residual = vehicle.residual;
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
      Ratio{"inflow.axial over thrust coefficient and full speed", "s/m", 0.0, 100.0,
            "inflow.axial, rotors.thrust_coefficient and motor.speed_max", axial},
      Ratio{"inflow.translational over thrust at full speed", "(s/m)^2", 0.0, 100.0,
            "inflow.translational, rotors.thrust_coefficient and motor.speed_max", translational},
      Ratio{"inflow.drag at full speed over mass", "1/s", 0.0, 100.0,
            "body.mass, inflow.drag and motor.speed_max", vehicle.inflow.drag * speeds / mass},
      Ratio{"inflow.axial_drag of all rotors over mass", "1/m", 0.0, 10.0,
            "body.mass and inflow.axial_drag",
            vehicle.inflow.axial_drag * static_cast<double>(vehicle.rotors.size()) / mass},
      Ratio{"moment of [inflow] at full speed over moment of inertia", "rad/(m s)", 0.0, 1e4,
            "body.inertia, rotors.position, rotors.thrust_coefficient, inflow.radius, inflow.drag, "
            "inflow.axial_drag, inflow.flapping and motor.speed_max",
            moment / inertia},
      Ratio{"rotor_drag.linear times moment of [inflow] over moment of inertia", "rad/(m s^2)", 0.0,
            1e3, "rotor_drag.linear and [inflow]; set one of them",
            norm(vehicle.rotor_drag.linear) * moment / inertia},
      Ratio{"largest force of [residual] over mass", "m/s^2", 0.0, 1e4,
            "body.mass and residual.force_x, force_y, force_z",
            detail::largest_sum(residual.force_x, residual.force_y, residual.force_z) / mass},
      Ratio{"largest torque of [residual] over moment of inertia", "rad/s^2", 0.0, 2e5,
            "body.inertia and residual.torque_x, torque_y, torque_z",
            detail::largest_sum(residual.torque_x, residual.torque_y, residual.torque_z) / inertia},
      Ratio{"root of process_noise.force over mass", "m/s/sqrt(s)", 0.0, 10.0,
            "body.mass and process_noise.force", std::sqrt(vehicle.process_noise.force) / mass},
      Ratio{"root of process_noise.torque over moment of inertia", "rad/s/sqrt(s)", 0.0, 100.0,
            "body.inertia and process_noise.torque",
            std::sqrt(vehicle.process_noise.torque) / inertia},
  };
}

}  // namespace propwash
