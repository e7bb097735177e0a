#pragma once
/// @file
/// A fake of the published renderer with its known behaviour, on a simulated clock: it consumes
/// five poses before it answers, answers the newest or every pose, ends the session after 2 s
/// without a pose, repeats its last answer for a pose that it cannot read, and stops sending when
/// an image becomes larger than at the start.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "propwash/render/decode.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/images.hpp"

namespace render = propwash::render;

using Frames = std::vector<std::string>;

inline std::vector<render::FrameView> views_of(const Frames& frames) {
  std::vector<render::FrameView> views;
  for (const auto& frame : frames) views.push_back({frame.data(), frame.size()});
  return views;
}

/// The answer to a pose, with each image filled with one byte, without cameras that do not
/// render.
inline Frames answer_to(const render::PoseMessage& pose) {
  render::Answer answer;
  answer.ntime = pose.ntime;
  answer.width = pose.width;
  answer.height = pose.height;
  answer.depth_scale = pose.depth_scale;
  answer.range = 21.0;
  Frames frames(1);
  for (std::size_t i = 0; i < pose.cameras.size(); ++i) {
    const auto& camera = pose.cameras[i];
    if (!camera.render) continue;
    const auto layout = render::image_layout(camera.type, camera.has_shader_type);
    const auto index = static_cast<int>(i);
    answer.images.push_back({camera.id, index, layout.channels, layout.bytes_per_pixel, {}});
    frames.emplace_back(static_cast<std::size_t>(layout.bytes_per_pixel * pose.width * pose.height),
                        static_cast<char>(pose.ntime & 0x7f));
  }
  frames[0] = render::encode_answer(answer);
  return frames;
}

class FakeRenderer {
 public:
  bool newest_only = false;
  double frame_time = 0.016;  ///< s for an image
  double load_time = 0.0;     ///< s for the scene

  void receive(const std::string& pose, double now) {
    if (now < ignores_until_) return;
    last_pose_time_ = now;
    waiting_.push_back(pose);
  }

  /// The answer that is ready now, if there is one.
  std::optional<Frames> step(double now) {
    if (has_received_ && waiting_.empty() && now - last_pose_time_ >= 2.0) forget(now);
    if (now < busy_until_) return std::nullopt;
    if (ready_) return std::exchange(ready_, std::nullopt);
    if (waiting_.empty()) return std::nullopt;
    if (newest_only) waiting_.erase(waiting_.begin(), waiting_.end() - 1);
    const auto text = waiting_.front();
    waiting_.pop_front();
    has_received_ = true;
    try {
      execute(render::decode_pose({text.data(), text.size()}), now);
    } catch (const render::ProtocolError&) {
      if (last_) answer(*last_, now);
    }
    return std::nullopt;
  }

  int used_up() const { return used_up_; }
  int resets() const { return resets_; }
  std::size_t backlog() const { return waiting_.size(); }
  std::int64_t rendered() const { return rendered_; }

 private:
  void execute(const render::PoseMessage& pose, double now) {
    if (used_up_ < 5) {
      if (used_up_++ == 0) busy_until_ = now + load_time;
      width_ = pose.width;
      return;
    }
    if (pose.width > width_) has_failed_ = true;
    if (has_failed_) return;
    ++rendered_;
    answer(answer_to(pose), now);
  }
  void answer(const Frames& frames, double now) {
    last_ = frames;
    ready_ = frames;
    busy_until_ = now + frame_time;
  }
  void forget(double now) {
    used_up_ = 0;
    ++resets_;
    has_failed_ = false;
    has_received_ = false;
    last_.reset();
    ready_.reset();
    ignores_until_ = now + 0.1;
  }

  std::deque<std::string> waiting_;
  std::optional<Frames> last_;
  std::optional<Frames> ready_;
  double last_pose_time_ = 0;
  double busy_until_ = 0;
  double ignores_until_ = -1;
  int used_up_ = 0;
  int width_ = 0;
  int resets_ = 0;
  std::int64_t rendered_ = 0;
  bool has_received_ = false;
  bool has_failed_ = false;
};
