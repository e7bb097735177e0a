#include "dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "processor.hpp"
#include "propwash/version.hpp"

namespace propwash::bindings {

using namespace pybind11::literals;

namespace {

struct Candidate {
  KernelSet set;
  int lanes_float32, lanes_float64;
  MultiplyAdd multiply_add_float32, multiply_add_float64;
};

// clang-format off
#define PROPWASH_CANDIDATE(isa)                                                           \
  {{#isa, {isa##_float().fleet, isa##_double().fleet},                                    \
    {isa##_float().world, isa##_double().world},                                          \
    image::isa##_float(), open_loop::isa##_double(), trace::isa##_double()},              \
   isa##_float().lanes, isa##_double().lanes, peak::isa##_float(), peak::isa##_double()}
// clang-format on

/// The instruction sets that were built and that this processor supports, the widest last.
const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = [] {
    std::vector<Candidate> found;
    [[maybe_unused]] const int level = processor_level();
#if defined(PROPWASH_KERNELS_BASELINE)
    found.push_back(PROPWASH_CANDIDATE(baseline));
#endif
#if defined(PROPWASH_KERNELS_V3)
    if (level >= 3) found.push_back(PROPWASH_CANDIDATE(v3));
#endif
#if defined(PROPWASH_KERNELS_V4)
    if (level >= 4) found.push_back(PROPWASH_CANDIDATE(v4));
#endif
    if (found.empty()) {
      throw std::runtime_error(
          "propwash was built for the processor of another machine (PROPWASH_KERNELS=native) and "
          "has no kernels for this one; build it here, or with PROPWASH_KERNELS=all");
    }
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

const Candidate& chosen() {
  const char* const requested = std::getenv("PROPWASH_ISA");
  if (requested == nullptr || *requested == '\0') return candidates().back();
  for (const auto& each : candidates()) {
    if (std::string(requested) == each.set.isa) return each;
  }
  throw std::invalid_argument(
      "PROPWASH_ISA = '" + std::string(requested) +
      "': expected an instruction set that was built and that this processor supports: " + names());
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

const KernelSet& kernel_set() { return chosen().set; }

pybind11::dict build_info() {
  const auto& used = chosen();
  pybind11::list available;
  for (const auto& each : candidates()) available.append(each.set.isa);
  return pybind11::dict("version"_a = PROPWASH_VERSION, "compiler"_a = compiler(),
                        "isa"_a = used.set.isa, "isas"_a = pybind11::tuple(available),
                        "lanes"_a = pybind11::dict("float32"_a = used.lanes_float32,
                                                   "float64"_a = used.lanes_float64));
}

double fma_peak(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") {
    throw std::invalid_argument("dtype: expected 'float32' or 'float64', got '" + dtype + "'");
  }
  const auto& used = chosen();
  const auto work = dtype == "float32" ? used.multiply_add_float32 : used.multiply_add_float64;
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t rounds = 100000;
  const pybind11::gil_scoped_release release;
  double best = 0.0;
  const auto end = Clock::now() + std::chrono::milliseconds(100);
  while (Clock::now() < end) {
    const auto start = Clock::now();
    const double operations = work(rounds);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    best = std::max(best, operations / elapsed.count() * 1e-9);
  }
  return best;
}

}  // namespace propwash::bindings
