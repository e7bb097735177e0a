// error: 1 to 12 elements
// More rotors than an array of Dynamic size holds.
#include <propwash/multicopter.hpp>

#if defined(MISTAKE)
propwash::SmallArray<double, 13> speeds;
#else
propwash::SmallArray<double, 12> speeds;
#endif
