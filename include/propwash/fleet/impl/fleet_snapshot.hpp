#pragma once
// Snapshots of Fleet; include propwash/fleet/fleet.hpp.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

namespace detail {

/// What stands first in a snapshot: whose it is, then what the vehicles share.
struct FleetSnapshotHeader {
  char magic[8] = {'p', 'w', 'f', 'l', 'e', 'e', 't', '3'};
  std::uint64_t size = 0;
  std::uint64_t vehicle = 0;  ///< fingerprint
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
  std::int32_t outer_loop = -1;  ///< flown last, -1: none
  std::uint32_t padding = 0;
};

/// More than any program runs, so that clocks and schedules can count on from here.
inline constexpr std::uint64_t max_snapshot_steps = std::uint64_t{1} << 62;

/// Writes or reads plain values one after the other.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& to) : to_(to) {}
  template <class Value>
  void operator()(const Value& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to_.insert(to_.end(), bytes, bytes + sizeof value);
  }

 private:
  std::vector<std::byte>& to_;
};
class ByteReader {
 public:
  explicit ByteReader(const std::byte* from) : from_(from) {}
  template <class Value>
  void operator()(Value& value) {
    std::memcpy(&value, from_, sizeof value);
    from_ += sizeof value;
  }

 private:
  const std::byte* from_;
};

}  // namespace detail

template <class T, int N>
detail::FleetSnapshotHeader Fleet<T, N>::header() const {
  detail::FleetSnapshotHeader h;
  h.size = size_;
  h.vehicle = fingerprint(vehicle_);
  h.rotors = static_cast<std::uint32_t>(rotors_);
  h.bytes_of_number = sizeof(T);
  h.motor_slots = motor_ring_.empty() ? 0 : static_cast<std::uint32_t>(motor_slots());
  h.action_slots = action_ring_.empty() ? 0 : static_cast<std::uint32_t>(action_slots());
  h.integrator = static_cast<std::uint32_t>(options_.integrator);
  h.noise = options_.noise ? 1 : 0;
  h.dt = options_.dt;
  h.floor = options_.floor;
  const auto& air = options_.turbulence;
  h.turbulence[0] = air.wind_speed_6m;
  h.turbulence[1] = air.altitude;
  h.turbulence[2] = air.airspeed;
  h.turbulence[3] = options_.turbulence_heading;
  h.seed = options_.seed;
  h.steps = steps_;
  h.imu_phase = imu_phase_;
  h.level = static_cast<std::uint32_t>(level_);
  h.wind = switches_.wind ? 1 : 0;
  h.external_wrench = switches_.external_wrench ? 1 : 0;
  h.has_effectiveness = has_worn_rotors() ? 1 : 0;
  h.outer_loop = outer_.loop;
  return h;
}

template <class T, int N>
bool Fleet<T, N>::has_worn_rotors() const {
  for (std::size_t i = 0; i < size_ && !whole_rotors_.empty(); ++i) {
    for (int r = 0; r < rotors_; ++r) {
      if (at(layout().rotor_effectiveness() + r, i) != T(1)) return true;
    }
  }
  return false;
}

/// Everything of one vehicle, in an order that no instruction set has a say in.
template <class T, int N>
template <class Visit>
void Fleet<T, N>::visit_vehicle(std::size_t i, Visit& visit) {
  visit(ids_[i]);
  visit(reset_at_[i]);
  if (!action_ring_.empty()) visit(action_delay_[i]);
  for (int field = 0; field < FleetLayout::rotor_speeds; ++field) visit(at(field, i));
  for (int r = 0; r < rotors_; ++r) visit(at(FleetLayout::rotor_speeds + r, i));
  for (int r = 0; r < rotors_; ++r) visit(at(layout().rotor_command() + r, i));
  for (int r = 0; r < rotors_; ++r) visit(at(layout().rotor_effectiveness() + r, i));
  if (!motor_ring_.empty()) {
    for (int slot = 0; slot < motor_slots(); ++slot) {
      for (int r = 0; r < rotors_; ++r) {
        visit(ring_slot(motor_ring_, motor_slots(), rotors_, i, slot, r));
      }
    }
  }
  if (!action_ring_.empty()) {
    for (int slot = 0; slot < action_slots(); ++slot) {
      for (int k = 0; k < std::max(4, rotors_); ++k) {
        visit(ring_slot(action_ring_, action_slots(), action_width(), i, slot, k));
      }
    }
  }
  if (outer_.loop < 0) return;
  for (int field = 0; field < detail::FleetOuter<T>::fields; ++field) visit(outer_at(field, i));
  for (int k = 0; k < held_width(); ++k) visit(held_at(i, k));
}

template <class T, int N>
std::size_t Fleet<T, N>::snapshot_bytes(int outer_loop) const {
  const auto rotors = static_cast<std::size_t>(rotors_);
  std::size_t numbers = FleetLayout::rotor_speeds + 3 * rotors;
  std::size_t words = sizeof(std::uint32_t) + sizeof(std::uint64_t);
  if (!motor_ring_.empty()) numbers += static_cast<std::size_t>(motor_slots()) * rotors;
  if (!action_ring_.empty()) {
    numbers += static_cast<std::size_t>(action_slots()) * std::max<std::size_t>(4, rotors);
    words += sizeof(std::uint32_t);
  }
  if (outer_loop >= 0) {
    numbers += detail::FleetOuter<T>::fields;
    numbers += commands_rates(static_cast<OuterLoop>(outer_loop)) ? 4 : rotors;
  }
  return sizeof(detail::FleetSnapshotHeader) + size_ * (words + numbers * sizeof(T));
}

