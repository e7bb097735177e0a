#pragma once
/// @file
/// A fleet that steps on a device. The host has the layout of its memory, and computes constants,
/// resets, outer loops and snapshots; for each kernel it calls a function of Python, which copies
/// the memory and launches the kernel.

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>

#include "fleet_binding.hpp"
#include "propwash/fleet/impl/thread_kernels.hpp"

namespace propwash::bindings {

/// The arguments of a kernel.
template <class T>
struct FleetLaunch {
  const FleetBatch<T>& batch;
  const char* shape;
  const char* method;
  const char* work;
  std::size_t constants_bytes;  ///< of a block
  bool is_reading;

  py::bytes bytes() const { return {reinterpret_cast<const char*>(&batch), sizeof batch}; }

  /// The threads of the kernel, with the features of the batch.
  std::string thread() const {
    return std::string("propwash::FleetThread<") + (sizeof(T) == 4 ? "float" : "double") + ", " +
           std::to_string(batch.rotors) + ", propwash::" + shape + ", propwash::" + method +
           ", propwash::TickWork::" + work + ", " + std::to_string(features_of(batch)) + "u>";
  }

  py::dict memory() const {
    const std::size_t blocks = (batch.size + warp_lanes - 1) / warp_lanes;
    const std::size_t padded = blocks * warp_lanes;
    const auto rotors = static_cast<std::size_t>(batch.rotors);
    const auto slots = [](int count) { return static_cast<std::size_t>(count); };
    py::dict arrays;
    const auto add = [&](const char* name, const auto* from, std::size_t count) {
      if (from == nullptr) return;
      arrays[name] = py::make_tuple(reinterpret_cast<std::uintptr_t>(from), count * sizeof *from);
    };
    add("state", batch.state, padded * slots(FleetLayout{batch.rotors}.size()));
    add("constants", batch.constants, (batch.constants_stride == 0 ? 1 : blocks) * constants_bytes);
    add("ids", batch.ids, padded);
    add("reset_at", batch.reset_at, padded);
    add("motor_delay", batch.motor_delay, padded * slots(batch.motor_delay_slots) * rotors);
    add("action_delay", batch.action_delay,
        padded * slots(batch.action_delay_slots) * std::max<std::size_t>(4, rotors));
    add("action_delay_steps", batch.action_delay_steps, padded);
    add("rates", batch.rates, 3 * batch.size);
    add("thrust", batch.thrust, batch.size);
    add("speeds", batch.speeds, rotors * batch.size);
    return arrays;
  }
};

/// The fleet behind Python's Fleet(device=…).
template <class T>
class DeviceFleet : public PyFleet<T> {
 public:
  DeviceFleet(const py::object& parameters, py::ssize_t size, const FleetOptions& options)
      : PyFleet<T>(parameters, size, options, {}, &kernels) {}

  /// The host does not read the commands.
  void step_at(const std::vector<std::uintptr_t>& addresses, const py::object& substeps) {
    const py::ssize_t count = this->step_count(substeps);
    const std::size_t size = this->fleet_.size();
    const auto rows = [&](std::size_t i, std::size_t width) {
      return Span<const T>{reinterpret_cast<const T*>(addresses.at(i)), size * width};
    };
    FleetCommand<T> command;
    if (addresses.size() == 1) {
      command = FleetRotorSpeeds<T>{rows(0, static_cast<std::size_t>(this->fleet_.rotors()))};
    } else {
      command = FleetRateThrust<T>{rows(0, 3), rows(1, 1)};
    }
    this->alone(false, [&] { this->fleet_.step(command, static_cast<int>(count)); });
  }

  py::tuple field(const std::string& name) const {
    if (name == "imu") return py::make_tuple(FleetLayout::held_accelerometer, 6, 1.0);
    const FleetField field = field_named(name).field;
    const auto extent = detail::FleetMemory<T>::extent(field, FleetLayout{this->fleet_.rotors()});
    const bool is_ratio = field == FleetField::battery_voltage;
    const double factor = is_ratio ? this->fleet_.vehicle().battery.nominal_voltage : 1.0;
    return py::make_tuple(extent.first, extent.count, factor);
  }

  static py::object launched_by(const py::function& launch, const py::function& call) {
    return within(launch, call);
  }

  /// Calls `launch` with the memory that the fleet would have after a reset.
  void at_start(const py::function& launch, bool has_rates) {
    auto start = this->fleet_;
    start.reset();
    within(launch, [&] {
      const std::size_t size = start.size();
      const std::size_t rotors = static_cast<std::size_t>(start.rotors());
      const auto unread = [&](std::size_t width) { return Span<const T>{nullptr, size * width}; };
      if (has_rates) {
        start.step(FleetRateThrust<T>{unread(3), unread(1)});
      } else {
        start.step(FleetRotorSpeeds<T>{unread(rotors)});
      }
      return 0;
    });
  }

  static py::dict offsets() {
    using Batch = FleetBatch<T>;
    py::dict offsets;
    const auto add = [&](const char* name, std::size_t offset) { offsets[name] = offset; };
    add("state", offsetof(Batch, state)), add("next_state", offsetof(Batch, next_state));
    add("constants", offsetof(Batch, constants)), add("ids", offsetof(Batch, ids));
    add("reset_at", offsetof(Batch, reset_at)), add("rates", offsetof(Batch, rates));
    add("thrust", offsetof(Batch, thrust)), add("speeds", offsetof(Batch, speeds));
    add("motor_delay", offsetof(Batch, motor_delay));
    add("action_delay", offsetof(Batch, action_delay));
    add("action_delay_steps", offsetof(Batch, action_delay_steps));
    add("step", offsetof(Batch, step));
    return offsets;
  }

