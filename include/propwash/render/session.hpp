#pragma once
/// @file
/// The client side of the protocol, without sockets and without a clock: when to send which pose,
/// and which answers to accept. The caller passes times, in seconds on any monotonic clock.
///
///     for (const auto& message : session.submit(pose, now)) send(pose_topic, message);
///     for (const auto& message : session.poll(now)) send(pose_topic, message);  // often
///     if (auto answer = session.receive(frames, count, now)) show(*answer);
///
/// docs/render-wire.md describes the behaviour of renderers that is the reason for each rule.

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

/// Limits and times of a session. The defaults suit published renderers; values outside the ranges
/// would not work with them.
struct SessionPolicy {
  int in_flight = 2;            ///< unanswered poses, at most; 1 to 8
  int queue = 1;                ///< poses that wait to be sent, at most; 1 to 100000
  double resend_after = 0.5;    ///< s without an answer before a pose is sent again, 0.05 to 1.5
  double keep_alive = 0.5;      ///< s between poses without requests, 0.05 to 1.5
  double start_interval = 0.2;  ///< s between poses until a renderer answers, 0.02 to 1
  double lost_after = 0.75;     ///< s without an answer until a renderer counts as lost, 0.1 to 10
  double revive_after = 10.0;   ///< s without an answer until it is reset by silence, 3 to 3600
  double silence = 2.5;         ///< s without a pose, which resets a renderer, 2.1 to 60
};

/// Counts of messages and events.
struct SessionCounts {
  std::int64_t submitted = 0;   ///< poses submitted
  std::int64_t sent = 0;        ///< messages sent, of all kinds
  std::int64_t resent = 0;      ///< of these: repeated for lack of an answer
  std::int64_t kept_alive = 0;  ///< of these: repeated to keep the session alive
  std::int64_t skipped = 0;     ///< poses replaced by newer ones before sending
  std::int64_t unanswered = 0;  ///< poses sent and never answered, or abandoned
  std::int64_t received = 0;    ///< answers returned to the caller
  std::int64_t repeated = 0;    ///< duplicate answers
  std::int64_t outdated = 0;    ///< answers older than one returned before
  std::int64_t unknown = 0;     ///< answers to poses never sent
  std::int64_t faulty = 0;      ///< invalid answers
  std::int64_t incomplete = 0;  ///< answers to poses that were executed incompletely
  std::int64_t starts = 0;      ///< times that the session started to wait for a renderer
  std::int64_t revivals = 0;    ///< times that silence reset a renderer that did not answer
};

/// The state of the connection to a renderer.
enum class SessionState {
  idle,      ///< no pose has been submitted
  starting,  ///< waiting for a renderer to answer
  running,   ///< answers arrive
  silent     ///< nothing is sent, which resets the renderer
};

/// @throws std::invalid_argument that names the first field out of its range.
inline void validate(const SessionPolicy& policy) {
  const auto check = [](const char* name, double value, double min, double max) {
    if (value >= min && value <= max) return;
    std::ostringstream text;
    text << name << " = " << value << ": expected " << min << " to " << max;
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

/// The session with one renderer. Not thread-safe.
class Session {
 public:
  using Messages = std::vector<std::string>;  ///< pose messages, in the order of sending

  explicit Session(const SessionPolicy& policy = {}) : policy_(policy) { validate(policy); }

  /// Requests an image; returns the messages to send now. A pose that must wait is sent by a later
  /// `poll`; if more than `queue` wait, the oldest is dropped.
  /// @throws std::invalid_argument for an invalid pose, an ntime that does not increase, or another
  /// value of a field that is fixed for the session; the object is then unchanged.
  Messages submit(const PoseMessage& pose, double now);

  /// Returns the messages to send now: waiting poses and repetitions. Call it after messages have
  /// been received, and at `next_time` at the latest.
  Messages poll(double now);

  /// Accepts the frames of an answer. Returns nothing for an answer that is a duplicate, older than
  /// the last one, or to no pose of this session; such an answer only shows that the renderer runs.
  /// @throws ProtocolError for an invalid answer.
  std::optional<Answer> receive(const FrameView* frames, std::size_t count, double now);

  /// Reports that a renderer has connected. It starts a new session, so poses are sent at once.
  void renderer_connected(double now);

  /// Ends the session: nothing is sent until the renderer has reset. Unanswered poses are
  /// abandoned; the next pose may change the fixed fields, but ntime must still increase. Call it
  /// before the first pose if the renderer may still be in another program's session.
  void restart(double now);

  /// The time of the next call of `poll` that does something, without further events; may be
  /// infinity.
  double next_time() const;

  /// The state after the last call.
  SessionState state() const { return state_; }
  /// The policy of the constructor.
  const SessionPolicy& policy() const { return policy_; }
  /// The counts since construction.
  const SessionCounts& counts() const { return counts_; }
  /// Number of poses sent and not yet answered.
  int in_flight() const { return in_flight_; }
  /// Number of poses that wait to be sent.
  int waiting() const { return static_cast<int>(waiting_.size()); }

 private:
  /// An encoded pose.
  struct Outgoing {
    std::int64_t ntime = 0;
    std::string text;
    std::vector<bool> rendered;  // one for each camera
  };
  /// A pose that has been sent; an answer may arrive even after it has been abandoned.
  struct Sent {
    std::int64_t ntime = 0;
    double time = 0;
    bool given_up = false;
    std::vector<bool> rendered;
  };

  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();
  static constexpr int poses_of_start = 5;       // that a renderer consumes before it answers
  static constexpr std::size_t max_sent = 4096;  // poses sent and not answered

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
  void record_answer(double now, double response_time);
  double response_time_of(const Sent& sent, double now) const;
  double patience() const;
  double interval() const;
  std::deque<Sent>::iterator find(std::int64_t ntime);
  static void check_answer(Answer& answer, const Sent& sent, const PoseMessage& asked);

  SessionPolicy policy_;
  SessionCounts counts_;
  SessionState state_ = SessionState::idle;
  std::optional<PoseMessage> fixed_;  // the first pose of the session
  std::deque<Outgoing> waiting_;
  std::deque<Sent> sent_;  // in the order of ntime
  Outgoing newest_;        // the last one sent
  int in_flight_ = 0;
  std::int64_t last_submitted_ = no_time;
  std::int64_t last_received_ = no_time;
  double now_ = -never;
  double last_sent_ = -never;
  double unanswered_since_ = never;
  double silent_until_ = -never;
  double start_time_ = -never;
  double response_time_ = 0;  // s, of the renderer, smoothed; 0: unknown
  std::int64_t sent_since_start_ = 0;
  bool reviving_ = false;  // silent, or just after, to reset a renderer that does not answer
  bool send_now_ = false;  // the next message is due at once
};

}  // namespace propwash::render

#include "propwash/render/impl/session.hpp"
