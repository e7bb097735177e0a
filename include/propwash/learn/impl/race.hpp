#pragma once
/// @file
/// Racing through gates in order: passed gates, collisions and reward.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "propwash/learn/impl/rows.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/world/spherecast.hpp"

namespace propwash::learn {

/// A gate, to be passed along x of its axes; y is to the left, z up.
template <class T>
struct RaceGate {
  Vec3<T> centre;             ///< m, world frame
  Vec3<T> along, left, up;    ///< unit, its axes in the world frame
  T half_width, half_height;  ///< m, of the opening
};

/// A course: gates in order, and the scene for collision checks. The last gate is repeated twice,
/// so that two next gates always exist.
template <class T>
struct RaceCourse {
  const RaceGate<T>* gates;
  std::int64_t count;  ///< number of gates to pass
  SceneView<double> scene;
};

/// State of each of `size` episodes.
template <class T>
struct RaceRows {
  const std::int64_t* course;  ///< index of the course
  std::int64_t* next;          ///< number of gates passed
  double* time;                ///< s, at which the last gate was passed
  bool* passed;                ///< whether a gate was passed in this step
  bool* collided;              ///< whether the straight path of this step touches anything
  T* before;                   ///< m, positions one step earlier, (size, 3)
  T* clearance;                ///< m, lower bound of the distance to the scene; 0 if unknown
};

template <class T>
struct RaceRules {
  T radius;       ///< m, of the collision sphere of the vehicle
  T bound;        ///< m, distance from the next gate at which the episode ends
  double period;  ///< s, duration of a step
};

namespace detail {

/// A vector in the axes of a gate.
template <class T>
PROPWASH_FN Vec3<T> in_gate(const RaceGate<T>& gate, const Vec3<T>& v) {
  return {dot(gate.along, v), dot(gate.left, v), dot(gate.up, v)};
}

/// ln x for a normal x > 0, with an error of one unit in the last place; branch-free, so that a
/// loop is vectorised and takes a third of the time of std::log. S. Moshier, Cephes, logf.c.
inline float log_of(float x) {
  // x = (1 + f) 2^e with 1 + f in [√½, √2)
  constexpr std::uint32_t sqrt_half = 0x3f3504f3;
  const std::uint32_t word = propwash::detail::plain_bits(x);
  const std::int32_t exponent = static_cast<std::int32_t>(word - sqrt_half) >> 23;
  const std::uint32_t scaled = word - (static_cast<std::uint32_t>(exponent) << 23);
  float f;
  std::memcpy(&f, &scaled, sizeof f);
  f -= 1.0F;
  float slope = 0.0703768363F;
  for (const float c : {-0.115146103F, 0.116769987F, -0.124201408F, 0.142493228F, -0.166680577F,
                        0.200007148F, -0.24999994F, 0.333333313F}) {
    slope = slope * f + c;
  }
  // ln 2 in two parts, of which the first is exact times any exponent
  const auto e = static_cast<float>(exponent);
  return e * 0.693359375F + (f + ((f * f * f * slope - 0.000212194440F * e) - 0.5F * (f * f)));
}

/// Whether the straight path from `start` to `end`, both relative to the gate's centre, passes the
/// gate's opening in its direction; the fraction of the path at which it crosses the plane, and the
/// place there, in the axes of the gate.
template <class T>
bool passes(const RaceGate<T>& gate, const Vec3<T>& start, const Vec3<T>& end, T& fraction,
            Vec3<T>& through) {
  const T first = dot(start, gate.along), second = dot(end, gate.along);
  if (!(first < T(0)) || second < T(0)) return false;
  fraction = first / (first - second);
  through = in_gate(gate, start + (end - start) * fraction);
  return abs(through.y) <= gate.half_width && abs(through.z) <= gate.half_height;
}

}  // namespace detail

/// Weights of the reward of a step (must be finite, not checked):
///   progress (distance to the next gate before − distance) + gate for each gate passed
///   − body_rates |rates|², − failure for a collision or for leaving the bound
template <class T>
struct RaceReward {
  T progress = T(1);  ///< 1/m
  T gate = T(10);
  T failure = T(10);
  T body_rates = T(0.001);  ///< s²/rad²
};

/// reward: see RaceReward. over: whether all gates are passed, or after a collision or beyond the
/// bound. steps: since the start, including this one.
/// Collisions are checked for a sphere that moves straight from `before` to the vehicle's position.
/// A gate behind the first contact is not passed; contact behind the last gate is ignored.
template <class T>
void judge_race(const StateRows<T>& state, const RaceCourse<T>* courses, const RaceRules<T>& rules,
                const RaceReward<T>& weights, const std::int32_t* steps, const RaceRows<T>& rows,
                T* reward, bool* over) {
  for (std::size_t i = 0; i < state.size; ++i) {
    const RaceCourse<T>& course = courses[rows.course[i]];
    const RaceGate<T>& gate = course.gates[rows.next[i]];
    const Vec3<T> here = detail::row3(state.position, i), previous = detail::row3(rows.before, i);
    const Vec3<T> start = previous - gate.centre, end = here - gate.centre;
    T far = norm(end);
    T value = weights.progress * (norm(start) - far) -
              weights.body_rates * squared_norm(detail::row3(state.body_rates, i));
    // no collision check is needed before the vehicle has moved by its last clearance
    const T moved = norm(here - previous);
    rows.clearance[i] -= moved * T(1.0001) + T(1e-4);
    SphereHit hit;
    if (!(rows.clearance[i] > rules.radius)) {
      const Vec3<double> now{here.x, here.y, here.z};
      hit =
          spherecast(course.scene, {previous.x, previous.y, previous.z}, now, double{rules.radius});
      rows.clearance[i] = hit.id < 0 ? static_cast<T>(clearance(course.scene, now)) : T(0);
    }
    bool collided = hit.id >= 0;
    T fraction{};
    Vec3<T> through;
    const bool passed = rows.next[i] < course.count &&
                        detail::passes(gate, start, end, fraction, through) &&
                        !(collided && hit.fraction < double{fraction});
    if (passed) {
      rows.time[i] = (steps[i] - 1 + static_cast<double>(fraction)) * rules.period;
      ++rows.next[i];
      far = norm(here - course.gates[rows.next[i]].centre);
      value += weights.gate;
    }
    const bool finished = rows.next[i] == course.count;
    collided = collided && !(finished && passed);
    const bool out_of_bounds = far > rules.bound;
    rows.collided[i] = collided;
    rows.passed[i] = passed;
    for (int k = 0; k < 3; ++k) rows.before[3 * i + std::size_t(k)] = here[k];
    reward[i] = value - (collided || out_of_bounds ? weights.failure : T(0));
    over[i] = finished || collided || out_of_bounds;
  }
}

inline constexpr std::size_t race_columns = 12, race_scaled_columns = 4;

/// seen (size, 12): direction of passage of the next gate, vector to the centre of the gate after
/// it [m], direction of passage of that gate, direction from the next gate's centre to the vehicle.
/// scaled (size, 4): with p the position [m] in the axes of the next gate, asinh of p (3) and
/// log(|p| + 0.1): precise near the gate, small far from it.
/// target (size, 3): centre of the next gate [m].
template <class T>
void look_at_gates(const RaceCourse<T>* courses, const std::int64_t* course,
                   const std::int64_t* next, const T* position, std::size_t size, T* target,
                   T* seen, T* scaled) {
  T* arguments = scaled;  // of the logarithm; a negative one stands for −ln of its magnitude
  for (std::size_t i = 0; i < size; ++i, seen += race_columns, arguments += race_scaled_columns) {
    const RaceGate<T>& gate = courses[course[i]].gates[next[i]];
    const RaceGate<T>& after = (&gate)[1];
    const Vec3<T> here = detail::row3(position, i), from = here - gate.centre;
    const T distance = norm(from);
    const Vec3<T> place = detail::in_gate(gate, from);
    for (int k = 0; k < 3; ++k) {
      const T exp_arsinh = abs(place[k]) + sqrt(place[k] * place[k] + T(1));
      arguments[k] = place[k] < T(0) ? -exp_arsinh : exp_arsinh;
    }
    arguments[3] = distance + T(0.1);
    const Vec3<T> parts[] = {gate.along, after.centre - here, after.along,
                             from * (T(1) / (distance + T(1e-3)))};
    static_assert(sizeof parts == race_columns * sizeof(T), "expected vectors of three numbers");
    std::memcpy(seen, parts, sizeof parts);
    std::memcpy(target + 3 * i, &gate.centre, sizeof gate.centre);
  }
  for (std::size_t i = 0; i < size * race_scaled_columns; ++i) {
    const T magnitude = detail::log_of(abs(scaled[i]));
    scaled[i] = scaled[i] < T(0) ? -magnitude : magnitude;
  }
}

}  // namespace propwash::learn
