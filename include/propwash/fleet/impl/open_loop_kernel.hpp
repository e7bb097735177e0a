#pragma once
/// @file
/// The kernel of OpenLoop (fleet/open_loop.hpp) and its arguments. It simulates a window in each
/// lane of a pack, with the partials of a group of unknowns.
///
/// Like fleet/impl/kernel.hpp it may be compiled for several instruction sets, and includes no code
/// that a linker could merge between them.

#include <cstddef>

#include "propwash/integrate/rk4.hpp"
#include "propwash/math/dual.hpp"
#include "propwash/math/pack.hpp"
#include "propwash/vehicle/tick.hpp"

namespace propwash {

/// A flight on a uniform grid, and windows of it. Arrays belong to the caller, in row-major order;
/// null: zeros, or a level attitude.
struct OpenLoopFlight {
  std::size_t rows{};            ///< K of the grid
  double period{};               ///< s, from row to row
  int substeps = 1;              ///< steps of the integrator in a period
  const double* position{};      ///< (K, 3) m, world frame
  const double* velocity{};      ///< (K, 3) m/s, world frame
  const double* attitude{};      ///< (K, 4) q_WB, unit
  const double* body_rates{};    ///< (K, 3) rad/s, body frame
  const double* commands{};      ///< (K - 1, N) rad/s, held from one row to the next
  const double* slopes{};        ///< (D, K - 1, N) derivatives of the commands
  const std::size_t* starts{};   ///< (W) first rows of the windows
  std::size_t windows{};         ///< W
  std::size_t samples{};         ///< H, rows after each start
  std::size_t attitude_every{};  ///< rows between resets of attitude and rates to the log; 0: never
};

/// The results of the windows, (1 + D, W, H, 3) each, attitudes (1 + D, W, H, 4): the values, then
/// their derivatives with respect to each unknown; null: not requested.
struct OpenLoopRecord {
  double* position{};        ///< m, world frame
  double* velocity{};        ///< m/s, world frame
  double* attitude{};        ///< q_WB, unit
  double* body_rates{};      ///< rad/s, body frame
  double* specific_force{};  ///< m/s^2, as an IMU without errors reads it
};

/// The arguments of a kernel.
struct OpenLoopBatch {
  OpenLoopFlight flight;
  OpenLoopRecord record;
  std::size_t unknowns{};          ///< D
  std::size_t rotors{};            ///< N
  const double* speeds{};          ///< (1 + D, K, N) rad/s, rotor speeds and derivatives
  const std::byte* constants{};    ///< for each group of unknowns
  std::size_t constants_stride{};  ///< bytes from group to group
  ImuDevice<double> imu{};         ///< without resolution and range
};

/// The kernel of one translation unit for one number of rotors.
struct OpenLoopKernel {
  std::size_t lanes{};            ///< windows per call
  std::size_t group{};            ///< unknowns per call
  std::size_t constants_bytes{};  ///< of a group
  /// Sets the constants of a group: layers[0] has the numbers of for_each_number, layers[i] their
  /// derivatives with respect to unknown i of the group, or is null.
  void (*set_constants)(std::byte* to, int rotors, const double* const* layers) = nullptr;
  /// Simulates `lanes` windows from `window` on, with a group of unknowns.
  void (*fly)(const OpenLoopBatch& batch, std::size_t group, std::size_t window) = nullptr;
};

namespace detail {

/// Layer 0 is the value, layer i partial i - 1.
template <class R, int G>
PROPWASH_FN R& layer_of(Dual<R, G>& x, int layer) {
  return layer == 0 ? x.value : x.partials[layer - 1];
}
template <class R, int G>
PROPWASH_FN const R& layer_of(const Dual<R, G>& x, int layer) {
  return layer == 0 ? x.value : x.partials[layer - 1];
}

/// Access to the lanes of a pack; a scalar has one lane.
template <class R>
struct OpenLoopLanes {
  static constexpr int count = 1;
  PROPWASH_FN static void put(R& to, int, double x) { to = x; }
  PROPWASH_FN static double at(const R& from, int) { return from; }
};
#if PROPWASH_HAS_PACKS
template <int L>
struct OpenLoopLanes<Pack<double, L>> {
  static constexpr int count = L;
  PROPWASH_FN static void put(Pack<double, L>& to, int lane, double x) { to.v[lane] = x; }
  PROPWASH_FN static double at(const Pack<double, L>& from, int lane) { return from.v[lane]; }
};
#endif

/// Simulates a window in each lane. Isa identifies the translation unit, as in
/// fleet/impl/kernel.hpp; Real is double or a Pack of them, N the number of rotors or Dynamic,
/// Group the number of unknowns.
template <class Isa, class Real, int N, int Group>
class OpenLoopFlyer {
 public:
  using T = Dual<Real, Group>;
  using Lanes = OpenLoopLanes<Real>;
  using State = MulticopterState<T, N>;
  using Input = MulticopterInput<T, N, Zero3, Zero3>;
  /// The constants of a step that a host of physics needs.
  struct Constants {
    MulticopterModel<T, N, GeneralShape> model{};
    DecayStages<T> lag{};  ///< unused
  };
  /// The host of a step: the motor commands are those of the log.
  struct Host : TickHost<T, N> {
    using Held = Zero3;
    static constexpr TickWork work = TickWork::physics;
  };
  static constexpr int lanes = Lanes::count;

