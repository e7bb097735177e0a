#pragma once
/// @file
/// One run of the outer loops over a block of a fleet.
///
/// It is compiled in the including program, for the baseline instruction set of the platform,
/// because it runs only every few steps. The kernels for each instruction set do not depend on it.

#include <cstddef>

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/fleet/impl/aligned_vector.hpp"
#include "propwash/fleet/impl/batch.hpp"
#include "propwash/fleet/impl/kernel.hpp"
#include "propwash/fleet/impl/layout.hpp"
#include "propwash/fleet/impl/outer_commands.hpp"
#include "propwash/math/impl/rows.hpp"

namespace propwash::detail {

/// The outer loops of a fleet: constants, state, and the output held until the next run.
template <class T>
struct FleetOuter {
  static constexpr int fields = number_count<OuterLoopState<T>>;

  bool is_ready = false;
  OuterLoopParameters parameters;
  OuterLoopConstants<T, Dynamic> constants;
  T gravity = 0;         ///< m/s^2
  int loop = -1;         ///< the OuterLoop used last; -1: none
  LineVector<T> memory;  ///< blocks of OuterLoopState
  LineVector<T> held;    ///< rates (size, 3) and thrust (size), or rotor speeds (size, rotors)

  bool holds_rates() const { return commands_rates(static_cast<OuterLoop>(loop)); }
  /// Held numbers per vehicle: rates, then thrust, or rotor speeds.
  int held_width(int rotors) const { return holds_rates() ? 4 : rotors; }
  /// The index of a vehicle's held number i.
  std::size_t held_at(std::size_t vehicle, int i, std::size_t size, int rotors) const {
    const auto k = static_cast<std::size_t>(i);
    if (!holds_rates()) return vehicle * static_cast<std::size_t>(rotors) + k;
    return i == 3 ? 3 * size + vehicle : 3 * vehicle + k;
  }
  /// The index of a number of a vehicle's OuterLoopState.
  static std::size_t memory_at(std::size_t vehicle, int field, std::size_t lanes) {
    const auto k = static_cast<std::size_t>(field);
    return (vehicle / lanes * std::size_t{fields} + k) * lanes + vehicle % lanes;
  }
};

/// The arguments of a run besides the batch.
template <class T>
struct OuterJob {
  FleetOuter<T>& outer;
  OuterRows<T> command;
  FleetMotionEstimate<T> estimate;
  const T* weights;  // N, assumed
  std::size_t weights_stride;
  int lanes;  // of a block
  void (*measure)(const FleetBatch<T>&, std::size_t, std::size_t, T*, std::size_t);
};

/// The register of the baseline instruction set; results do not depend on wider ones.
template <class T>
using OuterPack = Pack<T, 16 / static_cast<int>(sizeof(T))>;

template <class T>
class OuterRun {
 public:
  using Real = OuterPack<T>;
  static constexpr int max_lanes = 64;  ///< of a block

  OuterRun(const OuterJob<T>& job, const FleetBatch<T>& batch) : job_(job), batch_(batch) {}

  void block(std::size_t block) const {
    const auto& constants = job_.outer.constants;
    const auto lanes = static_cast<std::size_t>(job_.lanes);
    const FleetLayout layout{batch_.rotors};
    const T* const state = batch_.state + block * static_cast<std::size_t>(layout.size()) * lanes;
    alignas(64) T readings[6 * max_lanes];
    const T* imu = state + static_cast<std::size_t>(FleetLayout::held_accelerometer) * lanes;
    const bool rates = commands_rates(job_.command.loop);
    const int used = memory_numbers(constants.law, job_.command.loop);
    if (!rates && !batch_.switches.imu_is_slower) {
      job_.measure(batch_, block, block + 1, readings, 0);
      imu = readings;
    }
    for (std::size_t lane = 0; lane < lanes; lane += Real::lanes) {
      const std::size_t first = block * lanes + lane;
      if (first >= batch_.size) return;
      T* const memory = job_.outer.memory.data() +
                        block * static_cast<std::size_t>(FleetOuter<T>::fields) * lanes + lane;
      OuterLoopState<Real> loop_state;
      int field = 0;
      for_each_number(loop_state, [&](Real& x) {
        x = field < used ? Real::load(memory + field * job_.lanes) : Real(T(0));
        ++field;
      });
      auto in = input(state + lane, first);
      const auto command = command_of(first);
      if (rates) {
        const auto out = run_rate_loop(constants.law, loop_state, in, command);
        hold(first, out.rates, out.thrust);
      } else {
        const ImuReading<Real> reading{triple(imu + lane, 0), triple(imu + lane, 3)};
        hold(first, run_speed_loop(constants, loop_state, in, command, reading,
                                   rotor_speeds(state + lane)));
      }
      field = 0;
      for_each_number(loop_state, [&](Real& x) {
        if (field < used) x.store(memory + field * job_.lanes);
        ++field;
      });
    }
  }

