#include <cmath>
#include <limits>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Whether the heading fixes an attitude: not in free fall, nor rolled by 90 degrees.
bool has_attitude(const FlatMotion<double>& motion, double yaw) {
  constexpr double least_force = 1e-3;  // m/s^2, the limits of (O12) and (O13)
  constexpr double least_cosine = 0.05;
  const double length = norm(motion.force_W);
  const double forward = motion.force_W.x * std::cos(yaw) + motion.force_W.y * std::sin(yaw);
  return length > least_force && std::hypot(forward, motion.force_W.z) > least_cosine * length;
}

/// Columns of a trajectory, (N, 3) and (N,), in C order.
struct Trajectory {
  explicit Trajectory(const py::dict& columns)
      : yaw(shaped_array(columns["yaw"], "yaw", "an array of shape (N,)", {any_length})),
        rows(yaw.shape(0)),
        velocity(vectors(columns, "velocity")),
        acceleration(vectors(columns, "acceleration")),
        jerk(vectors(columns, "jerk")),
        snap(vectors(columns, "snap")),
        yaw_rate(numbers(columns, "yaw_rate")),
        yaw_acceleration(numbers(columns, "yaw_acceleration")) {}

  TrajectoryPoint<double> operator[](py::ssize_t row) const {
    const auto at = [row](const Array& a) -> Vec3<double> {
      const double* from = a.data() + 3 * row;
      return {from[0], from[1], from[2]};
    };
    return {{},       at(velocity),    at(acceleration),     at(jerk),
            at(snap), yaw.data()[row], yaw_rate.data()[row], yaw_acceleration.data()[row]};
  }

  Array yaw;
  py::ssize_t rows;
  Array velocity, acceleration, jerk, snap, yaw_rate, yaw_acceleration;

 private:
  Array vectors(const py::dict& columns, const char* name) const {
    return shaped_array(columns[name], name, "an array of shape (N, 3)", {rows, 3});
  }
  Array numbers(const py::dict& columns, const char* name) const {
    return shaped_array(columns[name], name, "an array of shape (N,)", {rows});
  }
};

py::dict flatness(const py::object& parameters, const py::dict& columns, py::ssize_t vehicles) {
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  validate(vehicle);
  validate_allocation(vehicle);
  const auto model = make_control_model<double>(vehicle);
  const auto allocation = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  const Trajectory trajectory(columns);
  const py::ssize_t rows = trajectory.rows;
  const auto rotors = static_cast<py::ssize_t>(allocation.rotors());
  Array attitude({rows, py::ssize_t{4}}), rates({rows, py::ssize_t{3}}),
      angular({rows, py::ssize_t{3}}), force({rows, py::ssize_t{3}}), thrust(rows),
      torque({rows, py::ssize_t{3}}), thrusts({rows, rotors}), speeds({rows, rotors});
  for (py::ssize_t row = 0; row < rows; ++row) {
    const auto point = trajectory[row];
    auto motion = flat_motion(model, vehicle.body.mass, point);
    const double defined = has_attitude(motion, point.yaw) ? 1.0 : nan;
    auto& q_WB = motion.attitude.attitude;
    if (row >= vehicles) {  // the sign of the row before of the same vehicle
      const double* last = attitude.data() + 4 * (row - vehicles);
      if (q_WB.w * last[0] + q_WB.x * last[1] + q_WB.y * last[2] + q_WB.z * last[3] < 0.0) {
        q_WB = {-q_WB.w, -q_WB.x, -q_WB.y, -q_WB.z};
      }
    }
    const Wrench<double> wrench{motion.rotors.torque_B * defined, motion.rotors.thrust * defined};
    put(Quat<double>{q_WB.w * defined, q_WB.x * defined, q_WB.y * defined, q_WB.z * defined},
        attitude.mutable_data() + 4 * row);
    put(motion.attitude.rates_B * defined, rates.mutable_data() + 3 * row);
    put(motion.attitude.angular_acceleration_B * defined, angular.mutable_data() + 3 * row);
    put(motion.force_W, force.mutable_data() + 3 * row);
    put(wrench.torque_B, torque.mutable_data() + 3 * row);
    thrust.mutable_data()[row] = wrench.thrust;
    for (int i = 0; i < allocation.rotors(); ++i) {
      const double speed = signed_sqrt(signed_square_for(allocation, wrench, i));
      speeds.mutable_data()[row * rotors + i] = speed;
      thrusts.mutable_data()[row * rotors + i] =
          rotor_thrust(vehicle.rotors[static_cast<std::size_t>(i)], speed);
    }
  }
  return py::dict("attitude"_a = attitude, "body_rates"_a = rates,
                  "angular_acceleration"_a = angular, "specific_force"_a = force,
                  "thrust"_a = thrust, "torque"_a = torque, "rotor_thrusts"_a = thrusts,
                  "rotor_speeds"_a = speeds);
}

}  // namespace

void bind_flatness(py::module_& m) {
  m.def("flatness", &flatness, "parameters"_a, "columns"_a, "vehicles"_a = 1,
        "What N points of trajectories ask of a vehicle, in air at rest: flat_motion() of "
        "control/tracking.hpp.\n\n"
        "columns: velocity, acceleration, jerk, snap (N, 3) [m/s ... m/s^4], world frame; yaw, "
        "yaw_rate, yaw_acceleration (N,) [rad ... rad/s^2]. vehicles: n, of N = T n rows in the "
        "order (T, n); quaternions keep their sign from one time to the next.\n\n"
        "Returns attitude (N, 4), body to world, scalar first; body_rates [rad/s] and "
        "angular_acceleration [rad/s^2] (N, 3), body frame; specific_force of the rotors (N, 3) "
        "[m/s^2], world frame; thrust (N,) [N], torque (N, 3) [N m], body frame; rotor_thrusts [N] "
        "and rotor_speeds [rad/s] (N, rotors). All but specific_force are NaN in free fall and "
        "where the vehicle is rolled by 90 degrees.\n"
        "Raises ParameterError where the rotors cannot give torque about each axis, ValueError for "
        "other shapes and numbers that are not finite.");
}

}  // namespace propwash::bindings
