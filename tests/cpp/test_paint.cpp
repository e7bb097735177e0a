// The painter, compared with closed forms: curves, filters, and images of planes.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <propwash/paint/look.hpp>
#include <propwash/paint/texture_pyramid.hpp>
#include <propwash/paint/tile.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_paint {

namespace pw = propwash;
namespace paint = propwash::paint;

namespace {

using W = pw::NativePack<float>;
constexpr double half_turn = 3.14159265358979323846;

W everywhere(double x) { return W(static_cast<float>(x)); }

/// Rays that hit one plane, from the side of `normal_W`.
struct PlaneRays {
  pw::Vec3<float> normal_W{0.0F, 0.0F, 1.0F};
  float offset = 0.0F;  ///< normal . point

  template <class L>
  PROPWASH_FN void first(const pw::Vec3<L>& from_W, const pw::Vec3<L>& direction_W, L& distance,
                         paint::Integer<L>& id, pw::Vec3<L>& normal) const {
    const auto n = pw::cast<L>(normal_W);
    const L slope = dot(n, direction_W);
    const L t = (L(offset) - dot(n, from_W)) / slope;
    const auto hit = (slope < L(0.0F)) & (t > L(0.0F));
    const L nothing(0.0F);
    distance = select(hit, t, L(std::numeric_limits<float>::infinity()));
    id = paint::Integer<L>(~hit.bits);
    normal = {select(hit, n.x, nothing), select(hit, n.y, nothing), select(hit, n.z, nothing)};
  }
  template <class L>
  PROPWASH_FN L reaches(const pw::Vec3<L>&, const pw::Vec3<L>&, const L&,
                        const paint::MaskOf<L>&) const {
    return L(1.0F);
  }
};

struct Unit;

/// A small camera above a plane, and its images. The size is not a multiple of a block.
struct Studio {
  static constexpr int width = 45, height = 35;
  static constexpr std::size_t pixels = std::size_t{width} * std::size_t{height};

  paint::ImageCall<PlaneRays> call;
  paint::PaintedItem item;
  std::vector<std::uint8_t> colour = std::vector<std::uint8_t>(3 * pixels);
  std::vector<std::uint8_t> scratch = colour, normals = colour, instances = colour;
  std::vector<std::uint8_t> semantics = colour, flow = colour;
  std::vector<std::uint8_t> grey = std::vector<std::uint8_t>(pixels), short_depth = grey;
  std::vector<std::uint16_t> depth = std::vector<std::uint16_t>(pixels);

