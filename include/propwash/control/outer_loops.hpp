#pragma once
/// @file
/// The outer control loops: attitude, velocity, position and trajectory control.
///
/// An update computes, from the state of a vehicle and a command, the output that is held until the
/// next update: body rates and thrust for the rate controller, or rotor speeds. See
/// docs/control/outer-loops.md.

#include "propwash/control/attitude_control.hpp"
#include "propwash/control/backstepping_control.hpp"
#include "propwash/control/desaturate.hpp"
#include "propwash/control/disturbance_observer.hpp"
#include "propwash/control/low_pass.hpp"
#include "propwash/control/motor_lead.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/control/tracking.hpp"
#include "propwash/model/imu.hpp"

namespace propwash {

/// The outer loops, by the input of the outermost one.
enum class OuterLoop {
  attitude,      ///< attitude and thrust -> rates and thrust
  velocity,      ///< velocity -> attitude
  position,      ///< position -> velocity
  geometric,     ///< trajectory -> rotor speeds
  backstepping,  ///< trajectory -> rotor speeds
  incremental    ///< trajectory -> rotor speeds
};

/// Whether a loop outputs body rates and thrust; the others output rotor speeds.
PROPWASH_FN constexpr bool commands_rates(OuterLoop loop) {
  return loop == OuterLoop::attitude || loop == OuterLoop::velocity || loop == OuterLoop::position;
}

/// The constants of all loops, for one update interval.
template <class P>
struct OuterLoopLaw {
  AttitudeControlLaw<P> attitude{};   ///< attitude control
  VelocityControlLaw<P> velocity{};   ///< velocity control
  PositionControlLaw<P> position{};   ///< position control
  TrackingLaw<P> tracking{};          ///< geometric and incremental tracking
  BacksteppingLaw<P> backstepping{};  ///< backstepping tracking
  ControlModel<P> model{};            ///< the vehicle model that the tracking laws invert
  MotorLead<P> motor{};               ///< for the trajectory controllers
  LowPassCoefficients<P> filter{};    ///< for measurements of the trajectory controllers
  LowPassCoefficients<P> observer{};  ///< (O33), of geometric and backstepping tracking
  P thrust_min{};                     ///< N
  P thrust_max{};                     ///< N
  P tilt_tangent{};                   ///< -, of the tilt limit of velocity control
  P tracking_tilt_tangent{};          ///< -, of the tilt limit of the trajectory controllers
  bool prioritised = true;            ///< allocate_prioritised instead of allocate
  bool has_observer = false;          ///< whether these two compensate disturbances
};

/// The constants of the outer loops of a vehicle, as its controllers assume it.
template <class P, int N>
struct OuterLoopConstants {
  OuterLoopLaw<P> law{};                       ///< the loops
  Allocation<P, N> allocation{};               ///< of the rotors
  Quat<P> imu_attitude = Quat<P>::identity();  ///< q_BS
  Vec3<P> imu_position{};                      ///< m, p_BS_B
};

/// The state of all loops; memory_numbers() relies on the order.
template <class T>
struct OuterLoopState {
  Vec3<T> integral_W{};                    ///< m/s^2, of velocity control
  LowPassState<Vec3<T>> rates_B{};         ///< rad/s
  T initialised{};                         ///< 1 after the first update of the filters, else 0
  LowPassState<Vec3<T>> acceleration_W{};  ///< m/s^2, measured; with an observer: unmodelled
  LowPassState<Vec3<T>> torque_B{};        ///< N m, of the rotors; with an observer: unmodelled
  LowPassState<Vec3<T>> rotor_force_W{};   ///< m/s^2, thrust per mass
  PROPWASH_MEMBERS(integral_W, rates_B, initialised, acceleration_W, torque_B, rotor_force_W)
};

/// The measurements that the loops use.
template <class T>
struct OuterLoopInput {
  MotionEstimate<T> motion{};  ///< rates: filtered by the rate controller
  Vec3<T> gyroscope_B{};       ///< rad/s; trajectory controllers only
  Vec3<T> accelerometer_B{};   ///< m/s^2, at the centre of mass; trajectory controllers only
  Wrench<T> rotors{};          ///< wrench at the present speeds; trajectory controllers only
  T mass{};                    ///< kg
};

/// A command for any loop; each loop uses only some of the fields.
template <class T>
struct OuterLoopCommand {
  OuterLoop loop = OuterLoop::attitude;  ///< the loop that is commanded
  bool free_heading = false;             ///< rotate about the thrust axis at `point.yaw_rate`
  Quat<T> attitude{};                    ///< q_WB, a unit quaternion
  T thrust{};                            ///< N
  TrajectoryPoint<T> point{};            ///< position, velocity, heading or trajectory point
};

namespace detail {

/// Body rates [rad/s] towards the thrust axis `axis_W` and the heading of `q_WD`, or with a free
/// heading.
template <class T, class P>
PROPWASH_FN Vec3<T> rates_towards(const OuterLoopLaw<P>& law, const OuterLoopInput<T>& in,
                                  const OuterLoopCommand<T>& command, const Vec3<T>& axis_W,
                                  const Quat<T>& q_WD) {
  Vec3<T> error_B = tilt_error(in.motion.attitude, axis_W);
  if (!command.free_heading) error_B.z = heading_error(in.motion.attitude, q_WD);
  const Vec3<T> feed_forward_B{T{}, T{}, command.point.yaw_rate};
  return augmented_rate_command(
      law.attitude, attitude_control(law.attitude, error_B, feed_forward_B), in.motion.rates_B);
}

template <class T, class P>
PROPWASH_FN ForceLimits<T> force_limits(const OuterLoopLaw<P>& law, const T& mass,
                                        const P& tilt_tangent) {
  return {T(law.thrust_min) / mass, T(law.thrust_max) / mass, T(tilt_tangent)};
}

}  // namespace detail

/// One update of a loop that commands body rates and thrust.
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

/// One step of a filter. The first reading initialises it: value = reading, derivative = 0.
template <class T, class P>
PROPWASH_FN void filter_reading(const LowPassCoefficients<P>& filter, const T& initialised,
                                const Vec3<T>& reading, LowPassState<Vec3<T>>& state) {
  const auto first = initialised < T(constant<T>(0.5));
  const auto next = low_pass(filter, state, reading);
  const T zero(constant<T>(0));
  for_each_index<3>(3, [&](int axis) PROPWASH_LAMBDA {
    state.value[axis] = select(first, reading[axis], next.value[axis]);
    state.derivative[axis] = select(first, zero, next.derivative[axis]);
  });
}

/// Updates the filters of incremental control, after that of the gyroscope.
template <class T, class P>
PROPWASH_FN MeasuredMotion<T> measured_motion(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                              const OuterLoopInput<T>& in) {
  const Quat<T>& q_WB = in.motion.attitude;
  const auto filter = [&](const Vec3<T>& reading, LowPassState<Vec3<T>>& filtered) PROPWASH_LAMBDA {
    filter_reading(law.filter, state.initialised, reading, filtered);
  };
  filter(rotate(q_WB, in.accelerometer_B) + law.model.gravity_W, state.acceleration_W);
  filter(thrust_axis(q_WB) * (in.rotors.thrust / in.mass), state.rotor_force_W);
  filter(in.rotors.torque_B, state.torque_B);
  MeasuredMotion<T> measured{state.acceleration_W.value, state.rotor_force_W.value,
                             state.rates_B.derivative, state.torque_B.value};
  measured.torque_B.z =
      measured.torque_B.z +
      state.torque_B.derivative.z * reaction_time(law.motor, in.rotors.thrust);  // (O26)
  return measured;
}

/// (O33) One update of the disturbance observer.
template <class T, class P>
PROPWASH_FN void observe_disturbance(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                     const OuterLoopInput<T>& in, const MotionEstimate<T>& x,
                                     const TrajectoryPoint<T>& desired) {
  const Vec3<T> acceleration_W =
      unmodelled_acceleration(law.model, in.mass, x, desired, in.rotors, in.accelerometer_B);
  const Vec3<T> torque_B = unmodelled_torque(law.model, x, in.rotors, state.rates_B.derivative);
  state.acceleration_W = low_pass(law.observer, state.acceleration_W, acceleration_W);
  state.torque_B = low_pass(law.observer, state.torque_B, torque_B);
}

}  // namespace detail

