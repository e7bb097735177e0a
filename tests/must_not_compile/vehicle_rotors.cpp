// error: Multicopter<N, T>: expected N from 1 to 12 rotors, or Dynamic
// A vehicle with more rotors than an array holds.
#include <propwash/multicopter.hpp>

#if defined(MISTAKE)
constexpr int count = 13;
#else
constexpr int count = 12;
#endif

int rotors() { return propwash::Multicopter<count>{propwash::vehicles::flightgoggles()}.rotors(); }
