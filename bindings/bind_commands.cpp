#include <algorithm>
#include <cstdint>
#include <cstring>

#include "commands.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

constexpr const char* rates_expected =
    "3 finite numbers [rad/s], or an array of shape (T, 3), (n, 3) or (T, n, 3)";
constexpr const char* thrust_expected =
    "a finite number [N], or an array of shape (T,), (n,) or (T, n)";
constexpr const char* speeds_expected =
    "finite numbers [rad/s], one for each rotor, or an array of shape (T, N), (n, N) or (T, n, N)";

/// An exponent of ones alone marks what is not finite: one added to it carries into the sign's
/// place. Integer sums are vectorised, comparisons of numbers that end a loop are not.
template <class Word, class Number>
py::ssize_t first_not_finite_of(const Number* numbers, py::ssize_t count, Word exponent) {
  static_assert(sizeof(Word) == sizeof(Number));
  const Word one = exponent & (~exponent << 1);
  constexpr Word sign = Word(1) << (8 * sizeof(Word) - 1);
  const auto carry = [&](py::ssize_t i) {
    Word bits;
    std::memcpy(&bits, numbers + i, sizeof bits);
    return static_cast<Word>((bits & exponent) + one);
  };
  Word all = 0;
  for (py::ssize_t i = 0; i < count; ++i) all |= carry(i);
  if ((all & sign) == 0) return -1;
  py::ssize_t first = 0;
  while ((carry(first) & sign) == 0) ++first;
  return first;
}

/// Whether a value is an array that needs no conversion: numpy would look for long.
bool is_ready(py::handle value) {
  if (!py::isinstance<py::array>(value)) return false;
  const auto array = py::reinterpret_borrow<py::array>(value);
  const py::dtype type = array.dtype();
  const int number = type.num();
  return (number == py::dtype::num_of<float>() || number == py::dtype::num_of<double>()) &&
         type.byteorder() == '=' && (array.flags() & py::array::c_style) != 0;
}

}  // namespace

bool go_together(const Numbers& a, int a_tail, const Numbers& b, int b_tail) {
  const int a_axes = a.ndim() - a_tail;
  const int b_axes = b.ndim() - b_tail;
  for (int k = 1; k <= std::min(a_axes, b_axes); ++k) {
    const py::ssize_t x = a.shape(a_axes - k);
    const py::ssize_t y = b.shape(b_axes - k);
    const bool one_is_for_all = k == 1 && std::max(a_axes, b_axes) == 2 && (x == 1 || y == 1);
    if (x != y && !one_is_for_all) return false;
  }
  return true;
}

py::ssize_t rows_of_one_vehicle(const CommandPartView* first, std::size_t count) {
  const CommandPartView* const last = first + count;
  const bool has_vehicles =
      std::any_of(first, last, [](const CommandPartView& part) { return part.axes() > 1; });
  py::ssize_t rows = -1;
  const char* from = "";
  for (const CommandPartView* part = first; part != last; ++part) {
    const int axes = part->axes();
    const int row_axes = axes > 0 && (axes > 1 || !has_vehicles) ? 1 : 0;
    if (axes > row_axes && part->numbers->shape(row_axes) != 1) {
      throw py::value_error("command: expected one for one vehicle, or rows of them, got " +
                            std::string(part->name) + " of shape " + part->numbers->shape_text() +
                            ", which are for the vehicles of a Fleet");
    }
    if (row_axes == 0) continue;
    if (rows >= 0 && rows != part->entries()) {
      throw py::value_error(std::string(part->name) + ": expected as many rows as " + from + ", " +
                            std::to_string(rows) + ", got " + std::to_string(part->entries()));
    }
    rows = part->entries();
    from = part->name;
  }
  return rows;
}

py::ssize_t first_not_finite(const float* numbers, py::ssize_t count) {
  return first_not_finite_of<std::uint32_t>(numbers, count, 0x7f800000u);
}
py::ssize_t first_not_finite(const double* numbers, py::ssize_t count) {
  return first_not_finite_of<std::uint64_t>(numbers, count, 0x7ff0000000000000u);
}

