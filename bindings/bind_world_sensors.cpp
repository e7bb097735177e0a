#include "modules.hpp"
#include "propwash/world/beacons.hpp"
#include "propwash/world/depth_camera.hpp"
#include "propwash/world/range_finder.hpp"
#include "scene_class.hpp"
#include "sensor_arrays.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

/// Calls f(range) for each piece of n bodies, on the threads of the pool and without the GIL.
template <class F>
void in_pieces(std::size_t n, std::size_t piece, const MaybePool& pool, const F& f) {
  const py::gil_scoped_release release;
  executor_of(pool)((n + piece - 1) / piece,
                    [&](std::size_t i) { f(PoseRange{i * piece, std::min(n, (i + 1) * piece)}); });
}

template <class T>
Poses<T> poses_of(const Rows<T>& position, const Rows<T>& attitude) {
  return {position.data(), attitude.data()};
}

/// The number of bodies that are measured together: one, if each has another view of the scene.
std::size_t piece_of(const PyScene& scene, std::size_t count) {
  return scene.has_vehicles() ? 1 : count;
}

/// Adapts PyScene::raycast() to the signature that the sensors expect, for a piece of the bodies.
template <class T>
auto caster(const PyScene& scene, PoseRange range) {
  return [&scene, range](std::size_t n, const T* origins, const T* directions, T max_range,
                         T* distance) {
    thread_local std::vector<std::int32_t> ids;
    if (ids.size() < n) ids.resize(n);
    scene.raycast(n, origins, directions, max_range, distance, ids.data(), static_cast<T*>(nullptr),
                  {}, range.first);
  };
}

/// Optics, and one mounting pose for all bodies or one for each.
class CameraRig {
 public:
  CameraRig(double width, double height, double focal, const Rows<double>& position,
            const Rows<double>& attitude, const std::array<double, 4>& lens)
      : optics_{width,
                height,
                focal,
                {},
                Quat<double>::identity(),
                make_distortion(lens[0], lens[1], lens[2], lens[3])} {
    const std::size_t count = std::max(rows_of(position), rows_of(attitude));
    for (std::size_t i = 0; i < count; ++i) {
      Camera<double> camera = optics_;
      camera.position = vector_at(position, rows_of(position) == 1 ? 0 : i);
      camera.attitude = quaternion_at(attitude, rows_of(attitude) == 1 ? 0 : i);
      cameras_.push_back(camera);
    }
  }

  const Camera<double>& optics() const { return optics_; }
  std::size_t count() const { return cameras_.size(); }
  template <class T>
  Camera<T> at(std::size_t i) const {
    return cast<T>(cameras_[cameras_.size() == 1 ? 0 : i]);
  }
  template <class T>
  const std::vector<Vec3<T>>& rays() {
    auto& rays = std::get<std::vector<Vec3<T>>>(rays_);
    if (rays.empty()) rays = pixel_rays<T>(optics_);
    return rays;
  }

 private:
  Camera<double> optics_;
  std::vector<Camera<double>> cameras_;
  std::tuple<std::vector<Vec3<float>>, std::vector<Vec3<double>>> rays_;
};

/// One vector for each row.
std::vector<Vec3<double>> vectors_of(const Rows<double>& rows) {
  std::vector<Vec3<double>> vectors;
  for (std::size_t i = 0; i < rows_of(rows); ++i) vectors.push_back(vector_at(rows, i));
  return vectors;
}
struct Finder {
  RangeFinderParameters<double> parameters;
  std::vector<Vec3<double>> rays;
};

template <class T>
py::array measure_range(const PyScene& scene, const Finder& finder, const Rows<T>& position,
                        const Rows<T>& attitude, const SampleNoise& noise, const MaybePool& pool) {
  const auto& p = finder.parameters;
  const RangeFinderParameters<T> parameters{static_cast<T>(p.max_range), static_cast<T>(p.variance),
                                            cast<T>(p.position)};
  std::vector<Vec3<T>> rays;
  for (const auto& ray : finder.rays) rays.push_back(cast<T>(ray));
  auto readings = new_array<T>(rows_of(position), rays.size());
  T* to = readings.mutable_data();
  const auto poses = poses_of(position, attitude);
  in_pieces(rows_of(position), piece_of(scene, 256), pool, [&](PoseRange range) {
    measure_ranges(parameters, rays, poses, range, noise, caster<T>(scene, range), to);
  });
  return readings;
}

