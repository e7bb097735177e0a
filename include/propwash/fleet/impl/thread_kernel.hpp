#pragma once
/// @file
/// The kernels of a fleet for GPUs: each thread steps one vehicle, one lane of a block of a warp.
/// Experimental; docs/gpu-kernels.md says what has been tested.
///
/// They are the kernels of stepper.hpp with scalars instead of packs. Compiled with -fmad=false and
/// otherwise default arithmetic (correctly rounded division and square root, no flush to zero),
/// they perform the same IEEE operations in the same order as the kernels of a CPU.

#include <cstddef>
#include <cstdint>

#include "propwash/fleet/impl/restart.hpp"
#include "propwash/fleet/impl/stepper.hpp"
#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"

namespace propwash {

/// The lanes of a block: the threads of a warp, which load a field with one access to memory.
inline constexpr int warp_lanes = 32;

/// The features of a batch, one bit each: the members of TickSwitches in their order, a command of
/// rates and thrust, a delay of the motors, a delay of actions.
using FleetFeatures = std::uint32_t;

/// Features that a kernel reads from the batch. A closed loop whose features are fixed when the
/// kernel is compiled needs a third fewer registers.
inline constexpr FleetFeatures features_at_run_time = ~FleetFeatures{0};

/// The features as bits.
PROPWASH_FN constexpr FleetFeatures features_of(const TickSwitches& switches, bool has_rates,
                                                bool delays_motors, bool delays_actions) {
  FleetFeatures features = 0;
  FleetFeatures bit = 1;
  const auto add = [&](bool is_on) PROPWASH_LAMBDA {
    features |= is_on ? bit : 0;
    bit <<= 1;
  };
  TickSwitches::members(switches, [&](const auto&... each) PROPWASH_LAMBDA { (add(each), ...); });
  add(has_rates), add(delays_motors), add(delays_actions);
  return features;
}
template <class T>
PROPWASH_FN FleetFeatures features_of(const FleetBatch<T>& batch) {
  return features_of(batch.switches, batch.rates != nullptr, batch.motor_delay != nullptr,
                     batch.action_delay != nullptr);
}

namespace detail {

/// Whether a switch is on in features, or is read at run time.
constexpr bool has_feature(FleetFeatures features, bool TickSwitches::* which) {
  TickSwitches one;
  TickSwitches::members(one, [](auto&... each) PROPWASH_LAMBDA { ((each = false), ...); });
  one.*which = true;
  return (features & features_of(one, false, false, false)) != 0;
}

template <class Shape, FleetFeatures Features>
struct ShapeOfThread {
  using type = Shape;
};
template <FleetFeatures Features>
struct ShapeOfThread<GeneralShape, Features> {
  using type = GeneralShapeWith<has_feature(Features, &TickSwitches::rotor_flow),
                                has_feature(Features, &TickSwitches::residual),
                                has_feature(Features, &TickSwitches::contact)>;
};

}  // namespace detail

/// A kernel for one number type, number of rotors, shape, integrator, work, and features.
template <class T, int N, class Shape, class Method, TickWork Work,
          FleetFeatures Features = features_at_run_time>
struct FleetThread {
  using Number = T;  ///< float or double
  /// The shape with the terms that fixed features have.
  using Model = typename detail::ShapeOfThread<Shape, Features>::type;
  using Constants = TickConstants<T, N, Model>;  ///< of one vehicle

  /// The constants of a vehicle, from its block of FleetBatch::constants: [number][lane], in the
  /// order of for_each_number, the same for every N.
  PROPWASH_FN static Constants constants_of(const FleetBatch<T>& batch, std::size_t vehicle) {
    Constants constants;
    resize_arrays(constants, batch.rotors);
    set_flags(constants, fixed(batch).switches);
    const T* from = reinterpret_cast<const T*>(batch.constants +
                                               vehicle / warp_lanes * batch.constants_stride) +
                    vehicle % warp_lanes;
    for_each_number(constants, [&](T& number) PROPWASH_LAMBDA {
      number = *from;
      from += warp_lanes;
    });
    return constants;
  }

