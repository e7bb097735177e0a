#pragma once
/// @file
/// An answer of a renderer as Python has it: its pictures are views of the frames that came.

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "arrays.hpp"
#include "propwash/render/messages.hpp"

namespace propwash::bindings {

/// A Python buffer, held for as long as this or a copy of `owner` lives.
struct HeldFrame {
  py::object owner;
  render::FrameView view;
};

/// Raises ValueError for what is no contiguous buffer.
HeldFrame held_frame(py::handle buffer, const std::string& name);
std::vector<HeldFrame> held_frames(const py::sequence& frames);
std::vector<render::FrameView> views_of(const std::vector<HeldFrame>& held);

/// An answer and the frames that its pictures lie in.
struct PyAnswer : render::Answer {
  std::vector<py::object> owners;  // one for each image
};

PyAnswer owned(render::Answer&& answer, const std::vector<HeldFrame>& held);

/// n rows of `columns` finite numbers; one row may come without its axis where n is 1. Raises
/// ValueError.
Array number_rows(py::handle value, const char* name, std::size_t rows, py::ssize_t columns);

void bind_render_pose(py::module_& m);
void bind_render_answer(py::module_& m);

}  // namespace propwash::bindings
