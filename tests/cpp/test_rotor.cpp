// Rotor thrust and torque, (2) to (5), against the same equations with Eigen's rotation matrices.
#include <Eigen/Geometry>
#include <propwash/math/eigen.hpp>
#include <propwash/vehicle/make_model.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_rotor {

namespace pw = propwash;

namespace {

using Rotor = pw::RotorParameters<double>;

Rotor random_rotor(Dice& dice) {
  Rotor rotor;
  rotor.position = dice.vec3(0.3);
  rotor.axis = dice.unit_vec3();
  rotor.spin = dice.uniform(-1.0, 1.0) < 0.0 ? -1.0 : 1.0;
  rotor.thrust_coefficient = dice.uniform(1e-6, 3e-6);
  rotor.torque_coefficient = dice.uniform(1e-8, 3e-7);
  rotor.inertia = dice.uniform(1e-6, 1e-5);
  return rotor;
}

struct PlainWrench {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  Eigen::Vector3d momentum = Eigen::Vector3d::Zero();
};

/// (2) to (5) and the sum of (14) as in the paper, s = -spin.
PlainWrench plain_wrench(const Rotor* rotors, const double* w, const double* dw, int count) {
  PlainWrench sum;
  for (int i = 0; i < count; ++i) {
    const auto& rotor = rotors[i];
    const Eigen::Matrix3d r_bm =
        Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitZ(), pw::to_eigen(rotor.axis))
            .toRotationMatrix();
    const double s = -rotor.spin;
    const Eigen::Vector3d f(0, 0, rotor.thrust_coefficient * w[i] * std::abs(w[i]));
    const Eigen::Vector3d mu(
        0, 0, s * (rotor.torque_coefficient * w[i] * std::abs(w[i]) + rotor.inertia * dw[i]));
    sum.force += r_bm * f;
    sum.torque += r_bm * mu + pw::to_eigen(rotor.position).cross(r_bm * f);
    sum.momentum -= r_bm * Eigen::Vector3d(0, 0, s * rotor.inertia * w[i]);
  }
  return sum;
}

template <int N>
void require_plain(Dice& dice, int count) {
  pw::SmallArray<Rotor, N> rotors;
  pw::SmallArray<double, N> speeds;
  pw::SmallArray<double, N> accelerations;
  rotors.resize(count), speeds.resize(count), accelerations.resize(count);
  for (int i = 0; i < count; ++i) {
    rotors[i] = random_rotor(dice);
    speeds[i] = dice.uniform(-1500.0, 2500.0);
    accelerations[i] = dice.uniform(-5e4, 5e4);
  }
  const auto wrench = pw::rotor_wrench(rotors, speeds, accelerations);
  const auto plain = plain_wrench(rotors.begin(), speeds.begin(), accelerations.begin(), count);
  CHECK((pw::to_eigen(wrench.force_B) - plain.force).norm() <= 1e-13 * 20.0);
  CHECK((pw::to_eigen(wrench.torque_B) - plain.torque).norm() <= 1e-13 * 20.0);
  CHECK((pw::to_eigen(wrench.momentum_B) - plain.momentum).norm() <= 1e-15);
}

/// The reflection y -> -y of a vector, and of an axial one (torque, momentum).
pw::Vec3<double> mirrored(const pw::Vec3<double>& v) { return {v.x, -v.y, v.z}; }
pw::Vec3<double> axially_mirrored(const pw::Vec3<double>& v) { return {-v.x, v.y, -v.z}; }

}  // namespace

TEST_CASE("the sum over rotors in any pose equals the paper's", "[rotor]") {
  Dice dice(21);
  for (int n = 0; n < 50; ++n) {
    require_plain<1>(dice, 1);
    require_plain<4>(dice, 4);
    require_plain<12>(dice, 12);
    require_plain<pw::Dynamic>(dice, 1 + n % 12);
  }
}

TEST_CASE("precomputed coefficients agree with the equations", "[rotor]") {
  Dice dice(24);
  pw::SmallArray<Rotor, 6> rotors;
  pw::SmallArray<pw::RotorCoefficients<double>, 6> coefficients;
  pw::SmallArray<double, 6> speeds, accelerations;
  for (int n = 0; n < 50; ++n) {
    for (int i = 0; i < 6; ++i) {
      rotors[i] = random_rotor(dice);
      coefficients[i] = pw::rotor_coefficients(rotors[i]);
      speeds[i] = dice.uniform(-500.0, 2000.0);
      accelerations[i] = dice.uniform(-1e4, 1e4);
    }
    const auto a = pw::rotor_wrench(rotors, speeds, accelerations);
    const auto b = pw::rotor_wrench(coefficients, speeds, accelerations);
    CHECK(distance(a.force_B, b.force_B) <= 1e-14 * norm(a.force_B));
    CHECK(distance(a.torque_B, b.torque_B) <= 1e-13 * norm(a.torque_B));
    CHECK(distance(a.momentum_B, b.momentum_B) <= 1e-14 * norm(a.momentum_B));
  }
}

