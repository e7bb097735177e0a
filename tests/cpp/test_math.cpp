// The algebra of math/ compared with Eigen's, on random inputs.
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <limits>
#include <propwash/math/eigen.hpp>
#include <propwash/math/structured.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_math {

namespace pw = propwash;

namespace {

constexpr int samples = 200;
constexpr double tight = 1e-13;

template <class A, class B>
double apart(const A& a, const B& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

double apart(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b) {
  return (a.coeffs() - b.coeffs()).cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("vectors agree with Eigen's", "[math]") {
  Dice dice(1);
  for (int n = 0; n < samples; ++n) {
    const auto a = dice.vec3(3.0);
    const auto b = dice.vec3(3.0);
    const double s = dice.uniform(-3.0, 3.0);
    const Eigen::Vector3d ea = pw::to_eigen(a);
    const Eigen::Vector3d eb = pw::to_eigen(b);
    CHECK(apart(pw::to_eigen(a + b), ea + eb) <= tight);
    CHECK(apart(pw::to_eigen(a - b), ea - eb) <= tight);
    CHECK(apart(pw::to_eigen(-a), -ea) <= tight);
    CHECK(apart(pw::to_eigen(a * s), ea * s) <= tight);
    CHECK(apart(pw::to_eigen(cross(a, b)), ea.cross(eb)) <= tight);
    CHECK(apart(pw::to_eigen(cwise_product(a, b)), ea.cwiseProduct(eb)) <= tight);
    CHECK(std::abs(dot(a, b) - ea.dot(eb)) <= tight);
    CHECK(std::abs(norm(a) - ea.norm()) <= tight);
    CHECK(std::abs(squared_norm(a) - ea.squaredNorm()) <= 1e-12);
    auto c = a;
    c += b;
    c *= s;
    c -= a;
    CHECK(apart(pw::to_eigen(c), (ea + eb) * s - ea) <= tight);
    for (int i = 0; i < 3; ++i) CHECK(a[i] == ea[i]);
  }
}

TEST_CASE("matrices agree with Eigen's", "[math]") {
  Dice dice(2);
  for (int n = 0; n < samples; ++n) {
    const auto m = dice.mat3();
    const auto v = dice.vec3();
    const Eigen::Matrix3d em = pw::to_eigen(m);
    CHECK(apart(pw::to_eigen(m * v), em * pw::to_eigen(v)) <= tight);
    CHECK(apart(pw::to_eigen(transpose(m)), em.transpose()) <= tight);
    CHECK(std::abs(determinant(m) - em.determinant()) <= tight);
    if (std::abs(determinant(m)) < 1e-2) continue;
    const Eigen::Matrix3d product = em * pw::to_eigen(inverse(m));
    CHECK(apart(product, Eigen::Matrix3d::Identity()) <= 1e-11);
  }
  CHECK(apart(pw::to_eigen(pw::Mat3<double>::identity()), Eigen::Matrix3d::Identity()) == 0.0);
}

TEST_CASE("quaternions agree with Eigen's", "[math]") {
  Dice dice(3);
  for (int n = 0; n < samples; ++n) {
    const auto a = dice.unit_quat();
    const auto b = dice.unit_quat();
    const auto v = dice.vec3();
    const Eigen::Quaterniond ea = pw::to_eigen(a);
    const Eigen::Quaterniond eb = pw::to_eigen(b);
    const Eigen::Vector3d ev = pw::to_eigen(v);
    CHECK(std::abs(squared_norm(a) - 1.0) <= tight);
    CHECK(apart(pw::to_eigen(a * b), ea * eb) <= tight);
    CHECK(apart(pw::to_eigen(a * v), ea * Eigen::Quaterniond(0, ev.x(), ev.y(), ev.z())) <= tight);
    CHECK(apart(pw::to_eigen(conjugate(a)), ea.conjugate()) <= tight);
    CHECK(apart(pw::to_eigen(normalized(a * 3.0)), ea) <= tight);
    CHECK(apart(pw::to_eigen(rotate(a, v)), ea * ev) <= tight);
    CHECK(apart(pw::to_eigen(rotate_inverse(a, v)), ea.inverse() * ev) <= tight);
    CHECK(apart(pw::to_eigen(to_matrix(a)), ea.toRotationMatrix()) <= tight);
    CHECK(apart(pw::to_eigen(to_matrix(a) * v), ea * ev) <= tight);
    // two rotations equal the rotation by the product
    CHECK(distance(rotate(a * b, v), rotate(a, rotate(b, v))) <= tight);

    const auto axis = dice.unit_vec3();
    const double angle = dice.uniform(-6.0, 6.0);
    const Eigen::Quaterniond expected_rotation(Eigen::AngleAxisd(angle, pw::to_eigen(axis)));
    CHECK(apart(pw::to_eigen(pw::from_axis_angle(axis, angle)), expected_rotation) <= tight);
  }
}

TEST_CASE("types with known zeros equal the full ones", "[math]") {
  Dice dice(4);
  for (int n = 0; n < samples; ++n) {
    const auto d = dice.vec3() + pw::Vec3<double>{1.5, 1.5, 1.5};
    const pw::Diag3<double> diagonal{d.x, d.y, d.z};
    const auto full = pw::Mat3<double>::diagonal(d.x, d.y, d.z);
    const auto v = dice.vec3();
    const auto q = dice.unit_quat();
    CHECK(distance(diagonal * v, full * v) <= tight);
    CHECK(distance(inverse(diagonal) * v, inverse(full) * v) <= tight);

    const double s = dice.uniform(-2.0, 2.0);
    const double t = dice.uniform(-2.0, 2.0);
    const pw::AlongZ<double> along{s};
    const pw::Vec3<double> spelled{0.0, 0.0, s};
    CHECK(distance(rotate(q, along), rotate(q, spelled)) <= tight);
    CHECK(distance(v + pw::Zero3{}, v) == 0.0);
    CHECK(distance(v - pw::Zero3{}, v) == 0.0);
    CHECK(distance(pw::Zero3{} + v, v) == 0.0);
    CHECK(distance(v + along, v + spelled) <= tight);
    CHECK(distance(along + v, v + spelled) <= tight);
    CHECK((along * t).z == s * t);
    CHECK((along + pw::AlongZ<double>{t}).z == s + t);
    CHECK((pw::Zero3{} + along).z == s);
    auto sum = along;
    sum += pw::AlongZ<double>{t};
    CHECK(sum.z == s + t);
  }
}

TEST_CASE("maps share memory with their object, conversions do not", "[math]") {
  pw::Vec3<double> v{1.0, 2.0, 3.0};
  pw::map(v)[1] = 7.0;
  CHECK(v.y == 7.0);
  CHECK(pw::map(v).data() == &v.x);
  pw::Mat3<double> m{{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  pw::map(m)(0, 2) = -1.0;
  CHECK(m(0, 2) == -1.0);
  CHECK(pw::map(m).data() == m.elements);
  pw::SmallArray<double, 4> fixed{{1, 2, 3, 4}};
  pw::map(fixed)[3] = 5.0;
  CHECK(fixed[3] == 5.0);
  pw::SmallArray<double> dynamic{1, 2, 3};
  pw::map(dynamic)[2] = 9.0;
  CHECK(dynamic[2] == 9.0);
  CHECK(pw::map(dynamic).size() == 3);
  const auto& constant = v;
  CHECK(pw::map(constant).data() == &v.x);

  Eigen::Vector3d copy = pw::to_eigen(v);
  copy[0] = 99.0;
  CHECK(v.x == 1.0);
  CHECK(pw::to_eigen(fixed).size() == 4);
}

TEST_CASE("from_eigen inverts to_eigen and accepts expressions", "[math]") {
  Dice dice(5);
  const auto v = dice.vec3();
  const auto m = dice.mat3();
  const auto q = dice.unit_quat();
  CHECK(distance(pw::from_eigen(pw::to_eigen(v)), v) == 0.0);
  const auto back = pw::from_eigen(pw::to_eigen(m));
  for (int i = 0; i < 9; ++i) CHECK(back.elements[i] == m.elements[i]);
  const auto same = pw::from_eigen(pw::to_eigen(q));
  CHECK((same.w == q.w && same.x == q.x && same.y == q.y && same.z == q.z));
  const pw::Vec3<double> sum = pw::from_eigen(pw::to_eigen(v) + Eigen::Vector3d::Ones());
  CHECK(sum.x == v.x + 1.0);
  const pw::Mat3<double> transposed = pw::from_eigen(pw::to_eigen(m).transpose());
  CHECK(transposed(0, 1) == m(1, 0));
}

TEST_CASE("cast keeps values", "[math]") {
  const pw::Vec3<double> v{0.5, -1.25, 8.0};
  CHECK(distance(pw::cast<double>(pw::cast<float>(v)), v) == 0.0);
  const pw::Quat<double> q{0.5, -0.5, 0.5, -0.5};
  CHECK(pw::cast<float>(q).y == 0.5f);
  const pw::Mat3<double> m{{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  CHECK(pw::cast<float>(m)(2, 1) == 8.0f);
}

TEST_CASE("clamp limits numbers and passes NaN", "[math]") {
  CHECK(pw::clamp(5.0, 0.0, 2.0) == 2.0);
  CHECK(pw::clamp(-5.0, 0.0, 2.0) == 0.0);
  CHECK(pw::clamp(1.0, 0.0, 2.0) == 1.0);
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(pw::clamp(infinite, 0.0, 2.0) == 2.0);
  CHECK(pw::clamp(-infinite, 0.0, 2.0) == 0.0);
  CHECK(std::isnan(pw::clamp(std::numeric_limits<double>::quiet_NaN(), 0.0, 2.0)));
  CHECK(std::isnan(pw::clamp(std::numeric_limits<float>::quiet_NaN(), 0.0, 2.0)));
}

TEST_CASE("signed_sqrt and signed_square are inverse, odd and monotonic", "[math]") {
  Dice dice(6);
  double before = -50.0;
  for (int n = 0; n < samples; ++n) {
    const double x = dice.uniform(-50.0, 50.0);
    CHECK(pw::signed_sqrt(pw::signed_square(x)) == Approx(x).epsilon(1e-15));
    CHECK(pw::signed_square(pw::signed_sqrt(x)) == Approx(x).epsilon(1e-15));
    CHECK(pw::signed_square(-x) == -pw::signed_square(x));
    CHECK(pw::signed_sqrt(-x) == -pw::signed_sqrt(x));
    CHECK((x < before) == (pw::signed_square(x) < pw::signed_square(before)));
    before = x;
  }
  CHECK(pw::signed_sqrt(0.0) == 0.0);
}

TEST_CASE("arrays of fixed and dynamic size behave equally", "[math]") {
  const pw::SmallArray<double, 3> fixed{{1.0, -2.0, 3.0}};
  const pw::SmallArray<double> dynamic{1.0, -2.0, 3.0};
  const auto same = [](const auto& a, const auto& b) {
    REQUIRE(a.size() == b.size());
    for (int i = 0; i < a.size(); ++i) CHECK(a[i] == b[i]);
  };
  same(fixed, dynamic);
  same(fixed + fixed, dynamic + dynamic);
  same(fixed * 2.5, dynamic * 2.5);
  const auto square = [](double x) { return x * x; };
  same(map(fixed, square), map(dynamic, square));
  const auto larger = [](double x, double y) { return x > y; };
  same(map(fixed, fixed * 2.0, larger), map(dynamic, dynamic * 2.0, larger));
  same(pw::SmallArray<double, 3>::filled(3, 4.0), pw::SmallArray<double>::filled(3, 4.0));
  double sum = 0.0;
  for (double x : dynamic) sum += x;
  for (double x : fixed) sum -= x;
  CHECK(sum == 0.0);

  auto shorter = dynamic;
  shorter.resize(2);
  CHECK(shorter.size() == 2);
  CHECK(shorter.end() - shorter.begin() == 2);
  CHECK(dynamic.size() == 3);
  CHECK(pw::SmallArray<double>{}.size() == 0);
  CHECK(pw::SmallArray<double>::capacity == pw::max_size);
  int calls = 0;
  pw::for_each_index<5>(5, [&](int i) { calls += i; });
  pw::for_each_index<pw::Dynamic>(5, [&](int i) { calls += i; });
  CHECK(calls == 20);
}

}  // namespace test_math
