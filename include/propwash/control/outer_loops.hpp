#pragma once
/// @file
/// The outer loops together: one run of whichever a command asks for, with its memory.
///
/// A run takes the state of a vehicle and a command and gives the output that is held until the
/// next run: body rates and thrust for the rate controller, or rotor speeds. See
/// docs/control/outer-loops.md.

#include "propwash/control/attitude_control.hpp"
#include "propwash/control/backstepping_control.hpp"
#include "propwash/control/desaturate.hpp"
#include "propwash/control/low_pass.hpp"
#include "propwash/control/motor_lead.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/control/tracking.hpp"

namespace propwash {

/// Which loops run above the rate controller, or in its place.
enum class OuterLoop {
  attitude,      ///< attitude and thrust -> rates and thrust
  velocity,      ///< velocity -> attitude
  position,      ///< position -> velocity
  geometric,     ///< trajectory -> rotor speeds
  backstepping,  ///< trajectory -> rotor speeds
  incremental    ///< trajectory -> rotor speeds
};

/// Whether a loop gives body rates and thrust; the others give rotor speeds.
PROPWASH_FN constexpr bool commands_rates(OuterLoop loop) {
  return loop == OuterLoop::attitude || loop == OuterLoop::velocity || loop == OuterLoop::position;
}

/// The constants of all loops, for one time between runs.
template <class P>
struct OuterLoopLaw {
  AttitudeControlLaw<P> attitude{};   ///< attitude control
  VelocityControlLaw<P> velocity{};   ///< velocity control
  PositionControlLaw<P> position{};   ///< position control
  TrackingLaw<P> tracking{};          ///< geometric and incremental tracking
  BacksteppingLaw<P> backstepping{};  ///< backstepping tracking
  ControlModel<P> model{};            ///< the vehicle model that the tracking laws invert
  MotorLead<P> motor{};               ///< how the trajectory controllers drive the motors
  LowPassCoefficients<P> filter{};    ///< of what the trajectory controllers measure
  P thrust_min{};                     ///< N
  P thrust_max{};                     ///< N
  P tilt_tangent{};                   ///< -, of the largest tilt that velocity control asks for
  P tracking_tilt_tangent{};          ///< -, the same of the trajectory controllers
  bool prioritised = true;            ///< allocate_prioritised in place of allocate
};

/// The memory of all loops.
template <class T>
struct OuterLoopState {
  Vec3<T> integral_W{};                    ///< m/s^2, of velocity control
  LowPassState<Vec3<T>> rates_B{};         ///< rad/s
  LowPassState<Vec3<T>> acceleration_W{};  ///< m/s^2
  LowPassState<Vec3<T>> rotor_force_W{};   ///< m/s^2, thrust per mass
  LowPassState<Vec3<T>> rotor_torque_B{};  ///< N m
  T running{};                             ///< 1 where the filters have taken a first reading
};

/// What a loop measures of the vehicle.
template <class T>
struct OuterLoopInput {
  MotionEstimate<T> motion{};  ///< rates: as the rate controller has filtered them
  Vec3<T> gyroscope_B{};       ///< rad/s; for the trajectory controllers
  Vec3<T> accelerometer_B{};   ///< m/s^2, at the centre of mass; for incremental
  Wrench<T> rotors{};          ///< what the rotors give now; for the trajectory controllers
  T mass{};                    ///< kg
};

/// A command for any loop, which reads the fields that it needs.
template <class T>
struct OuterLoopCommand {
  OuterLoop loop = OuterLoop::attitude;  ///< the loop that is commanded
  bool free_heading = false;   ///< the vehicle rotates about its thrust axis at `point.yaw_rate`
  Quat<T> attitude{};          ///< q_WB, of length one
  T thrust{};                  ///< N
  TrajectoryPoint<T> point{};  ///< position, velocity, heading or trajectory point
};

namespace detail {

/// Rates for a thrust axis along axis_W and the heading of an attitude, or a rotation about the
/// axis.
template <class T, class P>
PROPWASH_FN Vec3<T> rates_towards(const OuterLoopLaw<P>& law, const OuterLoopInput<T>& in,
                                  const OuterLoopCommand<T>& command, const Vec3<T>& axis_W,
                                  const Quat<T>& q_WD) {
  Vec3<T> error_B = tilt_error(in.motion.attitude, axis_W);
  if (!command.free_heading) error_B.z = heading_error(in.motion.attitude, q_WD);
  const Vec3<T> feed_forward_B{T{}, T{}, command.point.yaw_rate};
  return stiffened_rates(law.attitude, attitude_control(law.attitude, error_B, feed_forward_B),
                         in.motion.rates_B);
}

template <class T, class P>
PROPWASH_FN ForceLimits<T> force_limits(const OuterLoopLaw<P>& law, const T& mass,
                                        const P& tilt_tangent) {
  return {T(law.thrust_min) / mass, T(law.thrust_max) / mass, T(tilt_tangent)};
}

}  // namespace detail

/// One run of a loop that commands rates.
template <class T, class P>
PROPWASH_FN RateThrust<T> run_rate_loop(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                        const OuterLoopInput<T>& in,
                                        const OuterLoopCommand<T>& command) {
  if (command.loop == OuterLoop::attitude) {
    return {
        detail::rates_towards(law, in, command, thrust_axis(command.attitude), command.attitude),
        command.thrust};
  }
  const auto& x = in.motion;
  Vec3<T> velocity_W = command.point.velocity;
  if (command.loop == OuterLoop::position) {
    velocity_W = position_control(law.position, command.point.position - x.position);
  }
  const Vec3<T> force_W = velocity_control(
      law.velocity, detail::force_limits(law, in.mass, law.tilt_tangent), state.integral_W,
      velocity_W - x.velocity, command.point.acceleration - law.model.gravity_W);
  const Vec3<T> axis_W = force_W * (T(constant<T>(1)) / norm(force_W));
  Quat<T> q_WD = Quat<T>::identity();
  if (!command.free_heading) q_WD = attitude_towards(axis_W, command.point.yaw);
  const T thrust = in.mass * dot(force_W, thrust_axis(x.attitude));  // (O9)
  return {detail::rates_towards(law, in, command, axis_W, q_WD),
          clamp(thrust, law.thrust_min, law.thrust_max)};
}

namespace detail {

/// One step of a filter, which a first reading sets at rest.
template <class T, class P>
PROPWASH_FN void filter_reading(const LowPassCoefficients<P>& filter, const T& running,
                                const Vec3<T>& reading, LowPassState<Vec3<T>>& state) {
  const auto first = running < T(constant<T>(0.5));
  const auto next = low_pass(filter, state, reading);
  const auto either = [&](const T& a, const T& b) PROPWASH_LAMBDA { return select(first, a, b); };
  const T zero(constant<T>(0));
  state.value = {either(reading.x, next.value.x), either(reading.y, next.value.y),
                 either(reading.z, next.value.z)};
  state.derivative = {either(zero, next.derivative.x), either(zero, next.derivative.y),
                      either(zero, next.derivative.z)};
}

/// Steps the filters of incremental inversion after that of the gyroscope.
template <class T, class P>
PROPWASH_FN MeasuredMotion<T> measured_motion(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                              const OuterLoopInput<T>& in) {
  const Quat<T>& q_WB = in.motion.attitude;
  const auto filter = [&](const Vec3<T>& reading, LowPassState<Vec3<T>>& to) PROPWASH_LAMBDA {
    filter_reading(law.filter, state.running, reading, to);
  };
  filter(rotate(q_WB, in.accelerometer_B) + law.model.gravity_W, state.acceleration_W);
  filter(thrust_axis(q_WB) * (in.rotors.thrust / in.mass), state.rotor_force_W);
  filter(in.rotors.torque_B, state.rotor_torque_B);
  MeasuredMotion<T> measured{state.acceleration_W.value, state.rotor_force_W.value,
                             state.rates_B.derivative, state.rotor_torque_B.value};
  measured.torque_B.z =
      measured.torque_B.z +
      state.rotor_torque_B.derivative.z * reaction_time(law.motor, in.rotors.thrust);  // (O26)
  return measured;
}

}  // namespace detail

/// One run of a loop that commands rotor speeds, up to the wrench to allocate.
template <class T, class P>
PROPWASH_FN Wrench<T> run_wrench_loop(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                      const OuterLoopInput<T>& in,
                                      const OuterLoopCommand<T>& command) {
  MotionEstimate<T> x = in.motion;
  detail::filter_reading(law.filter, state.running, in.gyroscope_B, state.rates_B);
  x.rates_B = state.rates_B.value;
  const auto limits = detail::force_limits(law, in.mass, law.tracking_tilt_tangent);
  Wrench<T> wanted;
  if (command.loop == OuterLoop::geometric) {
    wanted = geometric_control(law.tracking, law.model, limits, in.mass, x, command.point);
  } else if (command.loop == OuterLoop::backstepping) {
    wanted = backstepping_control(law.backstepping, law.model, limits, in.mass, x, command.point);
  } else {
    const auto measured = detail::measured_motion(law, state, in);
    wanted =
        incremental_control(law.tracking, law.model, limits, in.mass, x, measured, command.point);
  }
  state.running = T(constant<T>(1));
  wanted.torque_B.z = led_yaw_torque(law.motor, wanted.torque_B.z, in.rotors);
  wanted.thrust = clamp(wanted.thrust, law.thrust_min, law.thrust_max);
  return wanted;
}

/// Commands [rad/s] for rotors at the speeds `present`, for a wrench.
template <class T, class P, class Q, int N>
PROPWASH_FN SmallArray<T, N> outer_allocate(const OuterLoopLaw<P>& law,
                                            const Allocation<Q, N>& allocation,
                                            const Wrench<T>& wrench,
                                            const SmallArray<T, N>& present) {
  const auto wanted =
      law.prioritised ? allocate_prioritised(allocation, wrench) : allocate(allocation, wrench);
  return led_speeds(law.motor, allocation, wanted, present);
}

/// Calls f with every number of the memory, those first that most loops have.
template <class T, class F>
PROPWASH_FN void for_each_number(OuterLoopState<T>& state, F&& f) {
  const auto each = [&](Vec3<T>& v) PROPWASH_LAMBDA { f(v.x), f(v.y), f(v.z); };
  each(state.integral_W);
  each(state.rates_B.value), each(state.rates_B.derivative);
  f(state.running);
  each(state.acceleration_W.value), each(state.acceleration_W.derivative);
  each(state.rotor_force_W.value), each(state.rotor_force_W.derivative);
  each(state.rotor_torque_B.value), each(state.rotor_torque_B.derivative);
}

/// How many numbers of the memory, of those of for_each_number, a loop has.
PROPWASH_FN constexpr int memory_numbers(OuterLoop loop) {
  return loop == OuterLoop::attitude      ? 0
         : commands_rates(loop)           ? 3
         : loop != OuterLoop::incremental ? 10
                                          : 28;
}

}  // namespace propwash
