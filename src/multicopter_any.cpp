// Multicopter<> of propwash::static and of the Python extension. Its loops over rotors are no
// faster with forced inlining, which would double the compile time.
#undef PROPWASH_FORCE_INLINE
#define PROPWASH_FORCE_INLINE 0
#include "propwash/vehicle/multicopter.hpp"

template class propwash::Multicopter<>;
