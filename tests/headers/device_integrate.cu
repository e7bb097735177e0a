/// @file
/// integrate/ in device code.

#include <propwash/integrate/integrate.hpp>
#include <propwash/math/vec3.hpp>

namespace pw = propwash;

template <class T>
struct Oscillator {
  T stiffness{};

  PROPWASH_FN pw::Vec3<T> derivative(const pw::Vec3<T>& x, const T& force) const {
    return {x.y, force - stiffness * x.x, T(0)};
  }
};

template <class Method, class T>
__global__ void advance(pw::Vec3<T>* states, T force, T dt) {
  auto& state = states[threadIdx.x];
  state = pw::step(Oscillator<T>{T(4)}, state, force, dt, Method{});
}

template __global__ void advance<pw::Euler>(pw::Vec3<double>*, double, double);
template __global__ void advance<pw::Rk4>(pw::Vec3<double>*, double, double);
template __global__ void advance<pw::Rk4>(pw::Vec3<float>*, float, float);
