// error: narrow
// Numbers in double that would silently become float.
#include <propwash/math/vec3.hpp>

propwash::Vec3<float> narrowed(double x) {
#if defined(MISTAKE)
  return {x, x, x};
#else
  return propwash::cast<float>(propwash::Vec3<double>{x, x, x});
#endif
}
