// Rewards and observations of environments, compared with plain formulas for one vehicle, for any
// number of rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <propwash/learn/impl/actions.hpp>
#include <propwash/learn/impl/hover.hpp>
#include <propwash/learn/impl/land.hpp>
#include <propwash/learn/impl/observation.hpp>
#include <propwash/learn/impl/race.hpp>
#include <propwash/learn/impl/track.hpp>
#include <propwash/world/scene_index.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_learn {

namespace pw = propwash;
namespace learn = propwash::learn;
using Vec = pw::Vec3<double>;
using Rows = std::vector<float>;

namespace {

constexpr float not_one = std::numeric_limits<float>::quiet_NaN();

/// Random states and actions of n vehicles.
struct Crowd {
  std::size_t n;
  Rows position, velocity, attitude, rates, action, before;

  Crowd(std::size_t size, std::uint64_t seed) : n(size) {
    Dice dice(seed);
    const auto add = [](Rows& rows, const Vec& v) {
      for (int i = 0; i < 3; ++i) rows.push_back(static_cast<float>(v[i]));
    };
    for (std::size_t i = 0; i < n; ++i) {
      add(position, dice.vec3(4.0));
      add(velocity, dice.vec3(3.0));
      add(rates, dice.vec3(5.0));
      const auto q = dice.unit_quat();
      for (const double x : {q.w, q.x, q.y, q.z}) attitude.push_back(static_cast<float>(x));
      for (int k = 0; k < 4; ++k) action.push_back(static_cast<float>(dice.uniform(-1, 1)));
      for (int k = 0; k < 4; ++k) before.push_back(static_cast<float>(dice.uniform(-1, 1)));
    }
  }
  learn::StateRows<float> state() const {
    return {n, position.data(), velocity.data(), attitude.data(), rates.data()};
  }
  learn::ActionRows<float> actions() const { return {4, action.data(), before.data()}; }
  Vec at(const Rows& rows, std::size_t i) const {
    return {rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]};
  }
  pw::Mat3<double> rotation(std::size_t i) const {
    const float* q = attitude.data() + 4 * i;
    return to_matrix(pw::Quat<double>{q[0], q[1], q[2], q[3]});
  }
  double squared_change(std::size_t i) const {
    double sum = 0.0;
    for (std::size_t k = 4 * i; k < 4 * i + 4; ++k) {
      sum += std::pow(static_cast<double>(action[k]) - static_cast<double>(before[k]), 2);
    }
    return sum;
  }
};

/// Weights other than the defaults; all differ from each other.
constexpr learn::HoverReward<float> hover_weights{1.5F, 0.7F, 0.4F, 0.01F, 0.05F};
constexpr learn::TrackReward<float> track_weights{2.0F, 0.8F, 0.1F, 0.004F, 0.06F};
constexpr learn::LandReward<float> land_weights{3.0F, 0.01F, 0.2F, 0.005F, 7.0F, 11.0F};
constexpr learn::RaceReward<float> race_weights{2.0F, 5.0F, 8.0F, 0.003F};

/// std::vector<bool> has no data().
using Truths = std::array<bool, 40>;

pw::Scene scene_of(const std::vector<pw::SceneItem>& items) {
  pw::Scene scene;
  for (const auto& item : items) scene.add(item);
  return scene;
}

}  // namespace

TEST_CASE("the hover reward follows its formula, for any number of rows", "[learn]") {
  for (const std::size_t n : {1U, 2U, 5U, 16U, 37U}) {
    for (const auto& weights : {learn::HoverReward<float>{}, hover_weights}) {
      const Crowd crowd(n, n);
      Rows reward(n), distance(n);
      Truths over{};
      learn::judge_hover(crowd.state(), crowd.actions(), weights, 3.0F, reward.data(), over.data(),
                         distance.data());
      const learn::HoverReward<double> w{weights.position, weights.position_scale, weights.upright,
                                         weights.body_rates, weights.action_change};
      for (std::size_t i = 0; i < n; ++i) {
        const double far = norm(crowd.at(crowd.position, i));
        const double rates = norm(crowd.at(crowd.rates, i));
        const double expected = w.position / (1.0 + far / w.position_scale) +
                                w.upright * crowd.rotation(i)(2, 2) - w.body_rates * rates * rates -
                                w.action_change * crowd.squared_change(i);
        CHECK(reward[i] == Approx(expected).margin(1e-5));
        CHECK(distance[i] == Approx(far));
        CHECK(over[i] == (far > 3.0));
      }
    }
  }
}