template <class T>
py::tuple measure_beacons_of(const PyScene& scene, const CameraRig& cameras,
                             const Rows<double>& positions, const Rows<T>& position,
                             const Rows<T>& attitude, double deviation, double reach,
                             double miss_rate, const SampleNoise& noise, const MaybePool& pool) {
  const BeaconParameters<T> parameters{static_cast<T>(deviation), static_cast<T>(reach),
                                       static_cast<T>(miss_rate)};
  const Markers<T> markers(vectors_of(positions));
  const std::size_t n = rows_of(position), m = rows_of(positions);
  auto u = new_array<T>(n, m), v = new_array<T>(n, m);
  auto visible = new_array<bool>(n, m);
  const BeaconReadings<T> readings{u.mutable_data(), v.mutable_data(), visible.mutable_data()};
  const auto poses = poses_of(position, attitude);
  const auto camera_of = [&](std::size_t i) { return cameras.at<T>(i); };
  in_pieces(n, piece_of(scene, 256), pool, [&](PoseRange range) {
    const auto see = [&](std::size_t count, const T* from, const T* to, std::uint8_t* flags) {
      scene.visible(count, from, to, flags, {}, range.first);
    };
    measure_beacons(camera_of, markers, poses, range, noise, parameters, see, readings);
  });
  return py::make_tuple(u, v, visible);
}

template <class T>
py::array measure_depth_of(const PyScene& scene, CameraRig& cameras, double max_depth,
                           double deviation, const StereoError<double>& stereo,
                           const Rows<T>& position, const Rows<T>& attitude,
                           const SampleNoise& noise, const MaybePool& pool) {
  const DepthParameters<T> parameters{static_cast<T>(max_depth), static_cast<T>(deviation),
                                      cast<T>(stereo)};
  const auto& optics = cameras.optics();
  py::array_t<T> images({position.shape(0), static_cast<py::ssize_t>(optics.height),
                         static_cast<py::ssize_t>(optics.width)});
  T* to = images.mutable_data();
  const auto& rays = cameras.rays<T>();
  const auto poses = poses_of(position, attitude);
  const auto camera_of = [&](std::size_t i) { return cameras.at<T>(i); };
  // in chunks of some 10 ms, with a check for Ctrl-C after each
  const std::size_t n = rows_of(position);
  const std::size_t at_once = std::max<std::size_t>(16, 1'000'000 / rays.size());
  for (std::size_t first = 0; first < n; first += at_once) {
    const std::size_t count = std::min(at_once, n - first);
    const std::size_t piece = piece_of(scene, std::max<std::size_t>(1, count / 16));
    in_pieces(count, piece, pool, [&](PoseRange range) {
      range = {first + range.first, first + range.last};
      measure_depth(camera_of, rays, parameters, poses, range, noise, caster<T>(scene, range), to);
    });
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  return images;
}

/// Projects world points into the images: u, v [pixels], depth [m], each (n, m).
py::tuple project_points(const CameraRig& cameras, const Rows<double>& position,
                         const Rows<double>& attitude, const Rows<double>& points) {
  const auto poses = poses_of(position, attitude);
  const std::size_t n = rows_of(position), m = rows_of(points);
  auto u = new_array<double>(n, m), v = new_array<double>(n, m), depth = new_array<double>(n, m);
  double *to_u = u.mutable_data(), *to_v = v.mutable_data(), *to_depth = depth.mutable_data();
  for (std::size_t i = 0; i < n; ++i) {
    const auto camera = cameras.at<double>(i);
    const auto pose = camera_pose(camera, poses.position_of(i), poses.attitude_of(i));
    for (std::size_t j = 0; j < m; ++j) {
      const auto pixel = project(camera, in_camera(pose, vector_at(points, j)));
      *to_u++ = pixel.u, *to_v++ = pixel.v, *to_depth++ = pixel.depth;
    }
  }
  return py::make_tuple(u, v, depth);
}

/// The pose of each body's camera in the world.
py::tuple camera_poses(const CameraRig& cameras, const Rows<double>& position,
                       const Rows<double>& attitude) {
  const auto poses = poses_of(position, attitude);
  const std::size_t n = rows_of(position);
  auto at = new_array<double>(n, 3), orientation = new_array<double>(n, 4);
  double *p = at.mutable_data(), *q = orientation.mutable_data();
  for (std::size_t i = 0; i < n; ++i) {
    const auto pose =
        camera_pose(cameras.at<double>(i), poses.position_of(i), poses.attitude_of(i));
    p = put(pose.position_W, p);
    q = put(pose.q_WC, q);
  }
  return py::make_tuple(at, orientation);
}

/// Points (n, 3) in the camera frame from rows (n, 3) of u, v and depth.
py::array_t<double> unproject_pixels(const CameraRig& cameras, const Rows<double>& pixels) {
  return filled_rows<double>(rows_of(pixels), 3, [&](std::size_t i) {
    const auto p = vector_at(pixels, i);
    return unproject(cameras.optics(), Pixel<double>{p.x, p.y, p.z});
  });
}

/// Ray directions of the pixels, (height * width, 3).
py::array_t<double> pixel_rays_of(CameraRig& cameras) {
  const auto& rays = cameras.rays<double>();
  return filled_rows<double>(rays.size(), 3, [&](std::size_t i) { return rays[i]; });
}

py::array_t<double> camera_matrix(const CameraRig& cameras) {
  auto rows = new_array<double>(3, 3);
  std::copy_n(camera_matrix(cameras.optics()).elements, 9, rows.mutable_data());
  return rows;
}

template <class T>
void bind_ray_measures(py::module_& m) {
  m.def("measure_range", &measure_range<T>, "scene"_a, "finder"_a, "position"_a.noconvert(),
        "attitude"_a.noconvert(), "noise"_a, "pool"_a);
  m.def("measure_beacons", &measure_beacons_of<T>, "scene"_a, "cameras"_a, "markers"_a,
        "position"_a.noconvert(), "attitude"_a.noconvert(), "deviation"_a, "reach"_a, "miss_rate"_a,
        "noise"_a, "pool"_a);
  m.def("measure_depth", &measure_depth_of<T>, "scene"_a, "cameras"_a, "max_depth"_a, "deviation"_a,
        "stereo"_a, "position"_a.noconvert(), "attitude"_a.noconvert(), "noise"_a, "pool"_a);
}

}  // namespace

