#pragma once
/// @file
/// Two scalars that have only the hooks of propwash/math/scalar.hpp, to check that templates need
/// no other operations.

#include <cmath>
#include <propwash/math/scalar.hpp>

/// A number that counts its operations. Its only conversion is the explicit construction from a
/// double.
namespace counting {

struct Tally {
  long sums = 0, products = 0, quotients = 0, roots = 0, others = 0;
};
inline Tally tally;

class Counted;
/// The result of comparisons; not convertible to bool, so that no `if` accepts it.
class Truth {
 private:
  explicit Truth(bool value) : value_(value) {}
  bool value_;
  friend Truth operator<(const Counted&, const Counted&);
  friend Truth operator>(const Counted&, const Counted&);
  friend Counted select(const Truth&, const Counted&, const Counted&);
};

class Counted {
 public:
  Counted() = default;
  explicit Counted(double value) : value_(value) {}
  friend double reading(const Counted& x) { return x.value_; }

  friend Counted operator+(const Counted& a, const Counted& b) { return sum(a.value_ + b.value_); }
  friend Counted operator+(const Counted& a, double b) { return sum(a.value_ + b); }
  friend Counted operator+(double a, const Counted& b) { return sum(a + b.value_); }
  friend Counted operator-(const Counted& a, const Counted& b) { return sum(a.value_ - b.value_); }
  friend Counted operator-(const Counted& a, double b) { return sum(a.value_ - b); }
  friend Counted operator-(double a, const Counted& b) { return sum(a - b.value_); }
  friend Counted operator-(const Counted& a) { return Counted(-a.value_); }
  friend Counted operator*(const Counted& a, const Counted& b) {
    return product(a.value_ * b.value_);
  }
  friend Counted operator*(const Counted& a, double b) { return product(a.value_ * b); }
  friend Counted operator*(double a, const Counted& b) { return product(a * b.value_); }
  friend Counted operator/(const Counted& a, const Counted& b) {
    return quotient(a.value_ / b.value_);
  }
  friend Counted operator/(const Counted& a, double b) { return quotient(a.value_ / b); }
  friend Counted operator/(double a, const Counted& b) { return quotient(a / b.value_); }
  friend Truth operator<(const Counted& a, const Counted& b) { return Truth(a.value_ < b.value_); }
  friend Truth operator>(const Counted& a, const Counted& b) { return Truth(a.value_ > b.value_); }
  friend Counted select(const Truth& mask, const Counted& yes, const Counted& no) {
    return other(mask.value_ ? yes.value_ : no.value_);
  }
  friend Counted sqrt(const Counted& a) {
    ++tally.roots;
    return Counted(std::sqrt(a.value_));
  }
  friend Counted abs(const Counted& a) { return other(std::fabs(a.value_)); }
  friend Counted min(const Counted& a, const Counted& b) {
    return other(b.value_ < a.value_ ? b.value_ : a.value_);
  }
  friend Counted max(const Counted& a, const Counted& b) {
    return other(a.value_ < b.value_ ? b.value_ : a.value_);
  }
  friend Counted fma(const Counted& a, const Counted& b, const Counted& c) {
    ++tally.sums;
    return product(std::fma(a.value_, b.value_, c.value_));
  }
  friend Counted sin(const Counted& a) { return other(std::sin(a.value_)); }
  friend Counted cos(const Counted& a) { return other(std::cos(a.value_)); }
  friend Counted round(const Counted& a) { return other(std::nearbyint(a.value_)); }

 private:
  static Counted sum(double value) { return ++tally.sums, Counted(value); }
  static Counted product(double value) { return ++tally.products, Counted(value); }
  static Counted quotient(double value) { return ++tally.quotients, Counted(value); }
  static Counted other(double value) { return ++tally.others, Counted(value); }
  double value_ = 0.0;
};

}  // namespace counting

/// Two numbers, like a SIMD pack. Its mask has two Booleans, so code cannot branch on it.
namespace lanes {

class Pair;
class Mask {
 private:
  Mask(bool first, bool second) : first_(first), second_(second) {}
  bool first_, second_;
  friend Mask operator<(const Pair&, const Pair&);
  friend Mask operator>(const Pair&, const Pair&);
  friend Pair select(const Mask&, const Pair&, const Pair&);
};

class Pair {
 public:
  Pair() = default;
  explicit Pair(double both) : first_(both), second_(both) {}
  Pair(double first, double second) : first_(first), second_(second) {}
  friend double first(const Pair& x) { return x.first_; }
  friend double second(const Pair& x) { return x.second_; }

  friend Pair operator+(const Pair& a, const Pair& b) {
    return {a.first_ + b.first_, a.second_ + b.second_};
  }
  friend Pair operator-(const Pair& a, const Pair& b) {
    return {a.first_ - b.first_, a.second_ - b.second_};
  }
  friend Pair operator*(const Pair& a, const Pair& b) {
    return {a.first_ * b.first_, a.second_ * b.second_};
  }
  friend Pair operator/(const Pair& a, const Pair& b) {
    return {a.first_ / b.first_, a.second_ / b.second_};
  }
  friend Pair operator+(const Pair& a, double b) { return a + Pair(b); }
  friend Pair operator+(double a, const Pair& b) { return Pair(a) + b; }
  friend Pair operator-(const Pair& a, double b) { return a - Pair(b); }
  friend Pair operator-(double a, const Pair& b) { return Pair(a) - b; }
  friend Pair operator*(const Pair& a, double b) { return a * Pair(b); }
  friend Pair operator*(double a, const Pair& b) { return Pair(a) * b; }
  friend Pair operator/(const Pair& a, double b) { return a / Pair(b); }
  friend Pair operator/(double a, const Pair& b) { return Pair(a) / b; }
  friend Pair operator-(const Pair& a) { return {-a.first_, -a.second_}; }
  friend Mask operator<(const Pair& a, const Pair& b) {
    return {a.first_ < b.first_, a.second_ < b.second_};
  }
  friend Mask operator>(const Pair& a, const Pair& b) {
    return {a.first_ > b.first_, a.second_ > b.second_};
  }
  friend Pair select(const Mask& mask, const Pair& yes, const Pair& no) {
    return {mask.first_ ? yes.first_ : no.first_, mask.second_ ? yes.second_ : no.second_};
  }
  friend Pair min(const Pair& a, const Pair& b) { return select(b < a, b, a); }
  friend Pair max(const Pair& a, const Pair& b) { return select(a < b, b, a); }
  friend Pair sqrt(const Pair& a) { return {std::sqrt(a.first_), std::sqrt(a.second_)}; }
  friend Pair abs(const Pair& a) { return {std::fabs(a.first_), std::fabs(a.second_)}; }
  friend Pair fma(const Pair& a, const Pair& b, const Pair& c) {
    return {std::fma(a.first_, b.first_, c.first_), std::fma(a.second_, b.second_, c.second_)};
  }
  friend Pair sin(const Pair& a) { return {std::sin(a.first_), std::sin(a.second_)}; }
  friend Pair cos(const Pair& a) { return {std::cos(a.first_), std::cos(a.second_)}; }
  friend Pair round(const Pair& a) { return {std::nearbyint(a.first_), std::nearbyint(a.second_)}; }

 private:
  double first_ = 0.0, second_ = 0.0;
};

}  // namespace lanes

namespace propwash {
template <>
struct ScalarTraits<counting::Counted> {
  using value_type = double;
};
template <>
struct ScalarTraits<lanes::Pair> {
  using value_type = double;
};
}  // namespace propwash
