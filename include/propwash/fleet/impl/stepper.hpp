#pragma once
/// @file
/// The fleet's kernels: steps a block of vehicles, with its state in registers.
///
/// A step is that of vehicle/tick.hpp. This file loads the fields of a block into the types of
/// model/, control/ and vehicle/, with packs as scalars, and stores them again.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "propwash/fleet/impl/batch.hpp"
#include "propwash/fleet/impl/constants.hpp"
#include "propwash/fleet/impl/draws.hpp"
#include "propwash/fleet/impl/layout.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/impl/rows.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/ground.hpp"

namespace propwash {

namespace detail {

/// One kernel: scalar and lanes of its packs, rotors, model shape, integrator, enabled features.
template <class Isa, class T, int Lanes, int N, class Shape, class Method, FleetWork Work>
class FleetStepper {
 public:
  using Real = Pack<T, Lanes>;
  using Constants = FleetConstants<Real, N, Shape>;
  static constexpr bool everything = Work == FleetWork::everything;

  PROPWASH_FN FleetStepper(const FleetBatch<T>& batch, std::size_t block)
      : batch_(batch),
        block_(block),
        rotors_(N == Dynamic ? batch.rotors : N),
        layout{rotors_},
        memory_(batch.state + block * static_cast<std::size_t>(layout.size() * Lanes)),
        constants_(
            *reinterpret_cast<const Constants*>(batch.constants + block * batch.constants_stride)) {
    x_.rotor_speeds.resize(rotors_);
    input_.command.resize(rotors_);
    if constexpr (everything) speeds_.resize(rotors_);
  }

  /// Performs all substeps of the block.
  PROPWASH_FN void run() {
    next_ = batch_.next_state + block_ * static_cast<std::size_t>(layout.size() * Lanes);
    load();
    // not a member: its address escapes, which would keep the other members out of registers
    [[maybe_unused]] LaneDraws<Real> draws[draws_at_once];
    step_ = batch_.step;
    for (int left = batch_.substeps; left > 0; left -= draws_at_once) {
      const int count = left < draws_at_once ? left : draws_at_once;
      if constexpr (Work != FleetWork::physics) {
        if (batch_.switches.any_noise()) {
          draw_steps<Isa, T, Lanes>(batch_, block_, step_, count, everything && reads_gyroscope(),
                                    draws);
        }
      }
      for (int k = 0; k < count; ++k, ++step_) {
        command_rotors(draws[k]);
        apply_noise(draws[k]);
        if constexpr (everything) {
          if (batch_.switches.wind) wind_ = wind();
        }
        take(step_in_air(Method{}, constants_.model, constants_.lag, x_, input_, wind_,
                         everything && batch_.switches.wind, batch_.dt));
        if constexpr (everything) stop_above_ground();
      }
    }
    store();
  }

  /// Writes the IMU's readings at the current state as six fields: specific force [m/s^2], then
  /// angular rate [rad/s].
  PROPWASH_FN void measure(T* reading) {
    load();
    // draw the process noise of the last step again, which the accelerometer measures; a vehicle
    // that has not stepped since its reset has none
    LaneDraws<Real> draws;
    draw_steps<Isa, T, Lanes>(batch_, block_, batch_.step - 1, 1, false, &draws);
    apply_process_noise(draws);
    Real stepped_since(T(0));
    const std::uint64_t* const reset_at = batch_.reset_at + block_ * Lanes;
    for (int lane = 0; lane < Lanes; ++lane) {
      if (reset_at[lane] != batch_.step) stepped_since.v[lane] = T(1);
    }
    const auto fresh = stepped_since < Real(T(0.5));
    const Real zero{};
    const auto since_reset = [&](const Real& x) PROPWASH_LAMBDA { return select(fresh, zero, x); };
    input_.force_W = map(input_.force_W, since_reset);
    input_.torque_B = map(input_.torque_B, since_reset);
    if (batch_.switches.external_wrench) add_external_wrench();
    if (batch_.switches.wind) wind_ = wind();
    for_each_index<N>(
        rotors_, [&](int i)
                     PROPWASH_LAMBDA { input_.command[i] = field(layout.rotor_command() + i); });
    const ImuReading<Real> r = measured(batch_.step);
    store_at(reading, 0, r.specific_force);
    store_at(reading, 3, r.angular_rate);
  }

