// error: decomposes into
// A member that its struct does not list.
#include <propwash/math/members.hpp>

struct Coefficients {
  double lift{};
#if defined(MISTAKE)
  double drag{};
#endif
  PROPWASH_MEMBERS(lift)
};

double sum_of(Coefficients coefficients) {
  double sum = 0.0;
  propwash::for_each_number(coefficients, [&](double x) { sum += x; });
  return sum;
}
