#pragma once
/// @file
/// One Dubins car and the shipped vehicles.

#include "propwash/vehicle/car.hpp"
#include "propwash/vehicle/vehicles.hpp"
