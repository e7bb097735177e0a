#pragma once
/// @file
/// The parameters of a vehicle by name: one table of name, unit, meaning, range and location.
///
///     for (const FieldView& field : fields(vehicle)) …
///     if (const auto mass = find_field(vehicle, "body.mass")) mass->set(&heavier);
///
/// Validation, snapshots, bindings and the parameters of fleets use this table; tests compare it
/// with the Python classes and docs/vehicles.md, which gives reasons for the ranges. It contains
/// only numbers: not the name of a vehicle, its number of rotors, `rate_controller.discretisation`
/// and `rate_controller.gyroscopic_term`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/vehicle/impl/fingerprint.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// The kind of numbers that a parameter accepts.
enum class Accepts {
  finite,
  not_negative,          ///< finite, >= 0
  positive,              ///< finite, > 0
  positive_or_infinite,  ///< > 0; infinity means no limit
  coupled                ///< checked by validate() together with other numbers
};

/// Name, unit, meaning and accepted values of a parameter.
struct FieldSchema {
  std::string_view name;              ///< "body.mass", "rotors.position"; null-terminated
  const char* unit = "";              ///< SI unit
  const char* meaning = "";           ///< one clause
  Accepts accepts = Accepts::finite;  ///< range of valid values
  double smallest = 0.0;              ///< smallest magnitude, except zero
  double largest = std::numeric_limits<double>::infinity();  ///< largest finite magnitude
  /// Whether the number selects code of a step, so that it must be the same for all vehicles of a
  /// fleet.
  bool structural = false;
};

/// The shape of a field as an array: () for a number, (3,) for a vector, (4,) for a quaternion,
/// (3, 3) for a matrix, (K,) for a list; fields of rotors have the number of rotors as an
/// additional first extent.
struct FieldShape {
  int rank = 0;      ///< 0, 1 or 2
  int extents[2]{};  ///< the first `rank` are used

  constexpr const int* begin() const { return extents; }
  constexpr const int* end() const { return extents + rank; }
  /// Number of values.
  constexpr int size() const {
    int product = 1;
    for (const int extent : *this) product *= extent;
    return product;
  }
};

/// A parameter and a view of its numbers, valid while the vehicle exists and its number of rotors
/// is unchanged. Number is `double`, or `const double` for read-only access.
template <class Number>
struct BasicFieldView : FieldSchema {
  Number* first{};              ///< null for a rotor field without rotors
  int rows{};                   ///< the number of rotors for a rotor field, else 1
  int columns{};                ///< numbers per row
  std::ptrdiff_t row_stride{};  ///< distance of rows, in numbers
  FieldShape shape{};           ///< as an array
  /// For a PerRotor parameter, its number of values; else null.
  std::conditional_t<std::is_const_v<Number>, const std::int64_t, std::int64_t>* count{};

  /// Number of values.
  constexpr int size() const { return rows * columns; }
  Number& operator()(int row, int column) const { return first[row * row_stride + column]; }
  /// Number i in row-major order.
  Number& operator[](int i) const { return (*this)(i / columns, i % columns); }

  /// Copies the size() numbers to an array, in row-major order.
  void get(double* numbers) const {
    for (int i = 0; i < size(); ++i) numbers[i] = (*this)[i];
  }
  /// Copies size() numbers from an array.
  void set(const double* numbers) const {
    for (int i = 0; i < size(); ++i) (*this)[i] = numbers[i];
  }
};
using FieldView = BasicFieldView<double>;             ///< view of a field that can be written
using ConstFieldView = BasicFieldView<const double>;  ///< view of a field that can be read

