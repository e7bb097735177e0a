#pragma once
/// @file
/// A scene as flat arrays, as the kernels read it; SceneIndex owns them.

#include <cstdint>

#include "propwash/math/vec3.hpp"

namespace propwash {

/// The kind of a solid.
enum class SolidKind : std::int32_t { box, sphere, cylinder, gate };

/// A body with a closed form, in numbers of one type.
template <class T>
struct Solid {
  T rotation_SW[9];        ///< by rows: turns world vectors into the frame of the shape
  Vec3<T> position_W;      ///< m
  Vec3<T> half;            ///< m, half the outer extents; of a sphere the radius in each
  T opening_y, opening_z;  ///< m, half the opening of a gate
  SolidKind kind;          ///< selects the fields that are used
  std::int32_t id;         ///< of the item
};

/// A plane in the world frame.
template <class T>
struct WorldPlane {
  Vec3<T> point_W;   ///< m
  Vec3<T> normal_W;  ///< out of the solid side
  std::int32_t id;   ///< of the scene's item
};

/// A triangle in the world frame.
template <class T>
struct WorldTriangle {
  Vec3<T> corners_W[3];  ///< m
  Vec3<T> normal_W;      ///< unit
  std::int32_t id;       ///< of the scene's item
};

/// A node of the tree over bodies and triangles. The first child of an inner node follows it.
template <class T>
struct SceneNode {
  Vec3<T> lower_W, upper_W;  ///< m, a little more than what is inside
  std::int32_t count;        ///< of a leaf: its references; 0 of an inner node
  std::int32_t next;         ///< the first reference of a leaf, the second child otherwise
  std::int32_t axis;         ///< along which the children are apart
};

/// Nothing owned.
template <class T>
struct SceneView {
  const WorldPlane<T>* planes = nullptr;        ///< the planes
  const SceneNode<T>* nodes = nullptr;          ///< nodes of the bounding volume hierarchy
  const std::int32_t* references = nullptr;     ///< i >= 0: solids[i]; i < 0: triangles[-1 - i]
  const Solid<T>* solids = nullptr;             ///< the solids, in the order of the leaves
  const WorldTriangle<T>* triangles = nullptr;  ///< the triangles, in the order of the leaves
  std::int32_t plane_count = 0;                 ///< number of planes
  std::int32_t node_count = 0;                  ///< number of nodes
};

/// The deepest tree that a traversal has room for.
inline constexpr int max_scene_depth = 64;

}  // namespace propwash
