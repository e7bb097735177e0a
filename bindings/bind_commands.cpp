#include <array>
#include <iterator>
#include <utility>

#include "command_tables.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

using Kind = CommandKind;

std::string repr_of(py::handle self) {
  const Command* const made = as_command(self);
  if (made == nullptr) return "a command without a call of __init__()";
  const Command& command = *made;
  std::string text;
  for (std::size_t i = 0; i < command.parts().size(); ++i) {
    const CommandArray* const numbers = command.numbers(i);
    if (numbers == nullptr) continue;
    const CommandPart& part = command.parts()[i];
    if (i > 0) text += ", ";
    if (command.kind() != Kind::rotor_speeds) text += std::string(part.name) + "=";
    const py::array array = numbers->copy();
    text +=
        (part.tail() > 0 || is_for_outer_loop(command.kind()) ? py::repr(array) : py::str(array))
            .cast<std::string>();
  }
  if (command.kind() == Kind::trajectory) {
    text += ", controller='" + std::string(command.controller()) + "'";
  }
  return std::string(table_of(command.kind()).name) + "(" + text + ")";
}

/// For pickle and copy: the class and the arguments of its constructor.
py::tuple reduced(const py::object& self) {
  const auto& command = self.cast<const Command&>();
  py::list arguments;
  for (std::size_t i = 0; i < command.parts().size(); ++i) {
    const CommandArray* const numbers = command.numbers(i);
    arguments.append(numbers == nullptr ? py::object(py::none()) : numbers->copy());
  }
  if (command.kind() == Kind::trajectory) arguments.append(command.controller());
  return py::make_tuple(py::type::of(self), py::tuple(arguments));
}

std::string meaning_of(Kind kind) {
  std::string text = table_of(kind).meaning;
  if (is_for_outer_loop(kind)) {
    text += " As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.";
  }
  return text + "\nRaises ValueError for a wrong shape" +
         (kind == Kind::attitude_thrust
              ? ", non-finite numbers or a quaternion that is not of unit length."
              : " or non-finite numbers.");
}

template <Kind which, std::size_t i>
auto argument() {
  constexpr const CommandPart& part = table_of(which).parts[i];
  if constexpr (part.is_optional) {
    return py::arg(part.name) = py::none();
  } else {
    return py::arg(part.name);
  }
}

/// A view of the part's numbers; the returned array keeps the command alive.
template <Kind which, std::size_t i>
auto part_of(const py::object& self) {
  const CommandArray* const numbers = self.cast<const Command&>().numbers(i);
  if constexpr (table_of(which).parts[i].is_optional) {
    return numbers == nullptr ? py::object(py::none()) : py::object(numbers->view(self));
  } else {
    return numbers->view(self);
  }
}

template <std::size_t>
using PartValue = py::object;

template <Kind which, std::size_t... i>
void bind_kind(py::module_& m, std::index_sequence<i...>) {
  using Self = CommandOf<which>;
  using Values = std::array<py::object, sizeof...(i)>;
  constexpr const CommandTable& table = table_of(which);
  py::class_<Self, Command> type(m, table.name, meaning_of(which).c_str());
  if constexpr (which == Kind::trajectory) {
    type.def(py::init([](const PartValue<i>&... value, const std::string& controller) {
               return Self(Values{value...}, controller);
             }),
             argument<which, i>()..., "controller"_a = controllers[0])
        .def_property_readonly("controller", &Self::controller, "name of the controller");
  } else {
    type.def(py::init([](const PartValue<i>&... value) { return Self(Values{value...}); }),
             argument<which, i>()...);
  }
  const auto add_part = [&](const CommandPart& part, auto get) {
    const std::string meaning = std::string(part.unit) + ", read-only";
    type.def_property_readonly(part.name, get, meaning.c_str());
  };
  (add_part(table.parts[i], &part_of<which, i>), ...);
}

template <std::size_t... kind>
void bind_kinds(py::module_& m, std::index_sequence<kind...>) {
  (bind_kind<Kind(kind)>(m, std::make_index_sequence<command_tables[kind].count()>()), ...);
}

}  // namespace

void bind_commands(py::module_& m) {
  py::class_<Command>(m, "Command", "Base class of all commands.")
      .def("__repr__", &repr_of)
      .def("__reduce__", &reduced);
  bind_kinds(m, std::make_index_sequence<std::size(command_tables)>());
}

}  // namespace propwash::bindings
