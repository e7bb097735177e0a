#pragma once
/// @file
/// The fleet's kernels: steps the vehicles of a block with their state in registers, all lanes in
/// packs, or one lane in a thread of a GPU.
///
/// A step is tick() of vehicle/tick.hpp. This file loads the fields of a block and stores them
/// again, and is the host of the step.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "propwash/fleet/impl/batch.hpp"
#include "propwash/fleet/impl/draws.hpp"
#include "propwash/fleet/impl/layout.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/impl/rows.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/ground.hpp"
#include "propwash/vehicle/tick.hpp"

namespace propwash {

namespace detail {

/// One kernel: its numbers (a pack, or a scalar for one lane), lanes of a block, rotors, model
/// shape, integrator, enabled features.
template <class Isa, class Number, int Lanes, int N, class Shape, class Method, TickWork Work>
class FleetStepper {
 public:
  using Real = Number;
  using T = value_type_t<Real>;
  using Constants = TickConstants<Real, N, Shape>;
  static constexpr bool everything = Work == TickWork::everything;

  /// Steps LanesOf<Real>::count vehicles of a block from `lane` on.
  PROPWASH_FN FleetStepper(const FleetBatch<T>& batch, const Constants& constants,
                           std::size_t block, std::size_t lane = 0)
      : batch_(batch),
        block_(block),
        lane_(lane),
        rotors_(N == Dynamic ? batch.rotors : N),
        layout{rotors_},
        memory_(batch.state + of_block(layout.size())),
        constants_(constants) {
    vehicle_.state.rotor_speeds.resize(rotors_);
    vehicle_.input.command.resize(rotors_);
    if constexpr (everything) speeds_.resize(rotors_);
  }

  /// Performs all substeps.
  PROPWASH_FN void run() {
    next_ = batch_.next_state + of_block(layout.size());
    load();
    // not a member: its address escapes, which would keep the other members out of registers
    constexpr int draws_at_once = LaneDraws<Real>::at_once;
    [[maybe_unused]] LaneDraws<Real> draws[std::size_t{draws_at_once}];
    step_ = batch_.step;
    for (int left = batch_.substeps; left > 0; left -= draws_at_once) {
      const int count = left < draws_at_once ? left : draws_at_once;
      if constexpr (Work != TickWork::physics) {
        if (batch_.switches.any_noise()) {
          draw_steps<Isa>(batch_, first_vehicle(), step_, count, everything && reads_gyroscope(),
                          draws);
        }
      }
      for (int k = 0; k < count; ++k, ++step_) {
        Host host{{}, *this, draws[k]};
        tick(Method{}, constants_, vehicle_, host, batch_.dt);
      }
    }
    store();
  }

  /// Writes the IMU's readings at the current state as six fields of a block: specific force
  /// [m/s^2], then angular rate [rad/s].
  PROPWASH_FN void measure(T* reading) {
    load();
    // draw the process noise of the last step again, which the accelerometer measures; a vehicle
    // that has not stepped since its reset has none
    LaneDraws<Real> draws;
    draw_steps<Isa>(batch_, first_vehicle(), batch_.step - 1, 1, false, &draws);
    T stepped[std::size_t{lanes}];
    for (int i = 0; i < lanes; ++i) {
      const bool is_fresh =
          batch_.reset_at[first_vehicle() + static_cast<std::size_t>(i)] == batch_.step;
      stepped[i] = is_fresh ? T(0) : T(1);
    }
    const auto fresh = load_lanes<Real>(stepped) < Real(T(0.5));
    if (batch_.switches.process_noise) {
      for (Real& z : draws.process.value) z = select(fresh, Real{}, z);
    }
    Host host{{}, *this, draws};
    auto& input = vehicle_.input;
    hold_wrench<Real>(constants_, input, host);
    Vec3<Real> wind_W{};
    if (batch_.switches.wind) wind_W = air_velocity<Real>(constants_, host);
    for_each_index<N>(rotors_,
                      [&](int i) PROPWASH_LAMBDA { input.command[i] = field(layout.rotor_command() + i); });
    ImuNoise<Real> noise{};
    if (batch_.switches.imu_noise) {
      const auto z = normals_of<Real>(batch_, first_vehicle(), batch_.step, Stream::imu_noise);
      noise = imu_noise<Real>(z, constants_.imu_deviations);
    }
    const MulticopterInput<Real, N> in_world{input.command, wind_W, input.force_W, input.torque_B};
    const ImuReading<Real> r = imu_read(constants_.model, constants_.imu, vehicle_.state, in_world,
                                        vehicle_.bias, noise, 0.0);
    store(reading + lane_, 0, r.specific_force);
    store(reading + lane_, 3, r.angular_rate);
  }

