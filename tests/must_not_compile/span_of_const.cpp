// error: could not convert|no matching function|no viable conversion|invalid .*reference
// A span for results in const memory.
#include <propwash/math/span.hpp>
#include <vector>

#if defined(MISTAKE)
using Numbers = const std::vector<double>;
#else
using Numbers = std::vector<double>;
#endif

void fill(propwash::Span<double> to);
void fill_all(Numbers& numbers) { fill(numbers); }
