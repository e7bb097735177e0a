// Allocation (23): inverse of the wrench, minimum norm, clipping, rank.
#include <Eigen/SVD>
#include <propwash/control/make_allocation.hpp>
#include <propwash/math/eigen.hpp>
#include <propwash/model/motor.hpp>
#include <propwash/model/rotor.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_allocation {

namespace pw = propwash;

namespace {

using Rotors = std::vector<pw::RotorParameters<double>>;
const pw::MotorParameters<double> wide{0.02, 0.02, -1e9, 1e9, 0.0};
const pw::MotorParameters<double> narrow{0.02, 0.02, 0.0, 2200.0, 0.0};

/// Rotors on a circle, with alternating spins.
Rotors ring(int count, double tilt = 0.0) {
  Rotors rotors;
  Dice dice(121);
  for (int i = 0; i < count; ++i) {
    pw::RotorParameters<double> rotor;
    const double angle = 2.0 * pi() * (i + 0.5) / count;
    rotor.position = {0.2 * std::cos(angle), 0.2 * std::sin(angle), 0.01};
    const auto axis = dice.vec3(tilt) + pw::Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
    rotor.spin = i % 2 == 0 ? 1.0 : -1.0;
    rotor.thrust_coefficient = 1.9e-6;
    rotor.torque_coefficient = 2.6e-7;
    rotor.inertia = 6e-6;
    rotors.push_back(rotor);
  }
  return rotors;
}

/// A computed from the model's wrench, column by column.
Eigen::MatrixXd matrix(const Rotors& rotors) {
  Eigen::MatrixXd a(4, rotors.size());
  for (std::size_t i = 0; i < rotors.size(); ++i) {
    pw::SmallArray<pw::RotorParameters<double>> one{rotors[i]};
    const auto w = pw::rotor_wrench(one, pw::SmallArray<double>{1.0}, pw::SmallArray<double>{0.0});
    a.col(static_cast<Eigen::Index>(i)) << w.torque_B.x, w.torque_B.y, w.torque_B.z, w.force_B.z;
  }
  return a;
}

Eigen::Vector4d vector(const pw::Wrench<double>& w) {
  return {w.torque_B.x, w.torque_B.y, w.torque_B.z, w.thrust};
}

pw::Wrench<double> random_wrench(Dice& dice) { return {dice.vec3(0.3), dice.uniform(5.0, 15.0)}; }

double largest(const Eigen::MatrixXd& m) { return m.cwiseAbs().maxCoeff(); }

template <int N>
void require_identity(const Rotors& rotors) {
  const auto allocation = pw::make_allocation<double, N>(rotors, wide);
  CHECK(allocation.rank == 4);
  CHECK(allocation.rotors() == static_cast<int>(rotors.size()));
  Dice dice(122);
  for (int n = 0; n < 50; ++n) {
    const auto desired = random_wrench(dice);
    const auto speeds = pw::allocate(allocation, desired);
    const auto attained = pw::attained_wrench(allocation, speeds);
    CHECK((vector(attained) - vector(desired)).norm() <= 1e-12 * 15.0);
    // and it is the wrench that the rotor model gives at these speeds
    pw::SmallArray<pw::RotorParameters<double>> list;
    pw::SmallArray<double> w, rest;
    list.resize(speeds.size()), w.resize(speeds.size()), rest.resize(speeds.size());
    for (int i = 0; i < speeds.size(); ++i) {
      list[i] = rotors[static_cast<std::size_t>(i)];
      w[i] = speeds[i];
    }
    const auto physical = pw::rotor_wrench(list, w, rest);
    CHECK(distance(physical.torque_B, desired.torque_B) <= 1e-12);
    CHECK(physical.force_B.z == Approx(desired.thrust).epsilon(1e-12));
  }
}

/// u = w |w| of an allocated wrench.
Eigen::VectorXd squares(const pw::Allocation<double, pw::Dynamic>& allocation,
                        const pw::Wrench<double>& wrench) {
  return pw::to_eigen(
      map(pw::allocate(allocation, wrench), [](double w) { return pw::signed_square(w); }));
}

}  // namespace

TEST_CASE("wrench of allocation is the identity for 4, 6 and 8 rotors", "[allocation]") {
  for (const double tilt : {0.0, 0.2}) {
    require_identity<4>(ring(4, tilt));
    require_identity<6>(ring(6, tilt));
    require_identity<pw::Dynamic>(ring(6, tilt));
    require_identity<pw::Dynamic>(ring(8, tilt));
  }
}

TEST_CASE("the allocation matrix is the rotor model's", "[allocation]") {
  for (const int count : {1, 3, 4, 6, 12}) {
    const auto rotors = ring(count, 0.3);
    const auto allocation = pw::make_allocation<double, pw::Dynamic>(rotors, wide);
    const auto a = matrix(rotors);
    for (int row = 0; row < 4; ++row) {
      const Eigen::VectorXd row_of_a = pw::to_eigen(allocation.wrench_from_squares[row]);
      CHECK(largest(row_of_a - a.row(row).transpose()) <= 1e-20);
    }
  }
}

