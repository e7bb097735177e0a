#pragma once
/// @file
/// The fleet's kernels as a table of functions. This header includes no code of Eigen or of the
/// standard library that a linker could merge between instruction sets.

#include <cstddef>
#include <type_traits>

#include "propwash/fleet/impl/stepper.hpp"
#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"

namespace propwash {

namespace detail {

/// Coefficients of a rotor that its effectiveness multiplies, at most.
inline constexpr int numbers_of_rotor = 6;

#if PROPWASH_HAS_PACKS
/// The kernels for one number of rotors and one shape, and the constants of a block. Isa identifies
/// the translation unit: if it is a type local to it, so are these functions, and no linker can
/// merge those of two instruction sets.
template <class Isa, class T, int Lanes, int N, class Shape>
struct FleetKernelsOf {
  using Real = Pack<T, Lanes>;
  using Constants = TickConstants<Real, N, Shape>;

  template <class Method, TickWork Work>
  static void step(const FleetBatch<T>& batch, std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block) {
      FleetStepper<Isa, Real, Lanes, N, Shape, Method, Work>(batch, of(batch, block), block).run();
    }
  }
  static void measure(const FleetBatch<T>& batch, std::size_t first, std::size_t last, T* readings,
                      std::size_t stride) {
    for (std::size_t block = first; block < last; ++block) {
      FleetStepper<Isa, Real, Lanes, N, Shape, Euler, TickWork::everything>(batch, of(batch, block),
                                                                            block)
          .measure(readings + block * stride);
    }
  }

  static void set_constants(std::byte* block, int lane, int rotors, const TickSwitches& switches,
                            const double* numbers) {
    auto& constants = *reinterpret_cast<Constants*>(block);
    resize_arrays(constants, rotors);
    set_flags(constants, switches);
    for_each_number(constants, [&](Real& x) PROPWASH_LAMBDA {
      x.v[lane] = static_cast<T>(*numbers);
      ++numbers;
    });
  }
  static void read_rotors(const std::byte* block, int lane, int rotors, T* numbers) {
    auto constants = *reinterpret_cast<const Constants*>(block);
    for (int i = 0; i < rotors; ++i, numbers += numbers_of_rotor) {
      T* to = numbers;
      const auto read = [&](const Real& x) PROPWASH_LAMBDA { *to++ = x.v[lane]; };
      for_each_number(constants.model.rotors[i].force_B, read);
      for_each_number(constants.model.rotors[i].torque_B, read);
    }
  }
  static void set_rotors(std::byte* block, int lane, int rotors, const T* numbers,
                         const T* effectiveness) {
    auto& constants = *reinterpret_cast<Constants*>(block);
    for (int i = 0; i < rotors; ++i, numbers += numbers_of_rotor) {
      const T* from = numbers;
      const auto scale = [&](Real& x) PROPWASH_LAMBDA { x.v[lane] = *from++ * effectiveness[i]; };
      for_each_number(constants.model.rotors[i].force_B, scale);
      for_each_number(constants.model.rotors[i].torque_B, scale);
    }
  }

 private:
  static const Constants& of(const FleetBatch<T>& batch, std::size_t block) {
    return *reinterpret_cast<const Constants*>(batch.constants + block * batch.constants_stride);
  }
};
#endif

}  // namespace detail

/// The kernels for one number of rotors and one shape.
template <class T>
struct FleetKernels {
  using Step = void (*)(const FleetBatch<T>&, std::size_t first, std::size_t last);

  int lanes = 0;
  bool is_principal = false;        ///< the shape: PrincipalShape or GeneralShape
  std::size_t constants_bytes = 0;  ///< of the constants of a block
  Step euler[3]{};                  ///< by TickWork; null if not compiled
  Step rk4[3]{};
  /// Writes the IMU's readings, six fields per block, `stride` numbers from block to block.
  void (*measure)(const FleetBatch<T>&, std::size_t first, std::size_t last, T* readings,
                  std::size_t stride) = nullptr;
  /// Sets a lane of constants from numbers in the order of for_each_number; `switches` apply to all
  /// lanes.
  void (*set_constants)(std::byte* block, int lane, int rotors, const TickSwitches& switches,
                        const double* numbers) = nullptr;
  /// Read the thrust and torque coefficients of a lane's rotors, detail::numbers_of_rotor for each,
  /// and set them to `numbers` times each rotor's effectiveness.
  void (*read_rotors)(const std::byte* block, int lane, int rotors, T* numbers) = nullptr;
  void (*set_rotors)(std::byte* block, int lane, int rotors, const T* numbers,
                     const T* effectiveness) = nullptr;
};

#if PROPWASH_HAS_PACKS
/// The kernels of this translation unit. Not complete: without Euler's method, and with process
/// noise in the kernel of everything, they are two fifths smaller.
template <class Isa, class T, int Lanes, int N, class Shape, bool Complete = true>
FleetKernels<T> make_fleet_kernels() {
  using Of = detail::FleetKernelsOf<Isa, T, Lanes, N, Shape>;
  constexpr auto everything = TickWork::everything;
  FleetKernels<T> kernels;
  kernels.lanes = Lanes;
  kernels.is_principal = std::is_same_v<Shape, PrincipalShape>;
  kernels.constants_bytes = sizeof(typename Of::Constants);
  if constexpr (Complete) {
    for (auto& step : kernels.euler) step = &Of::template step<Euler, everything>;
  }
  for (auto& step : kernels.rk4) step = &Of::template step<Rk4, everything>;
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    kernels.rk4[0] = &Of::template step<Rk4, TickWork::physics>;
    if constexpr (Complete) kernels.rk4[1] = &Of::template step<Rk4, TickWork::process_noise>;
  }
  kernels.measure = &Of::measure;
  kernels.set_constants = &Of::set_constants;
  kernels.read_rotors = &Of::read_rotors;
  kernels.set_rotors = &Of::set_rotors;
  return kernels;
}
#endif

}  // namespace propwash