 private:
  /// A call of launched_by(). An exception of `launch` waits for its end, because those of a work
  /// that an executor runs end the program.
  struct Call {
    const py::function& launch;
    std::exception_ptr failure;
    Call* outer;
  };
  inline static thread_local Call* call_ = nullptr;

  template <class F>
  static auto within(const py::function& launch, const F& f) {
    struct Entered {
      explicit Entered(Call& call) { call_ = &call; }
      Entered(const Entered&) = delete;
      Entered& operator=(const Entered&) = delete;
      ~Entered() { call_ = call_->outer; }
    };
    Call here{launch, {}, call_};
    auto result = [&] {
      const Entered entered(here);
      return f();
    }();
    if (here.failure) std::rethrow_exception(here.failure);
    return result;
  }

  static void launch(const FleetLaunch<T>& launch) {
    if (call_ == nullptr || call_->failure) return;
    const py::gil_scoped_acquire gil;
    try {
      call_->launch(py::cast(launch, py::return_value_policy::reference));
    } catch (...) {
      call_->failure = std::current_exception();
    }
  }

  template <class Shape>
  static void launch(const FleetBatch<T>& batch, const char* method, const char* work,
                     bool is_reading) {
    const char* const shape =
        std::is_same_v<Shape, PrincipalShape> ? "PrincipalShape" : "GeneralShape";
    const std::size_t bytes = detail::ThreadConstants<T, Shape>::bytes(batch.rotors);
    launch({batch, shape, method, work, bytes, is_reading});
  }

  /// The loops of thread_fleet_kernels(). A launch covers all blocks, and is made for the last of
  /// them: the calls are in order, and outer loops compute the command of a block before its call.
  template <class Shape>
  struct Launches {
    template <class Method, TickWork Work, FleetFeatures = features_at_run_time>
    static void step(const FleetBatch<T>& batch, std::size_t, std::size_t last) {
      if (last * warp_lanes < batch.size) return;
      constexpr const char* method = std::is_same_v<Method, Euler> ? "Euler" : "Rk4";
      constexpr const char* work = Work == TickWork::physics         ? "physics"
                                   : Work == TickWork::process_noise ? "process_noise"
                                                                     : "everything";
      launch<Shape>(batch, method, work, false);
    }
    /// Samples of a slow IMU are taken on the device, other readings on the host.
    static void measure(const FleetBatch<T>& batch, std::size_t first, std::size_t last,
                        T* readings, std::size_t stride) {
      constexpr std::size_t held = FleetLayout::held_accelerometer * warp_lanes;
      if (batch.next_state == nullptr || readings != batch.next_state + held) {
        using Host = detail::ThreadLoops<T, Dynamic, Shape>;
        return Host::measure(batch, first, last, readings, stride);
      }
      if (last * warp_lanes >= batch.size) launch<Shape>(batch, "Euler", "everything", true);
    }
  };

  /// In the shapes of the kernels of this processor, because the other shape rounds differently.
  static FleetKernels<T> kernels(int rotors, bool parallel) {
    const auto processor = fleet_kernels_of<T>(used_set())(rotors, parallel);
    auto made = processor.is_principal ? of<PrincipalShape>(rotors) : of<GeneralShape>(rotors);
    if (processor.euler[0] == nullptr)
      std::fill(std::begin(made.euler), std::end(made.euler), nullptr);
    return made;
  }
  template <class Shape>
  static FleetKernels<T> of(int rotors) {
    return thread_fleet_kernels<T, Dynamic, Shape, features_at_run_time, Launches<Shape>>(rotors);
  }
};

template <class T>
void bind_device_fleet_of(py::module_& m, const char* name) {
  using Device = DeviceFleet<T>;
  py::class_<Device, PyFleet<T>> device(m, name,
                                        "A fleet whose steps Python launches on a device.");
  device
      .def(py::init([](const py::object& parameters, py::ssize_t size, const py::dict& options) {
             return std::make_unique<Device>(parameters, size, options_from(options));
           }),
           "parameters"_a, "size"_a, "options"_a)
      .def("step_at", &Device::step_at, "addresses"_a, "substeps"_a,
           "Steps with commands on the device, at the addresses of rates and thrust, or of speeds.")
      .def("field", &Device::field, "name"_a,
           "The first number of a field in a block, its width, and the factor on its numbers.")
      .def_static("launched_by", &Device::launched_by, "launch"_a, "call"_a,
                  "Calls `call`; kernels that it runs call launch(FleetLaunch).")
      .def("at_start", &Device::at_start, "launch"_a, "has_rates"_a,
           "Calls launch(FleetLaunch) with the memory that the fleet would have after a reset.")
      .def_static("offsets", &Device::offsets,
                  "Offsets of the pointers and of the step of a batch in bytes, by name.");
  using Launch = FleetLaunch<T>;
  py::class_<Launch>(device, "Launch", "The arguments of a kernel; valid during the call.")
      .def_property_readonly("batch", &Launch::bytes)
      .def_property_readonly("memory", &Launch::memory,
                             "Address and bytes of each array on the host, by name.")
      .def_property_readonly("thread", &Launch::thread, "The C++ type of the kernel's threads.")
      .def_readonly("is_reading", &Launch::is_reading, "Holds the IMU's reading instead of a step.")
      .def_property_readonly("has_floor", [](const Launch& l) { return l.batch.switches.ground; })
      .def_property_readonly("has_slow_imu",
                             [](const Launch& l) { return l.batch.switches.imu_is_slower; })
      .def_property_readonly("is_individual",
                             [](const Launch& l) { return l.batch.constants_stride != 0; });
}

}  // namespace propwash::bindings
