#pragma once
// The construction and the record of FleetGradient; include propwash/fleet/gradient.hpp.

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "propwash/fleet/gradient.hpp"

namespace propwash {

namespace detail {

/// The constants of a vehicle in the order of for_each_number, then the mass that the outer loops
/// assume.
template <class Shape>
std::vector<double> gradient_numbers(const VehicleParameters& vehicle, const FleetSetting& setting,
                                     const std::vector<double>& effectiveness) {
  auto constants = make_fleet_constants<Shape>(vehicle, setting);
  for (std::size_t i = 0; i < effectiveness.size(); ++i) {
    auto& rotor = constants.model.rotors[static_cast<int>(i)];
    rotor.force_B = rotor.force_B * effectiveness[i];
    rotor.torque_B = rotor.torque_B * effectiveness[i];
  }
  std::vector<double> numbers;
  for_each_number(constants, [&](double x) { numbers.push_back(x); });
  numbers.push_back(setting.assumed(vehicle).body.mass);
  return numbers;
}

}  // namespace detail

template <class T, int N>
FleetGradient<Multicopter<N>, T>::FleetGradient(Fleet<Multicopter<N>, T>& fleet,
                                                const FleetCommandKind& kind,
                                                const ParametersOf& parameters_of,
                                                const std::vector<std::size_t>& requested,
                                                TraceRunner runner)
    : size_(fleet.size()),
      fleet_lanes_(fleet.memory_.lanes()),
      kind_(kind),
      runner_(runner),
      is_individual_(fleet.has_individual_parameters()),
      layout_(fleet.memory_.layout()) {
  const auto& plan = fleet.plan_;
  const auto refuse = [](const char* text) { PROPWASH_THROW(std::invalid_argument(text)); };
  bool is_noisy = plan.switches.any_noise();
  for (std::size_t i = 0; i < size_ && !is_noisy; ++i) {
    for (int k = 0; k < 6; ++k) {
      is_noisy = is_noisy || fleet.memory_.at(FleetLayout::accelerometer_bias + k, i) != T(0);
    }
  }
  if (is_noisy) {
    refuse(
        "fleet: expected one without noise for derivatives; create it with noise=False and "
        "without turbulence");
  }
  if (plan.switches.imu_is_slower) {
    refuse(
        "imu.rate: expected 0 or at least 1 / dt for derivatives, as the IMU is read in every "
        "step");
  }
  if (plan.switches.battery_circuit) {
    refuse(
        "battery.cells: expected 0 for derivatives, as the battery circuit has none; set "
        "battery.cells to 0, and the voltage with set_battery_voltage()");
  }
  const bool is_outer = kind.level == FleetCommandKind::Level::outer;
  const auto table = fields(fleet.vehicle());
  for (const std::size_t k : requested) {
    if (is_outer && table[k].name == "body.gravity" && !plan.options.control_vehicle) {
      PROPWASH_THROW(ParameterError(
          "body.gravity: expected no derivatives for commands of an outer loop, because the loops "
          "use the gravity of the fleet's vehicle; command rotor speeds, or rates and thrust, or "
          "create the fleet with a control vehicle"));
    }
  }
  setting_.rotors = fleet.rotors();
  // changing one parameter may violate the structure of PrincipalShape
  setting_.is_principal = plan.kernels.is_principal && requested.empty();
  setting_.integrator = plan.options.integrator;
  setting_.dt = plan.options.dt;
  setting_.floor = plan.options.floor;
  setting_.switches = plan.switches;
  // the position of an IMU at the origin has derivatives too, as have coefficients of zero
  setting_.switches.has_lever_arm |= !requested.empty();
  for (const std::size_t k : requested) {
    const auto group = table[k].name.substr(0, table[k].name.find('.'));
    setting_.switches.contact |= group == "contact";
    setting_.switches.residual |= group == "residual";
    setting_.switches.rotor_flow |= group == "inflow" || group == "ground_effect";
  }
  setting_.has_rates =
      is_outer ? commands_rates(kind.loop) : kind.level == FleetCommandKind::Level::rates;
  setting_.keeps_command = is_outer && !setting_.has_rates;
  motor_slots_ = plan.motor_slots(), action_slots_ = plan.action_slots();
  if (motor_slots_ > 0) {
    setting_.motor_delay_steps = plan.motor_delay.steps;
    setting_.motor_delay_fraction = plan.motor_delay.fraction;
  }
  if (is_outer) {
    if (!fleet.outer_.is_ready) fleet.prepare_outer(fleet.outer_loops());
    outer_parameters_ = fleet.outer_loops();
    const auto& parameters = outer_parameters_;
    interval_ = static_cast<std::uint64_t>(parameters.interval);
    outer_.loop = kind.loop, outer_.free_heading = kind.free_heading;
    outer_.constants = make_outer_loop_constants<double, Dynamic>(
        fleet.control_vehicle(), fleet.vehicle().imu, parameters, setting_.dt);
    loop_memory_ = memory_numbers(outer_.constants.law, kind.loop);
  }
  for (const auto& part : parts_of(kind)) command_width_ += part.width_for(setting_.rotors);
  kernel_ = plan.kernel(setting_.has_rates);
  batch_ = fleet.view();
  batch_.rotors = setting_.rotors;
  batch_.substeps = 1;
  batch_.size = fleet_lanes_;
  batch_.motor_delay_slots = motor_slots_, batch_.action_delay_slots = action_slots_;
  batch_.motor_delay_steps = plan.motor_delay.steps;
  batch_.motor_delay_fraction = static_cast<T>(plan.motor_delay.fraction);
  constants_ = plan.constants;
  state_ = fleet.memory_.state.numbers;
  action_delay_ = fleet.memory_.action_delay;
  choose_numbers(fleet, parameters_of, requested);
  trace();
}

/// Computes the constants, which of them are inputs, and their derivatives.
template <class T, int N>
void FleetGradient<Multicopter<N>, T>::choose_numbers(const Fleet<Multicopter<N>, T>& fleet,
                                                      const ParametersOf& parameters_of,
                                                      const std::vector<std::size_t>& requested) {
  const auto setting = fleet.plan_.setting();
  const std::size_t vehicles = is_individual_ ? size_ : 1;
  std::vector<double> effectiveness;
  const auto numbers_of = [&](const VehicleParameters& vehicle) {
    return setting_.is_principal
               ? detail::gradient_numbers<PrincipalShape>(vehicle, setting, effectiveness)
               : detail::gradient_numbers<GeneralShape>(vehicle, setting, effectiveness);
  };
  std::vector<std::vector<double>> all, slopes;  // of each vehicle; slopes: (parameter, number)
  for (std::size_t i = 0; i < vehicles; ++i) {
    VehicleParameters vehicle = parameters_of(i);
    effectiveness.clear();
    for (int r = 0; r < setting_.rotors && !fleet.plan_.nominal_rotors.empty(); ++r) {
      effectiveness.push_back(
          static_cast<double>(fleet.memory_.at(layout_.rotor_effectiveness() + r, i)));
    }
    all.push_back(numbers_of(vehicle));
    std::vector<double> slope;
    const auto table = fields(vehicle);
    for (const std::size_t k : requested) {
      for (int e = 0; e < table[k].size(); ++e) {
        // central differences of fourth order: the constants are smooth functions of parameters
        double& number = table[k][e];
        const double x = number, h = x == 0.0 ? 1e-3 : 1e-3 * std::abs(x);
        std::vector<double> sum(all.back().size(), 0.0);
        for (const auto& [at, weight] :
             {std::pair<double, double>{1.0, 8.0}, {-1.0, -8.0}, {2.0, -1.0}, {-2.0, 1.0}}) {
          number = x + at * h;
          const auto values = numbers_of(vehicle);
          for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weight / (12.0 * h) * values[j];
        }
        number = x;
        for (std::size_t j = 0; j < sum.size(); ++j) {
          const double scale = std::abs(all.back()[j]) / h;
          if (!(std::abs(sum[j]) > 1e-12 * scale)) sum[j] = 0.0;  // rounding of a constant number
        }
        slope.insert(slope.end(), sum.begin(), sum.end());
      }
    }
    slopes.push_back(slope);
  }
  const std::size_t count = all.front().size();
  parameter_width_ = static_cast<int>(slopes.front().size() / count);
  std::vector<int> varying;
  for (std::size_t j = 0; j < count; ++j) {
    bool is_requested = false, varies = false;
    for (std::size_t i = 0; i < vehicles; ++i) {
      varies = varies || all[i][j] != all[0][j];
      for (std::size_t p = j; p < slopes[i].size(); p += count) {
        is_requested = is_requested || slopes[i][p] != 0.0;
      }
    }
    if (is_requested) numbers_.inputs.push_back(static_cast<int>(j));
    if (varies && !is_requested) varying.push_back(static_cast<int>(j));
  }
  numbers_.requested = numbers_.count();
  numbers_.inputs.insert(numbers_.inputs.end(), varying.begin(), varying.end());
  numbers_.literals = all.front();
  for (std::size_t i = 0; i < vehicles; ++i) {
    for (const int j : numbers_.inputs) values_.push_back(all[i][static_cast<std::size_t>(j)]);
    for (int w = 0; w < numbers_.requested; ++w) {
      const auto j = static_cast<std::size_t>(numbers_.inputs[static_cast<std::size_t>(w)]);
      for (std::size_t p = j; p < slopes[i].size(); p += count) slopes_.push_back(slopes[i][p]);
    }
  }
}

template <class T, int N>
void FleetGradient<Multicopter<N>, T>::trace() {
  const int state = setting_.state();
  const int environment = setting_.environment();
  const auto with_shape = [&](auto shape) {
    using Shape = decltype(shape);
    const int inputs = state + setting_.action() + setting_.delayed();
    step_ = {inputs, environment, numbers_,
             [&](const std::vector<int>& numbers, const std::vector<int>& nodes) {
               return detail::trace_step<Shape>(setting_, numbers, nodes);
             }};
    if (!setting_.has_rates) {
      limits_ = {setting_.rotors, 0, numbers_,
                 [&](const std::vector<int>& numbers, const std::vector<int>& nodes) {
                   return detail::trace_limits<Shape>(setting_, numbers, nodes);
                 }};
    }
    if (kind_.level == FleetCommandKind::Level::outer) {
      loop_ = {state + loop_memory_ + command_width_, environment, numbers_,
               [&](const std::vector<int>& numbers, const std::vector<int>& nodes) {
                 return detail::trace_outer<Shape>(setting_, outer_, numbers, nodes);
               }};
    }
  };
  if (setting_.is_principal) {
    with_shape(PrincipalShape{});
  } else {
    with_shape(GeneralShape{});
  }
}

template <class T, int N>
void FleetGradient<Multicopter<N>, T>::record(Fleet<Multicopter<N>, T>& fleet,
                                              Span<const Span<const T>> parts, int substeps) {
  points_.push_back(point(fleet, parts, substeps));
}

template <class T, int N>
typename FleetGradient<Multicopter<N>, T>::Point FleetGradient<Multicopter<N>, T>::point(
    Fleet<Multicopter<N>, T>& fleet, Span<const Span<const T>> parts, int substeps) const {
  using Level = typename Fleet<Multicopter<N>, T>::Level;
  Point point;
  point.step = fleet.steps_;
  point.substeps = substeps;
  auto& outer = fleet.outer_;
  const bool is_outer = kind_.level == FleetCommandKind::Level::outer;
  if (is_outer) {
    point.starts_loop = outer.loop != static_cast<int>(kind_.loop);
    const bool keeps = outer.loop >= 0 && commands_rates(kind_.loop) && outer.holds_rates();
    const std::size_t blocks = fleet.memory_.blocks();
    const auto used = static_cast<std::size_t>(loop_memory_) * fleet_lanes_;
    point.memory.assign(blocks * used, T(0));
    for (std::size_t b = 0; b < blocks && (keeps || !point.starts_loop); ++b) {
      std::copy_n(outer.memory.data() + b * outer.fields * fleet_lanes_, used,
                  point.memory.data() + b * used);
    }
    point.held = outer.held;
  }
  fleet.begin(setting_.has_rates ? Level::rates : Level::speeds);  // fills past actions
  const std::size_t stride = point_stride(), head = point_head();
  point.state.reserve(fleet.memory_.blocks() * stride);
  const auto append = [&](const T* from, std::size_t count) {
    point.state.insert(point.state.end(), from, from + count);
  };
  for (std::size_t b = 0; b < fleet.memory_.blocks(); ++b) {
    const T* const from = fleet.memory_.state.numbers.data() + b * block_stride();
    append(from, head);
    append(from + static_cast<std::size_t>(FleetLayout::rotor_speeds) * fleet_lanes_,
           stride - head);
  }
  point.motor_delay = fleet.memory_.past_motor_commands.numbers;
  point.action_delay = fleet.memory_.past_actions.numbers;
  record_command(parts, point.command);
  return point;
}

template <class T, int N>
bool FleetGradient<Multicopter<N>, T>::is_current(const Fleet<Multicopter<N>, T>& fleet) const {
  const auto& plan = fleet.plan_;
  TickSwitches switches = plan.switches;
  switches.has_lever_arm = setting_.switches.has_lever_arm;
  for (const auto each :
       {&TickSwitches::wind, &TickSwitches::ground, &TickSwitches::external_wrench}) {
    if (switches.*each != setting_.switches.*each) return false;
  }
  if (kind_.level == FleetCommandKind::Level::outer &&
      !are_equal(fleet.outer_loops(), outer_parameters_)) {
    return false;
  }
  if (!have_same_features(switches, setting_.switches) || plan.constants != constants_ ||
      fleet.memory_.action_delay != action_delay_) {
    return false;
  }
  using Layout = FleetLayout;
  const std::pair<int, int> constant_fields[] = {
      {Layout::accelerometer_bias, Layout::held_accelerometer},
      {Layout::wind, Layout::turbulence},
      {Layout::voltage_ratio, Layout::contact},
      {Layout::external_force, Layout::rotor_speeds}};
  for (std::size_t b = 0; b < fleet.memory_.blocks(); ++b) {
    const T* const now = fleet.memory_.state.numbers.data() + b * block_stride();
    const T* const then = state_.data() + b * block_stride();
    for (const auto& [first, last] : constant_fields) {
      const std::size_t from = static_cast<std::size_t>(first) * fleet_lanes_;
      if (!std::equal(now + from, now + static_cast<std::size_t>(last) * fleet_lanes_,
                      then + from)) {
        return false;
      }
    }
  }
  return true;
}

/// Joins the parts of a command into one row per vehicle.
template <class T, int N>
void FleetGradient<Multicopter<N>, T>::record_command(Span<const Span<const T>> parts,
                                                      std::vector<double>& to) const {
  if (parts.size() == 1) {
    to.assign(parts[0].data(), parts[0].data() + parts[0].size());
    return;
  }
  const auto table = parts_of(kind_);
  const auto width = static_cast<std::size_t>(command_width_);
  to.assign(size_ * width, 0.0);
  std::size_t column = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto columns = static_cast<std::size_t>(table.part[p].width_for(setting_.rotors));
    for (std::size_t i = 0; i < size_ && !parts[p].empty(); ++i) {
      for (std::size_t c = 0; c < columns; ++c) {
        to[i * width + column + c] = static_cast<double>(parts[p][i * columns + c]);
      }
    }
    column += columns;
  }
}

}  // namespace propwash