  static OpenLoopKernel kernel() {
    return {static_cast<std::size_t>(lanes), static_cast<std::size_t>(Group), sizeof(Constants),
            &set_constants, &fly};
  }

 private:
  static void set_constants(std::byte* to, int rotors, const double* const* layers) {
    auto& model = reinterpret_cast<Constants*>(to)->model;
    resize_arrays(model, rotors);
    std::size_t next = 0;
    for_each_number(model, [&](T& x) PROPWASH_LAMBDA {
      x = T(Real(layers[0][next]));
      for (int i = 1; i <= Group; ++i) {
        if (layers[i] != nullptr) x.partials[i - 1] = Real(layers[i][next]);
      }
      ++next;
    });
    // a coefficient of zero may have a derivative
    const auto is_used = [](const T& x) PROPWASH_LAMBDA {
      bool used = false;
      for (int i = 0; i <= Group; ++i) used = used || Lanes::at(layer_of(x, i), 0) != 0.0;
      return used;
    };
    model.feet.has_contact = is_used(model.feet.foot.stiffness);
    model.air.has_flow = is_used(model.air.ground_area);
    model.air.has_induced_flow = is_used(model.air.flow[0].induced_in_hover);
    for_each_coefficients(model.air.residual, [&](const auto& numbers) PROPWASH_LAMBDA {
      for (const T& x : numbers) model.air.has_residual = model.air.has_residual || is_used(x);
    });
    for (const auto& rotor : model.air.flow) {
      for_each_number(rotor.inflow, [&](const T& x) PROPWASH_LAMBDA {
        model.air.has_flow = model.air.has_flow || is_used(x);
      });
    }
  }

  static void fly(const OpenLoopBatch& batch, std::size_t group, std::size_t window) {
    OpenLoopFlyer(batch, group, window).run();
  }

  PROPWASH_FN OpenLoopFlyer(const OpenLoopBatch& batch, std::size_t group, std::size_t window)
      : batch_(batch),
        flight_(batch.flight),
        constants_(
            *reinterpret_cast<const Constants*>(batch.constants + group * batch.constants_stride)),
        first_(group * Group) {
    for (int lane = 0; lane < lanes; ++lane) {
      // lanes beyond the last window repeat it
      const std::size_t index = window + static_cast<std::size_t>(lane);
      windows_[lane] = index < flight_.windows ? index : flight_.windows - 1;
      rows_[lane] = flight_.starts[windows_[lane]];
      if (index < flight_.windows) used_ = lane + 1;
    }
  }

  PROPWASH_FN void run() {
    const std::size_t rotors = batch_.rotors;
    vehicle_.state.position = measured(flight_.position);
    vehicle_.state.velocity = measured(flight_.velocity);
    reset_attitude();
    const std::size_t all = flight_.rows * rotors;
    read_rotors(batch_.speeds, batch_.speeds + all, all, vehicle_.state.rotor_speeds);
    const double dt = flight_.period / flight_.substeps;
    const auto rk4 = [](const auto& f, const State& x, double time) PROPWASH_LAMBDA {
      return Rk4{}([&f](const State& y) PROPWASH_LAMBDA { return called(f, y); }, x, time);
    };
    Host host;
    for (std::size_t sample = 0; sample < flight_.samples; ++sample) {
      if (flight_.attitude_every > 0 && sample % flight_.attitude_every == 0) reset_attitude();
      read_rotors(flight_.commands, flight_.slopes, all - rotors, vehicle_.input.command);
      for (int step = 0; step < flight_.substeps; ++step) {
        tick(rk4, constants_, vehicle_, host, dt);
      }
      for (auto& row : rows_) ++row;
      record(sample);
    }
  }

  // a separate function: inlined four times, it would exceed the instruction cache
  template <class Derivative>
  static State called(const Derivative& f, const State& x) {
    return f(x);
  }

