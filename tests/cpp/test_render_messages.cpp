#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/render/decode.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/frames.hpp"
#include "render_messages.hpp"

namespace test_render_messages {

namespace {

using propwash::from_axis_angle;
using propwash::Quat;
using propwash::rotate;
using propwash::Vec3;
using render::ProtocolError;

constexpr double pi = 3.14159265358979323846;

Json encoded(const render::PoseMessage& pose) { return Json::parse(render::encode_pose(pose)); }

render::PoseMessage read(const std::string& text) {
  return render::decode_pose({text.data(), text.size()});
}
render::PoseMessage read(const Json& json) { return read(json.dump()); }

/// The axes of a camera on the wire as columns: x right, y up, z forward, in Unity's left-handed
/// world, from its quaternion.
Vec3<double> unity_forward(const Json& rotation) {
  const double x = rotation[0];
  const double y = rotation[1];
  const double z = rotation[2];
  const double w = rotation[3];
  return {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)};
}

bool same(const Vec3<double>& a, const Vec3<double>& b) { return norm(a - b) < 1e-12; }
bool same_attitude(const Quat<double>& a, const Quat<double>& b) {
  return std::abs(std::abs(a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z) - 1) < 1e-12;
}

}  // namespace

TEST_CASE("a pose has exactly the keys of both protocol versions, with the protocol's types") {
  const auto json = encoded(stereo_pose());
  const std::vector<std::string> keys = {
      "sceneIsInternal", "sceneFilename", "obstaclePerturbationFile",
      "ntime",           "camWidth",      "camHeight",
      "camFOV",          "camDepthScale", "cameras",
      "objects"};
  CHECK(json.size() == keys.size());
  for (const auto& key : keys) CHECK(json.contains(key));
  CHECK(json["sceneIsInternal"] == true);
  CHECK(json["ntime"].is_number_integer());
  CHECK(json["ntime"] == 1234567890123456789);
  CHECK(json["camWidth"].is_number_integer());
  CHECK(json["camHeight"].is_number_integer());

  const auto& camera = json["cameras"][1];
  const std::vector<std::string> camera_keys = {"ID",
                                                "position",
                                                "rotation",
                                                "hasCollisionCheck",
                                                "channels",
                                                "isDepth",
                                                "doesLandmarkVisCheck",
                                                "outputIndex",
                                                "outputShaderType",
                                                "motionBlurPercent",
                                                "shouldRenderThisFrame"};
  CHECK(camera.size() == camera_keys.size());
  for (const auto& key : camera_keys) CHECK(camera.contains(key));
  CHECK(camera["outputIndex"] == 1);
  CHECK(camera["outputShaderType"] == 3);
  CHECK(camera["isDepth"] == true);
  CHECK(camera["hasCollisionCheck"] == true);
  CHECK(camera["shouldRenderThisFrame"] == true);
  CHECK(camera["position"].size() == 3);
  CHECK(camera["rotation"].size() == 4);

  const auto& object = json["objects"][0];
  CHECK(object.size() == 5);
  CHECK(object["ID"] == "Gate1");
  CHECK(object["prefabID"] == "gate");
  for (const char* key : {"position", "rotation", "size"}) CHECK(object.contains(key));
}

TEST_CASE("positions and attitudes are converted to Unity by the protocol's table") {
  const double north = 3;
  const double west = 5;
  const double up = 7;
  CHECK(render::unity_position({north, west, up}) == render::UnityVector{-west, up, north});
  const Quat<double> q{0.1, 0.2, 0.3, 0.4};  // (w, a, b, c) -> [b, -c, -a, w]
  CHECK(render::unity_rotation(q) == render::UnityRotation{0.3, -0.4, -0.2, 0.1});

  // the table in words: right, nose up, right wing down
  const double angle = 0.3;
  CHECK(render::unity_rotation(rotation_about(0, 0, 1, -angle))[1] > 0);
  CHECK(render::unity_rotation(rotation_about(0, 1, 0, -angle))[0] < 0);
  CHECK(render::unity_rotation(rotation_about(1, 0, 0, angle))[2] < 0);
}

