#pragma once
/// @file
/// Racing through gates in their order: who passed one, who touched something, what that is worth.

#include <cmath>
#include <cstdint>

#include "propwash/world/collide.hpp"
#include "rows.hpp"

namespace propwash::learn {

/// A gate as it is passed: along x of its axes, y to the left, z up.
template <class T>
struct RaceGate {
  Vec3<T> centre;             ///< m, world frame
  Vec3<T> along, left, up;    ///< unit, world frame
  T half_width, half_height;  ///< m, of the opening
};

/// A course: gates in their order, the last one twice more so that there always is a next and one
/// after it; and what can be touched.
template <class T>
struct RaceCourse {
  const RaceGate<T>* gates;
  std::int64_t count;  ///< gates to be passed
  SceneView<double> scene;
};

/// What is remembered of each of `size` runs.
template <class T>
struct RaceRows {
  const std::int64_t* course;  ///< which of the courses
  std::int64_t* next;          ///< gates passed
  double* time;                ///< s, of the last gate
  bool* passed;                ///< a gate, in this step
  bool* collided;              ///< in this step, anywhere on the straight path of the step
  T* before;                   ///< m, positions a step earlier, (size, 3)
  T* clearance;                ///< m, to anything that can be touched, at least; 0 where unknown
};

template <class T>
struct RaceRules {
  T radius;       ///< m, of the sphere that may touch nothing
  T bound;        ///< m from the next gate, beyond which the episode ends
  double period;  ///< s, of a step
};

namespace detail {

template <class T>
Vec3<T> row3(const T* rows, std::size_t i) {
  return {rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]};
}

/// Whether the straight way from `start` to `end` goes through a gate's opening, from behind; the
/// fraction of the way at its plane. Both relative to the gate's centre.
template <class T>
bool passes(const RaceGate<T>& gate, const Vec3<T>& start, const Vec3<T>& end, T& fraction) {
  const T first = dot(start, gate.along), second = dot(end, gate.along);
  if (!(first < T(0)) || second < T(0)) return false;
  fraction = first / (first - second);
  const Vec3<T> through = start + (end - start) * fraction;
  return abs(dot(through, gate.left)) <= gate.half_width &&
         abs(dot(through, gate.up)) <= gate.half_height;
}

}  // namespace detail

/// Weights of the reward of a step, finite and not checked:
///   progress (distance to the next gate before − distance) + gate for each gate passed
///   − body_rates |rates|², − failure for a collision or beyond the bound
template <class T>
struct RaceReward {
  T progress = T(1);  ///< 1/m
  T gate = T(10);
  T failure = T(10);
  T body_rates = T(0.001);  ///< s²/rad²
};

/// reward: see RaceReward. over: all gates passed, a collision or beyond the bound.
/// steps: since the start, this one included. The vehicle flies straight from `before` to its
/// position: a sphere about it that touches something on that way has collided. Gates that it would
/// have passed later do not count; what it touches after the last gate does not count either.
template <class T>
void judge_race(const StateRows<T>& state, const RaceCourse<T>* courses, const RaceRules<T>& rules,
                const RaceReward<T>& weights, const std::int32_t* steps, const RaceRows<T>& rows,
                T* reward, bool* over) {
  for (std::size_t i = 0; i < state.size; ++i) {
    const RaceCourse<T>& course = courses[rows.course[i]];
    const RaceGate<T>& gate = course.gates[rows.next[i]];
    const Vec3<T> here = detail::row3(state.position, i), was = detail::row3(rows.before, i);
    const Vec3<T> start = was - gate.centre, end = here - gate.centre;
    T far = norm(end);
    T worth = weights.progress * (norm(start) - far) -
              weights.body_rates * squared_norm(detail::row3(state.body_rates, i));
    // no collision check is needed before the vehicle has moved by its last clearance
    const T way = norm(here - was);
    rows.clearance[i] -= way * T(1.0001) + T(1e-4);
    SphereHit hit;
    if (!(rows.clearance[i] > rules.radius)) {
      const Vec3<double> centre{here.x, here.y, here.z};
      hit = spherecast(course.scene, {was.x, was.y, was.z}, centre, double{rules.radius});
      rows.clearance[i] = hit.id < 0 ? static_cast<T>(clearance(course.scene, centre)) : T(0);
    }
    bool collided = hit.id >= 0;
    T fraction{};
    const bool passed = rows.next[i] < course.count && detail::passes(gate, start, end, fraction) &&
                        !(collided && hit.fraction < double{fraction});
    if (passed) {
      rows.time[i] = (steps[i] - 1 + static_cast<double>(fraction)) * rules.period;
      ++rows.next[i];
      far = norm(here - course.gates[rows.next[i]].centre);
      worth += weights.gate;
    }
    const bool finished = rows.next[i] == course.count;
    collided = collided && !(finished && passed);
    const bool lost = far > rules.bound;
    rows.collided[i] = collided;
    rows.passed[i] = passed;
    for (int k = 0; k < 3; ++k) rows.before[3 * i + std::size_t(k)] = here[k];
    reward[i] = worth - (collided || lost ? weights.failure : T(0));
    over[i] = finished || collided || lost;
  }
}

inline constexpr std::size_t race_columns = 9;

/// What a racer sees of its course beside the way to the next gate, (size, 9): how that is passed,
/// the way to the middle of the one after it, how that is passed. target: m, (size, 3), the middle
/// of the next gate.
template <class T>
void look_at_gates(const RaceCourse<T>* courses, const std::int64_t* course,
                   const std::int64_t* next, const T* position, std::size_t size, T* target,
                   T* seen) {
  for (std::size_t i = 0; i < size; ++i, seen += race_columns) {
    const RaceGate<T>* gate = courses[course[i]].gates + next[i];
    for (std::size_t k = 0; k < 3; ++k) {
      const auto axis = static_cast<int>(k);
      target[3 * i + k] = gate[0].centre[axis];
      seen[k] = gate[0].along[axis];
      seen[3 + k] = gate[1].centre[axis] - position[3 * i + k];
      seen[6 + k] = gate[1].along[axis];
    }
  }
}

}  // namespace propwash::learn
