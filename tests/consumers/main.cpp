/// @file
/// A stranger's first ten lines, the program of every consumer project beside this file.

#include <iostream>
#include <propwash/propwash.hpp>
namespace pw = propwash;

int main() {
  pw::Multicopter<4> uav{pw::vehicles::flightgoggles()};
  auto start = uav.state();
  start.position = {0, 0, 1};
  uav.reset(start);
  const pw::Vec3<double> rates{0.0, 0.0, 1.0};
  for (int i = 0; i < 960; ++i) uav.step(pw::RateThrust{rates, 9.81}, 1.0 / 960);
  Eigen::Vector3d p = pw::to_eigen(uav.state().position);
  auto imu = uav.imu();
  std::cout << "position " << p.transpose() << " m, specific force "
            << pw::to_eigen(imu.specific_force).transpose() << " m/s^2\n";
}
