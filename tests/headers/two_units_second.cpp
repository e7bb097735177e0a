/// @file
/// The other of the two translation units.

#include <propwash/propwash.hpp>

double height_after_a_second_elsewhere() {
  propwash::Multicopter<4> uav{propwash::vehicles::flightgoggles()};
  const propwash::Vec3<double> rates{0.0, 0.0, 1.0};
  for (int i = 0; i < 960; ++i) {
    uav.step(propwash::RateThrust<double>{rates, 9.81}, 1.0 / 960);
  }
  return uav.state().position.z;
}
