#pragma once
/// @file
/// Ray casting for images, in a static scene and a scene of moving bodies.

#include "propwash/paint/data.hpp"
#include "propwash/paint/encode.hpp"
#include "propwash/world/cast.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// Casts rays in both scenes. The ids of moving bodies follow those of static items.
struct SceneRays {
  SceneView<float> still;        ///< the static items
  SceneView<float> moving;       ///< the moving bodies
  std::int32_t still_items = 0;  ///< number of static items: the first id of a moving body

  /// The first hit of each ray: distance [m], id and normal.
  template <class W>
  PROPWASH_FN void first(const Vec3<W>& origin_W, const Vec3<W>& direction_W, W& distance,
                         Integer<W>& id, Vec3<W>& normal_W) const {
    const W far(1e9F);
    PackHit<W> hit = cast(still, origin_W, direction_W, far);
    if (moving.node_count > 0) {
      const W so_far = min(hit.distance, far);
      const PackHit<W> other = cast(moving, origin_W, direction_W, so_far);
      const auto nearer = other.distance < so_far;
      hit.distance = select(nearer, other.distance, hit.distance);
      hit.id = select(nearer, other.id + static_cast<float>(still_items), hit.id);
      hit.normal = {select(nearer, other.normal.x, hit.normal.x),
                    select(nearer, other.normal.y, hit.normal.y),
                    select(nearer, other.normal.z, hit.normal.z)};
    }
    distance = hit.distance;
    id = truncated(hit.id);
    normal_W = hit.normal;
  }

  /// 1 if nothing blocks the ray, for the `active` lanes.
  template <class W>
  PROPWASH_FN W reaches(const Vec3<W>& from_W, const Vec3<W>& direction_W, const W& distance,
                        const MaskOf<W>& active) const {
    W range = select(active, distance, W(-1.0F));
    auto met = meets_any(still, from_W, direction_W, range);
    if (moving.node_count > 0) {
      range = select(met, W(-1.0F), range);
      met = met | meets_any(moving, from_W, direction_W, range);
    }
    return select(met, W(0.0F), W(1.0F));
  }
};

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
