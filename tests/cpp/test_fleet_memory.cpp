// A step of a fleet allocates nothing, with any executor and features.
#include <atomic>
#include <cstdlib>
#include <new>
#include <propwash/fleet/fleet.hpp>
#include <propwash/fleet/thread_pool.hpp>
#include <propwash/vehicle/car.hpp>

#include "catch.hpp"
#include "fleet_engine.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> news{0};

void* counted(void* p) {
  if (counting) ++news;
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// GCC warns of a mismatch if it inlines only one of a pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(std::malloc(size > 0 ? size : 1));
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return counted(std::malloc(size > 0 ? size : 1));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (counting) ++news;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto line = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(line, (size / line + 1) * line));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace pw = propwash;

namespace {

template <class F>
long allocations(F&& f) {
  news = 0;
  counting = true;
  f();
  counting = false;
  return news;
}

/// All features of a step.
template <class T>
pw::Fleet<pw::Multicopter<>, T> with_everything(bool circuit = false) {
  auto vehicle = pw::vehicles::crazyflie();  // general shape, dead time, battery
  vehicle.imu.rate = 100.0;
  vehicle.imu.position = {0.01, 0.0, 0.0};
  if (circuit) vehicle.battery = {4.54, 1.0, 0.25, 4.3, 0.02, 0.01, 2.0, 0.7, 0.1};
  pw::FleetOptions options;
  options.floor = -1.0;
  options.turbulence = {5.0, 20.0, 5.0};
  options.max_action_delay = 3;
  return make_fleet<T>(vehicle, 999, options);
}

template <class T>
void check_none(pw::Fleet<pw::Multicopter<>, T> fleet, pw::ExecutorRef executor) {
  const auto commands = fleet_commands<T>(3, fleet.vehicle(), fleet.size());
  std::vector<T> position(3 * fleet.size());
  std::vector<double> seconds(fleet.size());
  const std::vector<T> wind{T(1), T(0), T(0)};
  const long count = allocations([&] {
    for (const int substeps : {1, 10, 25}) {
      fleet.step(commands.rate_thrust(), substeps, executor);
      fleet.step(commands.rotor_speeds(), substeps, executor);
      fleet.step(commands.rate_thrust(), substeps, executor);
    }
    fleet.set_wind(wind);
    fleet.read(pw::FleetField::position, position);
    fleet.time(seconds);
  });
  CHECK(count == 0);
  CHECK(seconds[0] > 0.0);
}

}  // namespace

TEST_CASE("the counter counts a fleet's memory", "[no allocation]") {
  CHECK(allocations([] { make_fleet<float>(pw::vehicles::flightgoggles(), 3); }) > 3);
  CHECK(allocations([] {}) == 0);
}

TEST_CASE("a step of a fleet allocates nothing", "[no allocation]") {
  pw::ThreadPool pool(2);
  for (const bool threads : {false, true}) {
    const pw::ExecutorRef executor = threads ? pw::ExecutorRef(pool) : pw::ExecutorRef();
    check_none(make_fleet<float>(pw::vehicles::flightgoggles(), 999), executor);
    check_none(make_fleet<double>(pw::vehicles::hexacopter(), 999), executor);
    for (const bool circuit : {false, true}) {
      check_none(with_everything<float>(circuit), executor);
      check_none(with_everything<double>(circuit), executor);
    }
  }
}

TEST_CASE("a step of a fleet of cars allocates nothing", "[no allocation]") {
  pw::ThreadPool pool(2);
  pw::Fleet<pw::Car<>, float> fleet{pw::vehicles::car(), 9999};
  const std::vector<float> commands(2 * fleet.size(), 1.0f);
  std::vector<float> rows(3 * fleet.size());
  for (const bool threads : {false, true}) {
    const pw::ExecutorRef executor = threads ? pw::ExecutorRef(pool) : pw::ExecutorRef();
    CHECK(allocations([&] {
            fleet.step(commands, 3, executor);
            fleet.read(rows);
          }) == 0);
  }
  CHECK(rows[0] > 0.0f);
}

TEST_CASE("outer loops allocate only at their first command", "[no allocation]") {
  auto fleet = with_everything<float>();
  const std::vector<float> target(3 * fleet.size(), 0.5f), attitude(4 * fleet.size(), 0.5f);
  const auto fly = [&] {
    fleet.step(pw::FleetVelocityCommand<float>{target, {}, {}}, 7);
    pw::FleetTrajectoryCommand<float> reference;
    reference.position = target;
    reference.controller = pw::OuterLoop::incremental;
    fleet.step(reference, 7);
    fleet.step(reference, 7, {}, {target, target, attitude});
  };
  CHECK(allocations(fly) > 0);
  CHECK(allocations(fly) == 0);
}
