/// @file
/// A kernel of a fleet in device code.

#include <propwash/fleet/impl/thread_kernel.hpp>

namespace pw = propwash;

using Thread = pw::FleetThread<float, 4, pw::PrincipalShape, pw::Rk4, pw::TickWork::physics>;

/// Steps all vehicles; the pointers of the batch are those of the device.
void launch(const pw::FleetBatch<float>& batch, const Thread::Constants& shared,
            cudaStream_t stream) {
  constexpr unsigned threads = 128;
  const auto blocks = static_cast<unsigned>((batch.size + threads - 1) / threads);
  pw::fleet_step<Thread, false><<<blocks, threads, 0, stream>>>(batch, shared);
}
