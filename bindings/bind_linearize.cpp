#include <string>
#include <vector>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/linearize.hpp"

namespace propwash::bindings {

namespace {

/// Linearisation points (states and commands) as rows (n, columns) that Python has checked.
class Points {
 public:
  explicit Points(const py::dict& from) : arrays_(arrays_from(from)) {}

  py::ssize_t count() const { return arrays_.at("position").shape(0); }
  const double* row(const char* name, py::ssize_t i) const { return arrays_.at(name).data(i, 0); }
  Linearizer::State state(py::ssize_t i) const {
    return {vec3_at(row("position", i)), vec3_at(row("velocity", i)), quat_at(row("attitude", i)),
            vec3_at(row("body_rates", i)), speeds("rotor_speeds", i)};
  }
  Linearizer::Speeds speeds(const char* name, py::ssize_t i) const {
    return small_array(row(name, i), static_cast<int>(arrays_.at(name).shape(1)));
  }
  RateThrust<double> rate_thrust(py::ssize_t i) const {
    return {vec3_at(row("input", i)), row("input", i)[3]};
  }
  RateControllerState<double> memory(py::ssize_t i) const {
    const double* const x = row("controller", i);
    return {{vec3_at(x), vec3_at(x + 3)}, vec3_at(x + 6)};
  }

 private:
  Arrays arrays_;
};

/// Parameters of vehicle i. individual: parameters by name of the field, a row for each vehicle.
VehicleParameters individual_vehicle(const VehicleParameters& shared, const Arrays& individual,
                                     py::ssize_t i) {
  VehicleParameters vehicle = shared;
  for (const auto& [name, values] : individual) {
    const auto field = find_field(vehicle, name);
    if (field) field->set(values.data() + i * field->size());
  }
  return vehicle;
}

void put(const Eigen::MatrixXd& from, Array& to, py::ssize_t i) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(to.mutable_data() + i * from.size(), from.rows(), from.cols()) = from;
}

/// A (n, k, k), B (n, k, m), C (n, p, k), D (n, p, m) and the drift (n, k).
py::tuple linearized(const py::object& parameters, const py::dict& individual_from,
                     const py::dict& points_from, bool discrete, const std::string& integrator,
                     double dt, bool rate_thrust, const py::object& control_vehicle) {
  const LinearizeOptions options{discrete, integrator_named(integrator), dt,
                                 optional_vehicle(control_vehicle)};
  const VehicleParameters shared = vehicle_parameters(parameters);
  const Arrays individual = arrays_from(individual_from);
  const Points points(points_from);
  const py::ssize_t count = points.count();
  const Linearizer common(shared, options);
  std::vector<Array> arrays;
  for (py::ssize_t i = 0; i < count; ++i) {
    if (i % 64 == 0 && PyErr_CheckSignals() != 0) throw py::error_already_set();
    const auto at = [&](const Linearizer& vehicle) {
      const auto state = points.state(i);
      return rate_thrust ? vehicle.at(state, points.rate_thrust(i), points.memory(i))
                         : vehicle.at(state, points.speeds("input", i));
    };
    const LinearModel model =
        individual.empty() ? at(common)
                           : at(Linearizer(individual_vehicle(shared, individual, i), options));
    const Eigen::MatrixXd drift = model.drift;
    const Eigen::MatrixXd* const matrices[] = {&model.A, &model.B, &model.C, &model.D, &drift};
    for (std::size_t m = 0; m < 5; ++m) {
      if (i == 0)
        arrays.emplace_back(
            std::vector<py::ssize_t>{count, matrices[m]->rows(), matrices[m]->cols()});
      put(*matrices[m], arrays[m], i);
    }
  }
  return py::make_tuple(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4]);
}

}  // namespace

void bind_linearize(py::module_& m) {
  m.def("linearize", &linearized, "parameters"_a, "individual"_a, "points"_a, "discrete"_a,
        "integrator"_a, "dt"_a, "rate_thrust"_a, "control_vehicle"_a);
}

}  // namespace propwash::bindings
