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

/// columns: arrays by name, (N,) or (N, 3). vehicles: n, if the N = T n rows are in the order (T,
/// n); the sign of each vehicle's quaternion is then continuous in time.
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
  const auto new_rows = [n](py::ssize_t columns) { return Array({n, columns}); };
  Array attitude = new_rows(4), rates = new_rows(3), angular = new_rows(3), force = new_rows(3);
  Array thrust(n), torque = new_rows(3), thrusts = new_rows(allocation.rotors()),
                   speeds = new_rows(allocation.rotors());
  for (py::ssize_t row = 0; row < n; ++row) {
    const auto at = [row](const Array& rows) { return vec3_at(rows.data(row, 0)); };
    const TrajectoryPoint<double> point{
        {},       at(velocity), at(acceleration), at(jerk),
        at(snap), yaw.at(row),  yaw_rate.at(row), yaw_acceleration.at(row)};
    const auto motion = flat_motion(model, vehicle.body.mass, point);
    const double one =
        has_attitude(motion, yaw.at(row)) ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    const auto& q = motion.attitude.attitude;
    double sign = one;  // sign of the same vehicle's quaternion one time earlier
    if (row >= vehicles) {
      const double* last = attitude.data(row - vehicles, 0);
      if (q.w * last[0] + q.x * last[1] + q.y * last[2] + q.z * last[3] < 0.0) sign = -one;
    }
    put(Quat<double>{q.w * sign, q.x * sign, q.y * sign, q.z * sign},
        attitude.mutable_data(row, 0));
    put(motion.attitude.rates_B * one, rates.mutable_data(row, 0));
    put(motion.attitude.angular_acceleration_B * one, angular.mutable_data(row, 0));
    put(motion.force_W, force.mutable_data(row, 0));
    const Wrench<double> wrench{motion.rotors.torque_B * one, motion.rotors.thrust * one};
    put(wrench.torque_B, torque.mutable_data(row, 0));
    thrust.mutable_at(row) = wrench.thrust;
    for (int i = 0; i < allocation.rotors(); ++i) {
      const double speed = signed_sqrt(signed_square_for(allocation, wrench, i));
      speeds.mutable_at(row, i) = speed;
      thrusts.mutable_at(row, i) = rotor_thrust(vehicle.rotors[static_cast<std::size_t>(i)], speed);
    }
  }
  return py::dict("attitude"_a = attitude, "body_rates"_a = rates,
                  "angular_acceleration"_a = angular, "specific_force"_a = force,
                  "thrust"_a = thrust, "torque"_a = torque, "rotor_thrusts"_a = thrusts,
                  "rotor_speeds"_a = speeds);
}

}  // namespace

void bind_flatness(py::module_& m) {
  m.def("flatness", &flatness, "parameters"_a, "columns"_a, "vehicles"_a,
        "See propwash.trajectories.flatness.");
}

}  // namespace propwash::bindings
