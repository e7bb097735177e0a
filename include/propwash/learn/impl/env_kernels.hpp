#pragma once
/// @file
/// Environments on a GPU: each thread computes one, with the functions that the CPU calls for all
/// of them, on rows of their own. Compiled as thread_kernel.hpp, they give the bits of the CPU.

#include "propwash/learn/impl/actions.hpp"
#include "propwash/learn/impl/conclude.hpp"
#include "propwash/learn/impl/hover.hpp"
#include "propwash/learn/impl/land.hpp"
#include "propwash/learn/impl/observation.hpp"
#include "propwash/learn/impl/race.hpp"
#include "propwash/learn/impl/track.hpp"

#if defined(__CUDACC__)

namespace propwash::learn {

/// Columns of an action: body rates and thrust.
inline constexpr int action_columns = 4;
/// Columns of position, velocity, attitude and body rates, and of rotor speeds where they begin.
inline constexpr int state_parts = 4, start_parts = 5;

/// Memory of the environments of a fleet, a row for each.
struct EnvRows {
  std::uint64_t size;
  std::uint64_t in_body;             ///< not 0: see observe_state()
  const float* read[state_parts];    ///< the states of the fleet
  float* state[state_parts];         ///< the last that have not diverged
  float* action;                     ///< (size, 4)
  float* previous;                   ///< (size, 4)
  std::int32_t* steps;               ///< of the episode
  std::int64_t* episode;             ///< its number
  const float* starts[start_parts];  ///< drawn for the next episodes, (slots, size, …), or null
  float* next[start_parts];          ///< of those, what the fleet restarts from
  std::uint64_t start_width[start_parts];
  std::uint64_t slots;
  float bound;         ///< magnitude of a number that has diverged
  std::int32_t limit;  ///< of the steps, 0: none
};

/// What a step writes, a row for each environment.
struct EnvResults {
  float* seen;
  float* reward;
  bool* terminated;
  bool* truncated;
  bool* done;
  bool* diverged;
};

namespace detail {

/// The views of one environment.
PROPWASH_FN StateRows<float> state_of(const EnvRows& rows, std::size_t i) {
  return {1, rows.state[0] + 3 * i, rows.state[1] + 3 * i, rows.state[2] + 4 * i,
          rows.state[3] + 3 * i};
}
PROPWASH_FN ActionRows<float> action_of(const EnvRows& rows, std::size_t i) {
  return {action_columns, rows.action + action_columns * i, rows.previous + action_columns * i};
}

/// Copies the state of the fleet, unless it has diverged; returns whether it has.
PROPWASH_FN bool update_state(const EnvRows& rows, std::size_t i) {
  const std::size_t widths[state_parts] = {3, 3, 4, 3};
  bool within = true;
  for (int part = 0; part < state_parts; ++part) {
    const float* const from = rows.read[part] + widths[part] * i;
    for (std::size_t k = 0; k < widths[part]; ++k) within = within && abs(from[k]) < rows.bound;
  }
  for (int part = 0; part < state_parts && within; ++part) {
    const std::size_t first = widths[part] * i;
    for (std::size_t k = first; k < first + widths[part]; ++k)
      rows.state[part][k] = rows.read[part][k];
  }
  return !within;
}

/// Writes the columns that do not depend on the task, after which those of the task follow.
PROPWASH_FN void observe(const EnvRows& rows, std::size_t i, const float* target, float* seen,
                         std::size_t width) {
  observe_state(state_of(rows, i), target, false, action_of(rows, i), rows.in_body != 0, seen,
                width);
}

}  // namespace detail

/// Hovering at the origin.
struct HoverEnv {
  static constexpr std::size_t width = state_columns + action_columns;
  HoverReward<float> weights;
  float bound;
  float* distance;

  void judge(const EnvRows& rows, std::size_t i, float* reward, bool* over) const {
    judge_hover(detail::state_of(rows, i), detail::action_of(rows, i), weights, bound, reward, over,
                distance + i);
  }
  void begin(const EnvRows&, std::size_t, std::size_t) const {}
  void observe(const EnvRows& rows, std::size_t i, float* seen) const {
    detail::observe(rows, i, nullptr, seen, width);
  }
};

/// Landing.
struct LandEnv {
  static constexpr std::size_t width = state_columns + action_columns;
  LandReward<float> weights;
  LandBounds<float> bounds;
  float* distance;  ///< from the step before
  bool* landed;
  float* speed;
  const float* start;  ///< the distance at the start, (slots, size)

  void judge(const EnvRows& rows, std::size_t i, float* reward, bool* over) const {
    judge_landing(detail::state_of(rows, i), bounds, weights,
                  {distance + i, reward, over, landed + i, speed + i});
  }
  void begin(const EnvRows&, std::size_t i, std::size_t drawn) const { distance[i] = start[drawn]; }
  void observe(const EnvRows& rows, std::size_t i, float* seen) const {
    detail::observe(rows, i, nullptr, seen, width);
  }
};

/// Tracking a point on a path.
struct TrackEnv {
  static constexpr std::size_t width = state_columns + action_columns + ahead_columns;
  TrackReward<float> weights;
  float bound;
  PathRows<float> path;
  double period;        ///< s
  double* phase;        ///< m
  const double* start;  ///< m, the phase at the start, (slots, size)
  float* distance;

