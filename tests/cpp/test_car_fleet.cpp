// Many cars: each is the Car of its id, in any company, on any threads.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <propwash/fleet/car_fleet.hpp>
#include <propwash/fleet/thread_pool.hpp>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <string>

#include "catch.hpp"
#include "support.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROPWASH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PROPWASH_SANITIZED 1
#endif
#endif

namespace pw = propwash;
using pw::CarFleetField;
using pw::CarParameters;

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

}  // namespace

#if !defined(PROPWASH_SANITIZED)  // a sanitizer brings operators of its own
// not inlined: GCC would warn where it sees one of a pair and not the other
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (counting) ++allocations;
  void* p = std::malloc(size > 0 ? size : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace {

template <class T>
struct Commands {
  std::vector<T> speed, yaw_rate;
  operator pw::CarFleetCommand<T>() const { return {speed, yaw_rate}; }
};

/// Each vehicle, known by its id, and each call has its own; some are beyond the car's range.
template <class T>
Commands<T> commands(int call, std::size_t size, std::uint32_t first_id = 0) {
  Commands<T> c;
  for (std::size_t i = 0; i < size; ++i) {
    const double t = 0.4 * call + 0.9 * (static_cast<double>(first_id) + static_cast<double>(i));
    c.speed.push_back(static_cast<T>(2.5 + 3.5 * std::sin(t)));
    c.yaw_rate.push_back(static_cast<T>(1.4 * std::cos(0.7 * t)));
  }
  return c;
}

template <class T>
std::vector<T> rows(const pw::CarFleet<T>& fleet, CarFleetField field) {
  std::vector<T> numbers(fleet.size() * static_cast<std::size_t>(fleet.width(field)));
  fleet.read(field, numbers);
  return numbers;
}

std::vector<double> times(const pw::CarFleet<double>& fleet) {
  std::vector<double> seconds(fleet.size());
  fleet.time(seconds);
  return seconds;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Whether f throws an error that says `text`.
template <class F>
bool refuses(const F& f, const std::string& text) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
  return false;
}

/// Calls from `first` to `last` of `substeps` steps each.
template <class T>
void drive(pw::CarFleet<T>& fleet, int first, int last, int substeps,
           pw::ExecutorRef executor = {}) {
  for (int call = first; call < last; ++call) {
    fleet.step(commands<T>(call, fleet.size(), fleet.options().first_id), substeps, executor);
  }
}

pw::CarFleetOptions options_of(std::uint64_t seed, std::uint32_t first_id = 0) {
  pw::CarFleetOptions options;
  options.seed = seed;
  options.first_id = first_id;
  return options;
}

/// Cars that differ in all that a step asks for.
std::vector<CarParameters> different(std::size_t count) {
  std::vector<CarParameters> cars(count, pw::vehicles::car());
  Dice dice(5);
  for (auto& car : cars) {
    car.speed_min = dice.uniform(-2.0, 0.0);
    car.speed_max = dice.uniform(1.0, 6.0);
    car.yaw_rate_limit = dice.uniform(0.3, 2.0);
    car.process_noise_forward = dice.uniform(0.0, 0.01);
    car.process_noise_left = dice.uniform(0.0, 0.01);
  }
  return cars;
}

/// Whether every vehicle of a fleet has the bits of the Car of its id.
template <class T>
bool drives_as_cars_do(pw::Integrator integrator, bool own, int substeps) {
  constexpr std::size_t size = 11;
  auto options = options_of(7, 1000);
  options.integrator = integrator;
  const auto cars = own ? different(size) : std::vector<CarParameters>(size, pw::vehicles::car());
  pw::CarFleet<T> fleet(pw::vehicles::car(), size, options);
  if (own) fleet.set_parameters([&](std::size_t i) -> const CarParameters& { return cars[i]; });
  constexpr int calls = 40;
  drive(fleet, 0, calls, substeps);
  const auto position = rows(fleet, CarFleetField::position);
  const auto heading = rows(fleet, CarFleetField::heading);
  bool same = true;
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = options.first_id + static_cast<std::uint32_t>(i);
    pw::Car<T> car(cars[i], {integrator, options.seed, id});
    for (int call = 0; call < calls; ++call) {
      const auto c = commands<T>(call, size, options.first_id);
      for (int k = 0; k < substeps; ++k) {
        car.step(pw::SpeedYawRate<T>{c.speed[i], c.yaw_rate[i]}, options.dt);
      }
    }
    const std::vector<T> many{position[2 * i], position[2 * i + 1], heading[i]};
    same = same && same_bits(many, {car.state().x, car.state().y, car.state().heading});
    same = same && std::abs(car.state().x) + std::abs(car.state().y) > T(0.01);
  }
  return same;
}

}  // namespace

