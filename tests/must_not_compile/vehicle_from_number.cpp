// error: no matching (function|constructor)
// A vehicle constructed without parameters.
#include <propwash/multicopter.hpp>

#if defined(MISTAKE)
propwash::Multicopter<4> make() { return propwash::Multicopter<4>{1.0}; }
#else
propwash::Multicopter<4> make() {
  return propwash::Multicopter<4>{propwash::vehicles::flightgoggles()};
}
#endif
