/// @file
/// Flights of fleets with all noise, each as a hash of the bits of its state: the same on every
/// processor with one C library.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "../cpp/fleet_engine.hpp"

namespace pw = propwash;

namespace {

/// FNV-1a of the bytes of an array.
template <class T>
std::uint64_t hash(const std::vector<T>& numbers) {
  std::uint64_t value = 14695981039346656037u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
  for (std::size_t i = 0; i < numbers.size() * sizeof(T); ++i) {
    value = (value ^ bytes[i]) * 1099511628211u;
  }
  return value;
}

/// Two seconds: by rates, by rotor speeds, then by positions.
template <class T>
void fly_and_print(const char* name, const pw::VehicleParameters& vehicle,
                   const pw::FleetOptions& options) {
  auto fleet = make_fleet<T>(vehicle, 19, options);  // does not fill the last register
  fly(fleet, true, 0, 8, 120);
  fly(fleet, false, 8, 12, 120);
  const std::vector<T> positions(19 * 3, T(2)), yaw(19, T(1));
  for (int call = 0; call < 4; ++call) {
    fleet.step(pw::FleetPositionCommand<T>{positions, yaw}, 120);
  }
  std::printf("%s %s %016llx\n", name, sizeof(T) == 4 ? "float" : "double",
              static_cast<unsigned long long>(hash(everything_of(fleet))));
}

void fly_both(const char* name, const pw::VehicleParameters& vehicle,
              const pw::FleetOptions& options) {
  fly_and_print<float>(name, vehicle, options);
  fly_and_print<double>(name, vehicle, options);
}

}  // namespace

int main() {
  pw::FleetOptions options;
  options.seed = 1;
  options.floor = 0.0;
  options.turbulence = {3.0, 5.0, 3.0};
  fly_both("rk4", pw::vehicles::flightgoggles(), options);
  fly_both("hexacopter", pw::vehicles::hexacopter(), options);
  // the last bit of std::hypot, in the allocation of this vehicle, differs between C libraries
  fly_and_print<float>("octocopter", ring_of(8), options);
  options.integrator = pw::Integrator::euler;
  fly_both("euler", pw::vehicles::flightgoggles(), options);
}