namespace detail::schema {

inline constexpr bool structural = true;
inline constexpr Accepts finite = Accepts::finite, not_negative = Accepts::not_negative,
                         positive = Accepts::positive, coupled = Accepts::coupled,
                         positive_or_infinite = Accepts::positive_or_infinite;

template <class Member>
inline constexpr FieldShape components{};
template <>
inline constexpr FieldShape components<Vec3<double>>{1, {3}};
template <>
inline constexpr FieldShape components<Quat<double>>{1, {4}};
template <>
inline constexpr FieldShape components<Mat3<double>>{2, {3, 3}};
template <std::size_t Size>
inline constexpr FieldShape components<double[Size]>{1, {static_cast<int>(Size)}};

/// A member as an array of numbers.
template <class Member>
double* numbers_of(Member& member) {
  static_assert(std::is_standard_layout_v<Member> &&
                    sizeof(Member) == sizeof(double) * std::size_t(components<Member>.size()),
                "expected a double, or a Vec3, Quat, Mat3 or array of double");
  return reinterpret_cast<double*>(&member);
}

template <class Member>
FieldView field(Member& member, const FieldSchema& schema) {
  constexpr FieldShape shape = components<Member>;
  return {schema, numbers_of(member), 1, shape.size(), shape.size(), shape, nullptr};
}

/// Shape () for one value for all rotors, else (N,).
inline FieldView field(PerRotor<double>& numbers, const FieldSchema& schema) {
  const int count = static_cast<int>(numbers.count);
  const FieldShape shape = count == 1 ? FieldShape{} : FieldShape{1, {count}};
  return {schema, &numbers.values[0], 1, count, count, shape, &numbers.count};
}

template <class Member>
FieldView field(std::vector<RotorParameters<double>>& rotors,
                Member RotorParameters<double>::* member, const FieldSchema& schema) {
  static_assert(sizeof(RotorParameters<double>) % sizeof(double) == 0);
  constexpr FieldShape each = components<Member>;
  static_assert(each.rank < 2, "FieldShape has two extents, one of them for the rotors");
  constexpr std::ptrdiff_t stride = sizeof(RotorParameters<double>) / sizeof(double);
  const int count = static_cast<int>(rotors.size());
  double* const first = rotors.empty() ? nullptr : numbers_of(rotors.front().*member);
  return {schema, first, count, each.size(), stride, {each.rank + 1, {count, each.extents[0]}},
          nullptr};
}

template <std::size_t... Sizes>
auto joined(const std::array<FieldView, Sizes>&... parts) {
  std::array<FieldView, (Sizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const FieldView& field : part) all[next++] = field;
  };
  (append(parts), ...);
  return all;
}

/// Converts views to read-only views.
template <std::size_t Size>
auto read_only(const std::array<FieldView, Size>& fields) {
  std::array<ConstFieldView, Size> result{};
  for (std::size_t i = 0; i < Size; ++i) {
    const FieldView& f = fields[i];
    result[i] = {f, f.first, f.rows, f.columns, f.row_stride, f.shape, f.count};
  }
  return result;
}

}  // namespace detail::schema

/// The parameters of an inertial measurement unit, a `std::array` of FieldView. The functions
/// fields() do not allocate.
inline auto fields(ImuParameters<double>& imu) {
  using namespace detail::schema;
  return std::array{
      field(imu.accelerometer_noise_density, {"imu.accelerometer_noise_density", "m/s^2/sqrt(Hz)",
                                              "white noise", not_negative, 0.0, 1e3}),
      field(imu.gyroscope_noise_density, {"imu.gyroscope_noise_density", "rad/s/sqrt(Hz)",
                                          "white noise", not_negative, 0.0, 10.0}),
      field(imu.accelerometer_bias_walk, {"imu.accelerometer_bias_walk", "m/s^3/sqrt(Hz)",
                                          "random walk of the bias", not_negative, 0.0, 1e3}),
      field(imu.gyroscope_bias_walk, {"imu.gyroscope_bias_walk", "rad/s^2/sqrt(Hz)",
                                      "random walk of the bias", not_negative, 0.0, 10.0}),
      field(imu.accelerometer_bias_initial, {"imu.accelerometer_bias_initial", "m/s^2",
                                             "std. dev. at reset", not_negative, 0.0, 1e3}),
      field(imu.gyroscope_bias_initial, {"imu.gyroscope_bias_initial", "rad/s",
                                         "std. dev. at reset", not_negative, 0.0, 100.0}),
      field(imu.position,
            {"imu.position", "m", "from the centre of mass, body frame", finite, 0.0, 100.0}),
      field(imu.attitude,
            {"imu.attitude", "", "(w, x, y, z), from the sensor frame to the body frame", coupled}),
      field(imu.accelerometer_scale,
            {"imu.accelerometer_scale", "", "scale factors", finite, 0.0, 10.0}),
      field(imu.gyroscope_scale, {"imu.gyroscope_scale", "", "scale factors", finite, 0.0, 10.0}),
      field(imu.accelerometer_resolution, {"imu.accelerometer_resolution", "m/s^2",
                                           "quantisation step; 0: none", not_negative, 1e-9, 1e3}),
      field(imu.gyroscope_resolution, {"imu.gyroscope_resolution", "rad/s",
                                       "quantisation step; 0: none", not_negative, 1e-9, 100.0}),
      field(imu.accelerometer_range, {"imu.accelerometer_range", "m/s^2", "saturates at +-range",
                                      positive_or_infinite, 1e-6, 1e9}),
      field(imu.gyroscope_range, {"imu.gyroscope_range", "rad/s", "saturates at +-range",
                                  positive_or_infinite, 1e-6, 1e9}),
      field(imu.rate, {"imu.rate", "Hz", "sampling rate; 0: one sample per step", not_negative,
                       1e-6, 1e9, structural}),
  };
}