TEST_CASE("a car of a fleet has the bits of the Car of its id", "[car fleet]") {
  for (const auto integrator : {pw::Integrator::euler, pw::Integrator::rk4}) {
    for (const bool own : {false, true}) {
      for (const int substeps : {1, 3, 10}) {
        CAPTURE(own, substeps);
        CHECK(drives_as_cars_do<double>(integrator, own, substeps));
        CHECK(drives_as_cars_do<float>(integrator, own, substeps));
      }
    }
  }
}

TEST_CASE("without noise a car of a fleet goes where Car does", "[car fleet]") {
  auto options = options_of(1);
  options.noise = false;
  pw::CarFleet<double> fleet(pw::vehicles::car(), 3, options);
  pw::CarOptions single;
  single.noise = false;
  pw::Car<double> car(pw::vehicles::car(), single);
  const Commands<double> c{{2.0, 2.0, 2.0}, {0.5, 0.5, 0.5}};
  fleet.step(c, 960);
  for (int k = 0; k < 960; ++k) car.step(pw::SpeedYawRate{2.0, 0.5}, options.dt);
  const auto position = rows(fleet, CarFleetField::position);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(position[2 * i] == car.state().x);
    CHECK(position[2 * i + 1] == car.state().y);
  }
  CHECK(times(fleet) == std::vector<double>(3, 960 * options.dt));
}

TEST_CASE("threads, their order and the length of a call change no bit", "[car fleet]") {
  constexpr std::size_t size = 1003;
  const auto driven = [&](pw::ExecutorRef executor, int substeps) {
    pw::CarFleet<float> fleet(pw::vehicles::car(), size, options_of(3));
    const auto c = commands<float>(2, size);
    for (int k = 0; k < 24; k += substeps) fleet.step(c, substeps, executor);
    return fleet.snapshot();
  };
  const auto expected = driven({}, 1);
  for (const int substeps : {2, 3, 6, 8, 24}) CHECK(driven({}, substeps) == expected);
  pw::ThreadPool two(2);
  std::size_t most = 0;
  const auto backwards = [&](std::size_t count, const auto& work) {
    most = std::max(most, count);
    for (std::size_t i = count; i-- > 0;) work(i);
  };
  for (const int substeps : {1, 24}) {
    CHECK(driven(two, substeps) == expected);
    CHECK(driven(backwards, substeps) == expected);
  }
  CHECK(most > 2);
}

TEST_CASE("a fleet in two halves drives the same bits", "[car fleet]") {
  constexpr std::size_t size = 29, cut = 12;
  const auto driven = [](std::size_t count, std::uint32_t first_id) {
    pw::CarFleet<float> fleet(pw::vehicles::car(), count, options_of(9, first_id));
    drive(fleet, 0, 20, 7);
    return rows(fleet, CarFleetField::position);
  };
  const auto whole = driven(size, 40);
  auto parts = driven(cut, 40);
  const auto second = driven(size - cut, 40 + cut);
  parts.insert(parts.end(), second.begin(), second.end());
  CHECK(same_bits(whole, parts));
}

TEST_CASE("a reset starts those of the mask, and the noise goes on", "[car fleet]") {
  constexpr std::size_t size = 6;
  pw::CarFleet<double> fleet(pw::vehicles::car(), size, options_of(4));
  drive(fleet, 0, 5, 10);
  const auto before = rows(fleet, CarFleetField::position);
  const bool mask[size] = {false, true, false, false, true, false};
  const std::vector<double> start{1.0, 2.0}, heading{0.0, 0.1, 0.2, 0.3, 0.4, 0.5};
  fleet.reset({start, heading}, {mask, size});
  const auto position = rows(fleet, CarFleetField::position);
  const auto headings = rows(fleet, CarFleetField::heading);
  const auto seconds = times(fleet);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(position[2 * i] == (mask[i] ? 1.0 : before[2 * i]));
    CHECK(position[2 * i + 1] == (mask[i] ? 2.0 : before[2 * i + 1]));
    CHECK((headings[i] == heading[i]) == mask[i]);
    CHECK((seconds[i] == 0.0) == mask[i]);
  }
  CHECK(fleet.steps() == 50);

  const auto episode = [&] {
    drive(fleet, 0, 5, 10);
    return rows(fleet, CarFleetField::position);
  };
  fleet.reset({}, 4);
  const auto first = episode();
  fleet.reset();
  CHECK_FALSE(same_bits(first, episode()));
  fleet.reset({}, 4);
  CHECK(fleet.steps() == 0);
  CHECK(same_bits(first, episode()));
  pw::CarFleet<double> other(pw::vehicles::car(), size, options_of(5));
  drive(other, 0, 5, 10);
  fleet.reset({}, 5);
  CHECK(same_bits(rows(other, CarFleetField::position), episode()));
}

