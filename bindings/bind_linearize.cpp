#include <utility>
#include <vector>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/linearize.hpp"

namespace propwash::bindings {

namespace {

/// Rows of numbers, (n, columns), that Python has checked.
class Rows {
 public:
  Rows(const py::dict& from, const char* name)
      : array_(shaped_array(from[name], name, "finite numbers of shape (n, columns)",
                            {any_length, any_length})) {}
  py::ssize_t count() const { return array_.shape(0); }
  int columns() const { return static_cast<int>(array_.shape(1)); }
  const double* row(py::ssize_t i) const { return array_.data() + i * array_.shape(1); }
  Vec3<double> vec3(py::ssize_t i, int from = 0) const {
    const double* x = row(i) + from;
    return {x[0], x[1], x[2]};
  }
  SmallArray<double> some(py::ssize_t i) const {
    SmallArray<double> values;
    values.resize(columns());
    for (int k = 0; k < columns(); ++k) values[k] = row(i)[k];
    return values;
  }

 private:
  Array array_;
};

/// The states and commands about which to linearise, a row for each.
struct Points {
  explicit Points(const py::dict& from)
      : position(from, "position"),
        velocity(from, "velocity"),
        attitude(from, "attitude"),
        body_rates(from, "body_rates"),
        rotor_speeds(from, "rotor_speeds"),
        controller(from, "controller"),
        input(from, "input") {}

  Linearizer::State state(py::ssize_t i) const {
    const double* q = attitude.row(i);
    return {position.vec3(i),
            velocity.vec3(i),
            {q[0], q[1], q[2], q[3]},
            body_rates.vec3(i),
            rotor_speeds.some(i)};
  }
  RateControllerState<double> memory(py::ssize_t i) const {
    return {{controller.vec3(i), controller.vec3(i, 3)}, controller.vec3(i, 6)};
  }

  Rows position, velocity, attitude, body_rates, rotor_speeds, controller, input;
};

/// Parameters that differ per vehicle: field and values, a row for each.
using OwnParameters = std::vector<std::pair<std::string, Array>>;

VehicleParameters own_vehicle(const VehicleParameters& shared, const OwnParameters& own,
                              py::ssize_t i) {
  VehicleParameters vehicle = shared;
  for (const auto& [name, values] : own) {
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
py::tuple linearized(const VehicleParameters& shared, const OwnParameters& own,
                     const Points& points, const LinearizeOptions& options, bool rate_thrust) {
  const py::ssize_t count = points.position.count();
  const Linearizer common(shared, options);
  std::vector<Array> arrays;
  for (py::ssize_t i = 0; i < count; ++i) {
    if (i % 64 == 0 && PyErr_CheckSignals() != 0) throw py::error_already_set();
    const auto at = [&](const Linearizer& vehicle) {
      const auto state = points.state(i);
      if (!rate_thrust) return vehicle.at(state, points.input.some(i));
      const RateThrust<double> command{points.input.vec3(i), points.input.row(i)[3]};
      return vehicle.at(state, command, points.memory(i));
    };
    const LinearModel model =
        own.empty() ? at(common) : at(Linearizer(own_vehicle(shared, own, i), options));
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
  m.def(
      "linearize",
      [](const py::object& parameters, const py::dict& own, const py::dict& points, bool discrete,
         const std::string& integrator, double dt, bool rate_thrust) {
        OwnParameters mine;
        for (const auto& item : own) {
          mine.emplace_back(py::str(item.first), finite_array(item.second, "own", "numbers"));
        }
        const LinearizeOptions options{discrete, integrator_named(integrator), dt};
        return linearized(vehicle_parameters(parameters), mine, Points(points), options,
                          rate_thrust);
      },
      "parameters"_a, "own"_a, "points"_a, "discrete"_a, "integrator"_a, "dt"_a, "rate_thrust"_a);
}

}  // namespace propwash::bindings
