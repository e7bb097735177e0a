#pragma once
/// @file
/// Many Dubins cars at once: one call steps all of them, where the caller lends threads on several
/// cores.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/memory.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/span.hpp"
#include "propwash/model/car.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

struct CarFleetOptions {
  Integrator integrator = Integrator::rk4;  ///< rk4 or euler
  double dt = 1.0 / 960.0;                  ///< s, of every step
  std::uint64_t seed = 0;                   ///< key of the noise
  std::uint32_t first_id = 0;               ///< number of vehicle 0; the others follow
  bool noise = true;                        ///< false: process noise is off
};

/// Commands of a fleet of cars, in the caller's memory.
template <class T>
struct CarFleetCommand {
  Span<const T> speed;     ///< m/s, (size)
  Span<const T> yaw_rate;  ///< rad/s, counter-clockwise positive, (size)
};

/// Parts of the state of a fleet of cars, for each, or for all alike, or empty for what is not
/// said.
template <class T>
struct CarFleetState {
  Span<const T> position;  ///< m, world frame, (size, 2) or (2)
  Span<const T> heading;   ///< rad, from world x, counter-clockwise, (size) or (1)
};

/// What can be read of a fleet of cars, one row per vehicle.
enum class CarFleetField {
  position,  ///< m, world frame, 2
  heading,   ///< rad, from world x, counter-clockwise, not wrapped, 1
  diverged   ///< 1 where a state is not finite, 1
};

/// `size` FlightGoggles cars.
///
///     CarFleet<float> fleet{vehicles::car(), 4096, options};
///     fleet.step({speed, yaw_rate}, 10);
///
/// Vehicle i moves as Car<T>{parameters, {integrator, seed, first_id + i}} does: its noise depends
/// on seed, id and step alone, so its bits are the same in any fleet, on any threads. A step
/// allocates nothing, starts no thread and does not look at the numbers of a command. What throws,
/// throws before anything has changed: ParameterError for vehicles and options that cannot be,
/// std::invalid_argument for sizes.
template <class T = float>
class CarFleet {
 public:
  CarFleet(const CarParameters& vehicle, std::size_t size, const CarFleetOptions& options = {});

  std::size_t size() const { return states_.size(); }
  const CarFleetOptions& options() const { return options_; }
  /// The vehicle from which the fleet was made.
  const CarParameters& vehicle() const { return vehicle_; }

  /// Advances all vehicles by `substeps` steps of dt under a command that is limited to each
  /// vehicle's range and held.
  void step(const CarFleetCommand<T>& command, int substeps = 1, ExecutorRef executor = {});

  /// s, since each vehicle's reset: (size).
  void time(Span<double> seconds) const;
  /// Steps since construction or since a reset with a seed: the counter of the noise.
  std::uint64_t steps() const { return steps_; }
  /// The numbers of a field in one row.
  int width(CarFleetField field) const { return field == CarFleetField::position ? 2 : 1; }
  /// Copies a field into rows of `width`.
  void read(CarFleetField field, Span<T> rows) const;

  /// Starts vehicles again at time 0, at the origin along world x unless `state` says otherwise.
  /// `mask` has one truth value per vehicle; empty, it means all. The counter of the noise goes on,
  /// so that no two episodes are alike.
  void reset(const CarFleetState<T>& state = {}, Span<const bool> mask = {});
  /// Starts all vehicles again with another key of the noise, as if new.
  void reset(const CarFleetState<T>& state, std::uint64_t seed);
  /// Replaces parts of the state; time and noise go on.
  void set_state(const CarFleetState<T>& state, Span<const bool> mask = {});

  /// Replaces the parameters of all vehicles: `of(i)` gives those of vehicle i. State stays.
  /// @throws ParameterError that names the first vehicle that cannot be; nothing has changed then.
  template <class Of>
  void set_parameters(const Of& of);
  /// Whether each vehicle has parameters of its own.
  bool has_own_parameters() const { return own_parameters_; }

  /// Everything that affects the future but parameters, and back, bit for bit.
  std::vector<std::byte> snapshot() const;
  void restore(Span<const std::byte> snapshot);

  /// Bytes of memory that one vehicle takes.
  double bytes_per_vehicle() const;

 private:
  /// What a step asks of a vehicle's parameters.
  struct Constants {
    T speed_min, speed_max;  // m/s
    T yaw_rate_limit;        // rad/s
    T forward, left;         // m/s, deviations of the noise
  };
  /// What stands first in a snapshot: whose it is, then what the vehicles share.
  struct Header {
    char magic[8] = {'p', 'w', 'c', 'a', 'r', 's', '0', '1'};
    std::uint64_t size = 0;
    std::uint64_t vehicle = 0;  // a number made of the vehicle's name
    double dt = 0;
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    std::uint32_t first_id = 0;
    std::uint32_t bytes_of_number = 0;
    std::uint32_t integrator = 0;
    std::uint32_t noise = 0;
  };

  Constants constants_of(const CarParameters& vehicle) const;
  const Constants& constants(std::size_t i) const { return constants_[own_parameters_ ? i : 0]; }
  void check_options(std::size_t size) const;
  static void check_count(std::size_t count, std::size_t expected, std::size_t for_all,
                          const char* name);
  void check_state(const CarFleetState<T>& state, Span<const bool> mask) const;
  void write_state(std::size_t i, const CarFleetState<T>& state);
  template <class Integrate>
  void drive(std::size_t i, const CarFleetCommand<T>& command, int substeps);
  template <class Integrate>
  void drive_all(const CarFleetCommand<T>& command, int substeps, ExecutorRef executor);
  Header header() const;
  std::size_t snapshot_bytes() const;

  CarParameters vehicle_;
  CarFleetOptions options_;
  bool own_parameters_ = false;
  std::uint64_t steps_ = 0;
  std::vector<Constants> constants_;  // one, or one for each vehicle
  std::vector<CarState<T>> states_;
  std::vector<std::uint64_t> reset_at_;  // the step of each vehicle's reset
};

}  // namespace propwash

#include "propwash/fleet/impl/car_fleet.hpp"
