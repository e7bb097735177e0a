#pragma once
/// @file
/// Seeded random inputs and helpers that several tests share.

#include <cmath>
#include <cstdint>
#include <propwash/math/mat3.hpp>
#include <propwash/math/quat.hpp>
#include <propwash/math/scalar.hpp>
#include <propwash/model/residual.hpp>
#include <random>

/// Random numbers that are equal on every platform; unlike its engines, the standard library's
/// distributions are not standardised.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  propwash::Vec3<double> vec3(double scale = 1.0) {
    const double x = uniform(-scale, scale);
    const double y = uniform(-scale, scale);
    return {x, y, uniform(-scale, scale)};
  }
  propwash::Vec3<double> unit_vec3() {
    for (;;) {
      const auto v = vec3();
      const double n = norm(v);
      if (n > 0.1 && n < 1.0) return v * (1.0 / n);
    }
  }
  propwash::Quat<double> unit_quat() {
    return propwash::from_axis_angle(unit_vec3(), uniform(-3.1, 3.1));
  }
  propwash::Mat3<double> mat3(double scale = 1.0) {
    propwash::Mat3<double> m;
    for (double& element : m.elements) element = uniform(-scale, scale);
    return m;
  }

 private:
  std::mt19937_64 engine_;
};

inline double distance(const propwash::Vec3<double>& a, const propwash::Vec3<double>& b) {
  return norm(a - b);
}

/// R m R^T: transforms a matrix to another frame.
inline propwash::Mat3<double> rotated(const propwash::Quat<double>& q,
                                      const propwash::Mat3<double>& m) {
  const auto r = to_matrix(q);
  propwash::Mat3<double> out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) out(i, j) += r(i, k) * m(k, l) * r(j, l);
      }
    }
  }
  return out;
}

/// A residual with all coefficients, for a vehicle of about 1 kg.
inline propwash::ResidualParameters<double> some_residual() {
  propwash::ResidualParameters<double> residual;
  residual.velocity = {9.0, 8.0, 7.0}, residual.velocity_centre = {0.6, 0.0, -0.2};
  residual.rates = {9.0, 8.0, 7.0};
  residual.thrust = 30.0, residual.thrust_centre = 12.0;
  residual.torque = {4.0, 5.0, 2.0};
  double count = 0.0;
  const auto fill = [&](auto& numbers, double scale) {
    for (double& x : numbers) x = scale * std::sin(count += 1.7);
  };
  fill(residual.force_x, 0.2), fill(residual.force_y, 0.2), fill(residual.force_z, 0.2);
  fill(residual.torque_x, 0.01), fill(residual.torque_y, 0.01), fill(residual.torque_z, 0.01);
  return residual;
}

inline double pi() { return 3.14159265358979323846; }

/// A function of all hooks of a scalar and its operators, for x and y away from kinks.
template <class T>
T tangle(const T& x, const T& y) {
  using propwash::abs;
  using propwash::max;
  using propwash::min;
  using propwash::select;
  using propwash::signed_square;
  using propwash::sqrt;
  using std::cos;
  using std::fma;
  using std::sin;
  const T a = sqrt(x * x + y * y + 1.0) / (2.0 + cos(x * y));
  const T b = abs(x - 3.0) * min(x, y) - max(x * 0.5, 1.0 - y) / 1.7;
  const T c = select(x < y, x * y, x - y) + fma(x, y, -a) * signed_square(y);
  return a * b + sin(c) / (5.0 - a) + 0.25 / a - x;
}
