#pragma once
// Construction and parameters of Fleet; include propwash/fleet/fleet.hpp.

#include <algorithm>
#include <cmath>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

template <class T, int N>
Fleet<T, N>::Fleet(const VehicleParameters& vehicle, std::size_t size, const FleetOptions& options,
                   FleetKernelSource<T> kernels)
    : vehicle_(vehicle), options_(options), source_(kernels), size_(size) {
  validate(vehicle);
  rotors_ = static_cast<int>(vehicle.rotors.size());
  if (N != Dynamic && rotors_ != N) {
    PROPWASH_THROW(ParameterError(
        "vehicle '" + vehicle.name + "': rotors, their number = " + std::to_string(rotors_) +
        ": expected " + std::to_string(N) + ", the template argument of Fleet"));
  }
  check_options();
  validate_time_step(vehicle, options.integrator, options.dt);
  motor_delay_ = step_delay(vehicle.motor.command_delay, options.dt, max_delay_steps + 2);
  prepare([this](std::size_t) -> const VehicleParameters& { return vehicle_; }, false);
  reset({}, options.seed);
}

template <class T, int N>
FleetSetting Fleet<T, N>::setting() const {
  return {options_.integrator,
          options_.dt,
          options_.noise,
          options_.turbulence,
          options_.turbulence_heading,
          options_.nominal_controller ? &vehicle_ : nullptr};
}

template <class T, int N>
void Fleet<T, N>::check_options() const {
  const auto refuse = [](const std::string& text) { PROPWASH_THROW(ParameterError(text)); };
  if (size_ < 1) refuse("size = 0: expected at least 1 vehicle");
  const std::uint64_t ids = (std::uint64_t{1} << 32) - options_.first_id;
  if (size_ > ids) {
    refuse("size = " + std::to_string(size_) + ": expected at most " + std::to_string(ids) +
           " vehicles, for whose numbers 32 bits suffice");
  }
  if (options_.integrator == Integrator::symplectic_euler) {
    refuse("integrator = symplectic_euler: expected rk4 or euler, which are those of a fleet");
  }
  const auto& air = options_.turbulence;
  if (!is_finite(air.wind_speed_6m) || air.wind_speed_6m < 0.0) {
    refuse("turbulence.wind_speed_6m = " + detail::formatted(air.wind_speed_6m) +
           ": expected a finite value >= 0 m/s");
  }
  if (air.wind_speed_6m > 0.0 && (!is_finite(air.airspeed) || air.airspeed <= 0.0)) {
    refuse("turbulence.airspeed = " + detail::formatted(air.airspeed) +
           ": expected a finite value > 0 m/s, such as the mean wind's");
  }
  if (air.wind_speed_6m > 0.0 && !is_finite(air.altitude)) {
    refuse("turbulence.altitude = " + detail::formatted(air.altitude) + ": expected a number m");
  }
  if (!is_finite(options_.turbulence_heading)) {
    refuse("turbulence_heading = " + detail::formatted(options_.turbulence_heading) +
           ": expected a number rad");
  }
  if (is_nan(options_.floor) || (!is_finite(options_.floor) && !std::signbit(options_.floor))) {
    refuse("floor = " + detail::formatted(options_.floor) +
           ": expected a number m, or -inf for none");
  }
  if (options_.max_action_delay < 0 || options_.max_action_delay > 1000) {
    refuse("max_action_delay = " + std::to_string(options_.max_action_delay) +
           ": expected 0 to 1000 steps");
  }
}

template <class T, int N>
void Fleet<T, N>::append_start(const VehicleParameters& vehicle, std::vector<T>& starts) const {
  const double weight = weight_of(vehicle.body);
  const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  const auto hover = allocate(allocation, Wrench<double>{{}, weight});
  starts.push_back(T(vehicle.imu.accelerometer_bias_initial));
  starts.push_back(T(vehicle.imu.gyroscope_bias_initial));
  starts.push_back(T(weight));
  starts.push_back(T(fastest_motor(vehicle.motor)));
  for (const double speed : hover) starts.push_back(T(speed));
}

