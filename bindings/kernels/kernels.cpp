// Compiled once for each instruction set and type of number: CMakeLists.txt says with which flags.
// PROPWASH_KERNELS_UNIT names the function, PROPWASH_KERNELS_NUMBER the type. What is defined here
// must stay local but for that function: the linker keeps one copy of what two units share, and
// that could be one that a machine cannot run.

#include "kernels.hpp"

namespace propwash::bindings {

namespace {

struct Isa;

using Number = PROPWASH_KERNELS_NUMBER;

template <class Register>
double multiply_add(std::size_t rounds) {
  // as many chains as hide the latency of two units
  constexpr int chains = 12;
  Register x[chains];
  for (int i = 0; i < chains; ++i) x[i] = Register(Number(i));
  const Register factor(Number(0.999));
  const Register term(Number(0.001));
  for (std::size_t round = 0; round < rounds; ++round) {
    for_each_index<chains>(chains, [&](int i) PROPWASH_LAMBDA {
      x[i] = x[i] * factor + term;
      __asm__ volatile("" : "+" PROPWASH_KERNELS_REGISTER(x[i].v));
    });
  }
  return 2.0 * chains * Register::lanes * static_cast<double>(rounds);
}

FleetKernels<Number> source(int rotors, bool parallel) {
  constexpr int lanes = NativePack<Number>::lanes;
#if PROPWASH_KERNELS_GENERAL
  static_cast<void>(parallel);
  static_cast<void>(rotors);
  return make_fleet_kernels<Isa, Number, lanes, Dynamic, GeneralShape>();
#else
  return fleet_kernels<Isa, Number, lanes>(rotors, parallel);
#endif
}

}  // namespace

KernelUnit<Number> PROPWASH_KERNELS_UNIT() {
  return {&source, NativePack<Number>::lanes, &multiply_add<NativePack<Number>>};
}

}  // namespace propwash::bindings
