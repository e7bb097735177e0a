#pragma once
/// @file
/// A scene made ready for pictures: its items as a painter sees them, and bodies that move in it.
/// What a renderer holds from picture to picture; kernels do not include this.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/paint/look.hpp"
#include "propwash/world/scene_index.hpp"

namespace propwash::paint {

/// Something that moves, of one or more items whose poses are in the body's frame.
struct MovingBody {
  std::vector<SceneItem> parts;  ///< shapes in the axes of the body
};

/// A pose in the precision of the painter.
inline Placement placement(const Pose& pose) {
  return {cast<float>(pose.position_W), cast<float>(to_matrix(pose.attitude_WS))};
}

/// The pose of a part in the world.
inline Pose composed(const Pose& body, const Pose& part) {
  return {to_world(body, part.position_W), normalized(body.attitude_WS * part.attitude_WS)};
}

/// In pictures of instances, item i of the scene has number i + 1, and the bodies follow.
class PaintedWorld {
 public:
  explicit PaintedWorld(const Scene& still) : still_items_(still.items().size()) {
    for (const auto& item : still.items()) {
      const auto number = static_cast<std::uint32_t>(items_.size()) + 1U;
      items_.push_back(painted(item, number));
      items_.back().now = items_.back().before = placement(item.pose);
    }
  }

  /// The index of the body. It is nowhere until `move`. Throws std::invalid_argument for parts that
  /// cannot be, or that are planes: they have no end to move.
  std::size_t add_body(MovingBody body) {
    for (const auto& part : body.parts) {
      static_cast<void>(propwash::detail::ItemCheck(part));
      if (std::holds_alternative<Plane>(part.shape)) {
        PROPWASH_THROW(std::invalid_argument("body: expected parts with an end, got a plane, '" +
                                             part.name + "'"));
      }
    }
    const auto number = static_cast<std::uint32_t>(still_items_ + bodies_.size()) + 1U;
    for (const auto& part : body.parts) items_.push_back(painted(part, number));
    bodies_.push_back(std::move(body));
    return bodies_.size() - 1;
  }
  /// Removes all moving bodies.
  void remove_bodies() {
    bodies_.clear();
    items_.resize(still_items_);
    moving_ = {};
    exact_ = {};
  }
  /// Number of moving bodies.
  std::size_t bodies() const { return bodies_.size(); }

  /// Puts each body where it is, and says where it was at the picture before.
  void move(const std::vector<Pose>& now, const std::vector<Pose>& before) {
    if (now.size() != bodies_.size() || before.size() != bodies_.size()) {
      PROPWASH_THROW(std::invalid_argument("move: expected a pose for each of " +
                                           std::to_string(bodies_.size()) + " bodies, got " +
                                           std::to_string(now.size())));
    }
    Scene scene;
    std::size_t at = still_items_;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      for (const auto& part : bodies_[i].parts) {
        SceneItem item = part;
        item.name = std::to_string(at);  // names of bodies need not differ
        item.pose = composed(now[i], part.pose);
        items_[at].now = placement(item.pose);
        items_[at].before = placement(composed(before[i], part.pose));
        scene.add(std::move(item));
        ++at;
      }
    }
    moving_ = SceneIndex<float>(scene);
    exact_ = SceneIndex<double>(scene);
  }

  /// All shapes: static ones first, then those of moving bodies.
  const std::vector<PaintedItem>& items() const { return items_; }
  /// Number of static shapes.
  std::size_t still_items() const { return still_items_; }
  /// The bodies as they were last moved, for rays of either type.
  SceneView<float> moving() const { return moving_.view(); }
  /// The shapes of moving bodies in double precision.
  SceneView<double> moving_exact() const { return exact_.view(); }

 private:
  static PaintedItem painted(const SceneItem& item, std::uint32_t number) {
    PaintedItem result;
    result.albedo = linear_light(item.colour);
    result.finish = finish_of(item.category, item.colour);
    result.instance = colour_of_id(number);
    result.semantic = colour_of_id(category_id(item.category));
    return result;
  }

  std::size_t still_items_;
  std::vector<PaintedItem> items_;
  std::vector<MovingBody> bodies_;
  SceneIndex<float> moving_;
  SceneIndex<double> exact_;
};

}  // namespace propwash::paint
