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
  switch (state) {
    case render::SessionState::starting:
      return "starting";
    case render::SessionState::running:
      return "running";
    case render::SessionState::silent:
      return "silent";
    default:
      return "idle";
  }
}

py::dict counts_of(const Session& session) {
  const auto& c = session.counts();
  py::dict counts;
  counts["submitted"] = c.submitted;
  counts["sent"] = c.sent;
  counts["resent"] = c.resent;
  counts["kept_alive"] = c.kept_alive;
  counts["skipped"] = c.skipped;
  counts["unanswered"] = c.unanswered;
  counts["taken"] = c.taken;
  counts["repeated"] = c.repeated;
  counts["late"] = c.late;
  counts["unknown"] = c.unknown;
  counts["faulty"] = c.faulty;
  counts["half_done"] = c.half_done;
  counts["starts"] = c.starts;
  counts["revivals"] = c.revivals;
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
  const render::SessionPolicy usual;
  py::class_<Session>(m, "RenderSession", "Which pose to send when, and which answer to take.")
      .def(py::init([](int in_flight, int queue, double resend_after, double keep_alive,
                       double start_interval, double lost_after, double revive_after,
                       double silence) {
             return Session({in_flight, queue, resend_after, keep_alive, start_interval, lost_after,
                             revive_after, silence});
           }),
           py::kw_only(), py::arg("in_flight") = usual.in_flight, py::arg("queue") = usual.queue,
           py::arg("resend_after") = usual.resend_after, py::arg("keep_alive") = usual.keep_alive,
           py::arg("start_interval") = usual.start_interval,
           py::arg("lost_after") = usual.lost_after, py::arg("revive_after") = usual.revive_after,
           py::arg("silence") = usual.silence)
      .def(
          "submit",
          [](Session& self, const PoseMessage& pose, double now) {
            return messages_of(self.submit(pose, now));
          },
          py::arg("pose"), py::arg("now"))
      .def(
          "poll", [](Session& self, double now) { return messages_of(self.poll(now)); },
          py::arg("now"))
      .def("receive", &received, py::arg("frames"), py::arg("now"))
      .def("renderer_connected", &Session::renderer_connected, py::arg("now"))
      .def("restart", &Session::restart, py::arg("now"))
      .def("next_time", &Session::next_time)
      .def_property_readonly("state", [](const Session& self) { return state_name(self.state()); })
      .def_property_readonly("counts", &counts_of)
      .def_property_readonly("in_flight", &Session::in_flight)
      .def_property_readonly("waiting", &Session::waiting)
      .def_property_readonly("last_heard", &Session::last_heard)
      .def_property_readonly("pace", &Session::pace);
}

}  // namespace

void bind_render(py::module_& m) {
  py::register_exception<render::ProtocolError>(m, "ProtocolError", PyExc_ValueError);
  bind_render_pose(m);
  bind_render_answer(m);
  bind_session(m);
  m.def(
      "encode_pose", [](const PoseMessage& pose) { return py::bytes(encode_pose(pose)); },
      py::arg("pose"));
  m.def(
      "decode_pose",
      [](const py::object& frame) { return decode_pose(held_frame(frame, "frame").view); },
      py::arg("frame"));
  m.def(
      "decode_answer",
      [](const py::sequence& frames) {
        const auto held = held_frames(frames);
        const auto views = views_of(held);
        return owned(render::decode_answer(views.data(), views.size()), held);
      },
      py::arg("frames"));
  m.attr("POSE_TOPIC") = py::bytes(render::pose_topic);
}

}  // namespace propwash::bindings
