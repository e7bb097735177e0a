// See fleet_engine.hpp.
#include "fleet_engine.hpp"

namespace propwash {

template class Fleet<Multicopter<>, float>;
template class Fleet<Multicopter<>, double>;
template class Fleet<Multicopter<4>, float>;
template void Fleet<Multicopter<>, float>::set_parameters(const EachVehicle& of);
template void Fleet<Multicopter<>, double>::set_parameters(const EachVehicle& of);
template class Multicopter<>;

}  // namespace propwash

void step_single(propwash::Multicopter<>& uav, const propwash::RateThrust<double>& command,
                 double dt) {
  uav.step(command, dt);
}

void step_single(propwash::Multicopter<>& uav, const propwash::SmallArray<double>& speeds,
                 double dt) {
  uav.step(propwash::RotorSpeeds<propwash::Dynamic>{speeds}, dt);
}