TEST_CASE("the tracking reward follows its formula, for any number of rows", "[learn]") {
  for (const std::size_t n : {1U, 5U, 16U, 37U}) {
    for (const auto& weights : {learn::TrackReward<float>{}, track_weights}) {
      const Crowd crowd(n, n), point(n, n + 1);
      Rows reward(n), distance(n);
      Truths over{};
      learn::judge_track(crowd.state(), crowd.actions(), point.position.data(),
                         point.velocity.data(), weights, 5.0F, reward.data(), over.data(),
                         distance.data());
      const learn::TrackReward<double> w{weights.position, weights.position_scale, weights.velocity,
                                         weights.body_rates, weights.action_change};
      for (std::size_t i = 0; i < n; ++i) {
        const double far = norm(crowd.at(crowd.position, i) - point.at(point.position, i));
        const double slip = norm(crowd.at(crowd.velocity, i) - point.at(point.velocity, i));
        const double rates = norm(crowd.at(crowd.rates, i));
        const double expected = w.position / (1.0 + far / w.position_scale) - w.velocity * slip -
                                w.body_rates * rates * rates -
                                w.action_change * crowd.squared_change(i);
        CHECK(reward[i] == Approx(expected).margin(1e-5));
        CHECK(over[i] == (far > 5.0));
      }
    }
  }
}

TEST_CASE("the default weights have their documented values", "[learn]") {
  const learn::HoverReward<double> hover;
  CHECK(std::array{hover.position, hover.position_scale, hover.upright, hover.body_rates,
                   hover.action_change} == std::array{1.0, 1.0, 0.2, 0.002, 0.02});
  const learn::TrackReward<double> track;
  CHECK(std::array{track.position, track.position_scale, track.velocity, track.body_rates,
                   track.action_change} == std::array{1.0, 0.5, 0.02, 0.002, 0.02});
  const learn::LandReward<double> land;
  CHECK(std::array{land.progress, land.speed, land.speed_margin, land.body_rates, land.success,
                   land.failure} == std::array{4.0, 0.002, 0.3, 0.002, 10.0, 10.0});
  const learn::RaceReward<double> race;
  CHECK(std::array{race.progress, race.gate, race.failure, race.body_rates} ==
        std::array{1.0, 10.0, 10.0, 0.001});
}

TEST_CASE("a landing succeeds if it is slow, level and near the centre", "[learn]") {
  Crowd crowd(36, 4);
  for (std::size_t i = 0; i < crowd.n; ++i) {
    for (std::size_t k = 0; k < 3; ++k) crowd.position[3 * i + k] *= k < 2 ? 0.06F : 0.02F;
    for (std::size_t k = 0; k < 3; ++k) crowd.velocity[3 * i + k] *= 0.2F;
    if (i % 2 == 0) {
      for (std::size_t k = 0; k < 4; ++k) crowd.attitude[4 * i + k] = k == 0 ? 1.0F : 0.0F;
    }
  }
  Rows distance(crowd.n), reward(crowd.n), speed(crowd.n), custom(crowd.n);
  const Rows was(crowd.n, 2.0F);
  distance = was;
  Truths over{}, landed{};
  const learn::LandBounds<float> bounds{0.03F, 10.0F, 0.3F, 0.9F, 0.94F};
  learn::judge_landing(crowd.state(), bounds, land_weights,
                       {distance.data(), custom.data(), over.data(), landed.data(), speed.data()});
  distance = was;
  learn::judge_landing(crowd.state(), bounds, {},
                       {distance.data(), reward.data(), over.data(), landed.data(), speed.data()});
  int successes = 0, touches = 0;
  for (std::size_t i = 0; i < crowd.n; ++i) {
    const Vec p = crowd.at(crowd.position, i);
    const double fast = norm(crowd.at(crowd.velocity, i)), far = norm(p);
    const bool touched = p.z < 0.03;
    const bool success =
        touched && fast < 0.9 && crowd.rotation(i)(2, 2) > 0.94 && std::hypot(p.x, p.y) < 0.3;
    CHECK(over[i] == touched);
    CHECK(landed[i] == success);
    const double speed_ratio = fast / (far + 0.3), rates = norm(crowd.at(crowd.rates, i));
    double expected = 4.0 * (2.0 - far) - 0.002 * speed_ratio * speed_ratio - 0.002 * rates * rates;
    if (touched) expected += success ? 10.0 : -10.0;
    CHECK(reward[i] == Approx(expected).margin(1e-4));
    const double custom_ratio = fast / (far + 0.2);
    double other = 3.0 * (2.0 - far) - 0.01 * custom_ratio * custom_ratio - 0.005 * rates * rates;
    if (touched) other += success ? 7.0 : -11.0;
    CHECK(custom[i] == Approx(other).margin(1e-4));
    CHECK(distance[i] == Approx(far));
    successes += success;
    touches += touched;
  }
  CHECK(successes > 2);
  CHECK(touches > successes);
  CHECK(touches < 36);
}

