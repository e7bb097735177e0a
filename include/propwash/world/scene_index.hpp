#pragma once
/// @file
/// A scene prepared for ray casting: flat arrays and a bounding volume hierarchy. It is immutable
/// and thread-safe.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "propwash/world/impl/box_tree.hpp"
#include "propwash/world/scene.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash {

/// An item of a moving body at the body's present pose.
struct PlacedItem {
  const SceneItem* item;  ///< its pose is in the frame of the body
  Pose body;              ///< of the body in the world; invalid: the item is absent
  std::int32_t id;        ///< reported by queries
};

/// A bounding volume hierarchy over the static items of a scene, or over placed items.
template <class T>
class SceneIndex {
 public:
  SceneIndex() = default;
  /// The static items. Leaves out meshes of more than `max_triangles`, for the use of EmbreeMeshes.
  explicit SceneIndex(const Scene& scene,
                      std::size_t max_triangles = std::numeric_limits<std::size_t>::max()) {
    for (std::size_t i = 0; i < scene.items().size(); ++i) {
      const auto& item = scene.items()[i];
      const auto* mesh = std::get_if<Mesh>(&item.shape);
      if (item.moves || (mesh != nullptr && mesh->triangles.size() > max_triangles)) continue;
      add(item.shape, item.pose, static_cast<std::int32_t>(i));
    }
    build_tree();
  }
  /// The items of moving bodies, for the next part of a view:
  ///
  ///     const SceneIndex<float> moving({{&scene.items()[2], walk(time), 2}});
  ///     const SceneView<float> parts = moving.view();
  ///     SceneView<float> now = still.view();
  ///     now.next = &parts;
  explicit SceneIndex(const std::vector<PlacedItem>& items) {
    for (const auto& placed : items) {
      const Pose pose = composed(placed.body, placed.item->pose);
      if (!is_finite(pose.position_W) || !is_finite(pose.attitude_WS)) continue;
      add(placed.item->shape, pose, placed.id);
    }
    build_tree();
  }

  /// Valid until the index is destroyed or moved.
  SceneView<T> view() const {
    SceneView<T> v;
    v.planes = planes_.data();
    v.nodes = nodes_.data();
    v.references = references_.data();
    v.solids = solids_.data();
    v.triangles = triangles_.data();
    v.plane_count = static_cast<std::int32_t>(planes_.size());
    v.node_count = static_cast<std::int32_t>(nodes_.size());
    return v;
  }

 private:
  using Vec = Vec3<double>;

  void add(const Shape& any, const Pose& pose, std::int32_t id) {
    const Mat3<double> r_WS = to_matrix(pose.attitude_WS);
    std::visit([&](const auto& shape) { add(shape, pose, r_WS, id); }, any);
  }
  void add(const Plane&, const Pose& pose, const Mat3<double>& r_WS, std::int32_t id) {
    const Vec up_W{r_WS(0, 2), r_WS(1, 2), r_WS(2, 2)};
    planes_.push_back({cast<T>(pose.position_W), cast<T>(up_W), id});
  }
  void add(const Box& box, const Pose& pose, const Mat3<double>& r_WS, std::int32_t id) {
    add(SolidKind::box, box.size * 0.5, pose, r_WS, id);
  }
  void add(const Sphere& sphere, const Pose& pose, const Mat3<double>&, std::int32_t id) {
    const double r = sphere.radius;
    add(SolidKind::sphere, {r, r, r}, pose, Mat3<double>::identity(), id);
  }
  void add(const Cylinder& cylinder, const Pose& pose, const Mat3<double>& r_WS, std::int32_t id) {
    add(SolidKind::cylinder, {cylinder.radius, cylinder.radius, 0.5 * cylinder.height}, pose, r_WS,
        id);
  }
  void add(const Capsule& capsule, const Pose& pose, const Mat3<double>& r_WS, std::int32_t id) {
    const double r = capsule.radius;
    add(SolidKind::capsule, {r, r, 0.5 * capsule.length + r}, pose, r_WS, id);
    solids_.back().half.z = static_cast<T>(0.5 * capsule.length);
  }
  void add(const Gate& gate, const Pose& pose, const Mat3<double>& r_WS, std::int32_t id) {
    const Vec half{0.5 * gate.depth, 0.5 * gate.width + gate.border,
                   0.5 * gate.height + gate.border};
    add(SolidKind::gate, half, pose, r_WS, id);
    solids_.back().opening_y = static_cast<T>(0.5 * gate.width);
    solids_.back().opening_z = static_cast<T>(0.5 * gate.height);
  }
  void add(const Mesh& mesh, const Pose& pose, const Mat3<double>&, std::int32_t id) {
    std::vector<Vec> vertices_W;
    vertices_W.reserve(mesh.vertices.size());
    for (const auto& vertex_S : mesh.vertices) vertices_W.push_back(to_world(pose, vertex_S));
    for (const auto& corners : mesh.triangles) {
      const auto at = [&](std::size_t i) {
        return vertices_W[static_cast<std::size_t>(corners[i])];
      };
      const Vec across = cross(at(1) - at(0), at(2) - at(0));
      const double twice_area = norm(across);
      if (!(twice_area > 0.0)) continue;  // degenerate: no ray can hit it
      triangles_.push_back({{cast<T>(at(0)), cast<T>(at(1)), cast<T>(at(2))},
                            cast<T>(across * (1.0 / twice_area)),
                            id});
      detail::Bounds bounds;
      for (std::size_t i = 0; i < 3; ++i) bounds.include(at(i));
      bounds_.push_back(bounds);
      references_.push_back(-static_cast<std::int32_t>(triangles_.size()));
    }
  }
  void add(SolidKind kind, const Vec& half, const Pose& pose, const Mat3<double>& r_WS,
           std::int32_t id) {
    Solid<T> solid{};
    Vec reach;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) reach[i] += std::abs(r_WS(i, j)) * half[j];
    }
    solid.rotation_SW = cast<T>(transpose(r_WS));
    solid.position_W = cast<T>(pose.position_W);
    solid.half = cast<T>(half);
    solid.kind = kind;
    solid.id = id;
    references_.push_back(static_cast<std::int32_t>(solids_.size()));
    solids_.push_back(solid);
    detail::Bounds bounds;
    bounds.include(pose.position_W - reach);
    bounds.include(pose.position_W + reach);
    bounds_.push_back(bounds);
  }

  /// Builds the tree; its boxes have a margin for rounding to T.
  void build_tree() {
    const auto tree = detail::make_box_tree(bounds_);
    std::vector<std::int32_t> ordered;
    ordered.reserve(references_.size());
    for (const std::size_t i : tree.order) ordered.push_back(references_[i]);
    references_ = std::move(ordered);
    for (const auto& node : tree.nodes) {
      double largest = 0.0;
      for (int i = 0; i < 3; ++i) {
        largest =
            std::max({largest, std::abs(node.bounds.lower[i]), std::abs(node.bounds.upper[i])});
      }
      const double margin =
          1e-5 + largest * 16.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
      const Vec margins{margin, margin, margin};
      nodes_.push_back({cast<T>(node.bounds.lower - margins), cast<T>(node.bounds.upper + margins),
                        node.count, node.next, node.axis});
    }
    bounds_ = {};
  }

  std::vector<WorldPlane<T>> planes_;
  std::vector<Solid<T>> solids_;
  std::vector<WorldTriangle<T>> triangles_;
  std::vector<std::int32_t> references_;
  std::vector<SceneNode<T>> nodes_;
  std::vector<detail::Bounds> bounds_;
};

}  // namespace propwash
