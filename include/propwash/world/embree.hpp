#pragma once
/// @file
/// Ray casting of large meshes with Embree 3 or 4. Empty if its headers are not found; otherwise
/// the program must link embree.
///
///     const SceneIndex<float> index(scene, 500);  // without meshes of more than 500 triangles
///     const EmbreeMeshes meshes(scene, 500);      // only those
///     raycast(index.view(), n, origins, directions, range, distance, id, normal);
///     meshes.refine(n, origins, directions, range, distance, id, normal);

#if __has_include(<embree4/rtcore.h>)
#include <embree4/rtcore.h>
#define PROPWASH_HAS_EMBREE 1
#elif __has_include(<embree3/rtcore.h>)
#include <embree3/rtcore.h>
#define PROPWASH_HAS_EMBREE 1
#else
/// 1 if Embree is available.
#define PROPWASH_HAS_EMBREE 0
#endif

#if PROPWASH_HAS_EMBREE

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/world/scene.hpp"

namespace propwash {

/// The meshes of a scene with more than `max_triangles` triangles. Thread-safe for reading.
class EmbreeMeshes {
 public:
  /// @throws std::runtime_error if Embree fails.
  explicit EmbreeMeshes(const Scene& scene, std::size_t max_triangles = 0)
      : device_(rtcNewDevice(nullptr), &rtcReleaseDevice),
        scene_(device_ ? rtcNewScene(device_.get()) : nullptr, &rtcReleaseScene) {
    if (!scene_) PROPWASH_THROW(std::runtime_error("Embree: no device on this machine"));
    rtcSetSceneFlags(scene_.get(), RTC_SCENE_FLAG_ROBUST);
    for (std::size_t i = 0; i < scene.items().size(); ++i) {
      const auto* mesh = std::get_if<Mesh>(&scene.items()[i].shape);
      if (mesh == nullptr || mesh->triangles.size() <= max_triangles) continue;
      add(*mesh, scene.items()[i].pose, static_cast<unsigned>(i));
    }
    rtcCommitScene(scene_.get());
    if (rtcGetDeviceError(device_.get()) != RTC_ERROR_NONE) {
      PROPWASH_THROW(
          std::runtime_error("Embree: cannot build the meshes; check the available memory"));
    }
  }

  /// Updates the results of raycast() (raycast.hpp) where a mesh is closer.
  void refine(std::size_t n, const float* origins, const float* directions, float max_range,
              float* distance, std::int32_t* id, float* normal) const {
    for (std::size_t i = 0; i < n; ++i) {
      const float* o = origins + 3 * i;
      const float* d = directions + 3 * i;
      const float length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
      const float sum = std::abs(o[0]) + std::abs(o[1]) + std::abs(o[2]) + length;
      if (!is_finite(sum) || sum >= 1e18F || length <= 0.0F) continue;
      if (is_nan(max_range) || max_range <= 0.0F) continue;
      RTCRayHit ray{};
      ray.ray.org_x = o[0], ray.ray.org_y = o[1], ray.ray.org_z = o[2];
      ray.ray.dir_x = d[0] / length, ray.ray.dir_y = d[1] / length, ray.ray.dir_z = d[2] / length;
      ray.ray.tfar = distance[i] < max_range ? distance[i] : max_range;
      ray.ray.mask = ~0U;
      ray.hit.geomID = RTC_INVALID_GEOMETRY_ID;
      intersect(ray);
      if (ray.hit.geomID == RTC_INVALID_GEOMETRY_ID) continue;
      distance[i] = ray.ray.tfar;
      id[i] = static_cast<std::int32_t>(ray.hit.geomID);
      if (normal != nullptr) set_normal(ray, normal + 3 * i);
    }
  }

 private:
  void add(const Mesh& mesh, const Pose& pose, unsigned id) {
    const RTCGeometry geometry = rtcNewGeometry(device_.get(), RTC_GEOMETRY_TYPE_TRIANGLE);
    const auto new_buffer = [&](RTCBufferType type, RTCFormat format, std::size_t count) {
      void* const data = rtcSetNewGeometryBuffer(geometry, type, 0, format, 12, count);
      if (data == nullptr) PROPWASH_THROW(std::runtime_error("Embree: no memory for a mesh"));
      return data;
    };
    auto* vertex = static_cast<float*>(
        new_buffer(RTC_BUFFER_TYPE_VERTEX, RTC_FORMAT_FLOAT3, mesh.vertices.size()));
    for (const auto& point_S : mesh.vertices) {
      const auto p = to_world(pose, point_S);
      for (int k = 0; k < 3; ++k) *vertex++ = static_cast<float>(p[k]);
    }
    auto* index = static_cast<std::uint32_t*>(
        new_buffer(RTC_BUFFER_TYPE_INDEX, RTC_FORMAT_UINT3, mesh.triangles.size()));
    for (const auto& triangle : mesh.triangles) {
      for (const std::int32_t corner : triangle) *index++ = static_cast<std::uint32_t>(corner);
    }
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene_.get(), geometry, id);
    rtcReleaseGeometry(geometry);
  }
  void intersect(RTCRayHit& ray) const {
#if RTC_VERSION_MAJOR >= 4
    rtcIntersect1(scene_.get(), &ray);
#else
    RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    rtcIntersect1(scene_.get(), &context, &ray);
#endif
  }
  static void set_normal(const RTCRayHit& ray, float* to) {
    const auto& h = ray.hit;
    const float along = h.Ng_x * ray.ray.dir_x + h.Ng_y * ray.ray.dir_y + h.Ng_z * ray.ray.dir_z;
    const float length = std::sqrt(h.Ng_x * h.Ng_x + h.Ng_y * h.Ng_y + h.Ng_z * h.Ng_z);
    const float scale = (along > 0.0F ? -1.0F : 1.0F) / length;
    to[0] = h.Ng_x * scale, to[1] = h.Ng_y * scale, to[2] = h.Ng_z * scale;
  }

  using Device = std::remove_pointer_t<RTCDevice>;
  using EmbreeScene = std::remove_pointer_t<RTCScene>;
  std::unique_ptr<Device, void (*)(RTCDevice)> device_;
  std::unique_ptr<EmbreeScene, void (*)(RTCScene)> scene_;
};

}  // namespace propwash

#endif  // PROPWASH_HAS_EMBREE
