/// @file
/// The client over ZeroMQ with a fake renderer on another thread, on free ports.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "catch.hpp"
#include "fake_renderer.hpp"
#include "propwash/render/zmq_client.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

render::ZmqClientOptions any_ports() {
  render::ZmqClientOptions options;
  options.pose_port = 0;
  options.image_port = 0;
  return options;
}

render::PoseMessage make_pose(std::int64_t ntime) {
  render::PoseMessage pose;
  pose.ntime = ntime;
  pose.scene = "room";
  pose.width = 64;
  pose.height = 48;
  pose.cameras.emplace_back();
  pose.cameras.back().id = "camera";
  return pose;
}

/// Connects as a published renderer does and runs until it is destroyed.
class RendererThread {
 public:
  using Change = std::function<void(Frames&)>;

  explicit RendererThread(const render::ZmqClientOptions& options, Change change = {})
      : change_(std::move(change)), thread_([this, options] { run(options); }) {}
  ~RendererThread() {
    stop_ = true;
    thread_.join();
  }
  RendererThread(const RendererThread&) = delete;
  RendererThread& operator=(const RendererThread&) = delete;

 private:
  void run(const render::ZmqClientOptions& options) {
    zmq::context_t context;
    zmq::socket_t poses(context, zmq::socket_type::sub);
    zmq::socket_t images(context, zmq::socket_type::pub);
    images.set(zmq::sockopt::linger, 0);
    poses.set(zmq::sockopt::subscribe, render::pose_topic);
    poses.connect("tcp://127.0.0.1:" + std::to_string(options.pose_port));
    images.connect("tcp://127.0.0.1:" + std::to_string(options.image_port));
    FakeRenderer renderer;
    renderer.frame_time = 0.002;
    const auto start = std::chrono::steady_clock::now();
    while (!stop_) {
      zmq::message_t topic;
      zmq::message_t pose;
      if (poses.recv(topic, zmq::recv_flags::dontwait) &&
          poses.recv(pose, zmq::recv_flags::dontwait)) {
        renderer.receive(pose.to_string(), seconds_since(start));
      }
      if (auto frames = renderer.step(seconds_since(start))) {
        if (change_) change_(*frames);
        for (std::size_t i = 0; i < frames->size(); ++i) {
          const bool last = i + 1 == frames->size();
          images.send(zmq::buffer((*frames)[i]),
                      last ? zmq::send_flags::none : zmq::send_flags::sndmore);
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Change change_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("sixty poses are answered over real sockets, in order and with their images") {
  render::ZmqClient client(any_ports());
  const RendererThread renderer(client.options());
  for (int i = 1; i <= 60; ++i) {
    const auto received = client.request(make_pose(i));
    REQUIRE(received.answer.ntime == i);
    REQUIRE(received.answer.width == 64);
    const auto& bytes = received.answer.images.at(0).bytes;
    REQUIRE(bytes.size == 3u * 64u * 48u);
    REQUIRE(bytes.data == received.frames.at(1).data());
    REQUIRE(*static_cast<const char*>(bytes.data) == static_cast<char>(i));
  }
  CHECK(client.session().counts().faulty == 0);
  CHECK(client.session().counts().starts <= 2);  // one more, if it noticed the connection
}

TEST_CASE("a grey camera gives the same bytes for both layouts") {
  for (const bool narrow : {false, true}) {
    render::ZmqClient client(any_ports());
    const RendererThread renderer(client.options(), [&](Frames& frames) {
      if (narrow) frames[1].resize(frames[1].size() / 3);
    });
    auto pose = make_pose(5);
    pose.cameras[0].type = render::CameraType::grey;
    const auto received = client.request(pose);
    const auto& image = received.answer.images.at(0);
    CHECK(image.bytes_per_pixel == (narrow ? 1 : 3));
    CHECK(render::grey_bytes(image) == std::vector<std::uint8_t>(64 * 48, 5));
  }
}

TEST_CASE("a renderer that is restarted is found within 2 s") {
  render::ZmqClient client(any_ports());
  {
    const RendererThread renderer(client.options());
    for (int i = 1; i <= 5; ++i) client.request(make_pose(i));
  }
  const auto start = std::chrono::steady_clock::now();
  const RendererThread again(client.options());
  CHECK(client.request(make_pose(6)).answer.ntime == 6);
  CHECK(seconds_since(start) < 2.0);
}

TEST_CASE("an invalid answer is reported and the next valid one is accepted") {
  render::ZmqClient client(any_ports());
  std::atomic<int> answers{0};
  const RendererThread renderer(client.options(), [&](Frames& frames) {
    if (++answers <= 2) frames.pop_back();
  });
  CHECK_THROWS_AS(client.request(make_pose(1)), render::ProtocolError);
  std::int64_t accepted = 0;
  int faults = 1;
  while (faults < 5 && accepted == 0) {
    try {
      if (const auto received = client.poll(5.0)) accepted = received->answer.ntime;
    } catch (const render::ProtocolError&) {
      ++faults;
    }
  }
  CHECK(accepted == 1);
  CHECK(faults == 2);
  CHECK(client.session().counts().faulty == 2);
}

TEST_CASE("without a renderer the timeout names the ports and possible causes") {
  render::ZmqClient client(any_ports());
  const auto start = std::chrono::steady_clock::now();
  std::string message;
  try {
    client.request(make_pose(1), 0.3);
  } catch (const render::RendererTimeout& error) {
    message = error.what();
  }
  CHECK(seconds_since(start) < 2.0);
  CHECK(message.find(std::to_string(client.options().pose_port)) != std::string::npos);
  CHECK(message.find("-input-port") != std::string::npos);
  CHECK(client.session().counts().sent > 0);
}

TEST_CASE("a port in use is named, with a remedy") {
  const render::ZmqClient client(any_ports());
  auto options = any_ports();
  options.image_port = client.options().image_port;
  std::string message;
  try {
    const render::ZmqClient other(options);
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message.find(std::to_string(options.image_port)) != std::string::npos);
  CHECK(message.find("choose other ports") != std::string::npos);
}
