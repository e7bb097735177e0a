#pragma once
/// @file
/// ParameterError, and the violated constraints that form its message.

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Thrown for an invalid parameter, command or time step. The message names the field, the value
/// and the accepted range.
class ParameterError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

namespace detail {

/// A list of violated constraints in the form "field = value: expected …".
struct Violations {
  template <class Value>
  void add(const std::string& field, const Value& value, const std::string& expected) {
    std::ostringstream text;
    text.precision(9);
    text << field << " = " << value << ": expected " << expected;
    texts.push_back(text.str());
  }
  bool empty() const { return texts.empty(); }
  /// Throws ParameterError with all texts, if there are any.
  void throw_if_any(const std::string& subject) const {
    if (empty()) return;
    std::string message = subject + ":";
    for (const auto& text : texts) message += (texts.size() == 1 ? " " : "\n  ") + text;
    PROPWASH_THROW(ParameterError(message));
  }

  std::vector<std::string> texts;
};

inline std::string formatted(double value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return text.str();
}

/// Checks the time step [s] of numbers of type T.
template <class T>
void check_dt(double dt) {
  if (is_finite(dt) && static_cast<T>(dt) > T(0)) return;
  PROPWASH_THROW(ParameterError("dt = " + formatted(dt) + ": expected a finite time > 0 s"));
}

inline std::string formatted(const Vec3<double>& v) {
  return "(" + formatted(v.x) + ", " + formatted(v.y) + ", " + formatted(v.z) + ")";
}

inline std::string formatted(const Quat<double>& q) {
  return "(" + formatted(q.w) + ", " + formatted(q.x) + ", " + formatted(q.y) + ", " +
         formatted(q.z) + ")";
}

inline std::string formatted(const Mat3<double>& m) {
  std::string text = formatted(m.elements[0]);
  for (int i = 1; i < 9; ++i) text += (i % 3 == 0 ? "; " : ", ") + formatted(m.elements[i]);
  return text;
}

/// The Frobenius norm; not finite if an element is not finite.
inline double frobenius_norm(const Mat3<double>& m) {
  double sum = 0.0;
  for (const double x : m.elements) sum = std::hypot(sum, x);
  return sum;
}
/// The Frobenius norm of m - transpose(m).
inline double asymmetry(const Mat3<double>& m) {
  return std::sqrt(2.0) * std::hypot(m(0, 1) - m(1, 0), m(0, 2) - m(2, 0), m(1, 2) - m(2, 1));
}

/// Whether a finite number other than zero has a magnitude outside a range.
inline bool is_outside(double value, double smallest, double largest) {
  const double magnitude = std::abs(value);
  return is_finite(magnitude) && magnitude > 0.0 && (magnitude < smallest || magnitude > largest);
}

inline std::string magnitude_range(double smallest, double largest, const char* unit) {
  const std::string text =
      smallest > 0.0 ? "a magnitude from " + formatted(smallest) + " to " + formatted(largest)
                     : "a magnitude of at most " + formatted(largest);
  return *unit == 0 ? text : text + " " + unit;
}

/// The form of a vehicle's name in messages.
inline std::string quoted(const std::string& name) { return "vehicle '" + name + "'"; }

}  // namespace detail

}  // namespace propwash
