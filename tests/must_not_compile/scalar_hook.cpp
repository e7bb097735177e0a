// error: no matching function for call to .*sqrt
// A scalar type without one of the hooks of math/scalar.hpp.
#include <propwash/math/vec3.hpp>

struct Number {
  double value = 0.0;
  friend Number operator+(const Number& a, const Number& b) { return {a.value + b.value}; }
  friend Number operator*(const Number& a, const Number& b) { return {a.value * b.value}; }
#if !defined(MISTAKE)
  friend Number sqrt(const Number& a) { return a; }
#endif
};

Number length(const propwash::Vec3<Number>& v) { return norm(v); }
