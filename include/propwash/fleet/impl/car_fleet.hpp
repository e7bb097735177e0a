#pragma once
// The definitions of CarFleet's members; include propwash/fleet/car_fleet.hpp.

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "propwash/fleet/car_fleet.hpp"
#include "propwash/fleet/impl/fleet_snapshot.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

// ---- construction and parameters ----

template <class T>
CarFleet<T>::CarFleet(const CarParameters& vehicle, std::size_t size,
                      const CarFleetOptions& options)
    : vehicle_(vehicle), options_(options) {
  validate(vehicle);
  check_options(size);
  constants_.assign(1, constants_of(vehicle));
  states_.resize(size);
  reset_at_.resize(size);
}

template <class T>
void CarFleet<T>::check_options(std::size_t size) const {
  if (size < 1) PROPWASH_THROW(ParameterError("size = 0: expected at least 1 vehicle"));
  if (options_.integrator == Integrator::symplectic_euler) {
    PROPWASH_THROW(
        ParameterError("integrator = symplectic_euler: expected rk4 or euler, a car has no "
                       "velocity in its state"));
  }
  if (!is_finite(options_.dt) || options_.dt <= 0.0) {
    PROPWASH_THROW(ParameterError("dt = " + detail::formatted(options_.dt) +
                                  ": expected a finite value > 0 s"));
  }
}

template <class T>
typename CarFleet<T>::Constants CarFleet<T>::constants_of(const CarParameters& vehicle) const {
  return {static_cast<T>(vehicle.speed_min), static_cast<T>(vehicle.speed_max),
          static_cast<T>(vehicle.yaw_rate_limit),
          static_cast<T>(held_noise_deviation(vehicle.process_noise_forward, options_.dt)),
          static_cast<T>(held_noise_deviation(vehicle.process_noise_left, options_.dt))};
}

template <class T>
template <class Of>
void CarFleet<T>::set_parameters(const Of& of) {
  std::vector<Constants> constants;
  constants.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const CarParameters& vehicle = of(i);
    detail::validate_one(vehicle, i);
    constants.push_back(constants_of(vehicle));
  }
  constants_.swap(constants);
  own_parameters_ = true;
}

// ---- stepping ----

template <class T>
void CarFleet<T>::step(const CarFleetCommand<T>& command, int substeps, ExecutorRef executor) {
  check_count(command.speed.size(), size(), 0, "speed");
  check_count(command.yaw_rate.size(), size(), 0, "yaw_rate");
  if (substeps < 1) {
    PROPWASH_THROW(
        std::invalid_argument("substeps = " + std::to_string(substeps) + ": expected at least 1"));
  }
  if (options_.integrator == Integrator::euler) {
    drive_all<Euler>(command, substeps, executor);
  } else {
    drive_all<Rk4>(command, substeps, executor);
  }
  steps_ += static_cast<std::uint64_t>(substeps);
}

/// All vehicles, in pieces that are worth a thread's while.
template <class T>
template <class Integrate>
void CarFleet<T>::drive_all(const CarFleetCommand<T>& command, int substeps, ExecutorRef executor) {
  constexpr std::size_t worth_a_thread = 256;  // vehicle steps
  const std::size_t least = worth_a_thread / static_cast<std::size_t>(substeps) + 1;
  const std::size_t piece = std::max(least, size() / 64);
  const auto some = [&](std::size_t part) {
    const std::size_t last = std::min(size(), (part + 1) * piece);
    for (std::size_t i = part * piece; i < last; ++i) drive<Integrate>(i, command, substeps);
  };
  if (piece >= size()) return some(0);
  executor((size() + piece - 1) / piece, some);
}

