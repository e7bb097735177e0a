#pragma once
/// @file
/// The rate controller by itself, for a host with its own gyroscope and motors.

#include "propwash/control/rate_controller.hpp"
#include "propwash/vehicle/vehicles.hpp"
