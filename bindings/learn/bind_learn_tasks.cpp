#include <pybind11/stl.h>

#include <array>
#include <vector>

#include "device_arrays.hpp"
#include "evaluation.hpp"
#include "modules.hpp"
#include "propwash/learn/impl/land.hpp"
#include "propwash/learn/impl/race.hpp"
#include "propwash/learn/impl/track.hpp"
#include "scene_class.hpp"

namespace propwash::bindings {

namespace {

using Track = learn::TrackReward<float>;
using Land = learn::LandReward<float>;
using Race = learn::RaceReward<float>;
constexpr Weight<Track> track_weights[] = {{"position", &Track::position},
                                           {"position_scale", &Track::position_scale},
                                           {"velocity", &Track::velocity},
                                           {"body_rates", &Track::body_rates},
                                           {"action_change", &Track::action_change}};
constexpr Weight<Land> land_weights[] = {
    {"progress", &Land::progress},         {"speed", &Land::speed},
    {"speed_margin", &Land::speed_margin}, {"body_rates", &Land::body_rates},
    {"success", &Land::success},           {"failure", &Land::failure}};
constexpr Weight<Race> race_weights[] = {{"progress", &Race::progress},
                                         {"gate", &Race::gate},
                                         {"failure", &Race::failure},
                                         {"body_rates", &Race::body_rates}};

py::tuple judge_landing(const Floats& position, const Floats& velocity, const Floats& attitude,
                        const Floats& body_rates, const std::array<float, 5>& bounds,
                        const py::object& weights, Floats& distance) {
  const std::size_t n = position.shape(0);
  auto reward = new_array<float>(n), speed = new_array<float>(n);
  auto over = new_array<bool>(n), landed = new_array<bool>(n);
  learn::judge_landing<float>(
      {n, position.rows(n, 3), velocity.rows(n, 3), attitude.rows(n, 4), body_rates.rows(n, 3)},
      {bounds[0], bounds[1], bounds[2], bounds[3], bounds[4]}, weights_of(weights, land_weights),
      {distance.writable_rows(n), reward.mutable_data(), over.mutable_data(), landed.mutable_data(),
       speed.mutable_data()});
  return py::make_tuple(reward, over, landed, speed);
}

/// A path that all environments follow, with its table of samples.
class TrackPath {
 public:
  TrackPath(const Floats& table, double length, double speed)
      : table_(table.rows(learn::path_samples, 6), table.data() + table.size()),
        length_(length),
        speed_(speed) {}

  py::tuple state() const {
    auto table = new_array<float>(learn::path_samples, 6);
    std::copy(table_.begin(), table_.end(), table.mutable_data());
    return py::make_tuple(table, length_, speed_);
  }
  py::tuple follow(const InputArray<double>& phase, const InputArray<std::int32_t>& steps,
                   double period, double ahead) const {
    const std::size_t n = phase.size();
    auto target = new_array<float>(n, 3), velocity = new_array<float>(n, 3);
    learn::follow(path(), phase.data(), steps.rows(n), period, ahead, n, target.mutable_data(),
                  velocity.mutable_data());
    return py::make_tuple(target, velocity);
  }
  py::array_t<float> look_ahead(const InputArray<double>& phase,
                                const InputArray<std::int32_t>& steps, double period,
                                const Floats& position, const Floats& velocity) const {
    const std::size_t n = position.shape(0);
    auto seen = new_array<float>(n, learn::ahead_columns);
    learn::look_ahead(path(), phase.rows(n), steps.rows(n), period, position.rows(n, 3),
                      velocity.rows(n, 3), n, seen.mutable_data());
    return seen;
  }

