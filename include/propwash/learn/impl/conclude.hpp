#pragma once
/// @file
/// The end of a step of all environments, which does not depend on the task.

#include <cstddef>
#include <cstdint>

namespace propwash::learn {

/// Results of the task, and its environments. Null: none.
template <class T>
struct Outcome {
  const T* reward;
  const bool* ended;
  const bool* diverged;       ///< the state is not finite
  const bool* pending;        ///< the step only began a new episode
  const std::int32_t* steps;  ///< of the episode
  std::int32_t limit;         ///< of the steps, 0: none
};

/// What an environment returns.
template <class T>
struct Conclusion {
  T* reward;
  bool* terminated;
  bool* truncated;
  bool* done;
};

template <class T>
void conclude(std::size_t size, const Outcome<T>& from, const Conclusion<T>& to) {
  for (std::size_t i = 0; i < size; ++i) {
    to.reward[i] = from.reward[i];
    to.terminated[i] = from.ended[i];
    to.truncated[i] = !from.ended[i] & (from.limit > 0) & (from.steps[i] >= from.limit);
    to.done[i] = to.terminated[i] | to.truncated[i];
  }
  if (from.diverged == nullptr && from.pending == nullptr) return;
  for (std::size_t i = 0; i < size; ++i) {
    const bool begun = from.pending != nullptr && from.pending[i];
    const bool lost = !begun && from.diverged != nullptr && from.diverged[i];
    if (!begun && !lost) continue;
    to.reward[i] = T(0);
    to.terminated[i] = to.done[i] = lost;
    to.truncated[i] = false;
  }
}

}  // namespace propwash::learn
