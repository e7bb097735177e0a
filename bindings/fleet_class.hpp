#pragma once
/// @file
/// What stands behind Python's Fleet: a fleet with the buffers of its command, its threads and its
/// lock.

#include <pybind11/stl.h>

#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "fleet_commands.hpp"
#include "kernels/dispatch.hpp"
#include "outer_loops.hpp"
#include "own_numbers.hpp"
#include "parameters.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

using Pool = std::shared_ptr<ThreadPool>;

struct NamedField {
  const char* name;
  FleetField field;
  bool is_flag;
  const char* meaning;
};

inline constexpr NamedField named_fields[] = {
    {"position", FleetField::position, false, "(n, 3) m, world frame"},
    {"velocity", FleetField::velocity, false, "(n, 3) m/s, world frame"},
    {"attitude", FleetField::attitude, false, "(n, 4) unit quaternions, scalar first"},
    {"body_rates", FleetField::body_rates, false, "(n, 3) rad/s, body frame"},
    {"rotor_speeds", FleetField::rotor_speeds, false, "(n, N) rad/s"},
    {"rotor_command", FleetField::rotor_command, false,
     "(n, N) rad/s, what the motors were driven to in the last step"},
    {"rotor_effectiveness", FleetField::rotor_effectiveness, false,
     "(n, N) factors on the rotors' thrust and aerodynamic torque"},
    {"wind", FleetField::wind, false, "(n, 3) m/s, mean wind, world frame"},
    {"external_force", FleetField::external_force, false, "(n, 3) N, world frame"},
    {"external_torque", FleetField::external_torque, false, "(n, 3) N m, body frame"},
    {"accelerometer_bias", FleetField::accelerometer_bias, false, "(n, 3) m/s^2, sensor axes"},
    {"gyroscope_bias", FleetField::gyroscope_bias, false, "(n, 3) rad/s, sensor axes"},
    {"contact", FleetField::contact, true, "(n,) whether the floor was touched in the last call"},
    {"diverged", FleetField::diverged, true, "(n,) whether a number of the state is not finite"},
};

inline const NamedField* find_named(const std::string& name) {
  for (const auto& field : named_fields) {
    if (name == field.name) return &field;
  }
  return nullptr;
}

/// A fleet that Python's threads may share: one at a time is inside.
template <class T>
class PyFleet {
 public:
  using Rows = py::array_t<T, py::array::c_style>;

  PyFleet(const py::object& parameters, py::ssize_t size, const FleetOptions& options, Pool pool)
      : kernels_(kernel_set()),
        fleet_(vehicle_parameters(parameters), static_cast<std::size_t>(size), options, source()),
        pool_(std::move(pool)) {
    warn(fleet_.warning());
  }

  void attach(FleetSampler& sampler) {
    alone(false, [&] { fleet_.attach(sampler); });
  }
  void detach(const FleetSampler& sampler) {
    alone(false, [&] { fleet_.detach(sampler); });
  }
  /// For several calls in a row: other threads wait until unlock().
  void lock() const {
    const py::gil_scoped_release release;
    mutex_.lock();
  }
  void unlock() const { mutex_.unlock(); }

  const char* isa() const { return kernels_.isa; }
  py::ssize_t size() const { return static_cast<py::ssize_t>(fleet_.size()); }
  const Fleet<T>& fleet() const { return fleet_; }
  int threads() const { return pool_ ? pool_->threads() : 1; }

  void step(const py::object& command, const py::object& substeps) {
    step_under(multicopter_command(command), substeps);
  }
  /// `after` is called after each command, or None.
  py::dict rollout(const py::object& command, const py::object& steps, const py::object& substeps,
                   const std::vector<std::string>& record, const py::object& after) {
    return fly(multicopter_command(command), steps, substeps, record, after);
  }