  /// A column of the current rows.
  PROPWASH_FN T measured(const double* from, std::size_t width, std::size_t column) const {
    Real x(0.0);
    for (int lane = 0; lane < lanes; ++lane) {
      Lanes::put(x, lane, from[rows_[lane] * width + column]);
    }
    return T(x);
  }
  PROPWASH_FN Vec3<T> measured(const double* from) const {
    if (from == nullptr) return Vec3<T>{};
    return {measured(from, 3, 0), measured(from, 3, 1), measured(from, 3, 2)};
  }
  PROPWASH_FN void reset_attitude() {
    const double* const q = flight_.attitude;
    vehicle_.state.body_rates = measured(flight_.body_rates);
    vehicle_.state.attitude = Quat<T>::identity();
    if (q == nullptr) return;
    vehicle_.state.attitude = {measured(q, 4, 0), measured(q, 4, 1), measured(q, 4, 2),
                               measured(q, 4, 3)};
  }

  /// Reads speeds or commands of the rotors in the current rows, and their derivatives, `size`
  /// numbers per unknown.
  PROPWASH_FN void read_rotors(const double* values, const double* slopes, std::size_t size,
                               SmallArray<T, N>& to) const {
    const std::size_t rotors = batch_.rotors;
    to.resize(static_cast<int>(rotors));
    for (int layer = 0; layer <= Group; ++layer) {
      const std::size_t number = first_ + static_cast<std::size_t>(layer) - 1;
      const bool has = layer == 0 || (slopes != nullptr && number < batch_.unknowns);
      const double* const from = layer == 0 || !has ? values : slopes + number * size;
      for_each_index<N>(static_cast<int>(rotors), [&](int k) PROPWASH_LAMBDA {
        Real x(0.0);
        for (int lane = 0; has && lane < lanes; ++lane) {
          Lanes::put(x, lane, from[rows_[lane] * rotors + static_cast<std::size_t>(k)]);
        }
        layer_of(to[k], layer) = x;
      });
    }
  }

  PROPWASH_FN void record(std::size_t sample) const {
    const auto& to = batch_.record;
    const auto put3 = [&](double* numbers, const Vec3<T>& v) PROPWASH_LAMBDA {
      const T* const parts[] = {&v.x, &v.y, &v.z};
      put(numbers, sample, parts);
    };
    if (to.position != nullptr) put3(to.position, vehicle_.state.position);
    if (to.velocity != nullptr) put3(to.velocity, vehicle_.state.velocity);
    if (to.attitude != nullptr) {
      const Quat<T>& q = vehicle_.state.attitude;
      const T* const parts[] = {&q.w, &q.x, &q.y, &q.z};
      put(to.attitude, sample, parts);
    }
    if (to.body_rates != nullptr) put3(to.body_rates, vehicle_.state.body_rates);
    if (to.specific_force != nullptr) put3(to.specific_force, specific_force());
  }

  /// m/s^2, the specific force that the IMU reads.
  PROPWASH_FN Vec3<T> specific_force() const {
    return imu_read(constants_.model, batch_.imu, vehicle_.state, vehicle_.input, ImuBias<T>{},
                    ImuNoise<T>{}, 0.0)
        .specific_force;
  }

  template <std::size_t Width>
  PROPWASH_FN void put(double* to, std::size_t sample, const T* const (&parts)[Width]) const {
    const std::size_t size = flight_.windows * flight_.samples * Width;
    for (int layer = first_ == 0 ? 0 : 1; layer <= Group; ++layer) {
      const std::size_t number = layer == 0 ? 0 : first_ + static_cast<std::size_t>(layer);
      if (number > batch_.unknowns) break;
      for (int lane = 0; lane < used_; ++lane) {
        double* const row =
            to + number * size + (windows_[lane] * flight_.samples + sample) * Width;
        for (std::size_t k = 0; k < Width; ++k) {
          row[k] = Lanes::at(layer_of(*parts[k], layer), lane);
        }
      }
    }
  }

  const OpenLoopBatch& batch_;
  const OpenLoopFlight& flight_;
  const Constants& constants_;
  std::size_t first_;
  int used_ = 0;
  std::size_t windows_[std::size_t{lanes}];
  std::size_t rows_[std::size_t{lanes}];
  TickMemory<T, N, Input> vehicle_{};
};

}  // namespace detail

/// Returns the kernel for a number of rotors.
using OpenLoopKernelSource = OpenLoopKernel (*)(std::size_t rotors);

/// The kernels of a translation unit: specialised for four rotors, and a smaller general one. More
/// than three unknowns at a time exceed the first-level caches.
template <class Isa, class Real>
OpenLoopKernel open_loop_kernel(std::size_t rotors) {
  if (rotors == 4) return detail::OpenLoopFlyer<Isa, Real, 4, 3>::kernel();
  return detail::OpenLoopFlyer<Isa, Real, Dynamic, 1>::kernel();
}

}  // namespace propwash
