// error: cannot bind non-const lvalue|expects an lvalue|cannot bind
// A temporary sampler, attached to a fleet that outlives it.
#include <propwash/fleet.hpp>

struct Sampler : propwash::FleetSampler {
  void sample(std::uint64_t step) override { next_step = step + 10; }
};

void attach(propwash::Fleet<propwash::Multicopter<4>, float>& fleet, Sampler& sampler) {
#if defined(MISTAKE)
  fleet.attach(Sampler{});
#endif
  fleet.attach(sampler);
}
