// The satellite receiver: geodetic coordinates against closed forms, and the Gauss-Markov bias
// against its law. Statistics at four sigma; seeds are fixed.
#include <cmath>
#include <propwash/model/geodetic.hpp>
#include <propwash/model/gnss.hpp>
#include <propwash/random/sample_noise.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_gnss {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Vec = pw::Vec3<double>;

constexpr double radian() { return 0.017453292519943295; }

}  // namespace

TEST_CASE("geodetic coordinates convert to Earth-centred ones and back", "[gnss]") {
  for (double latitude = -90.0; latitude <= 90.0; latitude += 7.5) {
    for (double longitude = -175.0; longitude < 180.0; longitude += 25.0) {
      for (const double altitude : {-5000.0, 0.0, 100.0, 12000.0}) {
        const pw::Geodetic point{latitude * radian(), longitude * radian(), altitude};
        const auto back = pw::to_geodetic(pw::to_earth(point));
        CHECK(back.latitude == Approx(point.latitude).margin(1e-15));
        CHECK(back.altitude == Approx(altitude).margin(1e-8));
        if (std::abs(latitude) < 89.0) {
          CHECK(back.longitude == Approx(point.longitude).epsilon(1e-14));
        }
      }
    }
  }
}

TEST_CASE("poles and equator lie on the axes of the ellipsoid", "[gnss]") {
  const auto equator = pw::to_earth({0.0, 0.0, 0.0});
  CHECK(distance(equator, {6378137.0, 0.0, 0.0}) < 1e-8);
  const auto pole = pw::to_earth({0.5 * pi(), 0.0, 0.0});
  CHECK(distance(pole, {0.0, 0.0, 6356752.314245}) < 1e-5);
  CHECK(pw::to_earth({0.0, 0.5 * pi(), 10.0}).y == Approx(6378147.0));
}

TEST_CASE("local coordinates convert to geodetic ones and back", "[gnss]") {
  Dice dice(701);
  for (int n = 0; n < 200; ++n) {
    const pw::EarthFrame frame{
        {dice.uniform(-1.5, 1.5), dice.uniform(-3.1, 3.1), dice.uniform(-100.0, 3000.0)},
        dice.uniform(-3.0, 3.0)};
    const Vec position_W = dice.vec3(5000.0);
    const auto back = pw::to_local(frame, pw::to_geodetic(frame, position_W));
    CHECK(distance(back, position_W) < 1e-7);
  }
}

TEST_CASE("local axes point along the meridian, the parallel and the vertical", "[gnss]") {
  const pw::Geodetic origin{42.0 * radian(), -71.0 * radian(), 30.0};
  const double s2 = std::sin(origin.latitude) * std::sin(origin.latitude);
  const double e2 = pw::Wgs84::eccentricity_squared;
  // radii of curvature of the ellipsoid, prime vertical and meridian
  const double across = pw::Wgs84::equatorial_radius / std::sqrt(1.0 - e2 * s2);
  const double along = across * (1.0 - e2) / (1.0 - e2 * s2);
  const double way = 10.0;
  // east-north-up, then north-west-up
  for (const double heading : {0.0, 0.5 * pi()}) {
    const pw::EarthFrame frame{origin, heading};
    const Vec north_W = heading == 0.0 ? Vec{0.0, way, 0.0} : Vec{way, 0.0, 0.0};
    const Vec east_W = heading == 0.0 ? Vec{way, 0.0, 0.0} : Vec{0.0, -way, 0.0};
    const auto north = pw::to_geodetic(frame, north_W);
    CHECK(north.latitude - origin.latitude == Approx(way / (along + 30.0)).epsilon(1e-5));
    CHECK(std::abs(north.longitude - origin.longitude) < 1e-12);
    const auto east = pw::to_geodetic(frame, east_W);
    CHECK(east.longitude - origin.longitude ==
          Approx(way / ((across + 30.0) * std::cos(origin.latitude))).epsilon(1e-5));
    const auto up = pw::to_geodetic(frame, {0.0, 0.0, way});
    CHECK(up.altitude == Approx(40.0).margin(1e-8));
    CHECK(up.latitude == Approx(origin.latitude).epsilon(1e-14));
  }
}