TEST_CASE("a rotated vector is the same on both sides of the wire") {
  for (const auto& q : {rotation_about(0, 0, 1, 0.5), rotation_about(0.6, 0, 0.8, -2.0),
                        rotation_about(0, 1, 0, pi)}) {
    const auto forward_W = rotate(q, Vec3<double>{1, 0, 0});
    const auto wire = render::unity_rotation(q);
    const auto forward_U = unity_forward(Json(wire));
    CHECK(same(render::from_unity_position({forward_U.x, forward_U.y, forward_U.z}), forward_W));
    CHECK(same_attitude(render::from_unity_rotation(wire), q));
  }
  const Vec3<double> p{1, -2, 3};
  CHECK(same(render::from_unity_position(render::unity_position(p)), p));
  CHECK(same(render::from_unity_size(render::unity_size(p)), p));
}

TEST_CASE("a gate straight ahead is on the camera's axis in Unity") {
  auto pose = stereo_pose();
  auto& camera = pose.cameras[0];
  const auto ahead = camera.position_W + rotate(camera.attitude_WC, Vec3<double>{12, 0, 0});
  pose.objects[0].position_W = ahead;
  const auto json = encoded(pose);
  const auto forward = unity_forward(json["cameras"][0]["rotation"]);
  const auto& eye = json["cameras"][0]["position"];
  const auto& gate = json["objects"][0]["position"];
  for (int i = 0; i < 3; ++i) {
    const double offset = gate.at(static_cast<std::size_t>(i)).get<double>() -
                          eye.at(static_cast<std::size_t>(i)).get<double>();
    CHECK(offset == Approx(12 * forward[i]).margin(1e-12));
  }
}

TEST_CASE("landmarks start at the lower left corner, pixels at the upper left") {
  const Vec3<double> left_below{0.25, 0.25, 4.0};
  const auto pixel = render::landmark_pixel(left_below, 640, 480);
  CHECK(pixel.u == 160);
  CHECK(pixel.v == 360);
  CHECK(same(render::landmark_position(pixel, 4.0, 640, 480), left_below));
}

TEST_CASE("an encoded pose is decoded unchanged") {
  const auto pose = stereo_pose();
  const auto back = read(render::encode_pose(pose));
  CHECK(back.ntime == pose.ntime);
  CHECK(back.scene == pose.scene);
  CHECK(back.cameras[1].type == render::CameraType::depth);
  CHECK(back.cameras[1].collision_check);
  CHECK(same(back.cameras[1].position_W, pose.cameras[1].position_W));
  CHECK(same_attitude(back.cameras[0].attitude_WC, pose.cameras[0].attitude_WC));
  CHECK(same(back.objects[0].size, pose.objects[0].size));
  CHECK(render::encode_pose(back) == render::encode_pose(read(render::encode_pose(back))));
  auto quoted = pose;
  quoted.scene = R"(a "quoted\ name")";
  CHECK(read(render::encode_pose(quoted)).scene == quoted.scene);
}

