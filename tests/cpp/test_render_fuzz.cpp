/// @file
/// Messages with bytes changed, cut, repeated and put in from elsewhere. Whatever comes, the result
/// is a sound message or a ProtocolError; nothing else is thrown and nothing is read beside the
/// frames. PROPWASH_FUZZ=100000 sets the number of answers; poses are a fifth of it.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "fake_renderer.hpp"
#include "propwash/render/session.hpp"

namespace {

int fuzz_count() {
  const char* wanted = std::getenv("PROPWASH_FUZZ");
  return wanted == nullptr ? 10000 : std::stoi(wanted);
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n == 0 ? 0 : n - 1)(random_);
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

/// Frames in allocations of their very size, so that a sanitizer sees a byte too many.
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

}  // namespace

TEST_CASE("mutated answers are taken or refused, and the session goes on") {
  Mutator mutator(20260101);
  render::Session session;
  unsigned sum = 0;
  int taken = 0;
  int faults = 0;
  double now = 0;
  render::PoseMessage pose;  // the last that was sent
  const int count = fuzz_count();
  for (int i = 0; i < count; ++i) {
    now += 0.01;
    for (const auto& message : session.submit(fuzz_pose(1 + i), now)) {
      pose = render::decode_pose({message.data(), message.size()});
    }
    auto frames = answer_to(pose);
    mutator.change(frames);
    if (frames.empty()) continue;
    const TightFrames tight(frames);
    try {
      const auto answer = session.receive(tight.views.data(), tight.views.size(), now);
      if (answer) {
        REQUIRE(answer->width == 4);
        REQUIRE(answer->height == 3);
        REQUIRE(answer->images.size() == 2);
        sum += sum_of(*answer);
        ++taken;
      }
    } catch (const render::ProtocolError& error) {
      REQUIRE(std::strlen(error.what()) > 10);
      ++faults;
    }
    // whatever came, the next good answer is taken; every tenth time, to let poses pile up too
    if (i % 10 != 0) continue;
    const auto next = answer_to(pose);
    const TightFrames good(next);
    const auto before = session.counts();
    session.receive(good.views.data(), good.views.size(), now);
    const auto& after = session.counts();
    REQUIRE(after.faulty == before.faulty);
    REQUIRE(after.taken + after.repeated + after.late + after.unknown ==
            before.taken + before.repeated + before.late + before.unknown + 1);
  }
  CHECK(session.counts().faulty == faults);
  CHECK(faults > count / 2);
  CHECK(taken > count / 100);
  CHECK(sum > 0);
}

TEST_CASE("mutated poses are read or refused") {
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
      render::encode_pose(pose);  // what is read is sound, so it can be written
      ++read;
    } catch (const render::ProtocolError& error) {
      REQUIRE(std::strlen(error.what()) > 10);
    }
  }
  CHECK(read > count / 100);
  CHECK(read < count);
}

TEST_CASE("binary noise is refused") {
  Mutator mutator(3);
  for (int i = 0; i < 200; ++i) {
    std::string noise(mutator.below(4000), '\0');
    for (auto& byte : noise) byte = static_cast<char>(mutator.below(256));
    const TightFrames tight(Frames{noise, noise});
    CHECK_THROWS_AS(render::decode_answer(tight.views.data(), 2), render::ProtocolError);
    CHECK_THROWS_AS(render::decode_pose(tight.views[0]), render::ProtocolError);
  }
}
