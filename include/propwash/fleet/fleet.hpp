#pragma once
/// @file
/// Many vehicles of any kind at once: one call steps all of them, in SIMD lanes and, with an
/// executor that has threads, on several cores. Fleets of multicopters are
/// fleet/multicopter_fleet.hpp.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/impl/blocks.hpp"
#include "propwash/fleet/impl/bytes.hpp"
#include "propwash/fleet/impl/vehicle_kernel.hpp"
#include "propwash/fwd.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/span.hpp"
#include "propwash/vehicle/custom_vehicle.hpp"
#include "propwash/vehicle/impl/fingerprint.hpp"

namespace propwash {

/// Options of a fleet of any vehicle, fixed at its construction.
struct VehicleFleetOptions {
  Integrator integrator = Integrator::rk4;  ///< rk4 or euler
  double dt = 1.0 / 960.0;                  ///< s, of every step
  std::uint64_t seed = 0;                   ///< key of all noise
  std::uint32_t first_id = 0;               ///< id of vehicle 0 for its noise; the others follow
  bool noise = true;                        ///< false: none
};

namespace detail {

template <class Vehicle>
struct IsMulticopter : std::false_type {};
template <int N, class T>
struct IsMulticopter<Multicopter<N, T>> : std::true_type {};

/// The numbers of a struct.
template <int Width, class T>
struct Row {
  T numbers[std::size_t{Width}];
  template <class X>
  explicit Row(const X& x) {
    T* to = numbers;
    for_each_number(x, [&](const T& number) { *to++ = number; });
  }
  operator Span<const T>() const { return {numbers, std::size_t{Width}}; }
};

}  // namespace detail

/// `size` vehicles of a class that supplies what vehicle/custom_vehicle.hpp lists.
///
///     Fleet<Car<>, float> cars{vehicles::car(), 1000};
///     cars.step(commands, 10);  // (size, command_width<Car<>>)
///     cars.read(states);        // (size, state_width<Car<>>)
///
/// The numbers of states, commands and constants are those of their PROPWASH_MEMBERS, in that
/// order. A vehicle's results depend only on its start, its commands and the seed, id and step of
/// its noise, so they are bit-identical in any fleet that uses the same kernels, on any number of
/// threads. A step allocates nothing, starts no thread and does not check the values of a command.
/// An exception leaves the fleet unchanged: ParameterError for invalid parameters and options,
/// std::invalid_argument for wrong sizes.
template <class Vehicle, class T>
class Fleet {
  static_assert(!detail::IsMulticopter<Vehicle>::value,
                "include propwash/fleet/multicopter_fleet.hpp, and write Fleet<Multicopter<N>, T>");

 public:
  using Parameters = typename Vehicle::Parameters;                        ///< of a vehicle
  using State = typename Vehicle::template State<T>;                      ///< of a vehicle
  using Command = typename Vehicle::template Command<T>;                  ///< of a vehicle
  using Constants = typename Vehicle::template Constants<T>;              ///< of a vehicle
  static constexpr int state_width = propwash::state_width<Vehicle>;      ///< numbers of a state
  static constexpr int command_width = propwash::command_width<Vehicle>;  ///< of a command

  Fleet(const Parameters& parameters, std::size_t size, const VehicleFleetOptions& options = {},
        const VehicleKernels<T>& kernels = native_vehicle_kernels<Vehicle, T>())
      : size_(size), options_(options), kernels_(kernels) {
    detail::check_fleet(size, options.first_id, options.integrator);
    detail::check_dt<T>(options.dt);
    const auto constants = Vehicle::constants(parameters, options.dt);
    detail::Fingerprint fingerprint;
    for_each_number(constants, [&](double number) { fingerprint.add(number); });
    fingerprint.add(std::int32_t{command_width});
    fingerprint_ = fingerprint.value();
    constants_ = {lanes(), lanes(), 1, constants_width<Vehicle>};
    for (std::size_t lane = 0; lane < lanes(); ++lane) put(constants_, lane, constants);
    const std::size_t padded = (size + lanes() - 1) / lanes() * lanes();
    state_ = {padded, lanes(), 1, state_width};
    ids_.resize(padded);
    reset_at_.resize(padded);
    for (std::size_t i = 0; i < padded; ++i) {
      ids_[i] = options.first_id + static_cast<std::uint32_t>(i);
      put(state_, i, start({}, 0));
    }
    check({}, {});
  }

