#pragma once
/// @file
/// An inertial sensor by itself, for a host that has its own dynamics.

#include "propwash/vehicle/imu.hpp"