TEST_CASE("a replaced state leaves time and what was not said", "[car fleet]") {
  pw::CarFleet<double> fleet(pw::vehicles::car(), 3, options_of(4));
  drive(fleet, 0, 5, 10);
  const auto before = rows(fleet, CarFleetField::position);
  const auto seconds = times(fleet);
  const std::vector<double> heading{1.5};
  fleet.set_state({{}, heading});
  CHECK(rows(fleet, CarFleetField::heading) == std::vector<double>(3, 1.5));
  CHECK(same_bits(rows(fleet, CarFleetField::position), before));
  CHECK(times(fleet) == seconds);
}

TEST_CASE("a snapshot continues bit for bit, also elsewhere", "[car fleet]") {
  constexpr std::size_t size = 13;
  pw::CarFleet<float> fleet(pw::vehicles::car(), size, options_of(8, 70));
  drive(fleet, 0, 4, 5);
  const bool mask[size] = {true, false, true};
  fleet.reset({}, {mask, size});
  drive(fleet, 4, 6, 5);
  const auto kept = fleet.snapshot();
  drive(fleet, 6, 12, 5);
  const auto later = fleet.snapshot();
  CHECK(kept != later);
  pw::CarFleet<float> other(pw::vehicles::car(), size, options_of(1));
  for (auto* continued : {&fleet, &other}) {
    continued->restore(kept);
    CHECK(continued->snapshot() == kept);
    CHECK(continued->options().first_id == 70);
    drive(*continued, 6, 12, 5);
    CHECK(continued->snapshot() == later);
  }
}

TEST_CASE("snapshots of others are refused, and nothing changes", "[car fleet]") {
  pw::CarFleet<float> fleet(pw::vehicles::car(), 3, options_of(8));
  drive(fleet, 0, 4, 5);
  const auto kept = fleet.snapshot();
  const auto refused = [&](const std::vector<std::byte>& snapshot, const std::string& text) {
    CHECK(refuses([&] { fleet.restore(snapshot); }, text));
    CHECK(fleet.snapshot() == kept);
  };
  refused({}, "expected what snapshot() gave, got 0 bytes");
  refused(std::vector<std::byte>(kept.begin(), kept.end() - 1), "bytes");
  refused(std::vector<std::byte>(kept.size()), "got other bytes");
  refused(pw::CarFleet<float>(pw::vehicles::car(), 4).snapshot(), "vehicles = 3, got 4");
  refused(pw::CarFleet<double>(pw::vehicles::car(), 3).snapshot(), "bytes of a number = 4, got 8");
  auto faster = pw::vehicles::car();
  faster.speed_max += 1.0;
  refused(pw::CarFleet<float>(faster, 3).snapshot(), "other parameters");
  auto options = options_of(8);
  options.dt = 0.01;
  refused(pw::CarFleet<float>(pw::vehicles::car(), 3, options).snapshot(), "got 0.01");
}

TEST_CASE("parameters that one vehicle cannot have change none", "[car fleet]") {
  constexpr std::size_t size = 5;
  pw::CarFleet<double> fleet(pw::vehicles::car(), size), same(pw::vehicles::car(), size);
  auto cars = different(size);
  cars[3].yaw_rate_limit = -1.0;
  const auto of = [&](std::size_t i) -> const CarParameters& { return cars[i]; };
  CHECK(refuses([&] { fleet.set_parameters(of); }, "vehicle 3: "));
  CHECK(refuses([&] { fleet.set_parameters(of); }, "yaw_rate_limit = -1"));
  CHECK_FALSE(fleet.has_own_parameters());
  drive(fleet, 0, 5, 10), drive(same, 0, 5, 10);
  CHECK(fleet.snapshot() == same.snapshot());
  cars[3].yaw_rate_limit = 1.0;
  fleet.set_parameters(of);
  CHECK(fleet.has_own_parameters());
  CHECK(fleet.snapshot() == same.snapshot());
  drive(fleet, 5, 9, 10), drive(same, 5, 9, 10);
  CHECK(fleet.snapshot() != same.snapshot());
  CHECK(fleet.bytes_per_vehicle() < 100.0);
}