  /// Number of vehicles.
  std::size_t size() const { return size_; }
  /// The options of the constructor, with the present seed.
  const VehicleFleetOptions& options() const { return options_; }

  /// Advances all vehicles by `substeps` steps of dt with the commands held constant: (size,
  /// command_width), or (command_width) for all.
  void step(Span<const T> commands, int substeps = 1, ExecutorRef executor = {}) {
    detail::check_substeps(substeps);
    detail::check_count(commands.size(), size_ * std::size_t{command_width}, command_width,
                        "commands");
    VehicleBatch<T> batch;
    batch.state = state_.numbers.data();
    batch.constants = constants_.numbers.data();
    batch.constants_stride = has_individual_parameters() ? constants_.stride() * lanes() : 0;
    batch.commands = commands.data();
    batch.has_one_command = commands.size() == std::size_t{command_width};
    batch.ids = ids_.data();
    batch.size = size_;
    batch.seed = options_.seed;
    batch.step = steps_;
    batch.substeps = substeps;
    batch.dt = static_cast<T>(options_.dt);
    batch.noise = options_.noise;
    const auto kernel = options_.integrator == Integrator::euler ? kernels_.euler : kernels_.rk4;
    detail::in_chunks(ids_.size() / lanes(), static_cast<std::size_t>(substeps), executor,
                      [&](std::size_t first, std::size_t last) { kernel(batch, first, last); });
    steps_ += static_cast<std::uint64_t>(substeps);
  }

  /// The same with one command for all.
  void step(const Command& command, int substeps = 1, ExecutorRef executor = {}) {
    step(Span<const T>(detail::Row<command_width, T>(command)), substeps, executor);
  }

  /// Copies the states into (size, state_width) rows.
  void read(Span<T> rows) const {
    detail::check_count(rows.size(), size_ * std::size_t{state_width}, 0, "rows");
    detail::copy_rows(state_.numbers.data(), state_.stride() * lanes(), lanes(), size_, state_width,
                      rows.data());
  }
  /// The state of a vehicle.
  State state(std::size_t vehicle) const { return get<State>(state_, vehicle); }
  /// The constants of a vehicle.
  Constants constants(std::size_t vehicle) const {
    return get<Constants>(constants_, has_individual_parameters() ? vehicle : 0);
  }
  /// Writes the time since each vehicle's reset, s: (size).
  void time(Span<double> seconds) const {
    detail::check_count(seconds.size(), size_, 0, "seconds");
    for (std::size_t i = 0; i < size_; ++i) {
      seconds[i] = static_cast<double>(steps_ - reset_at_[i]) * options_.dt;
    }
  }
  /// Steps since construction or the last reset with a seed; the noise is a function of it.
  std::uint64_t steps() const { return steps_; }

  /// Restarts vehicles at time 0 from `rows`: (size, state_width), (state_width) for all, or empty,
  /// `Span<const T>{}`: State{}. `mask` selects the vehicles, one flag each; empty: all. The step
  /// counter continues, so that each episode has different noise. Constants::project is applied to
  /// the states.
  /// @throws std::invalid_argument for wrong sizes, or a state that is not finite after it.
  void reset(Span<const T> rows = {}, Span<const bool> mask = {}) {
    check(rows, mask);
    for_each_selected(mask, [&](std::size_t i) {
      put(state_, i, start(rows, i));
      reset_at_[i] = steps_;
    });
  }
  /// The same from one state for all.
  void reset(const State& state, Span<const bool> mask = {}) {
    reset(Span<const T>(detail::Row<state_width, T>(state)), mask);
  }
  /// Restarts all vehicles with a new noise seed, as if newly constructed; parameters stay.
  void reset(Span<const T> rows, std::uint64_t seed) {
    check(rows, {});
    options_.seed = seed;
    steps_ = 0;
    reset(rows);
  }
  /// Replaces states; time and noise continue. Arguments and exceptions are those of reset(), but
  /// `rows` may not be empty.
  void set_state(Span<const T> rows, Span<const bool> mask = {}) {
    check_size(rows);
    check(rows, mask);
    for_each_selected(mask, [&](std::size_t i) { put(state_, i, start(rows, i)); });
  }
  /// The same for one state for all.
  void set_state(const State& state, Span<const bool> mask = {}) {
    set_state(Span<const T>(detail::Row<state_width, T>(state)), mask);
  }

