/// @file
/// control/ in device code.

#include <propwash/control/outer_loops.hpp>
#include <propwash/control/rate_controller.hpp>

namespace pw = propwash;

template <class T>
__global__ void control(const pw::RateControlLaw<T>* laws, const pw::Allocation<T, 4>* allocations,
                        pw::RateControllerState<T>* states, const pw::Vec3<T>* gyroscope,
                        pw::SmallArray<T, 4>* speeds, pw::Wrench<T>* attained) {
  const int i = static_cast<int>(threadIdx.x);
  const pw::Vec3<T> desired{T(0), T(0), T(1)};
  const auto torque = pw::rate_control(laws[i], states[i], gyroscope[i], desired);
  speeds[i] = pw::allocate(allocations[i], pw::Wrench<T>{torque, T(9.81)});
  attained[i] = pw::attained_wrench(allocations[i], speeds[i]);
}

template __global__ void control(const pw::RateControlLaw<float>*, const pw::Allocation<float, 4>*,
                                 pw::RateControllerState<float>*, const pw::Vec3<float>*,
                                 pw::SmallArray<float, 4>*, pw::Wrench<float>*);
template __global__ void control(const pw::RateControlLaw<double>*,
                                 const pw::Allocation<double, 4>*, pw::RateControllerState<double>*,
                                 const pw::Vec3<double>*, pw::SmallArray<double, 4>*,
                                 pw::Wrench<double>*);

template <class T>
__global__ void outer(const pw::OuterLoopConstants<T, 4>* constants, pw::OuterLoopState<T>* states,
                      pw::OuterLoopInput<T>* inputs, const pw::OuterLoopCommand<T>* commands,
                      const pw::ImuReading<T>* readings, pw::RateThrust<T>* rates,
                      pw::SmallArray<T, 4>* speeds, const pw::SmallArray<T, 4>* present) {
  const int i = static_cast<int>(threadIdx.x);
  if (pw::commands_rates(commands[i].loop)) {
    rates[i] = pw::run_rate_loop(constants[i].law, states[i], inputs[i], commands[i]);
  } else {
    speeds[i] = pw::run_speed_loop(constants[i], states[i], inputs[i], commands[i], readings[i],
                                   present[i]);
  }
}

template __global__ void outer(const pw::OuterLoopConstants<float, 4>*, pw::OuterLoopState<float>*,
                               pw::OuterLoopInput<float>*, const pw::OuterLoopCommand<float>*,
                               const pw::ImuReading<float>*, pw::RateThrust<float>*,
                               pw::SmallArray<float, 4>*, const pw::SmallArray<float, 4>*);
