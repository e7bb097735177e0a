#include "dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "propwash/version.hpp"

namespace propwash::bindings {

namespace {

struct Candidate {
  KernelSet set;
  KernelUnit<float> float32;
  KernelUnit<double> float64;
  bool is_reproducible;  ///< no sum is fused with a product, on any processor
};

#define PROPWASH_CANDIDATE(isa, is_reproducible)                                              \
  candidate(#isa, isa##_float(), isa##_double(), world::isa##_float(), world::isa##_double(), \
            image::isa##_float(), open_loop::isa##_double(), is_reproducible)

Candidate candidate(const char* isa, KernelUnit<float> f, KernelUnit<double> d,
                    WorldKernels<float> world_f, WorldKernels<double> world_d, ImageKernels image,
                    OpenLoopKernelSource open_loop, bool is_reproducible) {
  return {{isa, f.source, d.source, world_f, world_d, image, open_loop}, f, d, is_reproducible};
}

/// What was built and this processor has, the widest last.
const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = [] {
    std::vector<Candidate> found{PROPWASH_CANDIDATE(baseline, true)};
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3_runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#if !defined(__clang__)
    v3_runs = v3_runs && __builtin_cpu_supports("x86-64-v3");
#endif
    const bool v4_runs = v3_runs && __builtin_cpu_supports("avx512f") &&
                         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (v3_runs) found.push_back(PROPWASH_CANDIDATE(v3, false));
    if (v4_runs) found.push_back(PROPWASH_CANDIDATE(v4, false));
#elif defined(__aarch64__)
    found.push_back(PROPWASH_CANDIDATE(neon, false));
#endif
    return found;
  }();
  return all;
}

#undef PROPWASH_CANDIDATE

std::string names() {
  std::string text;
  for (const auto& each : candidates())
    text += (text.empty() ? "" : ", ") + std::string(each.set.isa);
  return text;
}

bool is_known(const std::string& name) {
  for (const auto& each : candidates()) {
    if (name == each.set.isa) return true;
  }
  return false;
}

const Candidate& chosen(bool reproducible) {
  const char* const forced = std::getenv("PROPWASH_ISA");
  if (forced != nullptr && *forced != '\0') {
    for (const auto& each : candidates()) {
      if (std::string(forced) != each.set.isa) continue;
      if (reproducible && !each.is_reproducible) break;
      return each;
    }
    if (!is_known(forced)) {
      throw std::invalid_argument("PROPWASH_ISA = '" + std::string(forced) +
                                  "': expected one that this processor has, " + names());
    }
  }
  if (!reproducible) return candidates().back();
  for (const auto& each : candidates()) {
    if (each.is_reproducible) return each;
  }
  return candidates().front();
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

const KernelSet& kernel_set(bool reproducible) { return chosen(reproducible).set; }

pybind11::dict build_info() {
  const auto& used = chosen(false);
  pybind11::list available;
  for (const auto& each : candidates()) available.append(each.set.isa);
  pybind11::dict lanes;
  lanes["float32"] = used.float32.lanes;
  lanes["float64"] = used.float64.lanes;
  pybind11::dict info;
  info["version"] = PROPWASH_VERSION;
  info["compiler"] = compiler();
  info["isa"] = used.set.isa;
  info["isas"] = pybind11::tuple(available);
  info["reproducible_isa"] = chosen(true).set.isa;
  info["lanes"] = lanes;
  return info;
}

double fma_peak(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") {
    throw std::invalid_argument("dtype: expected 'float32' or 'float64', got '" + dtype + "'");
  }
  const auto& used = chosen(false);
  const auto work = dtype == "float32" ? used.float32.multiply_add : used.float64.multiply_add;
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t rounds = 100000;
  const pybind11::gil_scoped_release release;
  double best = 0.0;
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  while (Clock::now() < end) {
    const auto start = Clock::now();
    const double operations = work(rounds);
    const std::chrono::duration<double> taken = Clock::now() - start;
    best = std::max(best, operations / taken.count() * 1e-9);
  }
  return best;
}

}  // namespace propwash::bindings
