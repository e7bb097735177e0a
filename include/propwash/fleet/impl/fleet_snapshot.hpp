#pragma once
// Snapshots of Fleet; include propwash/fleet/multicopter_fleet.hpp.

#include <cstring>
#include <stdexcept>

#include "propwash/fleet/impl/bytes.hpp"
#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash {

namespace detail {

/// The start of a snapshot: identification of the fleet, then the state that vehicles share.
struct FleetSnapshotHeader {
  /// The last character is the format: it changes with the order or the meaning of the numbers.
  char magic[8] = {'p', 'w', 'f', 'l', 'e', 'e', 't', '5'};
  std::uint64_t size = 0;
  std::uint64_t vehicle = 0;  ///< fingerprint, with that of the control vehicle
  std::uint32_t rotors = 0;
  std::uint32_t bytes_of_number = 0;
  std::uint32_t motor_slots = 0;
  std::uint32_t action_slots = 0;
  std::uint32_t integrator = 0;
  std::uint32_t noise = 0;
  double dt = 0;
  double floor = 0;
  double turbulence[4] = {};  ///< DrydenParameters, heading
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  double imu_phase = 0;
  std::uint32_t level = 0;
  std::uint32_t wind = 0;
  std::uint32_t external_wrench = 0;
  std::uint32_t has_effectiveness = 0;
  std::int32_t outer_loop = -1;  ///< the last one used, -1: none
  std::uint32_t padding = 0;
};

}  // namespace detail

template <class T, int N>
detail::FleetSnapshotHeader Fleet<Multicopter<N>, T>::header() const {
  detail::FleetSnapshotHeader h;
  h.size = size();
  h.vehicle = fingerprint(vehicle(), options().control_vehicle);
  h.rotors = static_cast<std::uint32_t>(rotors());
  h.bytes_of_number = sizeof(T);
  h.motor_slots = static_cast<std::uint32_t>(memory_.past_motor_commands.rows);
  h.action_slots = static_cast<std::uint32_t>(memory_.past_actions.rows);
  h.integrator = static_cast<std::uint32_t>(options().integrator);
  h.noise = options().noise ? 1 : 0;
  h.dt = options().dt;
  h.floor = options().floor;
  const auto& air = options().turbulence;
  h.turbulence[0] = air.wind_speed_6m;
  h.turbulence[1] = air.altitude;
  h.turbulence[2] = air.airspeed;
  h.turbulence[3] = options().turbulence_heading;
  h.seed = options().seed;
  h.steps = steps_;
  h.imu_phase = imu_phase_;
  h.level = static_cast<std::uint32_t>(level_);
  h.wind = plan_.switches.wind ? 1 : 0;
  h.external_wrench = plan_.switches.external_wrench ? 1 : 0;
  h.has_effectiveness = has_reduced_rotors() ? 1 : 0;
  h.outer_loop = outer_.loop;
  return h;
}

template <class T, int N>
bool Fleet<Multicopter<N>, T>::has_reduced_rotors() const {
  const int first = memory_.layout().rotor_effectiveness();
  for (std::size_t i = 0; i < size() && !plan_.nominal_rotors.empty(); ++i) {
    for (int r = 0; r < rotors(); ++r) {
      if (memory_.at(first + r, i) != T(1)) return true;
    }
  }
  return false;
}

/// Visits every number of one vehicle of `self`, a const or non-const fleet.
template <class T, int N>
template <class Self, class Visit>
void Fleet<Multicopter<N>, T>::visit(Self& self, std::size_t i, Visit& visit) {
  detail::FleetMemory<T>::visit(self.memory_, i, visit);
  auto& outer = self.outer_;
  if (outer.loop < 0) return;
  for (int field = 0; field < outer.fields; ++field) {
    visit(outer.memory[outer.memory_at(i, field, self.memory_.lanes())]);
  }
  for (int k = 0; k < outer.held_width(self.rotors()); ++k) {
    visit(outer.held[outer.held_at(i, k, self.size(), self.rotors())]);
  }
}

template <class T, int N>
std::size_t Fleet<Multicopter<N>, T>::snapshot_bytes(int outer_loop) const {
  std::size_t numbers = 0;
  if (outer_loop >= 0) {
    const bool rates = commands_rates(static_cast<OuterLoop>(outer_loop));
    numbers += detail::FleetOuter<T>::fields;
    numbers += rates ? 4 : static_cast<std::size_t>(rotors());
  }
  return sizeof(detail::FleetSnapshotHeader) +
         size() * (memory_.visited_bytes() + numbers * sizeof(T));
}

