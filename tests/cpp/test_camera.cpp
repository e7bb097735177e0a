// Camera geometry against the closed forms of a pinhole: unproject() inverts project(), K follows
// from image size and field of view, and directions have the right signs.
#include <propwash/world/camera.hpp>
#include <propwash/world/poses.hpp>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_camera {

namespace pw = propwash;
using counting::Counted;
using lanes::Pair;

namespace {

using Vec = pw::Vec3<double>;
using Camera = pw::Camera<double>;

/// The camera of Table I with an arbitrary mounting.
Camera mounted(Dice& dice) {
  Camera camera = pw::make_camera(1024, 768, 70.0 * pi() / 180.0);
  camera.position = dice.vec3(0.3);
  camera.attitude = dice.unit_quat();
  return camera;
}

}  // namespace

TEST_CASE("unproject inverts project", "[camera]") {
  Dice dice(501);
  const Camera camera = mounted(dice);
  for (int n = 0; n < 100; ++n) {
    const Vec point_C{dice.uniform(0.1, 50.0), dice.uniform(-40.0, 40.0), dice.uniform(-40, 40.0)};
    const auto pixel = pw::project(camera, point_C);
    CHECK(pixel.depth == point_C.x);
    CHECK(distance(pw::unproject(camera, pixel), point_C) < 1e-12 * norm(point_C));
    const Vec ray_C = pw::pixel_ray(camera, pixel.u, pixel.v);
    CHECK(norm(ray_C) == Approx(1.0).epsilon(1e-14));
    CHECK(norm(cross(ray_C, point_C)) < 1e-12 * norm(point_C));
  }
}

TEST_CASE("projection is K on optical axes, with the closed form of K", "[camera]") {
  Dice dice(502);
  const Camera camera = mounted(dice);
  const auto k = pw::camera_matrix(camera);
  const double f = 384.0 / std::tan(35.0 * pi() / 180.0);
  const pw::Mat3<double> expected{{f, 0.0, 512.0, 0.0, f, 384.0, 0.0, 0.0, 1.0}};
  for (int i = 0; i < 9; ++i) CHECK(k.elements[i] == Approx(expected.elements[i]).epsilon(1e-14));
  for (int n = 0; n < 20; ++n) {
    const Vec point_C{dice.uniform(0.5, 9.0), dice.uniform(-3.0, 3.0), dice.uniform(-3.0, 3.0)};
    const Vec homogeneous = k * pw::to_optical(point_C);
    const auto pixel = pw::project(camera, point_C);
    CHECK(pixel.u == Approx(homogeneous.x / homogeneous.z).epsilon(1e-13));
    CHECK(pixel.v == Approx(homogeneous.y / homogeneous.z).epsilon(1e-13));
  }
}

TEST_CASE("the border of the image is at the field of view", "[camera]") {
  const Camera camera = pw::make_camera(1024, 768, 70.0 * pi() / 180.0);
  const Vec top_C = pw::pixel_ray(camera, 512.0, 0.0);
  const Vec bottom_C = pw::pixel_ray(camera, 512.0, 768.0);
  CHECK(std::acos(dot(top_C, bottom_C)) == Approx(70.0 * pi() / 180.0).epsilon(1e-14));
  CHECK(top_C.z > 0.0);
  const Vec left_C = pw::pixel_ray(camera, 0.0, 384.0);
  CHECK(left_C.y > 0.0);
  CHECK(std::tan(std::acos(left_C.x)) ==
        Approx(1024.0 / 768.0 * std::tan(35.0 * pi() / 180.0)).epsilon(1e-12));
}

TEST_CASE(
    "points to the left appear left, points above appear above, points behind are not in view",
    "[camera]") {
  const Camera camera = pw::make_camera(640, 480, 1.0);
  const auto seen = [&](const Vec& p) { return pw::project(camera, p); };
  CHECK(seen({5.0, 1.0, 0.0}).u < 320.0);
  CHECK(seen({5.0, -1.0, 0.0}).u > 320.0);
  CHECK(seen({5.0, 0.0, 1.0}).v < 240.0);
  CHECK(seen({5.0, 0.0, -1.0}).v > 240.0);
  CHECK(pw::view_margin(camera, seen({5.0, 0.0, 0.0})) > 0.0);
  CHECK_FALSE(pw::view_margin(camera, seen({-5.0, 0.0, 0.0})) > 0.0);
  CHECK_FALSE(pw::view_margin(camera, seen({0.0, 0.0, 0.0})) > 0.0);
  CHECK_FALSE(pw::view_margin(camera, seen({5.0, 50.0, 0.0})) > 0.0);
  CHECK_FALSE(pw::view_margin(camera, seen({5.0, 0.0, -50.0})) > 0.0);
}

