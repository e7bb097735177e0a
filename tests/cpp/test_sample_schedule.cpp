// Due times of samples: the first step that is not early, for any rate, without drift.
#include <propwash/model/sample_schedule.hpp>

#include "catch.hpp"

namespace test_sample_schedule {

namespace pw = propwash;

TEST_CASE("samples are due at the first step that is not before their time", "[sample_schedule]") {
  // rates p/q with a clock of 960 Hz, for an exact integer reference: ceil(960 k q / p)
  constexpr std::uint64_t clock = 960;
  for (const std::uint64_t p : {1u, 7u, 20u, 50u, 97u, 360u, 480u, 959u, 960u}) {
    for (const std::uint64_t q : {1u, 3u}) {
      const pw::SampleSchedule schedule{static_cast<double>(p) / static_cast<double>(q),
                                        1.0 / clock, 17};
      for (const std::uint64_t k :
           {0ull, 1ull, 2ull, 3ull, 100ull, 12345ull, 1000000ull, 1000000007ull}) {
        const std::uint64_t expected = 17 + (clock * k * q + p - 1) / p;
        CAPTURE(p, q, k);
        CHECK(schedule.step_of(k) == expected);
      }
    }
  }
}

TEST_CASE("no two samples share a step, up to one sample per step", "[sample_schedule]") {
  for (const double rate : {960.0, 959.9, 600.0, 333.3, 50.0}) {
    const pw::SampleSchedule schedule{rate, 1.0 / 960.0, 0};
    for (std::uint64_t k = 0; k < 5000; ++k) {
      REQUIRE(schedule.step_of(k + 1) > schedule.step_of(k));
    }
  }
}

TEST_CASE("a latency is rounded up to whole steps", "[sample_schedule]") {
  const double dt = 1.0 / 960.0;
  CHECK(pw::latency_in_steps(0.0, dt) == 0);
  CHECK(pw::latency_in_steps(dt, dt) == 1);
  CHECK(pw::latency_in_steps(0.01, dt) == 10);  // 9.6 steps
  CHECK(pw::latency_in_steps(0.0125, dt) == 12);
  CHECK(pw::latency_in_steps(0.1, 0.001) == 100);
}

TEST_CASE("a sample beyond the end of any run is never due", "[sample_schedule]") {
  const double dt = 1.0 / 960.0;
  constexpr std::uint64_t long_run = std::uint64_t{1} << 60;
  for (const double latency : {1e15, 1e17, 1e30, 1e300}) {
    CHECK(pw::latency_in_steps(latency, dt) > long_run / 2);
  }
  for (const double rate : {1e-16, 1e-30, 1e-300}) {
    const pw::SampleSchedule schedule{rate, dt, 7};
    CHECK(schedule.step_of(0) == 7);
    CHECK(schedule.step_of(1) > long_run);
    CHECK(schedule.step_of(1000000) > long_run);
  }
}

TEST_CASE("a phase is due at the steps of the schedule", "[sample_schedule]") {
  for (const double rate : {480.0, 320.0, 333.3, 97.0, 0.7}) {
    const double dt = 1.0 / 960.0;
    REQUIRE(pw::is_slower_than_steps(rate, dt));
    const pw::SampleSchedule schedule{rate, dt, 0};
    double phase = 0.0;
    std::uint64_t k = 1;
    for (std::uint64_t step = 1; step <= 100000; ++step) {
      if (!pw::sample_is_due(phase, dt, rate)) continue;
      INFO("rate " << rate << " sample " << k);
      REQUIRE(step == schedule.step_of(k));
      ++k;
    }
  }
}

TEST_CASE("a sensor at the rate of the steps is not slower", "[sample_schedule]") {
  CHECK_FALSE(pw::is_slower_than_steps(0.0, 1.0));  // one sample per step
  for (const double rate : {960.0, 997.0, 1e6}) {
    CHECK_FALSE(pw::is_slower_than_steps(rate, 1.0 / rate));
    CHECK_FALSE(pw::is_slower_than_steps(2.0 * rate, 1.0 / rate));
    CHECK(pw::is_slower_than_steps(0.999 * rate, 1.0 / rate));
  }
}

}  // namespace test_sample_schedule
