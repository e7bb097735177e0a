#pragma once
/// @file
/// What goes over the wire to a FlightGoggles renderer and back, in propwash's frames and units.
/// Plain data; encode.hpp and decode.hpp write and read it, session.hpp says what to send when.

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

/// A message that is not as the protocol has it; the text says which part, what was expected and
/// what came. What came may be anything, so the text is cut and made printable.
class ProtocolError : public std::runtime_error {
 public:
  explicit ProtocolError(const std::string& text) : std::runtime_error(printable(text)) {}

 private:
  static std::string printable(std::string text) {
    constexpr std::size_t longest = 400;
    if (text.size() > longest) text.replace(longest - 3, std::string::npos, "...");
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }
};

/// The frame before every pose, to which a renderer subscribes.
constexpr const char* pose_topic = "Pose";
/// The ports of the published clients and renderers.
constexpr int pose_port = 10253;
constexpr int image_port = 10254;  ///< TCP port of the images
/// The published messages that wait in a socket, at most.
constexpr int high_water_mark = 6;
/// A renderer that hears no pose for so long forgets its session.
constexpr double renderer_memory = 2.0;  // s

constexpr int largest_side = 16384;             ///< px, a graphics processor's usual limit
constexpr std::size_t most_cameras = 256;       ///< in a pose or an answer
constexpr std::size_t most_objects = 10000;     ///< in a pose
constexpr std::size_t longest_json = 4u << 20;  ///< bytes of a pose or of an answer's first frame
constexpr int deepest_json = 16;                ///< nested arrays and objects

/// Bytes that belong to somebody else.
struct FrameView {
  const void* data = nullptr;  ///< the first byte
  std::size_t size = 0;        ///< number of bytes
};

/// What a camera shows, by its number on the wire.
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

/// A camera of a pose. x of the camera looks into the picture, y to its left, z up.
struct RenderCamera {
  std::string id;                        ///< ASCII, unique among cameras and objects
  CameraType type = CameraType::rgb;     ///< published renderers up to v2 show RGB always
  Vec3<double> position_W{};             ///< m
  Quat<double> attitude_WC{1, 0, 0, 0};  ///< unit
  bool collision_check = false;          ///< whether it counts in the collision flag
  bool landmarks = false;  ///< not read by v2: landmarks are those of the first camera
  bool render = true;      ///< `shouldRenderThisFrame`; false: no picture in this answer (v3)
  double motion_blur = 0;  ///< 0 to 1, share of the exposure with an open shutter
  /// Filled in by decode_pose: whether the camera has `outputShaderType` (v3). The layout of its
  /// picture depends on it, see image_layout; encode_pose writes that key always.
  bool has_shader_type = true;
};

/// A body of a pose that the client moves.
struct RenderObject {
  std::string id;                        ///< ASCII, unique among cameras and objects
  std::string prefab;                    ///< ASCII, a body that the renderer knows
  Vec3<double> position_W{};             ///< m
  Quat<double> attitude_WO{1, 0, 0, 0};  ///< unit
  Vec3<double> size{1, 1, 1};            ///< along the body's x, y, z; not read by v2
};

/// What a client asks for: one picture from each camera of the world at one time.
struct PoseMessage {
  std::int64_t ntime = 0;             ///< names the pose in the answer; ns by convention
  std::string scene;                  ///< ASCII; empty: the renderer's default
  std::string perturbation_file;      ///< a path on the renderer's machine; empty: none
  int width = 1024;                   ///< px, of all cameras
  int height = 768;                   ///< px
  double vertical_fov_deg = 70;       ///< deg, of all cameras
  double depth_scale = 0.2;           ///< v2 returns it and does nothing with it
  std::vector<RenderCamera> cameras;  ///< cameras of the vehicle
  std::vector<RenderObject> objects;  ///< objects other than the vehicle
};

