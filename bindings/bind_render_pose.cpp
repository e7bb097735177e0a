#include <pybind11/stl.h>

#include <array>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/images.hpp"
#include "render_class.hpp"

namespace propwash::bindings {

using render::CameraType;
using render::PoseMessage;
using render::RenderCamera;
using render::RenderObject;

Array number_rows(py::handle value, const char* name, std::size_t rows, py::ssize_t columns) {
  const auto n = static_cast<py::ssize_t>(rows);
  const std::string expected =
      "an array of shape (" + std::to_string(n) + ", " + std::to_string(columns) + ")";
  const Array array = finite_array(value, name, expected);
  const bool matrix = array.ndim() == 2 && array.shape(0) == n && array.shape(1) == columns;
  const bool single = n == 1 && array.ndim() == 1 && array.shape(0) == columns;
  if (!matrix && !single) refuse(name, expected, value);
  return array;
}

namespace {

/// The names of the camera types, by their number on the wire from -1 on.
constexpr std::array<const char*, 8> type_names = {
    "rgb", "instance", "semantic", "depth_compressed", "depth", "normals", "grey", "optical_flow"};

const char* type_name(CameraType type) {
  return type_names.at(static_cast<std::size_t>(static_cast<int>(type) + 1));
}

CameraType camera_type(py::handle value, const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < type_names.size(); ++i) {
    const int number = static_cast<int>(i) - 1;
    if (py::isinstance<py::str>(value) && value.cast<std::string>() == type_names[i]) {
      return static_cast<CameraType>(number);
    }
    if (py::isinstance<py::int_>(value) && value.equal(py::int_(number))) {
      return static_cast<CameraType>(number);
    }
    names += (i == 0 ? "" : ", ") + std::string(type_names[i]);
  }
  refuse(name, "a camera type (" + names + ")", value);
}

std::string string_of(py::handle value, const std::string& name) {
  if (!py::isinstance<py::str>(value)) refuse(name, "a string", value);
  return value.cast<std::string>();
}

bool flag_of(py::handle value, const std::string& name) {
  if (!PyBool_Check(value.ptr())) refuse(name, "True or False", value);
  return value.ptr() == Py_True;
}

py::dict dict_of(py::handle value, const std::string& name) {
  if (!py::isinstance<py::dict>(value)) refuse(name, "a dict", value);
  return py::reinterpret_borrow<py::dict>(value);
}

RenderCamera make_camera(py::handle value, const std::string& name) {
  RenderCamera camera;
  for (const auto& [key, entry] : dict_of(value, name)) {
    const auto field = string_of(key, name);
    const auto at = name + "." + field;
    if (field == "id")
      camera.id = string_of(entry, at);
    else if (field == "type")
      camera.type = camera_type(entry, at);
    else if (field == "position")
      camera.position_W = vec3(entry, at, "m");
    else if (field == "attitude")
      camera.attitude_WC = attitude(entry, at);
    else if (field == "collision_check")
      camera.collision_check = flag_of(entry, at);
    else if (field == "landmarks")
      camera.landmarks = flag_of(entry, at);
    else if (field == "render")
      camera.render = flag_of(entry, at);
    else if (field == "motion_blur")
      camera.motion_blur = finite_number(entry, at, "0 to 1");
    else
      refuse(name,
             "keys id, type, position, attitude, collision_check, landmarks, render, "
             "motion_blur",
             key);
  }
  return camera;
}

RenderObject make_object(py::handle value, const std::string& name) {
  RenderObject object;
  for (const auto& [key, entry] : dict_of(value, name)) {
    const auto field = string_of(key, name);
    const auto at = name + "." + field;
    if (field == "id")
      object.id = string_of(entry, at);
    else if (field == "prefab")
      object.prefab = string_of(entry, at);
    else if (field == "position")
      object.position_W = vec3(entry, at, "m");
    else if (field == "attitude")
      object.attitude_WO = attitude(entry, at);
    else if (field == "size")
      object.size = vec3(entry, at, "m");
    else
      refuse(name, "keys id, prefab, position, attitude, size", key);
  }
  return object;
}

PoseMessage make_pose(std::string scene, const py::list& cameras, const py::list& objects,
                      int width, int height, double vertical_fov_deg, double depth_scale,
                      std::string perturbation_file, std::int64_t ntime) {
  PoseMessage pose;
  pose.scene = std::move(scene);
  pose.width = width;
  pose.height = height;
  pose.vertical_fov_deg = vertical_fov_deg;
  pose.depth_scale = depth_scale;
  pose.perturbation_file = std::move(perturbation_file);
  pose.ntime = ntime;
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    pose.cameras.push_back(make_camera(cameras[i], "cameras[" + std::to_string(i) + "]"));
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    pose.objects.push_back(make_object(objects[i], "objects[" + std::to_string(i) + "]"));
  }
  validate(pose);
  return pose;
}