  /// All substeps of a vehicle. The batch has the features of the kernel.
  PROPWASH_FN static void step(const FleetBatch<T>& batch, const Constants& constants,
                               std::size_t vehicle) {
    const FleetBatch<T> mine = fixed(batch);
    of(mine, constants, vehicle).run();
  }
  /// Writes the IMU's reading of a vehicle to blocks of six fields.
  PROPWASH_FN static void measure(const FleetBatch<T>& batch, const Constants& constants,
                                  std::size_t vehicle, T* readings, std::size_t stride) {
    const FleetBatch<T> mine = fixed(batch);
    of(mine, constants, vehicle).measure(readings + vehicle / warp_lanes * stride);
  }

 private:
  /// The batch with the fixed features as compile-time constants.
  PROPWASH_FN static FleetBatch<T> fixed(FleetBatch<T> batch) {
    if constexpr (Features != features_at_run_time) {
      FleetFeatures rest = Features;
      const auto has = [&]() PROPWASH_LAMBDA {
        const bool is_on = rest % 2 == 1;
        rest /= 2;
        return is_on;
      };
      TickSwitches::members(batch.switches, [&](auto&... each) PROPWASH_LAMBDA { ((each = has()), ...); });
      const bool has_rates = has();
      if (has_rates) batch.speeds = nullptr;
      if (!has_rates) batch.rates = nullptr;
      if (!has()) batch.motor_delay = nullptr;
      if (!has()) batch.action_delay = nullptr;
    }
    return batch;
  }
  PROPWASH_FN static auto of(const FleetBatch<T>& batch, const Constants& constants,
                             std::size_t vehicle) {
    return detail::FleetStepper<FleetThread, T, warp_lanes, N, Model, Method, Work>(
        batch, constants, vehicle / warp_lanes, vehicle % warp_lanes);
  }
};

/// What vehicles restart from.
template <class T>
struct FleetStart {
  /// The blocks of FleetBatch after a reset; with noise, the biases are their deviations.
  const T* state = nullptr;
  const T* motor_delay = nullptr;
  const T* action_delay = nullptr;
  const unsigned char* mask = nullptr;  ///< (size), not 0 for the vehicles to restart
  /// Rows of vehicles that replace position, velocity, attitude, body rates and rotor speeds; null:
  /// those of `state`.
  const T* rows[5] = {};
  std::uint64_t* reset_at = nullptr;  ///< that of the batch
  std::uint64_t noise = 0;            ///< not 0: FleetOptions::noise

  /// The rows of a vehicle.
  PROPWASH_FN detail::StateRow<T> row(std::size_t vehicle, int rotors) const {
    const int width[] = {3, 3, 4, 3, rotors};
    detail::StateRow<T> found;
    for (int part = 0; part < 5; ++part) {
      if (rows[part] != nullptr)
        found.parts[part] = rows[part] + vehicle * static_cast<std::size_t>(width[part]);
    }
    return found;
  }
};

/// Which part of the rows of a vehicle is not finite or, as an attitude, not of length 1; 5: none.
template <class T>
PROPWASH_FN int wrong_part(const FleetStart<T>& start, int rotors, std::size_t vehicle) {
  const detail::StateRow<T> row = start.row(vehicle, rotors);
  const int width[] = {3, 3, 4, 3, rotors};
  for (int part = 0; part < 5; ++part) {
    if (row.parts[part] == nullptr) continue;
    T square{};
    for (int i = 0; i < width[part]; ++i) {
      if (!is_finite(row.parts[part][i])) return part;
      square = square + row.parts[part][i] * row.parts[part][i];
    }
    if (part == 2 && !(abs(square - T(1)) < T(1e-3))) return part;
  }
  return 5;
}

/// Restarts a vehicle as Fleet::reset() does, without the readings that a slow IMU holds.
template <class T>
PROPWASH_FN void restart(const FleetBatch<T>& batch, const FleetStart<T>& start,
                         std::size_t vehicle) {
  const FleetLayout layout{batch.rotors};
  const auto in_block = [&](auto* blocks, int width) PROPWASH_LAMBDA {
    return blocks + vehicle / warp_lanes * static_cast<std::size_t>(width * warp_lanes) +
           vehicle % warp_lanes;
  };
  const auto copy = [&](T* blocks, const T* from, int width) PROPWASH_LAMBDA {
    T* const to = in_block(blocks, width);
    for (int i = 0; i < width; ++i) to[i * warp_lanes] = in_block(from, width)[i * warp_lanes];
  };
  const int motor_width = batch.motor_delay_slots * batch.rotors;
  const int action_width = batch.action_delay_slots * (batch.rotors < 4 ? 4 : batch.rotors);
  copy(batch.next_state, start.state, layout.size());
  if (batch.motor_delay != nullptr) copy(batch.motor_delay, start.motor_delay, motor_width);
  if (batch.action_delay != nullptr) copy(batch.action_delay, start.action_delay, action_width);
  start.reset_at[vehicle] = batch.step;

  T* const fields = in_block(batch.next_state, layout.size());
  const auto at = [&](int field) PROPWASH_LAMBDA -> T& { return fields[field * warp_lanes]; };
  detail::draw_start<T>(at, start.noise != 0, batch.switches.turbulence, batch.seed,
                        batch.ids[vehicle], batch.step);
  detail::write_state<T>(at, batch.rotors, start.row(vehicle, batch.rotors));
  const int slots = batch.motor_delay != nullptr ? batch.motor_delay_slots : 0;
  detail::settle_motors<T>(at, layout, slots, [&](int slot, int rotor) PROPWASH_LAMBDA -> T& {
    return in_block(batch.motor_delay, motor_width)[(slot * batch.rotors + rotor) * warp_lanes];
  });
}

#if defined(__CUDACC__)

/// The entry of a GPU: all substeps of the thread's vehicle. With Individual, each vehicle has its
/// constants, in the batch; otherwise all have `shared`, in the constant bank.
template <class Thread, bool Individual>
__global__ void fleet_step(const __grid_constant__ FleetBatch<typename Thread::Number> batch,
                           const __grid_constant__ typename Thread::Constants shared) {
  const std::size_t vehicle = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vehicle >= batch.size) return;
  if constexpr (Individual) {
    Thread::step(batch, Thread::constants_of(batch, vehicle), vehicle);
  } else {
    Thread::step(batch, shared, vehicle);
  }
}