TEST_CASE("rotors along body z give the same result with the specialised type", "[rotor]") {
  Dice dice(22);
  pw::SmallArray<Rotor, 5> general;
  pw::SmallArray<pw::RotorCoefficients<double, pw::AlongZ<double>>, 5> parallel;
  pw::SmallArray<double, 5> speeds, accelerations;
  for (int i = 0; i < 5; ++i) {
    general[i] = random_rotor(dice);
    general[i].axis = {0.0, 0.0, 1.0};
    const auto full = pw::rotor_coefficients(general[i]);
    parallel[i] = {{full.force_B.z}, full.torque_B, {full.reaction_B.z}};
    speeds[i] = dice.uniform(-500.0, 2000.0);
    accelerations[i] = dice.uniform(-1e4, 1e4);
  }
  const auto a = pw::rotor_wrench(general, speeds, accelerations);
  const auto b = pw::rotor_wrench(parallel, speeds, accelerations);
  CHECK(a.force_B.x == 0.0);
  CHECK(a.force_B.y == 0.0);
  CHECK(a.force_B.z == Approx(b.force_B.z).epsilon(1e-14));
  CHECK(distance(a.torque_B, b.torque_B) <= 1e-13);
  CHECK(a.momentum_B.z == Approx(b.momentum_B.z).epsilon(1e-14));
}

TEST_CASE("a mirrored vehicle with reversed spins has the mirrored wrench", "[rotor]") {
  Dice dice(23);
  for (int n = 0; n < 50; ++n) {
    pw::SmallArray<Rotor, 3> rotors, image;
    pw::SmallArray<double, 3> speeds, accelerations;
    for (int i = 0; i < 3; ++i) {
      rotors[i] = random_rotor(dice);
      image[i] = rotors[i];
      image[i].position = mirrored(rotors[i].position);
      image[i].axis = mirrored(rotors[i].axis);
      image[i].spin = -rotors[i].spin;
      speeds[i] = dice.uniform(-500.0, 2000.0);
      accelerations[i] = dice.uniform(-1e4, 1e4);
    }
    const auto a = pw::rotor_wrench(rotors, speeds, accelerations);
    const auto b = pw::rotor_wrench(image, speeds, accelerations);
    CHECK(distance(b.force_B, mirrored(a.force_B)) <= 1e-13);
    CHECK(distance(b.torque_B, axially_mirrored(a.torque_B)) <= 1e-13);
    CHECK(distance(b.momentum_B, axially_mirrored(a.momentum_B)) <= 1e-15);
  }
}

TEST_CASE("the reaction on the body is against the spin, in drag and in acceleration", "[rotor]") {
  Dice dice(24);
  for (int n = 0; n < 20; ++n) {
    auto rotor = random_rotor(dice);
    const double w = dice.uniform(100.0, 2000.0);
    const double dw = dice.uniform(100.0, 2000.0);
    CHECK(pw::rotor_torque(rotor, w, 0.0) * rotor.spin < 0.0);
    CHECK(pw::rotor_torque(rotor, 0.0, dw) * rotor.spin < 0.0);
    CHECK(pw::rotor_momentum(rotor, w) * rotor.spin > 0.0);
    // the acceleration torque balances the change of the rotor's momentum
    const double dt = 0.01;
    CHECK(pw::rotor_torque(rotor, 0.0, dw) * dt +
              (pw::rotor_momentum(rotor, w + dw * dt) - pw::rotor_momentum(rotor, w)) ==
          Approx(0.0).margin(1e-15));
    const double torque = pw::rotor_torque(rotor, w, dw);
    rotor.spin = -rotor.spin;
    CHECK(pw::rotor_torque(rotor, w, dw) == -torque);
  }
}

TEST_CASE("thrust is odd in speed and quadratic", "[rotor]") {
  Dice dice(25);
  const auto rotor = random_rotor(dice);
  for (const double w : {1.0, 200.0, 2100.0}) {
    CHECK(pw::rotor_thrust(rotor, w) > 0.0);
    CHECK(pw::rotor_thrust(rotor, -w) == -pw::rotor_thrust(rotor, w));
    CHECK(pw::rotor_thrust(rotor, 2.0 * w) == Approx(4.0 * pw::rotor_thrust(rotor, w)));
  }
}

}  // namespace test_rotor
