#pragma once
/// @file
/// Eigenvalues and eigenvectors of a small symmetric matrix, by cyclic Jacobi rotations (Golub and
/// Van Loan, Matrix Computations, 4th ed., section 8.5).
///
/// Used once per vehicle. Eigen has such a solver too, but including it doubles the compile time of
/// every file that includes the library.

#include <array>
#include <cmath>
#include <cstddef>

namespace propwash {

/// A = V diag(values) V^T, unordered; column k of V is the eigenvector of values[k].
template <std::size_t N>
struct SymmetricEigen {
  std::array<double, N> values{};
  std::array<std::array<double, N>, N> vectors{};  ///< rows of V
};

/// The eigenvalues and eigenvectors of a symmetric matrix, up to rounding error (convergence is
/// quadratic). The result is not finite if `a` is not.
template <std::size_t N>
SymmetricEigen<N> symmetric_eigen(std::array<std::array<double, N>, N> a) {
  SymmetricEigen<N> result;
  auto& v = result.vectors;
  for (std::size_t i = 0; i < N; ++i) v[i][i] = 1.0;
  constexpr int max_sweeps = 30;  // about six suffice
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    bool is_diagonal = true;
    for (std::size_t p = 0; p < N; ++p) {
      for (std::size_t q = p + 1; q < N; ++q) {
        const double off = a[p][q];
        if (std::abs(off) <= 1e-18 * std::sqrt(std::abs(a[p][p] * a[q][q])) || off == 0.0) continue;
        is_diagonal = false;
        const double theta = 0.5 * (a[q][q] - a[p][p]) / off;
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1.0 / std::hypot(t, 1.0);
        const double s = t * c;
        for (std::size_t k = 0; k < N; ++k) {
          const double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < N; ++k) {
          const double pk = a[p][k], qk = a[q][k], vp = v[k][p], vq = v[k][q];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
          v[k][p] = c * vp - s * vq;
          v[k][q] = s * vp + c * vq;
        }
      }
    }
    if (is_diagonal) break;
  }
  for (std::size_t i = 0; i < N; ++i) result.values[i] = a[i][i];
  return result;
}

}  // namespace propwash