/// One vehicle: what Car::step does, `substeps` times.
template <class T>
template <class Integrate>
void CarFleet<T>::drive(std::size_t i, const CarFleetCommand<T>& command, int substeps) {
  const Constants& limits = constants(i);
  const T dt = static_cast<T>(options_.dt);
  const T speed = clamp(command.speed[i], limits.speed_min, limits.speed_max);
  const T yaw_rate = clamp(command.yaw_rate[i], -limits.yaw_rate_limit, limits.yaw_rate_limit);
  T forward{};
  T left{};
  const auto f = [&](const CarState<T>& x) PROPWASH_LAMBDA {
    return car_derivative(x, speed, yaw_rate, forward, left);
  };
  CarState<T> state = states_[i];
  if (options_.noise) {  // (26)
    const std::uint32_t id = options_.first_id + static_cast<std::uint32_t>(i);
    for (int k = 0; k < substeps; k += 4) {  // four draws cost little more than one
      const std::uint64_t now = steps_ + static_cast<std::uint64_t>(k);
      constexpr auto stream = Stream::process_noise;
      const StepNormals z =
          step_normals(options_.seed, id,
                       {{{now, stream}, {now + 1, stream}, {now + 2, stream}, {now + 3, stream}}});
      for (int n = 0; n < std::min(4, substeps - k); ++n) {
        forward = static_cast<T>(z[n][0]) * limits.forward;
        left = static_cast<T>(z[n][1]) * limits.left;
        state = Integrate{}(f, state, dt);
      }
    }
  } else {
    for (int k = 0; k < substeps; ++k) state = Integrate{}(f, state, dt);
  }
  states_[i] = state;
}

// ---- state ----

template <class T>
void CarFleet<T>::check_count(std::size_t count, std::size_t expected, std::size_t for_all,
                              const char* name) {
  if (count == expected || (for_all != 0 && count == for_all)) return;
  PROPWASH_THROW(std::invalid_argument(
      std::string(name) + ", their number = " + std::to_string(count) + ": expected " +
      std::to_string(expected) +
      (for_all != 0 ? ", or " + std::to_string(for_all) + " for all vehicles alike" : "")));
}

template <class T>
void CarFleet<T>::check_state(const CarFleetState<T>& state, Span<const bool> mask) const {
  if (!state.position.empty()) check_count(state.position.size(), size() * 2, 2, "position");
  if (!state.heading.empty()) check_count(state.heading.size(), size(), 1, "heading");
  if (!mask.empty()) check_count(mask.size(), size(), 0, "mask");
}

template <class T>
void CarFleet<T>::write_state(std::size_t i, const CarFleetState<T>& state) {
  if (!state.position.empty()) {
    const std::size_t first = state.position.size() == 2 ? 0 : 2 * i;
    states_[i].x = state.position[first];
    states_[i].y = state.position[first + 1];
  }
  if (!state.heading.empty()) {
    states_[i].heading = state.heading[state.heading.size() == 1 ? 0 : i];
  }
}

template <class T>
void CarFleet<T>::reset(const CarFleetState<T>& state, Span<const bool> mask) {
  check_state(state, mask);
  for (std::size_t i = 0; i < size(); ++i) {
    if (!mask.empty() && !mask[i]) continue;
    states_[i] = {};
    reset_at_[i] = steps_;
    write_state(i, state);
  }
}

template <class T>
void CarFleet<T>::reset(const CarFleetState<T>& state, std::uint64_t seed) {
  check_state(state, {});
  options_.seed = seed;
  steps_ = 0;
  reset(state);
}

template <class T>
void CarFleet<T>::set_state(const CarFleetState<T>& state, Span<const bool> mask) {
  check_state(state, mask);
  for (std::size_t i = 0; i < size(); ++i) {
    if (mask.empty() || mask[i]) write_state(i, state);
  }
}

// ---- reading ----

template <class T>
void CarFleet<T>::read(CarFleetField field, Span<T> rows) const {
  check_count(rows.size(), size() * static_cast<std::size_t>(width(field)), 0, "rows");
  for (std::size_t i = 0; i < size(); ++i) {
    const CarState<T>& state = states_[i];
    if (field == CarFleetField::position) {
      rows[2 * i] = state.x;
      rows[2 * i + 1] = state.y;
    } else if (field == CarFleetField::heading) {
      rows[i] = state.heading;
    } else {
      rows[i] = is_finite(Vec3<T>{state.x, state.y, state.heading}) ? T(0) : T(1);
    }
  }
}