/// One update of a loop that commands rotor speeds; returns the wrench to allocate.
template <class T, class P>
PROPWASH_FN Wrench<T> run_wrench_loop(const OuterLoopLaw<P>& law, OuterLoopState<T>& state,
                                      const OuterLoopInput<T>& in,
                                      const OuterLoopCommand<T>& command) {
  MotionEstimate<T> x = in.motion;
  detail::filter_reading(law.filter, state.initialised, in.gyroscope_B, state.rates_B);
  x.rates_B = state.rates_B.value;
  const auto limits = detail::force_limits(law, in.mass, law.tracking_tilt_tangent);
  Wrench<T> desired;
  if (command.loop == OuterLoop::incremental) {
    const auto measured = detail::measured_motion(law, state, in);
    desired =
        incremental_control(law.tracking, law.model, limits, in.mass, x, measured, command.point);
  } else {
    DisturbanceEstimate<T> acceleration_W;
    Vec3<T> torque_B{};
    if (law.has_observer) {
      detail::observe_disturbance(law, state, in, x, command.point);
      acceleration_W = state.acceleration_W;
      torque_B = state.torque_B.value;
    }
    desired = command.loop == OuterLoop::geometric
                  ? geometric_control(law.tracking, law.model, limits, in.mass, x, command.point,
                                      acceleration_W)
                  : backstepping_control(law.backstepping, law.model, limits, in.mass, x,
                                         command.point, acceleration_W);
    desired.torque_B = desired.torque_B - torque_B;
  }
  state.initialised = T(constant<T>(1));
  desired.torque_B.z = lead_compensated_yaw_torque(law.motor, desired.torque_B.z, in.rotors);
  desired.thrust = clamp(desired.thrust, law.thrust_min, law.thrust_max);
  return desired;
}

