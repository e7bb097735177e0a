// The kernels of fleet_threads.hpp on a CUDA device. Each call copies the memory of its
// blocks to the device and back, so that a fleet needs no memory there.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "fleet_threads.hpp"

namespace pw = propwash;

namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// Memory of the device with a copy of memory of the host.
template <class X>
class Copied {
 public:
  Copied(X*& argument, std::size_t first, std::size_t count)
      : host_(argument == nullptr ? nullptr : argument + first), bytes_(count * sizeof(X)) {
    if (host_ == nullptr) return;
    check(cudaMalloc(&device_, bytes_));
    check(cudaMemcpy(device_, host_, bytes_, cudaMemcpyHostToDevice));
    argument = static_cast<X*>(device_);
  }
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;
  ~Copied() { cudaFree(device_); }
  X* get() const { return static_cast<X*>(device_); }
  void read_back() const {
    if (host_ != nullptr) {
      check(cudaMemcpy(const_cast<std::remove_const_t<X>*>(host_), device_, bytes_,
                       cudaMemcpyDeviceToHost));
    }
  }

 private:
  X* host_;
  std::size_t bytes_;
  void* device_ = nullptr;
};

/// Blocks `first` to `last` of a batch, on the device.
template <class T>
struct BatchOnDevice {
  BatchOnDevice(const pw::FleetBatch<T>& on_host, std::size_t first, std::size_t last)
      : batch(on_host), blocks(last - first), from(first) {}

  pw::FleetBatch<T> batch;
  std::size_t blocks, from, vehicle = from * pw::warp_lanes, padded = blocks * pw::warp_lanes;
  std::size_t count = std::min(batch.size - vehicle, padded);
  std::size_t speeds = static_cast<std::size_t>(batch.rotors);
  bool individual = batch.constants_stride != 0;
  std::size_t fields = static_cast<std::size_t>(pw::FleetLayout{batch.rotors}.size());
  std::size_t motors = speeds * static_cast<std::size_t>(batch.motor_delay_slots);
  std::size_t actions =
      std::max<std::size_t>(4, speeds) * static_cast<std::size_t>(batch.action_delay_slots);

  Copied<const T> state{batch.state, vehicle * fields, padded * fields};
  Copied<const std::byte> constants{batch.constants, from * batch.constants_stride,
                                    individual ? blocks * batch.constants_stride : 0};
  Copied<const std::uint32_t> ids{batch.ids, vehicle, padded};
  Copied<const std::uint64_t> reset_at{batch.reset_at, vehicle, padded};
  Copied<const T> rates{batch.rates, 3 * vehicle, 3 * count};
  Copied<const T> thrust{batch.thrust, vehicle, count};
  Copied<const T> rotor_speeds{batch.speeds, speeds * vehicle, speeds * count};
  Copied<T> motor_delay{batch.motor_delay, vehicle * motors, padded * motors};
  Copied<T> action_delay{batch.action_delay, vehicle * actions, padded * actions};
  Copied<const std::uint32_t> action_steps{batch.action_delay_steps, vehicle, padded};
};

template <class T, int N, class Shape>
struct DeviceLoops {
  template <class Method, pw::TickWork Work, pw::FleetFeatures Features = pw::features_at_run_time>
  static void step(const pw::FleetBatch<T>& on_host, std::size_t first, std::size_t last) {
    using Thread = pw::FleetThread<T, N, Shape, Method, Work, Features>;
    BatchOnDevice<T> there(on_host, first, last);
    there.batch.size = there.count;
    there.batch.next_state = const_cast<T*>(there.batch.state);
    const auto shared = Thread::constants_of(on_host, 0);
    const auto blocks = static_cast<unsigned>(there.blocks);
    if (there.individual) {
      pw::fleet_step<Thread, true><<<blocks, pw::warp_lanes>>>(there.batch, shared);
    } else {
      pw::fleet_step<Thread, false><<<blocks, pw::warp_lanes>>>(there.batch, shared);
    }
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    there.state.read_back();
    there.motor_delay.read_back();
    there.action_delay.read_back();
  }
  static void measure(const pw::FleetBatch<T>& on_host, std::size_t first, std::size_t last,
                      T* readings, std::size_t stride) {
    using Thread = pw::FleetThread<T, N, Shape, pw::Euler, pw::TickWork::everything>;
    BatchOnDevice<T> there(on_host, first, last);
    there.batch.size = there.count;
    const auto shared = Thread::constants_of(on_host, 0);
    const auto blocks = static_cast<unsigned>(there.blocks);
    const std::size_t width = 6 * pw::warp_lanes;
    const std::size_t used = (there.blocks - 1) * stride + width;
    Copied<T> out(readings, first * stride, used);
    if (there.individual) {
      pw::fleet_measure<Thread, true>
          <<<blocks, pw::warp_lanes>>>(there.batch, shared, out.get(), stride);
    } else {
      pw::fleet_measure<Thread, false>
          <<<blocks, pw::warp_lanes>>>(there.batch, shared, out.get(), stride);
    }
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    out.read_back();
  }
};

}  // namespace

using Device = ThreadKernelsBy<DeviceLoops>;

template <>
pw::FleetKernels<float> thread_kernels(int rotors, bool parallel) {
  return Device::of<float>(rotors, parallel);
}
template <>
pw::FleetKernels<double> thread_kernels(int rotors, bool parallel) {
  return Device::of<double>(rotors, parallel);
}
pw::FleetKernels<float> closed_loop_kernels(int, bool) { return Device::closed_loop(); }