template <class T>
void CarFleet<T>::time(Span<double> seconds) const {
  check_count(seconds.size(), size(), 0, "seconds");
  for (std::size_t i = 0; i < size(); ++i) {
    seconds[i] = static_cast<double>(steps_ - reset_at_[i]) * options_.dt;
  }
}

template <class T>
double CarFleet<T>::bytes_per_vehicle() const {
  const auto bytes = [](const auto& v) { return static_cast<double>(v.size() * sizeof v[0]); };
  return (bytes(constants_) + bytes(states_) + bytes(reset_at_)) / static_cast<double>(size());
}

// ---- snapshots ----

template <class T>
typename CarFleet<T>::Header CarFleet<T>::header() const {
  Header h;
  h.size = size();
  h.vehicle = fingerprint(vehicle_);
  h.dt = options_.dt;
  h.seed = options_.seed;
  h.steps = steps_;
  h.first_id = options_.first_id;
  h.bytes_of_number = sizeof(T);
  h.integrator = static_cast<std::uint32_t>(options_.integrator);
  h.noise = options_.noise ? 1 : 0;
  return h;
}

template <class T>
std::size_t CarFleet<T>::snapshot_bytes() const {
  return sizeof(Header) + size() * (3 * sizeof(T) + sizeof(std::uint64_t));
}

template <class T>
std::vector<std::byte> CarFleet<T>::snapshot() const {
  std::vector<std::byte> bytes;
  bytes.reserve(snapshot_bytes());
  detail::ByteWriter write(bytes);
  write(header());
  for (std::size_t i = 0; i < size(); ++i) {
    write(reset_at_[i]);
    write(states_[i].x);
    write(states_[i].y);
    write(states_[i].heading);
  }
  return bytes;
}

template <class T>
void CarFleet<T>::restore(Span<const std::byte> snapshot) {
  const auto refuse = [](const std::string& what) {
    PROPWASH_THROW(std::invalid_argument("snapshot: " + what));
  };
  if (snapshot.size() < sizeof(Header)) {
    refuse("expected what snapshot() gave, got " + std::to_string(snapshot.size()) + " bytes");
  }
  const Header ours = header();
  Header theirs;
  detail::ByteReader read(snapshot.data());
  read(theirs);
  if (std::memcmp(ours.magic, theirs.magic, sizeof ours.magic) != 0) {
    refuse("expected what snapshot() of a fleet of cars gave, got other bytes");
  }
  if (ours.vehicle != theirs.vehicle) {
    refuse("expected one of vehicle '" + vehicle_.name + "', got one of other parameters");
  }
  const auto same = [&](auto a, auto b, const char* what) {
    if (a != b) {
      refuse(std::string("expected ") + what + " = " + detail::formatted(double(a)) + ", got " +
             detail::formatted(double(b)));
    }
  };
  same(ours.size, theirs.size, "vehicles");
  same(ours.bytes_of_number, theirs.bytes_of_number, "bytes of a number");
  same(ours.integrator, theirs.integrator, "the integrator's number");
  same(ours.noise, theirs.noise, "noise");
  same(ours.dt, theirs.dt, "dt");
  same(snapshot_bytes(), snapshot.size(), "bytes");
  if (theirs.steps > detail::max_snapshot_steps) {
    refuse("steps = " + std::to_string(theirs.steps) + ": expected at most 2^62");
  }
  if (theirs.first_id > std::numeric_limits<std::uint32_t>::max() - (size() - 1)) {
    refuse("first_id = " + std::to_string(theirs.first_id) +
           ": expected a number for each vehicle below 2^32");
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t record = sizeof(std::uint64_t) + 3 * sizeof(T);
    std::uint64_t reset_at = 0;
    detail::ByteReader(snapshot.data() + sizeof theirs + i * record)(reset_at);
    if (reset_at > theirs.steps) {
      refuse("vehicle " + std::to_string(i) + ": expected a reset before now");
    }
  }

  options_.seed = theirs.seed;
  options_.first_id = theirs.first_id;
  steps_ = theirs.steps;
  for (std::size_t i = 0; i < size(); ++i) {
    read(reset_at_[i]);
    read(states_[i].x);
    read(states_[i].y);
    read(states_[i].heading);
  }
}

}  // namespace propwash
