#pragma once
/// @file
/// A pose, and answers as text, for the tests of messages.

#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "fake_renderer.hpp"
#include "propwash/math/quat.hpp"

using Json = nlohmann::json;

inline auto has_text(const std::string& words) {
  return Catch::Matchers::Matches(".*" + words + ".*");
}

inline propwash::Quat<double> rotation_about(double x, double y, double z, double angle) {
  return propwash::from_axis_angle(propwash::Vec3<double>{x, y, z}, angle);
}

inline render::PoseMessage stereo_pose() {
  render::PoseMessage pose;
  pose.ntime = 1234567890123456789;  // more digits than a double holds
  pose.scene = "Abandoned_Factory_Morning";
  pose.width = 640;
  pose.height = 480;
  for (const char* id : {"left", "right"}) {
    render::RenderCamera camera;
    camera.id = id;
    camera.position_W = {1.25, id[0] == 'l' ? 0.16 : -0.16, 2.0};
    camera.attitude_WC = rotation_about(0, 0.6, 0.8, 0.7);
    pose.cameras.push_back(camera);
  }
  pose.cameras[1].type = render::CameraType::depth;
  pose.cameras[1].collision_check = true;
  pose.objects.push_back(
      {"Gate1", "gate", {10, -1, 2}, rotation_about(0, 0, 1, -0.4), {0.3, 3, 2}});
  return pose;
}

inline render::Answer read_answer(const Frames& frames) {
  const auto views = views_of(frames);
  return render::decode_answer(views.data(), views.size());
}
