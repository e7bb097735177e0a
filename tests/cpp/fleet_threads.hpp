#pragma once
/// @file
/// The kernels for GPUs, run on the host, compiled once; see test_fleet_thread.cpp.

#include <propwash/fleet/impl/kernel.hpp>

/// For four or six rotors.
template <class T>
propwash::FleetKernels<T> thread_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<float> thread_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<double> thread_kernels(int rotors, bool parallel);

/// For four parallel rotors, commands of rates and thrust, process noise, and noise and bias walk
/// of the IMU; no other feature.
propwash::FleetKernels<float> closed_loop_kernels(int rotors, bool parallel);
