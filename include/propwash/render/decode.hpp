#pragma once
/// @file
/// Decodes messages from the wire. Any bytes give a valid message or a ProtocolError; images are
/// views of the frames.

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "propwash/render/frames.hpp"
#include "propwash/render/impl/json.hpp"
#include "propwash/render/messages.hpp"

namespace propwash::render {

namespace detail {

inline RenderCamera read_camera(const JsonPart& json) {
  RenderCamera camera;
  camera.id = json.at("ID").text();
  camera.position_W = from_unity_position(json.at("position").numbers<3>());
  camera.attitude_WC = from_unity_rotation(json.at("rotation").numbers<4>());
  if (const auto found = json.find("hasCollisionCheck")) camera.collision_check = found->flag();
  if (const auto found = json.find("doesLandmarkVisCheck")) camera.landmarks = found->flag();
  const auto shader = json.find("outputShaderType");
  camera.has_shader_type = shader.has_value();
  if (shader) {
    const auto type = shader->integer(first_camera_type, last_camera_type);
    camera.type = static_cast<CameraType>(type);
  } else {  // v2 has only these keys
    const auto is_depth = json.find("isDepth");
    const auto channels = json.find("channels");
    if (is_depth && is_depth->flag()) {
      camera.type = CameraType::depth;
    } else if (channels && channels->integer(INT32_MIN, INT32_MAX) == 1) {
      camera.type = CameraType::grey;
    }
  }
  if (const auto found = json.find("motionBlurPercent")) camera.motion_blur = found->number();
  if (const auto found = json.find("shouldRenderThisFrame")) camera.render = found->flag();
  return camera;
}

inline RenderObject read_object(const JsonPart& json) {
  RenderObject object;
  object.id = json.at("ID").text();
  object.prefab = json.at("prefabID").text();
  object.position_W = from_unity_position(json.at("position").numbers<3>());
  object.attitude_WO = from_unity_rotation(json.at("rotation").numbers<4>());
  if (const auto size = json.find("size")) object.size = from_unity_size(size->numbers<3>());
  return object;
}

/// The bytes per pixel of an image. v2 copies `channels` from the pose but sends RGB, so the size
/// of the frame decides between 1 and 3.
inline int bytes_per_pixel(const JsonPart& json, const ImageView& image, std::uint64_t pixels) {
  const std::uint64_t size = image.bytes.size;
  const auto channels = image.channels;
  if (channels == 2 && size == 2 * pixels) return 2;
  if (channels != 2 && size == 3 * pixels) return 3;
  if (channels == 1 && size == pixels) return 1;
  const auto expected = channels == 2 ? std::to_string(2 * pixels)
                        : channels == 1
                            ? std::to_string(pixels) + " or " + std::to_string(3 * pixels)
                            : std::to_string(3 * pixels);
  json.fail(expected + " bytes in the frame of camera \"" + image.camera + "\" with channels " +
                std::to_string(channels),
            std::to_string(size));
}

inline void read_images(const JsonPart& json, const FrameView* frames, std::size_t count,
                        Answer& answer) {
  const auto ids = json.at("cameraIDs");
  const auto channels = json.at("channels");
  const std::size_t images = ids.count(max_cameras);
  if (count != images + 1) {
    throw ProtocolError("answer: expected " + std::to_string(images + 1) +
                        " frames, the first and one for each of cameraIDs, got " +
                        std::to_string(count));
  }
  if (channels.count(max_cameras) != images) channels.refuse("as many entries as cameraIDs");
  const auto indexes = json.find("cameraIndexes");
  if (indexes && indexes->count(max_cameras) != images) {
    indexes->refuse("as many entries as cameraIDs");
  }
  const auto pixels =
      static_cast<std::uint64_t>(answer.width) * static_cast<std::uint64_t>(answer.height);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < images; ++i) {
    ImageView image;
    image.camera = ids[i].text();
    image.channels = static_cast<int>(channels[i].integer(INT32_MIN, INT32_MAX));
    image.bytes = frames[i + 1];
    if (indexes) image.index = static_cast<int>((*indexes)[i].integer(0, max_cameras - 1));
    image.bytes_per_pixel = bytes_per_pixel(channels[i], image, pixels);
    if (!seen.insert(image.camera).second) ids[i].refuse("one image of each camera");
    answer.images.push_back(std::move(image));
  }
}

inline Landmark read_landmark(const JsonPart& json) {
  const auto position = json.at("position");
  const auto p = position.numbers<3>();
  const Landmark landmark{json.at("ID").text(), {p[0], p[1], p[2]}};
  if (!in_image(landmark)) position.fail(landmark_range, to_text(landmark.position));
  return landmark;
}

}  // namespace detail

