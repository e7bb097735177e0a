#include <pybind11/stl.h>

#include <array>

#include "arrays.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/frames.hpp"
#include "propwash/render/images.hpp"
#include "render_class.hpp"

namespace propwash::bindings {

using render::Answer;
using render::FrameView;

HeldFrame held_frame(py::handle buffer, const std::string& name) {
  PyObject* memory = PyMemoryView_FromObject(buffer.ptr());
  if (memory == nullptr) {
    PyErr_Clear();
    refuse(name, "bytes or another buffer", buffer);
  }
  HeldFrame frame{py::reinterpret_steal<py::object>(memory), {}};
  const Py_buffer* held = PyMemoryView_GET_BUFFER(memory);
  if (PyBuffer_IsContiguous(held, 'C') == 0) refuse(name, "a contiguous buffer", buffer);
  frame.view = {held->buf, static_cast<std::size_t>(held->len)};
  return frame;
}

std::vector<HeldFrame> held_frames(const py::sequence& frames) {
  std::vector<HeldFrame> held;
  held.reserve(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    held.push_back(held_frame(frames[i], "frames[" + std::to_string(i) + "]"));
  }
  return held;
}

std::vector<FrameView> views_of(const std::vector<HeldFrame>& held) {
  std::vector<FrameView> views;
  views.reserve(held.size());
  for (const auto& frame : held) views.push_back(frame.view);
  return views;
}

PyAnswer owned(Answer&& answer, const std::vector<HeldFrame>& held) {
  PyAnswer result{std::move(answer), {}};
  for (std::size_t i = 1; i < held.size(); ++i) result.owners.push_back(held[i].owner);
  return result;
}

namespace {

/// A read-only view of an image in its frame, top row first.
py::object image_of(const PyAnswer& self, std::size_t i) {
  const auto& image = self.images[i];
  const py::ssize_t pixel = image.bytes_per_pixel;
  std::vector<py::ssize_t> shape{self.height, self.width};
  if (pixel == 3) shape.push_back(3);
  const py::array rows(py::dtype(pixel == 2 ? "<u2" : "u1"), shape, image.bytes.data,
                       self.owners[i]);
  rows.attr("setflags")("write"_a = false);
  return rows[py::slice(std::nullopt, std::nullopt, -1)];
}

py::dict images_of(const PyAnswer& self) {
  py::dict images;
  for (std::size_t i = 0; i < self.images.size(); ++i) {
    images[py::str(self.images[i].camera)] = image_of(self, i);
  }
  return images;
}

py::list landmark_ids(const PyAnswer& self) {
  py::list ids;
  for (const auto& landmark : self.landmarks) ids.append(landmark.id);
  return ids;
}

py::array_t<double> landmark_positions(const PyAnswer& self) {
  return filled_rows<double>(self.landmarks.size(), 3,
                             [&](std::size_t i) { return self.landmarks[i].position; });
}

py::array_t<double> landmark_pixels(const PyAnswer& self) {
  return filled_rows<double>(self.landmarks.size(), 2, [&](std::size_t i) {
    const auto pixel = render::landmark_pixel(self.landmarks[i].position, self.width, self.height);
    return std::array<double, 2>{pixel.u, pixel.v};
  });
}

py::bytes encoded_answer(std::int64_t ntime, int width, int height,
                         const std::vector<std::string>& camera_ids,
                         const std::vector<int>& channels,
                         const std::optional<std::vector<int>>& camera_indexes, bool collision,
                         const std::vector<std::string>& landmark_ids, py::handle landmark_position,
                         std::optional<double> range, double depth_scale) {
  if (channels.size() != camera_ids.size() ||
      (camera_indexes && camera_indexes->size() != camera_ids.size())) {
    throw py::value_error("channels, camera_indexes: expected one entry for each of camera_ids");
  }
  Answer answer{ntime, width, height, depth_scale, {}, collision, {}, range, 0.0};
  for (std::size_t i = 0; i < camera_ids.size(); ++i) {
    const int index = camera_indexes ? (*camera_indexes)[i] : static_cast<int>(i);
    answer.images.push_back({camera_ids[i], index, channels[i], 3, {}});
  }
  if (!landmark_ids.empty()) {
    const Array positions =
        number_rows(landmark_position, "landmark_position", landmark_ids.size(), 3);
    for (std::size_t i = 0; i < landmark_ids.size(); ++i) {
      answer.landmarks.push_back({landmark_ids[i], vec3_at(positions.data() + 3 * i)});
    }
  }
  return py::bytes(encode_answer(answer));
}

/// The luma (h, w) of an RGB image (h, w, 3).
py::array_t<std::uint8_t> luma_of(const py::array_t<std::uint8_t>& image) {
  if (image.ndim() != 3 || image.shape(2) != 3) {
    refuse("image", "an image of shape (height, width, 3), uint8", image);
  }
  const auto from = image.unchecked<3>();
  py::array_t<std::uint8_t> grey({image.shape(0), image.shape(1)});
  std::uint8_t* to = grey.mutable_data();
  for (py::ssize_t v = 0; v < image.shape(0); ++v) {
    for (py::ssize_t u = 0; u < image.shape(1); ++u) {
      *to++ = render::luma(from(v, u, 0), from(v, u, 1), from(v, u, 2));
    }
  }
  return grey;
}

}  // namespace

void bind_render_answer(py::module_& m) {
  py::class_<PyAnswer>(m, "RenderAnswer", "Answer of a renderer to a pose message.")
      .def_readonly("ntime", &PyAnswer::ntime)
      .def_readonly("width", &PyAnswer::width)
      .def_readonly("height", &PyAnswer::height)
      .def_readonly("depth_scale", &PyAnswer::depth_scale)
      .def_property_readonly("images", &images_of)
      .def_readonly("collision", &PyAnswer::collision)
      .def_readonly("range", &PyAnswer::range)
      .def_property_readonly("landmark_ids", &landmark_ids)
      .def_property_readonly("landmark_position", &landmark_positions)
      .def_property_readonly("landmark_pixel", &landmark_pixels)
      .def_readonly("latency", &PyAnswer::latency)
      .def_property_readonly("incomplete", &PyAnswer::incomplete);
  m.def("encode_answer", &encoded_answer, "ntime"_a, "width"_a, "height"_a, "camera_ids"_a,
        "channels"_a, py::kw_only(), "camera_indexes"_a = py::none(), "collision"_a = false,
        "landmark_ids"_a = py::list(), "landmark_position"_a = py::none(), "range"_a = py::none(),
        "depth_scale"_a = 0.0);
  m.def("luma", &luma_of, "image"_a);
}

}  // namespace propwash::bindings