namespace detail::schema {

inline constexpr std::size_t vehicle_fields = 77;  ///< the length of the next table

}  // namespace detail::schema

/// The parameters of a multicopter, in the order of parameters.hpp.
template <class = void>  // a template so that propwash::static compiles it once
std::array<FieldView, detail::schema::vehicle_fields> fields(VehicleParameters& v) {
  using namespace detail::schema;
  using Rotor = RotorParameters<double>;
  const std::array before_imu{
      field(v.body.mass, {"body.mass", "kg", "mass of the whole vehicle", positive, 1e-6, 1e6}),
      field(v.body.inertia,
            {"body.inertia", "kg m^2", "about the centre of mass, body axes: the diagonal or 3x3",
             coupled, 0.0, 1e10}),
      field(v.body.gravity, {"body.gravity", "m/s^2", "in the world frame", finite, 0.0, 1e3}),
      field(v.rotors, &Rotor::position,
            {"rotors.position", "m", "from the centre of mass to the rotor, body frame", finite,
             0.0, 100.0}),
      field(v.rotors, &Rotor::axis,
            {"rotors.axis", "", "unit vector of positive thrust, body frame", coupled}),
      field(v.rotors, &Rotor::spin,
            {"rotors.spin", "",
             "\"ccw\" (+1) or \"cw\" (-1), seen from the tip of the axis: from above", coupled}),
      field(v.rotors, &Rotor::thrust_coefficient,
            {"rotors.thrust_coefficient", "N/(rad/s)^2", "thrust = k w |w|", positive, 1e-16, 1e6}),
      field(v.rotors, &Rotor::torque_coefficient,
            {"rotors.torque_coefficient", "N m/(rad/s)^2",
             "torque about the axis = k w |w|, against the spin", not_negative, 0.0, 1e6}),
      field(v.rotors, &Rotor::inertia,
            {"rotors.inertia", "kg m^2", "rotor and propeller, about the axis", not_negative, 0.0,
             1e6}),
      field(v.motor.time_constant_up, {"motor.time_constant_up", "s",
                                       "of the lag while the speed rises", positive, 1e-4, 1e3}),
      field(v.motor.time_constant_down, {"motor.time_constant_down", "s",
                                         "of the lag while the speed falls", positive, 1e-4, 1e3}),
      field(v.motor.speed_min,
            {"motor.speed_min", "rad/s", "lowest speed, limits the command", coupled, 0.0, 1e6}),
      field(v.motor.speed_max,
            {"motor.speed_max", "rad/s", "highest speed, limits the command", positive, 1e-3, 1e6}),
      field(v.motor.speed_offset,
            {"motor.speed_offset", "",
             "speed at duty cycle 0, extrapolated, over speed_max: for logs of duty cycles",
             not_negative, 0.0, 0.9}),
      field(v.motor.command_delay, {"motor.command_delay", "s", "dead time before the lag",
                                    not_negative, 0.0, 0.6, structural}),
      field(v.drag.translational,
            {"drag.translational", "N/(m/s)^2", "force = -k |v| v", not_negative, 0.0, 1e6}),
      field(v.drag.rotational,
            {"drag.rotational", "N m/(rad/s)^2", "torque = -K |W| W: a number, the diagonal or 3x3",
             coupled, 0.0, 1e10}),
      field(v.rotor_drag.linear,
            {"rotor_drag.linear", "1/s", "force = -m diag(d) v along the body axes", not_negative,
             0.0, 100.0}),
      field(v.rotor_drag.blow_back,
            {"rotor_drag.blow_back", "N m/(m/s)", "torque = -c e_z x v", not_negative, 0.0, 1e10}),
      field(v.inflow.axial,
            {"inflow.axial", "N/(rad/s)/(m/s)",
             "thrust of a rotor changes by -c w v along its axis", not_negative, 0.0, 1e6}),
      field(v.inflow.translational,
            {"inflow.translational", "N/(m/s)^2",
             "thrust of a rotor changes by c v^2 normal to its axis", not_negative, 0.0, 1e6}),
      field(v.inflow.radius, {"inflow.radius", "m",
                              "of the rotors, for momentum theory; 0: constant induced velocity",
                              not_negative, 1e-3, 100.0, structural}),
      field(v.inflow.drag,
            {"inflow.drag", "N/(rad/s)/(m/s)", "force of a rotor = -c w v normal to its axis",
             not_negative, 0.0, 1e6}),
      field(v.inflow.axial_drag,
            {"inflow.axial_drag", "N/(m/s)^2", "inflow.drag w grows by c v along the axis",
             not_negative, 0.0, 1e6}),
      field(v.inflow.flapping,
            {"inflow.flapping", "N m/(rad/s)/(m/s)",
             "torque of a rotor = -c w a x v for its axis a", not_negative, 0.0, 1e6}),
      field(v.ground_effect.radius,
            {"ground_effect.radius", "m", "of the rotors; 0: no ground effect", not_negative, 0.0,
             100.0}),
      field(v.ground_effect.coefficient,
            {"ground_effect.coefficient", "", "c in thrust = T/(1 - c (radius/(4 height))^2)",
             not_negative, 0.0, 100.0}),
      field(v.ground_effect.height,
            {"ground_effect.height", "m", "of the ground, world frame", finite, 0.0, 1e6}),
      field(v.contact.frequency,
            {"contact.frequency", "Hz", "of the vertical oscillation on the feet; 0: no contact",
             not_negative, 1e-3, 100.0}),
      field(v.contact.damping,
            {"contact.damping", "", "of this oscillation, 1: critical", not_negative, 0.0, 10.0}),
      field(v.contact.friction,
            {"contact.friction", "", "Coulomb coefficient", not_negative, 0.0, 10.0}),
      field(v.contact.leg, {"contact.leg", "m", "from a rotor down to its foot, along body -z",
                            not_negative, 0.0, 100.0}),
      field(v.contact.height,
            {"contact.height", "m", "of the ground, world frame", finite, 0.0, 1e6}),
      field(v.residual.velocity,
            {"residual.velocity", "m/s", "semi-axes of the domain, body axes, relative to the air",
             not_negative, 1e-3, 1e3}),
      field(v.residual.velocity_centre,
            {"residual.velocity_centre", "m/s", "centre of the domain", finite, 0.0, 1e3}),
      field(v.residual.rates,
            {"residual.rates", "rad/s", "semi-axes of the domain", not_negative, 1e-3, 1e3}),
      field(v.residual.thrust,
            {"residual.thrust", "N", "semi-axis of the domain", not_negative, 1e-9, 1e9}),
      field(v.residual.thrust_centre,
            {"residual.thrust_centre", "N", "centre of the domain", finite, 0.0, 1e9}),
      field(v.residual.torque,
            {"residual.torque", "N m", "semi-axes of the domain", not_negative, 1e-12, 1e9}),
      field(v.residual.force_x,
            {"residual.force_x", "N", "coefficients of the even monomials", finite, 0.0, 1e9}),
      field(v.residual.force_y,
            {"residual.force_y", "N", "coefficients of the odd monomials", finite, 0.0, 1e9}),
      field(v.residual.force_z,
            {"residual.force_z", "N", "coefficients of the even monomials", finite, 0.0, 1e9}),
      field(v.residual.torque_x,
            {"residual.torque_x", "N m", "coefficients of the odd monomials", finite, 0.0, 1e9}),
      field(v.residual.torque_y,
            {"residual.torque_y", "N m", "coefficients of the even monomials", finite, 0.0, 1e9}),
      field(v.residual.torque_z,
            {"residual.torque_z", "N m", "coefficients of the odd monomials", finite, 0.0, 1e9}),
      field(v.battery.nominal_voltage,
            {"battery.nominal_voltage", "V",
             "voltage at which commanded speeds are reached; 0: no dependence", not_negative, 1e-3,
             1e6, structural}),
      field(v.battery.cells, {"battery.cells", "", "in series; 0: no battery circuit", not_negative,
                              1.0, 1e3, structural}),
      field(v.battery.capacity,
            {"battery.capacity", "A h", "charge of the full battery", not_negative, 1e-4, 1e4}),
      field(v.battery.full_voltage,
            {"battery.full_voltage", "V", "open-circuit voltage of a full cell", not_negative, 4.0,
             4.5}),
      field(v.battery.resistance, {"battery.resistance", "ohm", "in series with the whole battery",
                                   not_negative, 0.0, 1e3}),
      field(v.battery.polarisation_resistance,
            {"battery.polarisation_resistance", "ohm", "of the RC pair", not_negative, 0.0, 1e3}),
      field(v.battery.polarisation_time, {"battery.polarisation_time", "s",
                                          "time constant of the RC pair", not_negative, 0.0, 1e5}),
      field(v.battery.efficiency,
            {"battery.efficiency", "", "mechanical power of the rotors over electrical power",
             not_negative, 0.01, 1.0}),
      field(v.battery.load, {"battery.load", "W", "constant consumption besides the motors",
                             not_negative, 0.0, 1e6}),
      field(v.process_noise.force,
            {"process_noise.force", "N^2 s", "on each world axis", not_negative, 0.0, 1e14}),
      field(v.process_noise.torque,
            {"process_noise.torque", "(N m)^2 s", "on each body axis", not_negative, 0.0, 1e20}),
  };
  const std::array after_imu{
      field(v.rate_controller.proportional, {"rate_controller.proportional", "1/s",
                                             "gain on the rate error", not_negative, 0.0, 1e5}),
      field(v.rate_controller.integral,
            {"rate_controller.integral", "1/s^2", "gain on the integral of the error", not_negative,
             0.0, 1e6}),
      field(v.rate_controller.derivative,
            {"rate_controller.derivative", "", "gain on the derivative of the filtered rates",
             not_negative, 0.0, 1e3}),
      field(v.rate_controller.integral_bound,
            {"rate_controller.integral_bound", "rad", "limit of the integral, +-bound",
             not_negative, 0.0, 1e9}),
      field(v.rate_controller.filter.stiffness, {"rate_controller.filter.stiffness", "1/s^2",
                                                 "p of equation (19)", positive, 1e-6, 1e12}),
      field(v.rate_controller.filter.damping, {"rate_controller.filter.damping", "1/s",
                                               "q of equation (19)", not_negative, 0.0, 1e7}),
  };
  return joined(before_imu, fields(v.imu), after_imu);
}