/// Makes everything anew that follows from the parameters, and only then takes it.
template <class T, int N>
template <class Of>
void Fleet<T, N>::prepare(const Of& of, bool own) {
  const FleetSetting setting = this->setting();
  const std::size_t count = own ? size_ : 1;
  bool parallel = setting.controller == nullptr || is_parallel(*setting.controller);
  int rank =
      setting.controller == nullptr
          ? 4
          : make_allocation<double, Dynamic>(setting.controller->rotors, setting.controller->motor)
                .rank;
  bool gravity_is_shared = true;
  FleetSwitches switches{};
  for (std::size_t i = 0; i < count; ++i) {
    const VehicleParameters& vehicle = of(i);
    if (own) detail::validate_one(vehicle, i);
    parallel = parallel && is_parallel(vehicle);
    gravity_is_shared = gravity_is_shared && has_fleet_gravity(vehicle);
    rank = std::min(rank, make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor).rank);
    switches = i == 0 ? detail::fleet_switches(vehicle, setting)
                      : either(switches, detail::fleet_switches(vehicle, setting));
  }
  auto kernels = source_(rotors_, parallel);
  if (options_.integrator == Integrator::euler && kernels.euler[0] == nullptr) {
    kernels = source_(rotors_, false);
  }
  const auto lanes = static_cast<std::size_t>(kernels.lanes);
  const std::size_t blocks = own ? (size_ + lanes - 1) / lanes : 1;
  detail::LineVector<std::byte> constants(blocks * kernels.constants_bytes);
  std::vector<T> starts;
  starts.reserve(count * start_width());
  std::vector<double> numbers;
  for (std::size_t i = 0; i < blocks * lanes; ++i) {
    const std::size_t from = std::min(i, count - 1);  // lanes beyond the last vehicle are like it
    if (i < count || i == 0) {
      const VehicleParameters& vehicle = of(from);
      append_start(vehicle, starts);
      numbers = detail::fleet_numbers(vehicle, setting, kernels.is_principal);
    }
    kernels.set_constants(constants.data() + i / lanes * kernels.constants_bytes,
                          static_cast<int>(i % lanes), rotors_, switches, numbers.data());
  }
  // padding starts as the last vehicle does
  while (own && starts.size() < blocks * lanes * start_width()) {
    starts.push_back(T(starts[starts.size() - start_width()]));
  }

  const auto before = switches_;
  switches_ = switches;
  switches_.wind = before.wind || switches.turbulence;
  switches_.external_wrench = before.external_wrench;
  switches_.ground = is_finite(options_.floor);
  kernels_ = kernels;
  rank_ = rank;
  gravity_is_shared_ = gravity_is_shared;
  constants_.swap(constants);
  starts_.swap(starts);
  own_parameters_ = own;
  for (std::size_t i = 0; i < size_ && !whole_rotors_.empty(); ++i) {
    read_whole_rotors(i);
    apply_effectiveness(i);
  }
  if (!memory_.empty()) return;

  const std::size_t padded = this->blocks() * lanes;
  memory_.assign(padded * static_cast<std::size_t>(layout().size()), T(0));
  ids_.resize(padded);
  for (std::size_t i = 0; i < padded; ++i)
    ids_[i] = options_.first_id + static_cast<std::uint32_t>(i);
  reset_at_.resize(padded);
  for (std::size_t i = 0; i < padded; ++i) {
    at(FleetLayout::voltage_ratio, i) = T(1);
    at(FleetLayout::attitude, i) = T(1);
    for (int r = 0; r < rotors_; ++r) at(layout().rotor_effectiveness() + r, i) = T(1);
  }
  if (vehicle_.motor.command_delay > 0.0) {
    motor_ring_.assign(padded * static_cast<std::size_t>(motor_slots() * rotors_), T(0));
  }
  if (options_.max_action_delay > 0) {
    action_ring_.assign(padded * static_cast<std::size_t>(action_slots() * action_width()), T(0));
    action_delay_.resize(padded);
  }
}