TEST_CASE("an observed state is error, velocity, rotation, rates, action and extras", "[learn]") {
  const Crowd crowd(11, 8);
  const Crowd goals(11, 9);
  for (const bool in_body : {false, true}) {
    Rows seen(crowd.n * 24, not_one);
    learn::observe_state(crowd.state(), goals.position.data(), false, crowd.actions(), in_body,
                         seen.data(), 24);
    learn::append(learn::ExtraRows<float>{2, goals.action.data()}, crowd.n, seen.data(), 24, 22);
    for (std::size_t i = 0; i < crowd.n; ++i) {
      const float* row = seen.data() + 24 * i;
      const auto rotation = crowd.rotation(i);
      Vec error = crowd.at(crowd.position, i) - goals.at(goals.position, i);
      Vec velocity = crowd.at(crowd.velocity, i);
      if (in_body) error = transpose(rotation) * error;
      if (in_body) velocity = transpose(rotation) * velocity;
      for (int k = 0; k < 3; ++k) {
        CHECK(row[k] == Approx(error[k]).margin(1e-5));
        CHECK(row[3 + k] == Approx(velocity[k]).margin(1e-5));
        CHECK(row[15 + k] == crowd.rates[3 * i + static_cast<std::size_t>(k)]);
      }
      for (int k = 0; k < 9; ++k) CHECK(row[6 + k] == Approx(rotation(k / 3, k % 3)).margin(1e-6));
      for (std::size_t k = 0; k < 4; ++k) CHECK(row[18 + k] == crowd.action[4 * i + k]);
      for (std::size_t k = 0; k < 2; ++k) CHECK(row[22 + k] == goals.action[2 * i + k]);
    }
  }
}

TEST_CASE("clipping keeps values in range, counts others, and reports NaN", "[learn]") {
  const Rows actions{0.5F, -1.0F, 1.0F, 0.0F, 2.0F, -3.0F, 0.1F, 1.0F, not_one, 0.0F, 7.0F, 0.0F};
  Rows clipped(actions.size());
  std::array<std::int32_t, 3> counts{};
  auto found = learn::clip_actions(actions.data(), 3, 4, nullptr, clipped.data(), counts.data());
  CHECK(found.bad == 2);
  const std::array<bool, 3> ignored{false, false, true};
  found = learn::clip_actions(actions.data(), 3, 4, ignored.data(), clipped.data(), counts.data());
  CHECK(found.bad == -1);
  CHECK(found.any);
  CHECK(counts == std::array<std::int32_t, 3>{0, 2, 0});
  for (std::size_t i = 0; i < 4; ++i) CHECK(clipped[i] == actions[i]);
  for (const float x : clipped) CHECK((x >= -1.0F && x <= 1.0F));
  Rows again(actions.size());
  found = learn::clip_actions(clipped.data(), 3, 4, nullptr, again.data(), counts.data());
  CHECK_FALSE(found.any);
  CHECK(again == clipped);
}

TEST_CASE("the thrust action maps to zero, the weight and full thrust", "[learn]") {
  const learn::RateThrustAction<float> map{{8.0F, 6.0F, 4.0F}, 10.0F, 25.0F};
  const Rows action{1.0F, -0.5F, 0.25F, -1.0F, 0, 0, 0, 0, 0, 0, 0, 1.0F, 0, 0, 0, -0.5F};
  Rows rates(12), thrust(4);
  map(action.data(), 4, rates.data(), thrust.data());
  CHECK(rates[0] == 8.0F);
  CHECK(rates[1] == -3.0F);
  CHECK(rates[2] == 1.0F);
  CHECK(thrust == Rows{0.0F, 10.0F, 35.0F, 5.0F});
}

