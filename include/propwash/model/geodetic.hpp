#pragma once
/// @file
/// Points of the local frame as latitude, longitude and height on the ellipsoid of WGS 84, and
/// back.
///
/// NIMA TR8350.2, "World Geodetic System 1984"; from Cartesian to geodetic by the iteration of
/// Bowring, "Transformation from spatial to geographical coordinates", Survey Review 23 (1976). In
/// double only: a float holds a longitude to half a metre.

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

/// A position on the WGS 84 ellipsoid.
struct Geodetic {
  double latitude = 0.0;   ///< rad, north
  double longitude = 0.0;  ///< rad, east
  double altitude = 0.0;   ///< m above the ellipsoid
};

/// m, Cartesian coordinates of the Earth: x to 0 N 0 E, z to the north pole.
inline Vec3<double> to_earth(const Geodetic& point) {
  const double sine = std::sin(point.latitude);
  const double cosine = std::cos(point.latitude);
  constexpr double e2 = Wgs84::eccentricity_squared;
  const double normal = Wgs84::equatorial_radius / std::sqrt(1.0 - e2 * sine * sine);
  const double across = (normal + point.altitude) * cosine;
  return {across * std::cos(point.longitude), across * std::sin(point.longitude),
          (normal * (1.0 - e2) + point.altitude) * sine};
}

/// The inverse of to_earth, to some 1e-9 m, for points more than some 50 km from the Earth's
/// centre.
inline Geodetic to_geodetic(const Vec3<double>& earth) {
  constexpr double a = Wgs84::equatorial_radius;
  constexpr double b = Wgs84::polar_radius;
  constexpr double e2 = Wgs84::eccentricity_squared;
  const double across = std::hypot(earth.x, earth.y);
  double reduced = std::atan2(a * earth.z, b * across);
  double latitude = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double sine = std::sin(reduced);
    const double cosine = std::cos(reduced);
    latitude = std::atan2(earth.z + e2 / (1.0 - e2) * b * sine * sine * sine,
                          across - e2 * a * cosine * cosine * cosine);
    reduced = std::atan2(b * std::sin(latitude), a * std::cos(latitude));
  }
  const double sine = std::sin(latitude);
  const double height =
      across * std::cos(latitude) + earth.z * sine - a * std::sqrt(1.0 - e2 * sine * sine);
  return {latitude, std::atan2(earth.y, earth.x), height};
}

/// Where the local frame W lies on the Earth: its origin, and how its x-axis is turned.
struct EarthFrame {
  Geodetic origin{};       ///< geodetic position of the origin of the world frame
  double x_heading = 0.0;  ///< rad, of world x from east, counter-clockwise; pi/2: x is north

  /// The columns are the world's axes in the Earth's.
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

/// Latitude, longitude and height of a point of the local frame, a plane that touches the ellipsoid
/// at the origin.
inline Geodetic to_geodetic(const EarthFrame& frame, const Vec3<double>& position_W) {
  return to_geodetic(to_earth(frame.origin) + frame.axes() * position_W);
}

/// The inverse: m, in the local frame.
inline Vec3<double> to_local(const EarthFrame& frame, const Geodetic& point) {
  return transpose(frame.axes()) * (to_earth(point) - to_earth(frame.origin));
}

}  // namespace propwash
