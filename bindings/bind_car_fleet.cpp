#include <pybind11/stl.h>

#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "fleet_commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/fleet/car_fleet.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/vehicle/fields.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

/// A command for a fleet of cars, record by record.
template <class T>
class CarFleetSource {
 public:
  CarFleetSource(const Command& command, py::ssize_t size, CommandRoom<T>& room)
      : speed_(*command.numbers(0), "speed", 0, size, 1, room[0]),
        yaw_rate_(*command.numbers(1), "yaw_rate", 0, size, 1, room[1]) {}

  py::ssize_t records() const { return std::max(speed_.records(), yaw_rate_.records()); }
  CarFleetCommand<T> operator[](py::ssize_t record) {
    return {speed_.row(record), yaw_rate_.row(record)};
  }

 private:
  FleetPart<T> speed_;
  FleetPart<T> yaw_rate_;
};

/// A fleet of cars that Python's threads may share: one at a time is inside.
template <class T>
class PyCarFleet {
 public:
  using Rows = py::array_t<T, py::array::c_style>;

  PyCarFleet(const py::object& parameters, py::ssize_t size, const CarFleetOptions& options,
             std::shared_ptr<ThreadPool> pool)
      : fleet_(car_parameters(parameters), static_cast<std::size_t>(size), options),
        pool_(std::move(pool)) {}

  py::ssize_t size() const { return static_cast<py::ssize_t>(fleet_.size()); }
  int threads() const { return pool_ ? pool_->threads() : 1; }