 private:
  static constexpr int lanes = LanesOf<Real>::count;
  using Held = std::conditional_t<Work == TickWork::physics, Zero3, Vec3<Real>>;

  /// The host of one step.
  struct Host : TickHost<Real, N> {
    using Held = FleetStepper::Held;
    static constexpr TickWork work = Work;

    FleetStepper& s;
    const LaneDraws<Real>& draws;

    PROPWASH_FN decltype(auto) switches() const {
      if constexpr (everything) {
        return (s.batch_.switches);
      } else {
        TickSwitches plain;
        plain.process_noise = Work == TickWork::process_noise;
        return plain;
      }
    }

    PROPWASH_FN void begin() {
      if (s.batch_.action_delay != nullptr) s.delay_action();
    }
    PROPWASH_FN bool has_rates() const { return s.batch_.rates != nullptr; }
    PROPWASH_FN const RateThrust<Real>& rate_thrust() const { return s.rate_thrust_; }
    PROPWASH_FN const SmallArray<Real, N>& rotor_speeds() const { return s.speeds_; }
    PROPWASH_FN Vec3<Real> held_angular_rate() const {
      return s.template field_as<Vec3<Real>>(s.layout.held_gyroscope);
    }
    PROPWASH_FN Vec3<Real> gyroscope_noise() const {
      Vec3<Real> noise{};
      if (s.reads_gyroscope()) {
        noise = triple<Real>(draws.imu, 3) * s.constants_.imu_deviations.gyroscope;
      }
      return noise;
    }

    PROPWASH_FN void delay(SmallArray<Real, N>& speeds) {
      if (s.batch_.motor_delay != nullptr) s.delay_motors(speeds);
    }
    PROPWASH_FN Real voltage_ratio() const { return s.field(s.layout.voltage_ratio); }
    PROPWASH_FN BatteryState<Real> battery() const {
      return s.template field_as<BatteryState<Real>>(s.layout.battery);
    }
    PROPWASH_FN void set_battery(const BatteryState<Real>& battery, const Real& ratio) {
      s.store(s.next_, s.layout.battery, battery);
      s.store(s.next_, s.layout.voltage_ratio, ratio);
    }
    PROPWASH_FN SmallArray<Real, N> rotor_effectiveness() const {
      SmallArray<Real, N> factors;
      factors.resize(s.rotors_);
      s.load(s.layout.rotor_effectiveness(), factors);
      return factors;
    }

    PROPWASH_FN const NormalsOf<Real>& normals(Stream stream) const {
      return stream == Stream::process_noise ? draws.process
             : stream == Stream::turbulence  ? draws.gust
                                             : draws.walk;
    }
    PROPWASH_FN Vec3<Real> external_force_W() const {
      return s.template field_as<Vec3<Real>>(s.layout.external_force);
    }
    PROPWASH_FN Vec3<Real> external_torque_B() const {
      return s.template field_as<Vec3<Real>>(s.layout.external_torque);
    }
    PROPWASH_FN Vec3<Real> wind_W() const { return s.template field_as<Vec3<Real>>(s.layout.wind); }
    PROPWASH_FN TurbulenceState<Real> turbulence() const {
      return s.template field_as<TurbulenceState<Real>>(s.layout.turbulence);
    }
    PROPWASH_FN void set_turbulence(const TurbulenceState<Real>& turbulence) {
      s.store(s.next_, s.layout.turbulence, turbulence);
    }

