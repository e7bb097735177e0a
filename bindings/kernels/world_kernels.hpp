#pragma once
/// @file
/// Rays against scenes, in each instruction set, as dispatch.cpp sees them.

#include "propwash/world/raycast.hpp"

namespace propwash::bindings::world {

#define PROPWASH_DECLARE_WORLD(isa)  \
  WorldKernels<float> isa##_float(); \
  WorldKernels<double> isa##_double();

PROPWASH_DECLARE_WORLD(baseline)
PROPWASH_DECLARE_WORLD(v3)
PROPWASH_DECLARE_WORLD(v4)

#undef PROPWASH_DECLARE_WORLD

}  // namespace propwash::bindings::world
