#pragma once
/// @file
/// The class behind Python's Fleet: a fleet, the buffers of its command, its threads and its lock.

#include <pybind11/stl.h>

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "fleet_commands.hpp"
#include "kernels/dispatch.hpp"
#include "parameters.hpp"
#include "shared_fleet.hpp"
#include "vehicle_overrides.hpp"

namespace propwash::bindings {

struct NamedField {
  const char* name;
  FleetField field;
  bool is_flag = false;
  bool is_number = false;  // one per vehicle: an array (n,), not (n, width)
};

inline constexpr NamedField named_fields[] = {
    {"position", FleetField::position},
    {"velocity", FleetField::velocity},
    {"attitude", FleetField::attitude},
    {"body_rates", FleetField::body_rates},
    {"rotor_speeds", FleetField::rotor_speeds},
    {"rotor_command", FleetField::rotor_command},
    {"rotor_effectiveness", FleetField::rotor_effectiveness},
    {"wind", FleetField::wind},
    {"external_force", FleetField::external_force},
    {"external_torque", FleetField::external_torque},
    {"accelerometer_bias", FleetField::accelerometer_bias},
    {"gyroscope_bias", FleetField::gyroscope_bias},
    {"battery_voltage", FleetField::battery_voltage, false, true},
    {"battery_current", FleetField::battery_current, false, true},
    {"state_of_charge", FleetField::state_of_charge, false, true},
    {"contact", FleetField::contact, true},
    {"diverged", FleetField::diverged, true},
};

/// Raises ValueError for an unknown name.
inline const NamedField& field_named(const std::string& name) {
  for (const auto& field : named_fields) {
    if (name == field.name) return field;
  }
  throw py::value_error("record: there is no '" + name + "'");
}

template <class>
class PyGradient;
template <class>
class PyFlight;
template <class>
class DeviceFleet;
/// The class behind Python's Fleet.
template <class T>
class PyFleet : public SharedFleet {
 public:
  using Rows = py::array_t<T, py::array::c_style>;

  /// kernels: null for those of this processor.
  PyFleet(const py::object& parameters, py::ssize_t size, const FleetOptions& options,
          const MaybePool& pool, FleetKernelSource<T> kernels = nullptr)
      : SharedFleet(pool),
        instruction_set_(used_set()),
        fleet_(vehicle_parameters(parameters), static_cast<std::size_t>(size), options,
               kernels != nullptr ? kernels : fleet_kernels_of<T>(instruction_set_)) {
    warn(fleet_.warning());
  }

  void attach(FleetSampler& sampler) {
    alone(false, [&] { fleet_.attach(sampler); });
  }
  void detach(const FleetSampler& sampler) {
    alone(false, [&] { fleet_.detach(sampler); });
  }
  const char* isa() const { return name_of(instruction_set_); }
  py::ssize_t size() const { return static_cast<py::ssize_t>(fleet_.size()); }
  /// The result of a member function of the fleet without arguments.
  template <auto get>
  auto value() const {
    return alone(false, [&] { return (fleet_.*get)(); });
  }
  FleetOptions options() const { return value<&Fleet<Multicopter<>, T>::options>(); }

