#pragma once
/// @file
/// Fleets of multicopters, a thread pool and the shipped vehicles.

#include "propwash/fleet/multicopter_fleet.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/vehicle/vehicles.hpp"
