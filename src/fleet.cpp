// Fleet instances of propwash::static and of the Python extension.
#include "propwash/fleet/fleet.hpp"

template class propwash::Fleet<float>;
template class propwash::Fleet<double>;