  /// estimate: arrays (size, …) of position, velocity and attitude that Python has checked, or
  /// None.
  void step(const py::object& value, const py::object& substeps, const py::object& estimate) {
    const Command& command = multicopter_command(value);
    FleetMotionEstimate<T> motion;
    if (!estimate.is_none()) {
      require_outer_loop(command);
      const auto parts = state_of(estimate.cast<py::tuple>());
      motion = {parts.position, parts.velocity, parts.attitude};
    }
    const py::ssize_t count = step_count(substeps);
    const auto held = [&] {
      fleet_.require_idle();  // a step that is sampling already uses buffers_
      CommandRecords<T> source(command, fleet_, buffers_);
      require_one_command(source.records(), "step()");
      return source;
    };
    if (count * size() <= uninterrupted) {
      return alone(count * size() > worth_releasing,
                   [&] { held().step(fleet_, 0, static_cast<int>(count), executor(), motion); });
    }
    const py::ssize_t piece = uninterrupted_steps(count);
    alone(false, [&] { held(); });  // raises before anything changes
    for (py::ssize_t done = 0; done < count; done += piece) {
      const auto now = static_cast<int>(std::min(piece, count - done));
      alone(true, [&] { held().step(fleet_, 0, now, executor(), motion); });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  /// after: a function that is called after each command, or None.
  py::dict rollout(const py::object& command, const py::object& steps, const py::object& substeps,
                   const std::vector<std::string>& record, const py::object& after) {
    const Command& commands = multicopter_command(command);
    const py::ssize_t each = step_count(substeps);
    CommandBuffers<T> buffers;  // local: another thread may step the fleet between two records
    std::optional<CommandRecords<T>> source;
    alone(false, [&] { source.emplace(commands, fleet_, buffers); });
    const py::ssize_t count = record_count(source->records(), steps);
    py::dict arrays;
    std::vector<Recorder> recorders;
    std::vector<T> imu[2];
    for (const auto& name : record) recorders.push_back(recorder(name, count, arrays, imu));
    const py::ssize_t piece = uninterrupted_steps(each);
    py::ssize_t row = 0;
    py::ssize_t done = 0;  // steps of this row
    const auto next = [&] {
      const py::ssize_t now = std::min(piece, each - done);
      source->step(fleet_, row, static_cast<int>(now), executor());
      done += now;
      if (done < each) return;
      done = 0;
      if (!imu[0].empty()) fleet_.read_imu(imu[0], imu[1], executor());
      for (const auto& write : recorders) write(row);
      ++row;
      if (after.is_none()) return;
      const py::gil_scoped_acquire gil;
      after();
    };
    const bool is_long = count > worth_releasing || each > worth_releasing ||
                         count * each > worth_releasing / size();
    while (row < count) {
      alone(is_long, [&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        do next();
        while (row < count && std::chrono::steady_clock::now() < end);
      });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    return arrays;
  }

  py::array read(const std::string& name) const {
    const NamedField& named = field_named(name);
    const int width = fleet_.width(named.field);
    const bool is_long = size() * width > worth_releasing * 64;
    if (named.is_flag) {
      py::array_t<bool> flags(size());
      const Span<bool> to{flags.mutable_data(), fleet_.size()};
      alone(is_long, [&] { read_flags(named.field, to); });
      return flags;
    }
    std::vector<py::ssize_t> shape{size()};
    if (!named.is_number) shape.push_back(width);
    Rows rows(shape);
    const Span<T> to = span_of(rows);
    alone(is_long, [&] { fleet_.read(named.field, to); });
    return rows;
  }

  /// Position, velocity, attitude and body rates, and whether the magnitude of every number is
  /// less than `bound`.
  py::tuple kinematics(T bound) const {
    const auto shaped = [this](py::ssize_t width) { return Rows({size(), width}); };
    Rows rows[] = {shaped(3), shaped(3), shaped(4), shaped(3)};
    const Span<T> to[] = {span_of(rows[0]), span_of(rows[1]), span_of(rows[2]), span_of(rows[3])};
    bool within = true;
    alone(size() > worth_releasing * 4, [&] {
      fleet_.read_kinematics(to[0], to[1], to[2], to[3]);
      for (const auto& numbers : to) within &= all_within(numbers.data(), numbers.size(), bound);
    });
    return py::make_tuple(rows[0], rows[1], rows[2], rows[3], within);
  }

  py::array time() const {
    Array seconds(size());
    const Span<double> to{seconds.mutable_data(), fleet_.size()};
    alone(false, [&] { fleet_.time(to); });
    return seconds;
  }

  py::tuple imu() const {
    Rows force({size(), py::ssize_t{3}}), rate({size(), py::ssize_t{3}});
    const Span<T> to_force = span_of(force), to_rate = span_of(rate);
    alone(size() > worth_releasing, [&] { fleet_.read_imu(to_force, to_rate, executor()); });
    return py::make_tuple(force, rate);
  }

  /// The parts are arrays that Python has checked, or None.
  void reset(const py::tuple& parts, const py::object& mask, const py::object& seed) {
    const FleetState<T> state = state_of(parts);
    if (!seed.is_none()) {
      const auto key = seed.cast<std::uint64_t>();
      return alone(true, [&] { fleet_.reset(state, key); });
    }
    const Span<const bool> some = mask_of(mask);
    alone(size() > worth_releasing, [&] { fleet_.reset(state, some); });
  }
  void set_state(const py::tuple& parts, const py::object& mask) {
    const FleetState<T> state = state_of(parts);
    const Span<const bool> some = mask_of(mask);
    alone(size() > worth_releasing, [&] { fleet_.set_state(state, some); });
  }
  /// Passes arrays that Python has checked to a member function of the fleet.
  template <auto set, class... Rows>
  void set_rows(const Rows&... rows) {
    alone(size() > worth_releasing, [&] { (fleet_.*set)(constant_span_of(rows)...); });
  }

  py::bytes snapshot() const {
    const auto snapshot = alone(size() > worth_releasing, [&] { return fleet_.snapshot(); });
    return {reinterpret_cast<const char*>(snapshot.data()), snapshot.size()};
  }
  void restore(const py::bytes& snapshot) {
    const auto view = static_cast<std::string_view>(snapshot);
    const Span<const std::byte> bytes{reinterpret_cast<const std::byte*>(view.data()), view.size()};
    alone(size() > worth_releasing, [&] { fleet_.restore(bytes); });
  }

  /// The numbers of field k of each vehicle: (n, …).
  Array parameter(std::size_t k) const {
    const auto field = fields(fleet_.vehicle())[k];
    std::vector<py::ssize_t> shape{size()};
    for (const int extent : field.shape) shape.push_back(extent);
    Array values(shape);
    double* to = values.mutable_data();
    alone(false, [&] { overrides_.read(k, fleet_.vehicle(), fleet_.size(), to); });
    return values;
  }
  /// values: an array (n, …) for each field index, or (m, …) for the m vehicles with the indices
  /// `some`. Sets all fields, or none if one is invalid.
  void set_parameters(const std::map<std::size_t, Array>& values,
                      const std::optional<std::vector<std::size_t>>& some) {
    const std::vector<std::size_t> chosen = some.value_or(std::vector<std::size_t>{});
    const std::string warning = alone(true, [&] {
      VehicleOverrides overrides = overrides_;
      for (const auto& [k, array] : values) {
        overrides.set(k, array, chosen, fleet_.vehicle(), fleet_.size());
      }
      overrides.apply(fleet_, chosen);
      std::swap(overrides_, overrides);
      return fleet_.warning();
    });
    warn(warning);
  }
  /// The numbers of the fields that are not the same for all vehicles.
  std::vector<std::size_t> own_parameters() const {
    return alone(false, [&] { return overrides_.fields_set(); });
  }
  void set_outer_loops(const py::dict& values) {
    const auto loops = outer_loops_from(value<&Fleet<Multicopter<>, T>::outer_loops>(), values);
    alone(false, [&] { fleet_.set_outer_loops(loops); });
  }
  double bytes_per_vehicle() const {
    return alone(false, [&] {
      return fleet_.bytes_per_vehicle() +
             static_cast<double>(overrides_.bytes()) / static_cast<double>(size());
    });
  }

 private:
  template <class>
  friend class PyGradient;
  template <class>
  friend class PyFlight;
  template <class>
  friend class DeviceFleet;

  /// Writes a record of a rollout to its row of an array.
  using Recorder = std::function<void(py::ssize_t row)>;

  /// Number of steps, of `count`, between two checks for Ctrl-C: all if the fleet has a floor,
  /// because the contact flag covers one call of step().
  py::ssize_t uninterrupted_steps(py::ssize_t count) const {
    const bool whole = fleet_.options().floor > -std::numeric_limits<double>::infinity();
    return whole ? count : std::max<py::ssize_t>(1, uninterrupted / size());
  }

  /// Adds an array for `count` records to `arrays`. imu: buffers for specific force and angular
  /// rate, resized only if they are recorded.
  Recorder recorder(const std::string& name, py::ssize_t count, py::dict& arrays,
                    std::vector<T> (&imu)[2]) const {
    const auto with = [&](auto array, auto write) -> Recorder {
      arrays[name.c_str()] = array;
      auto* const to = array.mutable_data();
      const auto each = static_cast<std::size_t>(count > 0 ? array.size() / count : 0);
      return [=](py::ssize_t row) { write(Span{to + static_cast<std::size_t>(row) * each, each}); };
    };
    if (name == "time") {
      return with(Array({count, size()}), [this](Span<double> to) { fleet_.time(to); });
    }
    if (name == "specific_force" || name == "angular_rate") {
      for (auto& readings : imu) readings.resize(fleet_.size() * 3);
      const auto& from = imu[name == "angular_rate" ? 1 : 0];
      return with(Rows({count, size(), py::ssize_t{3}}),
                  [&from](Span<T> to) { std::copy(from.begin(), from.end(), to.begin()); });
    }
    const NamedField& named = field_named(name);
    const FleetField field = named.field;
    if (named.is_flag) {
      return with(py::array_t<bool>({count, size()}),
                  [this, field](Span<bool> to) { read_flags(field, to); });
    }
    std::vector<py::ssize_t> shape{count, size()};
    if (!named.is_number) shape.push_back(fleet_.width(field));
    return with(Rows(shape), [this, field](Span<T> to) { fleet_.read(field, to); });
  }

  void read_flags(FleetField field, Span<bool> to) const {
    std::vector<T> numbers(fleet_.size());
    fleet_.read(field, numbers);
    std::transform(numbers.begin(), numbers.end(), to.begin(), [](T x) { return x != T(0); });
  }

  static FleetState<T> state_of(const py::tuple& parts) {
    const auto part = [&](std::size_t i) {
      const py::object rows = parts[i];
      return rows.is_none() ? Span<const T>{}
                            : constant_span_of(py::reinterpret_borrow<Rows>(rows));
    };
    return {part(0), part(1), part(2), part(3), part(4)};
  }
  InstructionSet instruction_set_;
  Fleet<Multicopter<>, T> fleet_;
  VehicleOverrides overrides_;
  CommandBuffers<T> buffers_;
};

}  // namespace propwash::bindings
