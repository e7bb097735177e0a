/// @file
/// A second of flight, printed bit for bit: the same numbers under all flags that leave arithmetic
/// alone.

#include <cstdio>
#include <propwash/propwash.hpp>
namespace pw = propwash;

int main() {
  pw::Multicopter<4> uav{pw::vehicles::flightgoggles()};
  const pw::Vec3<double> rates{0.3, -0.2, 1.0};
  for (int i = 0; i < 960; ++i) uav.step(pw::RateThrust{rates, 9.81}, 1.0 / 960);
  pw::Fleet<pw::Multicopter<4>, double> fleet{uav.parameters(), 2};
  const std::vector<double> all_rates(6, 0.1), thrust(2, 9.81);
  fleet.step(pw::FleetRateThrust<double>{all_rates, thrust}, 960);
  std::vector<double> position(6);
  fleet.read(pw::FleetField::position, position);
  const auto p = uav.state().position;
  const auto f = uav.imu().specific_force;
  std::printf("single %a %a %a, %a %a %a\n", p.x, p.y, p.z, f.x, f.y, f.z);
  std::printf("fleet %a %a %a\n", position[3], position[4], position[5]);
}
