// Moves a camera along a circle in a renderer's scene: sends sixty poses and prints the answers.
//
// Usage: render_client [pose_port image_port [timeout in s]]. Start a renderer first, for example
// `python -m propwash render --scene alphapilot`, or the published one.
#include <cmath>
#include <cstdio>
#include <exception>
#include <propwash/render/zmq_client.hpp>
#include <string>

int main(int argc, char** argv) try {
  namespace render = propwash::render;
  render::ZmqClientOptions options;
  if (argc > 2) options.pose_port = std::stoi(argv[1]);
  if (argc > 2) options.image_port = std::stoi(argv[2]);
  const double timeout = argc > 3 ? std::stod(argv[3]) : 20.0;  // a scene takes time to load
  render::ZmqClient client(options);

  render::PoseMessage pose;
  pose.scene = "Abandoned_Factory_Morning";
  render::RenderCamera camera;
  camera.id = "camera";
  camera.collision_check = true;
  pose.cameras.push_back(camera);

  for (int i = 0; i < 60; ++i) {
    const double angle = 0.1 * i;  // rad
    pose.ntime = 16'666'667LL * (i + 1);
    pose.cameras[0].position_W = {3 * std::cos(angle), 3 * std::sin(angle), 2};
    pose.cameras[0].attitude_WC = propwash::from_axis_angle(propwash::Vec3<double>{0, 0, 1}, angle);
    const auto received = client.request(pose, timeout);
    const auto& answer = received.answer;
    std::printf("%2d: %d x %d px, %zu bytes, range %.2f m, %zu landmarks%s, after %.1f ms\n", i,
                answer.width, answer.height, answer.images[0].bytes.size,
                answer.range.value_or(NAN), answer.landmarks.size(),
                answer.collision ? ", collision" : "", 1e3 * answer.latency);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "render_client: %s\n", error.what());
  return 1;
}