Numbers::Numbers(py::handle value, const char* name, const char* expected, int least_axes, int axes,
                 py::ssize_t columns) {
  if (least_axes == 0 && PyFloat_CheckExact(value.ptr())) {  // an array of it would cost far more
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    if (!std::isfinite(number)) refuse(name, expected, value);
    std::memcpy(small_, &number, sizeof number);
    return;
  }
  py::array array;
  if (is_ready(value)) {
    array = py::reinterpret_borrow<py::array>(value);
    is_float_ = array.itemsize() == sizeof(float);
  } else {
    array = py::array::ensure(value);  // clears Python's error where there is none
    if (!array) refuse(name, expected, value);
    const py::dtype type = array.dtype();
    const char kind = type.kind();
    if (kind != 'f' && kind != 'i' && kind != 'u') refuse(name, expected, value);
    is_float_ = kind == 'f' && type.itemsize() == sizeof(float);
    using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
    if (is_float_) {
      array = Floats::ensure(array);
    } else {
      array = Array::ensure(array);
    }
    if (!array) refuse(name, expected, value);
  }
  const auto count = static_cast<int>(array.ndim());
  const py::ssize_t last = count > 0 ? array.shape(count - 1) : 1;
  const bool fits = columns != 0 ? last == columns : last != 0;
  if (count < least_axes || count > axes || (least_axes > 0 && !fits)) {
    refuse(name, expected, value);
  }
  take(array);
  const py::ssize_t bad =
      is_float_ ? first_not_finite(floats(), size_) : first_not_finite(doubles(), size_);
  if (bad < 0) return;
  if (ndim_ == 0) refuse(name, expected, value);
  throw py::value_error(std::string(name) + ": expected " + expected + ", all finite, got " +
                        described(value) + ", where " + place_text(bad) + " is " +
                        std::to_string((*this)[bad]));
}

void Numbers::take(const py::array& array) {
  ndim_ = static_cast<int>(array.ndim());
  for (int axis = 0; axis < ndim_; ++axis) {
    shape_[axis] = array.shape(axis);
    size_ *= shape_[axis];
  }
  if (bytes() > sizeof small_) large_.reset(new std::byte[bytes()]);
  if (size_ > 0) std::memcpy(data(), array.data(), bytes());
}

