#pragma once
/// @file
/// The samplers that a fleet or a vehicle calls between its steps.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <vector>

#include "propwash/fleet/fleet_types.hpp"
#include "propwash/math/config.hpp"

namespace propwash::detail {

/// A copy is empty, because a sampler belongs to one fleet or vehicle.
class FleetSamplers {
 public:
  FleetSamplers() = default;
  FleetSamplers(const FleetSamplers&) {}
  FleetSamplers(FleetSamplers&&) = default;
  FleetSamplers& operator=(const FleetSamplers& other) { return *this = FleetSamplers(other); }
  FleetSamplers& operator=(FleetSamplers&&) = default;
  ~FleetSamplers() = default;

  void attach(FleetSampler& sampler) {
    require_idle();
    all_.push_back(&sampler);
  }
  void detach(const FleetSampler& sampler) {
    require_idle();
    all_.erase(std::remove(all_.begin(), all_.end(), &sampler), all_.end());
  }

  /// step() relies on no change between its pieces.
  void require_idle() const {
    if (!is_sampling_) return;
    PROPWASH_THROW(std::logic_error(
        "expected no change while sensors sample; make the change after step() returns"));
  }

  /// The number of steps before the next sample, 1 to `substeps`.
  int steps_to_next(std::uint64_t now, int substeps) const {
    auto piece = static_cast<std::uint64_t>(substeps);
    for (const FleetSampler* each : all_) {
      piece = std::min(piece, each->next_step > now ? each->next_step - now : 1);
    }
    return static_cast<int>(piece);
  }

  /// Calls all samplers that are due, then rethrows their first exception.
  void sample(std::uint64_t now) {
    is_sampling_ = true;
#if PROPWASH_HAS_EXCEPTIONS
    std::exception_ptr failure;
    for (FleetSampler* each : all_) {
      try {
        if (each->next_step <= now) each->sample(now);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
    is_sampling_ = false;
    if (failure) std::rethrow_exception(failure);
#else
    for (FleetSampler* each : all_) {
      if (each->next_step <= now) each->sample(now);
    }
    is_sampling_ = false;
#endif
  }

  void restart(std::uint64_t now) {
    for (FleetSampler* each : all_) each->restarted(now);
  }

 private:
  std::vector<FleetSampler*> all_;
  bool is_sampling_ = false;
};

}  // namespace propwash::detail
