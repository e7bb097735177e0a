// Scenes: valid and invalid items, ids and markers.
#include <limits>
#include <propwash/world/scene.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "catch.hpp"
#include "support.hpp"

namespace test_scene {

namespace pw = propwash;

namespace {

pw::SceneItem item(const std::string& name, pw::Shape shape) {
  return {name, "thing", {0.5, 0.5, 0.5}, {}, std::move(shape)};
}

/// Whether f throws std::invalid_argument with these words in its message.
template <class F>
bool refuses(const std::string& words, const F& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    UNSCOPED_INFO(error.what());
    return std::string(error.what()).find(words) != std::string::npos;
  }
  return false;
}

/// Rejected with these words in the message, without a change of the scene.
void check_refused(pw::SceneItem bad, const std::string& words) {
  pw::Scene scene;
  scene.add(item("there", pw::Sphere{}));
  CAPTURE(words);
  CHECK(refuses(words, [&] { scene.add(std::move(bad)); }));
  CHECK(scene.items().size() == 1);
  CHECK(scene.markers().empty());
}

}  // namespace

TEST_CASE("the id of an item is its index", "[scene]") {
  pw::Scene scene;
  CHECK(scene.add(item("a", pw::Plane{})) == 0);
  CHECK(scene.add(item("b", pw::Gate{})) == 1);
  CHECK(scene.find("b") == 1);
  CHECK(scene.find("c") == -1);
  CHECK(scene.items()[1].name == "b");
}

TEST_CASE("invalid items are rejected with a message that names them", "[scene]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  check_refused(item("", pw::Sphere{}), "item name = ''");
  check_refused(item("there", pw::Sphere{}), "name = 'there': expected a unique name");
  check_refused(item("x", pw::Sphere{0.0}), "item 'x': radius = 0");
  check_refused(item("x", pw::Sphere{none}), "radius");
  check_refused(item("x", pw::Box{{1.0, -1.0, 1.0}}), "size[1] = -1");
  check_refused(item("x", pw::Cylinder{1.0, infinite}), "height");
  check_refused(item("x", pw::Sphere{2e6}), "at most 1e6");
  check_refused(item("x", pw::Gate{1.0, 1.0, 0.0, 0.1}), "border");
  pw::Gate gate;
  gate.marker_corners = {0, 1, 1, 3};
  check_refused(item("x", gate), "marker_corners");
  check_refused(item("x", pw::Mesh{}), "triangles");
  check_refused(item("x", pw::Mesh{{{}, {}, {}}, {{0, 1, 3}}}), "indices from 0 to 2");
  check_refused(item("x", pw::Mesh{{{}, {}, {}}, {{0, 1, -1}}}), "indices from 0 to 2");
  check_refused(item("x", pw::Mesh{{{}, {none, 0.0, 0.0}, {}}, {{0, 1, 2}}}), "vertices");
  auto moved = item("x", pw::Sphere{});
  moved.pose.position_W.y = infinite;
  check_refused(moved, "position");
  auto rotated = item("x", pw::Sphere{});
  rotated.pose.attitude_WS = {1.0, 1.0, 0.0, 0.0};
  check_refused(rotated, "unit quaternion");
  auto coloured = item("x", pw::Sphere{});
  coloured.colour.z = 1.5;
  check_refused(coloured, "sRGB");
}

TEST_CASE("a gate adds its markers at the corners of its opening", "[scene]") {
  Dice dice(3);
  for (int i = 0; i < 50; ++i) {
    const pw::Pose pose{dice.vec3(5.0), dice.unit_quat()};
    pw::Gate gate{2.0, 1.0, 0.3, 0.2};
    gate.marker_corners = {2, 0, 3, 1};
    pw::Scene scene;
    auto with_pose = item("Gate7", gate);
    with_pose.pose = pose;
    scene.add(with_pose);
    const auto& markers = scene.markers();
    REQUIRE(markers.size() == 4);
    CHECK(markers[0].name == "Gate7_1");
    CHECK(markers[3].name == "Gate7_4");
    const double left[4] = {-1.0, 1.0, 1.0, -1.0}, up[4] = {-0.5, 0.5, -0.5, 0.5};
    for (std::size_t k = 0; k < 4; ++k) {
      const auto p = rotate_inverse(pose.attitude_WS, markers[k].position_W - pose.position_W);
      CHECK(distance(p, {-0.1, left[k], up[k]}) < 1e-12);
    }
  }
}

TEST_CASE("names of markers are unique, including those of gates", "[scene]") {
  pw::Scene scene;
  scene.add(item("Gate1", pw::Gate{}));
  scene.add_marker({"lamp", {1.0, 2.0, 3.0}});
  CHECK(scene.markers().size() == 5);
  CHECK(refuses("Gate1_2", [&] { scene.add_marker({"Gate1_2", {}}); }));
  CHECK(refuses("lamp", [&] { scene.add_marker({"lamp", {}}); }));
  const double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(refuses("finite", [&] { scene.add_marker({"y", {none, 0.0, 0.0}}); }));
  scene.add_marker({"Gate2_3", {}});
  CHECK(refuses("Gate2_3", [&] { scene.add(item("Gate2", pw::Gate{})); }));
  CHECK(scene.items().size() == 1);
  CHECK(scene.markers().size() == 6);
}

}  // namespace test_scene
