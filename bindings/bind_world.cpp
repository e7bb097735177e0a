#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "modules.hpp"
#include "propwash/world/collide.hpp"
#include "propwash/world/nearest.hpp"
#include "propwash/world/waypoints.hpp"
#include "scene_class.hpp"
#include "sensor_arrays.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

constexpr std::size_t many_rays = 256;

/// Calls f, without the GIL if n is large.
template <class F>
void without_gil(std::size_t n, const F& f) {
  if (n < many_rays) return f();
  const py::gil_scoped_release release;
  f();
}

double number_of(const py::handle& item, const char* field) {
  return item.attr(field).cast<double>();
}

Vec3<double> triple_of(const py::handle& item, const char* field) {
  return vec3_at(item.attr(field).cast<std::array<double, 3>>().data());
}

Mesh mesh_from(const py::handle& item) {
  const auto vertices = py::cast<Array>(item.attr("vertices"));
  using Indices = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;
  const auto triangles = py::cast<Indices>(item.attr("triangles"));
  Mesh mesh;
  for (py::ssize_t i = 0; i < vertices.shape(0); ++i) {
    mesh.vertices.push_back(vec3_at(vertices.data(i, 0)));
  }
  for (py::ssize_t i = 0; i < triangles.shape(0); ++i) {
    mesh.triangles.push_back({triangles.at(i, 0), triangles.at(i, 1), triangles.at(i, 2)});
  }
  return mesh;
}

Shape shape_from(const py::handle& item) {
  const auto kind = item.attr("shape").cast<std::string>();
  if (kind == "plane") return Plane{};
  if (kind == "box") return Box{vec3(item.attr("size"), "size", "m")};
  if (kind == "sphere") return Sphere{number_of(item, "radius")};
  if (kind == "cylinder") return Cylinder{number_of(item, "radius"), number_of(item, "height")};
  if (kind == "capsule") return Capsule{number_of(item, "radius"), number_of(item, "length")};
  if (kind == "mesh") return mesh_from(item);
  if (kind != "gate") {
    throw py::value_error("shape = '" + kind +
                          "': expected 'plane', 'box', 'sphere', 'cylinder', 'capsule', 'mesh' or "
                          "'gate'");
  }
  Gate gate;
  gate.width = number_of(item, "width");
  gate.height = number_of(item, "height");
  gate.border = number_of(item, "border");
  gate.depth = number_of(item, "depth");
  gate.marker_corners = item.attr("marker_corners").cast<std::array<int, 4>>();
  return gate;
}

/// Converts an item of propwash.world.
SceneItem item_from(const py::handle& item) {
  const auto q = item.attr("attitude").cast<std::array<double, 4>>();
  return {item.attr("name").cast<std::string>(),
          item.attr("category").cast<std::string>(),
          triple_of(item, "colour"),
          {triple_of(item, "position"), quat_at(q.data())},
          shape_from(item),
          !item.attr("motion").is_none()};
}

/// Poses from rows of position and attitude (n, 7). A row that is not finite is an absent body.
std::vector<Pose> poses_from(const Rows<double>& rows) {
  std::vector<Pose> poses;
  for (std::size_t i = 0; i < rows_of(rows); ++i) {
    const double* row = rows.data(static_cast<py::ssize_t>(i), 0);
    poses.push_back({vec3_at(row), unit_attitude(quat_at(row + 3))});
  }
  return poses;
}

/// Rows (n, 7) of position and attitude.
Array rows_from(const std::vector<Pose>& poses) {
  auto rows = new_array<double>(poses.size(), 7);
  double* to = rows.mutable_data();
  for (const auto& pose : poses) to = put(pose.attitude_WS, put(pose.position_W, to));
  return rows;
}

/// See PyScene::at. vehicle: an item of propwash.world, or None without vehicles.
PyScene scene_at(const PyScene& self, const Rows<double>& bodies, const Rows<double>& vehicles,
                 const py::object& vehicle) {
  return self.at(
      poses_from(bodies), poses_from(vehicles),
      vehicle.is_none() ? nullptr : std::make_shared<const SceneItem>(item_from(vehicle)));
}

