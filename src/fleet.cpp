// Fleet<float> of propwash::static and of the Python extension.
#include "propwash/fleet/fleet.hpp"

template struct propwash::detail::FleetPlan<float>;
template class propwash::Fleet<float>;