template <class T, int N>
bool Fleet<T, N>::has_fleet_gravity(const VehicleParameters& vehicle) const {
  const auto &own = vehicle.body.gravity, &ours = vehicle_.body.gravity;
  return own.x == ours.x && own.y == ours.y && own.z == ours.z;
}

template <class T, int N>
void Fleet<T, N>::check_alike(const VehicleParameters& vehicle, std::size_t i) const {
  const auto refuse = [i](const std::string& text) {
    PROPWASH_THROW(ParameterError("vehicle " + std::to_string(i) + ": " + text));
  };
  if (vehicle.rotors.size() != vehicle_.rotors.size()) {
    refuse("rotors, their number = " + std::to_string(vehicle.rotors.size()) + ": expected " +
           std::to_string(vehicle_.rotors.size()) + ", as in all of the fleet");
  }
  if (vehicle.rate_controller.gyroscopic_term != vehicle_.rate_controller.gyroscopic_term) {
    refuse("rate_controller.gyroscopic_term: expected that of all the fleet");
  }
  const auto ours = fields(vehicle_);
  const auto theirs = fields(vehicle);
  for (std::size_t k = 0; k < ours.size(); ++k) {
    if (ours[k].structural && *ours[k].first != *theirs[k].first) {
      refuse(std::string(ours[k].name) + " = " + detail::formatted(*theirs[k].first) +
             ": expected " + detail::formatted(*ours[k].first) +
             ", because it is the same for all vehicles of a fleet");
    }
  }
}

template <class T, int N>
template <class Of>
void Fleet<T, N>::set_parameters(const Of& of) {
  prepare(
      [&](std::size_t i) -> decltype(of(i)) {  // by value too, for which a reference would dangle
        decltype(of(i)) vehicle = of(i);
        check_alike(vehicle, i);
        return vehicle;
      },
      true);
}

template <class T, int N>
template <class Of>
void Fleet<T, N>::set_parameters(const Of& of, Span<const std::size_t> some) {
  const FleetSetting setting = this->setting();
  const std::size_t width = start_width();
  std::vector<T> starts;
  std::vector<double> numbers, each;
  // what is made for all of them together stays: bits may not depend on what vehicles were before
  bool stays = own_parameters_ && rank_ == 4 && gravity_is_shared_;
  for (std::size_t k = 0; k < some.size() && stays; ++k) {
    const VehicleParameters& vehicle = of(some[k]);
    check_alike(vehicle, some[k]);
    detail::validate_one(vehicle, some[k]);
    const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
    stays = allocation.rank == 4 && is_parallel(vehicle) == kernels_.is_principal &&
            need_the_same(switches_, detail::fleet_switches(vehicle, setting)) &&
            has_fleet_gravity(vehicle);
    append_start(vehicle, starts);
    each = detail::fleet_numbers(vehicle, setting, kernels_.is_principal);
    numbers.insert(numbers.end(), each.begin(), each.end());
  }
  if (!stays) return set_parameters(of);

  for (std::size_t k = 0; k < some.size(); ++k) {
    // padding is like the last vehicle
    const std::size_t end = some[k] + 1 == size_ ? blocks() * lanes() : some[k] + 1;
    for (std::size_t i = some[k]; i < end; ++i) {
      kernels_.set_constants(constants_.data() + i / lanes() * kernels_.constants_bytes,
                             static_cast<int>(i % lanes()), rotors_, switches_,
                             numbers.data() + k * each.size());
      std::copy_n(starts.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                  starts_.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    if (whole_rotors_.empty()) continue;
    read_whole_rotors(some[k]);
    apply_effectiveness(some[k]);
  }
}

}  // namespace propwash