  Studio() {
    item.albedo = {0.5F, 0.4F, 0.3F};
    item.finish = paint::finish_of("ground");
    item.instance = paint::colour_of_id(7);
    item.semantic = paint::colour_of_id(paint::category_id("ground"));
    call.items = &item;
    call.look = paint::look_named("morning");
    call.camera.width = width;
    call.camera.height = height;
    call.camera.focal = 30.0F;
    call.camera.now.position_W = call.camera.before.position_W = {1.0F, -2.0F, 3.0F};
    call.to = {colour.data(),  grey.data(),      depth.data(),     short_depth.data(),
               normals.data(), instances.data(), semantics.data(), flow.data()};
    call.scratch = scratch.data();
  }
  void rotate(const pw::Quat<double>& attitude) {
    call.camera.now.rotation_WS = call.camera.before.rotation_WS =
        pw::cast<float>(to_matrix(attitude));
  }
  void paint() {
    paint::TilePainter<Unit, W, PlaneRays> painter(call);
    const int tiles = paint::tiles_across(width) * paint::tiles_down(height);
    for (int tile = 0; tile < tiles; ++tile) painter.paint(tile);
    if (call.antialias == 1) return;
    for (int tile = 0; tile < tiles; ++tile) painter.smooth(tile);
  }
  /// The ray through a pixel's centre, per metre of depth, in the camera's axes.
  pw::Vec3<double> ray_C(int x, int y) const {
    return {1.0, -(x + 0.5 - 0.5 * width) / call.camera.focal,
            -(y + 0.5 - 0.5 * height) / call.camera.focal};
  }
  pw::Vec3<double> ray_W(int x, int y) const {
    return pw::cast<double>(call.camera.now.rotation_WS) * ray_C(x, y);
  }
  /// The depth of the plane along the axis; infinite without a hit.
  double plane_depth(int x, int y) const {
    const auto n = pw::cast<double>(call.rays.normal_W);
    const double slope = dot(n, ray_W(x, y));
    const double t =
        (call.rays.offset - dot(n, pw::cast<double>(call.camera.now.position_W))) / slope;
    return slope < 0.0 && t > 0.0 ? t : std::numeric_limits<double>::infinity();
  }
};

/// Calls f(x, y, index) for every pixel.
template <class F>
void each(F&& f) {
  for (int y = 0; y < Studio::height; ++y) {
    for (int x = 0; x < Studio::width; ++x) {
      f(x, y, static_cast<std::size_t>(y) * Studio::width + static_cast<std::size_t>(x));
    }
  }
}

/// Decodes a colour to flow, u right and v down.
std::array<double, 2> flow_of(const std::uint8_t* rgb) {
  const double r = rgb[0], g = rgb[1], b = rgb[2];
  const double value = std::fmax(r, std::fmax(g, b));
  if (value == 0.0) return {0.0, 0.0};
  const double smallest = std::fmin(r, std::fmin(g, b));
  const double span = value - smallest;
  double six = 0.0;
  if (value == r)
    six = (g - b) / span;
  else if (value == g)
    six = 2.0 + (b - r) / span;
  else
    six = 4.0 + (r - g) / span;
  const double angle = six * half_turn / 3.0, size = value / 255.0 * double{paint::flow_range};
  return {size * std::cos(angle), -size * std::sin(angle)};
}

/// The error of flow from eight bits of value and hue [pixels].
double flow_step(double size) {
  return 0.05 + 0.5 * double{paint::flow_range} / 255.0 * 2.0 + 0.01 * size;
}

}  // namespace

TEST_CASE("curves have their stated accuracy") {
  for (double x = -9.97; x < 10.0; x += 0.013) {
    CHECK(paint::floor(everywhere(x))[0] == std::floor(static_cast<float>(x)));
    const double light = (x + 10.0) / 20.0;
    const double display =
        light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1.0 / 2.4) - 0.055;
    CHECK(paint::to_display(everywhere(light))[1] == Approx(display).margin(1e-4));
    CHECK(paint::linear_light(display) == Approx(light).margin(1e-4));
    CHECK(paint::decay(everywhere(x + 10.0))[2] == Approx(std::exp(-x - 10.0)).margin(1e-3));
    const double angle = light;
    const W measured = paint::angle_in_turns(everywhere(7.0 * std::cos(2.0 * half_turn * angle)),
                                             everywhere(7.0 * std::sin(2.0 * half_turn * angle)));
    CHECK(std::remainder(measured[3] - angle, 1.0) == Approx(0.0).margin(1e-6));
    CHECK((measured[3] >= 0.0F && measured[3] < 1.0F));
  }
  CHECK(paint::floor(everywhere(-3.0))[0] == -3.0F);
  CHECK(paint::angle_in_turns(everywhere(0.0), everywhere(0.0))[0] == 0.0F);
}

TEST_CASE("filtered patterns are the mean of the pattern over the footprint") {
  Dice dice(11);
  for (int trial = 0; trial < 50; ++trial) {
    const double x = dice.uniform(-8.0, 8.0), w = dice.uniform(0.05, 5.0);
    const double line = dice.uniform(0.05, 0.6);
    double wave = 0.0, lines = 0.0;
    constexpr int steps = 4000;
    for (int i = 0; i < steps; ++i) {
      const double at = x + w * ((i + 0.5) / steps - 0.5);
      wave += (static_cast<long>(std::floor(at)) % 2 == 0) ? 1.0 : -1.0;
      lines += std::abs(at - std::round(at)) < 0.5 * line ? 1.0 : 0.0;
    }
    const W px = everywhere(x), pw_ = everywhere(w);
    CHECK(paint::filtered_wave(px, pw_)[0] == Approx(wave / steps).margin(3e-3));
    CHECK(paint::filtered_lines(px, pw_, static_cast<float>(line))[0] ==
          Approx(lines / steps).margin(3e-3));
  }
}

