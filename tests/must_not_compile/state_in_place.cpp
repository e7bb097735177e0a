// error: read-only|const-qualified|cannot assign to return value
// A change of the state that bypasses set_state() and its checks.
#include <propwash/multicopter.hpp>

void lift(propwash::Multicopter<4>& uav) {
#if defined(MISTAKE)
  uav.state().position.z = 1.0;
#else
  auto state = uav.state();
  state.position.z = 1.0;
  uav.set_state(state);
#endif
}
