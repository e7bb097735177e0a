// Fleet<Multicopter<>, double> of propwash::static and of the Python extension.
#include "propwash/fleet/multicopter_fleet.hpp"

template struct propwash::detail::FleetPlan<double>;
template class propwash::Fleet<propwash::Multicopter<>, double>;
