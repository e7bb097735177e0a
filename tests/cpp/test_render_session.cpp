#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "session_link.hpp"

namespace test_render_session {

namespace {

using render::Session;
using render::SessionPolicy;
using render::SessionState;

bool rises(const std::vector<std::int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

/// Requires an answer.
render::Answer sure(const std::optional<render::Answer>& answer) {
  if (!answer) throw std::logic_error("no answer was received");
  return *answer;
}

SessionPolicy every_pose() {
  SessionPolicy policy;
  policy.in_flight = 1;
  policy.queue = 1000;
  return policy;
}

}  // namespace

TEST_CASE("one pose is repeated until the renderer has consumed five and answers") {
  for (const bool newest_only : {false, true}) {
    Link link;
    link.renderer->newest_only = newest_only;
    link.submit(make_pose(17));
    CHECK(link.session.state() == SessionState::starting);
    link.run(3.0);
    REQUIRE(link.received == std::vector<std::int64_t>{17});
    CHECK(link.received_at[0] - 100.0 < 6 * link.session.policy().start_interval + 0.1);
    CHECK(link.session.state() == SessionState::running);
    CHECK(link.session.counts().resent == 5);
  }
}

TEST_CASE("the session waits for a renderer that starts late or loads for seconds") {
  Link link;
  const auto renderer = std::exchange(link.renderer, nullptr);
  link.submit(make_pose(17));
  link.run(30.0);
  CHECK(link.received.empty());
  link.renderer = std::make_unique<FakeRenderer>();
  link.renderer->load_time = 4.0;
  CHECK(link.run_until_received(10.0) < 4.0 + 6 * link.session.policy().start_interval + 0.1);
  link.run(5.0, 30.0);
  CHECK(link.session.state() == SessionState::running);
  CHECK(rises(link.received));
}

TEST_CASE(
    "the session adapts to the renderer's speed: answers are in order, none is invented, no "
    "backlog grows") {
  for (const bool newest_only : {false, true}) {
    for (const int in_flight : {1, 2, 3}) {
      for (const double frame_time : {0.005, 0.1, 0.4, 1.0}) {
        INFO(newest_only << " " << in_flight << " " << frame_time);
        SessionPolicy policy;
        policy.in_flight = in_flight;
        Link link(policy);
        link.renderer->newest_only = newest_only;
        link.renderer->frame_time = frame_time;
        link.run(20.0, 60.0);
        link.worst_latency = 0;
        link.worst_backlog = 0;
        const auto before = link.received.size();
        link.run(20.0, 60.0);
        // a newest-only renderer answers at least every second request, any other each one
        const double max_answers = std::min(60.0, 1.0 / frame_time) * 20.0;
        CHECK(static_cast<double>(link.received.size() - before) > 0.45 * max_answers - 2.0);
        CHECK(rises(link.received));
        CHECK(link.worst_backlog <= static_cast<std::size_t>(in_flight) + 1);
        CHECK(link.worst_latency < (in_flight + 2) * (frame_time + 0.02));
        CHECK(link.renderer->resets() == 0);
        CHECK(link.session.counts().unknown == 0);
        CHECK(link.session.counts().faulty == 0);
      }
    }
  }
}

TEST_CASE("with one in flight and a queue every pose is answered in order, despite losses") {
  for (const bool newest_only : {false, true}) {
    Link link(every_pose());
    link.loss = 0.2;
    link.delay = 0.03;
    link.renderer->newest_only = newest_only;
    std::vector<std::int64_t> asked;
    for (int i = 0; i < 100; ++i) {
      asked.push_back(1000 + 7 * i);
      link.submit(make_pose(asked.back()));
    }
    link.run(120.0);
    CHECK(link.received == asked);
    const auto& counts = link.session.counts();
    CHECK(counts.skipped == 0);
    CHECK(counts.unanswered == 0);
    CHECK(counts.received == 100);
    CHECK(counts.sent == 100 + counts.resent + counts.kept_alive);
  }
}

TEST_CASE("a renderer is kept alive without requests") {
  Link link;
  link.submit(make_pose(1));
  link.run(20.0);
  REQUIRE(link.received.size() == 1);
  CHECK(link.renderer->resets() == 0);
  double widest = 0;
  for (std::size_t i = 1; i < link.sent_at.size(); ++i) {
    widest = std::max(widest, link.sent_at[i] - link.sent_at[i - 1]);
  }
  CHECK(widest < 1.0);
  CHECK(link.session.counts().kept_alive > 20);
  const auto pending = link.session.counts().kept_alive - link.session.counts().repeated;
  CHECK((pending == 0 || pending == 1));  // one may be in transit
  CHECK(link.session.counts().starts == 1);
}

TEST_CASE("after a long pause of the caller the renderer is restarted") {
  Link link;
  link.run(3.0, 30.0);
  REQUIRE(!link.received.empty());
  link.polling = false;
  link.run(5.0);
  CHECK(link.renderer->resets() == 1);
  link.polling = true;
  CHECK(link.run_until_received(5.0, 30.0) < 2.0);
}

TEST_CASE("a renderer that is restarted is served within 2 s") {
  for (const double away : {0.0, 0.3, 0.7, 1.0, 5.0}) {
    for (const double rate : {0.0, 1.0, 60.0}) {
      for (const double moment : {0.0, 0.11, 0.27, 0.41}) {
        INFO(away << " " << rate << " " << moment);
        Link link;
        link.submit(make_pose(1));
        link.run(3.0 + moment, 30.0);
        const auto counts = link.session.counts();
        REQUIRE(counts.received > 10);
        link.renderer.reset();
        link.run(away, rate);
        link.renderer = std::make_unique<FakeRenderer>();
        link.run(2.0, rate);
        CHECK(link.session.state() == SessionState::running);
        CHECK(link.renderer->rendered() > 0);
        CHECK(link.session.counts().received >= counts.received);
        const auto before = link.received.size();
        link.submit(make_pose(nanoseconds(link.now) + 1));
        link.run(0.5);
        CHECK(link.received.size() > before);
        CHECK(rises(link.received));
      }
    }
  }
}

TEST_CASE("a renderer that another program left unable to send is reset") {
  Link link;
  for (int i = 0; i < 6; ++i) {  // the other program's images were smaller
    link.renderer->receive(render::encode_pose(make_pose(1 + i, 2)), link.now);
    link.renderer->step(link.now);
  }
  link.submit(make_pose(50, 4));
  const auto& policy = link.session.policy();
  CHECK(link.run_until_received(60.0) < policy.revive_after + policy.silence + 2.0);
  CHECK(link.session.counts().revivals == 1);
  CHECK(link.renderer->resets() == 1);
  CHECK(link.received == std::vector<std::int64_t>{50});
}

TEST_CASE("a session may begin with silence, to end another program's session") {
  Link link;
  for (int i = 0; i < 6; ++i) {
    link.renderer->receive(render::encode_pose(make_pose(1 + i, 8)), link.now);
    link.renderer->step(link.now);
  }
  link.session.restart(link.now);
  link.submit(make_pose(50, 4));
  CHECK(link.run_until_received(10.0) < 4.0);
  CHECK(link.renderer->resets() == 1);
  CHECK(link.session.counts().revivals == 0);
}

TEST_CASE("a session starts as soon as a renderer connects") {
  Link link;
  link.submit(make_pose(1));
  link.run(3.0);
  REQUIRE(link.session.state() == SessionState::running);
  const auto sent = link.session.counts().sent;
  link.session.renderer_connected(link.now);
  CHECK(link.session.state() == SessionState::starting);
  CHECK(link.session.next_time() <= link.now);
  CHECK(link.session.poll(link.now).size() == 1);
  CHECK(link.session.counts().sent == sent + 1);
}

TEST_CASE("fields fixed for a session cannot change until a restart, which waits for over 2 s") {
  Link link;
  link.run(3.0, 30.0);
  const auto counts = link.session.counts();
  const auto later = nanoseconds(link.now) + 1;
  auto other_scene = make_pose(later);
  other_scene.scene = "NYC_Subway";
  auto other_view = make_pose(later);
  other_view.vertical_fov_deg = 60;
  auto other_camera = make_pose(later);
  other_camera.cameras[0].id = "other";
  auto other_collision = make_pose(later);
  other_collision.cameras[0].collision_check = true;
  for (const auto& pose : {make_pose(later, 8), make_pose(later, 4, 2), other_scene, other_view,
                           other_camera, other_collision}) {
    CHECK_THROWS_AS(link.session.submit(pose, link.now), std::invalid_argument);
  }
  CHECK(link.session.counts().submitted == counts.submitted);

  link.session.restart(link.now);
  link.submit(make_pose(later, 8, 2));
  const double last = link.sent_at.back();
  const auto before = link.sent_at.size();
  CHECK(link.session.state() == SessionState::silent);
  CHECK(link.run_until_received(10.0) < 2.5 + 6 * 0.2 + 0.2);
  CHECK(link.sent_at[before] - last > 2.0);
  CHECK(link.renderer->resets() == 1);
  CHECK(link.received.back() == later);
}

TEST_CASE("an invalid pose is rejected and changes nothing") {
  Link link;
  link.submit(make_pose(5));
  CHECK_THROWS_AS(link.session.submit(make_pose(5), link.now), std::invalid_argument);
  CHECK_THROWS_AS(link.session.submit(make_pose(4), link.now), std::invalid_argument);
  auto bad = make_pose(6);
  bad.cameras[0].position_W.x = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(link.session.submit(bad, link.now), std::invalid_argument);
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(link.session.submit(make_pose(6), nan), std::invalid_argument);
  CHECK_THROWS_AS(link.session.poll(nan), std::invalid_argument);
  CHECK(link.session.counts().submitted == 1);
  link.submit(make_pose(6));
  CHECK(link.session.counts().submitted == 2);
}

TEST_CASE("duplicate, outdated and unrequested answers are counted and dropped") {
  SessionPolicy policy;
  policy.in_flight = 3;
  Session session(policy);
  const auto give = [&](const Frames& frames, double now = 2.0) {
    const auto views = views_of(frames);
    return session.receive(views.data(), views.size(), now);
  };
  CHECK(!give(answer_to(make_pose(3)), 0.0));
  CHECK(session.counts().unknown == 1);
  for (const int ntime : {1, 2, 3}) session.submit(make_pose(ntime), 1.0);
  CHECK(!give(answer_to(make_pose(9))));
  CHECK(session.counts().unknown == 2);
  CHECK(session.in_flight() == 3);
  CHECK(sure(give(answer_to(make_pose(2)))).latency == Approx(1.0));
  CHECK(session.counts().unanswered == 1);
  CHECK(!give(answer_to(make_pose(2))));
  CHECK(session.counts().repeated == 1);
  CHECK(!give(answer_to(make_pose(1))));
  CHECK(session.counts().outdated == 1);
  CHECK(session.in_flight() == 1);
  CHECK(sure(give(answer_to(make_pose(3)))).ntime == 3);
  CHECK(session.in_flight() == 0);
}

TEST_CASE("an answer that does not fit its pose is an error, and the next valid one is accepted") {
  Session session;
  session.submit(make_pose(1, 4, 2), 0.0);
  const auto give = [&](const render::PoseMessage& pose) {
    const auto frames = answer_to(pose);
    const auto views = views_of(frames);
    return session.receive(views.data(), views.size(), 0.1);
  };
  auto other_camera_pose = make_pose(1, 4, 2);
  other_camera_pose.cameras[1].id = "camera7";
  const auto has_text = [](const char* words) {
    return Catch::Matchers::Matches(std::string(".*") + words + ".*");
  };
  CHECK_THROWS_WITH(give(other_camera_pose), has_text("camera7"));
  CHECK_THROWS_WITH(give(make_pose(1, 8, 2)), has_text("8 x 2"));
  CHECK_THROWS_WITH(give(make_pose(1, 4, 1)), has_text("no image of camera \"camera1\""));
  auto frames = answer_to(make_pose(1, 4, 2));
  const auto three = frames[0].find("\"channels\":[3,");
  REQUIRE(three != std::string::npos);
  frames[0][three + 12] = '1';
  frames[1].resize(4 * 2);  // a caller that requested RGB would read past its end
  const auto views = views_of(frames);
  CHECK_THROWS_WITH(session.receive(views.data(), views.size(), 0.1),
                    has_text("3 bytes per pixel of camera \"camera0\", got 1"));
  CHECK(session.counts().faulty == 4);
  CHECK(session.in_flight() == 1);
  const auto answer = give(make_pose(1, 4, 2));
  CHECK(sure(answer).images.at(1).index == 1);
}

TEST_CASE("grey has one or three bytes per pixel, depth two or, from v2, three") {
  struct Case {
    render::CameraType type;
    int channels;
    std::size_t bytes;
    bool good;
  };
  using Type = render::CameraType;
  for (const auto& c : std::vector<Case>{{Type::grey, 1, 1, true},
                                         {Type::grey, 1, 3, true},
                                         {Type::depth_compressed, 1, 1, true},
                                         {Type::depth_compressed, 1, 3, true},
                                         {Type::depth, 2, 2, true},
                                         {Type::depth, 1, 3, true},
                                         {Type::depth, 1, 1, false}}) {
    INFO(static_cast<int>(c.type) << ", " << c.bytes << " bytes per pixel");
    Session session;
    auto pose = make_pose(1);
    pose.cameras[0].type = c.type;
    session.submit(pose, 0.0);
    render::Answer answer;
    answer.ntime = 1;
    answer.width = 4;
    answer.height = 2;
    answer.images.push_back({"camera0", 0, c.channels, 3, {}});
    const Frames frames{render::encode_answer(answer), std::string(c.bytes * 4 * 2, '\x7f')};
    const auto views = views_of(frames);
    if (!c.good) {
      CHECK_THROWS_AS(session.receive(views.data(), views.size(), 0.1), render::ProtocolError);
      continue;
    }
    const auto received = sure(session.receive(views.data(), views.size(), 0.1));
    if (c.type == Type::depth) continue;
    CHECK(render::grey_bytes(received.images[0]) == std::vector<std::uint8_t>(4 * 2, 0x7f));
  }
}

TEST_CASE("a camera that does not render may be missing") {
  Session session;
  auto pose = make_pose(1, 4, 2);
  pose.cameras[0].render = false;
  session.submit(pose, 0.0);
  const auto frames = answer_to(pose);
  const auto views = views_of(frames);
  const auto answer = session.receive(views.data(), views.size(), 0.1);
  REQUIRE(sure(answer).images.size() == 1);
  CHECK(sure(answer).images[0].index == 1);
}

TEST_CASE("next_time is the time of the next poll, and always in the future") {
  Link link;
  CHECK(link.session.next_time() == std::numeric_limits<double>::infinity());
  link.renderer.reset();
  double now = 0;
  link.session.submit(make_pose(1), now);
  std::size_t sent = 0;
  for (int i = 0; i < 200; ++i) {  // no answer
    REQUIRE(link.session.next_time() > now);
    now = link.session.next_time();
    sent += link.session.poll(now).size();
  }
  CHECK(sent == 200 - static_cast<std::size_t>(link.session.counts().revivals));
  CHECK(link.session.counts().revivals > 1);
  link.session.restart(now);
  CHECK(link.session.next_time() == std::numeric_limits<double>::infinity());
  CHECK(link.session.submit(make_pose(2), now).empty());
  CHECK(link.session.next_time() > now + 2.0);
  CHECK(link.session.poll(link.session.next_time()).size() == 1);
}

TEST_CASE("a policy out of range is rejected by name") {
  SessionPolicy policy;
  policy.keep_alive = 2.0;
  CHECK_THROWS_WITH(Session(policy), Catch::Matchers::Matches("keep_alive = 2.*"));
  policy = {};
  policy.in_flight = 0;
  CHECK_THROWS_AS(Session(policy), std::invalid_argument);
  policy = {};
  policy.silence = 2.0;
  CHECK_THROWS_AS(Session(policy), std::invalid_argument);
  policy = {};
  policy.resend_after = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(Session(policy), std::invalid_argument);
}

}  // namespace test_render_session
