#pragma once
/// @file
/// A scene: items and beacons. The id of an item is its index, in the order of addition.

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/world/shapes.hpp"

namespace propwash {

/// m, the largest coordinate and size: beyond it a float does not resolve a decimetre.
inline constexpr double max_coordinate = 1e6;
/// m, the smallest size of a shape: its square and reciprocal are normal numbers in a float.
inline constexpr double min_size = 1e-6;

namespace detail {

/// Checks one item.
/// @throws std::invalid_argument that names it.
class ItemCheck {
 public:
  explicit ItemCheck(const SceneItem& item) : item_(item) {
    finite("position", item.pose.position_W);
    for (int i = 0; i < 3; ++i) {
      const double c = item.colour[i];
      if (!is_within(c, 0.0, 1.0)) refuse("colour", c, "sRGB from 0 to 1");
    }
    const double unit = squared_norm(item.pose.attitude_WS);
    if (!is_within(unit, 1.0 - 1e-3, 1.0 + 1e-3)) {
      refuse("attitude", std::sqrt(unit), "a unit quaternion; this is its norm");
    }
    std::visit(*this, item.shape);
  }

  void operator()(const Plane&) const {}
  void operator()(const Box& box) const {
    positive("size[0]", box.size.x);
    positive("size[1]", box.size.y);
    positive("size[2]", box.size.z);
  }
  void operator()(const Sphere& sphere) const { positive("radius", sphere.radius); }
  void operator()(const Cylinder& cylinder) const {
    positive("radius", cylinder.radius);
    positive("height", cylinder.height);
  }
  void operator()(const Capsule& capsule) const {
    positive("radius", capsule.radius);
    positive("length", capsule.length);
  }
  void operator()(const Gate& gate) const {
    positive("width", gate.width);
    positive("height", gate.height);
    positive("border", gate.border);
    positive("depth", gate.depth);
    bool seen[4] = {false, false, false, false};
    for (const int corner : gate.marker_corners) {
      if (corner < 0 || corner > 3 || seen[corner]) {
        refuse("marker_corners", corner, "each of 0, 1, 2, 3 once");
      }
      seen[corner] = true;
    }
  }
  void operator()(const Mesh& mesh) const {
    if (mesh.triangles.empty()) refuse("triangles", 0, "at least one triangle");
    for (const auto& vertex : mesh.vertices) finite("vertices", vertex);
    const auto count = static_cast<std::int32_t>(mesh.vertices.size());
    for (const auto& triangle : mesh.triangles) {
      for (const std::int32_t corner : triangle) {
        if (corner < 0 || corner >= count) {
          refuse("triangles", corner, "indices from 0 to " + std::to_string(count - 1));
        }
      }
    }
  }

 private:
  template <class Value>
  [[noreturn]] void refuse(const char* field, const Value& value,
                           const std::string& expected) const {
    std::ostringstream text;
    text.precision(9);
    text << "item '" << item_.name << "': " << field << " = " << value << ": expected " << expected;
    PROPWASH_THROW(std::invalid_argument(text.str()));
  }
  void positive(const char* field, double value) const {
    if (!is_within(value, min_size, max_coordinate)) {
      refuse(field, value, "a number of at least 1e-6 and at most 1e6 [m]");
    }
  }
  void finite(const char* field, const Vec3<double>& v) const {
    for (int i = 0; i < 3; ++i) {
      if (!is_within(v[i], -max_coordinate, max_coordinate))
        refuse(field, v[i], "finite numbers, at most 1e6 [m]");
    }
  }

  const SceneItem& item_;
};

}  // namespace detail

/// Shapes and named markers. The markers of a moving gate are in the frame of its body.
class Scene {
 public:
  Scene() = default;
  explicit Scene(std::vector<SceneItem> items, std::vector<Marker> markers = {}) {
    for (auto& item : items) add(std::move(item));
    for (auto& marker : markers) add_marker(std::move(marker));
  }

  /// Returns the item's id.
  /// @throws std::invalid_argument for an invalid item or a duplicate name; the scene is unchanged.
  int add(SceneItem item) {
    if (item.name.empty()) PROPWASH_THROW(std::invalid_argument("item name = '': expected a name"));
    if (items_.size() >= max_items) {
      PROPWASH_THROW(std::invalid_argument("items: expected at most " + std::to_string(max_items)));
    }
    static_cast<void>(detail::ItemCheck(item));
    item.pose.attitude_WS = unit_attitude(item.pose.attitude_WS);
    std::vector<Marker> markers;
    if (const auto* gate = std::get_if<Gate>(&item.shape)) {
      for (auto& marker : gate_markers(item.name, item.pose, *gate)) markers.push_back(marker);
    }
    check_unique(item_names_, item.name, "item");
    for (const auto& marker : markers) check_unique(marker_names_, marker.name, "marker");
    item_names_.insert(item.name);
    for (auto& marker : markers) store(std::move(marker));
    items_.push_back(std::move(item));
    return static_cast<int>(items_.size()) - 1;
  }

  /// Throws as add() does.
  void add_marker(Marker marker) {
    if (marker.name.empty())
      PROPWASH_THROW(std::invalid_argument("marker name = '': expected a name"));
    for (int i = 0; i < 3; ++i) {
      if (is_within(marker.position_W[i], -max_coordinate, max_coordinate)) continue;
      std::ostringstream text;
      text << "marker '" << marker.name << "': position = " << marker.position_W[i]
           << ": expected finite numbers, at most 1e6 [m]";
      PROPWASH_THROW(std::invalid_argument(text.str()));
    }
    check_unique(marker_names_, marker.name, "marker");
    store(std::move(marker));
  }

  /// The shapes.
  const std::vector<SceneItem>& items() const { return items_; }
  /// Markers of gates and those of add_marker(), in the order of addition.
  const std::vector<Marker>& markers() const { return markers_; }

  /// The id of the item with this name, or -1.
  int find(const std::string& name) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  /// Ids up to this are exact in a float.
  static constexpr std::size_t max_items = 1u << 24;

 private:
  using Names = std::unordered_set<std::string>;

  static void check_unique(const Names& names, const std::string& name, const char* kind) {
    if (names.count(name) != 0) {
      PROPWASH_THROW(std::invalid_argument(std::string(kind) + " name = '" + name +
                                           "': expected a unique name, got it twice"));
    }
  }
  void store(Marker marker) {
    marker_names_.insert(marker.name);
    markers_.push_back(std::move(marker));
  }

  std::vector<SceneItem> items_;
  std::vector<Marker> markers_;
  Names item_names_, marker_names_;
};

}  // namespace propwash