  /// Replaces the parameters of all vehicles; the state stays. parameters_of(i) returns those of
  /// vehicle i.
  /// @throws ParameterError of Vehicle::constants(); the object is then unchanged.
  template <class ParametersOf>
  void set_parameters(const ParametersOf& parameters_of) {
    detail::FleetBlocks<T> all{ids_.size(), lanes(), 1, constants_width<Vehicle>};
    for (std::size_t i = 0; i < size_; ++i) {
      const Parameters& parameters = parameters_of(i);
      const auto constants = Vehicle::constants(parameters, options_.dt);
      put(all, i, constants);
      // the padding copies the last vehicle
      for (std::size_t k = size_; k < ids_.size() && i + 1 == size_; ++k) put(all, k, constants);
    }
    constants_ = std::move(all);
    is_individual_ = true;
  }
  /// Whether each vehicle has separate constants.
  bool has_individual_parameters() const { return is_individual_; }

  /// Returns the complete state without the parameters; restore() continues bit for bit.
  std::vector<std::byte> snapshot() const {
    std::vector<std::byte> bytes;
    bytes.reserve(snapshot_bytes());
    detail::ByteWriter write(bytes);
    write(header());
    for (std::size_t i = 0; i < size_; ++i) visit(*this, i, write);
    return bytes;
  }
  /// Restores a snapshot of a fleet of the same vehicle, size and options, constructed with the
  /// same parameters, on any instruction set.
  /// @throws std::invalid_argument for other bytes.
  void restore(Span<const std::byte> snapshot) {
    const Header loaded = checked(snapshot);
    options_.seed = loaded.seed;
    steps_ = loaded.steps;
    detail::ByteReader read(snapshot.data() + sizeof loaded);
    for (std::size_t i = 0; i < size_; ++i) visit(*this, i, read);
    options_.first_id = ids_[0];
  }

  /// Memory used per vehicle.
  double bytes_per_vehicle() const {
    const std::size_t numbers = state_.numbers.size() + constants_.numbers.size();
    return static_cast<double>(numbers * sizeof(T) +
                               ids_.size() * (sizeof ids_[0] + sizeof reset_at_[0])) /
           static_cast<double>(size_);
  }

 private:
  using Blocks = detail::FleetBlocks<T>;

  /// The start of a snapshot: identification of the fleet, then the state that vehicles share.
  struct Header {
    char magic[8] = {'p', 'w', 'a', 'n', 'y', 'f', 'l', '1'};
    std::uint64_t size = 0;
    std::uint64_t vehicle = 0;  ///< fingerprint of the constants
    std::uint32_t width = 0;
    std::uint32_t bytes_of_number = 0;
    std::uint32_t integrator = 0;
    std::uint32_t noise = 0;
    double dt = 0.0;
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
  };
  static_assert(sizeof(Header) == 64, "expected no padding, as snapshots are compared by bytes");

  std::size_t lanes() const { return kernels_.lanes; }