    PROPWASH_FN T floor() const { return s.batch_.floor; }
    template <class Mask>
    PROPWASH_FN void touch(const Mask& below) {
      s.contact_ = select(below, Real(T(1)), s.contact_);
    }
  };

  PROPWASH_FN std::size_t first_vehicle() const { return block_ * Lanes + lane_; }
  /// The place of the first lane in an array of blocks of `width` fields.
  PROPWASH_FN std::size_t of_block(int width) const {
    return block_ * static_cast<std::size_t>(width * Lanes) + lane_;
  }
  PROPWASH_FN Real field(int offset) const { return load_lanes<Real>(memory_ + offset * Lanes); }
  /// Loads a struct of numbers from consecutive fields.
  template <class X>
  PROPWASH_FN void load(int offset, X& x) const {
    for_each_number(x, [&](Real& number) PROPWASH_LAMBDA { number = field(offset++); });
  }
  template <class X>
  PROPWASH_FN X field_as(int offset) const {
    X x{};
    load(offset, x);
    return x;
  }
  template <class X>
  PROPWASH_FN static void store(T* to, int offset, const X& x) {
    for_each_number(
        x, [&](const Real& number) PROPWASH_LAMBDA { store_lanes(number, to + offset++ * Lanes); });
  }

  PROPWASH_FN void load() {
    auto& x = vehicle_.state;
    load(layout.position, x.position);
    load(layout.velocity, x.velocity);
    load(layout.attitude, x.attitude);
    load(layout.body_rates, x.body_rates);
    x.body_rates = x.body_rates * (T(1) / T(Shape::rate_unit));
    load(layout.rotor_speeds, x.rotor_speeds);
    if constexpr (everything) {
      load(layout.controller, vehicle_.controller);
      load(layout.accelerometer_bias, vehicle_.bias);
      contact_ = field(layout.contact);
    }
    load_command();
  }

  PROPWASH_FN void store() {
    const auto& x = vehicle_.state;
    store(next_, layout.position, x.position);
    store(next_, layout.velocity, x.velocity);
    store(next_, layout.attitude, x.attitude);
    store(next_, layout.body_rates, body_rates_of<Shape>(x));
    store(next_, layout.rotor_speeds, x.rotor_speeds);
    store(next_, layout.rotor_command(), vehicle_.input.command);
    if constexpr (everything) {
      store(next_, layout.controller, vehicle_.controller);
      store(next_, layout.accelerometer_bias, vehicle_.bias);
      store(next_, layout.contact, contact_);
    }
    store(next_, layout.diverged, not_finite());
  }

  /// 1 in lanes whose state is not finite.
  PROPWASH_FN Real not_finite() const {
    // opaque, because -ffast-math would otherwise remove or factor out the products with zero
    const T zero = detail::opaque(T(0));
    const auto zeroed = [&](const Real& x) PROPWASH_LAMBDA { return opaque_lanes(x * zero); };
    const auto all_zeroed = [&](const Vec3<Real>& v) PROPWASH_LAMBDA {
      return zeroed(v.x) + zeroed(v.y) + zeroed(v.z);
    };
    const auto& q = vehicle_.state.attitude;
    Real sum = all_zeroed(vehicle_.state.position) + all_zeroed(vehicle_.state.velocity) +
               all_zeroed(vehicle_.state.body_rates) +
               (zeroed(q.w) + zeroed(q.x) + zeroed(q.y) + zeroed(q.z));
    for_each_index<N>(rotors_,
                      [&](int i) PROPWASH_LAMBDA { sum = sum + zeroed(vehicle_.state.rotor_speeds[i]); });
    return select(is_finite(sum), Real{}, Real(T(1)));
  }

