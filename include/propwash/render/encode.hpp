#pragma once
/// @file
/// Encodes messages for the wire, with the keys of both published protocol versions, so that every
/// renderer and client can read them.
///
/// It writes the text directly: building a JSON tree first takes several times as long, and every
/// image needs a pose.

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "propwash/render/frames.hpp"
#include "propwash/render/messages.hpp"

namespace propwash::render {

namespace detail {

/// Writes JSON. Text must be printable ASCII and numbers finite.
class JsonWriter {
 public:
  std::string text;

  JsonWriter& open(char bracket) {
    separate();
    text += bracket;
    first_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    text += bracket;
    first_ = false;
    return *this;
  }
  JsonWriter& key(const char* name) {
    separate();
    text += '"';
    text += name;
    text += "\":";
    first_ = true;  // no comma before its value
    return *this;
  }
  JsonWriter& value(const std::string& string) {
    separate();
    text += '"';
    for (const char c : string) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
    return *this;
  }
  JsonWriter& value(bool flag) {
    separate();
    text += flag ? "true" : "false";
    return *this;
  }
  JsonWriter& value(std::int64_t number) {
    separate();
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  /// Writes the shortest text that parses to the same number.
  JsonWriter& value(double number) {
    separate();
    char digits[32];
#ifdef __cpp_lib_to_chars
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number + 0.0).ptr);
#else
    const int length = std::snprintf(digits, sizeof digits, "%.17g", number + 0.0);
    text.append(digits, static_cast<std::size_t>(length));
#endif
    return *this;
  }
  template <std::size_t N>
  JsonWriter& value(const std::array<double, N>& numbers) {
    open('[');
    for (const double number : numbers) value(number);
    return close(']');
  }

 private:
  void separate() {
    if (!first_) text += ',';
    first_ = false;
  }

  bool first_ = true;
};

/// The key `channels` of a pose, which v2 copies into its answer.
inline int announced_channels(CameraType type) {
  const bool one =
      type == CameraType::grey || type == CameraType::depth || type == CameraType::depth_compressed;
  return one ? 1 : 3;
}

inline void write(JsonWriter& json, const RenderCamera& camera, int index) {
  const bool is_depth =
      camera.type == CameraType::depth || camera.type == CameraType::depth_compressed;
  json.open('{').key("ID").value(camera.id);
  json.key("position").value(unity_position(camera.position_W));
  json.key("rotation").value(unity_rotation(normalized(camera.attitude_WC)));
  json.key("hasCollisionCheck").value(camera.collision_check);
  json.key("doesLandmarkVisCheck").value(camera.landmarks);
  json.key("channels").value(announced_channels(camera.type));
  json.key("isDepth").value(is_depth).key("outputIndex").value(index);
  json.key("outputShaderType").value(static_cast<int>(camera.type));
  json.key("motionBlurPercent").value(camera.motion_blur);
  json.key("shouldRenderThisFrame").value(camera.render).close('}');
}

inline void write(JsonWriter& json, const RenderObject& object) {
  json.open('{').key("ID").value(object.id).key("prefabID").value(object.prefab);
  json.key("position").value(unity_position(object.position_W));
  json.key("rotation").value(unity_rotation(normalized(object.attitude_WO)));
  json.key("size").value(unity_size(object.size)).close('}');
}

inline void write(JsonWriter& json, const Landmark& landmark) {
  const auto& p = landmark.position;
  json.open('{').key("ID").value(landmark.id);
  json.key("position").value(std::array<double, 3>{p.x, p.y, p.z}).close('}');
}

}  // namespace detail

/// The second frame of a pose, after `pose_topic`. Throws as `validate` does.
inline std::string encode_pose(const PoseMessage& pose) {
  validate(pose);
  detail::JsonWriter json;
  json.text.reserve(300 + 400 * pose.cameras.size() + 300 * pose.objects.size());
  json.open('{').key("sceneIsInternal").value(true).key("sceneFilename").value(pose.scene);
  json.key("obstaclePerturbationFile").value(pose.perturbation_file);
  json.key("ntime").value(pose.ntime);
  json.key("camWidth").value(pose.width).key("camHeight").value(pose.height);
  json.key("camFOV").value(pose.vertical_fov_deg).key("camDepthScale").value(pose.depth_scale);
  json.key("cameras").open('[');
  int index = 0;
  for (const auto& camera : pose.cameras) detail::write(json, camera, index++);
  json.close(']').key("objects").open('[');
  for (const auto& object : pose.objects) detail::write(json, object);
  json.close(']').close('}');
  return std::move(json.text);
}

/// The first frame of an answer; one frame with the bytes of each of `answer.images` follows.
/// Throws as `validate` does.
inline std::string encode_answer(const Answer& answer) {
  validate(answer);
  detail::JsonWriter json;
  json.open('{').key("ntime").value(answer.ntime);
  json.key("camWidth").value(answer.width).key("camHeight").value(answer.height);
  json.key("camDepthScale").value(answer.depth_scale).key("cameraIDs").open('[');
  for (const auto& image : answer.images) json.value(image.camera);
  json.close(']').key("channels").open('[');
  for (const auto& image : answer.images) json.value(image.channels);
  json.close(']').key("cameraIndexes").open('[');
  int place = 0;
  for (const auto& image : answer.images) {
    json.value(image.index < 0 ? place : image.index);
    ++place;
  }
  json.close(']').key("hasCameraCollision").value(answer.collision);
  json.key("landmarksInView").open('[');
  for (const auto& landmark : answer.landmarks) detail::write(json, landmark);
  json.close(']');
  if (answer.range) json.key("lidarReturn").value(*answer.range);
  return std::move(json.close('}').text);
}

}  // namespace propwash::render
