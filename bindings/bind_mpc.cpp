#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/mpc.hpp"

namespace propwash::bindings {

namespace {

MpcParameters mpc_parameters(const py::dict& from) {
  const auto number = [&](const char* name) { return from[name].cast<double>(); };
  MpcParameters to;
  to.horizon = from["horizon"].cast<int>();
  to.period = number("period");
  to.substeps = from["substeps"].cast<int>();
  to.position_tolerance = number("position_tolerance");
  to.velocity_tolerance = number("velocity_tolerance");
  to.tilt_tolerance = number("tilt_tolerance");
  to.yaw_tolerance = number("yaw_tolerance");
  to.rates_tolerance = number("rates_tolerance");
  to.command_tolerance = number("command_tolerance");
  to.disturbance_bandwidth = number("disturbance_bandwidth");
  return to;
}

/// Controllers of n vehicles. States are rows (13 + N): position, velocity, attitude, body rates,
/// rotor speeds.
class Controllers {
 public:
  Controllers(const py::object& vehicle, const py::dict& parameters, std::size_t size)
      : all_(size, Mpc(vehicle_parameters(vehicle), mpc_parameters(parameters))),
        points_(static_cast<std::size_t>(all_[0].parameters().horizon) + 1) {}

  /// states: (n, 13 + N), points: (horizon + 1, 13 + N); both checked by Python.
  Array command(const Array& states, const Array& points, double elapsed) {
    for (std::size_t k = 0; k < points_.size(); ++k) points_[k] = state(points, k);
    const int rotors = all_[0].rotors();
    auto commands = new_array<double>(all_.size(), static_cast<std::size_t>(rotors));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto speeds = all_[i].command(state(states, i), points_, elapsed);
      std::copy_n(speeds.begin(), rotors, commands.mutable_data(static_cast<py::ssize_t>(i), 0));
    }
    return commands;
  }
  void reset() {
    for (auto& one : all_) one.reset();
  }
  /// (n, horizon + 1, 3)
  Array plan() const {
    return each(points_.size(),
                [](const Mpc& one, std::size_t k) { return one.plan()[k].position; });
  }
  Array force() const {
    return each(1, [](const Mpc& one, std::size_t) { return one.disturbance_force(); });
  }
  Array torque() const {
    return each(1, [](const Mpc& one, std::size_t) { return one.disturbance_torque(); });
  }

 private:
  Mpc::State state(const Array& rows, std::size_t i) const {
    const double* const x = rows.data(static_cast<py::ssize_t>(i), 0);
    return {vec3_at(x), vec3_at(x + 3), quat_at(x + 6), vec3_at(x + 10),
            small_array(x + 13, all_[0].rotors())};
  }
  template <class F>
  Array each(std::size_t count, const F& vector) const {
    Array result(
        {static_cast<py::ssize_t>(all_.size()), static_cast<py::ssize_t>(count), py::ssize_t{3}});
    double* to = result.mutable_data();
    for (const auto& one : all_) {
      for (std::size_t k = 0; k < count; ++k) {
        const Vec3<double> v = vector(one, k);
        *to++ = v.x, *to++ = v.y, *to++ = v.z;
      }
    }
    return result;
  }

  std::vector<Mpc> all_;
  std::vector<Mpc::State> points_;
};

}  // namespace

void bind_mpc(py::module_& m) {
  py::class_<Controllers>(m, "Mpc")
      .def(py::init<const py::object&, const py::dict&, std::size_t>(), "vehicle"_a, "parameters"_a,
           "size"_a)
      .def("command", &Controllers::command, "states"_a, "points"_a, "elapsed"_a)
      .def("reset", &Controllers::reset)
      .def_property_readonly("plan", &Controllers::plan)
      .def_property_readonly("disturbance_force", &Controllers::force)
      .def_property_readonly("disturbance_torque", &Controllers::torque);
}

}  // namespace propwash::bindings
