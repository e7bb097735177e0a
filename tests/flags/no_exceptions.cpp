/// @file
/// A consumer without exceptions and run-time type information: it flies, and an invalid vehicle
/// ends it with the message that the exception would have had.

#include <csignal>
#include <cstdio>
#include <cstdlib>

#if defined(HOST_HOOK)
// a host's own hook; it must not return
[[noreturn]] inline void host_fail(const char* message) {
  std::fprintf(stderr, "host: %s\n", message);
  std::exit(0);
}
#define PROPWASH_THROW(exception) host_fail((exception).what())
#endif

#include <propwash/propwash.hpp>
namespace pw = propwash;

int main() {
  std::signal(SIGABRT, [](int) { std::_Exit(0); });

  pw::Multicopter<4> uav{pw::vehicles::flightgoggles()};
  for (int i = 0; i < 960; ++i) uav.step(pw::RateThrust{pw::Vec3<double>{}, 9.81}, 1.0 / 960);
  std::vector<pw::VehicleParameters> vehicles(3, uav.parameters());
  pw::Fleet<pw::Multicopter<>, double> fleet{uav.parameters(), vehicles.size()};
  pw::ThreadPool pool{2};
  const std::vector<double> rates(3 * vehicles.size()), thrust(vehicles.size(), 9.81);
  fleet.step(pw::FleetRateThrust<double>{rates, thrust}, 10, pool);

  vehicles[1].body.mass = -1.0;
  fleet.set_parameters([&](std::size_t i) -> const pw::VehicleParameters& { return vehicles[i]; });
  return 1;
}
