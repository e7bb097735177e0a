#include <pybind11/stl.h>

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

/// A picture where it lies: read-only, the first row the top one.
py::array image_of(const PyAnswer& self, std::size_t i) {
  const auto& image = self.answer.images[i];
  const py::ssize_t height = self.answer.height;
  const py::ssize_t width = self.answer.width;
  const py::ssize_t pixel = image.bytes_per_pixel;
  const py::ssize_t row = width * pixel;
  const auto* top = static_cast<const char*>(image.bytes.data) + (height - 1) * row;
  const bool wide = pixel == 2;
  std::vector<py::ssize_t> shape{height, width};
  std::vector<py::ssize_t> strides{-row, pixel};
  if (pixel == 3) {
    shape.push_back(3);
    strides.push_back(1);
  }
  py::array array(py::dtype(wide ? "<u2" : "u1"), shape, strides, top, self.owners[i]);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::dict images_of(const PyAnswer& self) {
  py::dict images;
  for (std::size_t i = 0; i < self.answer.images.size(); ++i) {
    images[py::str(self.answer.images[i].camera)] = image_of(self, i);
  }
  return images;
}

py::dict channels_of(const PyAnswer& self) {
  py::dict channels;
  for (const auto& image : self.answer.images) channels[py::str(image.camera)] = image.channels;
  return channels;
}

py::list landmark_ids(const PyAnswer& self) {
  py::list ids;
  for (const auto& landmark : self.answer.landmarks) ids.append(landmark.id);
  return ids;
}

Array landmark_positions(const PyAnswer& self) {
  return stacked_rows(self.answer.landmarks, 3, [](const auto& landmark, double* to) {
    const auto& p = landmark.position;
    for (int i = 0; i < 3; ++i) *to++ = p[i];
    return to;
  });
}

Array landmark_pixels(const PyAnswer& self) {
  return stacked_rows(self.answer.landmarks, 2, [&](const auto& landmark, double* to) {
    const auto pixel =
        render::landmark_pixel(landmark.position, self.answer.width, self.answer.height);
    *to++ = pixel.u;
    *to++ = pixel.v;
    return to;
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
    throw py::value_error("channels, camera_indexes: expected one for each of camera_ids");
  }
  Answer answer;
  answer.ntime = ntime;
  answer.width = width;
  answer.height = height;
  answer.collision = collision;
  answer.range = range;
  answer.depth_scale = depth_scale;
  for (std::size_t i = 0; i < camera_ids.size(); ++i) {
    const int index = camera_indexes ? (*camera_indexes)[i] : static_cast<int>(i);
    answer.images.push_back({camera_ids[i], index, channels[i], 3, {}});
  }
  if (!landmark_ids.empty()) {
    const Array positions =
        number_rows(landmark_position, "landmark_position", landmark_ids.size(), 3);
    for (std::size_t i = 0; i < landmark_ids.size(); ++i) {
      const double* p = positions.data() + 3 * i;
      answer.landmarks.push_back({landmark_ids[i], {p[0], p[1], p[2]}});
    }
  }
  return py::bytes(encode_answer(answer));
}

/// A new (h, w) picture: the luma of an RGB one.
py::array_t<std::uint8_t> luma_of(const py::array_t<std::uint8_t>& image) {
  if (image.ndim() != 3 || image.shape(2) != 3) {
    refuse("image", "a picture of shape (height, width, 3), uint8", image);
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
  py::class_<PyAnswer>(m, "RenderAnswer", "What a renderer sent for a pose.")
      .def_property_readonly("ntime", [](const PyAnswer& self) { return self.answer.ntime; })
      .def_property_readonly("width", [](const PyAnswer& self) { return self.answer.width; })
      .def_property_readonly("height", [](const PyAnswer& self) { return self.answer.height; })
      .def_property_readonly("depth_scale",
                             [](const PyAnswer& self) { return self.answer.depth_scale; })
      .def_property_readonly("images", &images_of)
      .def_property_readonly("channels", &channels_of)
      .def_property_readonly("collision",
                             [](const PyAnswer& self) { return self.answer.collision; })
      .def_property_readonly("range", [](const PyAnswer& self) { return self.answer.range; })
      .def_property_readonly("landmark_ids", &landmark_ids)
      .def_property_readonly("landmark_position", &landmark_positions)
      .def_property_readonly("landmark_pixel", &landmark_pixels)
      .def_property_readonly("latency", [](const PyAnswer& self) { return self.answer.latency; })
      .def_property_readonly("half_done",
                             [](const PyAnswer& self) { return self.answer.half_done(); });
  m.def("encode_answer", &encoded_answer, py::arg("ntime"), py::arg("width"), py::arg("height"),
        py::arg("camera_ids"), py::arg("channels"), py::kw_only(),
        py::arg("camera_indexes") = py::none(), py::arg("collision") = false,
        py::arg("landmark_ids") = py::list(), py::arg("landmark_position") = py::none(),
        py::arg("range") = py::none(), py::arg("depth_scale") = 0.0);
  m.def("luma", &luma_of, py::arg("image"));
}

}  // namespace propwash::bindings
