#pragma once
/// @file
/// A scene: items in the order in which they were added, and beacons. The id of an item is its
/// index.

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

/// The largest coordinate and size, m: beyond it a float tells no decimetre.
inline constexpr double largest_world = 1e6;
/// The smallest size of a shape, m: its square and its reciprocal are ordinary numbers in a float.
inline constexpr double smallest_size = 1e-6;

namespace detail {

/// Checks one item; a complaint names it.
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
    if (!is_within(value, smallest_size, largest_world)) {
      refuse(field, value, "a number of at least 1e-6 and at most 1e6 [m]");
    }
  }
  void finite(const char* field, const Vec3<double>& v) const {
    for (int i = 0; i < 3; ++i) {
      if (!is_within(v[i], -largest_world, largest_world))
        refuse(field, v[i], "finite numbers, at most 1e6 [m]");
    }
  }

  const SceneItem& item_;
};

}  // namespace detail

/// Static shapes and named markers.
class Scene {
 public:
  Scene() = default;
  explicit Scene(std::vector<SceneItem> items, std::vector<Marker> markers = {}) {
    for (auto& item : items) add(std::move(item));
    for (auto& marker : markers) add_marker(std::move(marker));
  }

  /// Returns the item's id. Throws std::invalid_argument, the scene unchanged, for an item that
  /// cannot be or a name that is taken.
  int add(SceneItem item) {
    if (item.name.empty())
      PROPWASH_THROW(std::invalid_argument("an item has no name: expected one"));
    if (items_.size() >= max_items) {
      PROPWASH_THROW(
          std::invalid_argument("expected at most " + std::to_string(max_items) + " items"));
    }
    static_cast<void>(detail::ItemCheck(item));
    auto& attitude = item.pose.attitude_WS;
    if (std::abs(squared_norm(attitude) - 1.0) > 1e-14) attitude = normalized(attitude);
    std::vector<Marker> markers;
    if (const auto* gate = std::get_if<Gate>(&item.shape)) {
      for (auto& marker : gate_markers(item.name, item.pose, *gate)) markers.push_back(marker);
    }
    refuse_taken(item_names_, item.name, "item");
    for (const auto& marker : markers) refuse_taken(marker_names_, marker.name, "marker");
    item_names_.insert(item.name);
    for (auto& marker : markers) keep(std::move(marker));
    items_.push_back(std::move(item));
    return static_cast<int>(items_.size()) - 1;
  }

  /// Throws std::invalid_argument, the scene unchanged, as add() does.
  void add_marker(Marker marker) {
    if (marker.name.empty())
      PROPWASH_THROW(std::invalid_argument("a marker has no name: expected one"));
    for (int i = 0; i < 3; ++i) {
      if (is_within(marker.position_W[i], -largest_world, largest_world)) continue;
      std::ostringstream text;
      text << "marker '" << marker.name << "': position = " << marker.position_W[i]
           << ": expected finite numbers, at most 1e6 [m]";
      PROPWASH_THROW(std::invalid_argument(text.str()));
    }
    refuse_taken(marker_names_, marker.name, "marker");
    keep(std::move(marker));
  }

  /// The shapes.
  const std::vector<SceneItem>& items() const { return items_; }
  /// Those of the gates and those added by hand, in the order in which they came.
  const std::vector<Marker>& markers() const { return markers_; }

  /// The id of the item of this name, -1 where there is none.
  int find(const std::string& name) const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  /// Ids are exact in a float.
  static constexpr std::size_t max_items = 1u << 24;

 private:
  using Names = std::unordered_set<std::string>;

  static void refuse_taken(const Names& names, const std::string& name, const char* what) {
    if (names.count(name) != 0) {
      PROPWASH_THROW(std::invalid_argument(std::string(what) + " '" + name +
                                           "' is there twice: expected names of their own"));
    }
  }
  void keep(Marker marker) {
    marker_names_.insert(marker.name);
    markers_.push_back(std::move(marker));
  }

  std::vector<SceneItem> items_;
  std::vector<Marker> markers_;
  Names item_names_, marker_names_;
};

}  // namespace propwash