TEST_CASE("a path is closed and traversed at its speed", "[learn]") {
  constexpr std::size_t samples = learn::path_samples;
  const double radius = 2.0, length = 2.0 * pi() * radius;
  Rows table(6 * samples);
  const auto angle = [](std::size_t i) { return 2.0 * pi() * static_cast<double>(i) / samples; };
  for (std::size_t i = 0; i < samples; ++i) {
    const double here = angle(i), next = angle(i + 1);
    table[6 * i] = static_cast<float>(radius * std::cos(here));
    table[6 * i + 1] = static_cast<float>(radius * std::sin(here));
    table[6 * i + 3] = static_cast<float>(radius * (std::cos(next) - std::cos(here)));
    table[6 * i + 4] = static_cast<float>(radius * (std::sin(next) - std::sin(here)));
  }
  const learn::PathRows<float> path{table.data(), length, 3.0};
  const std::array<double, 3> phase{0.0, 5.0, 12.0};
  const std::array<std::int32_t, 3> steps{0, 40, 1000};
  Rows place(9), velocity(9), later(9), unused(9), seen(36);
  learn::follow(path, phase.data(), steps.data(), 0.01, 0.0, 3, place.data(), velocity.data());
  learn::follow(path, phase.data(), steps.data(), 0.01, 0.2, 3, later.data(), unused.data());
  learn::look_ahead(path, phase.data(), steps.data(), 0.01, place.data(), velocity.data(), 3,
                    seen.data());
  for (std::size_t i = 0; i < 3; ++i) {
    const double path_angle = (phase[i] + 3.0 * 0.01 * steps[i]) / radius;
    CHECK(place[3 * i] == Approx(radius * std::cos(path_angle)).margin(1e-4));
    CHECK(place[3 * i + 1] == Approx(radius * std::sin(path_angle)).margin(1e-4));
    CHECK(velocity[3 * i] == Approx(-3.0 * std::sin(path_angle)).margin(0.01));
    CHECK(velocity[3 * i + 1] == Approx(3.0 * std::cos(path_angle)).margin(0.01));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(seen[12 * i + k] == velocity[3 * i + k]);
      CHECK(seen[12 * i + 6 + k] == Approx(later[3 * i + k] - place[3 * i + k]).margin(1e-5));
    }
  }
}

TEST_CASE("a gate is passed only along its x axis and within its opening", "[learn]") {
  const learn::RaceGate<float> gate{{5, 1, 2}, {0, 1, 0}, {-1, 0, 0}, {0, 0, 1}, 0.8F, 0.6F};
  const auto passes = [&](pw::Vec3<float> from, pw::Vec3<float> to) {
    float fraction = not_one;
    pw::Vec3<float> through;
    return learn::detail::passes(gate, from - gate.centre, to - gate.centre, fraction, through);
  };
  CHECK(passes({5, 0, 2}, {5, 2, 2}));
  CHECK(passes({5.7F, 0, 2.5F}, {5.7F, 2, 2.5F}));
  CHECK_FALSE(passes({5, 2, 2}, {5, 0, 2}));
  CHECK_FALSE(passes({5.9F, 0, 2}, {5.9F, 2, 2}));
  CHECK_FALSE(passes({5, 0, 2.7F}, {5, 2, 2.7F}));
  CHECK_FALSE(passes({5, -2, 2}, {5, 0, 2}));
  CHECK(passes({5, 0.9F, 2}, {5, 1, 2}));
  CHECK_FALSE(passes({5, 1, 2}, {5, 1.1F, 2}));
}

