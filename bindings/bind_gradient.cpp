#include <algorithm>
#include <map>

#include "fleet_class.hpp"
#include "modules.hpp"
#include "propwash/fleet/gradient.hpp"

namespace propwash::bindings {

namespace {

using Doubles = std::map<std::string, py::array_t<double, py::array::c_style>>;

}  // namespace

/// A recorded flight of a fleet. Python checks the arrays.
template <class T>
class PyGradient {
 public:
  /// Flies as PyFleet::rollout() does. requested: indices of the fields of the parameters.
  PyGradient(PyFleet<T>& fleet, const py::object& command, const py::object& steps,
             const py::object& substeps, const std::vector<std::size_t>& requested)
      : pool_(fleet.pool_), size_(fleet.size()) {
    const Command& commands = multicopter_command(command);
    parts_ = commands.parts();
    const auto each = static_cast<int>(PyFleet<T>::step_count(substeps));
    CommandBuffers<T> buffers;
    fleet.alone(false, [&] {
      FleetCommand<T> source(commands, fleet.fleet_, buffers);
      count_ = record_count(source.records(), steps);
      make(fleet, source.kind(), requested);
      states_ = records();
      std::vector<Span<const T>> parts(source.parts());
      for (py::ssize_t row = 0; row < count_; ++row) {
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = source.part(i, row);
        gradient_->record(fleet.fleet_, {parts.data(), parts.size()}, each);
        source.step(fleet.fleet_, row, each, fleet.executor());
        for (auto& [name, array] : states_) read(fleet.fleet_, name, array, row);
      }
    });
  }

  py::dict states() const { return dict_of(states_); }

  /// The columns of each part of the command, in the order of the commands' numbers; 0: a part
  /// without an axis for columns.
  py::dict parts() const {
    py::dict columns;
    for (const CommandPart& part : parts_) {
      const bool is_per_rotor = part.columns == CommandPart::one_per_rotor;
      columns[part.name] = part.tail() == 0 ? 0 : is_per_rotor ? gradient_->rotors() : part.columns;
    }
    return columns;
  }

  /// cotangents: by name of a part of the state, (K, n, width). Returns commands, start,
  /// motor_commands and parameters.
  py::dict pull(const Doubles& cotangents, std::size_t window) const {
    FleetRecord<const double> from;
    for_each_record(from, [&](const char* name, const double*& numbers) {
      const auto found = cotangents.find(name);
      if (found != cotangents.end()) numbers = found->second.data();
    });
    Doubles results = variables();
    FleetVariables<double> to;
    for_each_variable(to, [&](const char* name, double*& numbers) {
      auto& array = results.at(name);
      std::fill_n(array.mutable_data(), array.size(), 0.0);
      numbers = array.mutable_data();
    });
    {
      const py::gil_scoped_release release;
      gradient_->pull(from, to, window, executor_of(pool_));
    }
    return dict_of(results);
  }

  /// tangents: some of the results of pull(). Returns the tangents of the states.
  py::dict push(const Doubles& tangents) const {
    FleetVariables<const double> from;
    for_each_variable(from, [&](const char* name, const double*& numbers) {
      const auto found = tangents.find(name);
      if (found != tangents.end()) numbers = found->second.data();
    });
    Doubles results;
    FleetRecord<double> to;
    for_each_record(to, [&](const char* name, double*& numbers) {
      auto& array = results.emplace(name, shaped(count_, width(name))).first->second;
      std::fill_n(array.mutable_data(), array.size(), 0.0);
      numbers = array.mutable_data();
    });
    {
      const py::gil_scoped_release release;
      gradient_->push(from, to, executor_of(pool_));
    }
    return dict_of(results);
  }

 private:
  using Rows = typename PyFleet<T>::Rows;

  void make(PyFleet<T>& fleet, const FleetCommandKind& kind,
            const std::vector<std::size_t>& requested) {
    fleet.own_.with_each(fleet.fleet_.vehicle(), [&](const auto& parameters_of) {
      gradient_.emplace(fleet.fleet_, kind, parameters_of, requested, fleet.kernels_.trace);
    });
  }
  std::map<std::string, Rows> records() const {
    std::map<std::string, Rows> all;
    FleetRecord<const double> none;
    for_each_record(none, [&](const char* name, const double*&) {
      all.emplace(name, Rows({count_, size_, width(name)}));
    });
    return all;
  }
  void read(const Fleet<T>& fleet, const std::string& name, Rows& to, py::ssize_t row) const {
    const auto each = static_cast<std::size_t>(size_ * width(name.c_str()));
    fleet.read(field_named(name).field,
               {to.mutable_data() + static_cast<std::size_t>(row) * each, each});
  }
  py::ssize_t width(const char* name) const {
    const std::string part = name;
    if (part == "rotor_speeds") return gradient_->rotors();
    return part == "attitude" ? 4 : 3;
  }
  py::array_t<double, py::array::c_style> shaped(py::ssize_t count, py::ssize_t columns) const {
    return py::array_t<double, py::array::c_style>({count, size_, columns});
  }
  Doubles variables() const {
    using Shape = std::vector<py::ssize_t>;
    const py::ssize_t rotors = width("rotor_speeds");
    Doubles all;
    all.emplace("commands", shaped(count_, gradient_->command_width()));
    all.emplace("start", Shape{size_, gradient_->state_width()});
    all.emplace("motor_commands", Shape{size_, rotors});
    all.emplace("parameters", Shape{size_, gradient_->parameter_width()});
    return all;
  }
  template <class Record, class F>
  static void for_each_record(Record& record, const F& f) {
    f("position", record.position), f("velocity", record.velocity);
    f("attitude", record.attitude), f("body_rates", record.body_rates);
    f("rotor_speeds", record.rotor_speeds);
  }
  template <class Variables, class F>
  static void for_each_variable(Variables& all, const F& f) {
    f("commands", all.commands), f("start", all.start);
    f("motor_commands", all.motor_commands), f("parameters", all.parameters);
  }
  template <class Arrays>
  static py::dict dict_of(const Arrays& arrays) {
    py::dict result;
    for (const auto& [name, array] : arrays) result[name.c_str()] = array;
    return result;
  }

  MaybePool pool_;
  py::ssize_t size_;
  py::ssize_t count_ = 0;
  Span<const CommandPart> parts_;
  std::optional<FleetGradient<T>> gradient_;
  std::map<std::string, Rows> states_;
};

namespace {

template <class T>
void bind_gradient_of(py::module_& m, const char* name) {
  using Self = PyGradient<T>;
  py::class_<Self>(m, name, "A flight that is recorded for its derivatives; see Fleet.vjp.")
      .def(py::init<PyFleet<T>&, const py::object&, const py::object&, const py::object&,
                    const std::vector<std::size_t>&>(),
           "fleet"_a, "command"_a, "steps"_a, "substeps"_a, "requested"_a)
      .def("states", &Self::states)
      .def("parts", &Self::parts)
      .def("pull", &Self::pull, "cotangents"_a, "window"_a)
      .def("push", &Self::push, "tangents"_a);
}

}  // namespace

void bind_gradient(py::module_& m) {
  bind_gradient_of<float>(m, "GradientFloat32");
  bind_gradient_of<double>(m, "GradientFloat64");
}

}  // namespace propwash::bindings
