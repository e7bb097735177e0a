"""What a task sees: the vehicles' states in arrays, one row for each environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet import Fleet, FleetImuReading

Numbers = NDArray[np.float32]

HUGE = 1e6
"""m, m/s and rad/s, beyond which a state is as good as diverged."""


_REMEMBERED = (
    *("position", "velocity", "attitude", "body_rates"),
    *("action", "previous_action", "steps", "diverged"),
)


class State:
    """The vehicles after a step, in float32: read it, do not write to it.

    Rows of vehicles that have diverged keep their last finite values.
    """

    def __init__(self, fleet: Fleet, actions: int, period: float) -> None:
        n = fleet.size
        self.fleet = fleet
        """The vehicles, for what is not here: their parameters, rotor speeds, sensors."""
        self.size = n
        self.period = period
        """s, of a step of the environments."""
        self.position: Numbers = np.zeros((n, 3), dtype=np.float32)
        """(n, 3) m, world frame."""
        self.velocity: Numbers = self.position
        """(n, 3) m/s, world frame."""
        self.attitude: Numbers = np.zeros((n, 4), dtype=np.float32)
        """(n, 4) unit quaternions, scalar first: body to world."""
        self.body_rates: Numbers = self.position
        """(n, 3) rad/s, body frame."""
        self.action: Numbers = np.zeros((n, actions), dtype=np.float32)
        """(n, A) what was last done, within [-1, 1]; 0 at the start of an episode."""
        self.previous_action: Numbers = self.action
        """(n, A) what was done before that."""
        self.steps = np.zeros(n, dtype=np.int32)
        """(n,) steps since the start of the episode, 0 in its first observation."""
        self.diverged = np.zeros(n, dtype=np.bool_)
        """(n,) whether a number of the vehicle's state is not finite any more, or beyond 1e6."""
        self.nobody = self.diverged
        """`diverged` where there is none."""
        self._blanks: dict[int, Numbers] = {}
        self.keeps_blank = False

    def blank(self, width: int) -> Numbers:
        """(n, width) numbers to write an observation to: all of them, as they hold anything."""
        if not self.keeps_blank:
            return np.empty((self.size, width), dtype=np.float32)
        if width not in self._blanks:
            self._blanks[width] = np.empty((self.size, width), dtype=np.float32)
        return self._blanks[width]

    def read(self) -> None:
        """Takes what the fleet is now; `steps` and actions are the engine's."""
        before = self.position, self.velocity, self.attitude, self.body_rates
        *now, is_sound = self.fleet._core.kinematics(HUGE)
        self.position, self.velocity, self.attitude, self.body_rates = now
        self.diverged = self.nobody
        if is_sound:
            return
        self.diverged = ~np.all([(np.abs(part) < HUGE).all(axis=1) for part in now], axis=0)
        for old, new in zip(before, now, strict=True):
            new[self.diverged] = old[self.diverged]

    def memory(self) -> dict[str, Any]:
        """For a snapshot."""
        return {name: getattr(self, name) for name in _REMEMBERED}

    def recall(self, memory: dict[str, Any]) -> None:
        """Takes up what memory() gave."""
        vars(self).update(memory)
        if not self.diverged.any():
            self.diverged = self.nobody

    @property
    def time(self) -> Numbers:
        """(n,) s since the start of the episode: steps * period."""
        return self.steps * np.float32(self.period)

    @property
    def rotor_speeds(self) -> Numbers:
        """(n, N) rad/s; 0 for a vehicle that diverged."""
        return np.nan_to_num(self.fleet.rotor_speeds, posinf=0.0, neginf=0.0)

    @property
    def imu(self) -> FleetImuReading:
        """The readings of the inertial sensors, with all their noise."""
        return self.fleet.imu

    @property
    def rotation(self) -> Numbers:
        """(n, 3, 3) from body to world."""
        return _core.rotations(self.attitude)

    @property
    def upright(self) -> Numbers:
        """(n,) cosine of the angle between the body's z and the world's: 1 level, -1 inverted."""
        x, y = self.attitude[:, 1], self.attitude[:, 2]
        up: Numbers = np.float32(1.0) - np.float32(2.0) * (x * x + y * y)
        return up

    def to_body(self, vector: Numbers) -> Numbers:
        """(n, 3) of the world in components of the body; (n, 3 k) is k vectors each."""
        width = max(3, vector.shape[-1])
        return _core.in_body(self.attitude, np.broadcast_to(vector, (self.size, width)))