  template <class X>
  static void put(Blocks& blocks, std::size_t vehicle, const X& x) {
    int field = 0;
    for_each_number(x,
                    [&](auto number) { blocks.at(vehicle, 0, field++) = static_cast<T>(number); });
  }
  template <class X>
  static X get(const Blocks& blocks, std::size_t vehicle) {
    X x{};
    int field = 0;
    for_each_number(x, [&](T& number) { number = blocks.at(vehicle, 0, field++); });
    return x;
  }
  template <class F>
  void for_each_selected(Span<const bool> mask, const F& f) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (mask.empty() || mask[i]) f(i);
    }
  }
  /// The start of a vehicle.
  State start(Span<const T> rows, std::size_t vehicle) const {
    State state{};
    if (!rows.empty()) {
      const T* number = detail::row_of(rows, state_width, vehicle);
      for_each_number(state, [&](T& to) { to = *number++; });
    }
    if constexpr (detail::HasProject<Constants, State>::value) {
      return constants(vehicle).project(state);
    } else {
      return state;
    }
  }
  void check_size(Span<const T> rows) const {
    detail::check_count(rows.size(), size_ * std::size_t{state_width}, state_width, "state");
  }
  void check(Span<const T> rows, Span<const bool> mask) const {
    if (!rows.empty()) check_size(rows);
    if (!mask.empty()) detail::check_count(mask.size(), size_, 0, "mask");
    for_each_selected(mask, [&](std::size_t i) {
      const State state = start(rows, i);
      int k = 0;
      for_each_number(state, [&](const T& number) {
        if (!is_finite(number)) {
          PROPWASH_THROW(std::invalid_argument(
              "number " + std::to_string(k) + " of the state of vehicle " + std::to_string(i) +
              " = " + detail::formatted(static_cast<double>(number)) +
              ": expected a finite number"));
        }
        ++k;
      });
    });
  }

  Header header() const {
    Header h;
    h.size = size_;
    h.vehicle = fingerprint_;
    h.width = std::uint32_t{state_width};
    h.bytes_of_number = sizeof(T);
    h.integrator = static_cast<std::uint32_t>(options_.integrator);
    h.noise = options_.noise ? 1 : 0;
    h.dt = options_.dt;
    h.seed = options_.seed;
    h.steps = steps_;
    return h;
  }
  /// The header of a snapshot of such a fleet; throws for other bytes.
  Header checked(Span<const std::byte> snapshot) const {
    const auto refuse = [](const std::string& text) {
      PROPWASH_THROW(std::invalid_argument("snapshot: expected " + text));
    };
    const auto same = [&](auto expected, auto found, const char* what) {
      if (expected == found) return;
      refuse(std::string(what) + " = " + detail::formatted(static_cast<double>(expected)) +
             ", got " + detail::formatted(static_cast<double>(found)));
    };
    const Header expected = header();
    Header loaded;
    if (snapshot.size() >= sizeof loaded) {
      std::memcpy(&loaded, snapshot.data(), sizeof loaded);
    }
    if (snapshot.size() < sizeof loaded ||
        std::memcmp(loaded.magic, expected.magic, sizeof loaded.magic) != 0) {
      refuse("the bytes of snapshot() of a fleet of such vehicles, got other bytes");
    }
    same(expected.size, loaded.size, "vehicles");
    same(expected.width, loaded.width, "numbers of a state");
    same(expected.bytes_of_number, loaded.bytes_of_number, "bytes of a number");
    same(expected.integrator, loaded.integrator, "integrator number");
    same(expected.noise, loaded.noise, "noise");
    same(expected.dt, loaded.dt, "dt");
    if (expected.vehicle != loaded.vehicle) {
      refuse("a fleet that was constructed with the same parameters, got one with others");
    }
    same(snapshot_bytes(), snapshot.size(), "bytes");
    const std::size_t record = (snapshot_bytes() - sizeof loaded) / size_;
    for (std::size_t i = 0; i < size_; ++i) {
      std::uint64_t reset_at = 0;
      std::memcpy(&reset_at, snapshot.data() + sizeof loaded + i * record, sizeof reset_at);
      if (reset_at > loaded.steps || loaded.steps > detail::max_snapshot_steps) {
        refuse("steps from the reset of each vehicle to 2^62, got " + std::to_string(loaded.steps));
      }
    }
    return loaded;
  }
  std::size_t snapshot_bytes() const {
    constexpr std::size_t record =
        sizeof(std::uint64_t) + sizeof(std::uint32_t) + std::size_t{state_width} * sizeof(T);
    return sizeof(Header) + size_ * record;
  }
  /// Visits every number of one vehicle of `self`, a const or non-const fleet.
  template <class Self, class Visit>
  static void visit(Self& self, std::size_t vehicle, Visit& visit) {
    visit(self.reset_at_[vehicle]);
    visit(self.ids_[vehicle]);
    for (int k = 0; k < state_width; ++k) visit(self.state_.at(vehicle, 0, k));
  }

  std::size_t size_;
  VehicleFleetOptions options_;
  VehicleKernels<T> kernels_;
  Blocks state_;      // padded to whole blocks
  Blocks constants_;  // of all vehicles, or one block for all
  bool is_individual_ = false;
  std::vector<std::uint32_t> ids_;       // padded
  std::vector<std::uint64_t> reset_at_;  // step of each vehicle's reset
  std::uint64_t fingerprint_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace propwash
