#pragma once
/// @file
/// Constants, switches and kernels derived from the parameters of a fleet's vehicles.

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "propwash/fleet/impl/fleet_memory.hpp"
#include "propwash/fleet/impl/kernels.hpp"
#include "propwash/fleet/impl/make_constants.hpp"
#include "propwash/vehicle/fields.hpp"

namespace propwash {

namespace detail {

/// Refers to a function that returns the parameters of vehicle i, by value or by reference. One
/// type for all functions, so that what calls them is compiled once.
class ParametersOf {
 public:
  template <class F>
  ParametersOf(const F& function) : function_(&function), call_(&call<F>) {}
  /// Valid until the next call.
  const VehicleParameters& operator()(std::size_t i) const { return call_(function_, i, value_); }

 private:
  template <class F>
  static const VehicleParameters& call(const void* function, std::size_t i,
                                       VehicleParameters& value) {
    const F& parameters_of = *static_cast<const F*>(function);
    if constexpr (std::is_reference_v<decltype(parameters_of(i))>) {
      return parameters_of(i);
    } else {
      return value = parameters_of(i);
    }
  }

  const void* function_;
  const VehicleParameters& (*call_)(const void*, std::size_t, VehicleParameters&);
  mutable VehicleParameters value_;
};

/// Parameters of a fleet's vehicles and the derived constants of a step. A member that throws
/// changes nothing.
template <class T>
struct FleetPlan {
  static constexpr int start_weight = 2, start_time_constant = 3, start_voltage = 4,
                       start_assumed_weight = 5, start_hover = 6;

  VehicleParameters vehicle;  ///< the vehicle of the constructor
  FleetOptions options;
  FleetKernelSource<T> source;
  std::size_t size;
  int rotors;
  FleetKernels<T> kernels{};
  TickSwitches switches{};
  StepDelay motor_delay{};
  int rank = 0;  ///< the lowest of the allocation matrices that the controllers assume
  bool individual_parameters = false;
  bool gravity_is_shared = true;
  LineVector<std::byte> constants;  ///< one set for all, or one per block
  /// Numbers for a reset, per vehicle: deviations of the initial biases [m/s^2, rad/s], weight [N],
  /// the shortest time constant of the motors [s], voltage of a full battery circuit over nominal
  /// voltage, the weight that the outer loops assume [N], then rotor speeds in hover [rad/s].
  std::vector<T> starts;
  std::vector<T> nominal_rotors;  ///< coefficients at effectiveness 1; empty: all are 1

  /// `expected_rotors` may be Dynamic.
  FleetPlan(const VehicleParameters& parameters, std::size_t vehicles,
            const FleetOptions& fleet_options, FleetKernelSource<T> kernel_source,
            int expected_rotors)
      : vehicle(parameters), options(fleet_options), source(kernel_source), size(vehicles) {
    validate(vehicle);
    rotors = static_cast<int>(vehicle.rotors.size());
    if (expected_rotors != Dynamic && rotors != expected_rotors) {
      PROPWASH_THROW(ParameterError(
          "vehicle '" + vehicle.name + "': number of rotors = " + std::to_string(rotors) +
          ": expected " + std::to_string(expected_rotors) + ", the template argument of Fleet"));
    }
    check_options();
    if (options.control_vehicle) validate_control_vehicle(*options.control_vehicle, vehicle);
    validate_time_step(vehicle, options.integrator, options.dt);
    motor_delay = step_delay(vehicle.motor.command_delay, options.dt, max_delay_steps + 2);
    prepare([this](std::size_t) -> const VehicleParameters& { return vehicle; }, false);
  }

  std::size_t lanes() const { return static_cast<std::size_t>(kernels.lanes); }
  std::size_t blocks() const { return (size + lanes() - 1) / lanes(); }
  std::size_t constants_stride() const {
    return individual_parameters ? kernels.constants_bytes : 0;
  }
  std::size_t start_width() const { return static_cast<std::size_t>(start_hover + rotors); }
  std::size_t start_stride() const { return individual_parameters ? start_width() : 0; }
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
            options.control_vehicle ? &*options.control_vehicle : nullptr};
  }
  /// The vehicle that the outer loops assume.
  const VehicleParameters& control_vehicle() const { return setting().assumed(vehicle); }

  void require_rank() const {
    if (rank == 4) return;
    validate_allocation(control_vehicle());
    PROPWASH_THROW(ParameterError("lowest rank of the vehicles' allocation matrices = " +
                                  std::to_string(rank) + ": expected 4; command rotor speeds"));
  }

  /// The cheapest kernel that supports the enabled features.
  typename FleetKernels<T>::Step kernel(bool has_rates) const {
    const auto& s = switches;
    auto work = TickWork::everything;
    const bool plain = !has_rates && !s.bias_walk && !s.wind && !s.ground && !s.battery &&
                       !s.external_wrench && motor_slots() == 0 && action_slots() == 0;
    if (plain) work = s.process_noise ? TickWork::process_noise : TickWork::physics;
    const auto& steps = options.integrator == Integrator::euler ? kernels.euler : kernels.rk4;
    return steps[static_cast<int>(work)];
  }