 private:
  // step_in_air() subtracts the wind, so the input has none
  using Input = MulticopterInput<Real, N, Zero3,
                                 std::conditional_t<Work == FleetWork::physics, Zero3, Vec3<Real>>>;
  static constexpr T rate_unit = T(Shape::rate_unit);

  PROPWASH_FN Real field(int offset) const { return Real::load(memory_ + offset * Lanes); }
  PROPWASH_FN Vec3<Real> field3(int offset) const {
    return {field(offset), field(offset + 1), field(offset + 2)};
  }
  PROPWASH_FN static void store_at(T* to, int offset, const Real& x) {
    x.store(to + offset * Lanes);
  }
  PROPWASH_FN static void store_at(T* to, int offset, const Vec3<Real>& v) {
    store_at(to, offset, v.x);
    store_at(to, offset + 1, v.y);
    store_at(to, offset + 2, v.z);
  }

  PROPWASH_FN void load() {
    x_.position = field3(layout.position);
    x_.velocity = field3(layout.velocity);
    x_.attitude = {field(layout.attitude), field(layout.attitude + 1), field(layout.attitude + 2),
                   field(layout.attitude + 3)};
    x_.body_rates = field3(layout.body_rates) * (T(1) / rate_unit);
    for_each_index<N>(rotors_,
                      [&](int i) PROPWASH_LAMBDA { x_.rotor_speeds[i] = field(layout.rotor_speeds + i); });
    if constexpr (everything) {
      controller_.filter = {field3(layout.filter_value), field3(layout.filter_derivative)};
      controller_.integral = field3(layout.integral);
      bias_ = {field3(layout.accelerometer_bias), field3(layout.gyroscope_bias)};
      contact_ = field(layout.contact);
    }
    load_command();
  }

  PROPWASH_FN void store() {
    store_at(next_, layout.position, x_.position);
    store_at(next_, layout.velocity, x_.velocity);
    store_at(next_, layout.attitude, x_.attitude.w);
    store_at(next_, layout.attitude + 1, make_vec3(x_.attitude.x, x_.attitude.y, x_.attitude.z));
    store_at(next_, layout.body_rates, x_.body_rates * rate_unit);
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA {
      store_at(next_, layout.rotor_speeds + i, x_.rotor_speeds[i]);
      store_at(next_, layout.rotor_command() + i, input_.command[i]);
    });
    if constexpr (everything) {
      store_at(next_, layout.filter_value, controller_.filter.value);
      store_at(next_, layout.filter_derivative, controller_.filter.derivative);
      store_at(next_, layout.integral, controller_.integral);
      store_at(next_, layout.accelerometer_bias, bias_.accelerometer);
      store_at(next_, layout.gyroscope_bias, bias_.gyroscope);
      store_at(next_, layout.contact, contact_);
    }
    store_at(next_, layout.diverged, not_finite());
  }

  /// 1 in lanes whose state is not finite.
  PROPWASH_FN Real not_finite() const {
    // opaque, because -ffast-math would otherwise remove or factor out the products with zero
    const T zero = detail::opaque(T(0));
    const auto zeroed = [&](const Real& x)
                            PROPWASH_LAMBDA { return Real(detail::opaque((x * zero).v)); };
    const auto all_zeroed = [&](const Vec3<Real>& v) PROPWASH_LAMBDA {
      return zeroed(v.x) + zeroed(v.y) + zeroed(v.z);
    };
    const auto& q = x_.attitude;
    Real sum = all_zeroed(x_.position) + all_zeroed(x_.velocity) + all_zeroed(x_.body_rates) +
               (zeroed(q.w) + zeroed(q.x) + zeroed(q.y) + zeroed(q.z));
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { sum = sum + zeroed(x_.rotor_speeds[i]); });
    return select(is_finite(sum), Real{}, Real(T(1)));
  }

