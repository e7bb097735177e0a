// error: no member named
// The x component of a vector that is along z by its type.
#include <propwash/math/structured.hpp>

double component(const propwash::AlongZ<double>& thrust_B) {
#if defined(MISTAKE)
  return thrust_B.x;
#else
  return thrust_B.z;
#endif
}
