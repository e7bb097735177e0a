#pragma once
/// @file
/// One multicopter and the shipped vehicles.

#include "propwash/vehicle/multicopter.hpp"
#include "propwash/vehicle/vehicles.hpp"
