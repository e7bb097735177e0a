#pragma once
/// @file
/// Parameters of vehicles, composed of the parameter structs of the models. Fields have the same
/// names in vehicle files and in Python, except that the process noise of a car is one pair there.

#include <string>
#include <vector>

#include "propwash/control/rate_control.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/contact.hpp"
#include "propwash/model/drag.hpp"
#include "propwash/model/ground_effect.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/model/inflow.hpp"
#include "propwash/model/motor.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/model/residual.hpp"
#include "propwash/model/rigid_body.hpp"
#include "propwash/model/rotor.hpp"
#include "propwash/model/rotor_drag.hpp"

namespace propwash {

/// Parameters of a multicopter.
struct VehicleParameters {
  std::string name;                                  ///< of the vehicle
  RigidBodyParameters<double> body;                  ///< mass, inertia and gravity
  std::vector<RotorParameters<double>> rotors;       ///< 1 to 12
  MotorParameters<double> motor;                     ///< motors and ESCs
  DragParameters<double> drag;                       ///< quadratic drag of the body
  RotorDragParameters<double> rotor_drag;            ///< zero in the papers
  InflowParameters<double> inflow;                   ///< zero in the papers
  GroundEffectParameters<double> ground_effect;      ///< off in the papers
  ContactParameters<double> contact;                 ///< off in the papers
  ResidualParameters<double> residual;               ///< zero in the papers
  BatteryParameters<double> battery;                 ///< zero in the papers
  ProcessNoiseParameters<double> process_noise;      ///< random force and torque
  ImuParameters<double> imu;                         ///< inertial measurement unit
  RateControllerParameters<double> rate_controller;  ///< gains of the rate controller
};

/// Parameters of a Dubins car.
struct CarParameters {
  std::string name;                ///< of the vehicle
  double speed_min{};              ///< m/s
  double speed_max{};              ///< m/s
  double yaw_rate_limit{};         ///< rad/s, commands are limited to +-limit
  double process_noise_forward{};  ///< m^2/s, W_v: white velocity noise along the heading
  double process_noise_left{};     ///< m^2/s, W_v: white velocity noise to the left
};

}  // namespace propwash
