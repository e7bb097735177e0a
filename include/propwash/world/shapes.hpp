#pragma once
/// @file
/// The items of a scene: shapes with a pose, a name, a category and a colour.
///
/// The frame S of a shape has its origin in the shape's centre. A ray that starts inside a body
/// hits its surface from inside.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// The pose of a shape: v_W = attitude_WS o v_S o attitude_WS* + position_W.
struct Pose {
  Vec3<double> position_W;                              ///< m
  Quat<double> attitude_WS = Quat<double>::identity();  ///< unit
};

/// The infinite plane z = 0 of its frame; solid where z < 0.
struct Plane {};

/// A box along the axes of its pose.
struct Box {
  Vec3<double> size{1.0, 1.0, 1.0};  ///< m, full edges along x, y, z
};

/// A sphere about its pose.
struct Sphere {
  double radius = 0.5;  ///< m
};

/// A capped cylinder about z.
struct Cylinder {
  double radius = 0.5;  ///< m
  double height = 1.0;  ///< m, from cap to cap
};

/// The points within `radius` of a segment along z.
struct Capsule {
  double radius = 0.5;  ///< m
  double length = 1.0;  ///< m, of the segment, between the centres of the round ends
};

/// Four bars around a rectangular opening, which vehicles pass along +x.
struct Gate {
  double width = 1.5;   ///< m, of the opening, along y
  double height = 1.5;  ///< m, of the opening, along z
  double border = 0.2;  ///< m, width of the bars
  double depth = 0.1;   ///< m, of the bars, along x
  /// The corner of each marker: 0 upper left, 1 upper right, 2 lower right, 3 lower left, seen from
  /// an approaching vehicle.
  std::array<int, 4> marker_corners{0, 1, 2, 3};
};

/// Triangles, visible from both sides. A mesh is a surface without an inside.
struct Mesh {
  std::vector<Vec3<double>> vertices;                  ///< m
  std::vector<std::array<std::int32_t, 3>> triangles;  ///< indices of vertices
};

using Shape = std::variant<Plane, Box, Sphere, Cylinder, Capsule, Gate, Mesh>;  ///< any shape

/// A shape at a pose.
struct SceneItem {
  std::string name;                    ///< unique in its scene
  std::string category;                ///< for segmentation: "gate", "tree", …
  Vec3<double> colour{0.6, 0.6, 0.6};  ///< sRGB, 0 to 1
  Pose pose;                           ///< in the world frame; of a moving item, in its body's
  Shape shape;                         ///< in the axes of the pose
  bool moves = false;                  ///< whether its body moves: see PlacedItem
};

/// An infrared beacon.
struct Marker {
  std::string name;         ///< unique; for the markers of a gate "<gate>_<1 to 4>"
  Vec3<double> position_W;  ///< m
  std::string gate{};       ///< the gate that it belongs to; empty: none
  int corner = -1;          ///< of its gate, numbered as Gate::marker_corners; -1 without a gate
};

/// Transforms a point from the shape's frame to the world.
inline Vec3<double> to_world(const Pose& pose, const Vec3<double>& point_S) {
  return rotate(pose.attitude_WS, point_S) + pose.position_W;
}

/// Normalises a quaternion unless its norm is 1 up to rounding.
inline Quat<double> unit_attitude(const Quat<double>& q) {
  return std::abs(squared_norm(q) - 1.0) > 1e-14 ? normalized(q) : q;
}

/// The world pose of a part of a body.
inline Pose composed(const Pose& body, const Pose& part) {
  return {to_world(body, part.position_W), unit_attitude(body.attitude_WS * part.attitude_WS)};
}

/// The markers of a gate: at the corners of its opening, on its front face.
inline std::array<Marker, 4> gate_markers(const std::string& name, const Pose& pose,
                                          const Gate& gate) {
  constexpr double left[4] = {1.0, -1.0, -1.0, 1.0};
  constexpr double up[4] = {1.0, 1.0, -1.0, -1.0};
  std::array<Marker, 4> markers;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto corner = static_cast<std::size_t>(gate.marker_corners[i]);
    const Vec3<double> point_S{-0.5 * gate.depth, 0.5 * gate.width * left[corner],
                               0.5 * gate.height * up[corner]};
    markers[i] = {name + "_" + std::to_string(i + 1), to_world(pose, point_S), name,
                  gate.marker_corners[i]};
  }
  return markers;
}

}  // namespace propwash
