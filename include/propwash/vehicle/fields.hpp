#pragma once
/// @file
/// The numbers of a vehicle by name: one table in which every parameter is found under the dotted
/// name that it has in Python, with its place and shape.
///
///     for (const FieldView& field : fields(vehicle)) …
///     if (const auto mass = find_field(vehicle, "body.mass")) mass->set(&heavier);
///
/// What a program does to any parameter, it does here to all of them: values for each vehicle of
/// a fleet, checks, listings. The table holds numbers; a vehicle's name, its number of rotors and
/// its switches (`rate_controller.discretisation`, `rate_controller.gyroscopic_term`) are not in
/// it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// The shape of a field as an array: () of a number, (3,) of a vector, (4,) of a quaternion, (3, 3)
/// of a matrix; with the number of rotors in front for what each rotor has.
struct FieldShape {
  int rank = 0;
  int extents[2]{};

  constexpr const int* begin() const { return extents; }
  constexpr const int* end() const { return extents + rank; }
  constexpr int size() const {
    int product = 1;
    for (const int extent : *this) product *= extent;
    return product;
  }
};

/// Where the numbers of one field are; valid as long as the vehicle and the number of its rotors.
/// Number is `double`, or `const double` for a vehicle that is only read.
template <class Number>
struct BasicFieldView {
  std::string_view name;        ///< "body.mass", "rotors.position"; ends in a zero, as C wants it
  Number* first{};              ///< null where there are no rotors
  int rows{};                   ///< the number of rotors for what each rotor has, 1 otherwise
  int columns{};                ///< numbers in a row
  std::ptrdiff_t row_stride{};  ///< from one row to the next, in numbers
  FieldShape shape{};           ///< rows x columns numbers, as the user sees them
  /// Whether the number decides what a step does, and not only with which values: where vehicles
  /// are stepped together, it must be the same for all.
  bool structural = false;

  constexpr int size() const { return rows * columns; }
  Number& operator()(int row, int column) const { return first[row * row_stride + column]; }

  /// Copies the numbers to `size()` places, row by row.
  void get(double* numbers) const {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) *numbers++ = (*this)(row, column);
    }
  }
  /// Copies them from `size()` places.
  void set(const double* numbers) const {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) (*this)(row, column) = *numbers++;
    }
  }
};
using FieldView = BasicFieldView<double>;
using ConstFieldView = BasicFieldView<const double>;

namespace detail {

template <class Member>
inline constexpr FieldShape components{};
template <>
inline constexpr FieldShape components<Vec3<double>>{1, {3}};
template <>
inline constexpr FieldShape components<Quat<double>>{1, {4}};
template <>
inline constexpr FieldShape components<Mat3<double>>{2, {3, 3}};

/// A member, const or not, as the array of numbers that it is.
template <class Member>
auto numbers_of(Member* member) {
  using Plain = std::remove_const_t<Member>;
  static_assert(std::is_standard_layout_v<Plain> &&
                    sizeof(Plain) == sizeof(double) * std::size_t(components<Plain>.size()),
                "a field is a double, Vec3, Quat or Mat3 of double");
  using Number = std::conditional_t<std::is_const_v<Member>, const double, double>;
  return reinterpret_cast<Number*>(member);
}

template <class Member>
auto field(std::string_view name, Member& member, bool structural = false) {
  constexpr FieldShape shape = components<std::remove_const_t<Member>>;
  auto* first = numbers_of(&member);
  return BasicFieldView<std::remove_pointer_t<decltype(first)>>{
      name, first, 1, shape.size(), shape.size(), shape, structural};
}

/// Numbers of a PerRotor: () where there is one for all rotors, else (N,).
template <class Numbers>
auto motor_field(std::string_view name, Numbers& numbers) {
  auto* first = &numbers.values[0];
  const int count = static_cast<int>(numbers.count);
  const FieldShape shape = count == 1 ? FieldShape{} : FieldShape{1, {count}};
  return BasicFieldView<std::remove_pointer_t<decltype(first)>>{name,  first, 1,    count,
                                                                count, shape, false};
}

template <class Rotors, class Member>
auto rotor_field(std::string_view name, Rotors& rotors, Member RotorParameters<double>::* member) {
  static_assert(sizeof(RotorParameters<double>) % sizeof(double) == 0);
  constexpr FieldShape each = components<Member>;
  static_assert(each.rank < 2, "the shape of a rotors' field has room for one extent more");
  constexpr std::ptrdiff_t stride = sizeof(RotorParameters<double>) / sizeof(double);
  const int count = static_cast<int>(rotors.size());
  auto* first = rotors.empty() ? nullptr : numbers_of(&(rotors.front().*member));
  return BasicFieldView<std::remove_pointer_t<decltype(first)>>{
      name, first, count, each.size(), stride, {each.rank + 1, {count, each.extents[0]}}, false};
}

template <class Vehicle>
auto vehicle_fields(Vehicle& v) {
  using Rotor = RotorParameters<double>;
  constexpr bool structural = true;
  return std::array{
      field("body.mass", v.body.mass),
      field("body.inertia", v.body.inertia),
      field("body.gravity", v.body.gravity),
      rotor_field("rotors.position", v.rotors, &Rotor::position),
      rotor_field("rotors.axis", v.rotors, &Rotor::axis),
      rotor_field("rotors.spin", v.rotors, &Rotor::spin),
      rotor_field("rotors.thrust_coefficient", v.rotors, &Rotor::thrust_coefficient),
      rotor_field("rotors.torque_coefficient", v.rotors, &Rotor::torque_coefficient),
      rotor_field("rotors.inertia", v.rotors, &Rotor::inertia),
      motor_field("motor.time_constant_up", v.motor.time_constant_up),
      motor_field("motor.time_constant_down", v.motor.time_constant_down),
      motor_field("motor.speed_min", v.motor.speed_min),
      motor_field("motor.speed_max", v.motor.speed_max),
      field("motor.command_delay", v.motor.command_delay, structural),
      field("drag.translational", v.drag.translational),
      field("drag.rotational", v.drag.rotational),
      field("rotor_drag.linear", v.rotor_drag.linear),
      field("rotor_drag.blow_back", v.rotor_drag.blow_back),
      field("battery.nominal_voltage", v.battery.nominal_voltage, structural),
      field("process_noise.force", v.process_noise.force),
      field("process_noise.torque", v.process_noise.torque),
      field("imu.accelerometer_noise_density", v.imu.accelerometer_noise_density),
      field("imu.gyroscope_noise_density", v.imu.gyroscope_noise_density),
      field("imu.accelerometer_bias_walk", v.imu.accelerometer_bias_walk),
      field("imu.gyroscope_bias_walk", v.imu.gyroscope_bias_walk),
      field("imu.accelerometer_bias_initial", v.imu.accelerometer_bias_initial),
      field("imu.gyroscope_bias_initial", v.imu.gyroscope_bias_initial),
      field("imu.position", v.imu.position),
      field("imu.attitude", v.imu.attitude),
      field("imu.accelerometer_scale", v.imu.accelerometer_scale),
      field("imu.gyroscope_scale", v.imu.gyroscope_scale),
      field("imu.accelerometer_resolution", v.imu.accelerometer_resolution),
      field("imu.gyroscope_resolution", v.imu.gyroscope_resolution),
      field("imu.accelerometer_range", v.imu.accelerometer_range),
      field("imu.gyroscope_range", v.imu.gyroscope_range),
      field("imu.rate", v.imu.rate, structural),
      field("rate_controller.proportional", v.rate_controller.proportional),
      field("rate_controller.integral", v.rate_controller.integral),
      field("rate_controller.derivative", v.rate_controller.derivative),
      field("rate_controller.integral_bound", v.rate_controller.integral_bound),
      field("rate_controller.filter.stiffness", v.rate_controller.filter.stiffness),
      field("rate_controller.filter.damping", v.rate_controller.filter.damping),
  };
}

template <class Vehicle>
auto car_fields(Vehicle& c) {
  auto process_noise = field("process_noise", c.process_noise_forward);
  process_noise.columns = 2;  // with its neighbour, process_noise_left
  process_noise.row_stride = 2;
  process_noise.shape = {1, {2}};
  return std::array{
      field("speed_min", c.speed_min),
      field("speed_max", c.speed_max),
      field("yaw_rate_limit", c.yaw_rate_limit),
      process_noise,
  };
}

}  // namespace detail

