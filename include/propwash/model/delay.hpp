#pragma once
/// @file
/// Command delay (dead time). See docs/model/delay.md.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// A delay of `steps + fraction` time steps.
struct StepDelay {
  int steps = 0;          ///< whole steps
  double fraction = 0.0;  ///< of a step, in [0, 1)
};

/// The longest command delay of a vehicle, in steps.
inline constexpr int max_delay_steps = 62;

/// The mean command of a step: `earlier` acts during the first `fraction` of it, then `later`.
template <class Command, class P>
PROPWASH_FN Command mean_command(const Command& later, const Command& earlier, const P& fraction) {
  return later * (constant<P>(1) - fraction) + earlier * fraction;
}

/// Stores the last Capacity commands. Command has Command + Command and Command * scalar, for
/// example a SmallArray.
template <class Command, int Capacity>
struct DelayLine {
  static constexpr int capacity = Capacity;  ///< number of commands that the line holds
  Command history[std::size_t{Capacity}]{};  ///< a ring of the last commands
  std::int64_t newest = 0;  ///< index of the last command; 64 bits, so that there is no padding

  /// Sets all past commands to `command`.
  PROPWASH_FN void fill(const Command& command) {
    for (Command& past : history) past = command;
  }

  /// Stores the command of this step and returns the delayed one: the mean over the step of the two
  /// commands that act during it. `steps` is at most Capacity - 2, `fraction` in [0, 1).
  template <class P>
  PROPWASH_FN Command push(const Command& command, int steps, const P& fraction) {
    newest = (newest + 1) % Capacity;
    history[newest] = command;
    const Command& later = history[(newest + Capacity - steps) % Capacity];
    const Command& earlier = history[(newest + Capacity - steps - 1) % Capacity];
    return mean_command(later, earlier, fraction);
  }
  PROPWASH_MEMBERS(history, newest)
};

/// A delay [s] in steps of dt [s], limited to what a DelayLine of `capacity` can represent.
inline StepDelay step_delay(double seconds, double dt, int capacity) {
  double steps = seconds > 0.0 && dt > 0.0 ? seconds / dt : 0.0;
  const double max_steps = capacity - 2;
  if (steps > max_steps) steps = max_steps;
  const double whole = std::floor(steps);
  return {static_cast<int>(whole), steps - whole};
}

}  // namespace propwash
