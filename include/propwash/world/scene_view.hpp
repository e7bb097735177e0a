#pragma once
/// @file
/// A scene as flat arrays for the kernels. A SceneIndex owns the arrays.

#include <cstdint>

#include "propwash/math/mat3.hpp"

namespace propwash {

/// The kind of a solid.
enum class SolidKind : std::int32_t { box, sphere, cylinder, capsule, gate };

/// A box, sphere, cylinder, capsule or gate.
template <class T>
struct Solid {
  Mat3<T> rotation_SW;     ///< world to shape frame
  Vec3<T> position_W;      ///< m
  Vec3<T> half;            ///< m, half the outer extents; of a sphere, the radius in each; of a
                           ///< capsule, its radius and half its length
  T opening_y, opening_z;  ///< m, half the opening of a gate
  SolidKind kind;          ///< selects the used fields
  std::int32_t id;         ///< of the scene item
};

/// A plane in the world frame.
template <class T>
struct WorldPlane {
  Vec3<T> point_W;   ///< m
  Vec3<T> normal_W;  ///< unit, away from the solid side
  std::int32_t id;   ///< of the scene item
};

/// A triangle in the world frame.
template <class T>
struct WorldTriangle {
  Vec3<T> corners_W[3];  ///< m
  Vec3<T> normal_W;      ///< unit
  std::int32_t id;       ///< of the scene item
};

/// A node of the bounding volume hierarchy over solids and triangles. The first child of an inner
/// node follows it.
template <class T>
struct SceneNode {
  Vec3<T> lower_W, upper_W;  ///< m, with a margin for rounding
  std::int32_t count;        ///< number of references of a leaf; 0: an inner node
  std::int32_t next;         ///< leaf: first reference; inner node: second child
  std::int32_t axis;         ///< along which the children were split
};

/// Non-owning. A scene with moving items has two parts: the static items, whose index is built
/// once, and the moving ones at their present poses.
template <class T>
struct SceneView {
  const WorldPlane<T>* planes = nullptr;        ///< the planes
  const SceneNode<T>* nodes = nullptr;          ///< of the hierarchy
  const std::int32_t* references = nullptr;     ///< i >= 0: solids[i]; i < 0: triangles[-1 - i]
  const Solid<T>* solids = nullptr;             ///< the solids
  const WorldTriangle<T>* triangles = nullptr;  ///< the triangles
  std::int32_t plane_count = 0;                 ///< number of planes
  std::int32_t node_count = 0;                  ///< number of nodes
  const SceneView* next = nullptr;              ///< another part of the scene, or null
  std::int32_t ignored = -1;  ///< id of an item that all queries leave out; -1: none
};

/// The depth limit of the tree: the size of a traversal's stack.
inline constexpr int max_scene_depth = 64;

}  // namespace propwash
