#pragma once
/// @file
/// An answer of a renderer for Python: its images are views of the received frames.

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "arrays.hpp"
#include "propwash/render/messages.hpp"

namespace propwash::bindings {

/// A Python buffer, kept alive by `owner` and copies of it.
struct HeldFrame {
  py::object owner;
  render::FrameView view;
};

/// Raises ValueError for anything but a contiguous buffer.
HeldFrame held_frame(py::handle buffer, const std::string& name);
std::vector<HeldFrame> held_frames(const py::sequence& frames);
std::vector<render::FrameView> views_of(const std::vector<HeldFrame>& held);

/// An answer and the frames that contain its images.
struct PyAnswer : render::Answer {
  std::vector<py::object> owners;  // one owner for each image
};

PyAnswer owned(render::Answer&& answer, const std::vector<HeldFrame>& held);

/// n rows of `columns` finite numbers. If n is 1, the shape (columns,) is also accepted. Raises
/// ValueError.
Array number_rows(py::handle value, const char* name, std::size_t rows, py::ssize_t columns);

void bind_render_pose(py::module_& m);
void bind_render_answer(py::module_& m);

}  // namespace propwash::bindings
