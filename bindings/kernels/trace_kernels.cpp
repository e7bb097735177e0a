// Compiled once for each instruction set, for double only. The rule of fleet_kernels.cpp applies:
// define nothing that another translation unit could share.

#include "derivative_kernels.hpp"
#include "propwash/math/trace_runner.hpp"

namespace propwash::bindings::trace {

namespace {
struct Isa;
}  // namespace

TraceRunner PROPWASH_KERNELS_UNIT() { return &run_trace<Isa, NativePack<double>>; }

}  // namespace propwash::bindings::trace