TEST_CASE("the antenna moves with the body", "[gnss]") {
  Dice dice(702);
  pw::GnssParameters<double> gnss;
  gnss.position = dice.vec3(0.2);
  for (int n = 0; n < 10; ++n) {
    const Vec position_W = dice.vec3(10.0), velocity_W = dice.vec3(5.0), rates_B = dice.vec3(3.0);
    const auto q_WB = dice.unit_quat();
    const auto now = pw::antenna_motion(gnss, position_W, velocity_W, q_WB, rates_B);
    // after a small rotation by the rates: the difference gives the velocity
    const double dt = 1e-6;
    const double rate = norm(rates_B);
    const auto rotation = pw::from_axis_angle(rates_B * (1.0 / rate), rate * dt);
    const auto later = pw::antenna_motion(gnss, position_W + velocity_W * dt, velocity_W,
                                          q_WB * rotation, rates_B);
    CHECK(distance((later.position - now.position) * (1.0 / dt), now.velocity) < 1e-5);
  }
}

TEST_CASE("a fix adds its bias and noise of its density and rate", "[gnss]") {
  const auto gnss = pw::typical_gnss();
  const pw::GnssReading<double> truth{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  const Vec bias{0.1, 0.2, 0.3}, one{1.0, 1.0, 1.0}, none{};
  const auto slow = pw::gnss_reading(gnss, truth, bias, one, one, 1.0);
  const auto fast = pw::gnss_reading(gnss, truth, bias, one, one, 3.0);
  const auto still = pw::gnss_reading(gnss, truth, bias, none, none, 3.0);
  CHECK(distance(still.position, truth.position + bias) < 1e-15);
  CHECK(distance(still.velocity, truth.velocity) == 0.0);
  CHECK(distance((slow.position - still.position) * 3.0, fast.position - still.position) < 1e-14);
  CHECK(distance((slow.velocity - still.velocity) * 3.0, fast.velocity - still.velocity) < 1e-14);
}

TEST_CASE("the bias of two half steps has the law of one step", "[gnss]") {
  for (const double dt : {1e-6, 0.01, 1.0, 100.0, 5000.0}) {
    const pw::GaussMarkovParameters<double> process{4.7, 1100.0};
    const auto whole = pw::make_gauss_markov_step(process, dt);
    const auto half = pw::make_gauss_markov_step(process, 0.5 * dt);
    const double retained = 1.0 - half.decay;
    CHECK(1.0 - whole.decay == Approx(retained * retained).epsilon(1e-14));
    const double added = (1.0 + retained * retained) * half.noise * half.noise;
    CHECK(whole.noise * whole.noise == Approx(added).epsilon(1e-12));
    // stationary: decay and added noise balance
    const double lost = whole.decay * (2.0 - whole.decay) * 4.7 * 4.7;
    CHECK(whole.noise * whole.noise == Approx(lost).epsilon(1e-12));
  }
  const auto constant = pw::make_gauss_markov_step(pw::GaussMarkovParameters<double>{2.0}, 10.0);
  CHECK(constant.decay == 0.0);
  CHECK(constant.noise == 0.0);
}

TEST_CASE("the bias keeps its variance and decorrelates in its correlation time", "[gnss]") {
  // 8000 runs from the stationary distribution: the relative standard deviation of the mean square
  // is sqrt(2 / runs), that of the correlation sqrt((1 + rho^2) / runs)
  constexpr int runs = 8000;
  const pw::GaussMarkovParameters<double> process{3.0, 50.0};
  const double dt = 1.7;
  const auto step = pw::make_gauss_markov_step(process, dt);
  double first = 0.0, last = 0.0, both = 0.0;
  constexpr int steps = 29;  // about a correlation time
  for (std::size_t run = 0; run < runs; ++run) {
    double z[24];
    const auto noise = [&](std::uint64_t sample) {
      pw::SampleNoise{801, sample, 0, 16}.draw(run, 0, 1, z);
      return z[0];
    };
    const double start = pw::gauss_markov_start(process.deviation, noise(0));
    double bias = start;
    for (std::uint64_t n = 1; n <= steps; ++n) {
      bias = pw::gauss_markov_next(step, bias, noise(n));
    }
    first += start * start, last += bias * bias, both += start * bias;
  }
  const double variance = runs * 9.0;
  const double rho = std::exp(-dt * steps / process.time);
  CHECK(std::abs(first / variance - 1.0) < 4.0 * std::sqrt(2.0 / runs));
  CHECK(std::abs(last / variance - 1.0) < 4.0 * std::sqrt(2.0 / runs));
  CHECK(std::abs(both / variance - rho) < 4.0 * std::sqrt((1.0 + rho * rho) / runs));
}

TEST_CASE("float keeps the bias for tiny steps", "[gnss]") {
  const auto step = pw::make_gauss_markov_step({4.7, 1100.0}, 1e-3);
  const pw::GaussMarkovStep<float> single{static_cast<float>(step.decay),
                                          static_cast<float>(step.noise)};
  const double retained = 1.0 - static_cast<double>(single.decay);
  const double variance = static_cast<double>(single.noise) * static_cast<double>(single.noise) /
                          (1.0 - retained * retained);
  CHECK(std::sqrt(variance) == Approx(4.7).epsilon(1e-6));
}

TEST_CASE("lanes have independent biases", "[gnss]") {
  const auto step = pw::make_gauss_markov_step({4.7, 1100.0}, 1.0);
  const Pair moved = pw::gauss_markov_next(step, Pair(1.0, -2.0), Pair(0.3, 0.4));
  CHECK(first(moved) == pw::gauss_markov_next(step, 1.0, 0.3));
  CHECK(second(moved) == pw::gauss_markov_next(step, -2.0, 0.4));
}

TEST_CASE("each sample has its own normals", "[gnss]") {
  const pw::SampleNoise noise{5, 7, 100, 16};
  double all[60], part[24];
  noise.draw(3, 0, 60, all);
  noise.draw(3, 24, 24, part);
  for (std::size_t i = 0; i < 24; ++i) CHECK(part[i] == all[24 + i]);
  // the first six are those of the stream
  const auto six = pw::six_normals(5, 103, 7, static_cast<pw::Stream>(16));
  for (int i = 0; i < 6; ++i) CHECK(all[i] == static_cast<double>(six[i]));
  // the first few of many
  const pw::NoiseBlock requested[] = {{3, 0}, {3, 9}, {4, 2}, {5, 2}, {3, 1}, {3, 2}};
  pw::SixNormals some[6];
  noise.draw_blocks(6, requested, some);
  for (int w = 0; w < 6; ++w) {
    double of_vehicle[60];
    noise.draw(requested[w].vehicle, 0, 60, of_vehicle);
    for (int i = 0; i < 6; ++i) {
      CHECK(static_cast<double>(some[w][i]) ==
            of_vehicle[6 * requested[w].block + static_cast<std::size_t>(i)]);
    }
  }
  // vehicle 3 of a fleet with first id 100 is vehicle 0 of one with first id 103
  double other[60];
  pw::SampleNoise{5, 7, 103, 16}.draw(0, 0, 60, other);
  for (int i = 0; i < 60; ++i) CHECK(other[i] == all[i]);
  CHECK(pw::sensor_key(9, 0) != pw::sensor_key(9, 1));
  CHECK(pw::sensor_key(9, 0) != 9);
}

}  // namespace test_gnss