/// World poses (n, 7) of the moving items, and of the vehicles after them.
Array placed_poses(const PyScene& self) {
  std::vector<Pose> poses;
  if (self.moving() != nullptr) {
    for (const auto& placed : self.moving()->items()) {
      poses.push_back(composed(placed.body, placed.item->pose));
    }
  }
  return rows_from(poses);
}

/// A motion through poses, rows (n, 7), at times.
Waypoints waypoints_from(const std::vector<double>& times, const Rows<double>& poses, bool repeat) {
  return {times, poses_from(poses), repeat};
}
Array waypoints_at(const Waypoints& self, double time) {
  const Pose pose = self(time);
  Array row(7);
  put(pose.attitude_WS, put(pose.position_W, row.mutable_data()));
  return row;
}

std::unique_ptr<PyScene> scene_from(const py::iterable& items, const py::iterable& markers,
                                    std::optional<std::size_t> max_triangles) {
  Scene scene;
  for (const auto& item : items) scene.add(item_from(item));
  for (const auto& marker : markers) {
    scene.add_marker({marker.attr("name").cast<std::string>(), triple_of(marker, "position")});
  }
  const auto max = max_triangles.value_or(std::numeric_limits<std::size_t>::max());
  return std::make_unique<PyScene>(std::move(scene), max);
}

/// Moves the markers of moving gates from the frames of their bodies to the world.
void place_markers(const MovingIndex& moving, std::vector<Marker>& markers) {
  for (const auto& placed : moving.items()) {
    const auto* const gate = std::get_if<Gate>(&placed.item->shape);
    if (gate == nullptr) continue;
    const auto of_gate =
        gate_markers(placed.item->name, composed(placed.body, placed.item->pose), *gate);
    for (auto& marker : markers) {
      for (const auto& each : of_gate) {
        if (each.name == marker.name) marker = each;
      }
    }
  }
}

/// Names, positions (m, 3), names of gates, and corners (m).
py::tuple markers_of(const PyScene& self) {
  auto markers = self.scene().markers();
  if (self.moving() != nullptr) place_markers(*self.moving(), markers);
  py::list names, gates;
  py::array_t<int> corners(static_cast<py::ssize_t>(markers.size()));
  int* corner = corners.mutable_data();
  for (const auto& marker : markers) {
    names.append(marker.name);
    gates.append(marker.gate);
    *corner++ = marker.corner;
  }
  const auto position = [&](std::size_t i) { return markers[i].position_W; };
  return py::make_tuple(names, filled_rows<double>(markers.size(), 3, position), gates, corners);
}

/// Casts rays from arrays that Python has checked.
template <class T>
py::tuple raycast_rows(const PyScene& self, const Rows<T>& origins, const Rows<T>& directions,
                       double max_range, bool normals, const MaybePool& pool) {
  const std::size_t size = rows_of(origins);
  auto distance = new_array<T>(size);
  auto id = new_array<std::int32_t>(size);
  std::optional<py::array_t<T>> normal;
  if (normals) normal = new_array<T>(size, 3);
  T* const to_normal = normals ? normal->mutable_data() : nullptr;
  without_gil(size, [&] {
    self.raycast(size, origins.data(), directions.data(), static_cast<T>(max_range),
                 distance.mutable_data(), id.mutable_data(), to_normal, executor_of(pool));
  });
  return py::make_tuple(distance, id, normal);
}

template <class T>
py::array_t<bool> visible_rows(const PyScene& self, const Rows<T>& start, const Rows<T>& end,
                               const MaybePool& pool) {
  const std::size_t size = rows_of(start);
  auto free = new_array<bool>(size);
  auto* const flags = reinterpret_cast<std::uint8_t*>(free.mutable_data());
  without_gil(size,
              [&] { self.visible(size, start.data(), end.data(), flags, executor_of(pool)); });
  return free;
}

