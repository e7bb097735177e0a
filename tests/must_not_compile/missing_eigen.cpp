// error: needs Eigen >= 3.4
// Conversion to Eigen types without Eigen, which vehicles do not need.
#if defined(MISTAKE)
#include <propwash/eigen.hpp>
#else
#include <propwash/multicopter.hpp>
#endif
