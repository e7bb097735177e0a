#pragma once
/// @file
/// Arrays that point to each other, as bytes for the memory of a device.

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "propwash/world/scene_view.hpp"

namespace propwash::bindings {

/// Collects arrays for memory at an address.
class DeviceArrays {
 public:
  explicit DeviceArrays(std::uintptr_t address) : address_(address) {}

  /// Copies an array; returns where it will be.
  template <class X>
  const X* add(const X* from, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<X> && alignof(X) <= alignment);
    const std::size_t first = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(first + count * sizeof(X));
    if (count > 0) std::memcpy(bytes_.data() + first, from, count * sizeof(X));
    return reinterpret_cast<const X*>(address_ + first);
  }

  /// A scene whose arrays are copied.
  SceneView<double> add(const SceneView<double>& scene) {
    std::int32_t references = 0, solids = 0, triangles = 0;
    for (std::int32_t i = 0; i < scene.node_count; ++i) {
      const auto& node = scene.nodes[i];
      if (node.count > 0) references = std::max(references, node.next + node.count);
    }
    for (std::int32_t i = 0; i < references; ++i) {
      solids = std::max(solids, scene.references[i] + 1);
      triangles = std::max(triangles, -scene.references[i]);
    }
    const auto copied = [&](const auto* from, std::int32_t count) {
      return add(from, static_cast<std::size_t>(count));
    };
    SceneView<double> placed = scene;
    placed.planes = copied(scene.planes, scene.plane_count);
    placed.nodes = copied(scene.nodes, scene.node_count);
    placed.references = copied(scene.references, references);
    placed.solids = copied(scene.solids, solids);
    placed.triangles = copied(scene.triangles, triangles);
    if (scene.next != nullptr) {
      const SceneView<double> next = add(*scene.next);
      placed.next = add(&next, 1);
    }
    return placed;
  }

  /// All bytes, of which the first are replaced by those of `head`.
  template <class X>
  pybind11::bytes bytes(const std::vector<X>& head) {
    std::memcpy(bytes_.data(), head.data(), head.size() * sizeof(X));
    return bytes_;
  }

 private:
  static constexpr std::size_t alignment = 16;
  std::uintptr_t address_;
  std::string bytes_;
};

}  // namespace propwash::bindings
