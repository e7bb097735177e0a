#pragma once
/// @file
/// The C++ class behind propwash.Scene, for bindings that query a scene.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "propwash/fleet/executor.hpp"
#include "propwash/fleet/thread_pool.hpp"
#include "propwash/world/raycast.hpp"
#include "propwash/world/scene.hpp"
#include "propwash/world/scene_index.hpp"
#include "world_kernels.hpp"

namespace propwash::bindings {

/// The index of moving items at one time, built at the first use of each number type.
class MovingIndex {
 public:
  explicit MovingIndex(std::vector<PlacedItem> items) : items_(std::move(items)) {}

  /// Valid for the lifetime of this object.
  template <class T>
  const SceneView<T>* view() const {
    auto& part = std::get<Part<T>>(parts_);
    std::call_once(part.once, [&] {
      part.index = SceneIndex<T>(items_);
      part.view = part.index.view();
    });
    return &part.view;
  }
  const std::vector<PlacedItem>& items() const { return items_; }

 private:
  template <class T>
  struct Part {
    std::once_flag once;
    SceneIndex<T> index;
    SceneView<T> view;
  };
  std::vector<PlacedItem> items_;
  mutable std::tuple<Part<float>, Part<double>> parts_;
};

/// An immutable scene with its ray-casting index in float and double. Its moving items have the
/// poses of one time; scenes of other times share the index of the static items.
class PyScene {
 public:
  /// A scene without its moving items. The index omits static meshes with more than `max_triangles`
  /// triangles.
  PyScene(Scene scene, std::size_t max_triangles)
      : still_(std::make_shared<const Still>(std::move(scene), max_triangles)),
        kernels_(PROPWASH_KERNELS_OF(used_set(), world, float),
                 PROPWASH_KERNELS_OF(used_set(), world, double)) {}

  /// The same scene with moving items at the poses of their bodies, in the order of the items, and
  /// with vehicles, whose ids follow those of the items.
  PyScene at(const std::vector<Pose>& bodies, const std::vector<Pose>& vehicles,
             const std::shared_ptr<const SceneItem>& vehicle) const {
    std::vector<PlacedItem> placed;
    const auto& items = scene().items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!items[i].moves || placed.size() == bodies.size()) continue;
      placed.push_back({&items[i], bodies[placed.size()], static_cast<std::int32_t>(i)});
    }
    auto id = static_cast<std::int32_t>(items.size());
    for (const auto& pose : vehicles) placed.push_back({vehicle.get(), pose, id++});
    PyScene now(*this);
    now.moving_ = std::make_shared<const MovingIndex>(std::move(placed));
    now.vehicle_ = vehicle;
    return now;
  }

  const Scene& scene() const { return still_->scene; }
  /// View for kernels, valid for the lifetime of this object. Without the vehicle of this index, if
  /// there are vehicles.
  template <class T>
  SceneView<T> view(std::size_t vehicle = no_vehicle) const {
    SceneView<T> view = static_view<T>();
    if (moving_ == nullptr) return view;
    view.next = moving_->view<T>();
    if (has_vehicles() && vehicle != no_vehicle) {
      view.ignored = static_cast<std::int32_t>(scene().items().size() + vehicle);
    }
    return view;
  }
  /// The static items.
  template <class T>
  SceneView<T> static_view() const {
    return std::get<SceneIndex<T>>(still_->indices).view();
  }
  /// Whether bodies that measure are part of the scene.
  bool has_vehicles() const { return vehicle_ != nullptr; }
  /// The moving items and vehicles, if any.
  const MovingIndex* moving() const { return moving_.get(); }
  static constexpr auto no_vehicle = static_cast<std::size_t>(-1);

  /// raycast() of world/raycast.hpp with the kernels of this processor, on the executor's threads.
  template <class T>
  void raycast(std::size_t n, const T* origins, const T* directions, T max_range, T* distance,
               std::int32_t* id, T* normal, ExecutorRef executor = {},
               std::size_t vehicle = no_vehicle) const {
    const auto& kernels = std::get<WorldKernels<T>>(kernels_);
    const auto scene = view<T>(vehicle);
    in_parts(n, executor, [&](std::size_t first, std::size_t count) {
      kernels.raycast(scene, count, origins + 3 * first, directions + 3 * first, max_range,
                      distance + first, id + first,
                      normal == nullptr ? nullptr : normal + 3 * first);
    });
  }
  /// visible() likewise.
  template <class T>
  void visible(std::size_t n, const T* from, const T* to, std::uint8_t* flags,
               ExecutorRef executor = {}, std::size_t vehicle = no_vehicle) const {
    const auto& kernels = std::get<WorldKernels<T>>(kernels_);
    const auto scene = view<T>(vehicle);
    in_parts(n, executor, [&](std::size_t first, std::size_t count) {
      kernels.visible(scene, count, from + 3 * first, to + 3 * first, flags + first);
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
  struct Still {
    Still(Scene all, std::size_t max_triangles)
        : scene(std::move(all)),
          indices(SceneIndex<float>(scene, max_triangles),
                  SceneIndex<double>(scene, max_triangles)) {}
    Scene scene;
    std::tuple<SceneIndex<float>, SceneIndex<double>> indices;
  };

  std::shared_ptr<const Still> still_;
  std::shared_ptr<const MovingIndex> moving_;
  std::shared_ptr<const SceneItem> vehicle_;
  std::tuple<WorldKernels<float>, WorldKernels<double>> kernels_;
};

}  // namespace propwash::bindings
