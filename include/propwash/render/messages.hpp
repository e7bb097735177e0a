#pragma once
/// @file
/// The messages to and from a FlightGoggles renderer, in propwash's frames and units. Plain data;
/// encode.hpp and decode.hpp convert it, session.hpp schedules it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::render {

/// A message that violates the protocol. The text contains the part, the expected and the
/// received value; it is truncated, and characters other than printable ASCII are replaced.
class ProtocolError : public std::runtime_error {
 public:
  explicit ProtocolError(const std::string& text) : std::runtime_error(printable(text)) {}

 private:
  static std::string printable(std::string text) {
    constexpr std::size_t max_size = 400;
    if (text.size() > max_size) text.replace(max_size - 3, std::string::npos, "...");
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }
};

/// The first frame of every pose, to which a renderer subscribes.
constexpr const char* pose_topic = "Pose";
/// The default ports of the published clients and renderers.
constexpr int pose_port = 10253;
constexpr int image_port = 10254;  ///< port of the images
/// The published limit of queued messages per socket.
constexpr int high_water_mark = 6;
/// A renderer ends its session after this time without a pose.
constexpr double renderer_memory = 2.0;  // s

constexpr int max_image_side = 16384;             ///< px, the usual limit of a GPU
constexpr std::size_t max_cameras = 256;          ///< in a pose or an answer
constexpr std::size_t max_objects = 10000;        ///< in a pose
constexpr std::size_t max_json_bytes = 4u << 20;  ///< of a pose or of an answer's first frame
constexpr int max_json_depth = 16;                ///< nested arrays and objects

/// A non-owning view of bytes.
struct FrameView {
  const void* data = nullptr;  ///< the first byte
  std::size_t size = 0;        ///< number of bytes
};

/// The kind of a camera's image; the values are those of the wire.
enum class CameraType : int {
  rgb = -1,
  instance = 0,
  semantic = 1,
  depth_compressed = 2,
  depth = 3,
  normals = 4,
  grey = 5,
  optical_flow = 6
};
constexpr int first_camera_type = -1;  ///< the smallest valid number of a camera type
constexpr int last_camera_type = 6;    ///< the largest valid number of a camera type

/// A camera of a pose. Its axes are x along the optical axis, y left, z up.
struct RenderCamera {
  std::string id;                        ///< ASCII, unique among cameras and objects
  CameraType type = CameraType::rgb;     ///< published renderers up to v2 always send RGB
  Vec3<double> position_W{};             ///< m
  Quat<double> attitude_WC{1, 0, 0, 0};  ///< unit
  bool collision_check = false;          ///< whether it contributes to the collision flag
  bool landmarks = false;                ///< ignored by v2, which returns the first camera's
  bool render = true;      ///< `shouldRenderThisFrame`; false: no image in this answer (v3)
  double motion_blur = 0;  ///< 0 to 1, fraction of the frame with an open shutter
  /// Set by decode_pose: whether the camera has the key `outputShaderType` (v3), which image_layout
  /// depends on. encode_pose always writes it.
  bool has_shader_type = true;
};

/// An object of a pose, moved by the client.
struct RenderObject {
  std::string id;                        ///< ASCII, unique among cameras and objects
  std::string prefab;                    ///< ASCII, a prefab of the renderer
  Vec3<double> position_W{};             ///< m
  Quat<double> attitude_WO{1, 0, 0, 0};  ///< unit
  Vec3<double> size{1, 1, 1};            ///< m, along the body's x, y, z; ignored by v2
};

/// A client's request: one image from each camera, at one time.
struct PoseMessage {
  std::int64_t ntime = 0;             ///< identifies the pose in the answer; ns by convention
  std::string scene;                  ///< ASCII; empty: the renderer's default
  std::string perturbation_file;      ///< a path on the renderer's machine; empty: none
  int width = 1024;                   ///< px, of all cameras
  int height = 768;                   ///< px
  double vertical_fov_deg = 70;       ///< deg, of all cameras
  double depth_scale = 0.2;           ///< v2 only returns it
  std::vector<RenderCamera> cameras;  ///< at least one
  std::vector<RenderObject> objects;  ///< bodies that the client moves
};

