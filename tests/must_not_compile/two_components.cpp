// error: cannot convert|could not convert|no matching (constructor|member function)
// A wind of two components, whose third would silently be 0.
#include <propwash/multicopter.hpp>

void blow(propwash::Multicopter<4>& uav) {
  uav.set_wind({});
  uav.set_wind({0, 0, 1});
#if defined(MISTAKE)
  uav.set_wind({1, 2});
#endif
}
