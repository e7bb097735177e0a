#include <pybind11/stl.h>

#include "arrays.hpp"
#include "modules.hpp"
#include "propwash/render/session.hpp"
#include "render_class.hpp"

namespace propwash::bindings {

namespace {

using render::PoseMessage;
using render::Session;

py::list messages_of(const Session::Messages& messages) {
  py::list list;
  for (const auto& message : messages) list.append(py::bytes(message));
  return list;
}

const char* state_name(render::SessionState state) {
  constexpr const char* names[] = {"idle", "starting", "running", "silent"};
  return names[static_cast<std::size_t>(state)];
}

py::dict counts_of(const Session& session) {
  using Counts = render::SessionCounts;
  constexpr std::pair<const char*, std::int64_t Counts::*> counted[] = {
      {"submitted", &Counts::submitted}, {"sent", &Counts::sent},
      {"resent", &Counts::resent},       {"kept_alive", &Counts::kept_alive},
      {"skipped", &Counts::skipped},     {"unanswered", &Counts::unanswered},
      {"received", &Counts::received},   {"repeated", &Counts::repeated},
      {"outdated", &Counts::outdated},   {"unknown", &Counts::unknown},
      {"faulty", &Counts::faulty},       {"incomplete", &Counts::incomplete},
      {"starts", &Counts::starts},       {"revivals", &Counts::revivals}};
  py::dict counts;
  for (const auto& [name, count] : counted) counts[name] = session.counts().*count;
  return counts;
}

std::optional<PyAnswer> received(Session& session, const py::sequence& frames, double now) {
  const auto held = held_frames(frames);
  const auto views = views_of(held);
  auto answer = session.receive(views.data(), views.size(), now);
  if (!answer) return std::nullopt;
  return owned(std::move(*answer), held);
}

void bind_session(py::module_& m) {
  py::class_<Session>(m, "RenderSession",
                      "Decides when to send which pose and which answers to accept.")
      .def(py::init([](int in_flight, double resend_after) {
             render::SessionPolicy policy;
             policy.in_flight = in_flight;
             policy.resend_after = resend_after;
             return Session(policy);
           }),
           py::kw_only(), "in_flight"_a, "resend_after"_a)
      .def(
          "submit",
          [](Session& self, const PoseMessage& pose, double now) {
            return messages_of(self.submit(pose, now));
          },
          "pose"_a, "now"_a)
      .def(
          "poll", [](Session& self, double now) { return messages_of(self.poll(now)); }, "now"_a)
      .def("receive", &received, "frames"_a, "now"_a)
      .def("renderer_connected", &Session::renderer_connected, "now"_a)
      .def("restart", &Session::restart, "now"_a)
      .def("next_time", &Session::next_time)
      .def_property_readonly("state", [](const Session& self) { return state_name(self.state()); })
      .def_property_readonly("counts", &counts_of)
      .def_property_readonly("in_flight", &Session::in_flight)
      .def_property_readonly("waiting", &Session::waiting);
}

}  // namespace

void bind_render(py::module_& m) {
  py::register_exception<render::ProtocolError>(m, "ProtocolError", PyExc_ValueError);
  bind_render_pose(m);
  bind_render_answer(m);
  bind_session(m);
  m.def(
      "decode_pose",
      [](const py::object& frame) { return decode_pose(held_frame(frame, "frame").view); },
      "frame"_a);
  m.def(
      "decode_answer",
      [](const py::sequence& frames) {
        const auto held = held_frames(frames);
        const auto views = views_of(held);
        return owned(render::decode_answer(views.data(), views.size()), held);
      },
      "frames"_a);
  m.attr("POSE_TOPIC") = py::bytes(render::pose_topic);
}

}  // namespace propwash::bindings