TEST_CASE("the cached clearance of a race changes only its run time", "[learn]") {
  Dice dice(11);
  const pw::Scene scene = scene_of(
      {{"ground", "", {}, {}, pw::Plane{}},
       {"gate", "", {}, {{4.0, 0.0, 2.0}, {1.0, 0.0, 0.0, 0.0}}, pw::Gate{1.6, 1.4, 0.3, 0.2}},
       {"ball", "", {}, {{-3.0, 2.0, 1.5}, {1.0, 0.0, 0.0, 0.0}}, pw::Sphere{0.8}}});
  const pw::SceneIndex<double> index(scene);
  const learn::RaceGate<float> gate{{4, 0, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, 0.8F, 0.7F};
  const std::vector<learn::RaceGate<float>> gates{gate, gate, gate};
  const learn::RaceCourse<float> course{gates.data(), 1, index.view()};
  constexpr std::size_t n = 32;
  const learn::RaceRules<float> rules{0.2F, 50.0F, 0.01};
  struct Memory {
    std::array<std::int64_t, n> course{}, next{};
    std::array<double, n> time{};
    Truths passed{}, collided{};
    Rows before = Rows(3 * n), clearance = Rows(n), reward = Rows(n);
    Truths over{};
  };
  Memory cached, fresh;
  Crowd crowd(n, 3);
  for (std::size_t i = 0; i < n; ++i) crowd.position[3 * i + 2] = 2.0F;
  cached.before = fresh.before = crowd.position;
  std::array<std::int32_t, n> steps{};
  int collisions = 0, skipped = 0, passed = 0;
  std::array<double, n> before{};
  for (int step = 0; step < 400; ++step) {
    for (std::size_t i = 0; i < n; ++i) {
      before[i] = norm(crowd.at(crowd.position, i) - Vec{4.0, 0.0, 2.0});
    }
    for (std::size_t i = 0; i < 3 * n; ++i) {
      const bool is_height = i % 3 == 2;
      crowd.position[i] += static_cast<float>(dice.uniform(-0.15, 0.15));
      if (is_height && crowd.position[i] > 4.0F) crowd.position[i] = 4.0F;
      if (is_height && crowd.position[i] < 0.1F) crowd.position[i] = 0.1F;
    }
    for (auto& each : steps) ++each;
    fresh.clearance.assign(n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) skipped += cached.clearance[i] > 0.5F;
    for (Memory* memory : {&cached, &fresh}) {
      learn::judge_race<float>(
          crowd.state(), &course, rules, race_weights, steps.data(),
          {memory->course.data(), memory->next.data(), memory->time.data(), memory->passed.data(),
           memory->collided.data(), memory->before.data(), memory->clearance.data()},
          memory->reward.data(), memory->over.data());
    }
    CHECK(cached.collided == fresh.collided);
    CHECK(cached.reward == fresh.reward);
    CHECK(cached.over == fresh.over);
    for (std::size_t i = 0; i < n; ++i) {
      const double after = norm(crowd.at(crowd.position, i) - Vec{4.0, 0.0, 2.0});
      const double rates = norm(crowd.at(crowd.rates, i));
      const double expected = 2.0 * (before[i] - after) - 0.003 * rates * rates +
                              (cached.passed[i] ? 5.0 : 0.0) - (cached.collided[i] ? 8.0 : 0.0);
      CHECK(cached.reward[i] == Approx(expected).margin(1e-4));
    }
    for (std::size_t i = 0; i < n; ++i)
      collisions += cached.collided[i], passed += cached.passed[i];
  }
  CHECK(collisions > 20);
  CHECK(skipped > 1000);
  CHECK(passed > 0);
}

TEST_CASE("a race detects contacts between steps, like one with fine steps", "[learn]") {
  const auto level = pw::Quat<double>::identity();
  const pw::Scene scene =
      scene_of({{"ground", "", {}, {}, pw::Plane{}},
                {"gate", "", {}, {{4.0, 0.0, 2.0}, level}, pw::Gate{1.6, 1.4, 0.3, 0.1}}});
  const pw::SceneIndex<double> index(scene);
  const learn::RaceGate<float> gate{{4, 0, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, 0.8F, 0.7F};
  const std::vector<learn::RaceGate<float>> gates{gate, gate, gate};
  const learn::RaceCourse<float> course{gates.data(), 1, index.view()};
  // 30 m/s, which is 0.94 m in 30 steps of 1/960 s
  constexpr std::size_t n = 40;
  constexpr double step = 30.0 * 30.0 / 960.0;
  struct Outcome {
    bool collided = false, passed = false;
  };
  Dice dice(12);
  Crowd crowd(n, 5);
  std::vector<Vec> starts;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec aside{0.0, dice.uniform(-1.4, 1.4), 2.0 + dice.uniform(-1.2, 1.2)};
    starts.push_back(Vec{-dice.uniform(0.0, step), 0.0, 0.0} + aside);
  }
  const auto fly = [&](int parts) {
    std::array<std::int64_t, n> on{}, next{};
    std::array<double, n> time{};
    std::array<std::int32_t, n> steps{};
    Truths passed{}, collided{}, over{};
    Rows before(3 * n), clearance(n), reward(n);
    std::vector<Outcome> outcomes(n);
    for (int k = 0; k <= 8 * parts; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        const Vec at = starts[i] + Vec{step * k / parts, 0.0, 0.0};
        for (std::size_t a = 0; a < 3; ++a) {
          crowd.position[3 * i + a] = static_cast<float>(at[static_cast<int>(a)]);
        }
      }
      if (k == 0) before = crowd.position;
      learn::judge_race<float>(crowd.state(), &course, {0.15F, 50.0F, 0.01}, {}, steps.data(),
                               {on.data(), next.data(), time.data(), passed.data(), collided.data(),
                                before.data(), clearance.data()},
                               reward.data(), over.data());
      for (std::size_t i = 0; i < n; ++i) {
        Outcome& outcome = outcomes[i];
        if (outcome.collided || outcome.passed) continue;
        outcome = {collided[i], passed[i]};
        CHECK(over[i] == (collided[i] || passed[i]));
      }
    }
    return outcomes;
  };
  const auto coarse = fly(1), fine = fly(60);
  int into = 0, through = 0;
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i, starts[i].x, starts[i].y, starts[i].z);
    CHECK(coarse[i].collided == fine[i].collided);
    CHECK(coarse[i].passed == fine[i].passed);
    CHECK_FALSE((coarse[i].collided && coarse[i].passed));
    into += fine[i].collided;
    through += fine[i].passed;
  }
  CHECK(into > 8);
  CHECK(through > 5);
}