  // ---- command -> rotor speeds ----

  PROPWASH_FN void load_command() {
    const std::size_t first = block_ * Lanes;
    if constexpr (everything) {
      if (batch_.rates != nullptr) {
        Real rows[3];
        load_rows<3>(batch_.rates, first, batch_.size, rows);
        rate_thrust_ = {{rows[0], rows[1], rows[2]}, {}};
        load_rows<1>(batch_.thrust, first, batch_.size, rows);
        rate_thrust_.thrust = rows[0];
        return;
      }
    }
    if (batch_.speeds == nullptr) return;
    Real rows[std::size_t{N == Dynamic ? max_size : N}];
    if constexpr (N == Dynamic) {
      load_some_rows(batch_.speeds, rotors_, first, batch_.size, rows);
    } else {
      load_rows<N>(batch_.speeds, first, batch_.size, rows);
    }
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA {
      input_.command[i] = limited(rows[i], i);
      if constexpr (everything) speeds_[i] = input_.command[i];
    });
  }

  PROPWASH_FN Real limited(const Real& speed, int rotor) const {
    return clamp(speed, constants_.model.speed_min[rotor], constants_.model.speed_max[rotor]);
  }

  /// Sets the motor commands of this step.
  PROPWASH_FN void command_rotors([[maybe_unused]] const LaneDraws<Real>& draws) {
    if constexpr (everything) {
      if (batch_.action_delay != nullptr) delay_action();
      if (batch_.rates != nullptr) {
        command(rate_controlled(draws));
      } else {
        command(speeds_);
      }
      const auto delay = [&](SmallArray<Real, N>& speeds) PROPWASH_LAMBDA {
        if (batch_.motor_delay != nullptr) delay_motors(speeds);
      };
      drive_motors(constants_.model, input_.command, delay, batch_.switches.battery,
                   [&]([[maybe_unused]] const SmallArray<Real, N>& speeds) PROPWASH_LAMBDA {
                     if constexpr (Shape::has_battery_circuit) {
                       if (batch_.switches.battery_circuit) discharge_battery(speeds);
                     }
                     return field(layout.voltage_ratio);
                   });
    }
  }

  /// Advances the battery circuits under delayed rotor commands.
  PROPWASH_FN void discharge_battery(const SmallArray<Real, N>& commands) {
    const int at = layout.battery;
    BatteryState<Real> battery{field(at), field(at + 1), field(at + 2), field(at + 3)};
    SmallArray<Real, N> effectiveness;
    effectiveness.resize(rotors_);
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA {
      effectiveness[i] = field(layout.rotor_effectiveness() + i);
    });
    const Real ratio = discharge(constants_, battery, field(layout.voltage_ratio), x_.rotor_speeds,
                                 commands, effectiveness);
    store_at(next_, at, battery.state_of_charge);
    store_at(next_, at + 1, battery.rest);
    store_at(next_, at + 2, battery.polarisation);
    store_at(next_, at + 3, battery.current);
    store_at(next_, layout.voltage_ratio, ratio);
  }

  PROPWASH_FN void command(const SmallArray<Real, N>& speeds) {
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { input_.command[i] = speeds[i]; });
  }

  PROPWASH_FN SmallArray<Real, N> rate_controlled(const LaneDraws<Real>& draws) {
    const Vec3<Real> gyroscope_S =
        batch_.switches.imu_is_slower ? field3(layout.held_gyroscope) : gyroscope(draws);
    return rate_loop(constants_, controller_, gyroscope_S, rate_thrust_);
  }

  PROPWASH_FN void delay_motors(SmallArray<Real, N>& speeds) {
    const int slots = batch_.motor_delay_slots;
    const int width = rotors_ * Lanes;
    T* const ring = batch_.motor_delay + block_ * static_cast<std::size_t>(slots * width);
    const auto slot = [&](int steps_ago) PROPWASH_LAMBDA {
      const auto place = (step_ + static_cast<std::uint64_t>(slots - steps_ago)) %
                         static_cast<std::uint64_t>(slots);
      return ring + place * static_cast<std::uint64_t>(width);
    };
    T* const newest = slot(0);
    const T* const later = slot(batch_.motor_delay_steps);
    const T* const earlier = slot(batch_.motor_delay_steps + 1);
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { store_at(newest, i, speeds[i]); });
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA {
      speeds[i] = mean_command(Real::load(later + i * Lanes), Real::load(earlier + i * Lanes),
                               batch_.motor_delay_fraction);
    });
  }

  /// Stores the action of this step in the ring buffer and reads each lane's delayed one.
  PROPWASH_FN void delay_action() {
    const int width = rotors_ < 4 ? 4 : rotors_;
    const auto slots = static_cast<std::uint64_t>(batch_.action_delay_slots);
    T* const ring =
        batch_.action_delay + block_ * slots * static_cast<std::uint64_t>(width * Lanes);
    const std::uint32_t* const delays = batch_.action_delay_steps + block_ * Lanes;
    T* const newest = ring + (step_ % slots) * static_cast<std::uint64_t>(width * Lanes);
    const bool closed_loop = batch_.rates != nullptr;
    load_command();
    if (closed_loop) {
      store_at(newest, 0, rate_thrust_.rates);
      store_at(newest, 3, rate_thrust_.thrust);
    } else {
      for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { store_at(newest, i, speeds_[i]); });
    }
    alignas(64) T delayed[std::size_t{max_size * Lanes}];
    for (int lane = 0; lane < Lanes; ++lane) {
      const T* const from = ring + ((step_ + slots - delays[lane]) % slots) *
                                       static_cast<std::uint64_t>(width * Lanes);
      for (int i = 0; i < width; ++i) delayed[i * Lanes + lane] = from[i * Lanes + lane];
    }
    if (closed_loop) {
      rate_thrust_ = {
          {Real::load(delayed), Real::load(delayed + Lanes), Real::load(delayed + 2 * Lanes)},
          Real::load(delayed + 3 * Lanes)};
    } else {
      for_each_index<N>(rotors_,
                        [&](int i) PROPWASH_LAMBDA { speeds_[i] = Real::load(delayed + i * Lanes); });
    }
  }

  // ---- noise and wind ----

  /// Whether this call needs the white noise of the gyroscope.
  PROPWASH_FN bool reads_gyroscope() const {
    return batch_.rates != nullptr && batch_.switches.imu_noise && !batch_.switches.imu_is_slower;
  }

  PROPWASH_FN void apply_process_noise(const LaneDraws<Real>& draws) {
    if (everything && !batch_.switches.process_noise) return;
    input_.force_W = noise_force<Real>(constants_, draws.process);
    input_.torque_B = noise_torque<Real>(constants_, draws.process);
  }

  PROPWASH_FN void add_external_wrench() {
    Vec3<Real> force_W = field3(layout.external_force) * constants_.per_force;
    Vec3<Real> torque_B = cwise_product(field3(layout.external_torque), constants_.per_torque);
    if (batch_.switches.process_noise) {
      force_W = force_W + input_.force_W;
      torque_B = torque_B + input_.torque_B;
    }
    input_.force_W = force_W;
    input_.torque_B = torque_B;
  }

  PROPWASH_FN void apply_noise([[maybe_unused]] const LaneDraws<Real>& draws) {
    if constexpr (Work != FleetWork::physics) apply_process_noise(draws);
    if constexpr (everything) {
      if (batch_.switches.external_wrench) add_external_wrench();
      if (batch_.switches.bias_walk) {
        bias_ = random_walk(bias_, constants_.imu_deviations, draws.walk);
      }
      if (batch_.switches.turbulence) advance_turbulence(draws);
    }
  }

  PROPWASH_FN TurbulenceState<Real> turbulence() const {
    const int at = layout.turbulence;
    return {field(at), {field(at + 1), field(at + 2)}, {field(at + 3), field(at + 4)}};
  }

  PROPWASH_FN void advance_turbulence(const LaneDraws<Real>& draws) {
    const auto& z = draws.gust;
    const Real five[5] = {z[0], z[1], z[2], z[3], z[4]};
    const auto next = turbulence_step(constants_.turbulence, turbulence(), five);
    const int at = layout.turbulence;
    store_at(next_, at, next.longitudinal);
    store_at(next_, at + 1, next.lateral[0]);
    store_at(next_, at + 2, next.lateral[1]);
    store_at(next_, at + 3, next.vertical[0]);
    store_at(next_, at + 4, next.vertical[1]);
  }

  /// m/s, the velocity of the air: mean wind and turbulence.
  PROPWASH_FN Vec3<Real> wind() const {
    Vec3<Real> wind_W = field3(layout.wind);
    if (!batch_.switches.turbulence) return wind_W;
    return wind_W + turbulence_in_world(turbulence_velocity(constants_.turbulence, turbulence()),
                                        constants_.turbulence_cos, constants_.turbulence_sin);
  }

  /// Copies element by element, because GCC copies an array of packs through memory.
  PROPWASH_FN void take(const MulticopterState<Real, N>& next) {
    x_.position = next.position;
    x_.velocity = next.velocity;
    x_.attitude = next.attitude;
    x_.body_rates = next.body_rates;
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { x_.rotor_speeds[i] = next.rotor_speeds[i]; });
  }

  PROPWASH_FN void stop_above_ground() {
    if (batch_.switches.ground) {
      const auto below =
          stop_at_ground(x_.position, x_.velocity, x_.body_rates, Real(batch_.floor));
      contact_ = select(below, Real(T(1)), contact_);
    }
  }

  // ---- the IMU ----

  /// rad/s, the reading at the start of the step.
  PROPWASH_FN Vec3<Real> gyroscope(const LaneDraws<Real>& draws) const {
    Vec3<Real> noise{};
    if (reads_gyroscope()) noise = triple<Real>(draws.imu, 3) * constants_.imu_deviations.gyroscope;
    return read_body_rates(constants_.imu, x_.body_rates * rate_unit, bias_, noise);
  }

  /// Both readings at the current state, with the noise of `step`.
  PROPWASH_FN ImuReading<Real> measured(std::uint64_t step) const {
    ImuNoise<Real> noise{};
    if (batch_.switches.imu_noise) {
      const auto z =
          lane_normals<T, Lanes>(batch_.seed, batch_.ids + block_ * Lanes, step, Stream::imu_noise);
      noise = imu_noise<Real>(z, constants_.imu_deviations);
    }
    const MulticopterInput<Real, N> input{input_.command, wind_, input_.force_W, input_.torque_B};
    return imu_read(constants_.model, constants_.imu, x_, input, bias_, noise, 0.0);
  }

  const FleetBatch<T>& batch_;
  std::size_t block_;
  int rotors_;
  FleetLayout layout;
  const T* memory_;
  T* next_ = nullptr;
  const Constants& constants_;

  MulticopterState<Real, N> x_{};
  Input input_{};
  std::uint64_t step_ = 0;
  // for FleetWork::everything only
  RateThrust<Real> rate_thrust_{};
  SmallArray<Real, N> speeds_{};
  RateControllerState<Real> controller_{};
  ImuBias<Real> bias_{};
  Vec3<Real> wind_{};
  Real contact_{};
};

}  // namespace detail

}  // namespace propwash
