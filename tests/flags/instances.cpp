/// @file
/// Every class of the library, instantiated: compiled with the warnings of strict consumers, which
/// a header by itself does not show, because a template is not checked until it is used.

#include <propwash/fleet/impl/kernels.hpp>
#include <propwash/propwash.hpp>

template class propwash::Multicopter<4, double>;
template class propwash::Multicopter<4, float>;
template class propwash::Multicopter<propwash::Dynamic, double>;
template class propwash::Car<double>;
template class propwash::Car<float>;
template class propwash::RateController<4>;
template class propwash::Fleet<propwash::Multicopter<>, float>;
template class propwash::Fleet<propwash::Multicopter<4>, double>;
template class propwash::Fleet<propwash::Car<>, float>;
template class propwash::Fleet<propwash::Car<>, double>;
template class propwash::SceneIndex<float>;
template class propwash::SceneIndex<double>;

propwash::FleetKernels<float> kernels(int rotors, bool parallel) {
  return propwash::native_fleet_kernels<float, 4>(rotors, parallel);
}

void fly(propwash::Multicopter<4>& uav) {
  uav.step(propwash::RateThrust{propwash::Vec3<float>{}, 9.81f}, 1.0 / 960);
  uav.step(propwash::RotorSpeeds{800.0, 800.0, 800.0, 800.0}, 1.0 / 960);
  uav.step(propwash::AttitudeThrust<double>{}, 1.0 / 960);
}