/// One image of an answer. The bytes are those of a frame of the message: rows from bottom to
/// top, without padding, channels interleaved.
struct ImageView {
  std::string camera;       ///< the ID of its camera
  int index = -1;           ///< of the camera in the pose; -1: not specified
  int channels = 3;         ///< as in the message
  int bytes_per_pixel = 3;  ///< from the size: 1 (grey), 2 (little-endian 16 bits) or 3 (R, G, B)
  FrameView bytes;          ///< the pixels
};

/// A gate's marker in the image of the first camera.
struct Landmark {
  std::string id;  ///< `<gate>_<marker>`
  /// u and v from the lower left corner of the image, 0 to 1, and the depth along the axis, m.
  Vec3<double> position{};
};

/// A renderer's answer to a pose.
struct Answer {
  std::int64_t ntime = 0;           ///< of the pose
  int width = 0;                    ///< px
  int height = 0;                   ///< px
  double depth_scale = 0;           ///< of the pose; 0: not specified
  std::vector<ImageView> images;    ///< in the order of the frames
  bool collision = false;           ///< of any camera with collision_check
  std::vector<Landmark> landmarks;  ///< in arbitrary order
  std::optional<double> range;      ///< m; 21 without a hit
  double latency = 0;               ///< s since the pose was first sent; set by a Session

  /// Published renderers return a range of exactly 0 if they fail partway through a pose, for
  /// example at an unknown prefab; objects may then be at their previous poses.
  bool incomplete() const { return range && *range == 0.0; }
};

/// Whether a landmark can be in an image: u and v strictly between 0 and 1, a finite depth > 0.
inline bool in_image(const Landmark& landmark) {
  const auto& p = landmark.position;
  return p.x > 0.0 && p.x < 1.0 && p.y > 0.0 && p.y < 1.0 && p.z > 0.0 && std::isfinite(p.z);
}

namespace detail {

template <class Value>
[[noreturn]] void refuse_field(const std::string& field, const Value& value, const char* expected) {
  std::ostringstream text;
  text.precision(9);
  text << field << " = " << value << ": expected " << expected;
  throw std::invalid_argument(text.str());
}

inline bool is_ascii(const std::string& text) {
  for (const char c : text) {
    if (c < ' ' || c > '~') return false;
  }
  return true;
}

inline void check_text(const std::string& field, const std::string& text) {
  if (!is_ascii(text)) {
    refuse_field(field, '"' + text + '"',
                 "printable ASCII; a renderer replaces other characters by ?");
  }
}

inline void check_number(const std::string& field, double value) {
  if (!std::isfinite(value)) refuse_field(field, value, "a finite number");
}

inline std::string to_text(const Vec3<double>& v) {
  std::ostringstream text;
  text.precision(9);
  text << "(" << v.x << ", " << v.y << ", " << v.z << ")";
  return text.str();
}

/// Composes the name of a part only for an error.
template <class Part>
void check_placed(const char* kind, std::size_t i, const Part& part, const Quat<double>& attitude) {
  const auto at = [&](const char* field) {
    return std::string(kind) + "[" + std::to_string(i) + "]." + field;
  };
  if (part.id.empty() || !is_ascii(part.id)) {
    refuse_field(at("id"), '"' + part.id + '"', "a name in printable ASCII");
  }
  const auto& p = part.position_W;
  if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z)) {
    refuse_field(at("position"), to_text(p), "3 finite numbers [m]");
  }
  if (!(std::abs(squared_norm(attitude) - 1.0) < 1e-3)) {
    refuse_field(at("attitude") + ", squared norm", squared_norm(attitude), "a unit quaternion");
  }
}

