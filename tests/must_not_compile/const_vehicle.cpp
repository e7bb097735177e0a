// error: no matching (member )?function
// A step of a vehicle that is const.
#include <propwash/multicopter.hpp>

#if defined(MISTAKE)
using Vehicle = const propwash::Multicopter<4>;
#else
using Vehicle = propwash::Multicopter<4>;
#endif

void step(Vehicle& uav) { uav.step(propwash::RateThrust{propwash::Vec3<double>{}, 9.81}, 0.001); }
