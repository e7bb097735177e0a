#pragma once
/// @file
/// When a sensor samples: counted in steps of one dt, exact for any rate and without drift, or
/// followed as a phase where dt may change from step to step.

#include <cmath>
#include <cstdint>

#include "propwash/math/finite.hpp"

namespace propwash {

/// What a product of a rate and a time may differ by from a whole number, by rounding.
inline constexpr double sample_slack = 1e-9;

namespace detail {

/// The least whole number that is not below x, where x may lie above one by the rounding of the
/// quotient that it is. What no run can reach is never_due.
inline constexpr std::uint64_t never_due = std::uint64_t{1} << 62;
inline std::uint64_t steps_up_to(double x) {
  if (!(x < static_cast<double>(never_due))) return never_due;
  const double slack = sample_slack + 4e-16 * x;
  return static_cast<std::uint64_t>(std::ceil(std::fmax(x - slack, 0.0)));
}

}  // namespace detail

/// Samples at 0, 1/rate, 2/rate, … seconds after a step `start`, each at the first step that is not
/// before it: a rate that does not divide that of the physics is kept on average, exactly.
struct SampleSchedule {
  double rate = 1.0;        ///< Hz, at most 1 / dt
  double dt = 1.0 / 960.0;  ///< s, of a step
  std::uint64_t start = 0;  ///< the step of sample 0

  /// The step at which sample k is taken: computed from k, so that nothing adds up.
  std::uint64_t step_of(std::uint64_t k) const {
    return start + detail::steps_up_to(static_cast<double>(k) / (rate * dt));
  }
};

/// Whether a sensor of `rate` [Hz] samples less often than once a step of dt [s], so that readings
/// are held; a rate of 0 means a sample at every step.
inline bool is_slower_than_steps(double rate, double dt) {
  return rate > 0.0 && rate * dt < 1.0 - sample_slack;
}

/// Advances `phase`, the elapsed part of a sampling interval, by a step of dt [s]; returns whether
/// a sensor of `rate` [Hz] samples at the end of that step.
inline bool sample_is_due(double& phase, double dt, double rate) {
  phase += dt * rate;
  if (phase < 1.0 - sample_slack) return false;
  phase -= 1.0;
  return true;
}

/// Whether a number read from a snapshot can be such a phase, between samples.
inline bool is_sample_phase(double phase) { return is_within(phase, -sample_slack, 2.0); }

/// After how many steps a reading is delivered that is `latency` [s] late.
inline std::uint64_t latency_in_steps(double latency, double dt) {
  return detail::steps_up_to(latency / dt);
}

}  // namespace propwash
