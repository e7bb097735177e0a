/// @file
/// Answers of published renderers are decoded, and everything else is an error that names the place
/// in the message. The table is that of docs/render-wire.md, "Accepted values".

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "propwash/render/decode.hpp"
#include "propwash/render/encode.hpp"
#include "propwash/render/images.hpp"
#include "render_messages.hpp"

namespace test_render_answer {

namespace {

using render::ProtocolError;

/// The header of a valid answer with every key, for one camera of 4 x 3 pixels.
Json sound_header() {
  return {{"ntime", 1000},
          {"camWidth", 4},
          {"camHeight", 3},
          {"camDepthScale", 0.2},
          {"cameraIDs", {"camera"}},
          {"channels", {3}},
          {"cameraIndexes", {0}},
          {"hasCameraCollision", false},
          {"landmarksInView", {{{"ID", "Gate10_1"}, {"position", {0.25, 0.75, 3.5}}}}},
          {"lidarReturn", 21.0}};
}

render::Answer read_header(const std::string& text) {
  return read_answer({text, std::string(3 * 4 * 3, 'x')});
}

}  // namespace

TEST_CASE(
    "an answer is decoded in both protocol versions, and only required keys must be present") {
  auto frames = answer_to(stereo_pose());
  auto json = Json::parse(frames[0]);
  for (const char* key :
       {"ntime", "camWidth", "camHeight", "camDepthScale", "cameraIDs", "channels", "cameraIndexes",
        "hasCameraCollision", "landmarksInView", "lidarReturn"}) {
    CHECK(json.contains(key));
  }
  CHECK(read_answer(frames).images[1].index == 1);
  for (const char* key :
       {"cameraIndexes", "camDepthScale", "hasCameraCollision", "landmarksInView", "lidarReturn"}) {
    json.erase(key);
  }
  json["utime"] = json["ntime"];
  json.erase("ntime");
  frames[0] = json.dump();
  const auto answer = read_answer(frames);
  CHECK(answer.ntime == 1234567890123456789);
  CHECK(!answer.range);
  CHECK(!answer.incomplete());
  CHECK(answer.images[1].camera == "right");
  CHECK(answer.images[1].index == -1);
  CHECK(answer.images[1].bytes.data == frames[2].data());  // a view, not a copy
  for (const char* key : {"utime", "camWidth", "camHeight", "cameraIDs", "channels"}) {
    auto without = json;
    without.erase(key);
    auto cut = frames;
    cut[0] = without.dump();
    CHECK_THROWS_AS(read_answer(cut), ProtocolError);
  }
  json.erase("utime");
  frames[0] = json.dump();
  CHECK_THROWS_WITH(read_answer(frames), Catch::Matchers::Matches(".*has no ntime"));
}

TEST_CASE("the size of an image selects its layout, and every other size is an error") {
  const std::size_t pixels = 640 * 480;
  struct Case {
    int channels;
    std::size_t bytes;
    int expected;  // bytes per pixel, 0: error
  };
  for (const auto& c : std::vector<Case>{{3, 3 * pixels, 3},
                                         {3, pixels, 0},
                                         {3, 3 * pixels - 1, 0},
                                         {3, 3 * pixels + 1, 0},
                                         {3, 0, 0},
                                         {1, pixels, 1},
                                         {1, 3 * pixels, 3},
                                         {1, 2 * pixels, 0},
                                         {2, 2 * pixels, 2},
                                         {2, 3 * pixels, 0},
                                         {0, 3 * pixels, 3},
                                         {-7, 3 * pixels, 3},
                                         {4, 4 * pixels, 0},
                                         {0, pixels, 0}}) {
    auto pose = stereo_pose();
    pose.cameras.pop_back();
    auto frames = answer_to(pose);
    auto json = Json::parse(frames[0]);
    json["channels"] = {c.channels};
    frames = {json.dump(), std::string(c.bytes, 'x')};
    INFO(c.channels << " channels, " << c.bytes << " bytes");
    if (c.expected == 0) {
      CHECK_THROWS_AS(read_answer(frames), ProtocolError);
    } else {
      CHECK(read_answer(frames).images.at(0).bytes_per_pixel == c.expected);
    }
  }
}

TEST_CASE("a malformed answer is an error with a description") {
  const auto fault = [](const char* words, auto change) {
    auto frames = answer_to(stereo_pose());
    auto json = Json::parse(frames[0]);
    change(json, frames);
    if (!frames.empty() && !json.is_null()) frames[0] = json.dump();
    CHECK_THROWS_WITH(read_answer(frames), has_text(words));
  };
  fault("got none", [](Json&, Frames& frames) { frames.clear(); });
  fault("expected 3 frames", [](Json&, Frames& frames) { frames.pop_back(); });
  fault("expected 3 frames", [](Json&, Frames& frames) { frames.emplace_back("x"); });
  fault("one image of each", [](Json& json, Frames&) { json["cameraIDs"] = {"left", "left"}; });
  fault("as many entries", [](Json& json, Frames&) { json["channels"] = {3}; });
  fault("as many entries", [](Json& json, Frames&) { json["cameraIndexes"] = {0}; });
  fault("cameraIndexes", [](Json& json, Frames&) { json["cameraIndexes"] = {0, -1}; });
  fault("channels", [](Json& json, Frames&) { json["channels"] = {3, 1e300}; });
  fault("camWidth", [](Json& json, Frames&) { json["camWidth"] = 4294967936; });  // 2^32 + 640
  fault("camHeight", [](Json& json, Frames&) { json["camHeight"] = -480; });
  fault("a string", [](Json& json, Frames&) { json["cameraIDs"] = {1, 2}; });
  fault("lidarReturn", [](Json& json, Frames&) { json["lidarReturn"] = "NaN"; });
  fault("landmarksInView.0.: has no ID",
        [](Json& json, Frames&) { json["landmarksInView"] = {{{"position", {0.5, 0.5, 1}}}}; });
  fault("deeper", [](Json& json, Frames& frames) {
    json = nullptr;
    frames[0] = std::string(1000000, '[');
  });
  fault("at most", [](Json& json, Frames& frames) {
    json = nullptr;
    frames[0].assign(100u << 20, ' ');  // an image of 100 MB instead of the text
  });
}

TEST_CASE("a range of exactly zero marks a pose that was executed incompletely") {
  render::Answer answer;
  CHECK(!answer.incomplete());
  answer.range = 21.0;
  CHECK(!answer.incomplete());
  answer.range = 0.0;
  CHECK(answer.incomplete());
}

TEST_CASE("brackets in strings do not count as nesting") {
  auto json = Json::parse(answer_to(stereo_pose())[0]);
  json["note"] = std::string(1000, '[') + "\\\"" + std::string(1000, '{');
  auto frames = answer_to(stereo_pose());
  frames[0] = json.dump();
  CHECK(read_answer(frames).width == 640);
}

TEST_CASE("answers of published renderers are decoded") {
  // v2: the keys of the C# class, floats as .NET prints them
  const std::string start =
      R"({"ntime":1000,"camWidth":4,"camHeight":3,"camDepthScale":0.2,"cameraIDs":["camera"],)";
  const auto usual = read_header(
      start + R"("channels":[0],"hasCameraCollision":true,"landmarksInView":[{"ID":"Gate10_1",)"
              R"("position":[1.401298E-45,0.99999994,0.0100000007]}],"lidarReturn":20.9999981})");
  CHECK(usual.ntime == 1000);
  CHECK(usual.collision);
  CHECK(usual.images.at(0).bytes_per_pixel == 3);
  CHECK(usual.landmarks.at(0).position.y == 0.99999994);
  CHECK(usual.range == 20.9999981);
  // a pose executed incompletely, and a missing list
  const auto half = read_header(
      start +
      R"("channels":[3],"hasCameraCollision":false,"landmarksInView":null,"lidarReturn":0.0})");
  CHECK(half.incomplete());
  CHECK(half.landmarks.empty());
  // before API 1.8, without optional keys
  const auto old = read_header(
      R"({"utime":5,"camWidth":4,"camHeight":3,"cameraIDs":["camera"],"channels":[3]})");
  CHECK(old.ntime == 5);
  CHECK(!old.range);
}

TEST_CASE("optional keys may be absent or null, and unknown keys are ignored") {
  for (const char* key :
       {"camDepthScale", "cameraIndexes", "hasCameraCollision", "landmarksInView", "lidarReturn"}) {
    auto header = sound_header();
    header[key] = nullptr;
    CHECK(read_header(header.dump()).width == 4);
    header.erase(key);
    CHECK(read_header(header.dump()).width == 4);
  }
  auto header = sound_header();
  header["LIDARRETURN"] = -5;  // a different key, because keys are case-sensitive
  header["more"] = {{"a", {1, 2, {{"b", nullptr}}}}};
  CHECK(read_header(header.dump()).range == 21.0);
}

TEST_CASE("every value within the table's ranges is accepted") {
  const std::vector<std::pair<const char*, Json>> accepted = {
      {"/ntime", INT64_MAX},
      {"/ntime", -1},
      {"/utime", 7},  // ntime has priority
      {"/camDepthScale", -3},
      {"/camDepthScale", 0},
      {"/channels/0", -7},
      {"/channels/0", 0},
      {"/channels/0", 1},
      {"/cameraIndexes/0", 255},
      {"/lidarReturn", 0},
      {"/lidarReturn", 21},
      {"/lidarReturn", 1e30},
      {"/landmarksInView/0/position/0", 5e-324},
      {"/landmarksInView/0/position/1", 0.9999999999999999},
      {"/landmarksInView/0/position/2", 1e30},
      {"/landmarksInView/1", {{"ID", "Gate10_1"}, {"position", {0.5, 0.5, 1}}}},
      {"/landmarksInView", Json::array()}};
  for (const auto& [place, value] : accepted) {
    INFO(place << " = " << value);
    auto header = sound_header();
    header[Json::json_pointer(place)] = value;
    CHECK_NOTHROW(read_header(header.dump()));
  }
}

TEST_CASE("every value of a wrong type or out of range is an error that names its place") {
  const std::vector<std::pair<const char*, Json>> refused = {
      {"/ntime", "1000"},
      {"/ntime", 1000.0},
      {"/ntime", UINT64_MAX},
      {"/ntime", true},
      {"/camWidth", "4"},
      {"/camWidth", 4.0},
      {"/camWidth", 0},
      {"/camHeight", 16385},
      {"/camHeight", {3}},
      {"/camDepthScale", "0.2"},
      {"/camDepthScale", true},
      {"/cameraIDs", "camera"},
      {"/cameraIDs/0", 7},
      {"/channels/0", "3"},
      {"/channels/0", 3.0},
      {"/channels", 3},
      {"/cameraIndexes/0", "0"},
      {"/cameraIndexes/0", -1},
      {"/cameraIndexes/0", 256},
      {"/hasCameraCollision", 7},
      {"/hasCameraCollision", 1},
      {"/hasCameraCollision", 0},
      {"/hasCameraCollision", "true"},
      {"/lidarReturn", -5},
      {"/lidarReturn", -1e-300},
      {"/lidarReturn", "21"},
      {"/lidarReturn", "Infinity"},
      {"/lidarReturn", {21}},
      {"/landmarksInView", Json::object()},
      {"/landmarksInView/0", "Gate10_1"},
      {"/landmarksInView/0/ID", 10},
      {"/landmarksInView/0/position", {0.5, 0.5}},
      {"/landmarksInView/0/position", {0.5, 0.5, 1, 1}},
      {"/landmarksInView/0/position", {7, -3, -1}},
      {"/landmarksInView/0/position/0", 0},
      {"/landmarksInView/0/position/0", 1},
      {"/landmarksInView/0/position/1", 0.0},
      {"/landmarksInView/0/position/1", 1.0},
      {"/landmarksInView/0/position/1", -0.1},
      {"/landmarksInView/0/position/2", 0},
      {"/landmarksInView/0/position/2", -1},
      {"/landmarksInView/0/position/2", "1"},
      {"/landmarksInView/0/position/2", nullptr}};
  for (const auto& [place, value] : refused) {
    INFO(place << " = " << value);
    auto header = sound_header();
    const Json::json_pointer pointer(place);
    REQUIRE(header.contains(pointer));
    header[pointer] = value;
    const std::string key = std::string(place).substr(1, std::string(place).find('/', 1) - 1);
    CHECK_THROWS_WITH(read_header(header.dump()), has_text("answer." + key));
    CHECK_THROWS_AS(read_header(header.dump()), ProtocolError);
  }
}

TEST_CASE("required keys need their exact names") {
  for (const auto& [key, other] :
       std::vector<std::pair<const char*, const char*>>{{"ntime", "NTIME"},
                                                        {"camWidth", "camwidth"},
                                                        {"camHeight", "CamHeight"},
                                                        {"cameraIDs", "cameraIds"},
                                                        {"channels", "Channels"}}) {
    auto header = sound_header();
    header[other] = header[key];
    header.erase(key);
    CHECK_THROWS_WITH(read_header(header.dump()), has_text(std::string("has no ") + key));
    header[key] = nullptr;
    CHECK_THROWS_WITH(read_header(header.dump()), has_text(std::string("has no ") + key));
  }
}

TEST_CASE("a duplicate key is an error in any object") {
  const auto text = sound_header().dump();
  const auto doubled = [&](const std::string& before, const std::string& more) {
    auto changed = text;
    const auto place = changed.find(before);
    REQUIRE(place != std::string::npos);
    return changed.insert(place, more);
  };
  CHECK(read_header(text).width == 4);
  CHECK_THROWS_WITH(read_header(doubled("\"ntime\"", "\"ntime\":1000,")),
                    has_text("\"ntime\" twice"));
  CHECK_THROWS_WITH(read_header(doubled("\"ID\"", "\"ID\":\"Gate1_1\",")),
                    has_text("\"ID\" twice"));
  CHECK_THROWS_WITH(read_header(doubled("\"ntime\"", "\"x\":{\"a\":1,\"a\":1},")),
                    has_text("\"a\" twice"));
  // escaped spellings are the same key
  CHECK_THROWS_WITH(read_header(doubled("\"ntime\"", "\"n\\u0074ime\":1000,")),
                    has_text("\"ntime\" twice"));
  // the same key in two objects is not a duplicate
  CHECK(
      read_header(doubled("\"ntime\"", "\"x\":{\"ntime\":1},\"y\":[{\"a\":1},{\"a\":1}],")).width ==
      4);
}

TEST_CASE("the time for four megabytes of objects is linear in their number") {
  std::string text = "{\"more\":[{}";
  while (text.size() < render::max_json_bytes - 300) text += ",{\"a\":0}";
  // 400,000 objects: a quadratic reader would exceed the time limit of the test
  CHECK(read_header(text + "]," + sound_header().dump().substr(1)).width == 4);
}

TEST_CASE("invalid answers are not encoded") {
  render::Answer answer;
  answer.width = 4;
  answer.height = 3;
  answer.images.push_back({"camera", 0, 3, 3, {}});
  answer.range = 0.0;
  answer.landmarks.push_back({"Gate10_1", {0.25, 0.75, 3.5}});
  CHECK(read_header(render::encode_answer(answer)).landmarks.at(0).position.z == 3.5);
  const auto refused = [&](const char* words, const std::function<void(render::Answer&)>& change) {
    auto changed = answer;
    change(changed);
    CHECK_THROWS_WITH(render::encode_answer(changed), has_text(words));
    CHECK_THROWS_AS(render::encode_answer(changed), std::invalid_argument);
  };
  refused("range = -1", [](auto& a) { a.range = -1.0; });
  refused("width = 0", [](auto& a) { a.width = 0; });
  refused("one image of each", [](auto& a) { a.images.push_back(a.images[0]); });
  refused("images, index = 256", [](auto& a) { a.images[0].index = 256; });
  refused("landmarks, position = .0, 0.75", [](auto& a) { a.landmarks[0].position.x = 0; });
  refused("landmarks, position", [](auto& a) { a.landmarks[0].position.y = 1; });
  refused("landmarks, position", [](auto& a) { a.landmarks[0].position.z = -1; });
}

TEST_CASE("a grey value is sent as three equal bytes to v3 and as one to v2") {
  using Type = render::CameraType;
  for (int number = render::first_camera_type; number <= render::last_camera_type; ++number) {
    const auto type = static_cast<Type>(number);
    const auto v3 = render::image_layout(type, true);
    // the size that published v3 clients copy
    CHECK(v3.bytes_per_pixel == (v3.channels == 2 ? 2 : 3));
    const auto v2 = render::image_layout(type, false);
    CHECK(v2.bytes_per_pixel == v2.channels);
    CHECK(v2.channels == v3.channels);
  }
  CHECK(render::image_layout(Type::depth, true).channels == 2);
  CHECK(render::image_layout(Type::grey, true).channels == 1);
  CHECK(render::image_layout(Type::depth_compressed, true).channels == 1);
}

TEST_CASE("both layouts of a grey image give the same bytes") {
  std::string one;
  std::string three;
  for (int value = 0; value < 256; ++value) {
    one.push_back(static_cast<char>(value));
    three.append(3, static_cast<char>(value));
  }
  auto header = sound_header();
  header["camWidth"] = 64;
  header["camHeight"] = 4;
  header["channels"] = {1};
  const std::vector<std::uint8_t> expected(one.begin(), one.end());
  const Frames narrow{header.dump(), one};
  const Frames wide{header.dump(), three};
  CHECK(render::grey_bytes(read_answer(narrow).images[0]) == expected);
  CHECK(render::grey_bytes(read_answer(wide).images[0]) == expected);
  header["channels"] = {2};
  const Frames depth{header.dump(), one + one};
  CHECK_THROWS_WITH(render::grey_bytes(read_answer(depth).images[0]), has_text("expected 1 or 3"));
  CHECK(render::luma(255, 0, 0) == 76);  // 0.299 * 255
  CHECK(render::luma(0, 255, 0) == 150);
  CHECK(render::luma(0, 0, 255) == 29);
}

}  // namespace test_render_answer
