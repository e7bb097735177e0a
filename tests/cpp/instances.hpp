#pragma once
/// @file
/// The vehicles that many tests fly, compiled once, in instances.cpp, and not in each of them.

#include <propwash/vehicle/multicopter.hpp>

namespace propwash {

extern template class Multicopter<4, double>;
extern template class Multicopter<Dynamic, double>;

}  // namespace propwash