 private:
  learn::PathRows<float> path() const { return {table_.data(), length_, speed_}; }
  std::vector<float> table_;
  double length_, speed_;
};

py::tuple judge_track(const Floats& position, const Floats& velocity, const Floats& body_rates,
                      const Floats& action, const Floats& previous, const Floats& target,
                      const Floats& target_velocity, const py::object& weights, float bound) {
  const std::size_t n = position.shape(0);
  Evaluation result(n);
  learn::judge_track<float>(
      {n, position.rows(n, 3), velocity.rows(n, 3), nullptr, body_rates.rows(n, 3)},
      actions_of(action, previous, n), target.rows(n, 3), target_velocity.rows(n, 3),
      weights_of(weights, track_weights), bound, result.reward.mutable_data(),
      result.over.mutable_data(), result.distance.mutable_data());
  return result.tuple();
}

/// Courses with equal numbers of gates, and their scenes.
class RaceCourses {
 public:
  RaceCourses(const py::list& scenes, const Floats& centre, const Floats& rotation,
              const Floats& half)
      : scenes_(scenes), gates_(centre.shape(1)) {
    const std::size_t all = scenes.size() * gates_;
    const float *c = centre.rows(all, 3), *t = rotation.rows(all, 9), *h = half.rows(all, 2);
    for (std::size_t i = 0; i < all; ++i, c += 3, t += 9, h += 2) {
      list_.push_back({{c[0], c[1], c[2]},
                       {t[0], t[3], t[6]},
                       {t[1], t[4], t[7]},
                       {t[2], t[5], t[8]},
                       h[0],
                       h[1]});
    }
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      courses_.push_back({list_.data() + i * gates_, static_cast<std::int64_t>(gates_) - 2,
                          scenes[i].cast<const PyScene&>().view<double>()});
    }
  }

  py::tuple judge(const Floats& position, const Floats& body_rates,
                  const InputArray<std::int32_t>& steps, const InputArray<std::int64_t>& course,
                  InputArray<std::int64_t>& next, InputArray<double>& time, Truths& passed,
                  Truths& collided, Floats& before, Floats& clearance, const py::object& weights,
                  float radius, float bound, double period) const {
    const std::size_t n = position.shape(0);
    check(course.rows(n), next.rows(n), n);
    auto reward = new_array<float>(n);
    auto over = new_array<bool>(n);
    learn::judge_race<float>(
        {n, position.rows(n, 3), nullptr, nullptr, body_rates.rows(n, 3)}, courses_.data(),
        {radius, bound, period}, weights_of(weights, race_weights), steps.rows(n),
        {course.rows(n), next.writable_rows(n), time.writable_rows(n), passed.writable_rows(n),
         collided.writable_rows(n), before.writable_rows(n, 3), clearance.writable_rows(n)},
        reward.mutable_data(), over.mutable_data());
    return py::make_tuple(reward, over);
  }
  py::tuple look(const Floats& position, const InputArray<std::int64_t>& course,
                 const InputArray<std::int64_t>& next) const {
    const std::size_t n = position.shape(0);
    check(course.rows(n), next.rows(n), n);
    auto target = new_array<float>(n, 3), seen = new_array<float>(n, learn::race_columns);
    auto scaled = new_array<float>(n, learn::race_scaled_columns);
    learn::look_at_gates(courses_.data(), course.rows(n), next.rows(n), position.rows(n, 3), n,
                         target.mutable_data(), seen.mutable_data(), scaled.mutable_data());
    return py::make_tuple(target, seen, scaled);
  }
  /// The courses, with all that they point to, for memory at an address.
  py::bytes placed_at(std::uintptr_t address) const {
    DeviceArrays arrays(address);
    arrays.add(courses_.data(), courses_.size());
    auto placed = courses_;
    for (auto& course : placed) {
      course.gates = arrays.add(course.gates, gates_);
      course.scene = arrays.add(course.scene);
    }
    return arrays.bytes(placed);
  }

 private:
  /// Checks the indices, which subclasses of a task and its users can change.
  void check(const std::int64_t* course, const std::int64_t* next, std::size_t n) const {
    const auto courses = static_cast<std::int64_t>(courses_.size());
    const auto max = static_cast<std::int64_t>(gates_) - 2;
    for (std::size_t i = 0; i < n; ++i) {
      if (course[i] >= 0 && course[i] < courses && next[i] >= 0 && next[i] <= max) continue;
      throw py::index_error("environment " + std::to_string(i) + ": expected course in [0, " +
                            std::to_string(courses) + ") and next in [0, " + std::to_string(max) +
                            "], got " + std::to_string(course[i]) + " and " +
                            std::to_string(next[i]));
    }
  }

