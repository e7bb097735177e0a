#pragma once
/// @file
/// Linear models of a step as Eigen matrices; trim of steady flights.

#include "propwash/vehicle/linearize.hpp"
#include "propwash/vehicle/trim.hpp"
#include "propwash/vehicle/vehicles.hpp"