TEST_CASE("noise interpolates its lattice smoothly and within its values") {
  Dice dice(12);
  double sum = 0.0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    const float x = static_cast<float>(dice.uniform(-50.0, 50.0)), y = x * 0.7F - 3.0F;
    const float here = paint::value_noise(W(x), W(y), 5)[0];
    const float beside = paint::value_noise(W(x + 1e-3F), W(y), 5)[0];
    CHECK((here >= 0.0F && here <= 1.0F));
    CHECK(std::abs(beside - here) < 2e-3F);  // the slope of 3 t^2 - 2 t^3 is at most 1.5
    const paint::Integer<W> i = paint::Integer<W>{} + trial, j = paint::Integer<W>{} - 3 * trial;
    const float value = paint::lattice_value<W>(i, j, 5)[0];
    const W at_x = everywhere(trial), at_y = everywhere(-3.0 * trial);
    CHECK(paint::value_noise(at_x, at_y, 5)[0] == value);
    sum += double{value};
  }
  // uniform in [0, 1): the mean within 5 standard deviations
  CHECK(sum / trials == Approx(0.5).margin(5.0 * std::sqrt(1.0 / 12.0 / trials)));
}

TEST_CASE("colours of ids are one to one") {
  CHECK(paint::colour_of_id(0) == 0);
  for (std::uint32_t n = 0; n < 0x1000000U; n += 997) {
    CHECK(paint::id_of_colour(paint::colour_of_id(n)) == n);
  }
  CHECK(paint::category_id("gate") != paint::category_id("ground"));
  CHECK(paint::category_id("something else") >= 64);
  CHECK_THROWS_AS(paint::look_named("midnight"), std::invalid_argument);
}

TEST_CASE("depth and normals of a plane are correct at every pixel") {
  Dice dice(13);
  for (int trial = 0; trial < 6; ++trial) {
    Studio studio;
    if (trial > 0) studio.rotate(dice.unit_quat());
    studio.call.rays.normal_W =
        pw::cast<float>(trial > 2 ? dice.unit_vec3() : pw::Vec3<double>{0, 0, 1});
    studio.call.rays.offset = -2.0F;
    studio.paint();
    const auto n = pw::cast<double>(studio.call.rays.normal_W);
    const auto n_C = transpose(pw::cast<double>(studio.call.camera.now.rotation_WS)) * n;
    each([&](int x, int y, std::size_t i) {
      const double depth = studio.plane_depth(x, y);
      const double code = std::fmin(depth / 100.0, 1.0) * 65535.0;
      // half a step, plus the error of floats for a grazing ray
      CHECK(std::abs(studio.depth[i] - code) <= 0.5 + 1e-3 * std::fmin(depth, 100.0));
      const bool seen = std::isfinite(depth);
      const double c = studio.short_depth[i] / 255.0;
      const double near = std::fmin(depth, 100.0) - 0.01, far = 100.0 * 100.0 / 100.01;
      CHECK(std::abs(c - std::pow(std::fmax(near, 0.0) / far, 0.25)) <= 0.5 / 255.0 + 1e-4);
      const double expected[3] = {-n_C.y, n_C.z, -n_C.x};
      for (std::size_t k = 0; k < 3; ++k) {
        const double byte = studio.normals[3 * i + k];
        if (seen)
          CHECK(std::abs(byte - 127.5 * (expected[k] + 1.0)) <= 0.51);
        else
          CHECK(byte == 0.0);
      }
      const auto id = [&](const std::vector<std::uint8_t>& of) {
        return paint::id_of_colour(of[3 * i] * 65536U + of[3 * i + 1] * 256U + of[3 * i + 2]);
      };
      CHECK(id(studio.instances) == (seen ? 7U : 0U));
      CHECK(id(studio.semantics) == (seen ? paint::category_id("ground") : 0U));
    });
  }
}