  void step(const py::object& command, const py::object& substeps) {
    const Command& c = command_of(CommandKind::speed_yaw_rate, command);
    const py::ssize_t count = checked_substeps(substeps);
    const auto held = [&] {
      CarFleetSource<T> source(c, size(), room_);
      if (source.records() < 0) return source[0];
      throw py::value_error("command: expected one command for step(), got " +
                            std::to_string(source.records()) + " rows; rollout() takes rows");
    };
    const py::ssize_t piece = std::max<py::ssize_t>(1, worth_a_break / size());
    for (py::ssize_t done = 0; done < count; done += piece) {
      const py::ssize_t now = std::min(piece, count - done);
      alone(now * size() > worth_releasing,
            [&] { fleet_.step(held(), static_cast<int>(now), executor()); });
      if (count > piece && PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  }

  py::dict rollout(const py::object& command, const py::object& steps, const py::object& substeps) {
    const Command& c = command_of(CommandKind::speed_yaw_rate, command);
    const py::ssize_t each = checked_substeps(substeps);
    CommandRoom<T> room;  // of this call: another thread may step between two records
    CarFleetSource<T> source(c, size(), room);
    const py::ssize_t count = record_count(source.records(), steps);
    Array time({count, size()});
    Rows position({count, size(), py::ssize_t{2}});
    Rows heading({count, size()});
    py::ssize_t row = 0;
    const auto next = [&, seconds = time.mutable_data(), places = position.mutable_data(),
                       angles = heading.mutable_data()] {
      fleet_.step(source[row], static_cast<int>(each), executor());
      const py::ssize_t first = row++ * size();
      fleet_.time({seconds + first, fleet_.size()});
      fleet_.read(CarFleetField::position, {places + 2 * first, 2 * fleet_.size()});
      fleet_.read(CarFleetField::heading, {angles + first, fleet_.size()});
    };
    while (row < count) {
      alone(true, [&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        do next();
        while (row < count && std::chrono::steady_clock::now() < end);
      });
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    py::dict arrays;
    arrays["time"] = time;
    arrays["position"] = position;
    arrays["heading"] = heading;
    return arrays;
  }

  Rows position() const {
    Rows rows({size(), py::ssize_t{2}});
    read(CarFleetField::position, rows);
    return rows;
  }
  Rows heading() const {
    Rows rows(size());
    read(CarFleetField::heading, rows);
    return rows;
  }
  py::array_t<bool> diverged() const {
    Rows rows(size());
    read(CarFleetField::diverged, rows);
    py::array_t<bool> flags(size());
    for (py::ssize_t i = 0; i < size(); ++i) flags.mutable_data()[i] = rows.data()[i] != T(0);
    return flags;
  }
  Array time() const {
    Array seconds(size());
    const Span<double> to{seconds.mutable_data(), fleet_.size()};
    alone(size() > worth_releasing, [&] { fleet_.time(to); });
    return seconds;
  }

  /// The parts are arrays that Python has checked, or None.
  void reset(const py::tuple& parts, const py::object& mask, const py::object& seed) {
    const CarFleetState<T> state = state_of(parts);
    if (!seed.is_none()) {
      const auto key = seed.cast<std::uint64_t>();
      return alone(size() > worth_releasing, [&] { fleet_.reset(state, key); });
    }
    const Span<const bool> some = mask_of(mask);
    alone(size() > worth_releasing, [&] { fleet_.reset(state, some); });
  }
  void set_state(const py::tuple& parts, const py::object& mask) {
    const CarFleetState<T> state = state_of(parts);
    const Span<const bool> some = mask_of(mask);
    alone(size() > worth_releasing, [&] { fleet_.set_state(state, some); });
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
    alone(false, [&] {
      const auto own = own_.find(k);
      if (own != own_.end()) {
        std::copy(own->second->begin(), own->second->end(), to);
        return;
      }
      for (py::ssize_t i = 0; i < size(); ++i) field.get(to + i * field.size());
    });
    return values;
  }
  /// Field numbers with arrays (n, …), all taken or none.
  void set_parameters(const std::map<std::size_t, Array>& values) {
    Own own;
    for (const auto& [k, array] : values) {
      own[k] =
          std::make_shared<const std::vector<double>>(array.data(), array.data() + array.size());
    }
    alone(true, [&] {
      own.insert(own_.begin(), own_.end());  // the new ones are there already and stay
      CarParameters car = fleet_.vehicle();
      const auto table = fields(car);
      fleet_.set_parameters([&](std::size_t i) -> const CarParameters& {
        for (const auto& [k, numbers] : own) {
          table[k].set(numbers->data() + i * static_cast<std::size_t>(table[k].size()));
        }
        return car;
      });
      own_.swap(own);
    });
  }
  /// The numbers of the fields that are not the same for all vehicles.
  std::vector<std::size_t> own_parameters() const {
    return alone(false, [&] {
      std::vector<std::size_t> result;
      for (const auto& item : own_) result.push_back(item.first);
      return result;
    });
  }

  double bytes_per_vehicle() const {
    return alone(false, [&] {
      double numbers = 0.0;
      for (const auto& item : own_) numbers += static_cast<double>(item.second->size());
      return fleet_.bytes_per_vehicle() + numbers * sizeof(double) / static_cast<double>(size());
    });
  }
  std::uint64_t steps() const {
    return alone(false, [&] { return fleet_.steps(); });
  }
  std::uint64_t seed() const {
    return alone(false, [&] { return fleet_.options().seed; });
  }

 private:
  using Own = std::map<std::size_t, std::shared_ptr<const std::vector<double>>>;
  static constexpr py::ssize_t worth_releasing = 64;       // vehicle steps
  static constexpr py::ssize_t worth_a_break = 5'000'000;  // vehicle steps

  static py::ssize_t checked_substeps(const py::object& substeps) {
    const py::ssize_t count = whole_number(substeps, "substeps", 1);
    constexpr int most = std::numeric_limits<int>::max();
    if (count > most) refuse("substeps", "at most " + std::to_string(most), substeps);
    return count;
  }

  /// Calls f while no other thread is inside. Nobody waits with the GIL, and nobody takes it
  /// inside, so that no two threads wait for each other.
  template <class F>
  decltype(auto) alone(bool is_long, F&& f) const {
    if (!is_long) {
      const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
      if (lock) return f();
    }
    const py::gil_scoped_release release;
    const std::lock_guard<std::mutex> lock(mutex_);
    return f();
  }

  ExecutorRef executor() { return pool_ ? ExecutorRef(*pool_) : ExecutorRef(); }

  void read(CarFleetField field, Rows& rows) const {
    const Span<T> to{rows.mutable_data(), static_cast<std::size_t>(rows.size())};
    alone(size() > 64 * worth_releasing, [&] { fleet_.read(field, to); });
  }

  static Span<const T> part_of(const py::handle& part) {
    if (part.is_none()) return {};
    const auto rows = py::reinterpret_borrow<Rows>(part);
    return {rows.data(), static_cast<std::size_t>(rows.size())};
  }
  static CarFleetState<T> state_of(const py::tuple& parts) {
    return {part_of(parts[0]), part_of(parts[1])};
  }
  static Span<const bool> mask_of(const py::object& mask) {
    if (mask.is_none()) return {};
    const auto flags = py::reinterpret_borrow<py::array_t<bool, py::array::c_style>>(mask);
    return {flags.data(), static_cast<std::size_t>(flags.size())};
  }

  CarFleet<T> fleet_;
  std::shared_ptr<ThreadPool> pool_;
  Own own_;
  CommandRoom<T> room_;
  mutable std::mutex mutex_;
};

/// Name, shape of one vehicle's numbers and whether all vehicles share it, for each field.
py::list car_parameter_table(const py::object& parameters) {
  const CarParameters car = car_parameters(parameters);
  py::list table;
  for (const auto& field : fields(car)) {
    py::list shape;
    for (const int extent : field.shape) shape.append(extent);
    table.append(py::make_tuple(std::string(field.name), py::tuple(shape), field.structural));
  }
  return table;
}

template <class T>
void bind_car_fleet_of(py::module_& m, const char* name) {
  using Self = PyCarFleet<T>;
  py::class_<Self>(m, name, "See propwash.CarFleet.")
      .def(
          py::init([](const py::object& parameters, py::ssize_t size, const std::string& integrator,
                      double dt, std::uint64_t seed, std::uint32_t first_id, bool noise,
                      const std::optional<std::shared_ptr<ThreadPool>>& pool) {
            const CarFleetOptions options{integrator_named(integrator), dt, seed, first_id, noise};
            return std::make_unique<Self>(parameters, size, options, pool.value_or(nullptr));
          }),
          py::arg("parameters"), py::arg("size"), py::arg("integrator"), py::arg("dt"),
          py::arg("seed"), py::arg("first_id"), py::arg("noise"), py::arg("pool"))
      .def("step", &Self::step, py::arg("command"), py::arg("substeps"))
      .def("rollout", &Self::rollout, py::arg("command"), py::arg("steps"), py::arg("substeps"))
      .def("reset", &Self::reset, py::arg("parts"), py::arg("mask"), py::arg("seed"))
      .def("set_state", &Self::set_state, py::arg("parts"), py::arg("mask"))
      .def("snapshot", &Self::snapshot)
      .def("restore", &Self::restore, py::arg("snapshot"))
      .def("parameter", &Self::parameter, py::arg("field"))
      .def("set_parameters", &Self::set_parameters, py::arg("values"))
      .def("own_parameters", &Self::own_parameters)
      .def_property_readonly("position", &Self::position, "(n, 2) m, world frame")
      .def_property_readonly("heading", &Self::heading, "(n,) rad, from world x, not wrapped")
      .def_property_readonly("diverged", &Self::diverged,
                             "(n,) whether a number of the state is not finite")
      .def_property_readonly("time", &Self::time, "(n,) s, since each vehicle's reset")
      .def_property_readonly("threads", &Self::threads)
      .def_property_readonly("steps", &Self::steps)
      .def_property_readonly("seed", &Self::seed)
      .def_property_readonly("bytes_per_vehicle", &Self::bytes_per_vehicle);
}

}  // namespace

void bind_car_fleet(py::module_& m) {
  bind_car_fleet_of<float>(m, "CarFleetFloat32");
  bind_car_fleet_of<double>(m, "CarFleetFloat64");
  m.def("car_parameter_table", &car_parameter_table, py::arg("parameters"));
}

}  // namespace propwash::bindings
