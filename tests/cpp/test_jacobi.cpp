// Eigenvalues and eigenvectors of small symmetric matrices.
#include <algorithm>
#include <limits>
#include <propwash/math/impl/jacobi.hpp>
#include <random>

#include "catch.hpp"

namespace test_jacobi {

using propwash::symmetric_eigen;

namespace {

template <std::size_t N>
using Square = std::array<std::array<double, N>, N>;

template <std::size_t N>
double size_of(const Square<N>& a) {
  double sum = 0.0;
  for (const auto& row : a) {
    for (const double x : row) sum += x * x;
  }
  return std::sqrt(sum);
}

/// B B^T of the given rank, with rows of B of very different magnitudes.
template <std::size_t N>
Square<N> gram(std::mt19937& dice, std::size_t rank, double spread) {
  std::normal_distribution<double> normal;
  std::array<std::array<double, N>, N> b{};
  double size = 1.0;
  for (auto& row : b) {
    for (std::size_t k = 0; k < rank; ++k) row[k] = size * normal(dice);
    size *= spread;
  }
  Square<N> a{};
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      for (std::size_t k = 0; k < rank; ++k) a[i][j] += b[i][k] * b[j][k];
    }
  }
  return a;
}

/// The errors of V diag(values) V^T = A and V V^T = I.
template <std::size_t N>
void check_decomposition(const Square<N>& a) {
  const auto eigen = symmetric_eigen<N>(a);
  Square<N> wrong{}, skew{};
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      wrong[i][j] = -a[i][j];
      skew[i][j] = i == j ? -1.0 : 0.0;
      for (std::size_t k = 0; k < N; ++k) {
        wrong[i][j] += eigen.vectors[i][k] * eigen.values[k] * eigen.vectors[j][k];
        skew[i][j] += eigen.vectors[i][k] * eigen.vectors[j][k];
      }
    }
  }
  CHECK(size_of<N>(wrong) <= 1e-14 * size_of<N>(a));
  CHECK(size_of<N>(skew) <= 1e-14);
}

}  // namespace

TEST_CASE("Eigenvectors recompose a symmetric matrix, of full or lower rank, and graded") {
  std::mt19937 dice(7);
  for (int i = 0; i < 50; ++i) {
    for (const double spread : {1.0, 1e-2, 1e-5}) {
      for (const std::size_t rank : {1u, 2u, 3u})
        check_decomposition<3>(gram<3>(dice, rank, spread));
      for (const std::size_t rank : {1u, 3u, 4u})
        check_decomposition<4>(gram<4>(dice, rank, spread));
    }
  }
}

TEST_CASE("Diagonal matrices, equal eigenvalues and zero are handled") {
  for (const auto& values : {std::array<double, 3>{3.0, -1.0, 2.0}, {5.0, 5.0, 5.0}, {0, 0, 0}}) {
    Square<3> a{};
    for (std::size_t i = 0; i < 3; ++i) a[i][i] = values[i];
    CHECK(symmetric_eigen<3>(a).values == values);
  }
}

TEST_CASE("Small eigenvalues of a graded matrix are accurate") {
  // eigenvalues of [[1, e], [e, 2 e^2]]: about e^2 for a small e
  const double e = 1e-6;
  auto values = symmetric_eigen<2>({{{1.0, e}, {e, 2.0 * e * e}}}).values;
  std::sort(values.begin(), values.end());
  CHECK(values[0] == Approx(e * e).epsilon(1e-9));
  CHECK(values[1] == Approx(1.0).epsilon(1e-9));
}

TEST_CASE("Non-finite input terminates with non-finite results") {
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto values =
        symmetric_eigen<3>({{{1.0, odd, 0.0}, {odd, 1.0, 0.0}, {0, 0, 1.0}}}).values;
    CHECK_FALSE(std::isfinite(values[0] + values[1] + values[2]));
  }
}

}  // namespace test_jacobi