TEST_CASE("a rotated camera sees the flow of its rotation, for any depth") {
  for (const auto axis : {pw::Vec3<double>{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    Studio studio;
    const double angle = 0.15;
    const auto rotation = from_axis_angle(axis, angle);
    studio.call.camera.now.rotation_WS = pw::cast<float>(to_matrix(rotation));
    studio.paint();
    each([&](int x, int y, std::size_t i) {
      // the pixel of the same ray in the previous image
      const auto then_C = studio.ray_W(x, y);
      const double u = (x + 0.5 - 0.5 * Studio::width) + 30.0 * then_C.y / then_C.x;
      const double v = (y + 0.5 - 0.5 * Studio::height) + 30.0 * then_C.z / then_C.x;
      const auto flow = flow_of(&studio.flow[3 * i]);
      const double step = flow_step(std::hypot(u, v));
      CHECK(std::hypot(flow[0] - u, flow[1] - v) <= step);
    });
  }
}

TEST_CASE("a moved camera sees a flow of displacement over depth, and none in the sky") {
  for (const auto way : {pw::Vec3<double>{0.4, 0, 0}, {0, 0.2, 0}, {0, 0, 0.2}}) {
    Studio studio;
    auto& camera = studio.call.camera;
    camera.before.position_W = camera.now.position_W - pw::cast<float>(way);
    studio.paint();
    each([&](int x, int y, std::size_t i) {
      const double depth = studio.plane_depth(x, y);
      const auto flow = flow_of(&studio.flow[3 * i]);
      if (!std::isfinite(depth)) {
        CHECK(std::hypot(flow[0], flow[1]) == 0.0);
        return;
      }
      const auto then_C = studio.ray_C(x, y) * depth + way;
      const double u = (x + 0.5 - 0.5 * Studio::width) + 30.0 * then_C.y / then_C.x;
      const double v = (y + 0.5 - 0.5 * Studio::height) + 30.0 * then_C.z / then_C.x;
      CHECK(std::hypot(flow[0] - u, flow[1] - v) <= flow_step(std::hypot(u, v)));
    });
  }
}

TEST_CASE("a body that moves with the camera has no flow") {
  Studio studio;
  const pw::Vec3<float> way{0.3F, -0.2F, 0.1F};
  studio.call.camera.before.position_W = studio.call.camera.now.position_W - way;
  studio.item.before.position_W = studio.item.now.position_W - way;
  studio.paint();
  each([&](int x, int y, std::size_t i) {
    if (std::isfinite(studio.plane_depth(x, y))) CHECK(studio.flow[3 * i] <= 1);
  });
}

TEST_CASE("grey is the luma of the colour, and rows can start at the top or the bottom") {
  Studio top, bottom;
  bottom.call.to.bottom_first = true;
  top.paint();
  bottom.paint();
  each([&](int x, int y, std::size_t i) {
    const std::uint8_t* rgb = &top.colour[3 * i];
    CHECK(std::abs(top.grey[i] - (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2])) <= 0.501);
    const std::size_t j = static_cast<std::size_t>((Studio::height - 1 - y) * Studio::width + x);
    CHECK(bottom.depth[j] == top.depth[i]);
    CHECK(bottom.grey[j] == top.grey[i]);
    for (std::size_t k = 0; k < 3; ++k) CHECK(bottom.colour[3 * j + k] == rgb[k]);
  });
  // above the plane is the sky: blue
  CHECK(top.colour[2] > top.colour[0]);
}

TEST_CASE("anti-aliasing keeps uniform areas and averages at an edge") {
  Studio plain, smooth;
  // a black plane in front of a white sky
  for (Studio* studio : {&plain, &smooth}) {
    studio->item.albedo = {};
    studio->item.finish = {};
    auto& look = studio->call.look;
    look = {};
    look.zenith = look.horizon = {1.0F, 1.0F, 1.0F};
    look.light_W = {0.0F, 0.0F, 1.0F};
    look.haze = 1e9F;
    studio->rotate(pw::from_axis_angle(pw::Vec3<double>{1, 0, 0}, 0.3));
  }
  smooth.call.antialias = 4;
  plain.paint();
  smooth.paint();
  int between = 0;
  each([&](int x, int y, std::size_t i) {
    const int before = plain.colour[3 * i], after = smooth.colour[3 * i];
    int covered = 0;  // covered rays of sixteen
    for (int ray = 0; ray < 16; ++ray) {
      const double u = x + (ray % 4 + 0.5) / 4.0 - 0.5 * Studio::width;
      const double v = y + (ray / 4 + 0.5) / 4.0 - 0.5 * Studio::height;
      // below the horizon, which rolls with the camera
      if (-std::sin(0.3) * u - std::cos(0.3) * v < 0.0) ++covered;
    }
    if (covered == 0 || covered == 16) {
      CHECK(after == before);
    } else {
      ++between;
      const double white = paint::tone(W(1.0F))[0];
      const double display = paint::to_display(everywhere(white * (16 - covered) / 16.0))[0];
      CHECK(after == Approx(255.0 * display).margin(1.0));
    }
  });
  CHECK(between > Studio::width / 2);
}

TEST_CASE("a lens is inverted to rounding error, and does not fold") {
  const auto lens = pw::make_distortion(-0.28, 0.07, 0.001, -0.002);
  for (double x = -0.8; x <= 0.8; x += 0.1) {
    for (double y = -0.6; y <= 0.6; y += 0.1) {
      const auto seen = pw::distort(lens, x, y);
      double u = seen.x, v = seen.y;
      pw::undistort(lens, u, v);
      CHECK(std::abs(u - x) < 1e-12);
      CHECK(std::abs(v - y) < 1e-12);
      const double h = 1e-6;
      const auto right = pw::distort(lens, x + h, y), below = pw::distort(lens, x, y + h);
      CHECK(std::abs((right.x - seen.x) / h - seen.xx) < 1e-5);
      CHECK(std::abs((right.y - seen.y) / h - seen.xy) < 1e-5);
      CHECK(std::abs((below.x - seen.x) / h - seen.xy) < 1e-5);
      CHECK(std::abs((below.y - seen.y) / h - seen.yy) < 1e-5);
    }
  }
  const auto folding = pw::make_distortion(-0.3, 0.0, 0.0, 0.0);
  double before = 0.0;
  for (double x = 0.1; x < 20.0; x += 0.1) {
    const double now = pw::distort(folding, x, 0.0).x;
    CHECK(now > before);
    before = now;
  }
}

TEST_CASE("a texture is the image at its own scale, and its mean at coarse ones") {
  constexpr int width = 32, height = 16;
  std::vector<std::uint8_t> image;
  std::uint32_t number = 1;
  for (int i = 0; i < width * height * 3; ++i) {
    number = number * 1664525U + 1013904223U;
    image.push_back(static_cast<std::uint8_t>(number >> 24));
  }
  const paint::TexturePyramid pyramid(image.data(), width, height);
  const auto texture = pyramid.on_surface(4.0, 2.0);
  const auto colour_at = [&](float right, float up, float pixel) {
    paint::TexturePoint<W> at;
    const W o(0.0F);
    paint::set_points(texture, paint::MaskOf<W>{W(0.0F).v < W(1.0F).v}, {W(0.0F), W(right), W(up)},
                      {W(1.0F), o, o}, {o, W(pixel), o}, {o, o, W(-pixel)}, at);
    return paint::texture_colour(at);
  };
  const auto linear = [&](int i, int j, int channel) {
    const auto at = static_cast<std::size_t>(3 * (j * width + i) + channel);
    return paint::linear_light(image[at] / 255.0);
  };
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      // the centre of a texel of 1/8 m; the image repeats
      const float right = (static_cast<float>(i) + 0.5F) / 8.0F + 2.0F;
      const auto seen = colour_at(right, 1.0F - (static_cast<float>(j) + 0.5F) / 8.0F, 0.01F);
      CHECK(std::abs(seen.x[0] - linear(i, j, 0)) < 0.005F);
      CHECK(std::abs(seen.z[0] - linear(i, j, 2)) < 0.005F);
    }
  }
  float mean = 0.0F;
  for (int k = 0; k < width * height; ++k) mean += linear(k % width, k / width, 1);
  mean /= static_cast<float>(width * height);
  for (const float pixel : {5.0F, 100.0F, 1e6F}) {
    CHECK(std::abs(colour_at(0.3F, 0.1F, pixel).y[0] - mean) < 0.005F);
  }
  CHECK_THROWS(paint::TexturePyramid(image.data(), 24, 16));
}

}  // namespace test_paint
