#pragma once
/// @file
/// tan, asin and atan2 for any scalar type, from the scalar hooks alone.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Tangent of an angle [rad].
template <class T>
PROPWASH_FN T tan(const T& x) {
  return sin(x) / cos(x);
}

/// The angle of the vector (x, y), rad in (-pi, pi]; 0 for the zero vector.
///
/// A polynomial with error 1e-5 (Abramowitz and Stegun, 4.4.49), then one correction by the
/// remaining angle, of third order: the final error is that of sin and cos.
template <class T>
PROPWASH_FN T atan2(const T& y, const T& x) {
  const T zero(constant<T>(0));
  const T largest = max(abs(x), abs(y));
  const T scale = T(constant<T>(1)) / select(largest > zero, largest, T(constant<T>(1)));
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
  const T cosine = cos(angle);
  const T sine = sin(angle);
  const T radius = sqrt((x * scale) * (x * scale) + (y * scale) * (y * scale));
  const T residual = ((y * scale) * cosine - (x * scale) * sine) /
                     select(largest > zero, radius, T(constant<T>(1)));
  return angle + (residual + residual * residual * residual * constant<T>(1.0 / 6.0));
}

/// The angle whose sine is x (limited to [-1, 1]), rad in [-pi/2, pi/2]. Its derivative at +-1 is
/// 0, by the convention of the scalar types for sqrt at 0.
template <class T>
PROPWASH_FN T asin(const T& x) {
  const T one(constant<T>(1));
  const T sine = clamp(x, -one, one);
  return atan2(sine, sqrt(max(one - sine * sine, T(constant<T>(0)))));
}

}  // namespace propwash