/// Ids of the items that spheres touch, or boxes of `size` if there are attitudes. of_vehicles:
/// body i is vehicle i of the scene, which does not touch itself.
py::array_t<std::int32_t> collide_rows(const PyScene& self, const Array& positions,
                                       const std::optional<Array>& attitudes, double radius,
                                       const std::array<double, 3>& size, bool of_vehicles) {
  const auto n = static_cast<std::size_t>(positions.shape(0));
  auto ids = new_array<std::int32_t>(n);
  without_gil(n, [&] {
    for (std::size_t i = 0; i < n; ++i) {
      const auto view = self.view<double>(of_vehicles ? i : PyScene::no_vehicle);
      const auto at = vec3_at(positions.data(i, 0));
      ids.mutable_data()[i] =
          attitudes ? collide(view, Pose{at, normalized(quat_at(attitudes->data(i, 0)))},
                              vec3_at(size.data()))
                    : collide(view, at, radius);
    }
  });
  return ids;
}

/// Fractions of the paths of spheres at their first contacts, and ids of the items that they touch.
py::tuple spherecast_rows(const PyScene& self, const Array& start, const Array& end,
                          double radius) {
  const auto n = static_cast<std::size_t>(start.shape(0));
  auto fraction = new_array<double>(n);
  auto ids = new_array<std::int32_t>(n);
  const auto view = self.view<double>();
  without_gil(n, [&] {
    for (std::size_t i = 0; i < n; ++i) {
      const auto hit = spherecast(view, vec3_at(start.data(i, 0)), vec3_at(end.data(i, 0)), radius);
      fraction.mutable_data()[i] = hit.fraction;
      ids.mutable_data()[i] = hit.id;
    }
  });
  return py::make_tuple(fraction, ids);
}

/// Signed distances of points to their nearest items, derivatives (n, 3) and ids.
py::tuple nearest_rows(const PyScene& self, const Array& points, double reach,
                       const MaybePool& pool) {
  const auto n = static_cast<std::size_t>(points.shape(0));
  auto distance = new_array<double>(n), normal = new_array<double>(n, 3);
  auto ids = new_array<std::int32_t>(n);
  const auto view = self.view<double>();
  without_gil(n, [&] {
    PyScene::in_parts(n, executor_of(pool), [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) {
        const auto found = nearest(view, vec3_at(points.data(i, 0)), reach);
        distance.mutable_data()[i] = found.distance;
        ids.mutable_data()[i] = found.id;
        for (int k = 0; k < 3; ++k) {
          normal.mutable_data()[3 * i + static_cast<std::size_t>(k)] = found.normal_W[k];
        }
      }
    });
  });
  return py::make_tuple(distance, ids, normal);
}

template <class T>
void bind_rows(py::class_<PyScene>& scene, const std::string& number) {
  scene.def(("raycast_" + number).c_str(), &raycast_rows<T>, "origins"_a.noconvert(),
            "directions"_a.noconvert(), "max_range"_a, "normals"_a, "pool"_a);
  scene.def(("visible_" + number).c_str(), &visible_rows<T>, "start"_a.noconvert(),
            "end"_a.noconvert(), "pool"_a);
}

}  // namespace

void bind_world(py::module_& m) {
  py::class_<Waypoints>(m, "Waypoints", "See propwash.world.Waypoints.")
      .def(py::init(&waypoints_from), "times"_a, "poses"_a.noconvert(), "repeat"_a)
      .def("__call__", &waypoints_at, "time"_a);
  py::class_<PyScene> scene(m, "SceneIndex", "See propwash.Scene.");
  scene.def(py::init(&scene_from), "items"_a, "markers"_a, "max_triangles"_a = py::none())
      .def("markers", &markers_of)
      .def("at", &scene_at, "bodies"_a.noconvert(), "vehicles"_a.noconvert(), "vehicle"_a)
      .def("placed", &placed_poses)
      .def("collide", &collide_rows, "positions"_a, "attitudes"_a, "radius"_a, "size"_a,
           "of_vehicles"_a = false)
      .def("spherecast", &spherecast_rows, "start"_a.noconvert(), "end"_a.noconvert(), "radius"_a)
      .def("nearest", &nearest_rows, "points"_a.noconvert(), "reach"_a, "pool"_a);
  bind_rows<float>(scene, "float32");
  bind_rows<double>(scene, "float64");
}

}  // namespace propwash::bindings
