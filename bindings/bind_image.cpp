#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "image_kernels.hpp"
#include "modules.hpp"
#include "propwash/paint/painted_world.hpp"
#include "propwash/world/collide.hpp"
#include "scene_class.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

/// From positions (n, 3) and attitudes (n, 4), whose values propwash.render has checked.
std::vector<Pose> image_poses(const Array& positions, const Array& attitudes) {
  if (positions.ndim() != 2 || positions.shape(1) != 3 || attitudes.ndim() != 2 ||
      attitudes.shape(1) != 4 || attitudes.shape(0) != positions.shape(0)) {
    throw py::value_error("poses: expected positions (n, 3) and attitudes (n, 4), got " +
                          described(positions) + " and " + described(attitudes));
  }
  std::vector<Pose> result(static_cast<std::size_t>(positions.shape(0)));
  const double* p = positions.data();
  const double* q = attitudes.data();
  for (auto& pose : result) {
    pose = {vec3_at(p), normalized(quat_at(q))};
    p += 3, q += 4;
  }
  return result;
}

/// A kind of image: the shape of its array and the output that points to it.
struct ImageKind {
  const char* name;
  py::ssize_t channels;  ///< 1: the array has no channel axis
  std::uint8_t* paint::ImageOutputs::* bytes;
};
constexpr std::array<ImageKind, 7> image_kinds{{{"rgb", 3, &paint::ImageOutputs::colour},
                                                {"grey", 1, &paint::ImageOutputs::grey},
                                                {"depth8", 1, &paint::ImageOutputs::short_depth},
                                                {"normals", 3, &paint::ImageOutputs::normals},
                                                {"instance", 3, &paint::ImageOutputs::instances},
                                                {"semantic", 3, &paint::ImageOutputs::semantics},
                                                {"flow", 3, &paint::ImageOutputs::flow}}};

/// Renders images of a scene and the bodies that move in it.
class PyPainter {
 public:
  /// The scene must outlive this object.
  PyPainter(const PyScene& scene, const std::string& look, std::uint32_t seed,
            const std::optional<std::pair<py::object, double>>& lamp, MaybePool pool)
      : scene_(&scene),
        world_(scene.scene()),
        look_(paint::look_named(look)),
        kernels_(PROPWASH_KERNELS_OF(used_set(), image, float)),
        pool_(std::move(pool)) {
    look_.seed = seed;
    if (lamp) {
      look_.light_W = cast<float>(vec3(lamp->first, "lamp", "m"));
      look_.lamp_reach = static_cast<float>(lamp->second);
    }
  }

  std::size_t add_body(const PyScene& parts) { return world_.add_body({parts.scene().items()}); }
  void remove_bodies() { world_.remove_bodies(); }
  void move(const Array& positions, const Array& attitudes, const Array& positions_before,
            const Array& attitudes_before) {
    world_.move(image_poses(positions, attitudes), image_poses(positions_before, attitudes_before));
  }

  void set_texture(std::size_t item, const std::shared_ptr<paint::TexturePyramid>& texture,
                   const std::array<double, 2>& size, const std::array<double, 2>& shift) {
    world_.set_texture(item, texture, size, shift);
  }

  /// Images of the requested kinds, by name.
  py::dict paint(const Array& positions, const Array& attitudes, py::ssize_t width,
                 py::ssize_t height, double focal, int antialias, const py::tuple& names,
                 bool bottom_first, const std::array<double, 4>& lens) {
    const auto poses = image_poses(positions, attitudes);
    if (poses.size() != 2) throw py::value_error("paint: expected two poses, now and before");
    ImageCall call;
    call.rays = {scene_->static_view<float>(), world_.moving(),
                 static_cast<std::int32_t>(world_.still_items())};
    call.items = world_.items().data();
    call.camera = {static_cast<int>(width),
                   static_cast<int>(height),
                   static_cast<float>(focal),
                   paint::placement(poses[0]),
                   paint::placement(poses[1]),
                   cast<float>(make_distortion(lens[0], lens[1], lens[2], lens[3]))};
    call.look = look_;
    call.antialias = antialias;
    call.to.bottom_first = bottom_first;
    const py::dict images = arrays(names, width, height, call.to);
    if (antialias > 1 && call.to.wants_light()) {
      scratch_.resize(static_cast<std::size_t>(width * height) * 3);
      call.scratch = scratch_.data();
      if (world_.has_textures()) {
        seams_.resize(static_cast<std::size_t>(width * height));
        call.seams = seams_.data();
      }
    } else {
      call.antialias = 1;
    }
    const py::gil_scoped_release release;
    run(call);
    return images;
  }

