// Multicopter<4> of propwash::static and of the Python extension.
#include "propwash/vehicle/multicopter.hpp"

template class propwash::Multicopter<4>;
