/// Closed-loop steps of one vehicle per thread: tick() of vehicle/tick.hpp with all its features.

#include <propwash/integrate/rk4.hpp>
#include <propwash/model/delay.hpp>
#include <propwash/random/normal.hpp>
#include <propwash/vehicle/tick.hpp>

namespace pw = propwash;

constexpr int rotors = 4;
using Shape = pw::GeneralShape;

/// Everything that a vehicle carries from step to step.
template <class T>
struct Vehicle {
  using Speeds = pw::SmallArray<T, rotors>;

  pw::TickMemory<T, rotors, pw::MulticopterInput<T, rotors, pw::Zero3>> memory;
  pw::ImuNoise<T> noise;
  pw::BatteryState<T> battery;
  T voltage_ratio;
  pw::TurbulenceState<T> turbulence;
  pw::Vec3<T> wind_W, force_W, torque_B, held_angular_rate;
  Speeds effectiveness;
  pw::DelayLine<Speeds, 4> past_commands;
  bool touched;
};

template <class T>
struct Host : pw::TickHost<T, rotors> {
  using Speeds = typename Vehicle<T>::Speeds;

  Vehicle<T>& v;
  const pw::TickSwitches& on;
  const pw::RateThrust<T>& command;
  std::uint64_t seed, step;
  std::uint32_t id;

  __device__ Host(Vehicle<T>& vehicle, const pw::TickSwitches& switches,
                  const pw::RateThrust<T>& rates, std::uint64_t key, std::uint64_t counter,
                  std::uint32_t thread)
      : v(vehicle), on(switches), command(rates), seed(key), step(counter), id(thread) {}

  __device__ const pw::TickSwitches& switches() const { return on; }
  __device__ bool has_rates() const { return true; }
  __device__ const pw::RateThrust<T>& rate_thrust() const { return command; }
  __device__ pw::Vec3<T> held_angular_rate() const { return v.held_angular_rate; }
  __device__ pw::Vec3<T> gyroscope_noise() const { return v.noise.gyroscope; }
  __device__ void delay(Speeds& speeds) { speeds = v.past_commands.push(speeds, 1, T(0.5)); }
  __device__ T voltage_ratio() const { return v.voltage_ratio; }
  __device__ const pw::BatteryState<T>& battery() const { return v.battery; }
  __device__ void set_battery(const pw::BatteryState<T>& battery, T ratio) {
    v.battery = battery;
    v.voltage_ratio = ratio;
  }
  __device__ const Speeds& rotor_effectiveness() const { return v.effectiveness; }
  __device__ pw::SixNormals normals(pw::Stream stream) const {
    return pw::six_normals(seed, id, step, stream);
  }
  __device__ const pw::Vec3<T>& external_force_W() const { return v.force_W; }
  __device__ const pw::Vec3<T>& external_torque_B() const { return v.torque_B; }
  __device__ const pw::Vec3<T>& wind_W() const { return v.wind_W; }
  __device__ const pw::TurbulenceState<T>& turbulence() const { return v.turbulence; }
  __device__ void set_turbulence(const pw::TurbulenceState<T>& next) { v.turbulence = next; }
  __device__ void touch(bool below) { v.touched = v.touched || below; }
};

template <class T>
__global__ void fly(const pw::TickConstants<T, rotors, Shape>* constants, pw::TickSwitches on,
                    const pw::RateThrust<T>* commands, Vehicle<T>* vehicles,
                    pw::ImuReading<T>* readings, std::uint64_t seed, std::uint64_t first_step,
                    int steps, T dt) {
  const auto id = blockIdx.x * blockDim.x + threadIdx.x;
  const auto& c = *constants;
  Vehicle<T> v = vehicles[id];
  for (int k = 0; k < steps; ++k) {
    const std::uint64_t step = first_step + static_cast<std::uint64_t>(k);
    Host<T> host(v, on, commands[id], seed, step, id);
    pw::tick(pw::Rk4{}, c, v.memory, host, dt);
    v.noise = pw::imu_noise<T>(pw::six_normals(seed, id, step + 1, pw::Stream::imu_noise),
                               c.imu_deviations);
  }
  readings[id] =
      pw::imu_read(c.model, c.imu, v.memory.state, v.memory.input, v.memory.bias, v.noise, 0.0);
  vehicles[id] = v;
}

template __global__ void fly(const pw::TickConstants<float, rotors, Shape>*, pw::TickSwitches,
                             const pw::RateThrust<float>*, Vehicle<float>*, pw::ImuReading<float>*,
                             std::uint64_t, std::uint64_t, int, float);
template __global__ void fly(const pw::TickConstants<double, rotors, Shape>*, pw::TickSwitches,
                             const pw::RateThrust<double>*, Vehicle<double>*,
                             pw::ImuReading<double>*, std::uint64_t, std::uint64_t, int, double);
