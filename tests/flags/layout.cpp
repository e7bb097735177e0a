/// @file
/// Size and alignment of what may be passed between translation units of different instruction
/// sets; prints constants, so it runs on any processor.

#include <cstdio>
#include <propwash/propwash.hpp>
namespace pw = propwash;

template <class... Type>
void print() {
  (std::printf("%zu %zu\n", sizeof(Type), alignof(Type)), ...);
}

int main() {
  static_assert(alignof(pw::Multicopter<4>) == 64, "docs/embedding.md states it");
  print<pw::VehicleParameters, pw::MulticopterState<double, 4>, pw::MulticopterState<float, 4>,
        pw::MulticopterState<double, pw::Dynamic>, pw::RateThrust<double>, pw::ImuReading<double>,
        pw::Multicopter<4>, pw::Multicopter<4>::Snapshot, pw::Multicopter<>::Snapshot,
        pw::Fleet<pw::Multicopter<>, float>, pw::Fleet<pw::Multicopter<4>, double>,
        pw::FleetKernels<float>, pw::Fleet<pw::Car<>, float>, pw::VehicleKernels<float>,
        pw::Car<double>>();
}