TEST_CASE("for more than four rotors the allocation has the minimum norm", "[allocation]") {
  Dice dice(123);
  for (const int count : {5, 6, 8}) {
    const auto rotors = ring(count, 0.2);
    const auto allocation = pw::make_allocation<double, pw::Dynamic>(rotors, wide);
    const auto a = matrix(rotors);
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(a, Eigen::ComputeFullU | Eigen::ComputeFullV);
    for (int n = 0; n < 20; ++n) {
      const auto desired = random_wrench(dice);
      const Eigen::VectorXd u = squares(allocation, desired);
      const Eigen::VectorXd shortest = svd.solve(vector(desired));
      CHECK((u - shortest).norm() <= 1e-9 * shortest.norm());
      // any other solution for the same wrench is longer
      Eigen::VectorXd mix(count - 4);
      for (double& x : mix) x = dice.uniform(-1.0, 1.0);
      const Eigen::VectorXd null = svd.matrixV().rightCols(count - 4) * mix;
      const Eigen::VectorXd other = u + null * 0.1 * u.norm();
      CHECK((a * other - vector(desired)).norm() <= 1e-9);
      CHECK(other.norm() > u.norm());
    }
  }
}

TEST_CASE("rotors are clipped individually, and the attained wrench is reported", "[allocation]") {
  const auto rotors = ring(4);
  const auto allocation = pw::make_allocation<double, 4>(rotors, narrow);
  const auto unlimited = pw::make_allocation<double, 4>(rotors, wide);
  Dice dice(124);
  int clipped = 0;
  for (int n = 0; n < 200; ++n) {
    const pw::Wrench<double> desired{dice.vec3(3.0), dice.uniform(0.0, 50.0)};
    const auto speeds = pw::allocate(allocation, desired);
    const auto free = pw::allocate(unlimited, desired);
    bool any = false;
    Eigen::Vector4d u;
    for (int i = 0; i < 4; ++i) {
      CHECK(speeds[i] == std::min(std::max(free[i], 0.0), 2200.0));
      any = any || speeds[i] != free[i];
      u[i] = speeds[i] * std::abs(speeds[i]);
    }
    const auto attained = vector(pw::attained_wrench(allocation, speeds));
    CHECK((attained - matrix(rotors) * u).norm() <= 1e-12);
    if (any) {
      ++clipped;
      CHECK((attained - vector(desired)).norm() > 1e-6);
    } else {
      CHECK((attained - vector(desired)).norm() <= 1e-12 * 50.0);
    }
  }
  CHECK(clipped > 20);
  CHECK(clipped < 200);
}

TEST_CASE("rotors that cannot produce every wrench have a rank below four", "[allocation]") {
  const auto rank = [](const Rotors& rotors) {
    return pw::make_allocation<double, pw::Dynamic>(rotors, narrow).rank;
  };
  CHECK(rank(ring(1)) == 1);
  CHECK(rank(ring(2)) == 2);
  CHECK(rank(ring(3)) == 3);
  for (const int count : {4, 6, 8}) {
    CHECK(rank(ring(count)) == 4);
    auto one_spin = ring(count);
    for (auto& rotor : one_spin) rotor.spin = 1.0;
    CHECK(rank(one_spin) == 3);  // yaw torque in proportion to thrust
    auto no_torque = ring(count);
    for (auto& rotor : no_torque) rotor.torque_coefficient = 0.0;
    CHECK(rank(no_torque) == 3);
    auto in_a_row = ring(count);
    for (auto& rotor : in_a_row) rotor.position.y = 0.0;
    CHECK(rank(in_a_row) == 3);
  }
  // rank does not depend on units: a vehicle a hundred times smaller
  auto tiny = ring(4);
  for (auto& rotor : tiny) {
    rotor.position *= 0.01;
    rotor.thrust_coefficient *= 1e-8;
    rotor.torque_coefficient *= 1e-12;
  }
  CHECK(rank(tiny) == 4);
}

TEST_CASE("with three rotors, attainable wrenches are still allocated", "[allocation]") {
  const auto allocation = pw::make_allocation<double, pw::Dynamic>(ring(3), wide);
  // an attainable wrench is attained exactly
  const auto attainable =
      pw::attained_wrench(allocation, pw::SmallArray<double>{900.0, 1000.0, 1100.0});
  const auto speeds = pw::allocate(allocation, attainable);
  CHECK(speeds[0] == Approx(900.0));
  CHECK(speeds[1] == Approx(1000.0));
  CHECK(speeds[2] == Approx(1100.0));
}

TEST_CASE("a lever arm of rounding error does not raise the rank", "[allocation]") {
  // two rotors on the y axis, as cos and sin place them: x is 6e-17 m and not zero
  Rotors pair = ring(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double angle = pi() * (static_cast<double>(i) + 0.5);
    pair[i].position = {std::cos(angle), std::sin(angle), 0.0};
    pair[i].axis = {0.0, 0.0, 1.0};
    pair[i].torque_coefficient = 0.0;
  }
  REQUIRE(pair[0].position.x != 0.0);
  CHECK(pw::make_allocation<double, pw::Dynamic>(pair, wide).rank == 2);

  for (const double tiny : {5e-324, 1e-320, 1e-300, 1e-20}) {
    Rotors quad = ring(4);
    for (auto& rotor : quad) rotor.torque_coefficient = tiny;
    const auto allocation = pw::make_allocation<double, 4>(quad, narrow);
    CHECK(allocation.rank == 3);
    const auto speeds = pw::allocate(allocation, pw::Wrench<double>{{0.01, -0.01, 0.01}, 10.0});
    for (const double speed : speeds) CHECK(std::isfinite(speed));
  }
}

}  // namespace test_allocation