 private:
  Vec3<Real> triple(const T* block, int field) const {
    const T* const at = block + field * job_.lanes;
    return {Real::load(at), Real::load(at + job_.lanes), Real::load(at + 2 * job_.lanes)};
  }

  OuterLoopInput<Real> input(const T* state, std::size_t first) const {
    OuterLoopInput<Real> in;
    const auto& estimate = job_.estimate;
    Real q[4];
    if (estimate.attitude.empty()) {
      for (int i = 0; i < 4; ++i)
        q[i] = Real::load(state + (FleetLayout::attitude + i) * job_.lanes);
    } else {
      rows<4>(estimate.attitude, first, q);
    }
    const auto part = [&](Span<const T> estimated, int field) {
      return estimated.empty() ? triple(state, field) : row3(estimated, first);
    };
    in.motion = {part(estimate.position, FleetLayout::position),
                 part(estimate.velocity, FleetLayout::velocity),
                 {q[0], q[1], q[2], q[3]},
                 triple(state, FleetLayout::controller)};
    for (int lane = 0; lane < Real::lanes; ++lane) {
      const std::size_t vehicle = first + static_cast<std::size_t>(lane);
      in.mass.v[lane] = job_.weights[vehicle * job_.weights_stride];
    }
    in.mass = in.mass / job_.outer.gravity;
    return in;
  }

  SmallArray<Real, Dynamic> rotor_speeds(const T* state) const {
    SmallArray<Real, Dynamic> speeds;
    speeds.resize(batch_.rotors);
    for (int i = 0; i < batch_.rotors; ++i) {
      speeds[i] = Real::load(state + (FleetLayout::rotor_speeds + i) * job_.lanes);
    }
    return speeds;
  }

  template <int Width>
  void rows(Span<const T> from, std::size_t first, Real* to) const {
    if (from.empty()) {
      for (int i = 0; i < Width; ++i) to[i] = Real(T(0));
    } else {
      load_rows<Width>(from.data(), first, batch_.size, to);
    }
  }
  Vec3<Real> row3(Span<const T> from, std::size_t first) const {
    Real x[3];
    rows<3>(from, first, x);
    return {x[0], x[1], x[2]};
  }
  Real row1(Span<const T> from, std::size_t first) const {
    Real x[1];
    rows<1>(from, first, x);
    return x[0];
  }

  OuterLoopCommand<Real> command_of(std::size_t first) const {
    const auto& c = job_.command;
    Real q[4];
    rows<4>(c.attitude, first, q);
    if (c.attitude.empty()) q[0] = Real(T(1));
    return {c.loop,
            c.free_heading,
            normalized(Quat<Real>{q[0], q[1], q[2], q[3]}),
            row1(c.thrust, first),
            {row3(c.point[0], first), row3(c.point[1], first), row3(c.point[2], first),
             row3(c.point[3], first), row3(c.point[4], first), row1(c.heading[0], first),
             row1(c.heading[1], first), row1(c.heading[2], first)}};
  }

  std::size_t present(std::size_t first) const {
    const std::size_t left = batch_.size - first;
    return left < static_cast<std::size_t>(Real::lanes) ? left
                                                        : static_cast<std::size_t>(Real::lanes);
  }
  void hold(std::size_t first, const Vec3<Real>& rates, const Real& thrust) const {
    T* const rows = job_.outer.held.data();
    for (std::size_t lane = 0; lane < present(first); ++lane) {
      const int l = static_cast<int>(lane);
      T* const row = rows + 3 * (first + lane);
      row[0] = rates.x[l], row[1] = rates.y[l], row[2] = rates.z[l];
      rows[3 * batch_.size + first + lane] = thrust[l];
    }
  }
  void hold(std::size_t first, const SmallArray<Real, Dynamic>& speeds) const {
    const auto rotors = static_cast<std::size_t>(batch_.rotors);
    for (std::size_t lane = 0; lane < present(first); ++lane) {
      T* const row = job_.outer.held.data() + (first + lane) * rotors;
      for (std::size_t i = 0; i < rotors; ++i) {
        row[i] = speeds[static_cast<int>(i)][static_cast<int>(lane)];
      }
    }
  }

  const OuterJob<T>& job_;
  const FleetBatch<T>& batch_;
};

}  // namespace propwash::detail
