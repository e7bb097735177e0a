#pragma once
/// @file
/// The kernels of a fleet of any vehicle: step a block of vehicles, with its state in registers.

#include <cstddef>
#include <cstdint>

#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"
#include "propwash/math/impl/rows.hpp"
#include "propwash/math/pack.hpp"
#include "propwash/random/lanes.hpp"
#include "propwash/vehicle/custom_vehicle.hpp"

namespace propwash {

/// The arguments of a kernel. A block contains [number][lane].
template <class T>
struct VehicleBatch {
  T* state = nullptr;                  ///< blocks of states
  const T* constants = nullptr;        ///< blocks of constants, or one for all vehicles
  std::size_t constants_stride = 0;    ///< numbers from one block of constants to the next, or 0
  const T* commands = nullptr;         ///< (size, width)
  const std::uint32_t* ids = nullptr;  ///< of the vehicles, padded to whole blocks
  bool has_one_command = false;        ///< commands are (width), for all vehicles
  std::size_t size = 0;                ///< vehicles
  std::uint64_t seed = 0;              ///< key of the noise
  std::uint64_t step = 0;              ///< number of the first step
  int substeps = 1;                    ///< steps
  T dt{};                              ///< s
  bool noise = true;                   ///< false: none
};

/// The kernels of a vehicle: each steps blocks first … last - 1.
template <class T>
struct VehicleKernels {
  using Step = void (*)(const VehicleBatch<T>&, std::size_t first, std::size_t last);
  std::size_t lanes = 0;  ///< vehicles of a block
  Step rk4 = nullptr;     ///< with Rk4
  Step euler = nullptr;   ///< with Euler
};

namespace detail {

/// The host of a step: a vehicle per lane.
template <class Isa, class T, int Lanes>
struct LaneHost {
  const VehicleBatch<T>& batch;
  const std::uint32_t* ids;
  std::uint64_t step;

  PROPWASH_FN NormalsOf<Pack<T, Lanes>> normals(Stream stream) const {
    return batch.noise ? drawn(stream) : NormalsOf<Pack<T, Lanes>>{};
  }

 private:
  // not inlined: a draw is as long as the step of many vehicles
#if defined(__GNUC__)
  __attribute__((noinline))
#endif
  NormalsOf<Pack<T, Lanes>> drawn(Stream stream) const {
    return lane_normals<T, Lanes>(batch.seed, ids, step, stream);
  }
};

template <class Isa, class Vehicle, class T, int Lanes, class Method>
void step_vehicles(const VehicleBatch<T>& batch, std::size_t first, std::size_t last) {
  using Real = Pack<T, Lanes>;
  using State = typename Vehicle::template State<Real>;
  using Command = typename Vehicle::template Command<Real>;
  using Constants = typename Vehicle::template Constants<Real>;
  constexpr int width = number_count<Command>;
  constexpr int max_transposed = 8;
  const auto load = [](auto& x, const T* from) PROPWASH_LAMBDA {
    for_each_number(x, [&](Real& number) PROPWASH_LAMBDA {
      number = Real::load(from);
      from += Lanes;
    });
  };
  for (std::size_t block = first; block < last; ++block) {
    T* const memory = batch.state + block * std::size_t{number_count<State> * Lanes};
    State state;
    load(state, memory);
    Constants constants;
    load(constants, batch.constants + block * batch.constants_stride);
    Command command;
    if constexpr (width > 0) {
      Real rows[std::size_t{width}];
      if (batch.has_one_command) {
        for (int i = 0; i < width; ++i) rows[i] = Real(batch.commands[i]);
      } else if constexpr (width <= max_transposed) {
        load_rows<width>(batch.commands, block * Lanes, batch.size, rows);
      } else {
        load_some_rows(batch.commands, width, block * Lanes, batch.size, rows);
      }
      const Real* row = rows;
      for_each_number(command, [&](Real& number) PROPWASH_LAMBDA { number = *row++; });
    }
    LaneHost<Isa, T, Lanes> host{batch, batch.ids + block * Lanes, batch.step};
    for (int k = 0; k < batch.substeps; ++k, ++host.step) {
      state = vehicle_step<Vehicle>(Method{}, constants, state, command, host, batch.dt);
    }
    T* to = memory;
    for_each_number(state, [&](const Real& number) PROPWASH_LAMBDA {
      number.store(to);
      to += Lanes;
    });
  }
}

}  // namespace detail

/// The kernels of a translation unit. Isa identifies it: if Isa is a type local to the unit, no
/// linker can merge its kernels with those of another instruction set.
template <class Isa, class Vehicle, class T, int Lanes>
VehicleKernels<T> vehicle_kernels() {
  return {std::size_t{Lanes}, &detail::step_vehicles<Isa, Vehicle, T, Lanes, Rk4>,
          &detail::step_vehicles<Isa, Vehicle, T, Lanes, Euler>};
}

/// The kernels for the instruction set of the including program.
template <class Vehicle, class T>
VehicleKernels<T> native_vehicle_kernels() {
  return vehicle_kernels<void, Vehicle, T, NativePack<T>::lanes>();
}

}  // namespace propwash