/// One picture of an answer. The bytes belong to the frames of the message: rows from the bottom of
/// the picture up, without padding, channels interleaved.
struct ImageView {
  std::string camera;       ///< the ID of its camera
  int index = -1;           ///< of the camera in the pose; -1: the renderer did not say
  int channels = 3;         ///< as announced
  int bytes_per_pixel = 3;  ///< as found: 1 (grey), 2 (little-endian 16 bits) or 3 (R, G, B)
  FrameView bytes;          ///< the pixels, row by row
};

/// A gate's marker in the picture of the first camera.
struct Landmark {
  std::string id;  ///< `<gate>_<marker>`
  /// u, v from the lower left of the picture, 0 to 1, and the distance along the axis in m.
  Vec3<double> position{};
};

/// What a renderer sends for a pose.
struct Answer {
  std::int64_t ntime = 0;           ///< of the pose
  int width = 0;                    ///< px
  int height = 0;                   ///< px
  double depth_scale = 0;           ///< of the pose; 0 where the renderer did not say
  std::vector<ImageView> images;    ///< in the order of the frames
  bool collision = false;           ///< of any camera that checks
  std::vector<Landmark> landmarks;  ///< in no order
  std::optional<double> range;      ///< m; 21 where nothing is met
  double latency = 0;               ///< s since the pose was first sent; a Session fills it in

  /// The published renderers give a range of exactly 0 with a pose that they could not carry out to
  /// its end, as with a prefab that they do not know: bodies may stand where they were before.
  bool half_done() const { return range && *range == 0.0; }
};

/// Whether a landmark can be in a picture: u and v strictly between 0 and 1, a finite depth > 0.
inline bool in_picture(const Landmark& landmark) {
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
    refuse_field(field, '"' + text + '"', "printable ASCII: a renderer turns other letters into ?");
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

/// The name of a part is made only where it is complained of.
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
  if (pose.cameras.empty() || pose.cameras.size() > most_cameras) {
    refuse_field("cameras, their number", pose.cameras.size(), "1 to 256");
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
  if (pose.objects.size() > most_objects) {
    refuse_field("objects, their number", pose.objects.size(), "at most 10000");
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
  if (width < 1 || width > largest_side) refuse_field("width", width, "1 to 16384 px");
  if (height < 1 || height > largest_side) refuse_field("height", height, "1 to 16384 px");
}

constexpr const char* landmark_range = "u and v between 0 and 1, exclusive, and a finite depth > 0";

}  // namespace detail

/// Throws std::invalid_argument that names the field, the value and what is allowed, where a
/// renderer would drop the pose, carry it out by half or never answer again.
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
  std::set<std::string> ids;  // a renderer has one table for both
  const auto add = [&](const std::string& id) {
    if (!ids.insert(id).second) {
      refuse_field("id", '"' + id + '"', "that no two cameras or objects have the same");
    }
  };
  for (const auto& camera : pose.cameras) add(camera.id);
  for (const auto& object : pose.objects) add(object.id);
}

/// Throws std::invalid_argument that names the field, the value and what is allowed, where
/// decode_answer would refuse one of the values.
inline void validate(const Answer& answer) {
  using detail::refuse_field;
  detail::check_size(answer.width, answer.height);
  detail::check_number("depth_scale", answer.depth_scale);
  const double range = answer.range.value_or(0.0);
  if (!(range >= 0.0) || !std::isfinite(range)) {
    refuse_field("range", range, "a finite number, at least 0 [m]");
  }
  if (answer.images.size() > most_cameras) {
    refuse_field("images, their number", answer.images.size(), "at most 256");
  }
  std::set<std::string> cameras;
  for (const auto& image : answer.images) {
    detail::check_text("images, camera", image.camera);
    if (!cameras.insert(image.camera).second) {
      refuse_field("images, camera", '"' + image.camera + '"', "one picture of each camera");
    }
    if (image.index >= static_cast<int>(most_cameras)) {
      refuse_field("images, index", image.index, "at most 255");
    }
  }
  for (const auto& landmark : answer.landmarks) {
    detail::check_text("landmarks, id", landmark.id);
    if (in_picture(landmark)) continue;
    refuse_field("landmarks, position", detail::to_text(landmark.position), detail::landmark_range);
  }
}

}  // namespace propwash::render
