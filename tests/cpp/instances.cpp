// The instances declared in instances.hpp.
#include "instances.hpp"

#include <propwash/vehicle/multicopter.hpp>

template class propwash::Multicopter<4, double>;
template class propwash::Multicopter<propwash::Dynamic, double>;
