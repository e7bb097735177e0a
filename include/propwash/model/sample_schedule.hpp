#pragma once
/// @file
/// Sampling times of sensors: SampleSchedule for a constant dt, exact and without drift, or a phase
/// for a dt that may change from step to step.

#include <cmath>
#include <cstdint>

#include "propwash/math/finite.hpp"

namespace propwash {

/// Tolerance for rounding when a product of rate and time is compared with an integer.
inline constexpr double sample_slack = 1e-9;

namespace detail {

/// A step number that is never reached.
inline constexpr std::uint64_t never_due = std::uint64_t{1} << 62;
/// ceil(x), where an x that exceeds an integer only by rounding counts as that integer.
inline std::uint64_t steps_up_to(double x) {
  if (!(x < static_cast<double>(never_due))) return never_due;
  const double slack = sample_slack + 4e-16 * x;
  return static_cast<std::uint64_t>(std::ceil(std::fmax(x - slack, 0.0)));
}

}  // namespace detail

/// Samples 0, 1/rate, 2/rate, … seconds after step `start`, each at the first step at or after its
/// time. The mean rate is exact, even if 1/dt is not a multiple of it.
struct SampleSchedule {
  double rate = 1.0;        ///< Hz, at most 1 / dt
  double dt = 1.0 / 960.0;  ///< s, time step
  std::uint64_t start = 0;  ///< step number of sample 0

  /// Step number of sample k, computed from k so that rounding errors do not accumulate.
  std::uint64_t step_of(std::uint64_t k) const {
    return start + detail::steps_up_to(static_cast<double>(k) / (rate * dt));
  }
};

/// Whether a sensor of `rate` [Hz] samples less often than once per step of dt [s], so that
/// readings are held. A rate of 0 means one sample per step.
inline bool is_slower_than_steps(double rate, double dt) {
  return rate > 0.0 && rate * dt < 1.0 - sample_slack;
}

/// Advances `phase`, the elapsed fraction of a sampling interval, by dt [s]. Returns whether a
/// sensor of `rate` [Hz] samples at the end of the step.
inline bool sample_is_due(double& phase, double dt, double rate) {
  phase += dt * rate;
  if (phase < 1.0 - sample_slack) return false;
  phase -= 1.0;
  return true;
}

/// Whether a number from a snapshot is a valid phase.
inline bool is_sample_phase(double phase) { return is_within(phase, -sample_slack, 2.0); }

/// The number of steps after which a reading with `latency` [s] is delivered.
inline std::uint64_t latency_in_steps(double latency, double dt) {
  return detail::steps_up_to(latency / dt);
}

}  // namespace propwash
