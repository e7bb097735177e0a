#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "derivative_kernels.hpp"
#include "fleet_class.hpp"
#include "modules.hpp"
#include "propwash/fleet/gradient.hpp"

namespace propwash::bindings {

namespace {

using Doubles = std::map<std::string, py::array_t<double, py::array::c_style>>;

/// The columns of each part of a command, in the order of the commands' numbers; 0: a part without
/// an axis for columns.
py::dict columns_of(Span<const CommandPart> parts, int rotors) {
  py::dict columns;
  for (const CommandPart& part : parts) {
    const bool is_per_rotor = part.columns == CommandPart::one_per_rotor;
    columns[part.name] = part.tail() == 0 ? 0 : is_per_rotor ? rotors : part.columns;
  }
  return columns;
}

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
      CommandRecords<T> source(commands, fleet.fleet_, buffers);
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

  py::dict parts() const { return columns_of(parts_, gradient_->rotors()); }

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
    fleet.overrides_.with_each(fleet.fleet_.vehicle(), [&](const auto& parameters_of) {
      gradient_.emplace(fleet.fleet_, kind, parameters_of, requested,
                        PROPWASH_KERNELS_OF(fleet.instruction_set_, trace, double));
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
  void read(const Fleet<Multicopter<>, T>& fleet, const std::string& name, Rows& to,
            py::ssize_t row) const {
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
  std::optional<FleetGradient<Multicopter<>, T>> gradient_;
  std::map<std::string, Rows> states_;
};

/// A flight whose commands depend on its states: every command is recorded alone.
template <class T>
class PyFlight {
 public:
  using Rows = typename PyFleet<T>::Rows;
  using Array = py::array_t<double, py::array::c_style>;
  using Cotangents = std::vector<std::optional<Array>>;

  /// A command with the traces that it was flown with.
  struct Step {
    std::shared_ptr<const FleetGradient<Multicopter<>, T>> gradient;
    typename FleetGradient<Multicopter<>, T>::Point point;
  };

  PyFlight(PyFleet<T>& fleet, const py::object& substeps, std::vector<std::size_t> requested)
      : fleet_(fleet),
        substeps_(static_cast<int>(PyFleet<T>::step_count(substeps))),
        requested_(std::move(requested)) {}

  /// Flies one command. Returns the Step, then the parts of the state.
  py::tuple step(const py::object& command) {
    const Command& commands = multicopter_command(command);
    auto taken = std::make_unique<Step>();
    const py::ssize_t n = fleet_.size(), rotors = fleet_.fleet_.rotors();
    std::array<Rows, 5> states{Rows({n, py::ssize_t{3}}), Rows({n, py::ssize_t{3}}),
                               Rows({n, py::ssize_t{4}}), Rows({n, py::ssize_t{3}}),
                               Rows({n, rotors})};
    std::array<Span<T>, 5> to;
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = PyFleet<T>::span_of(states[k]);
    fleet_.alone(n * substeps_ > PyFleet<T>::worth_releasing, [&] {
      auto& fleet = fleet_.fleet_;
      fleet.require_idle();
      CommandRecords<T> source(commands, fleet, buffers_);
      require_one_command(source.records(), "step()");
      prepare(source.kind());
      std::vector<Span<const T>> parts(source.parts());
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = source.part(i, 0);
      taken->gradient = gradient_;
      taken->point = gradient_->point(fleet, {parts.data(), parts.size()}, substeps_);
      source.step(fleet, 0, substeps_, fleet_.executor());
      for (std::size_t k = 0; k < to.size(); ++k) fleet.read(named_fields[k].field, to[k]);
    });
    parts_ = commands.parts();
    return py::make_tuple(std::move(taken), states[0], states[1], states[2], states[3], states[4]);
  }

  py::dict parts() const { return columns_of(parts_, gradient_->rotors()); }
  /// Count of numbers in the memory of a vehicle, and of past motor commands at its start.
  py::tuple widths() const {
    return py::make_tuple(gradient_->memory_width(), gradient_->history_width());
  }

  /// cotangents: of the parts of the state after the step, (n, width) each, or None; memory: of the
  /// memory. Returns those of state, memory, command and parameters before it.
  py::tuple pull(const Step& step, const Cotangents& cotangents,
                 const std::optional<Array>& memory) const {
    const FleetGradient<Multicopter<>, T>& gradient = *step.gradient;
    const py::ssize_t n = fleet_.size();
    const auto zeros = [n](py::ssize_t width) {
      Array array({n, width});
      std::fill_n(array.mutable_data(), array.size(), 0.0);
      return array;
    };
    Array before = zeros(gradient.memory_width()), state = zeros(gradient.state_width()),
          command = zeros(gradient.command_width()), parameters = zeros(gradient.parameter_width());
    if (memory) std::copy_n(memory->data(), before.size(), before.mutable_data());
    const auto data = [&](std::size_t k) {
      const auto& rows = cotangents.at(k);
      return rows ? rows->data() : nullptr;
    };
    const FleetRecord<const double> from{data(0), data(1), data(2), data(3), data(4)};
    const FleetVariables<double> to{command.mutable_data(), state.mutable_data(), nullptr,
                                    parameters.mutable_data()};
    double* const carried = before.mutable_data();
    {
      const py::gil_scoped_release release;
      gradient.pull(step.point, from, carried, to, fleet_.executor());
    }
    return py::make_tuple(state, before, command, parameters);
  }

 private:
  /// Makes the traces at the first step, and after a change of the fleet.
  void prepare(const FleetCommandKind& kind) {
    const bool is_same = !gradient_ || (kind.level == kind_.level && kind.loop == kind_.loop &&
                                        kind.free_heading == kind_.free_heading);
    if (!is_same) {
      throw py::value_error(
          "commands: expected the class and the parts of the first step; make another Flight for "
          "other commands");
    }
    if (gradient_ && gradient_->is_current(fleet_.fleet_)) return;
    fleet_.overrides_.with_each(fleet_.fleet_.vehicle(), [&](const auto& parameters_of) {
      gradient_ = std::make_shared<const FleetGradient<Multicopter<>, T>>(
          fleet_.fleet_, kind, parameters_of, requested_,
          PROPWASH_KERNELS_OF(fleet_.instruction_set_, trace, double));
    });
    kind_ = kind;
  }

  PyFleet<T>& fleet_;
  int substeps_;
  std::vector<std::size_t> requested_;
  CommandBuffers<T> buffers_;
  FleetCommandKind kind_{};
  Span<const CommandPart> parts_;
  std::shared_ptr<const FleetGradient<Multicopter<>, T>> gradient_;
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

template <class T>
void bind_flight_of(py::module_& m, const char* name) {
  using Self = PyFlight<T>;
  py::class_<Self> flight(m, name, "A flight in closed loop; see propwash.torch.TensorFlight.");
  py::class_<typename Self::Step>(flight, "Step", "A command of the flight.");
  flight
      .def(py::init<PyFleet<T>&, const py::object&, std::vector<std::size_t>>(), "fleet"_a,
           "substeps"_a, "requested"_a, py::keep_alive<1, 2>())
      .def("step", &Self::step, "command"_a)
      .def("parts", &Self::parts)
      .def("widths", &Self::widths)
      .def("pull", &Self::pull, "step"_a, "cotangents"_a, "memory"_a);
}

}  // namespace

void bind_gradient(py::module_& m) {
  bind_gradient_of<float>(m, "GradientFloat32");
  bind_gradient_of<double>(m, "GradientFloat64");
  bind_flight_of<float>(m, "FlightFloat32");
  bind_flight_of<double>(m, "FlightFloat64");
}

}  // namespace propwash::bindings