Array positions_of(py::handle value, const char* name, std::size_t rows) {
  return number_rows(value, name, rows, 3);
}

Array attitudes_of(py::handle value, const char* name, std::size_t rows) {
  const Array array = number_rows(value, name, rows, 4);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* q = array.data() + 4 * i;
    if (!(std::abs(squared_norm(Quat<double>{q[0], q[1], q[2], q[3]}) - 1.0) < 1e-3)) {
      refuse(name, "unit quaternions, (w, x, y, z)", value);
    }
  }
  return array;
}

Vec3<double> row3(const Array& array, std::size_t i) {
  const double* p = array.data() + 3 * i;
  return {p[0], p[1], p[2]};
}
Quat<double> row4(const Array& array, std::size_t i) {
  const double* q = array.data() + 4 * i;
  return {q[0], q[1], q[2], q[3]};
}

/// Everything is read before anything is written.
void place_parts(PoseMessage& pose, std::int64_t ntime, py::handle camera_position,
                 py::handle camera_attitude, py::handle object_position, py::handle object_attitude,
                 const std::optional<std::vector<bool>>& render) {
  const std::size_t cameras = pose.cameras.size();
  const std::size_t objects = pose.objects.size();
  const Array camera_p = positions_of(camera_position, "camera_position", cameras);
  const Array camera_q = attitudes_of(camera_attitude, "camera_attitude", cameras);
  if (object_position.is_none() != object_attitude.is_none()) {
    throw py::value_error("object_position, object_attitude: expected both or neither");
  }
  const bool moved = !object_position.is_none();
  const Array object_p =
      moved ? positions_of(object_position, "object_position", objects) : Array(0);
  const Array object_q =
      moved ? attitudes_of(object_attitude, "object_attitude", objects) : Array(0);
  if (render && render->size() != cameras) {
    throw py::value_error("render: expected one flag for each of " + std::to_string(cameras) +
                          " cameras, got " + std::to_string(render->size()));
  }
  if (ntime < 0) throw py::value_error("ntime: expected at least 0, got " + std::to_string(ntime));
  pose.ntime = ntime;
  for (std::size_t i = 0; i < cameras; ++i) {
    pose.cameras[i].position_W = row3(camera_p, i);
    pose.cameras[i].attitude_WC = row4(camera_q, i);
    if (render) pose.cameras[i].render = (*render)[i];
  }
  for (std::size_t i = 0; moved && i < objects; ++i) {
    pose.objects[i].position_W = row3(object_p, i);
    pose.objects[i].attitude_WO = row4(object_q, i);
  }
}

double* put_numbers(const Vec3<double>& v, double* to) {
  for (int i = 0; i < 3; ++i) *to++ = v[i];
  return to;
}
double* put_numbers(const Quat<double>& q, double* to) {
  for (const double number : {q.w, q.x, q.y, q.z}) *to++ = number;
  return to;
}

