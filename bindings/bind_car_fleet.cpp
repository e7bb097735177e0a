#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <vector>

#include "fleet_commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/fleet/fleet.hpp"
#include "propwash/vehicle/car.hpp"
#include "shared_fleet.hpp"

namespace propwash::bindings {

namespace {

/// The class behind Python's CarFleet. Its kernels are those of the baseline instruction set, as
/// most of a car's step is sine and cosine.
template <class T>
class PyCarFleet : public SharedFleet {
 public:
  using Rows = py::array_t<T, py::array::c_style>;
  using MaybeRows = std::optional<Rows>;
  using MaybeMask = std::optional<py::array_t<bool, py::array::c_style>>;

  PyCarFleet(const py::object& parameters, py::ssize_t size, const VehicleFleetOptions& options,
             const MaybePool& pool)
      : SharedFleet(pool),
        fleet_(car_parameters(parameters), static_cast<std::size_t>(size), options),
        commands_(2 * fleet_.size()) {}

  py::ssize_t size() const { return static_cast<py::ssize_t>(fleet_.size()); }
  /// The result of a member function of the fleet without arguments.
  template <auto get>
  auto value() const {
    return alone(false, [&] { return (fleet_.*get)(); });
  }

  void step(const py::object& value, const py::object& substeps) {
    const Command& command = command_of(CommandKind::speed_yaw_rate, value);
    const py::ssize_t count = step_count(substeps);
    const py::ssize_t piece = std::max<py::ssize_t>(1, uninterrupted / size());
    std::vector<T> buffers[2];
    std::vector<FleetPart<T>> parts;
    for (std::size_t p = 0; p < 2; ++p) {
      const CommandPart& part = command.parts()[p];
      parts.emplace_back(*command.numbers(p), part.name, part.tail(), size(), 1, buffers[p]);
      require_one_command(parts[p].records(), "step()");
    }
    for (py::ssize_t done = 0; done < count; done += piece) {
      const auto now = static_cast<int>(std::min(piece, count - done));
      alone(now * size() > worth_releasing, [&] {
        const Span<const T> speed = parts[0].row(0), yaw_rate = parts[1].row(0);
        for (std::size_t i = 0; i < fleet_.size(); ++i) {
          commands_[2 * i] = speed[i], commands_[2 * i + 1] = yaw_rate[i];
        }
        fleet_.step(commands_, now, executor());
      });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  Rows read() const {
    Rows rows({size(), py::ssize_t{3}});
    const Span<T> to = span_of(rows);
    alone(size() > worth_releasing * 64, [&] { fleet_.read(to); });
    return rows;
  }
  Array time() const {
    Array seconds(size());
    const Span<double> to{seconds.mutable_data(), fleet_.size()};
    alone(false, [&] { fleet_.time(to); });
    return seconds;
  }

  // rows and masks are arrays that Python has checked
  void reset(const MaybeRows& rows, const MaybeMask& mask, std::optional<std::uint64_t> seed) {
    const auto from = view(rows);
    const auto chosen = view(mask);
    alone(size() > worth_releasing,
          [&] { return seed ? fleet_.reset(from, *seed) : fleet_.reset(from, chosen); });
  }
  void set_state(const Rows& rows, const MaybeMask& mask) {
    const auto from = constant_span_of(rows);
    const auto chosen = view(mask);
    alone(size() > worth_releasing, [&] { fleet_.set_state(from, chosen); });
  }
  void set_parameters(const std::vector<py::object>& parameters) {
    std::vector<CarParameters> cars;
    for (const auto& each : parameters) cars.push_back(car_parameters(each));
    alone(true, [&] { fleet_.set_parameters([&](std::size_t i) { return cars[i]; }); });
  }

  py::bytes snapshot() const {
    const auto bytes = alone(size() > worth_releasing, [&] { return fleet_.snapshot(); });
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void restore(const py::bytes& snapshot) {
    const auto text = static_cast<std::string_view>(snapshot);
    const Span<const std::byte> bytes{reinterpret_cast<const std::byte*>(text.data()), text.size()};
    alone(size() > worth_releasing, [&] { fleet_.restore(bytes); });
  }

 private:
  template <class Values>
  static auto view(const std::optional<Values>& values) {
    return values ? constant_span_of(*values) : decltype(constant_span_of(*values)){};
  }

  Fleet<Car<>, T> fleet_;
  std::vector<T> commands_;
};

template <class T>
void bind_car_fleet_of(py::module_& m, const char* name) {
  using Self = PyCarFleet<T>;
  using Bound = Fleet<Car<>, T>;
  py::class_<Self>(m, name, "See propwash.CarFleet.")
      .def(py::init([](const py::object& parameters, py::ssize_t size,
                       const std::string& integrator, double dt, std::uint64_t seed,
                       std::uint32_t first_id, bool noise, const MaybePool& pool) {
             const VehicleFleetOptions options{integrator_named(integrator), dt, seed, first_id,
                                               noise};
             return std::make_unique<Self>(parameters, size, options, pool);
           }),
           "parameters"_a, "size"_a, "integrator"_a, "dt"_a, "seed"_a, "first_id"_a, "noise"_a,
           "pool"_a)
      .def("step", &Self::step, "command"_a, "substeps"_a)
      .def("read", &Self::read)
      .def("reset", &Self::reset, "rows"_a, "mask"_a, "seed"_a)
      .def("set_state", &Self::set_state, "rows"_a, "mask"_a)
      .def("set_parameters", &Self::set_parameters, "parameters"_a)
      .def("snapshot", &Self::snapshot)
      .def("restore", &Self::restore, "snapshot"_a)
      .def_property_readonly("time", &Self::time)
      .def_property_readonly("threads", &Self::threads)
      .def_property_readonly("steps", &Self::template value<&Bound::steps>)
      .def_property_readonly(
          "seed", [](const Self& self) { return self.template value<&Bound::options>().seed; });
}

}  // namespace

void bind_car_fleet(py::module_& m) {
  bind_car_fleet_of<float>(m, "CarFleetFloat32");
  bind_car_fleet_of<double>(m, "CarFleetFloat64");
}

}  // namespace propwash::bindings
