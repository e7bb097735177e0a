// Downwash: the jet conserves momentum, widens linearly and pushes along its axis only; scenes of
// vehicles.
#include <array>
#include <propwash/model/downwash.hpp>
#include <vector>

#include "../../bindings/learn/scene.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace test_downwash {

namespace pw = propwash;
namespace learn = propwash::learn;
using Vec = pw::Vec3<double>;
using Rows = std::vector<float>;

namespace {

const pw::DownwashParameters<double> jet{0.05, 0.094, 0.8};
constexpr double thrust = 9.81;

double flux(double along, double across) {
  return pw::downwash_flux(jet, thrust, along, across * across);
}

}  // namespace

TEST_CASE("the momentum flux through every plane below is the thrust", "[downwash]") {
  for (const double along : {0.01, 0.5, 3.0}) {
    const double width = pw::downwash_half_width(jet, along);
    double sum = 0.0;
    const double step = 1e-3 * width;
    for (double r = 0.5 * step; r < 30.0 * width; r += step) {
      sum += 2.0 * pi() * r * step * flux(along, r);
    }
    CHECK(sum == Approx(thrust).epsilon(1e-5));
  }
}

TEST_CASE("at the half-width the velocity is half of that on the axis", "[downwash]") {
  for (const double along : {0.2, 1.0, 10.0}) {
    const double width = pw::downwash_half_width(jet, along);
    CHECK(std::sqrt(flux(along, width) / flux(along, 0.0)) == Approx(0.5));
  }
  const double widening = pw::downwash_half_width(jet, 7.0) - pw::downwash_half_width(jet, 2.0);
  CHECK(widening == Approx(5.0 * jet.spread));
}

TEST_CASE("at the rotors the flux on the axis is that of a rotor's wake", "[downwash]") {
  // momentum theory: T = 2 rho A v^2, and the velocity far below is 2 v
  CHECK(flux(1e-12, 0.0) == Approx(2.0 * thrust / jet.disc_area));
  CHECK(flux(0.0, 0.0) == 0.0);
  CHECK(flux(-1.0, 0.0) == 0.0);
}

TEST_CASE("the force points along the jet and rotates with it", "[downwash]") {
  Dice dice(3);
  for (int i = 0; i < 20; ++i) {
    const Vec offset = dice.vec3(2.0);
    const auto q = dice.unit_quat();
    const Vec up{0.0, 0.0, 1.0};
    const Vec force = pw::downwash_force(jet, thrust, up, offset);
    CHECK(force.x == 0.0);
    CHECK(force.y == 0.0);
    CHECK((offset.z < 0.0 ? force.z < 0.0 : force.z == 0.0));
    const Vec rotated_force = pw::downwash_force(jet, thrust, rotate(q, up), rotate(q, offset));
    CHECK(distance(rotated_force, rotate(q, force)) < 1e-9 * (1.0 + norm(force)));
    const double across = std::hypot(offset.x, offset.y);
    CHECK(force.z == Approx(-jet.coefficient * jet.disc_area * flux(-offset.z, across)));
  }
}

TEST_CASE("neighbours are the nearest active vehicles of the same scene", "[downwash]") {
  Dice dice(5);
  constexpr std::size_t scenes = 7, vehicles = 6, size = scenes * vehicles, count = 3;
  Rows position, velocity;
  std::array<bool, size> active{};
  for (std::size_t i = 0; i < size; ++i) {
    for (int k = 0; k < 3; ++k) position.push_back(static_cast<float>(dice.uniform(-2, 2)));
    for (int k = 0; k < 3; ++k) velocity.push_back(static_cast<float>(dice.uniform(-2, 2)));
    active[i] = dice.uniform(0, 1) < 0.7;
  }
  const learn::SceneRows<float> rows{size, vehicles, position.data(), active.data()};
  Rows seen(size * count * learn::neighbour_columns), closest(size);
  std::array<learn::Neighbour<float>, count> memory{};
  learn::see_others<float>(rows, velocity.data(), nullptr, count, memory.data(), seen.data());
  std::array<bool, size> collided{};
  learn::judge_meetings(rows, position.data(), 0.4F, closest.data(), collided.data());
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<float> far;
    for (std::size_t j = i - i % vehicles; j < i - i % vehicles + vehicles; ++j) {
      if (j == i || !active[i] || !active[j]) continue;
      const auto offset =
          learn::detail::row3(position.data(), j) - learn::detail::row3(position.data(), i);
      far.push_back(norm(offset));
    }
    std::sort(far.begin(), far.end());
    CHECK(closest[i] == (far.empty() ? std::numeric_limits<float>::infinity() : far.front()));
    CHECK(collided[i] == (!far.empty() && far.front() < 0.8F));
    for (std::size_t k = 0; k < count; ++k) {
      const float* at = seen.data() + (i * count + k) * learn::neighbour_columns;
      const bool present = k < far.size();
      CHECK(at[6] == (present ? 1.0F : 0.0F));
      CHECK(norm(learn::detail::row3(at, 0)) == Approx(present ? far[k] : 0.0F));
    }
  }
}

}  // namespace test_downwash