/// The parameters of a car. The process noise is one pair, as in Python.
inline auto fields(CarParameters& car) {
  using namespace detail::schema;
  FieldView process_noise = field(
      car.process_noise_forward,
      {"process_noise", "m^2/s", "intensity of the white velocity along and across the heading",
       not_negative, 0.0, 1e6});
  process_noise.columns = 2;  // and the next member, process_noise_left
  process_noise.row_stride = 2;
  process_noise.shape = {1, {2}};
  return std::array{
      field(car.speed_min,
            {"speed_min", "m/s", "lowest speed that can be commanded", coupled, 0.0, 1e4}),
      field(car.speed_max,
            {"speed_max", "m/s", "highest speed that can be commanded", coupled, 0.0, 1e4}),
      field(car.yaw_rate_limit,
            {"yaw_rate_limit", "rad/s", "commands are limited to +-limit", positive, 1e-9, 1e3}),
      process_noise,
  };
}

/// The same for const parameters: a `std::array` of ConstFieldView.
template <class Parameters>
auto fields(const Parameters& parameters) {
  return detail::schema::read_only(fields(const_cast<Parameters&>(parameters)));
}
template <class Parameters>
void fields(const Parameters&&) = delete;  // views of a temporary would dangle

/// A hash of all parameters of an inertial measurement unit or a car. Snapshots store it, so that
/// restore() can detect other parameters.
template <class Parameters>
std::uint64_t fingerprint(const Parameters& parameters) {
  detail::Fingerprint result;
  result.add_fields(parameters);
  return result.value();
}
/// The same for a multicopter; excludes its name.
inline std::uint64_t fingerprint(const VehicleParameters& vehicle) {
  detail::Fingerprint result;
  result.add(static_cast<std::int32_t>(vehicle.rotors.size()));
  result.add_fields(vehicle);
  result.add(static_cast<std::int32_t>(vehicle.rate_controller.discretisation));
  result.add(static_cast<std::int32_t>(vehicle.rate_controller.gyroscopic_term));
  return result.value();
}

/// The same for a multicopter whose controllers may assume another vehicle.
inline std::uint64_t fingerprint(const VehicleParameters& vehicle,
                                 const std::optional<VehicleParameters>& control) {
  return control ? 31 * fingerprint(vehicle) + fingerprint(*control) : fingerprint(vehicle);
}

/// The field with this exact name as a std::optional.
template <class Vehicle>
auto find_field(Vehicle& vehicle, std::string_view name) {
  const auto all = fields(vehicle);
  std::optional<typename decltype(all)::value_type> found;
  for (const auto& field : all) {
    if (field.name == name) found = field;
  }
  return found;
}

#if defined(PROPWASH_STATIC)  // instantiated in src/vehicle.cpp
extern template std::array<FieldView, detail::schema::vehicle_fields> fields<void>(
    VehicleParameters&);
#endif

}  // namespace propwash
