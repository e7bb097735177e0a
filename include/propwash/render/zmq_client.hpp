#pragma once
/// @file
/// A render session over ZeroMQ: one client, one renderer, one pair of ports. Needs cppzmq and
/// libzmq, which the CMake target propwash::render brings; nothing else of propwash does.

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
  /// The interface that is bound, by its address. The wire knows no password: others than loopback
  /// are open to all.
  std::string address = "127.0.0.1";
  int pose_port = render::pose_port;              ///< 0: any that is free
  int image_port = render::image_port;            ///< 0: any that is free
  int high_water_mark = render::high_water_mark;  ///< messages that wait in a socket, at most
  SessionPolicy policy;                           ///< when poses are sent and repeated
};

/// No answer in time; the text says at which ports and what to look at.
class RendererTimeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An answer and the frames that its pictures point into. To be moved, not copied.
struct ReceivedAnswer {
  Answer answer;                       ///< views into `frames`
  std::vector<zmq::message_t> frames;  ///< the memory of the answer
};

/// Binds both ports, sends poses and takes answers, on the caller's thread: `poll` is to be called
/// at least twice a second, or the renderer forgets its session.
class ZmqClient {
 public:
  /// Throws std::runtime_error that names the port and how to mend it where one cannot be bound,
  /// std::invalid_argument for a policy out of its range.
  explicit ZmqClient(ZmqClientOptions options = {})
      : options_(std::move(options)), session_(options_.policy) {
    // XPUB is PUB on the wire, and tells when a renderer has connected
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

  /// Asks for a picture and does not wait. Throws std::invalid_argument, as Session::submit does.
  void submit(const PoseMessage& pose) { send(session_.submit(pose, now())); }

  /// Sends what is due and gives the next answer, for which it waits `timeout` s at most. Throws
  /// ProtocolError for a faulty answer, which is counted and dropped: the next call goes on.
  std::optional<ReceivedAnswer> poll(double timeout = 0.0) {
    const double end = now() + timeout;
    for (;;) {
      hear_renderers();
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

  /// Asks for a picture and waits for it. Throws RendererTimeout, and ProtocolError as `poll` does.
  ReceivedAnswer request(const PoseMessage& pose, double timeout = 5.0) {
    submit(pose);
    const double end = now() + timeout;
    do {
      auto received = poll(end - now());
      if (received && received->answer.ntime >= pose.ntime) return std::move(*received);
    } while (now() < end);
    throw RendererTimeout(complaint(timeout));
  }

  /// Ends the session, so that the next pose may have other cameras, sizes or another scene; it is
  /// sent when the renderer has forgotten the old one, after some 2.5 s.
  void restart() { session_.restart(now()); }

  /// The session: state and counts.
  const Session& session() const { return session_; }
  /// The ports and limits in use, ports that were 0 replaced by those that were found.
  const ZmqClientOptions& options() const { return options_; }

  /// What to tell somebody who has waited for `seconds` in vain.
  std::string complaint(double seconds) const {
    const auto& counts = session_.counts();
    const auto pose = std::to_string(options_.pose_port);
    const auto image = std::to_string(options_.image_port);
    std::ostringstream text;
    text << "no picture within " << seconds << " s from a renderer at " << options_.address
         << ", ports " << pose << " (poses) and " << image << " (images): " << counts.sent
         << " poses sent, " << counts.taken << " answers taken, " << counts.faulty
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

  void bind(zmq::socket_t& socket, int& port, const char* what) {
    const auto place = "tcp://" + options_.address + ":";
    try {
      socket.bind(place + (port == 0 ? "*" : std::to_string(port)));
    } catch (const zmq::error_t& error) {
      throw std::runtime_error("cannot bind " + place + std::to_string(port) + " for " + what +
                               ": " + error.what() +
                               ". Another client may hold the port: end it, or choose other ports "
                               "here and at the renderer");
    }
    const auto bound = socket.get(zmq::sockopt::last_endpoint);
    port = std::stoi(bound.substr(bound.rfind(':') + 1));
  }

  /// Never waits: what a full socket does not take is sent again later.
  void send(const Session::Messages& messages) {
    for (const auto& message : messages) {
      const auto topic = zmq::str_buffer("Pose");
      const auto more = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
      if (poses_.send(topic, more)) {
        poses_.send(zmq::buffer(message), zmq::send_flags::dontwait);
      }
    }
  }

  void hear_renderers() {
    zmq::message_t note;
    while (poses_.recv(note, zmq::recv_flags::dontwait)) {
      const bool subscribed = note.size() > 0 && *note.data<char>() == 1;
      if (subscribed) session_.renderer_connected(now());
    }
  }

  /// The next answer that is worth taking among those that have arrived.
  std::optional<ReceivedAnswer> receive() {
    for (;;) {
      ReceivedAnswer received;
      std::vector<FrameView> views;
      bool more = true;
      while (more) {
        zmq::message_t frame;
        if (!images_.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
        more = frame.more();
        // one frame too many is enough to see that there are too many
        if (received.frames.size() < most_cameras + 2) received.frames.push_back(std::move(frame));
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
    // the session may have nothing to do, for ever
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
