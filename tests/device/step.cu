/// Closed-loop steps of one vehicle per thread: rate controller, motors, process noise, wind, RK4
/// and IMU, in the order of vehicle/tick.hpp.

#include <propwash/integrate/rk4.hpp>
#include <propwash/random/normal.hpp>
#include <propwash/vehicle/tick.hpp>

namespace pw = propwash;

constexpr int rotors = 4;
using Shape = pw::GeneralShape;

template <class T>
struct Vehicle {
  pw::MulticopterState<T, rotors> state;
  pw::RateControllerState<T> controller;
  pw::ImuBias<T> bias;
  pw::ImuNoise<T> noise;
  pw::BatteryState<T> battery;
  pw::Vec3<T> wind_W;
};

template <class T>
__global__ void fly(const pw::TickConstants<T, rotors, Shape>* constants,
                    const pw::RateThrust<T>* commands, Vehicle<T>* vehicles,
                    pw::ImuReading<T>* readings, std::uint64_t seed, std::uint64_t first_step,
                    int steps, T dt) {
  const auto id = blockIdx.x * blockDim.x + threadIdx.x;
  const auto& c = *constants;
  Vehicle<T> v = vehicles[id];
  pw::MulticopterInput<T, rotors, pw::Zero3> input;
  for (int k = 0; k < steps; ++k) {
    const std::uint64_t step = first_step + static_cast<std::uint64_t>(k);
    const auto gyroscope_S =
        pw::read_body_rates(c.imu, v.state.body_rates, v.bias, v.noise.gyroscope);
    input.command = pw::rate_loop(c, v.controller, gyroscope_S, commands[id]);
    const auto ratio_at = [&](const auto& commands) {
      const auto all = pw::map(commands, [](const T&) { return T(1); });
      return pw::discharge(c, v.battery, T(1), v.state.rotor_speeds, commands, all);
    };
    pw::drive_motors(c.model, input.command, [](auto&) {}, false, ratio_at);
    const auto z = pw::six_normals(seed, id, step, pw::Stream::process_noise);
    input.force_W = pw::noise_force<T>(c, z);
    input.torque_B = pw::noise_torque<T>(c, z);
    v.state = pw::step_in_air(pw::Rk4{}, c.model, c.lag, v.state, input, v.wind_W, true, dt);
    v.bias = pw::random_walk(v.bias, c.imu_deviations,
                             pw::six_normals(seed, id, step, pw::Stream::imu_bias_walk));
    v.noise = pw::imu_noise<T>(pw::six_normals(seed, id, step + 1, pw::Stream::imu_noise),
                               c.imu_deviations);
    readings[id] = pw::imu_read(c.model, c.imu, v.state, input, v.bias, v.noise, 0.0);
  }
  vehicles[id] = v;
}

template __global__ void fly(const pw::TickConstants<float, rotors, Shape>*,
                             const pw::RateThrust<float>*, Vehicle<float>*, pw::ImuReading<float>*,
                             std::uint64_t, std::uint64_t, int, float);
template __global__ void fly(const pw::TickConstants<double, rotors, Shape>*,
                             const pw::RateThrust<double>*, Vehicle<double>*,
                             pw::ImuReading<double>*, std::uint64_t, std::uint64_t, int, double);
