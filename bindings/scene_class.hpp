#pragma once
/// @file
/// The C++ class behind propwash.Scene, for bindings that query a scene.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <tuple>
#include <utility>

#include "dispatch.hpp"
#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/world/raycast.hpp"
#include "propwash/world/scene.hpp"
#include "propwash/world/scene_index.hpp"

namespace propwash::bindings {

/// An immutable scene with its ray-casting index in float and double.
class PyScene {
 public:
  /// The index omits meshes with more than `max_triangles` triangles.
  PyScene(Scene scene, std::size_t max_triangles)
      : scene_(std::move(scene)),
        indices_(SceneIndex<float>(scene_, max_triangles),
                 SceneIndex<double>(scene_, max_triangles)),
        kernels_(kernel_set()) {}

  const Scene& scene() const { return scene_; }
  /// View for kernels, valid for the lifetime of this object.
  template <class T>
  SceneView<T> view() const {
    return std::get<SceneIndex<T>>(indices_).view();
  }

  /// raycast() of world/raycast.hpp with the kernels of this processor, on the executor's threads.
  template <class T>
  void raycast(std::size_t n, const T* origins, const T* directions, T max_range, T* distance,
               std::int32_t* id, T* normal, ExecutorRef executor = {}) const {
    const auto& kernels = std::get<WorldKernels<T>>(kernels_.world);
    in_parts(n, executor, [&](std::size_t first, std::size_t count) {
      kernels.raycast(view<T>(), count, origins + 3 * first, directions + 3 * first, max_range,
                      distance + first, id + first,
                      normal == nullptr ? nullptr : normal + 3 * first);
    });
  }
  /// visible() likewise.
  template <class T>
  void visible(std::size_t n, const T* from, const T* to, std::uint8_t* flags,
               ExecutorRef executor = {}) const {
    const auto& kernels = std::get<WorldKernels<T>>(kernels_.world);
    in_parts(n, executor, [&](std::size_t first, std::size_t count) {
      kernels.visible(view<T>(), count, from + 3 * first, to + 3 * first, flags + first);
    });
  }
  /// Calls work(first, count) for parts of n, each large enough for a separate task.
  template <class Work>
  static void in_parts(std::size_t n, ExecutorRef executor, const Work& work) {
    constexpr std::size_t part = 4096;  // a multiple of any number of lanes
    if (n <= part) return n > 0 ? work(0, n) : void();
    executor((n + part - 1) / part,
             [&](std::size_t i) { work(i * part, n - i * part < part ? n - i * part : part); });
  }

 private:
  Scene scene_;
  std::tuple<SceneIndex<float>, SceneIndex<double>> indices_;
  const KernelSet& kernels_;
};

}  // namespace propwash::bindings
