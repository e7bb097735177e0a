#pragma once
/// @file
/// Dead time of a command. See docs/model/delay.md.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "propwash/math/scalar.hpp"

namespace propwash {

/// A command held for the whole of a step takes effect `steps + fraction` steps later.
struct StepDelay {
  int steps = 0;          ///< whole steps
  double fraction = 0.0;  ///< of a step, in [0, 1)
};

/// The longest delay that a vehicle remembers, in steps.
inline constexpr int max_delay_steps = 62;

/// What acts in a step of which a fraction is still held by the command before: their mean.
template <class Command, class P>
PROPWASH_FN Command held_between(const Command& later, const Command& earlier, const P& fraction) {
  return later * (constant<P>(1) - fraction) + earlier * fraction;
}

/// Remembers the last Capacity commands. Command is anything with +, * scalar: a SmallArray.
template <class Command, int Capacity>
struct DelayLine {
  static constexpr int capacity = Capacity;  ///< number of commands that the line holds
  Command history[std::size_t{Capacity}]{};  ///< a ring of the last commands
  std::int64_t newest = 0;  ///< index of the last command; 64 bits, so that there is no padding

  /// Forgets everything: as if `command` had been given for ever.
  PROPWASH_FN void fill(const Command& command) {
    for (Command& past : history) past = command;
  }

  /// Takes the command of this step, returns the one that acts in it: with a delay of a fraction of
  /// a step, the mean of the two that are held during it. `delay.steps` is at most Capacity - 2.
  template <class P>
  PROPWASH_FN Command push(const Command& command, int steps, const P& fraction) {
    newest = (newest + 1) % Capacity;
    history[newest] = command;
    const Command& later = history[(newest + Capacity - steps) % Capacity];
    const Command& earlier = history[(newest + Capacity - steps - 1) % Capacity];
    return held_between(later, earlier, fraction);
  }
};

/// The delay of `seconds` in steps of `dt`, limited to what a line of `capacity` holds.
inline StepDelay step_delay(double seconds, double dt, int capacity) {
  double steps = seconds > 0.0 && dt > 0.0 ? seconds / dt : 0.0;
  const double most = capacity - 2;
  if (steps > most) steps = most;
  const double whole = std::floor(steps);
  return {static_cast<int>(whole), steps - whole};
}

}  // namespace propwash
