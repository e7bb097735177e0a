// Fleet<double> of propwash::static and of the Python extension.
#include "propwash/fleet/fleet.hpp"

template struct propwash::detail::FleetPlan<double>;
template class propwash::Fleet<double>;
