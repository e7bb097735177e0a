"""What the policies of the zoo shall do behind PX4's estimator and rate loop, and its judgement.

A mission returns the goal of a policy for each estimate of PX4, and keeps the estimates. Frames are
those of examples/firmware/px4_offboard.py: x north, y west, z up, with PX4's origin. Judged is the
estimate, as the policy sees no other state; the thresholds are those of docs/firmware.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from propwash import _rotation
from propwash._rotation import rotation
from propwash.gym._c_parts import PREVIEWS
from propwash.gym.policy import Policy

Array = NDArray[np.float64]


class Mission:
    """Base class: a goal for `seconds`, from the first estimate on."""

    seconds = 5.0

    def __init__(self, place: Array) -> None:
        self.place = place
        self.times = list[float]()
        self.states = list[Array]()

    def __call__(self, time: float, state: Sequence[float]) -> Sequence[float]:
        """The goal; PolicyPilot calls it."""
        self.times.append(time)
        self.states.append(np.array(state))
        return [float(number) for number in self.goal(time - self.times[0], self.states[-1])]

    def goal(self, t: float, state: Array) -> Any:
        """The numbers of policy_goal at t seconds."""
        return self.place

    @property
    def is_over(self) -> bool:
        """Whether its time is up, or its end reached."""
        return bool(self.times) and self.times[-1] - self.times[0] >= self.seconds

    @property
    def errors(self) -> Array:
        """(k,) m, distances from the goal."""
        return np.array([np.linalg.norm(state[:3] - self.place) for state in self.states])

    def result(self) -> tuple[bool, str]:
        """Success, and the measured number."""
        since = np.array(self.times) - self.times[0]
        largest = float(self.errors[since > self.seconds - 2.0].max())
        return largest < 0.1, f"{largest:.2f} m"


class TrackMission(Mission):
    """Follows the path of the policy's task, shifted to begin at `place`, from rest."""

    seconds = 10.0

    def __init__(self, place: Array, task: Any) -> None:
        super().__init__(place)
        self._points = task.points()
        self._arc = np.linspace(0.0, task.length, len(self._points))
        self._speed, self._length = task.speed, task.length

    def _at(self, t: float) -> Array:
        arc = (self._speed * t) % self._length
        now = np.array([np.interp(arc, self._arc, column) for column in self._points.T])
        return np.asarray(now - self._points[0] + self.place)

    def goal(self, t: float, state: Array) -> Any:
        """Target, its velocity, and its places ahead."""
        h = 0.01
        velocity = (self._at(t + h) - self._at(t - h)) / (2.0 * h)
        return np.concatenate([self._at(t), velocity, *(self._at(t + each) for each in PREVIEWS)])

    @property
    def errors(self) -> Array:
        """(k,) m, distances from the target."""
        rows = zip(self.times, self.states, strict=True)
        return np.array([np.linalg.norm(s[:3] - self._at(t - self.times[0])) for t, s in rows])

    def result(self) -> tuple[bool, str]:
        """The root of the mean square after 2 s."""
        since = np.array(self.times) - self.times[0]
        error = float(np.sqrt(np.mean(self.errors[since > 2.0] ** 2)))
        return error < 0.1, f"{error:.2f} m"


class LandMission(Mission):
    """Lands at `place`; `touched` is set from the true height, as PX4 measures none."""

    seconds = 15.0

    def __init__(self, place: Array, task: Any) -> None:
        super().__init__(place)
        self._task = task
        self.touched = False

    @property
    def is_over(self) -> bool:
        """Also at touchdown."""
        return self.touched or super().is_over

    def result(self) -> tuple[bool, str]:
        """The limits of the task at touchdown."""
        state, task = self.states[-1], self._task
        away = float(np.linalg.norm(state[:2] - self.place[:2]))
        speed = float(np.linalg.norm(state[3:6]))
        tilt = float(np.arccos(np.clip(rotation(state[6:10])[2, 2], -1.0, 1.0)))
        landed = self.touched and away < task.radius and speed < task.speed and tilt < task.tilt
        return landed, f"{away:.2f} m, {speed:.2f} m/s" + ("" if self.touched else ", in flight")


class RaceMission(Mission):
    """Passes the gates of the policy's course, moved so that it starts at `place` with `yaw`."""

    seconds = 30.0

    def __init__(self, place: Array, yaw: float, task: Any) -> None:
        super().__init__(place)
        course = task.courses[0]
        turn = rotation(_rotation.from_euler(0.0, 0.0, yaw - course.yaw))
        self._centre = (course.centre - course.start) @ turn.T + place
        self._rotation = np.einsum("ij,gjk->gik", turn, course.rotation)
        self._half, self._radius = course.half, task.radius
        self.passed, self._hit, self._time = 0, False, 0.0

    def goal(self, t: float, state: Array) -> Any:
        """The next gate and the one after it."""
        if len(self.states) > 1 and not self.is_over:
            self._cross(t)
        gate = min(self.passed, len(self._centre) - 1)
        after = min(gate + 1, len(self._centre) - 1)
        along = self._rotation[:, :, 0]
        axes = self._rotation[gate].T.ravel()
        return np.concatenate([self._centre[gate], axes, self._centre[after], along[after]])

    def _cross(self, t: float) -> None:
        """Counts the next gate if the line between two estimates crosses its plane within it."""
        centre, axes = self._centre[self.passed], self._rotation[self.passed]
        before, now = ((state[:3] - centre) @ axes for state in self.states[-2:])
        if not before[0] < 0.0 <= now[0]:
            return
        at = before + (now - before) * before[0] / (before[0] - now[0])
        away = np.abs(at[1:]) - self._half[self.passed]
        if (away < -self._radius).all():
            self.passed, self._time = self.passed + 1, t
        elif (away < 0.5).all():
            self._hit = True

    @property
    def is_over(self) -> bool:
        """Also after the last gate, or at a hit."""
        return self._hit or self.passed == len(self._centre) or super().is_over

    @property
    def errors(self) -> Array:
        """None: the goal is a gate."""
        return np.zeros(0)

    def result(self) -> tuple[bool, str]:
        """All gates, without a hit."""
        gates = len(self._centre)
        end = ", hit" if self._hit else ""
        return self.passed == gates, f"{self.passed} of {gates} gates, {self._time:.1f} s{end}"


def mission(policy: str, place: Array, yaw: float, ground: float) -> Mission:
    """The mission of a policy. place: m, where it begins; ground: m, height of its landing."""
    described = Policy.load(policy)
    task: Any = described.make_vec(1).task
    name = described.description.task
    if name == "track":
        return TrackMission(place, task)
    if name == "land":
        return LandMission(np.array([place[0], place[1], ground]), task)
    return RaceMission(place, yaw, task) if name == "race" else Mission(place)
