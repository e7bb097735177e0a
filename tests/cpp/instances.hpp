#pragma once
/// @file
/// Vehicles that many tests use, compiled once in instances.cpp.

#include <propwash/vehicle/multicopter.hpp>

namespace propwash {

extern template class Multicopter<4, double>;
extern template class Multicopter<Dynamic, double>;

}  // namespace propwash
