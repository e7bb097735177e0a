#pragma once
/// @file
/// A stand-alone inertial measurement unit, for a host simulator with its own dynamics.

#include "propwash/vehicle/imu.hpp"
