#pragma once
/// @file
/// Definitions of propwash/render/session.hpp, which includes this file.

#include "propwash/render/session.hpp"

namespace propwash::render {

inline double Session::forward(double now) {
  if (!std::isfinite(now)) throw std::invalid_argument("now: expected a finite time [s]");
  now_ = std::max(now_, now);
  return now_;
}

inline Session::Messages Session::submit(const PoseMessage& pose, double now) {
  Outgoing outgoing{pose.ntime, encode_pose(pose), {}};
  if (pose.ntime <= last_submitted_) {
    detail::refuse_field("ntime", pose.ntime,
                         ("more than the last, " + std::to_string(last_submitted_)).c_str());
  }
  check_fixed(pose);
  forward(now);
  for (const auto& camera : pose.cameras) outgoing.rendered.push_back(camera.render);
  if (!fixed_) fixed_ = pose;
  last_submitted_ = pose.ntime;
  ++counts_.submitted;
  waiting_.push_back(std::move(outgoing));
  auto messages = poll(now);
  while (waiting_.size() > static_cast<std::size_t>(policy_.queue)) {
    waiting_.pop_front();
    ++counts_.skipped;
  }
  return messages;
}

/// A renderer reads these fields from the first pose; changes make it stop sending or send wrong
/// parts of its window.
inline void Session::check_fixed(const PoseMessage& pose) const {
  if (!fixed_) return;
  const auto check = [](const std::string& field, const auto& was, const auto& is) {
    if (was == is) return;
    std::ostringstream expected;
    expected << was << ", as in the first pose of the session; call restart() to change it";
    detail::refuse_field(field, is, expected.str().c_str());
  };
  check("scene", fixed_->scene, pose.scene);
  check("width", fixed_->width, pose.width);
  check("height", fixed_->height, pose.height);
  check("vertical_fov_deg", fixed_->vertical_fov_deg, pose.vertical_fov_deg);
  check("number of cameras", fixed_->cameras.size(), pose.cameras.size());
  for (std::size_t i = 0; i < pose.cameras.size(); ++i) {
    const auto at = "cameras[" + std::to_string(i) + "].";
    check(at + "id", fixed_->cameras[i].id, pose.cameras[i].id);
    check(at + "collision_check", fixed_->cameras[i].collision_check,
          pose.cameras[i].collision_check);
  }
}

inline Session::Messages Session::poll(double now) {
  now = forward(now);
  Messages messages;
  if (state_ == SessionState::silent) {
    if (now < silent_until_) return messages;
    state_ = SessionState::idle;
  }
  if (state_ == SessionState::idle) {
    if (waiting_.empty() && !reviving_) return messages;
    start(now);
  }
  const bool forgotten = now - last_sent_ >= renderer_memory;
  if (state_ == SessionState::running && (forgotten || now >= unanswered_since_ + patience())) {
    start(now);
  }
  if (state_ == SessionState::starting && now >= start_time_ + policy_.revive_after) {
    fall_silent();
    return messages;
  }
  fill(messages, now);
  if (messages.empty() && (send_now_ || now >= last_sent_ + interval())) repeat(messages, now);
  return messages;
}

/// Sends waiting poses up to the limit of poses in flight.
inline void Session::fill(Messages& messages, double now) {
  while (!waiting_.empty() && in_flight_ < policy_.in_flight) {
    Outgoing pose = std::move(waiting_.front());
    waiting_.pop_front();
    send(messages, std::move(pose), now);
  }
}

/// After a long time without an answer: sends a newer pose instead of an old one if the queue holds
/// one pose, otherwise repeats the last.
inline void Session::repeat(Messages& messages, double now) {
  if (!waiting_.empty() && policy_.queue == 1) {
    give_up_oldest();
    fill(messages, now);
    return;
  }
  ++(in_flight_ > 0 ? counts_.resent : counts_.kept_alive);
  add_newest(messages, now);
}

inline void Session::add_newest(Messages& messages, double now) {
  ++counts_.sent;
  ++sent_since_start_;
  send_now_ = false;
  last_sent_ = now;
  unanswered_since_ = std::min(unanswered_since_, now);
  messages.push_back(newest_.text);
}

inline void Session::send(Messages& messages, Outgoing&& pose, double now) {
  sent_.push_back({pose.ntime, now, false, pose.rendered});
  ++in_flight_;
  newest_ = std::move(pose);
  add_newest(messages, now);
  if (sent_.size() > max_sent) forget_sent(sent_.begin() + 1);
}

/// Sends poses at a short interval from now on: a renderer that has just started or reset consumes
/// five before it answers one.
inline void Session::start(double now) {
  state_ = SessionState::starting;
  ++counts_.starts;
  start_time_ = now;
  unanswered_since_ = never;
  sent_since_start_ = 0;
  reviving_ = false;
  send_now_ = true;
}

/// A renderer that is connected but silent has probably failed while sending, for example because
/// of another program's session with smaller images; only silence resets it.
inline void Session::fall_silent() {
  state_ = SessionState::silent;
  silent_until_ = last_sent_ + policy_.silence;
  ++counts_.revivals;
  reviving_ = true;
}

inline void Session::renderer_connected(double now) {
  now = forward(now);
  if (state_ == SessionState::running || reviving_) start(now);
  send_now_ = state_ == SessionState::starting;
}

inline void Session::restart(double now) {
  now = forward(now);
  counts_.unanswered += in_flight_;
  counts_.skipped += waiting();
  sent_.clear();
  waiting_.clear();
  in_flight_ = 0;
  fixed_.reset();
  last_received_ = last_submitted_;
  unanswered_since_ = never;
  response_time_ = 0;
  send_now_ = false;
  reviving_ = false;
  state_ = SessionState::silent;
  silent_until_ = (std::isfinite(last_sent_) ? last_sent_ : now) + policy_.silence;
}

/// s without an answer until a renderer counts as lost. A slow one must not, or it would receive
/// more poses than it can answer.
inline double Session::patience() const {
  return std::max(policy_.lost_after, 3.0 * response_time_);
}

/// s between messages without requests; always shorter than the renderer's memory.
inline double Session::interval() const {
  constexpr double max_interval = 1.5;
  if (state_ == SessionState::starting) return policy_.start_interval;
  if (in_flight_ == 0) return policy_.keep_alive;
  return std::max(policy_.resend_after, std::min(2.0 * response_time_, max_interval));
}

inline double Session::next_time() const {
  switch (state_) {
    case SessionState::idle:
      return waiting_.empty() ? never : now_;
    case SessionState::silent:
      return waiting_.empty() && !reviving_ ? never : silent_until_;
    default:
      if (!waiting_.empty() && in_flight_ < policy_.in_flight) return now_;
      if (send_now_) return now_;
      if (state_ == SessionState::starting) {
        return std::min(last_sent_ + interval(), start_time_ + policy_.revive_after);
      }
      return std::min(last_sent_ + interval(), unanswered_since_ + patience());
  }
}

inline void Session::give_up_oldest() {
  for (auto& sent : sent_) {
    if (sent.given_up) continue;
    sent.given_up = true;
    --in_flight_;
    ++counts_.unanswered;
    return;
  }
}

inline void Session::forget_sent(const std::deque<Sent>::iterator& end) {
  for (auto sent = sent_.begin(); sent != end; ++sent) {
    if (sent->given_up) continue;
    --in_flight_;
    ++counts_.unanswered;
  }
  sent_.erase(sent_.begin(), end);
}

inline std::deque<Session::Sent>::iterator Session::find(std::int64_t ntime) {
  const auto found =
      std::lower_bound(sent_.begin(), sent_.end(), ntime,
                       [](const Sent& sent, std::int64_t value) { return sent.ntime < value; });
  return found != sent_.end() && found->ntime == ntime ? found : sent_.end();
}

/// Records an answer. response_time: s, the renderer's response time; negative: unknown.
inline void Session::record_answer(double now, double response_time) {
  constexpr double weight = 0.25;
  if (response_time >= 0.0) {
    const double sample = std::min(response_time, renderer_memory);
    response_time_ =
        response_time_ == 0.0 ? sample : response_time_ + weight * (sample - response_time_);
  }
  send_now_ = false;
  if (state_ == SessionState::starting || reviving_) state_ = SessionState::running;
  reviving_ = false;
  unanswered_since_ = in_flight_ > 0 ? now : never;
}

/// s, the response time for a pose; negative if the renderer had to start first. A renderer that
/// answers after fewer poses than a start consumes was running, only slow.
inline double Session::response_time_of(const Sent& sent, double now) const {
  if (state_ == SessionState::running) return now - std::min(unanswered_since_, now);
  return sent_since_start_ <= poses_of_start ? now - sent.time : -1.0;
}

inline std::optional<Answer> Session::receive(const FrameView* frames, std::size_t count,
                                              double now) {
  now = forward(now);
  try {
    Answer answer = decode_answer(frames, count);
    const auto found = find(answer.ntime);
    if (found == sent_.end() || !fixed_) {
      const bool repeated = answer.ntime == last_received_;
      const bool outdated = answer.ntime < last_received_;
      ++(repeated ? counts_.repeated : outdated ? counts_.outdated : counts_.unknown);
      const bool listening = state_ != SessionState::silent || reviving_;
      if ((repeated || outdated) && listening) record_answer(now, -1.0);
      return std::nullopt;
    }
    check_answer(answer, *found, *fixed_);
    answer.latency = now - found->time;
    const double response_time = response_time_of(*found, now);
    last_received_ = answer.ntime;
    if (found->given_up) {
      --counts_.unanswered;
    } else {
      --in_flight_;
    }
    found->given_up = true;  // only older ones count as unanswered
    forget_sent(found + 1);
    record_answer(now, response_time);
    ++counts_.received;
    if (answer.incomplete()) ++counts_.incomplete;
    return answer;
  } catch (const ProtocolError&) {
    ++counts_.faulty;
    throw;
  }
}

/// Checks that an answer fits the pose: its size, and one image of each rendered camera, with at
/// least the bytes per pixel of its type (one-byte images may come as three bytes, and v2 sends
/// RGB for every type). Sets the index of each image.
inline void Session::check_answer(Answer& answer, const Sent& sent, const PoseMessage& asked) {
  const auto size = [](int width, int height) {
    return std::to_string(width) + " x " + std::to_string(height);
  };
  if (answer.width != asked.width || answer.height != asked.height) {
    throw ProtocolError("answer: expected images of " + size(asked.width, asked.height) + ", got " +
                        size(answer.width, answer.height));
  }
  auto missing = sent.rendered;
  const auto& cameras = asked.cameras;
  for (auto& image : answer.images) {
    const auto known = std::find_if(cameras.begin(), cameras.end(),
                                    [&](const auto& camera) { return camera.id == image.camera; });
    if (known == cameras.end()) {
      throw ProtocolError("answer: has an image of camera \"" + image.camera +
                          "\", which is not in the pose");
    }
    const int needed = image_layout(known->type, false).bytes_per_pixel;
    if (image.bytes_per_pixel < needed) {
      throw ProtocolError("answer: expected " + std::to_string(needed) +
                          " bytes per pixel of camera \"" + image.camera + "\", got " +
                          std::to_string(image.bytes_per_pixel));
    }
    image.index = static_cast<int>(known - cameras.begin());
    missing[static_cast<std::size_t>(image.index)] = false;
  }
  const auto lost = std::find(missing.begin(), missing.end(), true);
  if (lost != missing.end()) {
    const auto index = static_cast<std::size_t>(lost - missing.begin());
    throw ProtocolError("answer: has no image of camera \"" + cameras[index].id + "\"");
  }
}

}  // namespace propwash::render
