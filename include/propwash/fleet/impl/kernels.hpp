#pragma once
/// @file
/// The kernels of this translation unit, selected by the number of rotors.

#include "propwash/fleet/impl/kernel.hpp"

namespace propwash {

/// Returns the kernels for a number of rotors: for PrincipalShape if the vehicles are `parallel`
/// and it is compiled, otherwise for GeneralShape.
template <class T>
using FleetKernelSource = FleetKernels<T> (*)(int rotors, bool parallel);

/// The kernels of shapes other than parallel vehicles with 4 rotors: specialised for parallel
/// vehicles with 3, 6 and 8 rotors, and a general one. Euler's method, needed only for comparison
/// with the published code, and steps with process noise but without a rate loop are specialised
/// for 4 rotors only, because each kernel adds seconds to the build.
template <class Isa, class T, int Lanes>
FleetKernels<T> other_fleet_kernels(int rotors, bool parallel) {
  if (parallel && rotors == 3) return make_fleet_kernels<Isa, T, Lanes, 3, PrincipalShape, false>();
  if (parallel && rotors == 6) return make_fleet_kernels<Isa, T, Lanes, 6, PrincipalShape, false>();
  if (parallel && rotors == 8) return make_fleet_kernels<Isa, T, Lanes, 8, PrincipalShape, false>();
  return make_fleet_kernels<Isa, T, Lanes, Dynamic, GeneralShape>();
}

/// All kernels of a translation unit.
template <class Isa, class T, int Lanes>
FleetKernels<T> fleet_kernels(int rotors, bool parallel) {
  if (parallel && rotors == 4) return make_fleet_kernels<Isa, T, Lanes, 4, PrincipalShape>();
  return other_fleet_kernels<Isa, T, Lanes>(rotors, parallel);
}

/// Identifies the including program, compiled for its own instruction set.
struct NativeIsa {};

/// Kernels for N rotors only, or for any number (Dynamic), compiled in the including program.
template <class T, int N>
FleetKernels<T> native_fleet_kernels(int rotors, bool parallel) {
  constexpr int lanes = NativePack<T>::lanes;
  if constexpr (N == Dynamic) {
    return fleet_kernels<NativeIsa, T, lanes>(rotors, parallel);
  } else {
    return parallel ? make_fleet_kernels<NativeIsa, T, lanes, N, PrincipalShape>()
                    : make_fleet_kernels<NativeIsa, T, lanes, N, GeneralShape>();
  }
}

}  // namespace propwash
