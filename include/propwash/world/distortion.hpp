#pragma once
/// @file
/// Radial-tangential lens distortion.
///
/// D. C. Brown, "Close-range camera calibration", 1971, with two radial and two tangential
/// coefficients, as the model "radtan" of kalibr and `k1, k2, p1, p2` of OpenCV. Points are in the
/// image plane at depth 1, x to the right and y down.

#include <cmath>

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Coefficients of the lens; all 0: a pinhole camera.
template <class P>
struct Distortion {
  P k1{};  ///< radial, of the square of the distance from the axis
  P k2{};  ///< radial, of its fourth power
  P p1{};  ///< tangential, vertical
  P p2{};  ///< tangential, horizontal
  /// The square of the distance from the axis up to which the radial part increases. Beyond it the
  /// radial factor is constant, so that no point outside the field of view folds back into it.
  P max_square = P(constant<P>(1e9));

  /// Whether it moves any point.
  PROPWASH_FN bool is_none() const {
    const P o(constant<P>(0));
    return k1 == o && k2 == o && p1 == o && p2 == o;
  }
};

/// A lens with these coefficients.
inline Distortion<double> make_distortion(double k1, double k2, double p1, double p2) {
  Distortion<double> lens{k1, k2, p1, p2};
  // the smallest positive root s of 1 + 3 k1 s + 5 k2 s² = 0, the derivative of r (1 + k1 r² + …)
  const double root = 9.0 * k1 * k1 - 20.0 * k2;
  if (root >= 0.0) {
    const double denominator = -3.0 * k1 + std::sqrt(root);
    if (denominator > 0.0) lens.max_square = std::fmin(lens.max_square, 2.0 / denominator);
  }
  return lens;
}

/// The same lens in another scalar type.
template <class U, class P>
PROPWASH_FN Distortion<U> cast(const Distortion<P>& lens) {
  return {U(lens.k1), U(lens.k2), U(lens.p1), U(lens.p2), U(lens.max_square)};
}

/// A distorted point, and its symmetric derivative with respect to the undistorted point.
template <class T>
struct DistortedPoint {
  T x{}, y{};          ///< the distorted point
  T xx{}, xy{}, yy{};  ///< dx/dx; dx/dy = dy/dx; dy/dy
};

/// Moves a point by the lens:
/// x' = x (1 + k1 r² + k2 r⁴) + 2 p1 x y + p2 (r² + 2 x²),
/// y' = y (1 + k1 r² + k2 r⁴) + p1 (r² + 2 y²) + 2 p2 x y, with r² = x² + y².
template <class T, class P>
PROPWASH_FN DistortedPoint<T> distort(const Distortion<P>& lens, const T& x, const T& y) {
  const auto two = constant<P>(2), six = constant<P>(6);
  const T xx = x * x, yy = y * y, xy = x * y, rr = xx + yy;
  const T s = min(rr, T(lens.max_square));
  const T gain = s * (s * lens.k2 + lens.k1) + constant<P>(1);
  const T slope = (s * (lens.k2 * two) + lens.k1) * two;
  DistortedPoint<T> to;
  to.x = x * gain + xy * (two * lens.p1) + (rr + xx * two) * lens.p2;
  to.y = y * gain + (rr + yy * two) * lens.p1 + xy * (two * lens.p2);
  to.xx = gain + xx * slope + y * (two * lens.p1) + x * (six * lens.p2);
  to.xy = xy * slope + x * (two * lens.p1) + y * (two * lens.p2);
  to.yy = gain + yy * slope + y * (six * lens.p1) + x * (two * lens.p2);
  return to;
}

/// Solves distort(x, y) = (x', y') by Newton's method from (x', y'). Converges where the lens maps
/// one to one: the determinant of the derivative is > 0 between the axis and the point.
template <class T, class P>
PROPWASH_FN void undistort(const Distortion<P>& lens, T& x, T& y) {
  const T wanted_x = x, wanted_y = y;
  for (int i = 0; i < 8; ++i) {
    const DistortedPoint<T> at = distort(lens, x, y);
    const T dx = wanted_x - at.x, dy = wanted_y - at.y;
    const T per = T(constant<P>(1)) / (at.xx * at.yy - at.xy * at.xy);
    x = x + (at.yy * dx - at.xy * dy) * per;
    y = y + (at.xx * dy - at.xy * dx) * per;
  }
}

}  // namespace propwash
