#pragma once
/// @file
/// A session with its caller, the wire and a renderer, in simulated time.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "fake_renderer.hpp"
#include "propwash/render/session.hpp"

inline render::PoseMessage make_pose(std::int64_t ntime, int width = 4, int cameras = 1) {
  render::PoseMessage pose;
  pose.ntime = ntime;
  pose.scene = "Museum_Day";
  pose.width = width;
  pose.height = 2;
  for (int i = 0; i < cameras; ++i) {
    pose.cameras.emplace_back();
    pose.cameras.back().id = "camera" + std::to_string(i);
  }
  return pose;
}

inline std::int64_t nanoseconds(double time) {
  return static_cast<std::int64_t>(std::llround(time * 1e9));
}

/// A client, a wire and optionally a renderer, in steps of a millisecond.
class Link {
 public:
  explicit Link(const render::SessionPolicy& policy = {}) : session(policy) {}

  render::Session session;
  std::unique_ptr<FakeRenderer> renderer = std::make_unique<FakeRenderer>();
  double now = 100.0;   // s
  double delay = 0.0;   // s, transmission time of an answer
  double loss = 0.0;    // fraction of messages lost, in both directions
  bool polling = true;  // whether the caller polls
  std::vector<std::int64_t> received;
  std::vector<double> received_at;
  std::vector<double> sent_at;
  double worst_latency = 0;
  std::size_t worst_backlog = 0;

  void submit(const render::PoseMessage& pose) { carry(session.submit(pose, now)); }

  /// Runs for some time; a `rate` above 0 requests images at that rate [Hz].
  void run(double seconds, double rate = 0.0) {
    const int steps = static_cast<int>(std::lround(seconds * 1000));
    for (int i = 0; i < steps; ++i) {
      now += 1e-3;
      if (rate > 0.0 && now >= next_pose_) {
        submit(make_pose(nanoseconds(now)));
        next_pose_ = std::max(next_pose_, now - 1.0 / rate) + 1.0 / rate;
      }
      tick();
    }
  }
  /// Runs until a new answer is accepted; returns the elapsed seconds, or infinity after `limit`.
  double run_until_received(double limit, double rate = 0.0) {
    const auto before = received.size();
    const double start = now;
    while (received.size() == before) {
      if (now - start > limit) return std::numeric_limits<double>::infinity();
      run(1e-3, rate);
    }
    return now - start;
  }

 private:
  void carry(const render::Session::Messages& messages) {
    for (const auto& message : messages) {
      sent_at.push_back(now);
      if (renderer && !lost()) renderer->receive(message, now);
    }
    REQUIRE(session.in_flight() <= session.policy().in_flight);
    REQUIRE(session.waiting() <= session.policy().queue);
  }
  bool lost() { return loss > 0.0 && std::uniform_real_distribution<double>(0, 1)(random_) < loss; }
  void tick() {
    if (polling) carry(session.poll(now));
    if (renderer) {
      if (auto frames = renderer->step(now)) wire_.emplace_back(now + delay, std::move(*frames));
      worst_backlog = std::max(worst_backlog, renderer->backlog());
    }
    while (!wire_.empty() && wire_.front().first <= now) {
      const auto frames = std::move(wire_.front().second);
      wire_.pop_front();
      const auto views = views_of(frames);
      if (lost()) continue;
      const auto answer = session.receive(views.data(), views.size(), now);
      if (!answer) continue;
      received.push_back(answer->ntime);
      received_at.push_back(now);
      worst_latency = std::max(worst_latency, answer->latency);
    }
  }

  double next_pose_ = 0;
  std::deque<std::pair<double, Frames>> wire_;
  std::mt19937 random_{7};
};