/// Every number of a multicopter, in the order of parameters.hpp: a `std::array` of FieldView, or
/// of ConstFieldView for a vehicle that is const. Nothing is allocated.
inline auto fields(VehicleParameters& vehicle) { return detail::vehicle_fields(vehicle); }
inline auto fields(const VehicleParameters& vehicle) { return detail::vehicle_fields(vehicle); }
void fields(const VehicleParameters&&) = delete;  // a view of a temporary would dangle

/// Every number of a car. Its two process noises are one pair, as they are in Python.
inline auto fields(CarParameters& car) { return detail::car_fields(car); }
inline auto fields(const CarParameters& car) { return detail::car_fields(car); }
void fields(const CarParameters&&) = delete;

namespace detail {

/// FNV-1a, a public-domain hash, of numbers.
class Fingerprint {
 public:
  template <class Number>
  void add(Number number) {
    number += Number(0);  // one zero, not two
    unsigned char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    for (const unsigned char byte : bytes) value_ = (value_ ^ byte) * 1099511628211u;
  }
  template <class Fields>
  void add_fields(const Fields& fields) {
    for (const auto& field : fields) {
      for (int row = 0; row < field.rows; ++row) {
        for (int column = 0; column < field.columns; ++column) add(field(row, column));
      }
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

}  // namespace detail

/// A number made of all parameters but the name: what a snapshot belongs to.
inline std::uint64_t fingerprint(const VehicleParameters& vehicle) {
  detail::Fingerprint result;
  result.add(static_cast<std::int32_t>(vehicle.rotors.size()));
  result.add_fields(fields(vehicle));
  result.add(static_cast<std::int32_t>(vehicle.rate_controller.discretisation));
  result.add(static_cast<std::int32_t>(vehicle.rate_controller.gyroscopic_term));
  return result.value();
}
/// The same of an inertial sensor by itself.
inline std::uint64_t fingerprint(const ImuParameters<double>& imu) {
  VehicleParameters holder;
  holder.imu = imu;
  detail::Fingerprint result;
  for (const auto& field : fields(holder)) {
    if (field.name.substr(0, 4) == "imu.") result.add_fields(std::array{field});
  }
  return result.value();
}
inline std::uint64_t fingerprint(const CarParameters& car) {
  detail::Fingerprint result;
  result.add_fields(fields(car));
  return result.value();
}

/// The field of exactly this name, or nothing.
template <class Vehicle>
auto find_field(Vehicle& vehicle, std::string_view name) {
  const auto all = fields(vehicle);
  std::optional<typename decltype(all)::value_type> found;
  for (const auto& field : all) {
    if (field.name == name) found = field;
  }
  return found;
}

}  // namespace propwash
