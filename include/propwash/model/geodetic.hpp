#pragma once
/// @file
/// Conversion between positions in the local frame and geodetic coordinates (WGS 84).
///
/// NIMA TR8350.2, "World Geodetic System 1984". Geodetic from Cartesian coordinates by the
/// iteration of Bowring, "Transformation from spatial to geographical coordinates", Survey Review
/// 23 (1976). In double only: in float, a longitude is resolved to half a metre.

#include <cmath>

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// The ellipsoid of WGS 84.
struct Wgs84 {
  static constexpr double equatorial_radius = 6378137.0;                           ///< m, a
  static constexpr double flattening = 1.0 / 298.257223563;                        ///< f
  static constexpr double polar_radius = equatorial_radius * (1.0 - flattening);   ///< m, b
  static constexpr double eccentricity_squared = flattening * (2.0 - flattening);  ///< e^2
};

/// Geodetic coordinates.
struct Geodetic {
  double latitude = 0.0;   ///< rad, north
  double longitude = 0.0;  ///< rad, east
  double altitude = 0.0;   ///< m above the ellipsoid
};

/// Earth-centred, Earth-fixed coordinates [m]: x towards 0 N 0 E, z towards the north pole.
inline Vec3<double> to_earth(const Geodetic& point) {
  const double sine = std::sin(point.latitude);
  const double cosine = std::cos(point.latitude);
  constexpr double e2 = Wgs84::eccentricity_squared;
  const double normal = Wgs84::equatorial_radius / std::sqrt(1.0 - e2 * sine * sine);
  const double equatorial = (normal + point.altitude) * cosine;
  return {equatorial * std::cos(point.longitude), equatorial * std::sin(point.longitude),
          (normal * (1.0 - e2) + point.altitude) * sine};
}

/// The inverse of to_earth, with error about 1e-9 m, for points more than about 50 km from the
/// centre of the Earth.
inline Geodetic to_geodetic(const Vec3<double>& earth) {
  constexpr double a = Wgs84::equatorial_radius;
  constexpr double b = Wgs84::polar_radius;
  constexpr double e2 = Wgs84::eccentricity_squared;
  const double equatorial = std::hypot(earth.x, earth.y);
  double reduced = std::atan2(a * earth.z, b * equatorial);
  double latitude = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double sine = std::sin(reduced);
    const double cosine = std::cos(reduced);
    latitude = std::atan2(earth.z + e2 / (1.0 - e2) * b * sine * sine * sine,
                          equatorial - e2 * a * cosine * cosine * cosine);
    reduced = std::atan2(b * std::sin(latitude), a * std::cos(latitude));
  }
  const double sine = std::sin(latitude);
  const double height =
      equatorial * std::cos(latitude) + earth.z * sine - a * std::sqrt(1.0 - e2 * sine * sine);
  return {latitude, std::atan2(earth.y, earth.x), height};
}

/// Origin and orientation of the local frame W on the Earth.
struct EarthFrame {
  Geodetic origin{};       ///< geodetic position of the origin of the world frame
  double x_heading = 0.0;  ///< rad, counter-clockwise from east to world x; pi/2: x points north

  /// The axes of W as columns, in Earth-centred, Earth-fixed coordinates.
  Mat3<double> axes() const {
    const double sp = std::sin(origin.latitude), cp = std::cos(origin.latitude);
    const double sl = std::sin(origin.longitude), cl = std::cos(origin.longitude);
    const double sh = std::sin(x_heading), ch = std::cos(x_heading);
    const Vec3<double> east{-sl, cl, 0.0};
    const Vec3<double> north{-sp * cl, -sp * sl, cp};
    const Vec3<double> x = east * ch + north * sh;
    const Vec3<double> y = north * ch - east * sh;
    return {{x.x, y.x, cp * cl, x.y, y.y, cp * sl, x.z, y.z, sp}};
  }
};

/// Geodetic coordinates of a position [m] in the local frame, which is Cartesian and tangent to the
/// ellipsoid at its origin.
inline Geodetic to_geodetic(const EarthFrame& frame, const Vec3<double>& position_W) {
  return to_geodetic(to_earth(frame.origin) + frame.axes() * position_W);
}

/// Position [m] in the local frame of a geodetic point.
inline Vec3<double> to_local(const EarthFrame& frame, const Geodetic& point) {
  return transpose(frame.axes()) * (to_earth(point) - to_earth(frame.origin));
}

}  // namespace propwash