inline void check_cameras(const PoseMessage& pose) {
  if (pose.cameras.empty() || pose.cameras.size() > max_cameras) {
    refuse_field("number of cameras", pose.cameras.size(), "1 to 256");
  }
  for (std::size_t i = 0; i < pose.cameras.size(); ++i) {
    const auto& camera = pose.cameras[i];
    check_placed("cameras", i, camera, camera.attitude_WC);
    const auto type = static_cast<int>(camera.type);
    if (type < first_camera_type || type > last_camera_type) {
      refuse_field("cameras[" + std::to_string(i) + "].type", type, "a camera type, -1 to 6");
    }
    if (!(camera.motion_blur >= 0.0 && camera.motion_blur <= 1.0)) {
      refuse_field("cameras[" + std::to_string(i) + "].motion_blur", camera.motion_blur, "0 to 1");
    }
  }
}

inline void check_objects(const PoseMessage& pose) {
  if (pose.objects.size() > max_objects) {
    refuse_field("number of objects", pose.objects.size(), "at most 10000");
  }
  for (std::size_t i = 0; i < pose.objects.size(); ++i) {
    const auto& object = pose.objects[i];
    check_placed("objects", i, object, object.attitude_WO);
    const auto& s = object.size;
    if (!is_ascii(object.prefab))
      check_text("objects[" + std::to_string(i) + "].prefab", object.prefab);
    if (!(s.x > 0 && s.y > 0 && s.z > 0) || !std::isfinite(s.x + s.y + s.z)) {
      refuse_field("objects[" + std::to_string(i) + "].size", to_text(s), "3 finite numbers > 0");
    }
  }
}

inline void check_size(int width, int height) {
  if (width < 1 || width > max_image_side) refuse_field("width", width, "1 to 16384 px");
  if (height < 1 || height > max_image_side) refuse_field("height", height, "1 to 16384 px");
}

constexpr const char* landmark_range = "u and v between 0 and 1, exclusive, and a finite depth > 0";

}  // namespace detail

/// Checks a pose for values at which a renderer would drop it, execute it incompletely or stop
/// answering.
/// @throws std::invalid_argument with the field, its value and the expected value.
inline void validate(const PoseMessage& pose) {
  using detail::refuse_field;
  if (pose.ntime < 0) refuse_field("ntime", pose.ntime, "at least 0");
  detail::check_text("scene", pose.scene);
  detail::check_text("perturbation_file", pose.perturbation_file);
  detail::check_size(pose.width, pose.height);
  if (!(pose.vertical_fov_deg > 0.0 && pose.vertical_fov_deg < 180.0)) {
    refuse_field("vertical_fov_deg", pose.vertical_fov_deg, "between 0 and 180 degrees");
  }
  detail::check_number("depth_scale", pose.depth_scale);
  detail::check_cameras(pose);
  detail::check_objects(pose);
  std::set<std::string> ids;  // cameras and objects share one table in a renderer
  const auto add = [&](const std::string& id) {
    if (!ids.insert(id).second) {
      refuse_field("id", '"' + id + '"', "a unique id among cameras and objects");
    }
  };
  for (const auto& camera : pose.cameras) add(camera.id);
  for (const auto& object : pose.objects) add(object.id);
}

/// Checks an answer for values that decode_answer rejects.
/// @throws std::invalid_argument with the field, its value and the expected value.
inline void validate(const Answer& answer) {
  using detail::refuse_field;
  detail::check_size(answer.width, answer.height);
  detail::check_number("depth_scale", answer.depth_scale);
  const double range = answer.range.value_or(0.0);
  if (!(range >= 0.0) || !std::isfinite(range)) {
    refuse_field("range", range, "a finite number, at least 0 [m]");
  }
  if (answer.images.size() > max_cameras) {
    refuse_field("number of images", answer.images.size(), "at most 256");
  }
  std::set<std::string> cameras;
  for (const auto& image : answer.images) {
    detail::check_text("images, camera", image.camera);
    if (!cameras.insert(image.camera).second) {
      refuse_field("images, camera", '"' + image.camera + '"', "one image of each camera");
    }
    if (image.index >= static_cast<int>(max_cameras)) {
      refuse_field("images, index", image.index, "at most 255");
    }
  }
  for (const auto& landmark : answer.landmarks) {
    detail::check_text("landmarks, id", landmark.id);
    if (in_image(landmark)) continue;
    refuse_field("landmarks, position", detail::to_text(landmark.position), detail::landmark_range);
  }
}

}  // namespace propwash::render
