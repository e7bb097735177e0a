#pragma once
/// @file
/// Angles from their sines and cosines, by the hooks of scalar.hpp alone.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// The angle of the vector (x, y), rad in (-pi, pi]; 0 for the zero vector.
///
/// A polynomial good to 1e-5 (Abramowitz and Stegun, 4.4.49), then one step of Newton's method on
/// the turn that is left, of third order: the error is that of sin and cos.
template <class T>
PROPWASH_FN T atan2(const T& y, const T& x) {
  const T zero(constant<T>(0));
  const T wide = max(abs(x), abs(y));
  const T scale = T(constant<T>(1)) / select(wide > zero, wide, T(constant<T>(1)));
  const T a = min(abs(x), abs(y)) * scale;
  const T s = a * a;
  T angle =
      ((((s * constant<T>(0.0208351) - constant<T>(0.0851330)) * s + constant<T>(0.1801410)) * s -
        constant<T>(0.3302995)) *
           s +
       constant<T>(0.9998660)) *
      a;
  angle = select(abs(y) > abs(x), constant<T>(1.57079632679489662) - angle, angle);
  angle = select(x < zero, constant<T>(3.14159265358979324) - angle, angle);
  angle = select(y < zero, -angle, angle);
  const T c = cos(angle);
  const T d = sin(angle);
  const T radius = sqrt((x * scale) * (x * scale) + (y * scale) * (y * scale));
  const T left =
      ((y * scale) * c - (x * scale) * d) / select(wide > zero, radius, T(constant<T>(1)));
  return angle + (left + left * left * left * constant<T>(1.0 / 6.0));
}

/// The angle whose sine is x, limited to [-1, 1]: rad in [-pi/2, pi/2].
template <class T>
PROPWASH_FN T asin(const T& x) {
  const T one(constant<T>(1));
  const T sine = clamp(x, -one, one);
  return atan2(sine, sqrt(max(one - sine * sine, T(constant<T>(0)))));
}

}  // namespace propwash