  std::string warning() const {
    T fastest = start(0)[start_time_constant];
    for (std::size_t i = 1; i < size && individual_parameters; ++i) {
      fastest = std::min(fastest, start(i)[start_time_constant]);
    }
    return time_step_warning(static_cast<double>(fastest), options.integrator, options.dt);
  }

  // ---- parameters ----

  void set_parameters(const ParametersOf& parameters_of, const FleetMemory<T>& memory) {
    prepare(parameters_of, true);
    for (std::size_t i = 0; i < size; ++i) read_nominal_rotors(i), apply_effectiveness(i, memory);
  }

  /// Sets those of the selected vehicles; may call parameters_of for the others too.
  void set_parameters(const ParametersOf& parameters_of, Span<const std::size_t> selected,
                      const FleetMemory<T>& memory) {
    const FleetSetting setting = this->setting();
    const std::size_t width = start_width();
    const auto expected = fields(vehicle);
    std::vector<T> new_starts;
    std::vector<double> numbers, each;
    // otherwise everything is computed again, so that results do not depend on earlier parameters
    bool can_update = individual_parameters && rank == 4 && gravity_is_shared;
    for (const std::size_t i : selected) {
      if (i >= size) {
        PROPWASH_THROW(std::invalid_argument("vehicle = " + std::to_string(i) +
                                             ": expected an index below " + std::to_string(size)));
      }
    }
    for (std::size_t k = 0; k < selected.size() && can_update; ++k) {
      const VehicleParameters& parameters = parameters_of(selected[k]);
      check_shared_fields(expected, parameters, selected[k]);
      validate_one(parameters, selected[k]);
      const auto allocation = make_allocation<double, Dynamic>(parameters.rotors, parameters.motor);
      can_update = (allocation.rank == 4 || options.control_vehicle) &&
                   is_parallel(parameters) == kernels.is_principal &&
                   have_same_features(switches, fleet_switches(parameters, setting)) &&
                   has_fleet_gravity(parameters);
      append_start(parameters, setting, allocation, new_starts);
      each = fleet_numbers(parameters, setting, kernels.is_principal);
      numbers.insert(numbers.end(), each.begin(), each.end());
    }
    if (!can_update) return set_parameters(parameters_of, memory);

    for (std::size_t k = 0; k < selected.size(); ++k) {
      // the padding copies the last vehicle
      const std::size_t end = selected[k] + 1 == size ? blocks() * lanes() : selected[k] + 1;
      for (std::size_t i = selected[k]; i < end; ++i) {
        kernels.set_constants(constants_of(i), static_cast<int>(i % lanes()), rotors, switches,
                              numbers.data() + k * each.size());
        std::copy_n(new_starts.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                    starts.begin() + static_cast<std::ptrdiff_t>(i * width));
      }
      read_nominal_rotors(selected[k]);
      apply_effectiveness(selected[k], memory);
    }
  }

  // ---- effectiveness of the rotors ----

  /// Makes separate constants for each vehicle, to scale its rotors.
  void prepare_effectiveness() {
    if (!nominal_rotors.empty()) return;
    std::vector<T> coefficients(size * rotor_numbers());
    if (!individual_parameters) {
      prepare([this](std::size_t) -> const VehicleParameters& { return vehicle; }, true);
    }
    nominal_rotors.swap(coefficients);
    for (std::size_t i = 0; i < size; ++i) read_nominal_rotors(i);
  }
  void apply_effectiveness(std::size_t i, const FleetMemory<T>& memory) {
    if (nominal_rotors.empty()) return;
    T factors[max_size];
    for (int r = 0; r < rotors; ++r) {
      factors[r] = memory.at(memory.layout().rotor_effectiveness() + r, i);
    }
    kernels.set_rotors(constants_of(i), static_cast<int>(i % lanes()), rotors,
                       nominal_rotors.data() + i * rotor_numbers(), factors);
  }

 private:
  std::byte* constants_of(std::size_t i) {
    return constants.data() + i / lanes() * kernels.constants_bytes;
  }
  std::size_t rotor_numbers() const { return static_cast<std::size_t>(rotors * numbers_of_rotor); }
  void read_nominal_rotors(std::size_t i) {
    if (nominal_rotors.empty()) return;
    kernels.read_rotors(constants_of(i), static_cast<int>(i % lanes()), rotors,
                        nominal_rotors.data() + i * rotor_numbers());
  }

  void check_options() const {
    check_fleet(size, options.first_id, options.integrator);
    const auto refuse = [](const std::string& text) { PROPWASH_THROW(ParameterError(text)); };
    validate_turbulence(options.turbulence, options.turbulence_heading);
    if (is_nan(options.floor) || (!is_finite(options.floor) && !std::signbit(options.floor))) {
      refuse("floor = " + formatted(options.floor) + ": expected a number [m], or -inf for none");
    }
    if (options.max_action_delay < 0 || options.max_action_delay > 1000) {
      refuse("max_action_delay = " + std::to_string(options.max_action_delay) +
             ": expected 0 to 1000 steps");
    }
  }

