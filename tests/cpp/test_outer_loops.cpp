// The laws of the outer loops: angles, flatness, attitude control from any attitude, saturation and
// windup, backstepping's Lyapunov function.
#include <algorithm>
#include <cmath>
#include <propwash/control/outer_commands.hpp>
#include <propwash/control/outer_loop_parameters.hpp>
#include <propwash/math/pack.hpp>
#include <propwash/model/rigid_body.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "smooth_flight.hpp"
#include "support.hpp"

namespace test_outer_loops {

namespace pw = propwash;
using pw::Quat;
using pw::Vec3;

namespace {

double angle_between(const Vec3<double>& a, const Vec3<double>& b) {
  return std::atan2(norm(cross(a, b)), dot(a, b));
}
Quat<double> yawed(double yaw) { return pw::from_axis_angle(Vec3<double>{0.0, 0.0, 1.0}, yaw); }

const Vec3<double> against_gravity{0.0, 0.0, 9.81};

pw::FlatAttitude<double> attitude_at(double t, double quadratic, double linear) {
  const auto p = smooth_point(t);
  const auto drag = pw::drag_on(p, quadratic, linear);
  const pw::Jet3<double> force{p.acceleration + drag.value + against_gravity, p.jerk + drag.first,
                               p.snap + drag.second};
  return pw::flat_attitude(force, p.yaw, p.yaw_rate, p.yaw_acceleration);
}

pw::OuterLoopLaw<double> law_of(const pw::VehicleParameters& vehicle) {
  return pw::make_outer_loop_law<double>(vehicle, pw::outer_loops_for(vehicle, 1.0 / 960),
                                         1.0 / 960);
}

}  // namespace

TEST_CASE("Angle functions with only the scalar hooks agree with the C library") {
  for (int i = 0; i <= 2000; ++i) {
    const double angle = -pi() + 2.0 * pi() * i / 2000.0;
    for (const double radius : {1e-12, 1.0, 3e8}) {
      const double x = radius * std::cos(angle), y = radius * std::sin(angle);
      REQUIRE(std::abs(pw::atan2(y, x) - std::atan2(y, x)) < 1e-14);
      const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
      REQUIRE(std::abs(pw::atan2(fy, fx) - std::atan2(fy, fx)) < 2e-6f);
    }
    REQUIRE(std::abs(pw::asin(std::sin(angle)) - std::asin(std::sin(angle))) < 1e-7);
  }
  REQUIRE(pw::atan2(0.0, 0.0) == 0.0);
  REQUIRE(pw::asin(7.0) == Approx(0.5 * pi()));
}

TEST_CASE("Rates and angular acceleration of a flat attitude are its time derivatives") {
  const double h = 1e-5;
  for (const double quadratic : {0.0, 0.1}) {
    for (double t = 0.0; t < 6.0; t += 0.173) {
      const auto now = attitude_at(t, quadratic, 0.3);
      const auto before = attitude_at(t - h, quadratic, 0.3);
      const auto after = attitude_at(t + h, quadratic, 0.3);
      const Quat<double> rotation = conjugate(before.attitude) * after.attitude;
      const Vec3<double> rates = Vec3<double>{rotation.x, rotation.y, rotation.z} *
                                 (rotation.w > 0 ? 1.0 : -1.0) * (2.0 / (2.0 * h));
      REQUIRE(distance(rates, now.rates_B) < 1e-6 * (1.0 + norm(rates)));
      const Vec3<double> turning = (after.rates_B - before.rates_B) * (1.0 / (2.0 * h));
      REQUIRE(distance(turning, now.angular_acceleration_B) < 1e-5 * (1.0 + norm(turning)));
    }
  }
}

TEST_CASE("A flat attitude points its thrust axis along the force and body x to the heading") {
  Dice dice(1);
  for (int i = 0; i < 1000; ++i) {
    auto direction = dice.unit_vec3();
    direction.z = std::abs(direction.z) + 0.05;
    direction = direction * (1.0 / norm(direction));
    const double yaw = dice.uniform(-3.0, 3.0);
    const auto q = pw::attitude_towards(direction, yaw);
    REQUIRE(squared_norm(q) == Approx(1.0).epsilon(1e-12));
    REQUIRE(distance(pw::thrust_axis(q), direction) < 1e-12);
    const auto x_W = rotate(q, Vec3<double>{1.0, 0.0, 0.0});
    REQUIRE(std::abs(std::remainder(std::atan2(x_W.y, x_W.x) - yaw, 2.0 * pi())) < 1e-9);
  }
}

TEST_CASE("Attitude control converges from any attitude, the tilt by the shortest rotation") {
  const auto law = law_of(pw::vehicles::flightgoggles()).attitude;
  const double dt = 0.002;
  Dice dice(2);
  for (int start = 0; start < 1000; ++start) {
    Quat<double> q = dice.unit_quat();
    if (start == 0) q = {0.0, 1.0, 0.0, 0.0};  // upside down
    const Quat<double> desired = start % 2 == 0 ? Quat<double>::identity() : dice.unit_quat();
    const Vec3<double> axis = pw::thrust_axis(desired);
    double tilt = angle_between(pw::thrust_axis(q), axis);
    const Vec3<double> normal = cross(pw::thrust_axis(q), axis);
    for (int k = 0; k < 5000; ++k) {
      Vec3<double> error = pw::tilt_error(q, axis);
      error.z = pw::heading_error(q, desired);
      const auto rates = pw::attitude_control(law, error, Vec3<double>{});
      q = normalized(q + q * rates * (0.5 * dt));
      const double now = angle_between(pw::thrust_axis(q), axis);
      REQUIRE(now < tilt + 1e-9);
      tilt = now;
      // the tilt stays in the plane of the shortest rotation for any heading error
      if (norm(normal) > 0.1) {
        REQUIRE(std::abs(dot(pw::thrust_axis(q), normal)) < 0.02 * norm(normal));
      }
    }
    const Quat<double> left = conjugate(q) * desired;
    REQUIRE(std::abs(left.w) > 1.0 - 1e-6);
  }
}

TEST_CASE("Attitude control is invariant to rotations of the world") {
  const auto law = law_of(pw::vehicles::flightgoggles());
  Dice dice(3);
  for (int i = 0; i < 200; ++i) {
    pw::OuterLoopInput<double> in;
    in.mass = 1.0;
    in.motion = {dice.vec3(3.0), dice.vec3(5.0), dice.unit_quat(), dice.vec3(4.0)};
    pw::OuterLoopCommand<double> command;
    command.attitude = dice.unit_quat();
    command.thrust = 9.0;
    command.point = smooth_point(i * 0.1);
    const double yaw_offset = dice.uniform(-3.0, 3.0);
    const auto rotated_in = [&] {
      auto x = in;
      const auto q = yawed(yaw_offset);
      x.motion.position = rotate(q, x.motion.position);
      x.motion.velocity = rotate(q, x.motion.velocity);
      x.motion.attitude = q * x.motion.attitude;
      return x;
    }();
    auto rotated_command = command;
    rotated_command.attitude = yawed(yaw_offset) * command.attitude;
    for (auto* v : {&rotated_command.point.position, &rotated_command.point.velocity,
                    &rotated_command.point.acceleration}) {
      *v = rotate(yawed(yaw_offset), *v);
    }
    rotated_command.point.yaw += yaw_offset;
    for (const auto loop :
         {pw::OuterLoop::attitude, pw::OuterLoop::velocity, pw::OuterLoop::position}) {
      command.loop = rotated_command.loop = loop;
      pw::OuterLoopState<double> a{}, b{};
      const auto out = pw::run_rate_loop(law, a, in, command);
      const auto rotated_out = pw::run_rate_loop(law, b, rotated_in, rotated_command);
      REQUIRE(distance(out.rates, rotated_out.rates) < 1e-9);
      REQUIRE(out.thrust == Approx(rotated_out.thrust).epsilon(1e-10));
    }
  }
}

TEST_CASE("Limits preserve the height first, then the direction of the horizontal force") {
  const pw::ForceLimits<double> limits{2.0, 20.0, 1.2};
  Dice dice(4);
  for (int i = 0; i < 2000; ++i) {
    const auto desired = dice.vec3(30.0);
    const auto force = pw::limited_force(limits, desired);
    REQUIRE(force.z == Approx(std::clamp(desired.z, 2.0, 20.0)));
    REQUIRE(norm(force) < 20.0 + 1e-9);
    REQUIRE(std::hypot(force.x, force.y) < 1.2 * force.z + 1e-9);
    REQUIRE(std::abs(force.x * desired.y - force.y * desired.x) < 1e-9);
    REQUIRE(distance(pw::limited_force(limits, force), force) < 1e-9);
  }
}

TEST_CASE("The velocity integral does not wind up at the limits") {
  const auto law = law_of(pw::vehicles::flightgoggles());
  const pw::ForceLimits<double> limits{2.0, 30.0, 0.8};
  Vec3<double> integral{};
  const Vec3<double> error{20.0, 0.0, 0.0};
  Vec3<double> force{};
  for (int i = 0; i < 20000; ++i) {
    force = pw::velocity_control(law.velocity, limits, integral, error, against_gravity);
  }
  // finally, saturation cuts off no more than the proportional part
  const double desired = error.x * law.velocity.proportional.x + integral.x;
  REQUIRE(desired - force.x <= error.x * law.velocity.proportional.x + 1e-6);
  // so that it leaves the limit as soon as the error changes sign
  force = pw::velocity_control(law.velocity, limits, integral, Vec3<double>{-1.0, 0.0, 0.0},
                               against_gravity);
  REQUIRE(force.x < limits.tilt_tangent * force.z - 0.5);
  for (const double x : {integral.x, integral.y, integral.z}) {
    REQUIRE(std::abs(x) <= law.velocity.integral_bound.x);
  }
}

TEST_CASE("Saturated rotors give up yaw first, then thrust, then tilt") {
  for (const auto& vehicle :
       {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter(), pw::vehicles::crazyflie()}) {
    const auto allocation = pw::make_allocation<double, pw::Dynamic>(vehicle.rotors, vehicle.motor);
    const double weight = vehicle.body.mass * 9.81;
    const double arm = norm(vehicle.rotors[0].position);
    Dice dice(5);
    int yaw_lost = 0, clipping_lost_tilt = 0;
    double lost = 0.0, lost_by_clipping = 0.0;
    for (int i = 0; i < 3000; ++i) {
      pw::Wrench<double> desired{dice.vec3(0.5 * weight * arm), weight * dice.uniform(0.0, 3.0)};
      const auto speeds = pw::allocate_prioritised(allocation, desired);
      for (const double speed : speeds) {
        REQUIRE(speed >= vehicle.motor.speed_min[0]);
        REQUIRE(speed <= vehicle.motor.speed_max[0]);
      }
      const auto got = pw::attained_wrench(allocation, speeds);
      const auto clipped = pw::attained_wrench(allocation, pw::allocate(allocation, desired));
      const auto tilt_lost = [&](const pw::Wrench<double>& w) {
        return std::hypot(w.torque_B.x - desired.torque_B.x, w.torque_B.y - desired.torque_B.y);
      };
      const double eps = 1e-9 * weight;
      // the torque never opposes or exceeds the command
      REQUIRE(got.torque_B.z * desired.torque_B.z >= -eps * std::abs(desired.torque_B.z));
      REQUIRE(std::abs(got.torque_B.z) <= std::abs(desired.torque_B.z) + eps);
      if (tilt_lost(got) > eps) {
        // only if no thrust is feasible; then without yaw, and with the direction of the torque
        REQUIRE(std::abs(got.torque_B.x * desired.torque_B.y -
                         got.torque_B.y * desired.torque_B.x) < eps * weight);
      }
      if (std::abs(got.thrust - desired.thrust) > eps) {
        // no more than necessary: without yaw a rotor is still at a limit
        pw::Wrench<double> level = desired;
        level.torque_B.z = 0.0;
        const auto base = pw::allocate_prioritised(allocation, level);
        const auto [low, high] = std::minmax_element(base.begin(), base.end());
        const double rounding = 1e-6 * vehicle.motor.speed_max[0];
        REQUIRE((*low < vehicle.motor.speed_min[0] + rounding ||
                 *high > vehicle.motor.speed_max[0] - rounding));
      }
      const auto attained = [&](pw::Wrench<double> w) {
        const auto have = pw::attained_wrench(allocation, pw::allocate(allocation, w));
        return distance(have.torque_B, w.torque_B) <= eps &&
               std::abs(have.thrust - w.thrust) <= eps;
      };
      const Vec3<double> no_yaw{desired.torque_B.x, desired.torque_B.y, 0.0};
      if (attained(desired) && attained({no_yaw, desired.thrust})) {
        REQUIRE(distance(got.torque_B, desired.torque_B) < eps);
        REQUIRE(std::abs(got.thrust - desired.thrust) < eps);
      }
      if (std::abs(got.torque_B.z - desired.torque_B.z) > eps) ++yaw_lost;
      if (tilt_lost(clipped) > tilt_lost(got) + eps) ++clipping_lost_tilt;
      lost += tilt_lost(got);
      lost_by_clipping += tilt_lost(clipped);
    }
    REQUIRE(yaw_lost > 100);
    REQUIRE(clipping_lost_tilt > 100);
    INFO(lost << " against " << lost_by_clipping);
    REQUIRE(lost < 0.3 * lost_by_clipping);
  }
}

TEST_CASE("Backstepping's Lyapunov function decreases at the rate of its gains") {
  Dice dice(6);
  for (int i = 0; i < 1000; ++i) {
    const pw::BacksteppingGains<double> gains{dice.uniform(0.1, 9.0), dice.uniform(0.1, 9.0)};
    const double e = dice.uniform(-3.0, 3.0), rate = dice.uniform(-3.0, 3.0);
    const double b = pw::backstepping(gains, e, rate);
    // V = (z1^2 + z2^2) / 2 with z1 = e, z2 = rate - alpha e; the second derivative of n is b
    const double z2 = rate - gains.value * e;
    const double slope = e * -rate + z2 * (b + gains.value * rate);
    REQUIRE(slope == Approx(-gains.value * e * e - gains.derivative * z2 * z2).margin(1e-10));
  }
}

TEST_CASE("Backstepping holds hover and tilts towards its target") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto law = law_of(vehicle);
  for (const double yaw : {0.0, 1.0, -2.5, 3.1}) {
    pw::MotionEstimate<double> x;
    x.attitude = yawed(yaw);
    pw::TrajectoryPoint<double> p;
    p.yaw = yaw;
    const pw::ForceLimits<double> limits{2.0, 30.0, 4.0};
    const auto hover = pw::backstepping_control(law.backstepping, law.model, limits, 1.0, x, p);
    REQUIRE(norm(hover.torque_B) < 1e-12);
    REQUIRE(hover.thrust == Approx(9.81));
    p.position = {1.0, 0.0, 0.5};
    const auto go = pw::backstepping_control(law.backstepping, law.model, limits, 1.0, x, p);
    const auto torque_W = rotate(x.attitude, go.torque_B);
    REQUIRE(torque_W.y > 1e-3);                        // the thrust axis tilts towards +x
    REQUIRE(std::abs(torque_W.x) < 0.1 * torque_W.y);  // Euler angles couple a little
    REQUIRE(go.thrust > 9.81);
  }
}