  py::array read(const NamedField& named) const {
    const int width = fleet_.width(named.field);
    const bool is_long = size() * width > worth_releasing * 64;
    if (named.is_flag) {
      py::array_t<bool> flags(size());
      bool* to = flags.mutable_data();
      alone(is_long, [&] { read_flags(named.field, to); });
      return flags;
    }
    Rows rows({size(), static_cast<py::ssize_t>(width)});
    const Span<T> to{rows.mutable_data(), static_cast<std::size_t>(rows.size())};
    alone(is_long, [&] { fleet_.read(named.field, to); });
    return rows;
  }

  /// Position, velocity, attitude and body rates in one go, and whether all of it is within `most`.
  py::tuple kinematics(T most) const {
    const auto shaped = [this](py::ssize_t width) { return Rows({size(), width}); };
    Rows rows[] = {shaped(3), shaped(3), shaped(4), shaped(3)};
    Span<T> to[4];
    for (int i = 0; i < 4; ++i) {
      to[i] = {rows[i].mutable_data(), static_cast<std::size_t>(rows[i].size())};
    }
    int beyond = 0;
    alone(size() > worth_releasing * 4, [&] {
      fleet_.read_kinematics(to[0], to[1], to[2], to[3]);
      for (const auto& numbers : to) {
        const T* const x = numbers.data();
        for (std::size_t k = 0; k < numbers.size(); ++k) {
          beyond |= static_cast<int>(!(x[k] < most)) | static_cast<int>(!(x[k] > -most));
        }
      }
    });
    return py::make_tuple(rows[0], rows[1], rows[2], rows[3], beyond == 0);
  }

  py::array time() const {
    Array seconds(size());
    const Span<double> to{seconds.mutable_data(), fleet_.size()};
    alone(false, [&] { fleet_.time(to); });
    return seconds;
  }