TEST_CASE("a car that diverges leaves its neighbours alone", "[car fleet]") {
  constexpr std::size_t size = 9, bad = 4;
  pw::CarFleet<float> fleet(pw::vehicles::car(), size), calm(pw::vehicles::car(), size);
  std::vector<float> heading(size, 0.3f);
  calm.set_state({{}, heading});
  heading[bad] = std::numeric_limits<float>::infinity();
  fleet.set_state({{}, heading});
  drive(fleet, 0, 5, 3), drive(calm, 0, 5, 3);
  std::vector<float> flags(size);
  flags[bad] = 1.0f;
  CHECK(rows(fleet, CarFleetField::diverged) == flags);
  CHECK(rows(calm, CarFleetField::diverged) == std::vector<float>(size));
  const auto ours = rows(fleet, CarFleetField::position);
  const auto theirs = rows(calm, CarFleetField::position);
  for (std::size_t k = 0; k < 2 * size; ++k) CHECK((ours[k] == theirs[k]) == (k / 2 != bad));
  bool mask[size] = {};
  mask[bad] = true;
  fleet.reset({}, {mask, size});
  drive(fleet, 5, 6, 3);
  CHECK(rows(fleet, CarFleetField::diverged) == std::vector<float>(size));
}

TEST_CASE("fleets, commands and sizes that cannot be are refused", "[car fleet]") {
  using pw::ParameterError;
  auto broken = pw::vehicles::car();
  broken.speed_min = 6.0;
  CHECK_THROWS_AS(pw::CarFleet<float>(broken, 3), ParameterError);
  CHECK_THROWS_AS(pw::CarFleet<float>(pw::vehicles::car(), 0), ParameterError);
  auto options = options_of(0);
  options.integrator = pw::Integrator::symplectic_euler;
  CHECK_THROWS_AS(pw::CarFleet<float>(pw::vehicles::car(), 3, options), ParameterError);
  for (const double dt : {0.0, -0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    options = options_of(0);
    options.dt = dt;
    CHECK_THROWS_AS(pw::CarFleet<float>(pw::vehicles::car(), 3, options), ParameterError);
  }

  pw::CarFleet<float> fleet(pw::vehicles::car(), 3);
  const auto before = fleet.snapshot();
  std::vector<float> two(2), three(3), four(4);
  const bool mask[4] = {};
  CHECK(refuses([&] { fleet.step({two, three}); }, "speed"));
  CHECK(refuses([&] { fleet.step({three, four}); }, "yaw_rate"));
  CHECK(refuses([&] { fleet.step({three, three}, 0); }, "substeps = 0"));
  CHECK(refuses([&] { fleet.reset({three, {}}); }, "position"));
  CHECK(refuses([&] { fleet.reset({{}, four}, 2); }, "heading"));
  CHECK(refuses([&] { fleet.set_state({}, {mask, 4}); }, "mask"));
  CHECK_THROWS_AS(fleet.read(CarFleetField::position, three), std::invalid_argument);
  CHECK(fleet.snapshot() == before);
}

TEST_CASE("a step of a fleet of cars allocates nothing", "[car fleet]") {
#if defined(PROPWASH_SANITIZED)
  PROPWASH_SKIP("the sanitizer's operator new does not count");
#endif
  constexpr std::size_t size = 700;
  pw::CarFleet<float> fleet(pw::vehicles::car(), size);
  const auto c = commands<float>(1, size);
  std::vector<float> position(2 * size);
  pw::ThreadPool pool(2);
  counting = true;
  fleet.step(c, 3);
  fleet.step(c, 5, pool);
  fleet.read(CarFleetField::position, position);
  fleet.reset();
  counting = false;
  CHECK(allocations == 0);
  counting = true;
  const auto kept = fleet.snapshot();
  counting = false;
  CHECK(allocations > 0);  // the counter counts
}