TEST_CASE("the observed logarithms are those of the standard library, to float rounding",
          "[learn]") {
  double largest = 0.0;
  for (double exponent = -37.0; exponent < 38.0; exponent += 1e-3) {
    const auto x = static_cast<float>(std::pow(10.0, exponent));
    const double exact = std::log(static_cast<double>(x));
    const double unit = std::nextafter(std::abs(static_cast<float>(exact)), 1e9F) -
                        std::abs(static_cast<float>(exact));
    largest = std::max(largest, std::abs(double{learn::detail::log_of(x)} - exact) / unit);
  }
  CHECK(largest < 1.0);
  CHECK(learn::detail::log_of(1.0F) == 0.0F);

  const learn::RaceGate<float> next{{1, 2, 3}, {0, 1, 0}, {-1, 0, 0}, {0, 0, 1}, 0.8F, 0.7F};
  const learn::RaceGate<float> after{{9, -4, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, 0.8F, 0.7F};
  const std::vector<learn::RaceGate<float>> gates{next, after, after};
  const learn::RaceCourse<float> course{gates.data(), 1, {}};
  constexpr std::size_t n = 37;
  Crowd crowd(n, 7);
  for (std::size_t i = 0; i < n; ++i) {  // 1e-6 m to 1e6 m from the gate
    const double scale = std::pow(10.0, -6.0 + 12.0 * static_cast<double>(i) / (n - 1));
    for (std::size_t k = 0; k < 3; ++k) {
      crowd.position[3 * i + k] = static_cast<float>(double{next.centre[static_cast<int>(k)]} +
                                                     scale * double{crowd.position[3 * i + k]});
    }
  }
  const std::array<std::int64_t, n> on{}, passed{};
  Rows target(3 * n), seen(learn::race_columns * n), scaled(learn::race_scaled_columns * n);
  learn::look_at_gates(&course, on.data(), passed.data(), crowd.position.data(), n, target.data(),
                       seen.data(), scaled.data());
  const auto close = [](double x) { return Approx(x).epsilon(3e-7).margin(1e-6); };
  for (std::size_t i = 0; i < n; ++i) {
    const Vec from = crowd.at(crowd.position, i) - Vec{1.0, 2.0, 3.0};
    const Vec place{from.y, -from.x, from.z};
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(scaled[4 * i + k] == close(std::asinh(place[static_cast<int>(k)])));
    }
    CHECK(scaled[4 * i + 3] == close(std::log(norm(from) + 0.1)));
  }
}

TEST_CASE("rewards include the change of all components of an action", "[learn]") {
  constexpr std::size_t n = 6;
  const Crowd crowd(n, 4);
  for (const int width : {1, 3, 4}) {  // of rows in the same memory
    const auto columns = static_cast<std::size_t>(width);
    Rows reward(n), distance(n);
    Truths over{};
    const learn::HoverReward<float> weights{0.0F, 1.0F, 0.0F, 0.0F, 1.0F};
    learn::judge_hover(crowd.state(), {width, crowd.action.data(), crowd.before.data()}, weights,
                       3.0F, reward.data(), over.data(), distance.data());
    for (std::size_t i = 0; i < n; ++i) {
      double expected = 0.0;
      for (std::size_t k = i * columns; k < (i + 1) * columns; ++k) {
        const double change = double{crowd.action[k]} - double{crowd.before[k]};
        expected -= change * change;
      }
      CHECK(reward[i] == Approx(expected).margin(1e-6));
    }
  }
}

}  // namespace test_learn
