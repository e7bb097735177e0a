#pragma once
/// @file
/// Fleets of multicopters and cars, a pool of threads, the shipped vehicles.

#include "propwash/fleet/car_fleet.hpp"
#include "propwash/fleet/fleet.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/vehicle/vehicles.hpp"