/// Decodes a pose, the frame after the topic, as a published renderer reads it.
/// @throws ProtocolError for a pose that such a renderer would drop, execute incompletely or fail
/// at.
inline PoseMessage decode_pose(FrameView frame) {
  constexpr auto reading = detail::Reading::published;
  const auto root = detail::parse_json(frame, "pose", reading);
  const detail::JsonPart json(root, "pose", reading);
  if (!json.at("sceneIsInternal").flag() && !json.at("sceneFilename").text().empty()) {
    json.at("sceneIsInternal").refuse("true: scenes are built into the renderer");
  }
  PoseMessage pose;
  pose.scene = json.at("sceneFilename").text();
  if (const auto file = json.find("obstaclePerturbationFile"))
    pose.perturbation_file = file->text();
  pose.ntime = json.at("ntime").integer(0, INT64_MAX);
  pose.width = static_cast<int>(json.at("camWidth").integer(1, max_image_side));
  pose.height = static_cast<int>(json.at("camHeight").integer(1, max_image_side));
  pose.vertical_fov_deg = json.at("camFOV").number();
  if (const auto found = json.find("camDepthScale")) pose.depth_scale = found->number();
  const auto cameras = json.at("cameras");
  const std::size_t camera_count = cameras.count(max_cameras);
  for (std::size_t i = 0; i < camera_count; ++i) {
    pose.cameras.push_back(detail::read_camera(cameras[i]));
  }
  const auto objects = json.at("objects");
  const std::size_t object_count = objects.count(max_objects);
  for (std::size_t i = 0; i < object_count; ++i) {
    pose.objects.push_back(detail::read_object(objects[i]));
  }
  try {
    validate(pose);
  } catch (const std::invalid_argument& error) {
    throw ProtocolError(std::string("pose: ") + error.what());
  }
  return pose;
}

/// Decodes an answer: one frame of JSON and one for each image; the images point to the frames.
/// Required keys: ntime or utime, camWidth, camHeight, cameraIDs, channels.
/// @throws ProtocolError for an answer that differs from the table in docs/render-wire.md.
inline Answer decode_answer(const FrameView* frames, std::size_t count) {
  if (count == 0) throw ProtocolError("answer: expected at least one frame, got none");
  constexpr auto reading = detail::Reading::strict;
  const auto root = detail::parse_json(frames[0], "answer", reading);
  const detail::JsonPart json(root, "answer", reading);
  Answer answer;
  const auto ntime = json.find("ntime");  // utime in old renderers
  const auto time = ntime ? ntime : json.find("utime");
  answer.ntime = (time ? *time : json.at("ntime")).integer(INT64_MIN, INT64_MAX);
  answer.width = static_cast<int>(json.at("camWidth").integer(1, max_image_side));
  answer.height = static_cast<int>(json.at("camHeight").integer(1, max_image_side));
  if (const auto found = json.find("camDepthScale")) answer.depth_scale = found->number();
  detail::read_images(json, frames, count, answer);
  if (const auto found = json.find("hasCameraCollision")) answer.collision = found->flag();
  if (const auto found = json.find("lidarReturn")) answer.range = found->number(0.0);
  if (const auto landmarks = json.find("landmarksInView")) {
    const std::size_t size = landmarks->count(max_json_bytes);
    for (std::size_t i = 0; i < size; ++i) {
      answer.landmarks.push_back(detail::read_landmark((*landmarks)[i]));
    }
  }
  return answer;
}

}  // namespace propwash::render
