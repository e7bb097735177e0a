// A step allocates nothing: replaces operator new, and intercepts malloc if possible.
#include <Eigen/Core>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <propwash/control/rate_controller.hpp>
#include <propwash/estimate/error_state_filter.hpp>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <string>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROPWASH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PROPWASH_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(PROPWASH_SANITIZED)
#define PROPWASH_COUNTS_MALLOC 1
#else
#define PROPWASH_COUNTS_MALLOC 0
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<long> news{0};
std::atomic<long> mallocs{0};

void* counted_new(std::size_t size) {
  if (counting) ++news;
  void* p = std::malloc(size > 0 ? size : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

#if PROPWASH_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* p, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  if (counting) ++mallocs;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  if (counting) ++mallocs;
  return __libc_calloc(count, size);
}
void* realloc(void* p, std::size_t size) {
  if (counting) ++mallocs;
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (counting) ++mallocs;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  if (counting) ++mallocs;
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? 12 : 0;
}
}
#endif

void* operator new(std::size_t size) { return counted_new(size); }
void* operator new[](std::size_t size) { return counted_new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace pw = propwash;

namespace {

struct Count {
  long news = 0, mallocs = 0;
};

template <class F>
Count allocations(F&& f) {
  news = 0, mallocs = 0;
  counting = true;
  f();
  counting = false;
  return {news, mallocs};
}

/// All calls of a simulation, with two step lengths so that constants are recomputed.
template <class Uav>
void require_none(Uav& uav) {
  auto start = uav.trim();
  start.velocity = {1.0, 0.0, 0.0};
  double sum = 0.0;
  const auto count = allocations([&] {
    uav.reset(start);
    const auto saved = uav.snapshot();
    const pw::RotorSpeeds hover{start.rotor_speeds};
    for (int n = 0; n < 100; ++n) {
      const double dt = n % 10 == 0 ? 1.0 / 480 : 1.0 / 960;
      uav.step(hover, dt);
      uav.step(pw::RateThrust<double>{{0.1, 0.2, 0.3}, 9.0}, dt);
      sum += uav.imu().specific_force.z + uav.derivative().velocity.z;
      uav.set_wind({0.1 * n, 0.0, 0.0});
    }
    uav.set_state(start);
    uav.restore(saved);
  });
  CHECK(count.news == 0);
  CHECK(count.mallocs == 0);
  CHECK(sum != 0.0);
}

pw::VehicleParameters all_terms() {
  auto vehicle = pw::vehicles::crazyflie();  // rotor drag, dead time, battery
  vehicle.imu.position = {0.01, 0.0, 0.0};
  vehicle.imu.rate = 500.0;
  vehicle.imu.accelerometer_resolution = 0.01;
  return vehicle;
}

pw::VehicleParameters with_circuit() {
  auto vehicle = all_terms();
  vehicle.battery = {4.54, 1.0, 0.25, 4.3, 0.02, 0.01, 2.0, 0.7, 0.1};
  return vehicle;
}

}  // namespace

TEST_CASE("the counter counts", "[no allocation]") {
  const auto made = allocations([] { delete new volatile int(3); });
  const auto saved = allocations([] { auto p = std::make_unique<std::string>(1000, 'x'); });
  CHECK(made.news + saved.news >= 2);
  const auto nothing = allocations([] {});
  CHECK(nothing.news == 0);
  CHECK(nothing.mallocs == 0);
#if PROPWASH_COUNTS_MALLOC
  const auto raw = allocations([] {
    void* volatile p = std::malloc(10);
    std::free(p);
  });
  CHECK(raw.mallocs == 1);
  CHECK(raw.news == 0);
  // allocations of Eigen's dynamic matrices are counted too
  const auto matrix = allocations([] { Eigen::MatrixXd m = Eigen::MatrixXd::Zero(20, 20); });
  CHECK(matrix.mallocs > 0);
#else
  std::cout << "malloc is not intercepted here, operator new is\n";
#endif
}

TEST_CASE("a multicopter's step allocates nothing, noise on", "[no allocation]") {
  for (const auto integrator :
       {pw::Integrator::euler, pw::Integrator::rk4, pw::Integrator::symplectic_euler}) {
    pw::MulticopterOptions options;
    options.integrator = integrator;
    for (const auto& vehicle : {pw::vehicles::flightgoggles(), all_terms(), with_circuit()}) {
      pw::Multicopter<4> fixed(vehicle, options);
      require_none(fixed);
      pw::Multicopter<> dynamic(vehicle, options);
      require_none(dynamic);
    }
  }
}

TEST_CASE("outer loops allocate nothing, on the true state or an estimate", "[no allocation]") {
  pw::Multicopter<4> uav(pw::vehicles::flightgoggles());
  const pw::MotionEstimate<double> estimate{{0.1, 0.2, 0.3}, {}, {}, {}};
  const auto count = allocations([&] {
    for (int n = 0; n < 100; ++n) {
      uav.step(pw::PositionCommand<double>{{1.0, 0.0, 0.0}}, 1.0 / 960);
      uav.step(pw::TrajectoryCommand<double>{}, 1.0 / 960, &estimate);
    }
  });
  CHECK(count.news == 0);
  CHECK(count.mallocs == 0);
}

TEST_CASE("a stand-alone rate controller and a filter allocate nothing", "[no allocation]") {
  pw::RateController<> controller(pw::vehicles::hexacopter(), 1.0 / 960);
  pw::LowPass filter(pw::butterworth(30.0), 1.0 / 960);
  const auto count = allocations([&] {
    for (int n = 0; n < 100; ++n) {
      controller.update({0.1, 0.2, 0.3}, {{1.0, 0.0, 0.0}, 15.0});
      filter.update(1.0);
    }
    controller.reset();
  });
  CHECK(count.news == 0);
  CHECK(count.mallocs == 0);
}

TEST_CASE("a car's step allocates nothing", "[no allocation]") {
  pw::Car<> car(pw::vehicles::car());
  const auto count = allocations([&] {
    car.reset();
    for (int n = 0; n < 100; ++n) car.step(pw::SpeedYawRate{1.0, 0.2}, 0.01);
    car.restore(car.snapshot());
  });
  CHECK(count.news == 0);
  CHECK(count.mallocs == 0);
  CHECK(car.state().x > 0.0);
}

TEST_CASE("a filter's readings and updates allocate nothing, late ones too", "[no allocation]") {
  const pw::Pose ahead{{8.0, 0.0, 1.5}};
  const auto gate = pw::make_gate_prior<double>(ahead, {2.0, 2.0, 0.2, 0.1}, {1.0, 1.0, 0.1});
  pw::FilterOptions options;
  options.history = 20;
  pw::ErrorStateFilter<> filter({}, {{0.0, 0.0, 1.5}}, {}, {gate}, options);
  const auto camera = pw::make_camera(1024.0, 768.0, 1.2);
  const std::array<pw::BeaconSighting<double>, 2> seen{
      {{0, 0, 450.0, 320.0}, {0, 2, 590.0, 450.0}}};
  bool accepted[2] = {};
  std::size_t used = 0;
  const auto count = allocations([&] {
    for (int n = 0; n < 100; ++n) {
      filter.propagate({0.0, 0.0, 0.01}, {0.0, 0.0, 9.81}, 0.001);
      if (n % 10 != 9) continue;
      used += filter.update_beacons(seen, camera, 5.0, filter.time() - 0.0035, accepted);
      filter.update_range(1.5, 0.01, {}, {0.0, 0.0, -1.0}, filter.time() - 0.003);
    }
  });
  CHECK(count.news == 0);
  CHECK(count.mallocs == 0);
  CHECK(used > 10);
}