TEST_CASE("a pose that would break a session is rejected with field, value and range") {
  const auto refused = [](const char* words, auto change) {
    auto pose = stereo_pose();
    change(pose);
    CHECK_THROWS_WITH(render::encode_pose(pose), has_text(words));
    CHECK_THROWS_AS(render::encode_pose(pose), std::invalid_argument);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused("number of cameras = 0", [](auto& pose) { pose.cameras.clear(); });
  refused("width = 0", [](auto& pose) { pose.width = 0; });
  refused("vertical_fov_deg = 180", [](auto& pose) { pose.vertical_fov_deg = 180; });
  refused("unique id", [](auto& pose) { pose.objects[0].id = "left"; });
  refused("printable ASCII", [](auto& pose) { pose.cameras[0].id = "caf\xc3\xa9"; });
  refused("printable ASCII", [](auto& pose) { pose.scene = "a\tb"; });
  refused("position", [&](auto& pose) { pose.cameras[1].position_W.z = nan; });
  refused("size", [&](auto& pose) { pose.objects[0].size.x = 0; });
  refused("unit quaternion", [](auto& pose) { pose.objects[0].attitude_WO = {1, 1, 0, 0}; });
  refused("unit quaternion", [&](auto& pose) { pose.cameras[0].attitude_WC = {nan, 0, 0, 0}; });
  refused("motion_blur", [](auto& pose) { pose.cameras[0].motion_blur = 1.5; });
  refused("type = 9",
          [](auto& pose) { pose.cameras[0].type = static_cast<render::CameraType>(9); });
  refused("ntime = -1", [](auto& pose) { pose.ntime = -1; });
}

TEST_CASE("a pose is decoded like by the published renderer") {
  auto json = encoded(stereo_pose());
  json["CAMWIDTH"] = "640";  // in quotes, and with a key in another case
  json.erase("camWidth");
  json["sceneIsInternal"] = 1;
  json["camFOV"] = 70;
  json["somethingElse"] = {1, 2, 3};
  json["cameras"][0]["position"] = {1, 2, 3, 4};
  json["cameras"][0].erase("outputShaderType");
  json["cameras"][1].erase("outputShaderType");
  json["cameras"][0].erase("hasCollisionCheck");
  const auto pose = read(json);
  CHECK(pose.width == 640);
  CHECK(pose.vertical_fov_deg == 70);
  CHECK(same(pose.cameras[0].position_W, {3, -1, 2}));
  CHECK(pose.cameras[0].type == render::CameraType::rgb);
  CHECK(pose.cameras[1].type == render::CameraType::depth);  // v2 says isDepth
  CHECK(!pose.cameras[0].has_shader_type);
}

TEST_CASE("of duplicate keys in a pose the last counts, as in the published renderer") {
  auto text = render::encode_pose(stereo_pose());
  text.insert(1, "\"camWidth\":99,");
  CHECK(read(text).width == 640);
  CHECK(read(text).cameras[0].has_shader_type);
}

TEST_CASE(
    "poses that the published renderer drops or executes incompletely are errors with a field "
    "name") {
  const auto fault = [](const char* words, auto change) {
    auto json = encoded(stereo_pose());
    change(json);
    CHECK_THROWS_WITH(read(json), has_text(words));
    CHECK_THROWS_AS(read(json), ProtocolError);
  };
  for (const char* key : {"sceneIsInternal", "sceneFilename", "ntime", "camWidth", "camHeight",
                          "camFOV", "cameras", "objects"}) {
    fault(key, [&](Json& json) { json.erase(key); });
    fault(key, [&](Json& json) { json[key] = nullptr; });
  }
  fault("ntime", [](Json& json) { json["ntime"] = 1e18; });
  fault("camWidth", [](Json& json) { json["camWidth"] = 16.0; });
  fault("camWidth", [](Json& json) { json["camWidth"] = 1e30; });
  fault("camWidth", [](Json& json) { json["camWidth"] = UINT64_MAX; });
  fault("camFOV", [](Json& json) { json["camFOV"] = "NaN"; });
  fault("position.2.", [](Json& json) { json["cameras"][1]["position"][2] = nullptr; });
  fault("3 numbers", [](Json& json) { json["objects"][0]["position"] = {1, 2}; });
  fault("quaternion", [](Json& json) { json["objects"][0]["rotation"] = {0, 0, 0, 0}; });
  fault("unique id", [](Json& json) { json["objects"][0]["ID"] = "left"; });
  fault("cameras", [](Json& json) { json["cameras"] = Json::array(); });
  fault("cameras", [](Json& json) { json["cameras"] = 7; });
  fault("outputShaderType", [](Json& json) { json["cameras"][0]["outputShaderType"] = 7; });
  for (const char* text : {"", "{", "[]", "nonsense", "{\"ntime\": NaN}", "\xff\xfe{}"}) {
    CHECK_THROWS_AS(read(std::string(text)), ProtocolError);
  }
}

}  // namespace test_render_messages