py::list cameras_of(const PoseMessage& pose) {
  py::list list;
  for (const auto& camera : pose.cameras) {
    py::dict entry;
    entry["id"] = camera.id;
    entry["type"] = type_name(camera.type);
    entry["position"] = to_array(camera.position_W);
    entry["attitude"] = to_array(camera.attitude_WC);
    entry["collision_check"] = camera.collision_check;
    entry["landmarks"] = camera.landmarks;
    entry["render"] = camera.render;
    entry["motion_blur"] = camera.motion_blur;
    list.append(entry);
  }
  return list;
}

/// (channels, bytes a pixel) of each camera's picture in an answer.
std::vector<std::pair<int, int>> image_layouts(const PoseMessage& pose) {
  std::vector<std::pair<int, int>> layouts;
  for (const auto& camera : pose.cameras) {
    const auto layout = render::image_layout(camera.type, camera.has_shader_type);
    layouts.emplace_back(layout.channels, layout.bytes_per_pixel);
  }
  return layouts;
}

py::list objects_of(const PoseMessage& pose) {
  py::list list;
  for (const auto& object : pose.objects) {
    py::dict entry;
    entry["id"] = object.id;
    entry["prefab"] = object.prefab;
    entry["position"] = to_array(object.position_W);
    entry["attitude"] = to_array(object.attitude_WO);
    entry["size"] = to_array(object.size);
    list.append(entry);
  }
  return list;
}

}  // namespace

void bind_render_pose(py::module_& m) {
  py::class_<PoseMessage>(m, "PoseMessage", "What a renderer is asked for.")
      .def(py::init(&make_pose), py::arg("scene"), py::arg("cameras"),
           py::arg("objects") = py::list(), py::kw_only(), py::arg("width") = 1024,
           py::arg("height") = 768, py::arg("vertical_fov_deg") = 70.0,
           py::arg("depth_scale") = 0.2, py::arg("perturbation_file") = "", py::arg("ntime") = 0)
      .def("place", &place_parts, py::arg("ntime"), py::arg("camera_position"),
           py::arg("camera_attitude"), py::arg("object_position") = py::none(),
           py::arg("object_attitude") = py::none(), py::arg("render") = py::none())
      .def("encode", [](const PoseMessage& self) { return py::bytes(encode_pose(self)); })
      .def_readonly("ntime", &PoseMessage::ntime)
      .def_readonly("scene", &PoseMessage::scene)
      .def_readonly("perturbation_file", &PoseMessage::perturbation_file)
      .def_readonly("width", &PoseMessage::width)
      .def_readonly("height", &PoseMessage::height)
      .def_readonly("vertical_fov_deg", &PoseMessage::vertical_fov_deg)
      .def_readonly("depth_scale", &PoseMessage::depth_scale)
      .def_property_readonly("cameras", &cameras_of)
      .def_property_readonly("image_layouts", &image_layouts)
      .def_property_readonly("objects", &objects_of)
      .def_property_readonly("camera_position",
                             [](const PoseMessage& self) {
                               return stacked_rows(self.cameras, 3, [](const auto& c, double* to) {
                                 return put_numbers(c.position_W, to);
                               });
                             })
      .def_property_readonly("camera_attitude",
                             [](const PoseMessage& self) {
                               return stacked_rows(self.cameras, 4, [](const auto& c, double* to) {
                                 return put_numbers(normalized(c.attitude_WC), to);
                               });
                             })
      .def_property_readonly("object_position",
                             [](const PoseMessage& self) {
                               return stacked_rows(self.objects, 3, [](const auto& o, double* to) {
                                 return put_numbers(o.position_W, to);
                               });
                             })
      .def_property_readonly("object_attitude", [](const PoseMessage& self) {
        return stacked_rows(self.objects, 4, [](const auto& o, double* to) {
          return put_numbers(normalized(o.attitude_WO), to);
        });
      });
}

}  // namespace propwash::bindings
