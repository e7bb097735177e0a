#pragma once
/// @file
/// What a client of a published renderer must do, without sockets and without a clock: which pose
/// to send when, which answer to take. Times are passed in, in seconds on any clock that runs
/// forward.
///
///     for (const auto& message : session.submit(pose, now)) send(pose_topic, message);
///     for (const auto& message : session.poll(now)) send(pose_topic, message);  // often
///     if (auto answer = session.receive(frames, count, now)) show(*answer);
///
/// See docs/render-wire.md for the renderer's habits that each rule answers.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "propwash/render/decode.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/images.hpp"
#include "propwash/render/messages.hpp"

namespace propwash::render {

/// How a session sends. The values are for published renderers; the ranges are those in which they
/// can still be served.
struct SessionPolicy {
  int in_flight = 2;            ///< poses sent and not answered, at most; 1 to 8
  int queue = 1;                ///< poses that wait for their turn, at most; 1 to 100000
  double resend_after = 0.5;    ///< s without an answer, 0.05 to 1.5
  double keep_alive = 0.5;      ///< s between poses when nothing is asked for, 0.05 to 1.5
  double start_interval = 0.2;  ///< s between poses until a renderer answers, 0.02 to 1
  double lost_after = 0.75;     ///< s without a sign of life until it counts as gone, 0.1 to 10
  double revive_after = 10.0;   ///< s without an answer until it is left to forget, 3 to 3600
  double silence = 2.5;         ///< s without a pose by which `restart` ends a session, 2.1 to 60
};

/// What has happened so far, in messages.
struct SessionCounts {
  std::int64_t submitted = 0;   ///< poses asked for
  std::int64_t sent = 0;        ///< messages sent, of all kinds
  std::int64_t resent = 0;      ///< of these: again, because no answer came
  std::int64_t kept_alive = 0;  ///< of these: again, so that the renderer does not forget
  std::int64_t skipped = 0;     ///< poses never sent, because newer ones took their place
  std::int64_t unanswered = 0;  ///< poses sent and passed over by the renderer or by us
  std::int64_t taken = 0;       ///< answers given to the caller
  std::int64_t repeated = 0;    ///< answers that came again
  std::int64_t late = 0;        ///< answers older than one already taken
  std::int64_t unknown = 0;     ///< answers to poses never sent
  std::int64_t faulty = 0;      ///< answers that are not as they should be
  std::int64_t half_done = 0;   ///< answers taken to poses that the renderer could not carry out
  std::int64_t starts = 0;      ///< times that a renderer was waited for
  std::int64_t revivals = 0;    ///< times that a renderer was left to forget, as it did not answer
};

/// The state of the connection to a renderer.
enum class SessionState {
  idle,      ///< nothing has been asked for
  starting,  ///< no renderer answers, yet or any more
  running,   ///< answers come
  silent     ///< nothing is sent, so that the renderer forgets
};

/// Throws std::invalid_argument that names the first field out of its range.
inline void validate(const SessionPolicy& policy) {
  const auto check = [](const char* name, double value, double least, double most) {
    if (value >= least && value <= most) return;
    std::ostringstream text;
    text << name << " = " << value << ": expected " << least << " to " << most;
    throw std::invalid_argument(text.str());
  };
  check("in_flight", policy.in_flight, 1, 8);
  check("queue", policy.queue, 1, 100000);
  check("resend_after", policy.resend_after, 0.05, 1.5);
  check("keep_alive", policy.keep_alive, 0.05, 1.5);
  check("start_interval", policy.start_interval, 0.02, 1);
  check("lost_after", policy.lost_after, 0.1, 10);
  check("revive_after", policy.revive_after, 3, 3600);
  check("silence", policy.silence, 2.1, 60);
}

/// One renderer's session. Not for several threads at once.
class Session {
 public:
  using Messages = std::vector<std::string>;  ///< texts of pose messages in the order of sending

  explicit Session(const SessionPolicy& policy = {}) : policy_(policy) { validate(policy); }

