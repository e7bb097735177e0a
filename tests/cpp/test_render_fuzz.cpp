/// @file
/// Messages with changed, removed, repeated and inserted bytes. The result is always a valid
/// message or a ProtocolError; nothing else is thrown and nothing outside the frames is read.
/// Accepted answers are compared with the table in docs/render-wire.md by an independent reader.
/// PROPWASH_FUZZ=100000 sets the number of answers; poses are a fifth of it.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "fake_renderer.hpp"
#include "propwash/render/session.hpp"

namespace test_render_fuzz {

namespace {

using Json = nlohmann::json;

int fuzz_count() {
  const char* desired = std::getenv("PROPWASH_FUZZ");
  return desired == nullptr ? 10000 : std::stoi(desired);
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n == 0 ? 0 : n - 1)(random_);
  }

  double uniform(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random_);
  }
  void change(std::string& text) {
    static const std::vector<std::string> strange = {"NaN",
                                                     "null",
                                                     "-1",
                                                     "1e999",
                                                     "18446744073709551616",
                                                     "[[[[[[[[[[[[[[[[[[[[[[[",
                                                     "\"",
                                                     "\\u",
                                                     "{}",
                                                     "true",
                                                     "0.5",
                                                     std::string(1, '\0'),
                                                     "\xff\xfe\xfd",
                                                     "]",
                                                     "1e18",
                                                     ",",
                                                     "[]",
                                                     "9007199254740993",
                                                     "\"cameraIDs\":[],",
                                                     "\"camWidth\":4,",
                                                     "\"lidarReturn\":-5,",
                                                     "\"4\"",
                                                     "-0"};
    const std::size_t at = below(text.size() + 1);
    const std::size_t size = below(12);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, size);
        break;
      case 2:
        text.insert(at, strange[below(strange.size())]);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.replace(at, size, strange[below(strange.size())]);
        break;
      default:
        text.insert(at, text.substr(below(text.size() + 1), size));
    }
  }

  void change(Frames& frames) {
    switch (below(8)) {
      case 0:
        frames.pop_back();
        break;
      case 1:
        frames.push_back(frames[below(frames.size())]);
        break;
      case 2: {
        auto& frame = frames[below(frames.size())];
        frame.resize(below(2 * frame.size() + 2), 'x');
        break;
      }
      case 3:
        std::swap(frames[below(frames.size())], frames[below(frames.size())]);
        break;
      default:
        for (std::size_t i = 0; i <= below(4); ++i) change(frames[0]);
    }
  }

 private:
  std::mt19937 random_;
};

/// Frames in allocations of their exact size, so that a sanitizer detects reads past the end.
class TightFrames {
 public:
  explicit TightFrames(const Frames& frames) {
    for (const auto& frame : frames) {
      owned_.push_back(std::make_unique<char[]>(frame.size()));
      if (!frame.empty()) std::memcpy(owned_.back().get(), frame.data(), frame.size());
      views.push_back({owned_.back().get(), frame.size()});
    }
  }
  std::vector<render::FrameView> views;

 private:
  std::vector<std::unique_ptr<char[]>> owned_;
};

unsigned sum_of(const render::Answer& answer) {
  unsigned sum = 0;
  for (const auto& image : answer.images) {
    const auto pixels =
        static_cast<std::size_t>(answer.width) * static_cast<std::size_t>(answer.height);
    const auto* bytes = static_cast<const unsigned char*>(image.bytes.data);
    const std::size_t size = pixels * static_cast<std::size_t>(image.bytes_per_pixel);
    for (std::size_t i = 0; i < size; ++i) sum += bytes[i];
  }
  return sum;
}

render::PoseMessage fuzz_pose(std::int64_t ntime) {
  render::PoseMessage pose;
  pose.ntime = ntime;
  pose.scene = "room";
  pose.width = 4;
  pose.height = 3;
  for (const char* id : {"a", "b"}) {
    pose.cameras.emplace_back();
    pose.cameras.back().id = id;
  }
  pose.objects.push_back({"Gate1", "gate", {1, 2, 3}, {1, 0, 0, 0}, {1, 1, 1}});
  return pose;
}

/// The answer to a pose, with random valid landmarks and range.
render::Answer random_answer(Mutator& mutator, std::int64_t ntime) {
  render::Answer answer;
  answer.ntime = ntime;
  answer.width = 4;
  answer.height = 3;
  answer.collision = mutator.below(2) == 0;
  answer.depth_scale = mutator.uniform(-1, 1);
  answer.range = mutator.below(4) == 0 ? 0.0 : std::exp(mutator.uniform(-30, 30));
  for (const char* id : {"a", "b"}) answer.images.push_back({id, -1, 3, 3, {}});
  for (std::size_t i = 0; i < 1 + mutator.below(3); ++i) {
    const double edge = std::exp(mutator.uniform(-30, 0)) / 2;  // often close to the limit
    const double u = mutator.below(2) == 0 ? edge : 1 - edge;
    answer.landmarks.push_back(
        {"Gate1_" + std::to_string(i + 1),
         {u, mutator.uniform(0.001, 0.999), std::exp(mutator.uniform(-30, 30))}});
  }
  return answer;
}

/// The keys that a parser keeps.
std::size_t kept_keys(const Json& json) {
  std::size_t keys = json.is_object() ? json.size() : 0;
  if (!json.is_structured()) return 0;
  for (const auto& item : json) keys += kept_keys(item);
  return keys;
}