py::array Numbers::view(py::handle owner) const {
  const auto type = is_float_ ? py::dtype::of<float>() : py::dtype::of<double>();
  const std::vector<py::ssize_t> shape(shape_, shape_ + ndim_);
  py::array array =
      owner.is_none() ? py::array(type, shape, data()) : py::array(type, shape, data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::string Numbers::shape_text() const {
  std::string text = "(";
  for (int axis = 0; axis < ndim_; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape_[axis]);
  }
  return text + (ndim_ == 1 ? ",)" : ")");
}

std::string Numbers::place_text(py::ssize_t i) const {
  std::string text = "]";
  for (int axis = ndim_ - 1; axis >= 0; --axis) {
    text = std::to_string(i % shape_[axis]) + text;
    i /= shape_[axis];
    text = (axis > 0 ? ", " : "[") + text;
  }
  return text;
}

RateThrustCommand::RateThrustCommand(py::handle rates, py::handle thrust)
    : rates_(rates, "rates", rates_expected, 1, 3, 3),
      thrust_(thrust, "thrust", thrust_expected, 0, 2, 0) {
  if (go_together(rates_, 1, thrust_, 0)) return;
  if (rates_.ndim() == 2 && thrust_.ndim() == 1) rows();
  throw py::value_error("thrust: expected a shape that goes with rates of shape " +
                        rates_.shape_text() + ", got " + thrust_.shape_text());
}

py::ssize_t RateThrustCommand::rows() const {
  const CommandPartView parts[] = {{"rates", &rates_, 1}, {"thrust", &thrust_, 0}};
  return rows_of_one_vehicle(parts, 2);
}

RateThrust<double> RateThrustCommand::row(py::ssize_t i) const {
  const py::ssize_t first = rates_.size() > 3 ? 3 * i : 0;
  return {{rates_[first], rates_[first + 1], rates_[first + 2]},
          thrust_[thrust_.size() > 1 ? i : 0]};
}

RotorSpeedsCommand::RotorSpeedsCommand(py::handle speeds)
    : speeds_(speeds, "speeds", speeds_expected, 1, 3, 0) {}

py::ssize_t RotorSpeedsCommand::rows() const {
  const CommandPartView part{"speeds", &speeds_, 1};
  const py::ssize_t count = rows_of_one_vehicle(&part, 1);
  if (speeds_.is_float() && doubles_.empty()) {
    doubles_.assign(speeds_.floats(), speeds_.floats() + speeds_.size());
  }
  return count;
}

SpeedYawRateCommand::SpeedYawRateCommand(py::handle speed, py::handle yaw_rate)
    : speed_(speed, "speed", "a finite number [m/s], or an array of shape (T,) or (T, 1)", 0, 2, 0),
      yaw_rate_(yaw_rate, "yaw_rate",
                "a finite number [rad/s], or an array of shape (T,) or (T, 1)", 0, 2, 0) {
  if (go_together(speed_, 0, yaw_rate_, 0)) return;
  if (speed_.ndim() == 1 && yaw_rate_.ndim() == 1) rows();
  throw py::value_error("yaw_rate: expected a shape that goes with speed of shape " +
                        speed_.shape_text() + ", got " + yaw_rate_.shape_text());
}

py::ssize_t SpeedYawRateCommand::rows() const {
  const CommandPartView parts[] = {{"speed", &speed_, 0}, {"yaw_rate", &yaw_rate_, 0}};
  return rows_of_one_vehicle(parts, 2);
}

void require_one_command(py::ssize_t rows, const char* taker) {
  if (rows < 0 || rows == 1) return;
  throw py::value_error("command: expected one command for " + std::string(taker) + ", got " +
                        std::to_string(rows) + " rows; rollout() takes rows");
}

py::ssize_t record_count(py::ssize_t rows, py::handle steps) {
  if (steps.is_none()) {
    if (rows < 0) {
      throw py::value_error(
          "steps: expected a whole number where one command is held for the whole rollout, got "
          "None");
    }
    return rows;
  }
  const py::ssize_t count = whole_number(steps, "steps", 0);
  if (rows >= 0 && rows != count) {
    throw py::value_error("steps: expected " + std::to_string(rows) +
                          ", the number of the command's rows, or None, got " +
                          std::to_string(count));
  }
  return count;
}

namespace {

/// The numbers of a command's part, which live as long as the array that is given.
template <class Command>
auto part(const Numbers& (Command::*numbers)() const) {
  return [numbers](const py::object& self) {
    return (self.cast<const Command&>().*numbers)().view(self);
  };
}

std::string repr_of(const Numbers& numbers) { return py::repr(numbers.copy()).cast<std::string>(); }
std::string text_of(const Numbers& numbers) { return py::str(numbers.copy()).cast<std::string>(); }

}  // namespace

void bind_commands(py::module_& m) {
  py::class_<RateThrustCommand>(
      m, "RateThrust",
      "Body rates and thrust, for the rate controller.\n\n"
      "rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). "
      "thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, what has no n is "
      "for all vehicles alike. Numbers in float32 stay so.\n"
      "Raises ValueError for another shape or a number that is not finite.")
      .def(py::init<py::object, py::object>(), py::arg("rates"), py::arg("thrust"))
      .def_property_readonly("rates", part(&RateThrustCommand::rates), "rad/s, read-only")
      .def_property_readonly("thrust", part(&RateThrustCommand::thrust), "N, read-only")
      .def("__repr__",
           [](const RateThrustCommand& c) {
             return "RateThrust(rates=" + repr_of(c.rates()) + ", thrust=" + text_of(c.thrust()) +
                    ")";
           })
      .def(py::pickle(
          [](const RateThrustCommand& c) {
            return py::make_tuple(c.rates().copy(), c.thrust().copy());
          },
          [](const py::tuple& t) { return RateThrustCommand(t[0], t[1]); }));

  py::class_<RotorSpeedsCommand>(
      m, "RotorSpeeds",
      "Rotor speeds, in the vehicle's order of rotors.\n\n"
      "speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed "
      "gives thrust along the rotor's axis. Numbers in float32 stay so.\n"
      "Raises ValueError for another shape or a number that is not finite.")
      .def(py::init<py::object>(), py::arg("speeds"))
      .def_property_readonly("speeds", part(&RotorSpeedsCommand::numbers), "rad/s, read-only")
      .def("__repr__",
           [](const RotorSpeedsCommand& c) { return "RotorSpeeds(" + repr_of(c.numbers()) + ")"; })
      .def(py::pickle([](const RotorSpeedsCommand& c) { return py::make_tuple(c.speeds()); },
                      [](const py::tuple& t) { return RotorSpeedsCommand(t[0]); }));

  py::class_<SpeedYawRateCommand>(m, "SpeedYawRate",
                                  "Speed and yaw rate of a car.\n\n"
                                  "speed: number, m/s. yaw_rate: number, rad/s, "
                                  "counter-clockwise. Each also (T,) for a rollout. Numbers in "
                                  "float32 stay so.\n"
                                  "Raises ValueError for another shape or a number that is not "
                                  "finite.")
      .def(py::init<py::object, py::object>(), py::arg("speed"), py::arg("yaw_rate"))
      .def_property_readonly("speed", part(&SpeedYawRateCommand::speed), "m/s, read-only")
      .def_property_readonly("yaw_rate", part(&SpeedYawRateCommand::yaw_rate), "rad/s, read-only")
      .def("__repr__",
           [](const SpeedYawRateCommand& c) {
             return "SpeedYawRate(speed=" + text_of(c.speed()) +
                    ", yaw_rate=" + text_of(c.yaw_rate()) + ")";
           })
      .def(py::pickle(
          [](const SpeedYawRateCommand& c) {
            return py::make_tuple(c.speed().copy(), c.yaw_rate().copy());
          },
          [](const py::tuple& t) { return SpeedYawRateCommand(t[0], t[1]); }));
}

}  // namespace propwash::bindings