  void judge(const EnvRows& rows, std::size_t i, float* reward, bool* over) const {
    float target[3], velocity[3];
    follow(path, phase + i, rows.steps + i, period, 0.0, 1, target, velocity);
    judge_track(detail::state_of(rows, i), detail::action_of(rows, i), target, velocity, weights,
                bound, reward, over, distance + i);
  }
  void begin(const EnvRows&, std::size_t i, std::size_t drawn) const { phase[i] = start[drawn]; }
  void observe(const EnvRows& rows, std::size_t i, float* seen) const {
    float target[3], velocity[3], extras[ahead_columns];
    const StateRows<float> state = detail::state_of(rows, i);
    follow(path, phase + i, rows.steps + i, period, 0.0, 1, target, velocity);
    look_ahead(path, phase + i, rows.steps + i, period, state.position, velocity, 1, extras);
    if (rows.in_body != 0) rotate_to_body(state.attitude, 1, ahead_columns / 3, extras);
    detail::observe(rows, i, target, seen, width);
    append({ahead_columns, extras}, 1, seen, width, width - ahead_columns);
  }
};

/// Passing gates.
struct RaceEnv {
  static constexpr std::size_t width =
      state_columns + action_columns + race_columns + race_scaled_columns;
  RaceReward<float> weights;
  RaceRules<float> rules;
  const RaceCourse<float>* courses;
  RaceRows<float> all;        ///< of all environments
  std::int64_t* skipped;      ///< gates before the first one to pass
  const float* start;         ///< m, the position at the start, (slots, size, 3)
  const std::int64_t* first;  ///< the first gate to pass, (slots, size)

  void judge(const EnvRows& rows, std::size_t i, float* reward, bool* over) const {
    judge_race(detail::state_of(rows, i), courses, rules, weights, rows.steps + i, of(i), reward,
               over);
  }
  void begin(const EnvRows&, std::size_t i, std::size_t drawn) const {
    const RaceRows<float> mine = of(i);
    *mine.next = skipped[i] = first[drawn];
    *mine.time = 0.0;
    *mine.passed = *mine.collided = false;
    *mine.clearance = 0.0F;
    for (std::size_t k = 0; k < 3; ++k) mine.before[k] = start[3 * drawn + k];
  }
  void observe(const EnvRows& rows, std::size_t i, float* seen) const {
    float target[3], extras[race_columns], scaled[race_scaled_columns];
    const StateRows<float> state = detail::state_of(rows, i);
    look_at_gates(courses, all.course + i, all.next + i, state.position, 1, target, extras, scaled);
    if (rows.in_body != 0) rotate_to_body(state.attitude, 1, race_columns / 3, extras);
    detail::observe(rows, i, target, seen, width);
    append({race_columns, extras}, 1, seen, width, state_columns + action_columns);
    append({race_scaled_columns, scaled}, 1, seen, width, width - race_scaled_columns);
  }

 private:
  RaceRows<float> of(std::size_t i) const {
    return {all.course + i,   all.next + i,       all.time + i,     all.passed + i,
            all.collided + i, all.before + 3 * i, all.clearance + i};
  }
};

/// The entry that clips actions, counts the clipped numbers (size) and makes the command. NaN is
/// clipped to 0.
__global__ void env_act(const __grid_constant__ EnvRows rows,
                        const __grid_constant__ RateThrustAction<float> map, const float* actions,
                        std::int32_t* clipped, float* rates, float* thrust) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows.size) return;
  float* const now = rows.action + action_columns * i;
  for (int k = 0; k < action_columns; ++k) rows.previous[action_columns * i + k] = now[k];
  clipped[i] = 0;
  clip_actions(actions + action_columns * i, 1, action_columns, nullptr, now, clipped + i);
  ++rows.steps[i];
  map(now, 1, rates + 3 * i, thrust + i);
}

/// The entry that evaluates a step: rewards, terminations, observations, and for each episode that
/// ended what the next one begins with.
template <class Task>
__global__ void env_judge(const __grid_constant__ EnvRows rows, const __grid_constant__ Task task,
                          const __grid_constant__ EnvResults to) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows.size) return;
  to.diverged[i] = detail::update_state(rows, i);
  float reward;
  bool over;
  task.judge(rows, i, &reward, &over);
  task.observe(rows, i, to.seen + Task::width * i);
  conclude<float>(1, {&reward, &over, to.diverged + i, nullptr, rows.steps + i, rows.limit},
                  {to.reward + i, to.terminated + i, to.truncated + i, to.done + i});
  if (!to.done[i]) return;
  const std::uint64_t slot = static_cast<std::uint64_t>(++rows.episode[i]) % rows.slots;
  for (int part = 0; part < start_parts; ++part) {
    if (rows.starts[part] == nullptr) continue;
    const std::size_t width = rows.start_width[part];
    const float* const from = rows.starts[part] + (slot * rows.size + i) * width;
    for (std::size_t k = 0; k < width; ++k) rows.next[part][width * i + k] = from[k];
  }
}

/// The entry that begins the episodes of a mask, after the fleet has restarted their vehicles, and
/// observes all environments.
template <class Task>
__global__ void env_begin(const __grid_constant__ EnvRows rows, const __grid_constant__ Task task,
                          const bool* mask, float* seen) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows.size) return;
  if (mask[i]) {
    detail::update_state(rows, i);
    rows.steps[i] = 0;
    for (std::size_t k = action_columns * i; k < action_columns * (i + 1); ++k)
      rows.action[k] = rows.previous[k] = 0.0F;
    task.begin(rows, i, static_cast<std::uint64_t>(rows.episode[i]) % rows.slots * rows.size + i);
  }
  task.observe(rows, i, seen + Task::width * i);
}

}  // namespace propwash::learn

#endif  // __CUDACC__
