#pragma once
/// @file
/// A scene as flat arrays, as the kernels read it; SceneIndex owns them.

#include <cstdint>

#include "propwash/math/vec3.hpp"

namespace propwash {

enum class SolidKind : std::int32_t { box, sphere, cylinder, gate };

/// A body with a closed form, in numbers of one type.
template <class T>
struct Solid {
  T rotation_SW[9];        ///< by rows: turns world vectors into the frame of the shape
  Vec3<T> position_W;      ///< m
  Vec3<T> half;            ///< m, half the outer extents; of a sphere the radius in each
  T opening_y, opening_z;  ///< m, half the opening of a gate
  SolidKind kind;
  std::int32_t id;  ///< of the item
};

template <class T>
struct WorldPlane {
  Vec3<T> point_W;   ///< m
  Vec3<T> normal_W;  ///< out of the solid side
  std::int32_t id;
};

template <class T>
struct WorldTriangle {
  Vec3<T> corners_W[3];  ///< m
  Vec3<T> normal_W;      ///< unit
  std::int32_t id;
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
  const WorldPlane<T>* planes = nullptr;
  const SceneNode<T>* nodes = nullptr;
  const std::int32_t* references = nullptr;  ///< i >= 0: solids[i]; i < 0: triangles[-1 - i]
  const Solid<T>* solids = nullptr;
  const WorldTriangle<T>* triangles = nullptr;
  std::int32_t plane_count = 0;
  std::int32_t node_count = 0;
};

/// The deepest tree that a traversal has room for.
inline constexpr int max_scene_depth = 64;

}  // namespace propwash