  py::list scenes_;  // keeps alive the views in courses_
  std::size_t gates_;
  std::vector<learn::RaceGate<float>> list_;
  std::vector<learn::RaceCourse<float>> courses_;
};

/// Row, fraction of the way to the next row, left and up [m] of each passage through a gate.
std::vector<std::array<double, 4>> gate_passages(const std::array<double, 3>& centre,
                                                 const std::array<double, 9>& rotation,
                                                 double width, double height,
                                                 const Array& position) {
  const auto& r = rotation;
  const learn::RaceGate<double> gate{
      {}, {r[0], r[3], r[6]}, {r[1], r[4], r[7]}, {r[2], r[5], r[8]}, 0.5 * width, 0.5 * height};
  const auto place = [&](py::ssize_t row) {
    const double* const at = position.data(row, 0);
    return Vec3<double>{at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]};
  };
  std::vector<std::array<double, 4>> found;
  for (py::ssize_t row = 0; row + 1 < position.shape(0); ++row) {
    double fraction{};
    Vec3<double> through;
    if (learn::detail::passes(gate, place(row), place(row + 1), fraction, through)) {
      found.push_back({static_cast<double>(row), fraction, through.y, through.z});
    }
  }
  return found;
}

void bind_races(py::module_& m) {
  m.def("gate_passages", &gate_passages, "centre"_a, "rotation"_a, "width"_a, "height"_a,
        "position"_a,
        "Returns (row, fraction, left, up) of the passages of a path (T, 3) through a gate.");
  py::class_<RaceCourses>(m, "RaceCourses",
                          "Courses of gates and their scenes, for collision checks.")
      .def(py::init<const py::list&, const Floats&, const Floats&, const Floats&>(), "scenes"_a,
           "centre"_a, "rotation"_a, "half"_a)
      .def(
          "judge", &RaceCourses::judge, "position"_a, "body_rates"_a, "steps"_a, "course"_a,
          "next"_a.noconvert(), "time"_a.noconvert(), "passed"_a.noconvert(),
          "collided"_a.noconvert(), "before"_a.noconvert(), "clearance"_a.noconvert(), "weights"_a,
          "radius"_a, "bound"_a, "period"_a,
          "Returns (reward, over), (n,) each, of propwash.gym.Race; updates its state in place.\n\n"
          "weights: a RaceReward.")
      .def("look", &RaceCourses::look, "position"_a, "course"_a, "next"_a,
           "Returns the centre of the next gate (n, 3) [m] and the extras (n, 12) and (n, 4) of "
           "propwash.gym.Race.")
      .def("placed_at", &RaceCourses::placed_at, "address"_a,
           "Returns the bytes of the courses for the memory of a device at an address.");
}

}  // namespace

void bind_learn_tasks(py::module_& m) {
  m.def("judge_landing", &judge_landing, "position"_a, "velocity"_a, "attitude"_a, "body_rates"_a,
        "bounds"_a, "weights"_a, "distance"_a.noconvert(),
        "Returns (reward, over, landed, speed [m/s]), (n,) each, of propwash.gym.Land.\n\n"
        "bounds: gear, bound, radius, speed, cosine of the tilt. weights: a LandReward. "
        "distance: (n,) m, from the previous step, updated in place.");
  m.def("judge_track", &judge_track, "position"_a, "velocity"_a, "body_rates"_a, "action"_a,
        "previous"_a, "target"_a, "target_velocity"_a, "weights"_a, "bound"_a,
        "Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Track.\n\n"
        "weights: a TrackReward.");
  py::class_<TrackPath>(m, "TrackPath", "A closed path and the speed along it.")
      .def(py::init<const Floats&, double, double>(), "table"_a, "length"_a, "speed"_a)
      .def(py::pickle([](const TrackPath& path) { return path.state(); },
                      [](const py::tuple& state) {
                        return TrackPath(state[0].cast<Floats>(), state[1].cast<double>(),
                                         state[2].cast<double>());
                      }))
      .def("follow", &TrackPath::follow, "phase"_a, "steps"_a, "period"_a, "ahead"_a = 0.0,
           "Returns positions [m] and velocities [m/s] of the reference points, (n, 3) each.")
      .def("look_ahead", &TrackPath::look_ahead, "phase"_a, "steps"_a, "period"_a, "position"_a,
           "velocity"_a, "Returns the extras (n, 12) of propwash.gym.Track.");
  bind_races(m);
}

}  // namespace propwash::bindings
