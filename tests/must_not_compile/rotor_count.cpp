// error: expected as many speeds as rotors
// Six rotor speeds for a vehicle with four rotors.
#include <propwash/multicopter.hpp>

void step(propwash::Multicopter<4>& uav) {
#if defined(MISTAKE)
  uav.step(propwash::RotorSpeeds{500.0, 500.0, 500.0, 500.0, 500.0, 500.0}, 0.001);
#else
  uav.step(propwash::RotorSpeeds{500.0, 500.0, 500.0, 500.0}, 0.001);
#endif
}
