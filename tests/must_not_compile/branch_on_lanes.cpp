// error: could not convert|value of type
// A branch on a mask of several lanes; select() replaces it.
#include <propwash/math/pack.hpp>

using Real = propwash::Pack<float, 4>;

Real limited(const Real& x) {
#if defined(MISTAKE)
  if (x > Real(1.0F)) return Real(1.0F);
  return x;
#else
  return select(x > Real(1.0F), Real(1.0F), x);
#endif
}