  py::tuple imu() const {
    Rows force({size(), py::ssize_t{3}});
    Rows rate({size(), py::ssize_t{3}});
    const Span<T> to_force{force.mutable_data(), fleet_.size() * 3};
    const Span<T> to_rate{rate.mutable_data(), fleet_.size() * 3};
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
  void set_wind(const Rows& wind) {
    alone(false, [&] { fleet_.set_wind(span_of(wind)); });
  }
  void set_external_wrench(const Rows& force_W, const Rows& torque_B) {
    alone(false, [&] { fleet_.set_external_wrench(span_of(force_W), span_of(torque_B)); });
  }
  void set_rotor_effectiveness(const Rows& factors) {
    alone(size() > worth_releasing, [&] { fleet_.set_rotor_effectiveness(span_of(factors)); });
  }
  void set_battery_voltage(const Rows& voltage) {
    alone(false, [&] { fleet_.set_battery_voltage(span_of(voltage)); });
  }
  void set_action_delay(const py::array_t<std::uint32_t, py::array::c_style>& steps) {
    const Span<const std::uint32_t> all{steps.data(), static_cast<std::size_t>(steps.size())};
    alone(false, [&] { fleet_.set_action_delay(all); });
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
    alone(false, [&] { own_.read(k, fleet_.vehicle(), fleet_.size(), to); });
    return values;
  }
  /// Field numbers with arrays (n, …), all taken or none; or with arrays (m, …), for the vehicles
  /// whose numbers `some` gives, (m,).
  void set_parameters(const std::map<std::size_t, Array>& values,
                      const std::optional<std::vector<std::size_t>>& some) {
    const std::vector<std::size_t> chosen = some.value_or(std::vector<std::size_t>{});
    const std::string warning = alone(true, [&] {
      OwnNumbers own = own_;
      for (const auto& [k, array] : values) {
        own.set(k, array, chosen, fleet_.vehicle(), fleet_.size());
      }
      own.apply(fleet_, chosen);
      std::swap(own_, own);
      return fleet_.warning();
    });
    warn(warning);
  }
  OuterLoopParameters outer_loops() const {
    return alone(false, [&] { return fleet_.outer_loops(); });
  }
  void set_outer_loops(const OuterLoopParameters& parameters) {
    alone(false, [&] { fleet_.set_outer_loops(parameters); });
  }
  double bytes_per_vehicle() const {
    return alone(false, [&] {
      return fleet_.bytes_per_vehicle() +
             static_cast<double>(own_.bytes()) / static_cast<double>(size());
    });
  }
  /// The numbers of the fields that are not the same for all vehicles.
  std::vector<std::size_t> own_parameters() const {
    return alone(false, [&] { return own_.fields_set(); });
  }
  std::uint64_t steps() const {
    return alone(false, [&] { return fleet_.steps(); });
  }
  std::uint32_t first_id() const {
    return alone(false, [&] { return fleet_.options().first_id; });
  }
  std::uint64_t seed() const {
    return alone(false, [&] { return fleet_.options().seed; });
  }

 private:
  static constexpr py::ssize_t worth_releasing = 64;        // vehicle steps
  static constexpr py::ssize_t worth_a_break = 10'000'000;  // vehicle steps

  static py::ssize_t step_count(const py::object& substeps) {
    const py::ssize_t count = whole_number(substeps, "substeps", 1);
    constexpr py::ssize_t most = std::numeric_limits<int>::max();
    if (count > most) refuse("substeps", "at most " + std::to_string(most), substeps);
    return count;
  }
  /// How many of `count` steps go between two looks for Ctrl-C: with a floor all of them, as
  /// contact is of a call.
  py::ssize_t steps_to_a_break(py::ssize_t count) const {
    const bool whole = fleet_.options().floor > -std::numeric_limits<double>::infinity();
    return whole ? count : std::max<py::ssize_t>(1, worth_a_break / size());
  }

  void step_under(const Command& command, const py::object& substeps) {
    const py::ssize_t count = step_count(substeps);
    const auto held = [&] {
      fleet_.require_idle();  // a call that samples uses buffers_
      FleetCommand<T> source(command, fleet_, buffers_);
      if (source.records() < 0) return source;
      throw py::value_error("command: expected one command for step(), got " +
                            std::to_string(source.records()) + " rows; rollout() takes rows");
    };
    if (count * size() <= worth_a_break) {
      return alone(count * size() > worth_releasing,
                   [&] { held().step(fleet_, 0, static_cast<int>(count), executor()); });
    }
    const py::ssize_t piece = steps_to_a_break(count);
    alone(false, [&] { held(); });  // refuses before anything changes
    for (py::ssize_t done = 0; done < count; done += piece) {
      const auto now = static_cast<int>(std::min(piece, count - done));
      alone(true, [&] { held().step(fleet_, 0, now, executor()); });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  py::dict fly(const Command& command, const py::object& steps, const py::object& substeps,
               const std::vector<std::string>& record, const py::object& after) {
    const py::ssize_t each = step_count(substeps);
    CommandBuffers<T> buffers;  // of this call: another thread may step between two records
    std::optional<FleetCommand<T>> source;
    alone(false, [&] { source.emplace(command, fleet_, buffers); });
    const py::ssize_t count = record_count(source->records(), steps);
    py::dict arrays;
    std::vector<Recorder> recorders;
    bool reads_imu = false;
    for (const auto& name : record) {
      recorders.push_back(recorder(name, count, arrays));
      reads_imu = reads_imu || name == "specific_force" || name == "angular_rate";
    }
    std::vector<T> force(reads_imu ? fleet_.size() * 3 : 0);
    std::vector<T> rate(force.size());
    const py::ssize_t piece = steps_to_a_break(each);
    py::ssize_t row = 0;
    py::ssize_t flown = 0;  // steps of this row
    const auto next = [&] {
      const py::ssize_t now = std::min(piece, each - flown);
      source->step(fleet_, row, static_cast<int>(now), executor());
      flown += now;
      if (flown < each) return;
      flown = 0;
      if (reads_imu) fleet_.read_imu(force, rate, executor());
      for (auto& to : recorders) to.write(*this, row, force, rate);
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

  /// One array of a rollout.
  struct Recorder {
    const NamedField* named;
    enum { seconds, force, rate, field } kind;
    void* to;
    std::size_t stride;

    void write(const PyFleet& self, py::ssize_t row, const std::vector<T>& forces,
               const std::vector<T>& rates) {
      const std::size_t first = static_cast<std::size_t>(row) * stride;
      const auto& fleet = self.fleet_;
      if (kind == seconds) return fleet.time({static_cast<double*>(to) + first, stride});
      if (kind == force) return void(std::copy(forces.begin(), forces.end(), numbers() + first));
      if (kind == rate) return void(std::copy(rates.begin(), rates.end(), numbers() + first));
      if (named->is_flag) return self.read_flags(named->field, static_cast<bool*>(to) + first);
      fleet.read(named->field, {numbers() + first, stride});
    }
    T* numbers() const { return static_cast<T*>(to); }
  };

  /// An array for `count` records, put among `arrays`.
  Recorder recorder(const std::string& name, py::ssize_t count, py::dict& arrays) const {
    const auto whole = [&](auto array, auto kind, const NamedField* named) {
      arrays[name.c_str()] = array;
      const auto each = count > 0 ? array.size() / count : 0;
      return Recorder{named, kind, array.mutable_data(), static_cast<std::size_t>(each)};
    };
    if (name == "time") return whole(Array({count, size()}), Recorder::seconds, nullptr);
    if (name == "specific_force" || name == "angular_rate") {
      return whole(Rows({count, size(), py::ssize_t{3}}),
                   name == "angular_rate" ? Recorder::rate : Recorder::force, nullptr);
    }
    const NamedField* named = find_named(name);
    if (named == nullptr) throw py::value_error("record: there is no '" + name + "'");
    if (named->is_flag) return whole(py::array_t<bool>({count, size()}), Recorder::field, named);
    return whole(Rows({count, size(), py::ssize_t{fleet_.width(named->field)}}), Recorder::field,
                 named);
  }

  /// Calls f while no other thread is inside. No thread waits with the GIL, so that samplers may
  /// take it inside; they may read the fleet.
  template <class F>
  decltype(auto) alone(bool is_long, F&& f) const {
    if (!is_long) {
      const std::unique_lock<std::recursive_mutex> lock(mutex_, std::try_to_lock);
      if (lock) return f();
    }
    const py::gil_scoped_release release;
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    return f();
  }

  FleetKernelSource<T> source() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return kernels_.float32;
    } else {
      return kernels_.float64;
    }
  }
  ExecutorRef executor() const { return pool_ ? ExecutorRef(*pool_) : ExecutorRef(); }

  void read_flags(FleetField field, bool* to) const {
    std::vector<T> numbers(fleet_.size());
    fleet_.read(field, numbers);
    for (const T number : numbers) *to++ = number != T(0);
  }

  static Span<const T> span_of(const Rows& rows) {
    return {rows.data(), static_cast<std::size_t>(rows.size())};
  }
  static Span<const T> part_of(const py::handle& part) {
    if (part.is_none()) return {};
    return span_of(py::reinterpret_borrow<Rows>(part));
  }
  static FleetState<T> state_of(const py::tuple& parts) {
    return {part_of(parts[0]), part_of(parts[1]), part_of(parts[2]), part_of(parts[3]),
            part_of(parts[4])};
  }
  static Span<const bool> mask_of(const py::object& mask) {
    if (mask.is_none()) return {};
    const auto flags = py::reinterpret_borrow<py::array_t<bool, py::array::c_style>>(mask);
    return {flags.data(), static_cast<std::size_t>(flags.size())};
  }

  const KernelSet& kernels_;
  Fleet<T> fleet_;
  Pool pool_;
  OwnNumbers own_;
  CommandBuffers<T> buffers_;
  mutable std::recursive_mutex mutex_;
};

}  // namespace propwash::bindings