/// An independent implementation of the table, which shares no code with the decoder.
void require_as_documented(const std::string& text, const render::Answer& answer) {
  std::size_t keys = 0;  // including duplicates
  const auto json = Json::parse(text, [&keys](int, Json::parse_event_t event, const Json&) {
    keys += event == Json::parse_event_t::key ? 1 : 0;
    return true;
  });
  REQUIRE(keys == kept_keys(json));
  const auto all = [](const Json& array, auto test) {
    for (const auto& item : array) REQUIRE(test(item));
  };
  const auto whole = [](const Json& value) { return value.is_number_integer(); };
  const auto open = [&](const char* key, auto test) {
    if (json.contains(key) && !json[key].is_null()) REQUIRE(test(json[key]));
  };
  for (const char* key : {"camWidth", "camHeight"}) REQUIRE(whole(json.at(key)));
  const bool dated = json.contains("ntime") && !json["ntime"].is_null();
  REQUIRE(whole(json.at(dated ? "ntime" : "utime")));
  all(json.at("cameraIDs"), [](const Json& id) { return id.is_string(); });
  all(json.at("channels"), whole);
  open("cameraIndexes", [&](const Json& indexes) {
    all(indexes, whole);
    return indexes.is_array();
  });
  open("hasCameraCollision", [](const Json& flag) { return flag.is_boolean(); });
  open("camDepthScale", [](const Json& scale) { return scale.is_number(); });
  open("lidarReturn", [](const Json& range) { return range.is_number() && range >= 0.0; });
  open("landmarksInView", [&](const Json& landmarks) {
    all(landmarks, [](const Json& landmark) {
      const auto& p = landmark.at("position");
      const bool three = p.is_array() && p.size() == 3 && p[0].is_number() && p[1].is_number();
      return landmark.at("ID").is_string() && three && p[2].is_number() && p[0] > 0.0 &&
             p[0] < 1.0 && p[1] > 0.0 && p[1] < 1.0 && p[2] > 0.0;
    });
    return landmarks.size() == answer.landmarks.size();
  });
}

}  // namespace

TEST_CASE("mutated answers are accepted or rejected, and the session continues") {
  Mutator mutator(20260101);
  render::Session session;
  unsigned sum = 0;
  int accepted = 0;
  int faults = 0;
  double now = 0;
  render::PoseMessage pose;  // the last one sent
  const int count = fuzz_count();
  for (int i = 0; i < count; ++i) {
    now += 0.01;
    for (const auto& message : session.submit(fuzz_pose(1 + i), now)) {
      pose = render::decode_pose({message.data(), message.size()});
    }
    auto frames = answer_to(pose);
    frames[0] = render::encode_answer(random_answer(mutator, pose.ntime));
    mutator.change(frames);
    if (frames.empty()) continue;
    const TightFrames tight(frames);
    try {
      const auto answer = session.receive(tight.views.data(), tight.views.size(), now);
      if (answer) {
        REQUIRE(answer->width == 4);
        REQUIRE(answer->height == 3);
        REQUIRE(answer->images.size() == 2);
        require_as_documented(frames[0], *answer);
        sum += sum_of(*answer);
        ++accepted;
      }
    } catch (const render::ProtocolError& error) {
      REQUIRE(std::strlen(error.what()) > 10);
      ++faults;
    }
    // a valid answer is still accepted; one for every tenth pose only, so that poses accumulate
    if (i % 10 != 0) continue;
    const auto next = answer_to(pose);
    const TightFrames good(next);
    const auto before = session.counts();
    session.receive(good.views.data(), good.views.size(), now);
    const auto& after = session.counts();
    REQUIRE(after.faulty == before.faulty);
    REQUIRE(after.received + after.repeated + after.outdated + after.unknown ==
            before.received + before.repeated + before.outdated + before.unknown + 1);
  }
  CHECK(session.counts().faulty == faults);
  CHECK(faults > count / 2);
  CHECK(accepted > count / 100);
  CHECK(sum > 0);
}

TEST_CASE("mutated poses are decoded or rejected") {
  Mutator mutator(7);
  const auto good = render::encode_pose(fuzz_pose(1));
  int read = 0;
  const int count = fuzz_count() / 5;
  for (int i = 0; i < count; ++i) {
    Frames frames{good};
    for (std::size_t k = 0; k <= mutator.below(3); ++k) mutator.change(frames[0]);
    const TightFrames tight(frames);
    try {
      const auto pose = render::decode_pose(tight.views[0]);
      render::encode_pose(pose);  // a decoded pose is valid, so it can be encoded
      ++read;
    } catch (const render::ProtocolError& error) {
      REQUIRE(std::strlen(error.what()) > 10);
    }
  }
  CHECK(read > count / 100);
  CHECK(read < count);
}

TEST_CASE("binary noise is rejected") {
  Mutator mutator(3);
  for (int i = 0; i < 200; ++i) {
    std::string noise(mutator.below(4000), '\0');
    for (auto& byte : noise) byte = static_cast<char>(mutator.below(256));
    const TightFrames tight(Frames{noise, noise});
    CHECK_THROWS_AS(render::decode_answer(tight.views.data(), 2), render::ProtocolError);
    CHECK_THROWS_AS(render::decode_pose(tight.views[0]), render::ProtocolError);
  }
}

}  // namespace test_render_fuzz