/// The entry for the IMU's readings.
template <class Thread, bool Individual>
__global__ void fleet_measure(const __grid_constant__ FleetBatch<typename Thread::Number> batch,
                              const __grid_constant__ typename Thread::Constants shared,
                              typename Thread::Number* readings, std::size_t stride) {
  const std::size_t vehicle = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vehicle >= batch.size) return;
  if constexpr (Individual) {
    Thread::measure(batch, Thread::constants_of(batch, vehicle), vehicle, readings, stride);
  } else {
    Thread::measure(batch, shared, vehicle, readings, stride);
  }
}

/// The entry that writes the constants common to all vehicles, the argument `shared` of the others.
template <class Thread>
__global__ void fleet_constants(const __grid_constant__ FleetBatch<typename Thread::Number> batch,
                                typename Thread::Constants* shared) {
  static_assert(sizeof *shared < 32 * 1024, "expected at most the bytes of a kernel's arguments");
  *shared = Thread::constants_of(batch, 0);
}

/// The entry that restarts the vehicles of a mask.
template <class T>
__global__ void fleet_reset(const __grid_constant__ FleetBatch<T> batch,
                            const __grid_constant__ FleetStart<T> start) {
  const std::size_t vehicle = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vehicle < batch.size && start.mask[vehicle] != 0) restart(batch, start, vehicle);
}

/// The entry that looks for wrong rows of the vehicles of a mask; of those it finds, any one's
/// 1 + 5 vehicle + part is written to `wrong`.
template <class T>
__global__ void fleet_check(const __grid_constant__ FleetStart<T> start, std::size_t size,
                            int rotors, std::uint64_t* wrong) {
  const std::size_t vehicle = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vehicle >= size || start.mask[vehicle] == 0) return;
  const int part = wrong_part(start, rotors, vehicle);
  if (part < 5) *wrong = 1 + 5 * vehicle + static_cast<std::size_t>(part);
}

/// The entry that copies `width` fields from `blocks` on, `stride` numbers from block to block, to
/// rows of vehicles, times `scale`.
template <class T>
__global__ void fleet_rows(const T* blocks, std::size_t stride, std::size_t size, int width,
                           T scale, T* rows) {
  const std::size_t vehicle = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (vehicle >= size) return;
  const T* from = blocks + vehicle / warp_lanes * stride + vehicle % warp_lanes;
  T* to = rows + vehicle * static_cast<std::size_t>(width);
  for (int i = 0; i < width; ++i) to[i] = from[i * warp_lanes] * scale;
}

#endif  // __CUDACC__

}  // namespace propwash