/// Rotor commands [rad/s] for a wrench, with lead from the speeds `present`.
template <class T, class P, class Q, int N>
PROPWASH_FN SmallArray<T, N> outer_allocate(const OuterLoopLaw<P>& law,
                                            const Allocation<Q, N>& allocation,
                                            const Wrench<T>& wrench,
                                            const SmallArray<T, N>& present) {
  const auto desired =
      law.prioritised ? allocate_prioritised(allocation, wrench) : allocate(allocation, wrench);
  return lead_compensated_speeds(law.motor, allocation, desired, present);
}

/// One update of a loop that commands rotor speeds: adds the measurements, a reading of the IMU and
/// the present rotor `speeds` [rad/s], to the input; returns rotor commands [rad/s].
template <class T, class P, int N>
PROPWASH_FN SmallArray<T, N> run_speed_loop(const OuterLoopConstants<P, N>& c,
                                            OuterLoopState<T>& state, OuterLoopInput<T>& in,
                                            const OuterLoopCommand<T>& command,
                                            const ImuReading<T>& imu,
                                            const SmallArray<T, N>& speeds) {
  in.gyroscope_B = rotate(c.imu_attitude, imu.angular_rate);
  // less the centripetal term of the lever arm, but not that of the angular acceleration
  in.accelerometer_B = rotate(c.imu_attitude, imu.specific_force) -
                       cross(in.gyroscope_B, cross(in.gyroscope_B, c.imu_position));
  in.rotors = attained_wrench(c.allocation, speeds);
  const Wrench<T> desired = run_wrench_loop(c.law, state, in, command);
  return outer_allocate(c.law, c.allocation, desired, speeds);
}

/// How many numbers of the state a loop uses, counted from the first.
template <class P>
PROPWASH_FN int memory_numbers(const OuterLoopLaw<P>& law, OuterLoop loop) {
  if (loop == OuterLoop::attitude) return 0;
  if (commands_rates(loop)) return 3;
  if (loop == OuterLoop::incremental) return number_count<OuterLoopState<P>>;
  return law.has_observer ? 22 : 10;
}

}  // namespace propwash
