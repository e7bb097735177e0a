// error: cannot convert .*FleetRateThrust<double>|no viable conversion from .*FleetRateThrust<
// Commands in double for a fleet of float.
#include <propwash/fleet.hpp>
#include <vector>

#if defined(MISTAKE)
using Number = double;
#else
using Number = float;
#endif

void step(propwash::Fleet<propwash::Multicopter<4>, float>& fleet, const std::vector<Number>& rates,
          const std::vector<Number>& thrust) {
  fleet.step(propwash::FleetRateThrust<Number>{rates, thrust}, 10);
}
