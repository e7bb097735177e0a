#pragma once
/// @file
/// What follows from the parameters of a fleet's vehicles: constants, switches, kernels.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "propwash/fleet/impl/fleet_memory.hpp"
#include "propwash/fleet/impl/kernels.hpp"
#include "propwash/fleet/impl/make_constants.hpp"
#include "propwash/vehicle/fields.hpp"

namespace propwash {

namespace detail {
/// The vehicles of a fleet and what a step needs of them. A member that throws changes nothing.
template <class T>
struct FleetPlan {
  static constexpr int start_weight = 2, start_motor = 3, start_hover = 4;

  VehicleParameters vehicle;  ///< from which the fleet was made
  FleetOptions options;
  FleetKernelSource<T> source;
  std::size_t size;
  int rotors;
  FleetKernels<T> kernels{};
  FleetSwitches switches{};
  StepDelay motor_delay{};
  int rank = 0;  ///< least of the allocation matrices
  bool own_parameters = false;
  bool gravity_is_shared = true;
  LineVector<std::byte> constants;  ///< of all, or of each block
  /// What reset needs of a vehicle's parameters: deviations of the initial biases [m/s^2, rad/s],
  /// weight [N], the shortest time constant of the motors [s], then rotor speeds in hover [rad/s].
  std::vector<T> starts;
  std::vector<T> whole_rotors;  ///< coefficients at full effectiveness; empty: all are whole

  /// `expected_rotors` may be Dynamic.
  FleetPlan(const VehicleParameters& of, std::size_t vehicles, const FleetOptions& chosen,
            FleetKernelSource<T> kernel_source, int expected_rotors)
      : vehicle(of), options(chosen), source(kernel_source), size(vehicles) {
    validate(vehicle);
    rotors = static_cast<int>(vehicle.rotors.size());
    if (expected_rotors != Dynamic && rotors != expected_rotors) {
      PROPWASH_THROW(ParameterError(
          "vehicle '" + vehicle.name + "': rotors, their number = " + std::to_string(rotors) +
          ": expected " + std::to_string(expected_rotors) + ", the template argument of Fleet"));
    }
    check_options();
    validate_time_step(vehicle, options.integrator, options.dt);
    motor_delay = step_delay(vehicle.motor.command_delay, options.dt, max_delay_steps + 2);
    prepare([this](std::size_t) -> const VehicleParameters& { return vehicle; }, false);
  }

  std::size_t lanes() const { return static_cast<std::size_t>(kernels.lanes); }
  std::size_t blocks() const { return (size + lanes() - 1) / lanes(); }
  std::size_t constants_stride() const { return own_parameters ? kernels.constants_bytes : 0; }
  std::size_t start_width() const { return static_cast<std::size_t>(start_hover + rotors); }
  std::size_t start_stride() const { return own_parameters ? start_width() : 0; }
  const T* start(std::size_t i) const { return starts.data() + i * start_stride(); }
  int motor_slots() const { return vehicle.motor.command_delay > 0.0 ? motor_delay.steps + 2 : 0; }
  int action_slots() const {
    return options.max_action_delay > 0 ? options.max_action_delay + 1 : 0;
  }

  FleetSetting setting() const {
    return {options.integrator,
            options.dt,
            options.noise,
            options.turbulence,
            options.turbulence_heading,
            options.nominal_controller ? &vehicle : nullptr};
  }

  void require_rank() const {
    if (rank == 4) return;
    validate_allocation(vehicle);
    PROPWASH_THROW(ParameterError("rotors, least rank of the vehicles' allocation matrices = " +
                                  std::to_string(rank) + ": expected 4; command rotor speeds"));
  }

  /// The cheapest kernel that supports the enabled features.
  typename FleetKernels<T>::Step kernel(bool has_rates) const {
    const auto& s = switches;
    auto work = FleetWork::everything;
    const bool plain = !has_rates && !s.bias_walk && !s.wind && !s.ground && !s.battery &&
                       !s.external_wrench && motor_slots() == 0 && action_slots() == 0;
    if (plain) work = s.process_noise ? FleetWork::process_noise : FleetWork::physics;
    const auto& steps = options.integrator == Integrator::euler ? kernels.euler : kernels.rk4;
    return steps[static_cast<int>(work)];
  }

  std::string warning() const {
    T fastest = start(0)[start_motor];
    for (std::size_t i = 1; i < size && own_parameters; ++i) {
      fastest = std::min(fastest, start(i)[start_motor]);
    }
    return time_step_warning(static_cast<double>(fastest), options.integrator, options.dt);
  }

  // ---- parameters ----

  /// Those of all vehicles: `of(i)`.
  template <class Of>
  void set_parameters(const Of& of, const FleetMemory<T>& memory) {
    prepare(of, true);
    for (std::size_t i = 0; i < size; ++i) read_whole_rotors(i), apply_effectiveness(i, memory);
  }