  // ---- command -> rotor speeds ----

  PROPWASH_FN void load_command() {
    const std::size_t first = first_vehicle();
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
      vehicle_.input.command[i] = limited(rows[i], i);
      if constexpr (everything) speeds_[i] = vehicle_.input.command[i];
    });
  }

  PROPWASH_FN Real limited(const Real& speed, int rotor) const {
    return clamp(speed, constants_.model.speed_min[rotor], constants_.model.speed_max[rotor]);
  }

  PROPWASH_FN void delay_motors(SmallArray<Real, N>& speeds) {
    const int slots = batch_.motor_delay_slots;
    const int width = rotors_ * Lanes;
    T* const ring = batch_.motor_delay + of_block(slots * rotors_);
    const auto slot = [&](int steps_ago) PROPWASH_LAMBDA {
      const auto place = (step_ + static_cast<std::uint64_t>(slots - steps_ago)) %
                         static_cast<std::uint64_t>(slots);
      return ring + place * static_cast<std::uint64_t>(width);
    };
    T* const newest = slot(0);
    const T* const later = slot(batch_.motor_delay_steps);
    const T* const earlier = slot(batch_.motor_delay_steps + 1);
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { store(newest, i, speeds[i]); });
    for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA {
      speeds[i] = mean_command(load_lanes<Real>(later + i * Lanes),
                               load_lanes<Real>(earlier + i * Lanes), batch_.motor_delay_fraction);
    });
  }

  /// Stores the action of this step in the ring buffer and reads each lane's delayed one.
  PROPWASH_FN void delay_action() {
    const int width = rotors_ < 4 ? 4 : rotors_;
    const auto slots = static_cast<std::uint64_t>(batch_.action_delay_slots);
    T* const ring = batch_.action_delay + of_block(batch_.action_delay_slots * width);
    const std::uint32_t* const delays = batch_.action_delay_steps + first_vehicle();
    T* const newest = ring + (step_ % slots) * static_cast<std::uint64_t>(width * Lanes);
    const bool closed_loop = batch_.rates != nullptr;
    load_command();
    if (closed_loop) {
      store(newest, 0, rate_thrust_);
    } else {
      for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { store(newest, i, speeds_[i]); });
    }
    alignas(64) T delayed[std::size_t{max_size * lanes}];
    for (int lane = 0; lane < lanes; ++lane) {
      const T* const from = ring + ((step_ + slots - delays[lane]) % slots) *
                                       static_cast<std::uint64_t>(width * Lanes);
      for (int i = 0; i < width; ++i) delayed[i * lanes + lane] = from[i * Lanes + lane];
    }
    const auto action = [&](int i)
                            PROPWASH_LAMBDA { return load_lanes<Real>(delayed + i * lanes); };
    if (closed_loop) {
      rate_thrust_ = {{action(0), action(1), action(2)}, action(3)};
    } else {
      for_each_index<N>(rotors_, [&](int i) PROPWASH_LAMBDA { speeds_[i] = action(i); });
    }
  }

  /// Whether this call needs the white noise of the gyroscope.
  PROPWASH_FN bool reads_gyroscope() const {
    return batch_.rates != nullptr && batch_.switches.imu_noise && !batch_.switches.imu_is_slower;
  }

  const FleetBatch<T>& batch_;
  std::size_t block_;
  std::size_t lane_;
  int rotors_;
  FleetLayout layout;
  const T* memory_;
  T* next_ = nullptr;
  const Constants& constants_;

  TickMemory<Real, N, MulticopterInput<Real, N, Zero3, Held>> vehicle_{};
  std::uint64_t step_ = 0;
  // for TickWork::everything only
  RateThrust<Real> rate_thrust_{};
  SmallArray<Real, N> speeds_{};
  Real contact_{};
};

}  // namespace detail

}  // namespace propwash