void bind_world_sensors(py::module_& m) {
  py::class_<Finder>(m, "RangeFinderModel", "See propwash.RangeFinder.")
      .def(py::init([](const Rows<double>& directions, double max_range, double variance,
                       const py::object& position) {
             return Finder{{max_range, variance, vec3(position, "position", "m")},
                           vectors_of(directions)};
           }),
           "directions"_a, "max_range"_a, "variance"_a, "position"_a);
  py::class_<StereoError<double>>(m, "StereoModel", "See propwash.StereoError.")
      .def(py::init([](double baseline, double focal, double disparity_deviation,
                       double disparity_step, double dropout_rate, bool shadow) {
             return StereoError<double>{baseline,       focal,        disparity_deviation,
                                        disparity_step, dropout_rate, shadow};
           }),
           "baseline"_a = 0.0, "focal"_a = 0.0, "disparity_deviation"_a = 0.0,
           "disparity_step"_a = 0.0, "dropout_rate"_a = 0.0, "shadow"_a = true);
  py::class_<CameraRig>(m, "CameraModel", "See propwash.Camera.")
      .def(py::init<double, double, double, const Rows<double>&, const Rows<double>&,
                    const std::array<double, 4>&>(),
           "width"_a, "height"_a, "focal"_a, "position"_a, "attitude"_a, "lens"_a)
      .def_property_readonly("count", &CameraRig::count)
      .def("project", &project_points, "position"_a, "attitude"_a, "points"_a)
      .def("poses", &camera_poses, "position"_a, "attitude"_a)
      .def("unproject", &unproject_pixels, "pixels"_a)
      .def("rays", &pixel_rays_of)
      .def("matrix", &camera_matrix);
  m.def("focal_length", &focal_length, "height"_a, "vertical_fov"_a);
  bind_ray_measures<float>(m);
  bind_ray_measures<double>(m);
}

}  // namespace propwash::bindings
