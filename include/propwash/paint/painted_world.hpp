#pragma once
/// @file
/// The renderer's scene: the painted items of a static scene, and bodies that move in it. Kernels
/// do not include this.

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/paint/look.hpp"
#include "propwash/paint/texture_pyramid.hpp"
#include "propwash/world/scene_index.hpp"

namespace propwash::paint {

/// A moving body of one or more items, whose poses are in the body's frame.
struct MovingBody {
  std::vector<SceneItem> parts;  ///< in the body's frame
};

/// A pose in the precision of the painter.
inline Placement placement(const Pose& pose) {
  return {cast<float>(pose.position_W), cast<float>(to_matrix(pose.attitude_WS))};
}

/// In instance images, item i of the scene has number i + 1, and the bodies follow.
class PaintedWorld {
 public:
  explicit PaintedWorld(const Scene& still) : still_items_(still.items().size()) {
    for (const auto& item : still.items()) {
      const auto number = static_cast<std::uint32_t>(items_.size()) + 1U;
      items_.push_back(painted(item, number));
      items_.back().now = items_.back().before = placement(item.pose);
    }
  }

  /// Puts a texture on a static item; see TexturePyramid::on_surface.
  /// @throws std::out_of_range for an item that does not exist.
  void set_texture(std::size_t item, const std::shared_ptr<const TexturePyramid>& texture,
                   const std::array<double, 2>& size, const std::array<double, 2>& shift) {
    if (item >= still_items_) {
      PROPWASH_THROW(std::out_of_range("set_texture: expected an item below " +
                                       std::to_string(still_items_) + ", got " +
                                       std::to_string(item)));
    }
    items_[item].texture = texture->on_surface(size[0], size[1], shift[0], shift[1]);
    textures_.push_back(texture);
  }
  /// Whether any item has a texture.
  bool has_textures() const { return !textures_.empty(); }

  /// Returns the index of the body, which is invisible until `move`.
  /// @throws std::invalid_argument for invalid parts, and for planes, which are infinite.
  std::size_t add_body(MovingBody body) {
    for (const auto& part : body.parts) {
      static_cast<void>(propwash::detail::ItemCheck(part));
      if (std::holds_alternative<Plane>(part.shape)) {
        PROPWASH_THROW(std::invalid_argument("part '" + part.name +
                                             "': expected a finite shape, got a plane"));
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

  /// Sets the poses of all bodies now and at the time of the previous image.
  void move(const std::vector<Pose>& now, const std::vector<Pose>& before) {
    if (now.size() != bodies_.size() || before.size() != bodies_.size()) {
      PROPWASH_THROW(std::invalid_argument("move: expected a pose for each of " +
                                           std::to_string(bodies_.size()) + " bodies, got " +
                                           std::to_string(now.size())));
    }
    std::vector<PlacedItem> placed;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      for (const auto& part : bodies_[i].parts) {
        auto& item = items_[still_items_ + placed.size()];
        item.now = placement(composed(now[i], part.pose));
        item.before = placement(composed(before[i], part.pose));
        placed.push_back({&part, now[i], static_cast<std::int32_t>(placed.size())});
      }
    }
    moving_ = SceneIndex<float>(placed);
    exact_ = SceneIndex<double>(placed);
  }

  /// All items: static ones first, then those of moving bodies.
  const std::vector<PaintedItem>& items() const { return items_; }
  /// Number of static items.
  std::size_t still_items() const { return still_items_; }
  /// The moving bodies at their current poses.
  SceneView<float> moving() const { return moving_.view(); }
  /// The same in double precision.
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
  std::vector<std::shared_ptr<const TexturePyramid>> textures_;
};

}  // namespace propwash::paint
