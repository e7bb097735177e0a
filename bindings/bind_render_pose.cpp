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
  if (n == 1 && array.ndim() == 1 && array.shape(0) == columns) return array;
  return shaped_array(value, name, expected, {n, columns});
}

namespace {

/// Names of the camera types in the order of their numbers in the protocol, which start at -1.
constexpr std::array<const char*, 8> type_names = {
    "rgb", "instance", "semantic", "depth_compressed", "depth", "normals", "grey", "optical_flow"};

const char* type_name(CameraType type) {
  return type_names.at(static_cast<std::size_t>(static_cast<int>(type) + 1));
}

/// Converts a name or a number.
CameraType camera_type(py::handle value) {
  std::string names;
  for (std::size_t i = 0; i < type_names.size(); ++i) {
    const int number = static_cast<int>(i) - 1;
    if (value.equal(py::str(type_names[i])) || value.equal(py::int_(number))) {
      return static_cast<CameraType>(number);
    }
    names += (i == 0 ? "" : ", ") + std::string(type_names[i]);
  }
  refuse("type", "a camera type (" + names + ")", value);
}

/// Creates items from dicts of the arguments of their constructor.
template <class Item>
std::vector<Item> items_from(const py::list& dicts) {
  std::vector<Item> items;
  for (const auto& dict : dicts) {
    items.push_back(py::type::of<Item>()(**dict.cast<py::dict>()).template cast<Item>());
  }
  return items;
}

PoseMessage make_pose(const std::string& scene, const py::list& cameras, const py::list& objects,
                      int width, int height, double vertical_fov_deg, double depth_scale,
                      const std::string& perturbation_file, std::int64_t ntime) {
  const auto views = items_from<RenderCamera>(cameras);
  const auto bodies = items_from<RenderObject>(objects);
  PoseMessage pose{ntime, scene, perturbation_file, width, height, vertical_fov_deg, depth_scale,
                   views, bodies};
  validate(pose);
  return pose;
}

Array attitudes_of(py::handle value, const char* name, std::size_t rows) {
  const Array array = number_rows(value, name, rows, 4);
  for (std::size_t i = 0; i < rows; ++i) {
    if (!(std::abs(squared_norm(quat_at(array.data() + 4 * i)) - 1.0) < 1e-3)) {
      refuse(name, "unit quaternions, (w, x, y, z)", value);
    }
  }
  return array;
}

/// Checks all arguments before it changes the message.
void place_parts(PoseMessage& pose, std::int64_t ntime, py::handle camera_position,
                 py::handle camera_attitude, py::handle object_position, py::handle object_attitude,
                 const std::optional<std::vector<bool>>& render,
                 const std::optional<std::vector<double>>& motion_blur) {
  const std::size_t cameras = pose.cameras.size();
  const std::size_t objects = pose.objects.size();
  const Array camera_p = number_rows(camera_position, "camera_position", cameras, 3);
  const Array camera_q = attitudes_of(camera_attitude, "camera_attitude", cameras);
  if (object_position.is_none() != object_attitude.is_none()) {
    throw py::value_error("object_position, object_attitude: expected both or neither");
  }
  const bool moved = !object_position.is_none();
  const Array object_p =
      moved ? number_rows(object_position, "object_position", objects, 3) : Array(0);
  const Array object_q =
      moved ? attitudes_of(object_attitude, "object_attitude", objects) : Array(0);
  if (render && render->size() != cameras) {
    throw py::value_error("render: expected one flag for each of " + std::to_string(cameras) +
                          " cameras, got " + std::to_string(render->size()));
  }
  if (motion_blur && motion_blur->size() != cameras) {
    throw py::value_error("motion_blur: expected one number for each of " +
                          std::to_string(cameras) + " cameras, got " +
                          std::to_string(motion_blur->size()));
  }
  if (ntime < 0) throw py::value_error("ntime: expected at least 0, got " + std::to_string(ntime));
  pose.ntime = ntime;
  for (std::size_t i = 0; i < cameras; ++i) {
    pose.cameras[i].position_W = vec3_at(camera_p.data() + 3 * i);
    pose.cameras[i].attitude_WC = quat_at(camera_q.data() + 4 * i);
    if (render) pose.cameras[i].render = (*render)[i];
    if (motion_blur) pose.cameras[i].motion_blur = (*motion_blur)[i];
  }
  for (std::size_t i = 0; moved && i < objects; ++i) {
    pose.objects[i].position_W = vec3_at(object_p.data() + 3 * i);
    pose.objects[i].attitude_WO = quat_at(object_q.data() + 4 * i);
  }
}

/// (channels, bytes per pixel) of each camera's image in an answer.
std::vector<std::pair<int, int>> image_layouts(const PoseMessage& pose) {
  std::vector<std::pair<int, int>> layouts;
  for (const auto& camera : pose.cameras) {
    const auto layout = render::image_layout(camera.type, camera.has_shader_type);
    layouts.emplace_back(layout.channels, layout.bytes_per_pixel);
  }
  return layouts;
}

/// Getter of an attribute that is a vector or a quaternion.
template <class Item, class Value>
auto array_of(Value Item::* value) {
  return [=](const Item& item) { return to_array(item.*value); };
}
void bind_items(py::module_& m) {
  const auto nowhere = py::make_tuple(0.0, 0.0, 0.0);
  const auto level = py::make_tuple(1.0, 0.0, 0.0, 0.0);
  py::class_<RenderCamera>(m, "PoseCamera", "A camera of a PoseMessage.")
      .def(py::init([](std::string id, const py::object& type, const py::object& position,
                       const py::object& orientation, bool collision_check, bool landmarks,
                       bool render, double motion_blur) {
             return RenderCamera{std::move(id),
                                 camera_type(type),
                                 vec3(position, "position", "m"),
                                 attitude(orientation, "attitude"),
                                 collision_check,
                                 landmarks,
                                 render,
                                 motion_blur};
           }),
           py::kw_only(), "id"_a, "type"_a = "rgb", "position"_a = nowhere, "attitude"_a = level,
           "collision_check"_a = false, "landmarks"_a = false, "render"_a = true,
           "motion_blur"_a = 0.0)
      .def_readonly("id", &RenderCamera::id)
      .def_property_readonly("type", [](const RenderCamera& c) { return type_name(c.type); })
      .def_property_readonly("position", array_of(&RenderCamera::position_W))
      .def_property_readonly("attitude", array_of(&RenderCamera::attitude_WC))
      .def_readonly("collision_check", &RenderCamera::collision_check)
      .def_readonly("landmarks", &RenderCamera::landmarks)
      .def_readonly("render", &RenderCamera::render)
      .def_readonly("motion_blur", &RenderCamera::motion_blur);
  py::class_<RenderObject>(m, "PoseObject", "A body of a PoseMessage.")
      .def(py::init([](std::string id, std::string prefab, const py::object& position,
                       const py::object& orientation, const py::object& size) {
             return RenderObject{std::move(id), std::move(prefab), vec3(position, "position", "m"),
                                 attitude(orientation, "attitude"), vec3(size, "size", "m")};
           }),
           py::kw_only(), "id"_a, "prefab"_a = "", "position"_a = nowhere, "attitude"_a = level,
           "size"_a = py::make_tuple(1.0, 1.0, 1.0))
      .def_readonly("id", &RenderObject::id)
      .def_readonly("prefab", &RenderObject::prefab)
      .def_property_readonly("position", array_of(&RenderObject::position_W))
      .def_property_readonly("attitude", array_of(&RenderObject::attitude_WO))
      .def_property_readonly("size", array_of(&RenderObject::size));
}

}  // namespace

