#pragma once
/// @file
/// A stand-alone rate controller, for a host with its own gyroscope and motors.

#include "propwash/control/rate_controller.hpp"
#include "propwash/vehicle/vehicles.hpp"
