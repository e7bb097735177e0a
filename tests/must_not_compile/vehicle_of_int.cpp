// error: Multicopter<N, T>: expected T = float or double
// A vehicle of whole numbers.
#include <propwash/multicopter.hpp>

#if defined(MISTAKE)
using Number = int;
#else
using Number = float;
#endif

int rotors() {
  return propwash::Multicopter<4, Number>{propwash::vehicles::flightgoggles()}.rotors();
}