namespace {

/// Two runs of a loop with scalars of type T, from fixed inputs, with a disturbance observer of
/// `bandwidth` [1/s]; `read` converts a scalar to double.
template <class T, class Read>
std::vector<double> both_runs(pw::OuterLoop loop, double bandwidth, const Read& read) {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto loops = pw::outer_loops_for(vehicle, 1.0 / 960);
  loops.disturbance_bandwidth = bandwidth;
  const auto c = pw::make_outer_loop_constants<double, 4>(vehicle, vehicle.imu, loops, 1.0 / 960);
  const auto v = [](double x, double y, double z) { return Vec3<T>{T(x), T(y), T(z)}; };
  const Quat<T> tilted{T(0.8), T(0.2), T(-0.4), T(0.4)};
  pw::OuterLoopInput<T> in;
  in.motion = {v(1, 2, 3), v(-1, 0.5, 2), tilted, v(0.3, 0.2, 0.1)};
  in.mass = T(1.1);
  const pw::ImuReading<T> imu{v(1, 2, 9), v(0.4, -0.2, 0.3)};
  pw::OuterLoopCommand<T> command;
  command.loop = loop;
  command.attitude = {T(0.5), T(0.5), T(-0.5), T(0.5)};
  command.thrust = T(8.0);
  command.point = {v(2, 2, 2),      v(1, 0, 1), v(0.3, 1, 0), v(1, 1, 1),
                   v(0.5, 0.2, -1), T(0.4),     T(0.2),       T(-0.1)};
  pw::OuterLoopState<T> state{};
  pw::for_each_number(state, [](T& x) { x = T(0.0); });
  std::vector<double> numbers;
  for (int run = 0; run < 2; ++run) {
    if (pw::commands_rates(loop)) {
      const auto out = pw::run_rate_loop(c.law, state, in, command);
      for (const T& x : {out.rates.x, out.rates.y, out.rates.z, out.thrust}) {
        numbers.push_back(read(x));
      }
    } else {
      pw::SmallArray<T, 4> present;
      for (int i = 0; i < 4; ++i) present[i] = T(1000.0 + 10.0 * i);
      for (const T& x : pw::run_speed_loop(c, state, in, command, imu, present)) {
        numbers.push_back(read(x));
      }
    }
  }
  return numbers;
}

}  // namespace

TEST_CASE("Every loop gives equal results with custom scalars and lanes") {
  for (int i = 0; i < 8; ++i) {  // the last two: geometric and backstepping with an observer
    const auto loop = static_cast<pw::OuterLoop>(i < 6 ? i : i - 3);
    const double bandwidth = i < 6 ? 0.0 : 20.0;
    const auto plain = both_runs<double>(loop, bandwidth, [](double x) { return x; });
    const auto pairs =
        both_runs<lanes::Pair>(loop, bandwidth, [](const lanes::Pair& x) { return second(x); });
    REQUIRE(plain == pairs);
    using Lanes = pw::Pack<double, 2>;
    const auto packs = both_runs<Lanes>(loop, bandwidth, [](const Lanes& x) { return x[1]; });
    for (std::size_t k = 0; k < plain.size(); ++k) {
      REQUIRE(packs[k] == Approx(plain[k]).epsilon(1e-11).margin(1e-11));
    }
  }
}

}  // namespace test_outer_loops
