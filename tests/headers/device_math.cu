/// @file
/// math/ in device code.

#include <propwash/math/mat3.hpp>
#include <propwash/math/quat.hpp>
#include <propwash/math/small_array.hpp>
#include <propwash/math/vec3.hpp>

template <class T>
__global__ void rotated(const propwash::Quat<T>* attitude, propwash::Vec3<T>* vectors, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const auto q = propwash::normalized(attitude[i]);
  const auto turned = propwash::rotate(q, vectors[i]);
  vectors[i] = propwash::to_matrix(q) * turned + propwash::cross(turned, vectors[i]);
}

template <class T>
__global__ void clamp_all(propwash::SmallArray<T, 4>* speeds, T low, T high) {
  auto& mine = speeds[threadIdx.x];
  mine = propwash::map(mine, [&](const T& speed) {
    return propwash::clamp(propwash::signed_sqrt(propwash::signed_square(speed)), low, high);
  });
}

template __global__ void rotated(const propwash::Quat<float>*, propwash::Vec3<float>*, int);
template __global__ void rotated(const propwash::Quat<double>*, propwash::Vec3<double>*, int);
template __global__ void clamp_all(propwash::SmallArray<float, 4>*, float, float);
