// Fleet<Multicopter<>, float> of propwash::static and of the Python extension.
#include "propwash/fleet/multicopter_fleet.hpp"

template struct propwash::detail::FleetPlan<float>;
template class propwash::Fleet<propwash::Multicopter<>, float>;