  static int rank_of(const VehicleParameters& assumed) {
    return make_allocation<double, Dynamic>(assumed.rotors, assumed.motor).rank;
  }
  bool has_fleet_gravity(const VehicleParameters& other) const {
    const auto &a = other.body.gravity, &b = vehicle.body.gravity;
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }

  /// Checks the fields that all vehicles share; `expected` are the fields of `vehicle`.
  template <class Fields>
  void check_shared_fields(const Fields& expected, const VehicleParameters& other,
                           std::size_t i) const {
    const auto refuse = [i](const std::string& text) {
      PROPWASH_THROW(ParameterError("vehicle " + std::to_string(i) + ": " + text));
    };
    if (other.rotors.size() != vehicle.rotors.size()) {
      refuse("number of rotors = " + std::to_string(other.rotors.size()) + ": expected " +
             std::to_string(vehicle.rotors.size()) + ", the same for all vehicles of a fleet");
    }
    if (other.rate_controller.gyroscopic_term != vehicle.rate_controller.gyroscopic_term) {
      refuse("rate_controller.gyroscopic_term: expected the same for all vehicles of a fleet");
    }
    const auto found = fields(other);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k].structural && *expected[k].first != *found[k].first) {
        refuse(std::string(found[k].name) + " = " + formatted(*found[k].first) + ": expected " +
               formatted(*expected[k].first) + ", the same for all vehicles of a fleet");
      }
    }
  }

  void append_start(const VehicleParameters& parameters, const FleetSetting& setting,
                    const Allocation<double, Dynamic>& allocation, std::vector<T>& to) const {
    const double weight = weight_of(parameters.body);
    const auto hover = allocate(allocation, Wrench<double>{{}, weight});
    to.push_back(T(parameters.imu.accelerometer_bias_initial));
    to.push_back(T(parameters.imu.gyroscope_bias_initial));
    to.push_back(T(weight));
    to.push_back(T(shortest_time_constant(parameters)));
    const auto& battery = parameters.battery;
    to.push_back(T(battery.cells > 0.0
                       ? battery.cells * battery.full_voltage / battery.nominal_voltage
                       : 1.0));
    to.push_back(T(weight_of(setting.assumed(parameters).body)));
    for (const double speed : hover) to.push_back(T(speed));
  }

  /// Computes all that depends on the parameters, then replaces the old values. `individual`:
  /// separate constants for each vehicle.
  void prepare(const ParametersOf& parameters_of, bool individual) {
    const FleetSetting setting = this->setting();
    const std::size_t count = individual ? size : 1;
    const VehicleParameters* const control = setting.control_vehicle;
    bool parallel = control == nullptr || is_parallel(*control);
    int new_rank = control == nullptr ? 4 : rank_of(*control);
    bool shared_gravity = true;
    const auto expected = fields(vehicle);
    TickSwitches needed{};
    std::vector<T> new_starts;
    new_starts.reserve(count * start_width());
    for (std::size_t i = 0; i < count; ++i) {
      const VehicleParameters& parameters = parameters_of(i);
      if (individual) check_shared_fields(expected, parameters, i), validate_one(parameters, i);
      parallel = parallel && is_parallel(parameters);
      shared_gravity = shared_gravity && has_fleet_gravity(parameters);
      const auto allocation = make_allocation<double, Dynamic>(parameters.rotors, parameters.motor);
      if (control == nullptr) new_rank = std::min(new_rank, allocation.rank);
      append_start(parameters, setting, allocation, new_starts);
      const auto features = fleet_switches(parameters, setting);
      needed = i == 0 ? features : combined(needed, features);
    }
    auto new_kernels = source(rotors, parallel);
    if (options.integrator == Integrator::euler && new_kernels.euler[0] == nullptr) {
      new_kernels = source(rotors, false);
    }
    const auto width = static_cast<std::size_t>(new_kernels.lanes);
    const std::size_t new_blocks = individual ? (size + width - 1) / width : 1;
    LineVector<std::byte> new_constants(new_blocks * new_kernels.constants_bytes);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < new_blocks * width; ++i) {
      // lanes beyond the last vehicle copy it
      if (i < count) numbers = fleet_numbers(parameters_of(i), setting, new_kernels.is_principal);
      new_kernels.set_constants(new_constants.data() + i / width * new_kernels.constants_bytes,
                                static_cast<int>(i % width), rotors, needed, numbers.data());
    }
    while (individual && new_starts.size() < new_blocks * width * start_width()) {
      new_starts.push_back(T(new_starts[new_starts.size() - start_width()]));
    }

    needed.wind = switches.wind || needed.turbulence;
    needed.external_wrench = switches.external_wrench;
    needed.ground = is_finite(options.floor);
    switches = needed;
    kernels = new_kernels;
    rank = new_rank;
    gravity_is_shared = shared_gravity;
    constants.swap(new_constants);
    starts.swap(new_starts);
    individual_parameters = individual;
  }
};

}  // namespace detail

}  // namespace propwash
