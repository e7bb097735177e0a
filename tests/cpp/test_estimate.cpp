// The parts of the error-state filter: derivatives compared with dual numbers, integration with
// closed forms, and the covariance with dense products.
#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <propwash/estimate/error_covariance.hpp>
#include <propwash/estimate/error_state_filter.hpp>
#include <propwash/math/dual.hpp>
#include <propwash/math/eigen.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_estimate {

namespace pw = propwash;

namespace {

constexpr int errors = 18;  // of the motion and of one gate
using Number = pw::Dual<double, errors>;
using State = pw::StrapdownState<double>;
using Matrix = Eigen::Matrix<double, errors, errors>;

template <class T>
pw::Vec3<T> lifted(const pw::Vec3<double>& v) {
  return pw::cast<T>(v);
}
/// The three variables from `first`, zero in value.
pw::Vec3<Number> variables(int first) {
  return {Number::variable(0.0, first), Number::variable(0.0, first + 1),
          Number::variable(0.0, first + 2)};
}

/// A state plus the error variables, in the order of ErrorIndex.
pw::StrapdownState<Number> with_errors(const State& x) {
  pw::StrapdownState<Number> y;
  y.q_WB = pw::cast<Number>(x.q_WB) * pw::from_rotation_vector(variables(0));
  y.velocity_W = lifted<Number>(x.velocity_W) + variables(3);
  y.position_W = lifted<Number>(x.position_W) + variables(6);
  y.gyroscope_bias_S = lifted<Number>(x.gyroscope_bias_S) + variables(9);
  y.accelerometer_bias_S = lifted<Number>(x.accelerometer_bias_S) + variables(12);
  return y;
}

pw::ImuReading<double> reading(Dice& dice) { return {dice.vec3(20.0), dice.vec3(8.0), 0.0}; }
pw::ImuReading<Number> lifted(const pw::ImuReading<double>& r) {
  return {lifted<Number>(r.specific_force), lifted<Number>(r.angular_rate), r.time};
}

State random_state(Dice& dice) {
  return {dice.unit_quat(), dice.vec3(10.0), dice.vec3(30.0), dice.vec3(0.1), dice.vec3(0.3)};
}

pw::ImuParameters<double> sensor() {
  pw::ImuParameters<double> imu;
  imu.attitude = pw::from_axis_angle(pw::Vec3<double>{0.6, 0.0, 0.8}, 0.7);
  imu.gyroscope_scale = {1.1, 0.9, 1.05};
  imu.accelerometer_scale = {0.95, 1.0, 1.2};
  imu.position = {0.1, -0.2, 0.05};
  imu.gyroscope_noise_density = 0.02, imu.accelerometer_noise_density = 0.03;
  imu.gyroscope_bias_walk = 0.004, imu.accelerometer_bias_walk = 0.005;
  imu.gyroscope_resolution = 0.01, imu.accelerometer_resolution = 0.02;
  return imu;
}

pw::GatePrior<double> gate_at(const pw::Vec3<double>& position_W) {
  const pw::Pose pose{position_W, pw::from_axis_angle(pw::Vec3<double>{0.0, 0.0, 1.0}, 0.4)};
  return pw::make_gate_prior<double>(pose, {3.0, 2.0, 0.2, 0.3, {1, 0, 3, 2}}, {1.0, 2.0, 0.1});
}

Matrix dense(const pw::ErrorCovariance<double>& p) {
  Matrix m;
  for (int i = 0; i < errors; ++i) {
    for (int j = 0; j < errors; ++j) {
      m(i, j) = p(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  return m;
}

Eigen::Matrix<double, 1, errors> dense(const pw::ObservationRow<double>& row) {
  Eigen::Matrix<double, 1, errors> h = Eigen::Matrix<double, 1, errors>::Zero();
  for (int k = 0; k < 3; ++k) {
    h(k) = row.attitude[k], h(6 + k) = row.position[k], h(15 + k) = row.landmark[k];
  }
  return h;
}

void set_block(Matrix& f, int i, int j, const pw::Mat3<double>& block) {
  f.block<3, 3>(i, j) = pw::map(block);
}

Matrix dense(const pw::StrapdownTransition<double>& t) {
  Matrix f = Matrix::Identity();
  set_block(f, 0, 0, t.attitude_attitude), set_block(f, 0, 9, t.attitude_gyroscope);
  set_block(f, 3, 0, t.velocity_attitude), set_block(f, 3, 9, t.velocity_gyroscope);
  set_block(f, 3, 12, t.velocity_accelerometer), set_block(f, 6, 0, t.position_attitude);
  set_block(f, 6, 9, t.position_gyroscope), set_block(f, 6, 12, t.position_accelerometer);
  f.block<3, 3>(6, 3) = t.dt * Eigen::Matrix3d::Identity();
  return f;
}

/// A covariance that is full: random variances, then a step and sightings of a gate.
pw::ErrorCovariance<double> full_covariance(Dice& dice) {
  pw::ErrorCovariance<double> p(1);
  for (std::size_t i = 0; i < 6; ++i) {
    p.set_variances(3 * i,
                    {dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0)});
  }
  std::vector<double> c(p.padded()), d(p.padded());
  for (int i = 0; i < errors; ++i) {
    c[static_cast<std::size_t>(i)] = dice.uniform(-0.06, 0.06);
    d[static_cast<std::size_t>(i)] = dice.uniform(-0.06, 0.06);
  }
  p.subtract(c.data(), d.data());
  return p;
}

TEST_CASE("The transition matrix is the derivative of a step") {
  Dice dice(1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto model = pw::make_strapdown_model<double>(sensor(), {0.0, 0.0, -9.81});
    const State x = random_state(dice);
    const auto start = reading(dice), stop = reading(dice);
    const double dt = 1e-3;
    const auto step = pw::strapdown_step(model, x, start, stop, dt);
    const auto moved =
        pw::strapdown_step(model, with_errors(x), lifted(start), lifted(stop), Number(dt)).end;
    const auto rotation = pw::cast<Number>(conjugate(step.end.q_WB)) * moved.q_WB;
    const Matrix f = dense(pw::strapdown_transition(model, step, dt));
    for (int j = 0; j < 15; ++j) {
      const pw::Vec3<double> attitude{2.0 * rotation.x.partials[j], 2.0 * rotation.y.partials[j],
                                      2.0 * rotation.z.partials[j]};
      for (int i = 0; i < 3; ++i) {
        // the coning term of (E2) and the third order in the rotation are left out of (E6)
        CHECK(f(i, j) == Approx(attitude[i]).margin(2e-6));
        CHECK(f(3 + i, j) == Approx(moved.velocity_W[i].partials[j]).margin(1e-7));
        CHECK(f(6 + i, j) == Approx(moved.position_W[i].partials[j]).margin(1e-10));
      }
    }
  }
}

TEST_CASE("The derivatives of pixels and range are exact") {
  Dice dice(2);
  const auto model = pw::make_strapdown_model<double>(sensor(), {0.0, 0.0, -9.81});
  auto camera = pw::make_camera(1024.0, 768.0, 1.2);
  camera.position = {0.2, 0.1, -0.1};
  camera.attitude = pw::from_axis_angle(pw::Vec3<double>{0.0, 1.0, 0.0}, -0.5);
  for (int repeat = 0; repeat < 20; ++repeat) {
    if (repeat == 10) camera.lens = pw::make_distortion(-0.2, 0.05, 0.01, -0.02);
    const State x = random_state(dice);
    const auto ahead = rotate(x.q_WB * camera.attitude, pw::Vec3<double>{9.0, 1.0, -2.0});
    const auto gate = gate_at(x.position_W + ahead);
    const pw::GateOffset<double> offset{dice.uniform(-1, 1), dice.uniform(-1, 1),
                                        dice.uniform(-0.1, 0.1)};
    const auto gate_error = variables(15);
    const pw::GateOffset<Number> moved{gate_error.x + offset.x, gate_error.y + offset.y,
                                       gate_error.z + offset.yaw};
    for (int corner = 0; corner < 4; ++corner) {
      const auto h = pw::predict_beacon(model, x, camera, gate, offset, corner);
      const auto marker_W = pw::marker_position(gate, moved, corner);
      const auto pixel =
          pw::project(camera, pw::marker_in_camera(model, with_errors(x), camera, marker_W));
      const auto u = dense(h.u), v = dense(h.v);
      CHECK(h.pixel.u == Approx(pixel.u.value));
      for (int j = 0; j < errors; ++j) {
        CHECK(u(j) == Approx(pixel.u.partials[j]).margin(1e-9));
        CHECK(v(j) == Approx(pixel.v.partials[j]).margin(1e-9));
      }
    }
    const pw::Vec3<double> position_B{0.05, 0.0, -0.1}, along_B{0.6, 0.0, -0.8};
    const auto range = pw::predict_range(model, x, position_B, along_B);
    const auto y = with_errors(x);
    const auto origin_W = y.position_W + rotate(y.q_WB, position_B - model.position_B);
    const auto along_W = rotate(y.q_WB, along_B);
    const Number exact = -origin_W.z / along_W.z;
    CHECK(range.range == Approx(exact.value));
    const auto row = dense(range.row);
    const double scale = 1.0 + std::fabs(exact.value) / std::fabs(range.descent);
    for (int j = 0; j < errors; ++j) {
      CHECK(row(j) == Approx(exact.partials[j]).margin(1e-12 * scale * scale));
    }
  }
}

TEST_CASE("The rows of a covariance change as a dense product does") {
  Dice dice(3);
  const auto model = pw::make_strapdown_model<double>(sensor(), {0.0, 0.0, -9.81});
  auto p = full_covariance(dice);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Matrix before = dense(p);
    const double dt = 0.01;
    const auto step =
        pw::strapdown_step(model, random_state(dice), reading(dice), reading(dice), dt);
    const auto transition = pw::strapdown_transition(model, step, dt);
    const Matrix f = dense(transition);
    Matrix noise = Matrix::Zero();
    const auto add = [&](int at, const pw::Mat3<double>& m, double variance) {
      noise.block<3, 3>(at, at) = variance * pw::map(m) * pw::map(m).transpose();
    };
    const pw::Mat3<double> to_W = step.end_WB * model.accelerometer_BS;
    add(0, model.gyroscope_BS, dt * model.gyroscope_noise + dt * dt * model.gyroscope_rounding);
    add(3, to_W, dt * model.accelerometer_noise + dt * dt * model.accelerometer_rounding);
    add(9, pw::Mat3<double>::identity(), dt * model.gyroscope_walk);
    add(12, pw::Mat3<double>::identity(), dt * model.accelerometer_walk);
    p.propagate(model, transition, step.end_WB);
    p.complete();
    const Matrix expected = f * before * f.transpose() + noise;
    CHECK((dense(p) - expected).norm() < 1e-13 * expected.norm());

    const Matrix full = dense(p);
    const pw::ObservationRow<double> row{dice.vec3(), dice.vec3(), dice.vec3()};
    std::vector<double> product(p.padded()), none(p.padded());
    p.product(row, 0, product.data());
    const Eigen::Matrix<double, errors, 1> ph = full * dense(row).transpose();
    const double variance = p.dot_row(row, 0, product.data()) + 0.1;
    CHECK(variance == Approx(dense(row) * ph + 0.1));
    for (double& number : product) number /= std::sqrt(variance);
    p.subtract(product.data(), none.data());
    CHECK((dense(p) - (full - ph * ph.transpose() / variance)).norm() < 1e-13 * full.norm());

    const Matrix corrected = dense(p);
    const auto rotation = dice.vec3(0.3);
    Matrix g = Matrix::Identity();
    set_block(g, 0, 0, pw::Mat3<double>::identity() + pw::skew(rotation * -0.5));
    p.reset(rotation);
    CHECK((dense(p) - g * corrected * g.transpose()).norm() < 1e-13 * corrected.norm());
    for (int i = 0; i < errors; ++i) CHECK(dense(p)(i, i) > 0.0);
  }
}

/// Half a second of a turning climb past a gate; returns the filter at its end.
template <class T>
pw::ErrorStateFilter<T> climbed() {
  const pw::StartDeviations<double> spread{{0.1, 0.1, 0.1}, {0.1, 0.1, 0.1}, {0.02, 0.02, 0.02}};
  const std::vector<pw::GatePrior<double>> gates{gate_at({7.0, 0.5, 2.0})};
  pw::ImuParameters<double> imu;
  imu.gyroscope_noise_density = 1e-3, imu.accelerometer_noise_density = 2e-3;
  imu.gyroscope_bias_initial = 0.01, imu.accelerometer_bias_initial = 0.05;
  pw::ErrorStateFilter<T> filter(imu, {{0.0, 0.0, 1.0}}, spread, gates);
  const auto camera = pw::make_camera(1024.0, 768.0, 1.2);
  pw::StrapdownState<double> truth;
  truth.position_W = {0.05, -0.05, 1.05};
  const auto model = pw::make_strapdown_model<double>(imu, {0.0, 0.0, -9.81});
  const pw::ImuReading<double> reading{{0.3, 0.1, 10.5}, {0.05, -0.02, 0.2}, 0.0};
  bool accepted[4] = {};
  for (int step = 1; step <= 500; ++step) {
    truth = pw::strapdown_step(model, truth, reading, reading, 0.001).end;
    filter.propagate(pw::cast<T>(reading.angular_rate), pw::cast<T>(reading.specific_force), 0.001);
    if (step % 20 != 0) continue;
    std::vector<pw::BeaconSighting<T>> seen;
    for (int corner = 0; corner < 4; ++corner) {
      const auto h = pw::predict_beacon(model, truth, camera, gates[0], {0.3, -0.4, 0.05}, corner);
      seen.push_back({0, corner, static_cast<T>(h.pixel.u), static_cast<T>(h.pixel.v)});
    }
    CHECK(filter.update_beacons(seen, pw::cast<T>(camera), T(2), filter.time(), accepted) == 4);
    const auto range = pw::predict_range(model, truth, {}, pw::Vec3<double>{0.0, 0.0, -1.0});
    const pw::Vec3<T> down{T(0), T(0), T(-1)};
    CHECK(filter.update_range(static_cast<T>(range.range), T(0.01), {}, down, filter.time()));
  }
  CHECK(distance(pw::cast<double>(filter.state().position_W), truth.position_W) < 0.1);
  return filter;
}

TEST_CASE("A filter of float agrees with one of double") {
  const auto a = climbed<double>();
  const auto b = climbed<float>();
  const auto pa = a.covariance();
  const auto pb = b.covariance();
  for (std::size_t i = 0; i < pa.size(); ++i) {
    CHECK(std::sqrt(static_cast<double>(pb(i, i))) == Approx(std::sqrt(pa(i, i))).epsilon(0.01));
  }
  const auto position = pw::cast<double>(b.motion().position_W);
  CHECK(distance(position, a.motion().position_W) < 0.2 * std::sqrt(pa(6, 6)));
  CHECK(static_cast<double>(b.gate(0).x) ==
        Approx(a.gate(0).x).margin(0.2 * std::sqrt(pa(15, 15))));
}

TEST_CASE("A refused call leaves the filter unchanged") {
  auto filter = climbed<double>();
  const auto before = filter;
  const auto camera = pw::make_camera(1024.0, 768.0, 1.2);
  auto blind = camera;
  blind.focal = 0.0;
  bool accepted[1] = {};
  const auto see = [&](const pw::BeaconSighting<double>& seen, const pw::Camera<double>& by,
                       double time) {
    const std::vector<pw::BeaconSighting<double>> all{seen};
    filter.update_beacons(all, by, 2.0, time, accepted);
  };
  const double now = filter.time();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(filter.propagate({nan, 0.0, 0.0}, {}, 0.001), std::invalid_argument);
  CHECK_THROWS_AS(filter.propagate({}, {}, -0.001), std::invalid_argument);
  CHECK_THROWS_AS(see({1, 0, 5.0, 5.0}, camera, now), std::invalid_argument);
  CHECK_THROWS_AS(see({0, 4, 5.0, 5.0}, camera, now), std::invalid_argument);
  CHECK_THROWS_AS(see({0, 0, nan, 5.0}, camera, now), std::invalid_argument);
  CHECK_THROWS_AS(see({0, 0, 5.0, 5.0}, blind, now), std::invalid_argument);
  CHECK_THROWS_AS(see({0, 0, 5.0, 5.0}, camera, now + 0.1), std::invalid_argument);
  CHECK_THROWS_AS(see({0, 0, 5.0, 5.0}, camera, now - 0.1), std::invalid_argument);
  CHECK_THROWS_AS(filter.update_range(nan, 0.01, {}, {0.0, 0.0, -1.0}, now), std::invalid_argument);
  CHECK(filter.time() == before.time());
  CHECK(distance(filter.motion().position_W, before.motion().position_W) == 0.0);
  const auto a = filter.covariance();
  const auto b = before.covariance();
  CHECK((dense(a) - dense(b)).norm() == 0.0);
}

}  // namespace

}  // namespace test_estimate