  /// Those of some vehicles; `of` may be asked for the others too.
  template <class Of>
  void set_parameters(const Of& of, Span<const std::size_t> some, const FleetMemory<T>& memory) {
    const FleetSetting setting = this->setting();
    const std::size_t width = start_width();
    const auto ours = fields(vehicle);
    std::vector<T> new_starts;
    std::vector<double> numbers, each;
    // what is made for all of them together stays: bits may not depend on what vehicles were before
    bool stays = own_parameters && rank == 4 && gravity_is_shared;
    for (const std::size_t i : some) {
      if (i >= size) {
        PROPWASH_THROW(std::invalid_argument("vehicles: expected numbers below " +
                                             std::to_string(size) + ", got " + std::to_string(i)));
      }
    }
    for (std::size_t k = 0; k < some.size() && stays; ++k) {
      const VehicleParameters& one = of(some[k]);
      check_alike(ours, one, some[k]);
      validate_one(one, some[k]);
      const auto allocation = make_allocation<double, Dynamic>(one.rotors, one.motor);
      stays = allocation.rank == 4 && is_parallel(one) == kernels.is_principal &&
              need_the_same(switches, fleet_switches(one, setting)) && has_fleet_gravity(one);
      append_start(one, allocation, new_starts);
      each = fleet_numbers(one, setting, kernels.is_principal);
      numbers.insert(numbers.end(), each.begin(), each.end());
    }
    if (!stays) return set_parameters(of, memory);

    for (std::size_t k = 0; k < some.size(); ++k) {
      // padding is like the last vehicle
      const std::size_t end = some[k] + 1 == size ? blocks() * lanes() : some[k] + 1;
      for (std::size_t i = some[k]; i < end; ++i) {
        kernels.set_constants(constants_of(i), static_cast<int>(i % lanes()), rotors, switches,
                              numbers.data() + k * each.size());
        std::copy_n(new_starts.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                    starts.begin() + static_cast<std::ptrdiff_t>(i * width));
      }
      read_whole_rotors(some[k]);
      apply_effectiveness(some[k], memory);
    }
  }

  // ---- effectiveness of the rotors ----

  /// Makes constants for each vehicle, whose rotors may then differ in effectiveness.
  void prepare_effectiveness() {
    if (!whole_rotors.empty()) return;
    std::vector<T> whole(size * rotor_numbers());
    if (!own_parameters) {
      prepare([this](std::size_t) -> const VehicleParameters& { return vehicle; }, true);
    }
    whole_rotors.swap(whole);
    for (std::size_t i = 0; i < size; ++i) read_whole_rotors(i);
  }
  void apply_effectiveness(std::size_t i, const FleetMemory<T>& memory) {
    if (whole_rotors.empty()) return;
    T factors[max_size];
    for (int r = 0; r < rotors; ++r) {
      factors[r] = memory.at(memory.layout().rotor_effectiveness() + r, i);
    }
    kernels.set_rotors(constants_of(i), static_cast<int>(i % lanes()), rotors,
                       whole_rotors.data() + i * rotor_numbers(), factors);
  }

 private:
  std::byte* constants_of(std::size_t i) {
    return constants.data() + i / lanes() * kernels.constants_bytes;
  }
  std::size_t rotor_numbers() const { return static_cast<std::size_t>(rotors * numbers_of_rotor); }
  void read_whole_rotors(std::size_t i) {
    if (whole_rotors.empty()) return;
    kernels.read_rotors(constants_of(i), static_cast<int>(i % lanes()), rotors,
                        whole_rotors.data() + i * rotor_numbers());
  }

  void check_options() const {
    const auto refuse = [](const std::string& text) { PROPWASH_THROW(ParameterError(text)); };
    if (size < 1) refuse("size = 0: expected at least 1 vehicle");
    const std::uint64_t ids = (std::uint64_t{1} << 32) - options.first_id;
    if (size > ids) {
      refuse("size = " + std::to_string(size) + ": expected at most " + std::to_string(ids) +
             " vehicles, for whose numbers 32 bits suffice");
    }
    if (options.integrator == Integrator::symplectic_euler) {
      refuse("integrator = symplectic_euler: expected rk4 or euler, which are those of a fleet");
    }
    const auto& air = options.turbulence;
    if (!is_finite(air.wind_speed_6m) || air.wind_speed_6m < 0.0) {
      refuse("turbulence.wind_speed_6m = " + formatted(air.wind_speed_6m) +
             ": expected a finite value >= 0 m/s");
    }
    if (air.wind_speed_6m > 0.0 && (!is_finite(air.airspeed) || air.airspeed <= 0.0)) {
      refuse("turbulence.airspeed = " + formatted(air.airspeed) +
             ": expected a finite value > 0 m/s, such as the mean wind's");
    }
    if (air.wind_speed_6m > 0.0 && !is_finite(air.altitude)) {
      refuse("turbulence.altitude = " + formatted(air.altitude) + ": expected a number m");
    }
    if (!is_finite(options.turbulence_heading)) {
      refuse("turbulence_heading = " + formatted(options.turbulence_heading) +
             ": expected a number rad");
    }
    if (is_nan(options.floor) || (!is_finite(options.floor) && !std::signbit(options.floor))) {
      refuse("floor = " + formatted(options.floor) + ": expected a number m, or -inf for none");
    }
    if (options.max_action_delay < 0 || options.max_action_delay > 1000) {
      refuse("max_action_delay = " + std::to_string(options.max_action_delay) +
             ": expected 0 to 1000 steps");
    }
  }