template <class T, int N>
std::vector<std::byte> Fleet<T, N>::snapshot() const {
  std::vector<std::byte> bytes;
  bytes.reserve(snapshot_bytes(outer_.loop));
  detail::ByteWriter write(bytes);
  write(header());
  for (std::size_t i = 0; i < size_; ++i) const_cast<Fleet*>(this)->visit_vehicle(i, write);
  return bytes;
}

template <class T, int N>
void Fleet<T, N>::restore(Span<const std::byte> snapshot) {
  const auto refuse = [](const std::string& what) {
    PROPWASH_THROW(std::invalid_argument("snapshot: " + what));
  };
  if (snapshot.size() < sizeof(detail::FleetSnapshotHeader)) {
    refuse("expected what snapshot() gave, got " + std::to_string(snapshot.size()) + " bytes");
  }
  detail::ByteReader read(snapshot.data());
  const auto ours = header();
  detail::FleetSnapshotHeader theirs;
  read(theirs);
  if (std::memcmp(ours.magic, theirs.magic, sizeof ours.magic) != 0) {
    refuse("expected what a fleet's snapshot() gave, got other bytes");
  }
  const auto same = [&](auto a, auto b, const char* what) {
    if (a != b) {
      refuse(std::string("expected ") + what + " = " + detail::formatted(double(a)) + ", got " +
             detail::formatted(double(b)));
    }
  };
  if (ours.vehicle != theirs.vehicle) {
    refuse("expected one of vehicle '" + vehicle_.name + "', got one of other parameters");
  }
  same(ours.size, theirs.size, "vehicles");
  same(ours.rotors, theirs.rotors, "rotors");
  same(ours.bytes_of_number, theirs.bytes_of_number, "bytes of a number");
  same(ours.motor_slots, theirs.motor_slots, "steps of motor delay");
  same(ours.action_slots, theirs.action_slots, "steps of action delay");
  same(ours.integrator, theirs.integrator, "the integrator's number");
  same(ours.noise, theirs.noise, "noise");
  same(ours.dt, theirs.dt, "dt");
  same(ours.floor, theirs.floor, "floor");
  for (int i = 0; i < 4; ++i) same(ours.turbulence[i], theirs.turbulence[i], "turbulence");
  same(snapshot_bytes(theirs.outer_loop), snapshot.size(), "bytes");

  if (theirs.steps > detail::max_snapshot_steps) {
    refuse("steps = " + std::to_string(theirs.steps) + ": expected at most 2^62");
  }
  if (theirs.level > static_cast<std::uint32_t>(Level::speeds) || theirs.outer_loop < -1 ||
      theirs.outer_loop > static_cast<int>(OuterLoop::incremental) ||
      !is_sample_phase(theirs.imu_phase)) {
    refuse("expected what a fleet's snapshot() gave, got other numbers");
  }
  const std::size_t record = (snapshot.size() - sizeof theirs) / size_;
  for (std::size_t i = 0; i < size_; ++i) {
    detail::ByteReader first(snapshot.data() + sizeof theirs + i * record);
    std::uint32_t id = 0;
    std::uint64_t reset_at = 0;
    std::uint32_t delay = 0;
    first(id);
    first(reset_at);
    if (!action_ring_.empty()) first(delay);
    if (reset_at > theirs.steps || delay > static_cast<std::uint32_t>(options_.max_action_delay)) {
      refuse("vehicle " + std::to_string(i) + ": expected a reset before now and an action delay " +
             "of at most " + std::to_string(options_.max_action_delay) + " steps");
    }
    // a vehicle may have diverged; what acts on it has not, and a reset keeps it
    for (int field = 0; field < layout().size(); ++field) {
      T number{};
      first(number);
      const bool is_worn = field >= layout().rotor_effectiveness();
      const bool acts =
          is_worn || (field >= FleetLayout::wind && field < FleetLayout::rotor_speeds);
      if (acts &&
          (!is_finite(number) || (is_worn && !is_within(number, T(0), T(max_effectiveness))))) {
        refuse("vehicle " + std::to_string(i) +
               ": expected a finite wind, voltage and external wrench, and a rotor effectiveness "
               "from 0 to " +
               detail::formatted(max_effectiveness));
      }
    }
  }

  if (theirs.outer_loop >= 0 && !outer_.is_ready) prepare_outer(outer_loops());
  if (theirs.has_effectiveness != 0) prepare_effectiveness();
  outer_.loop = theirs.outer_loop;
  options_.seed = theirs.seed;
  steps_ = theirs.steps;
  imu_phase_ = theirs.imu_phase;
  level_ = static_cast<Level>(theirs.level);
  switches_.wind = theirs.wind != 0 || switches_.turbulence;
  switches_.external_wrench = theirs.external_wrench != 0;
  for (std::size_t i = 0; i < size_; ++i) visit_vehicle(i, read);
  for (std::size_t i = 0; i < size_ && !whole_rotors_.empty(); ++i) apply_effectiveness(i);
  options_.first_id = ids_[0];
  for (std::size_t i = size_; i < blocks() * lanes(); ++i) start_again(i);
}

template <class T, int N>
double Fleet<T, N>::bytes_per_vehicle() const {
  const auto bytes = [](const auto& v) { return static_cast<double>(v.size() * sizeof v[0]); };
  return (bytes(memory_) + bytes(constants_) + bytes(starts_) + bytes(ids_) + bytes(reset_at_) +
          bytes(motor_ring_) + bytes(action_ring_) + bytes(action_delay_) + bytes(outer_.memory) +
          bytes(outer_.held)) /
         static_cast<double>(size_);
}

}  // namespace propwash
