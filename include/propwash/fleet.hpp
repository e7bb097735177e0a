#pragma once
/// @file
/// Fleets of multicopters, a pool of threads, the shipped vehicles.

#include "propwash/fleet/fleet.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/vehicle/vehicles.hpp"