TEST_CASE("moving body and world together changes no image", "[camera]") {
  Dice dice(503);
  for (int n = 0; n < 30; ++n) {
    const Camera camera = mounted(dice);
    const Vec position_W = dice.vec3(10.0), point_W = dice.vec3(10.0), shift = dice.vec3(10.0);
    const auto q_WB = dice.unit_quat(), rotation = dice.unit_quat();
    const auto seen =
        pw::project(camera, pw::in_camera(pw::camera_pose(camera, position_W, q_WB), point_W));
    const auto moved_pose =
        pw::camera_pose(camera, rotate(rotation, position_W) + shift, rotation * q_WB);
    const auto again =
        pw::project(camera, pw::in_camera(moved_pose, rotate(rotation, point_W) + shift));
    CHECK(again.depth == Approx(seen.depth).epsilon(1e-10));
    CHECK(again.u == Approx(seen.u).epsilon(1e-9));
    CHECK(again.v == Approx(seen.v).epsilon(1e-9));
  }
}

TEST_CASE("the mounting is a rigid transform", "[camera]") {
  Dice dice(504);
  const Camera camera = mounted(dice);
  const Vec position_W = dice.vec3(5.0);
  const auto q_WB = dice.unit_quat();
  const auto pose = pw::camera_pose(camera, position_W, q_WB);
  const Vec point_C = dice.vec3(3.0);
  const Vec point_B = rotate(camera.attitude, point_C) + camera.position;
  const Vec point_W = rotate(q_WB, point_B) + position_W;
  CHECK(distance(pw::in_camera(pose, point_W), point_C) < 1e-13);
}

TEST_CASE("a stereo pair sees disparity f b / depth", "[camera]") {
  Dice dice(505);
  const Camera left = mounted(dice);
  const double baseline = 0.32;
  const Camera right = pw::stereo_partner(left, baseline);
  const auto q_WB = dice.unit_quat();
  const Vec position_W = dice.vec3(5.0);
  const auto left_pose = pw::camera_pose(left, position_W, q_WB);
  for (int n = 0; n < 20; ++n) {
    const Vec point_C{dice.uniform(1.0, 20.0), dice.uniform(-1.0, 1.0), dice.uniform(-1.0, 1.0)};
    const Vec point_W = rotate(left_pose.q_WC, point_C) + left_pose.position_W;
    const auto in_left = pw::project(left, pw::in_camera(left_pose, point_W));
    const auto in_right =
        pw::project(right, pw::in_camera(pw::camera_pose(right, position_W, q_WB), point_W));
    CHECK(in_left.v == Approx(in_right.v).epsilon(1e-10));
    CHECK(in_left.u - in_right.u == Approx(left.focal * baseline / point_C.x).epsilon(1e-9));
  }
}

TEST_CASE("lanes project like scalars, with only the scalar hooks", "[camera]") {
  Dice dice(506);
  const Camera camera = mounted(dice);
  for (int n = 0; n < 10; ++n) {
    const Vec a{dice.uniform(-2.0, 9.0), dice.uniform(-3.0, 3.0), dice.uniform(-3.0, 3.0)};
    const Vec b{dice.uniform(-2.0, 9.0), dice.uniform(-3.0, 3.0), dice.uniform(-3.0, 3.0)};
    const pw::Vec3<Pair> both{Pair(a.x, b.x), Pair(a.y, b.y), Pair(a.z, b.z)};
    const auto pixel = pw::project(camera, both);
    const Pair margin = pw::view_margin(camera, pixel);
    CHECK(first(margin) == pw::view_margin(camera, pw::project(camera, a)));
    CHECK(second(margin) == pw::view_margin(camera, pw::project(camera, b)));
    const pw::Vec3<Counted> counted{Counted(a.x), Counted(a.y), Counted(a.z)};
    const auto back = pw::unproject(camera, pw::project(camera, counted));
    CHECK(reading(back.y) == Approx(a.y).epsilon(1e-10));
  }
}

}  // namespace test_camera
