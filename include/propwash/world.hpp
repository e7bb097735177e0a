#pragma once
/// @file
/// Scenes, ray casts, collisions, and the sensors that use them.

#include "propwash/world/beacons.hpp"
#include "propwash/world/camera.hpp"
#include "propwash/world/collide.hpp"
#include "propwash/world/depth_camera.hpp"
#include "propwash/world/range_finder.hpp"
#include "propwash/world/raycast.hpp"
#include "propwash/world/scene.hpp"
