#pragma once
/// @file
/// A render session over ZeroMQ: one client, one renderer, one pair of ports. It needs cppzmq and
/// libzmq, which the CMake target propwash::render provides.

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "propwash/render/session.hpp"

namespace propwash::render {

/// Addresses and limits of a client.
struct ZmqClientOptions {
  /// The address of the network interface to bind. The protocol has no authentication: any
  /// interface other than loopback accepts connections from any host that can reach it.
  std::string address = "127.0.0.1";
  int pose_port = render::pose_port;              ///< 0: any free port
  int image_port = render::image_port;            ///< 0: any free port
  int high_water_mark = render::high_water_mark;  ///< queued messages per socket, at most
  SessionPolicy policy;                           ///< when poses are sent and repeated
};

/// No answer in time; the message has the ports and possible causes.
class RendererTimeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An answer and the frames that its images point to. Move-only.
struct ReceivedAnswer {
  Answer answer;                       ///< its images are views of `frames`
  std::vector<zmq::message_t> frames;  ///< the memory of the answer
};

/// Binds both ports, sends poses and receives answers, on the caller's thread. Call `poll` at least
/// twice a second, or the renderer ends the session.
class ZmqClient {
 public:
  /// @throws std::runtime_error for a port that cannot be bound, std::invalid_argument for a policy
  /// out of range.
  explicit ZmqClient(ZmqClientOptions options = {})
      : options_(std::move(options)), session_(options_.policy) {
    // XPUB is PUB on the wire, and reports when a renderer connects
    poses_.set(zmq::sockopt::xpub_verboser, 1);
    for (auto* socket : {&poses_, &images_}) {
      socket->set(zmq::sockopt::linger, 0);
      socket->set(zmq::sockopt::sndhwm, options_.high_water_mark);
      socket->set(zmq::sockopt::rcvhwm, options_.high_water_mark);
    }
    images_.set(zmq::sockopt::subscribe, "");
    bind(poses_, options_.pose_port, "poses (pose_port)");
    bind(images_, options_.image_port, "images (image_port)");
  }

  /// Requests an image without waiting. Throws as Session::submit does.
  void submit(const PoseMessage& pose) { send(session_.submit(pose, now())); }

  /// Sends what is due and returns the next answer, or nothing after `timeout` s.
  /// @throws ProtocolError for an invalid answer, which is dropped; the session continues.
  std::optional<ReceivedAnswer> poll(double timeout = 0.0) {
    const double end = now() + timeout;
    for (;;) {
      receive_subscriptions();
      send(session_.poll(now()));
      if (auto received = receive()) {
        send(session_.poll(now()));
        return received;
      }
      const double left = end - now();
      if (left <= 0.0) return std::nullopt;
      wait(std::min(left, session_.next_time() - now()));
    }
  }

  /// Requests an image and waits for it, `timeout` s at most.
  /// @throws RendererTimeout without an answer, ProtocolError as `poll` does.
  ReceivedAnswer request(const PoseMessage& pose, double timeout = 5.0) {
    submit(pose);
    const double end = now() + timeout;
    do {
      auto received = poll(end - now());
      if (received && received->answer.ntime >= pose.ntime) return std::move(*received);
    } while (now() < end);
    throw RendererTimeout(timeout_message(timeout));
  }

  /// Ends the session, so that the next pose may have other cameras, sizes or another scene. That
  /// pose is sent after policy.silence, when the renderer has reset.
  void restart() { session_.restart(now()); }

  /// The session, with its state and counts.
  const Session& session() const { return session_; }
  /// The options in use, with the actual ports in place of 0.
  const ZmqClientOptions& options() const { return options_; }

  /// The message of a RendererTimeout after `seconds`.
  std::string timeout_message(double seconds) const {
    const auto& counts = session_.counts();
    const auto pose = std::to_string(options_.pose_port);
    const auto image = std::to_string(options_.image_port);
    std::ostringstream text;
    text << "no image within " << seconds << " s from a renderer at " << options_.address
         << ", ports " << pose << " (poses) and " << image << " (images): " << counts.sent
         << " poses sent, " << counts.received << " answers received, " << counts.faulty
         << " faulty. Is a renderer running, was it started with -input-port " << pose
         << " -output-port " << image
         << " (and -client-ip, on another machine), and does it know the scene and the prefabs?";
    return text.str();
  }

 private:
  static double now() {
    using Seconds = std::chrono::duration<double>;
    return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  void bind(zmq::socket_t& socket, int& port, const char* use) {
    const auto prefix = "tcp://" + options_.address + ":";
    try {
      socket.bind(prefix + (port == 0 ? "*" : std::to_string(port)));
    } catch (const zmq::error_t& error) {
      throw std::runtime_error("cannot bind " + prefix + std::to_string(port) + " for " + use +
                               ": " + error.what() +
                               ". Another client may use the port: end it, or choose other ports "
                               "here and at the renderer");
    }
    const auto bound = socket.get(zmq::sockopt::last_endpoint);
    port = std::stoi(bound.substr(bound.rfind(':') + 1));
  }

  /// Does not block: the session repeats a pose that a full socket drops.
  void send(const Session::Messages& messages) {
    for (const auto& message : messages) {
      const auto topic = zmq::str_buffer("Pose");
      const auto more = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
      if (poses_.send(topic, more)) {
        poses_.send(zmq::buffer(message), zmq::send_flags::dontwait);
      }
    }
  }

  void receive_subscriptions() {
    zmq::message_t event;
    while (poses_.recv(event, zmq::recv_flags::dontwait)) {
      const bool subscribed = event.size() > 0 && *event.data<char>() == 1;
      if (subscribed) session_.renderer_connected(now());
    }
  }

  /// Receives until the session accepts an answer or none is left.
  std::optional<ReceivedAnswer> receive() {
    for (;;) {
      ReceivedAnswer received;
      std::vector<FrameView> views;
      bool more = true;
      while (more) {
        zmq::message_t frame;
        if (!images_.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
        more = frame.more();
        // one frame over the limit is enough to detect too many
        if (received.frames.size() < max_cameras + 2) received.frames.push_back(std::move(frame));
      }
      views.reserve(received.frames.size());
      for (const auto& frame : received.frames) views.push_back({frame.data(), frame.size()});
      if (auto answer = session_.receive(views.data(), views.size(), now())) {
        received.answer = std::move(*answer);
        return received;
      }
    }
  }

  void wait(double seconds) {
    zmq::pollitem_t items[] = {{images_.handle(), 0, ZMQ_POLLIN, 0},
                               {poses_.handle(), 0, ZMQ_POLLIN, 0}};
    // the session may have nothing to do, so `seconds` may be infinite
    const auto time =
        std::chrono::duration<double, std::milli>(std::clamp(seconds, 0.0, 60.0) * 1e3);
    zmq::poll(items, 2, std::chrono::ceil<std::chrono::milliseconds>(time));
  }

  ZmqClientOptions options_;
  Session session_;
  zmq::context_t context_;
  zmq::socket_t poses_{context_, zmq::socket_type::xpub};
  zmq::socket_t images_{context_, zmq::socket_type::sub};
};

}  // namespace propwash::render