  /// Asks for a picture; gives the poses to send now. A pose that must wait is sent by a later
  /// `poll`, and gives way to newer ones where more than `queue` wait. Throws
  /// std::invalid_argument, and does nothing, where the pose is not valid, its ntime is not above
  /// the one before, or a value differs that a renderer fixes at the start of a session.
  Messages submit(const PoseMessage& pose, double now);

  /// The poses to send now: those that waited, and again those without an answer. To be called
  /// whenever messages have been received and at least at `next_time`.
  Messages poll(double now);

  /// Takes an answer: its frames as they came. Nothing where it has come before, is older than one
  /// taken, or answers no pose of this session. Throws ProtocolError where it is faulty. Whatever
  /// comes is counted, and what is not taken changes nothing else but that it is a sign of life.
  std::optional<Answer> receive(const FrameView* frames, std::size_t count, double now);

  /// A renderer has just connected: it starts from the beginning, so poses are sent at once.
  void renderer_connected(double now);

  /// Ends the session: nothing is sent until the renderer has forgotten all. Poses not answered are
  /// given up; values that were fixed may be others in the next pose. ntime still only rises.
  /// Before the first pose it is for a renderer that may remember another program's session.
  void restart(double now);

  /// When `poll` has something to do next, without further events; infinity: never.
  double next_time() const;

  /// The state after the last call.
  SessionState state() const { return state_; }
  /// The policy that the session was made with.
  const SessionPolicy& policy() const { return policy_; }
  /// What has happened so far.
  const SessionCounts& counts() const { return counts_; }
  /// Poses sent that may still be answered in time.
  int in_flight() const { return in_flight_; }
  /// Poses that wait for their turn.
  int waiting() const { return static_cast<int>(waiting_.size()); }
  /// The time at which the last sound answer of whatever kind came, or minus infinity.
  double last_heard() const { return last_heard_; }
  /// s that the renderer takes for an answer, smoothed; 0: not known.
  double pace() const { return pace_; }

 private:
  /// A pose as it goes out.
  struct Outgoing {
    std::int64_t ntime = 0;
    std::string text;
    std::vector<bool> rendered;  // one for each camera
  };
  /// A pose that has been sent; an answer to it may come even when it has been given up.
  struct Sent {
    std::int64_t ntime = 0;
    double time = 0;
    bool given_up = false;
    std::vector<bool> rendered;
  };

  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();
  static constexpr int poses_of_start = 5;             // that a published renderer uses up
  static constexpr std::size_t longest_memory = 4096;  // poses sent and not answered

  double forward(double now);
  void check_fixed(const PoseMessage& pose) const;
  void fill(Messages& messages, double now);
  void repeat(Messages& messages, double now);
  void send(Messages& messages, Outgoing&& pose, double now);
  void add_newest(Messages& messages, double now);
  void start(double now);
  void fall_silent();
  void give_up_oldest();
  void forget_sent(const std::deque<Sent>::iterator& end);
  void heard(double now, double took);
  double time_taken(const Sent& sent, double now) const;
  double patience() const;
  double interval() const;
  std::deque<Sent>::iterator find(std::int64_t ntime);
  static void check_answer(Answer& answer, const Sent& sent, const PoseMessage& asked);

  SessionPolicy policy_;
  SessionCounts counts_;
  SessionState state_ = SessionState::idle;
  std::optional<PoseMessage> fixed_;  // the first pose of the session
  std::deque<Outgoing> waiting_;
  std::deque<Sent> sent_;  // ntime rises
  Outgoing newest_;        // the last that was sent
  int in_flight_ = 0;
  std::int64_t last_submitted_ = no_time;
  std::int64_t last_taken_ = no_time;
  double now_ = -never;
  double last_sent_ = -never;
  double last_heard_ = -never;
  double unanswered_since_ = never;
  double silent_until_ = -never;
  double start_time_ = -never;
  double pace_ = 0;
  std::int64_t sent_since_start_ = 0;
  bool reviving_ = false;  // silent without having been asked for it
  bool hurry_ = false;     // the next message does not wait for its time
};

}  // namespace propwash::render

#include "propwash/render/impl/session.hpp"
