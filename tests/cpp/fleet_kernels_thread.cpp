// See fleet_threads.hpp.
#include "fleet_threads.hpp"

using Host = ThreadKernelsBy<propwash::detail::ThreadLoops>;

template <>
propwash::FleetKernels<float> thread_kernels(int rotors, bool parallel) {
  return Host::of<float>(rotors, parallel);
}
template <>
propwash::FleetKernels<double> thread_kernels(int rotors, bool parallel) {
  return Host::of<double>(rotors, parallel);
}
propwash::FleetKernels<float> closed_loop_kernels(int, bool) { return Host::closed_loop(); }