template <class T, int N>
std::vector<std::byte> Fleet<Multicopter<N>, T>::snapshot() const {
  std::vector<std::byte> bytes;
  bytes.reserve(snapshot_bytes(outer_.loop));
  detail::ByteWriter write(bytes);
  write(header());
  for (std::size_t i = 0; i < size(); ++i) visit(*this, i, write);
  return bytes;
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::restore(Span<const std::byte> snapshot) {
  samplers_.require_idle();
  const auto refuse = [](const std::string& text) {
    PROPWASH_THROW(std::invalid_argument("snapshot: " + text));
  };
  if (snapshot.size() < sizeof(detail::FleetSnapshotHeader)) {
    refuse("expected a snapshot of a fleet, got " + std::to_string(snapshot.size()) + " bytes");
  }
  detail::ByteReader read(snapshot.data());
  const auto expected = header();
  detail::FleetSnapshotHeader loaded;
  read(loaded);
  if (std::memcmp(expected.magic, loaded.magic, sizeof expected.magic) != 0) {
    constexpr std::size_t last = sizeof expected.magic - 1;
    if (std::memcmp(expected.magic, loaded.magic, last) == 0) {
      refuse(std::string("format = ") + loaded.magic[last] + ": expected " + expected.magic[last] +
             ", that of this version of propwash; step a new fleet to this state again");
    }
    refuse("expected a snapshot of a fleet, got other bytes");
  }
  const auto same = [&](auto a, auto b, const char* what) {
    if (a != b) {
      refuse(std::string("expected ") + what + " = " + detail::formatted(double(a)) + ", got " +
             detail::formatted(double(b)));
    }
  };
  if (expected.vehicle != loaded.vehicle) {
    refuse("expected a fleet of vehicle '" + vehicle().name + "', got one with other parameters");
  }
  same(expected.size, loaded.size, "vehicles");
  same(expected.rotors, loaded.rotors, "rotors");
  same(expected.bytes_of_number, loaded.bytes_of_number, "bytes of a number");
  same(expected.motor_slots, loaded.motor_slots, "steps of motor delay");
  same(expected.action_slots, loaded.action_slots, "steps of action delay");
  same(expected.integrator, loaded.integrator, "integrator number");
  same(expected.noise, loaded.noise, "noise");
  same(expected.dt, loaded.dt, "dt");
  same(expected.floor, loaded.floor, "floor");
  for (int i = 0; i < 4; ++i) same(expected.turbulence[i], loaded.turbulence[i], "turbulence");
  same(snapshot_bytes(loaded.outer_loop), snapshot.size(), "bytes");

  if (loaded.steps > detail::max_snapshot_steps) {
    refuse("steps = " + std::to_string(loaded.steps) + ": expected at most 2^62");
  }
  if (loaded.level > static_cast<std::uint32_t>(Level::speeds) || loaded.outer_loop < -1 ||
      loaded.outer_loop > static_cast<int>(OuterLoop::incremental) ||
      !is_sample_phase(loaded.imu_phase)) {
    refuse("expected a snapshot of a fleet, got an invalid loop, level or IMU phase");
  }
  const std::size_t record = (snapshot.size() - sizeof loaded) / size();
  for (std::size_t i = 0; i < size(); ++i) {
    detail::ByteReader first(snapshot.data() + sizeof loaded + i * record);
    std::uint32_t id = 0;
    std::uint64_t reset_at = 0;
    std::uint32_t delay = 0;
    first(id);
    first(reset_at);
    if (!memory_.past_actions.empty()) first(delay);
    if (reset_at > loaded.steps || delay > static_cast<std::uint32_t>(options().max_action_delay)) {
      refuse("vehicle " + std::to_string(i) +
             ": expected a reset no later than the snapshot and an " + "action delay of at most " +
             std::to_string(options().max_action_delay) + " steps");
    }
    // the state may have diverged, but inputs must be finite, because a reset keeps them
    for (int field = 0; field < memory_.layout().size(); ++field) {
      T number{};
      first(number);
      const bool is_effectiveness = field >= memory_.layout().rotor_effectiveness();
      const bool is_computed = plan_.switches.battery_circuit &&
                               field >= FleetLayout::voltage_ratio && field < FleetLayout::contact;
      const bool is_input = is_effectiveness || (field >= FleetLayout::wind &&
                                                 field < FleetLayout::rotor_speeds && !is_computed);
      if (is_input && (!is_finite(number) ||
                       (is_effectiveness && !is_within(number, T(0), T(max_effectiveness))))) {
        refuse("vehicle " + std::to_string(i) +
               ": expected a finite wind, voltage and external wrench, and a rotor effectiveness "
               "from 0 to " +
               detail::formatted(max_effectiveness));
      }
    }
  }

  if (loaded.outer_loop >= 0 && !outer_.is_ready) prepare_outer(outer_loops());
  if (loaded.has_effectiveness != 0) plan_.prepare_effectiveness();
  outer_.loop = loaded.outer_loop;
  plan_.options.seed = loaded.seed;
  steps_ = loaded.steps;
  imu_phase_ = loaded.imu_phase;
  level_ = static_cast<Level>(loaded.level);
  plan_.switches.wind = loaded.wind != 0 || plan_.switches.turbulence;
  plan_.switches.external_wrench = loaded.external_wrench != 0;
  for (std::size_t i = 0; i < size(); ++i) visit(*this, i, read);
  for (std::size_t i = 0; i < size(); ++i) plan_.apply_effectiveness(i, memory_);
  plan_.options.first_id = memory_.ids[0];
  for (std::size_t i = size(); i < memory_.padded(); ++i) restart(i);
  samplers_.restart(steps_);
}

}  // namespace propwash