void bind_render_pose(py::module_& m) {
  bind_items(m);
  py::class_<PoseMessage>(m, "PoseMessage", "Message that requests images of a renderer.")
      .def(py::init(&make_pose), "scene"_a, "cameras"_a, "objects"_a = py::list(), py::kw_only(),
           "width"_a = 1024, "height"_a = 768, "vertical_fov_deg"_a = 70.0, "depth_scale"_a = 0.2,
           "perturbation_file"_a = "", "ntime"_a = 0)
      .def("place", &place_parts, "ntime"_a, "camera_position"_a, "camera_attitude"_a,
           "object_position"_a = py::none(), "object_attitude"_a = py::none(),
           "render"_a = py::none(), "motion_blur"_a = py::none())
      .def("encode", [](const PoseMessage& self) { return py::bytes(encode_pose(self)); })
      .def_readonly("ntime", &PoseMessage::ntime)
      .def_readonly("scene", &PoseMessage::scene)
      .def_readonly("width", &PoseMessage::width)
      .def_readonly("height", &PoseMessage::height)
      .def_readonly("vertical_fov_deg", &PoseMessage::vertical_fov_deg)
      .def_readonly("depth_scale", &PoseMessage::depth_scale)
      .def_property_readonly("cameras", [](const PoseMessage& self) { return self.cameras; })
      .def_property_readonly("image_layouts", &image_layouts)
      .def_property_readonly("objects", [](const PoseMessage& self) { return self.objects; });
}

}  // namespace propwash::bindings
