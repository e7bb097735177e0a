#include <cmath>
#include <limits>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

/// Whether the heading determines the attitude: it does not in free fall or at a roll of 90
/// degrees.
bool has_attitude(const FlatMotion<double>& motion, double yaw) {
  constexpr double min_force = 1e-3;  // m/s^2, the bounds of (O12) and (O13)
  constexpr double min_cosine = 0.05;
  const double length = norm(motion.force_W);
  const double forward = motion.force_W.x * std::cos(yaw) + motion.force_W.y * std::sin(yaw);
  return length > min_force && std::hypot(forward, motion.force_W.z) > min_cosine * length;
}

/// A new array (N, width) that is filled row by row.
struct Rows {
  Rows(py::ssize_t rows, py::ssize_t width) : array({rows, width}), next(array.mutable_data()) {}
  template <class Value>
  void add(const Value& value) {
    next = put(value, next);
  }
  Array array;
  double* next;
};

py::dict flatness(const py::object& parameters, const py::dict& columns, py::ssize_t vehicles) {
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  validate(vehicle);
  validate_allocation(vehicle);
  const auto model = make_control_model<double>(vehicle);
  const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  const Array yaw = shaped_array(columns["yaw"], "yaw", "shape (N,)", {any_length});
  const py::ssize_t n = yaw.shape(0);
  const auto numbers = [&](const char* name) {
    return shaped_array(columns[name], name, "shape (N,)", {n});
  };
  const auto vectors = [&](const char* name) {
    return shaped_array(columns[name], name, "shape (N, 3)", {n, 3});
  };
  const Array velocity = vectors("velocity"), acceleration = vectors("acceleration"),
              jerk = vectors("jerk"), snap = vectors("snap"), yaw_rate = numbers("yaw_rate"),
              yaw_acceleration = numbers("yaw_acceleration");
  Rows attitude(n, 4), rates(n, 3), angular(n, 3), force(n, 3), torque(n, 3);
  Rows thrusts(n, allocation.rotors()), speeds(n, allocation.rotors());
  Array thrust(n);
  for (py::ssize_t row = 0; row < n; ++row) {
    const auto motion = flat_motion(model, vehicle.body.mass,
                                    TrajectoryPoint<double>{{},
                                                            vec3_at(velocity.data() + 3 * row),
                                                            vec3_at(acceleration.data() + 3 * row),
                                                            vec3_at(jerk.data() + 3 * row),
                                                            vec3_at(snap.data() + 3 * row),
                                                            yaw.at(row),
                                                            yaw_rate.at(row),
                                                            yaw_acceleration.at(row)});
    const double one =
        has_attitude(motion, yaw.at(row)) ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    const auto& q = motion.attitude.attitude;
    double sign = one;  // sign of the same vehicle's quaternion one time earlier
    if (row >= vehicles) {
      const double* last = attitude.next - 4 * vehicles;
      if (q.w * last[0] + q.x * last[1] + q.y * last[2] + q.z * last[3] < 0.0) sign = -one;
    }
    attitude.add(Quat<double>{q.w * sign, q.x * sign, q.y * sign, q.z * sign});
    rates.add(motion.attitude.rates_B * one);
    angular.add(motion.attitude.angular_acceleration_B * one);
    force.add(motion.force_W);
    const Wrench<double> wrench{motion.rotors.torque_B * one, motion.rotors.thrust * one};
    torque.add(wrench.torque_B);
    thrust.mutable_at(row) = wrench.thrust;
    for (int i = 0; i < allocation.rotors(); ++i) {
      const double speed = signed_sqrt(signed_square_for(allocation, wrench, i));
      speeds.add(speed);
      thrusts.add(rotor_thrust(vehicle.rotors[static_cast<std::size_t>(i)], speed));
    }
  }
  return py::dict("attitude"_a = attitude.array, "body_rates"_a = rates.array,
                  "angular_acceleration"_a = angular.array, "specific_force"_a = force.array,
                  "thrust"_a = thrust, "torque"_a = torque.array, "rotor_thrusts"_a = thrusts.array,
                  "rotor_speeds"_a = speeds.array);
}

}  // namespace

void bind_flatness(py::module_& m) {
  m.def("flatness", &flatness, "parameters"_a, "columns"_a, "vehicles"_a = 1,
        "Attitude, rates and rotor speeds at N points of trajectories, in still air: flat_motion() "
        "of control/tracking.hpp.\n\n"
        "columns: velocity, acceleration, jerk, snap (N, 3) [m/s ... m/s^4], world frame; yaw, "
        "yaw_rate, yaw_acceleration (N,) [rad ... rad/s^2]. vehicles: n, if the N = T n rows "
        "are in the order (T, n); the sign of each vehicle's quaternion is then continuous in "
        "time.\n\n"
        "Returns attitude (N, 4), body to world, scalar first; body_rates [rad/s] and "
        "angular_acceleration [rad/s^2] (N, 3), body frame; specific_force of the rotors (N, 3) "
        "[m/s^2], world frame; thrust (N,) [N], torque (N, 3) [N m], body frame; rotor_thrusts [N] "
        "and rotor_speeds [rad/s] (N, rotors). All but specific_force are NaN in free fall and "
        "at a roll of 90 degrees.\n"
        "Raises ParameterError if the rotors cannot produce torque about each axis, ValueError for "
        "wrong shapes and non-finite numbers.");
}

}  // namespace propwash::bindings