  /// Distance [m] to the first hit of a ray, infinite without a hit.
  double range(const py::object& origin, const py::object& direction, double limit) const {
    const auto from = vec3(origin, "origin", "m");
    const auto along = vec3(direction, "direction", "unit vector");
    const auto still = propwash::cast(scene_->static_view<double>(), from, along, limit);
    const auto moving = propwash::cast(world_.moving_exact(), from, along, limit);
    return std::min(still.distance, moving.distance);
  }
  /// (n,) whether the line from `start` to each of `ends` (n, 3) is free of obstacles.
  py::array_t<bool> visible(const py::object& start, const Array& ends) const {
    if (ends.ndim() != 2 || ends.shape(1) != 3) {
      throw py::value_error("ends: expected (n, 3), got " + described(ends));
    }
    const auto from = vec3(start, "start", "m");
    const auto n = static_cast<std::size_t>(ends.shape(0));
    std::vector<double> starts(3 * n);
    for (double* to = starts.data(); to != starts.data() + 3 * n;) to = put(from, to);
    std::vector<std::uint8_t> still(n), moving(n);
    propwash::visible(scene_->static_view<double>(), n, starts.data(), ends.data(), still.data());
    propwash::visible(world_.moving_exact(), n, starts.data(), ends.data(), moving.data());
    auto result = new_array<bool>(n);
    for (std::size_t i = 0; i < n; ++i) result.mutable_data()[i] = still[i] != 0 && moving[i] != 0;
    return result;
  }
  /// Whether a sphere of this position and radius [m] touches anything.
  bool touches(const py::object& position, double radius) const {
    const auto at = vec3(position, "position", "m");
    return collide(scene_->static_view<double>(), at, radius) >= 0 ||
           collide(world_.moving_exact(), at, radius) >= 0;
  }

 private:
  /// Allocates the arrays and sets the pointers of `to` to them.
  static py::dict arrays(const py::tuple& names, py::ssize_t width, py::ssize_t height,
                         paint::ImageOutputs& to) {
    py::dict result;
    for (const auto& named : names) {
      const auto name = named.cast<std::string>();
      if (name == "depth") {
        py::array_t<std::uint16_t> array({height, width});
        to.depth = array.mutable_data();
        result[named] = array;
        continue;
      }
      const auto* const kind =
          std::find_if(image_kinds.begin(), image_kinds.end(),
                       [&](const ImageKind& each) { return name == each.name; });
      if (kind == image_kinds.end()) refuse("kinds", "names of image kinds", named);
      std::vector<py::ssize_t> shape{height, width};
      if (kind->channels > 1) shape.push_back(kind->channels);
      py::array_t<std::uint8_t> array(shape);
      to.*(kind->bytes) = array.mutable_data();
      result[named] = array;
    }
    return result;
  }

  void run(const ImageCall& call) const {
    const int tiles =
        paint::tiles_across(call.camera.width) * paint::tiles_down(call.camera.height);
    const auto each_tile = [&](void (*work)(const ImageCall&, int)) {
      executor_of(pool_)(static_cast<std::size_t>(tiles),
                         [&](std::size_t tile) { work(call, static_cast<int>(tile)); });
    };
    each_tile(kernels_.paint);
    if (call.antialias > 1) each_tile(kernels_.smooth);
  }

  const PyScene* scene_;
  paint::PaintedWorld world_;
  paint::Look look_;
  ImageKernels kernels_;
  MaybePool pool_;
  std::vector<std::uint8_t> scratch_;
  std::vector<std::uint32_t> seams_;
};

std::shared_ptr<paint::TexturePyramid> texture_from(
    const py::array_t<std::uint8_t, py::array::c_style>& image) {
  if (image.ndim() != 3 || image.shape(2) != 3) {
    throw py::value_error("texture: expected (height, width, 3), got " + described(image));
  }
  return std::make_shared<paint::TexturePyramid>(image.data(),
                                                 static_cast<std::size_t>(image.shape(1)),
                                                 static_cast<std::size_t>(image.shape(0)));
}

}  // namespace

void bind_image(py::module_& m) {
  py::class_<paint::TexturePyramid, std::shared_ptr<paint::TexturePyramid>>(
      m, "Texture", "An image on surfaces; see propwash.world.Item.texture.")
      .def(py::init(&texture_from), "image"_a);
  py::class_<PyPainter>(m, "Painter", "See propwash.render.Offscreen.")
      .def(py::init<const PyScene&, const std::string&, std::uint32_t,
                    const std::optional<std::pair<py::object, double>>&, MaybePool>(),
           py::keep_alive<1, 2>(), "scene"_a, "look"_a, "seed"_a, "lamp"_a, "pool"_a)
      .def("add_body", &PyPainter::add_body, "parts"_a)
      .def("set_texture", &PyPainter::set_texture, "item"_a, "texture"_a, "size"_a, "shift"_a)
      .def("remove_bodies", &PyPainter::remove_bodies)
      .def("move", &PyPainter::move, "positions"_a, "attitudes"_a, "positions_before"_a,
           "attitudes_before"_a)
      .def("paint", &PyPainter::paint, "positions"_a, "attitudes"_a, "width"_a, "height"_a,
           "focal"_a, "antialias"_a, "kinds"_a, "bottom_first"_a,
           "lens"_a = std::array<double, 4>{})
      .def("range", &PyPainter::range, "origin"_a, "direction"_a, "limit"_a)
      .def("visible", &PyPainter::visible, "start"_a, "ends"_a)
      .def("touches", &PyPainter::touches, "position"_a, "radius"_a);
  m.def("category_id", &paint::category_id, "category"_a);
  py::list looks;
  for (const auto& look : paint::look_detail::looks) looks.append(std::string(look.name));
  m.attr("looks") = py::tuple(looks);
}

}  // namespace propwash::bindings
