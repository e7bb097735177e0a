#pragma once
/// @file
/// Which kernel steps a vehicle: those compiled for the present translation unit.

#include "propwash/fleet/impl/kernel.hpp"

namespace propwash {

/// Gives the kernels for a number of rotors, with PrincipalShape where the vehicles are `parallel`
/// and it has one, else with GeneralShape.
template <class T>
using FleetKernelSource = FleetKernels<T> (*)(int rotors, bool parallel);

/// All kernels of a translation unit: made to measure for 3, 4, 6 and 8 rotors of parallel
/// vehicles, and one for all others. Euler's method has its own for four rotors alone: it is there
/// for comparison with the published code, and each kernel costs the build seconds.
template <class Isa, class T, int Lanes>
FleetKernels<T> fleet_kernels(int rotors, bool parallel) {
  if (parallel && rotors == 3) return make_fleet_kernels<Isa, T, Lanes, 3, PrincipalShape, false>();
  if (parallel && rotors == 4) return make_fleet_kernels<Isa, T, Lanes, 4, PrincipalShape>();
  if (parallel && rotors == 6) return make_fleet_kernels<Isa, T, Lanes, 6, PrincipalShape, false>();
  if (parallel && rotors == 8) return make_fleet_kernels<Isa, T, Lanes, 8, PrincipalShape, false>();
  return make_fleet_kernels<Isa, T, Lanes, Dynamic, GeneralShape>();
}

/// The translation unit of a program that includes the headers, in whatever instruction set it is
/// compiled for.
struct NativeIsa {};

/// Kernels for N rotors alone, or for any number (Dynamic), compiled where they are asked for.
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