  bool has_fleet_gravity(const VehicleParameters& other) const {
    const auto &own = other.body.gravity, &ours = vehicle.body.gravity;
    return own.x == ours.x && own.y == ours.y && own.z == ours.z;
  }

  /// `ours` are the fields of `vehicle`.
  template <class Fields>
  void check_alike(const Fields& ours, const VehicleParameters& other, std::size_t i) const {
    const auto refuse = [i](const std::string& text) {
      PROPWASH_THROW(ParameterError("vehicle " + std::to_string(i) + ": " + text));
    };
    if (other.rotors.size() != vehicle.rotors.size()) {
      refuse("rotors, their number = " + std::to_string(other.rotors.size()) + ": expected " +
             std::to_string(vehicle.rotors.size()) + ", as in all of the fleet");
    }
    if (other.rate_controller.gyroscopic_term != vehicle.rate_controller.gyroscopic_term) {
      refuse("rate_controller.gyroscopic_term: expected that of all the fleet");
    }
    const auto theirs = fields(other);
    for (std::size_t k = 0; k < ours.size(); ++k) {
      if (ours[k].structural && *ours[k].first != *theirs[k].first) {
        refuse(std::string(ours[k].name) + " = " + formatted(*theirs[k].first) + ": expected " +
               formatted(*ours[k].first) + ", because it is the same for all vehicles of a fleet");
      }
    }
  }

  void append_start(const VehicleParameters& of, const Allocation<double, Dynamic>& allocation,
                    std::vector<T>& to) const {
    const double weight = weight_of(of.body);
    const auto hover = allocate(allocation, Wrench<double>{{}, weight});
    to.push_back(T(of.imu.accelerometer_bias_initial));
    to.push_back(T(of.imu.gyroscope_bias_initial));
    to.push_back(T(weight));
    to.push_back(T(fastest_motor(of.motor)));
    for (const double speed : hover) to.push_back(T(speed));
  }

  /// Makes everything anew that follows from the parameters, and only then takes it.
  template <class Of>
  void prepare(const Of& of, bool own) {
    const FleetSetting setting = this->setting();
    const std::size_t count = own ? size : 1;
    const VehicleParameters* const known = setting.controller;
    bool parallel = known == nullptr || is_parallel(*known);
    int least_rank =
        known == nullptr ? 4 : make_allocation<double, Dynamic>(known->rotors, known->motor).rank;
    bool shared_gravity = true;
    const auto ours = fields(vehicle);
    FleetSwitches needed{};
    std::vector<T> new_starts;
    new_starts.reserve(count * start_width());
    for (std::size_t i = 0; i < count; ++i) {
      const VehicleParameters& one = of(i);
      if (own) check_alike(ours, one, i), validate_one(one, i);
      parallel = parallel && is_parallel(one);
      shared_gravity = shared_gravity && has_fleet_gravity(one);
      const auto allocation = make_allocation<double, Dynamic>(one.rotors, one.motor);
      least_rank = std::min(least_rank, allocation.rank);
      append_start(one, allocation, new_starts);
      needed = i == 0 ? fleet_switches(one, setting) : either(needed, fleet_switches(one, setting));
    }
    auto new_kernels = source(rotors, parallel);
    if (options.integrator == Integrator::euler && new_kernels.euler[0] == nullptr) {
      new_kernels = source(rotors, false);
    }
    const auto width = static_cast<std::size_t>(new_kernels.lanes);
    const std::size_t new_blocks = own ? (size + width - 1) / width : 1;
    LineVector<std::byte> new_constants(new_blocks * new_kernels.constants_bytes);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < new_blocks * width; ++i) {
      // lanes beyond the last vehicle are like it
      if (i < count) numbers = fleet_numbers(of(i), setting, new_kernels.is_principal);
      new_kernels.set_constants(new_constants.data() + i / width * new_kernels.constants_bytes,
                                static_cast<int>(i % width), rotors, needed, numbers.data());
    }
    // padding starts as the last vehicle does
    while (own && new_starts.size() < new_blocks * width * start_width()) {
      new_starts.push_back(T(new_starts[new_starts.size() - start_width()]));
    }

    needed.wind = switches.wind || needed.turbulence;
    needed.external_wrench = switches.external_wrench;
    needed.ground = is_finite(options.floor);
    switches = needed;
    kernels = new_kernels;
    rank = least_rank;
    gravity_is_shared = shared_gravity;
    constants.swap(new_constants);
    starts.swap(new_starts);
    own_parameters = own;
  }
};

}  // namespace detail

}  // namespace propwash
