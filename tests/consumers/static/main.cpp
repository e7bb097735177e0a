// Flies what propwash::static holds, and six rotors, which are instantiated here.
#include <iostream>
#include <propwash/fleet.hpp>
#include <propwash/multicopter.hpp>
#include <vector>
namespace pw = propwash;

#if !defined(PROPWASH_STATIC)
#error "expected propwash::static to define PROPWASH_STATIC"
#endif

template <class Vehicle>
pw::Vec3<double> fly(Vehicle uav) {
  for (int i = 0; i < 96; ++i) uav.step(pw::RateThrust{pw::Vec3<double>{0, 0, 1}, 9.9}, 1.0 / 960);
  std::cout << "specific force " << uav.imu().specific_force.z << " m/s^2\n";
  return uav.state().position;
}

int main() {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto fixed = fly(pw::Multicopter<4>{vehicle});
  const auto any = fly(pw::Multicopter<>{vehicle});
  fly(pw::Multicopter<6>{pw::vehicles::hexacopter()});

  pw::Fleet<pw::Multicopter<>, float> fleet{vehicle, 3};
  const std::vector<float> rates(9), thrust(3, 9.9f);
  fleet.step(pw::FleetRateThrust<float>{rates, thrust}, 96);
  std::vector<float> positions(9);
  fleet.read(pw::FleetField::position, positions);

  std::cout << "position " << fixed.z << " " << any.z << " " << positions[2] << " m\n";
  return fixed.z == any.z ? 0 : 1;
}
