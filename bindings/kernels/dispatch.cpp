#include "dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "fleet_kernels.hpp"
#include "peak.hpp"
#include "propwash/version.hpp"

namespace propwash::bindings {

using namespace pybind11::literals;

namespace {

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

/// Imports the kernels of other shapes at first use.
template <InstructionSet set>
FleetKernels<float> float_kernels(int rotors, bool parallel) {
  if (parallel && rotors == 4) return PROPWASH_KERNELS_OF(set, quadcopter, float);
  const pybind11::gil_scoped_acquire gil;
  const auto part = pybind11::module_::import("propwash").attr("_models");
  const auto source = part.attr("kernels")(static_cast<int>(set)).cast<pybind11::capsule>();
  return reinterpret_cast<FleetKernelSource<float>>(source.get_pointer())(rotors, parallel);
}

}  // namespace

template <>
FleetKernelSource<float> fleet_kernels_of<float>(InstructionSet set) {
  switch (set) {
#define PROPWASH_SOURCE(isa, unused) \
  case InstructionSet::isa:          \
    return &float_kernels<InstructionSet::isa>;
    PROPWASH_KERNEL_SETS(PROPWASH_SOURCE, )
#undef PROPWASH_SOURCE
    default:
      throw std::logic_error("no kernels of this instruction set");
  }
}

pybind11::dict build_info() {
  const InstructionSet set = used_set();
  pybind11::list available;
  for (const InstructionSet each : supported_sets()) available.append(name_of(each));
  return pybind11::dict(
      "version"_a = PROPWASH_VERSION, "compiler"_a = compiler(), "isa"_a = name_of(set),
      "isas"_a = pybind11::tuple(available),
      "lanes"_a = pybind11::dict("float32"_a = PROPWASH_KERNELS_OF(set, peak, float).lanes,
                                 "float64"_a = PROPWASH_KERNELS_OF(set, peak, double).lanes));
}

double fma_peak(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") {
    throw std::invalid_argument("dtype: expected 'float32' or 'float64', got '" + dtype + "'");
  }
  const InstructionSet set = used_set();
  const auto work = (dtype == "float32" ? PROPWASH_KERNELS_OF(set, peak, float)
                                        : PROPWASH_KERNELS_OF(set, peak, double))
                        .multiply_add;
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
