"""The reporter of a race: detects passed gates, and writes their times and the score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propwash import race
from propwash._checks import refusal
from propwash.ros import _messages
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Callback, Outputs
from propwash.ros._parameters import Tree, get, number
from propwash.ros._transforms import frame_name
from propwash.world import Gate, Scene

Array = NDArray[np.float64]
Position = tuple[float, float, float]

BODY_FRAME = "uav/imu"
PERIOD_NS = 8_000_000
"""ns, between positions that are examined with the gates of a scene, about 120 Hz."""


class Goal(Protocol):
    """A gate to pass."""

    name: str

    def reached(self, before: Position, now: Position) -> bool:
        """Whether a vehicle that moves straight from one position to the next passes it."""
        ...


class GateBox:
    """A gate of the published reporter: close to its plane, inside the box of its corners.

    corners: (4, 3) m, world frame. inflation: m, of the box. tolerance: m, from the plane.
    """

    def __init__(self, name: str, corners: Array, inflation: float, tolerance: float) -> None:
        self.name = name
        low, high = corners.min(axis=0) - inflation, corners.max(axis=0) + inflation
        self._range = list(zip(low.tolist(), high.tolist(), strict=True))
        normal = np.cross(corners[2] - corners[0], corners[1] - corners[0])
        normal /= np.linalg.norm(normal)
        self._normal = normal.tolist()
        self._offset = float(normal @ corners[2])
        self._tolerance = tolerance

    def reached(self, before: Position, now: Position) -> bool:
        """Whether the position `now` is in the gate."""
        if not all(low < x < high for x, (low, high) in zip(now, self._range, strict=True)):
            return False
        height = sum(n * x for n, x in zip(self._normal, now, strict=True)) - self._offset
        return bool(abs(height) < self._tolerance)


class Opening:
    """A gate of a scene: the path crosses its opening along its x axis, as in propwash.race."""

    def __init__(self, gate: Gate) -> None:
        self.name = gate.name
        self._gate = gate

    def reached(self, before: Position, now: Position) -> bool:
        """Whether the segment crosses the opening."""
        return bool(race.passages(self._gate, np.array([0.0, 1.0]), np.array([before, now])))


class Reporter:
    """The logic of flightgoggles_reporter.

    The race starts with the first message of the inertial sensor. It ends at the last gate, with a
    collision or after the time limit; the results are then complete.

    goals: the gates in order. may_skip: whether a later gate counts before an earlier one, which is
    then missed. time_limit: s. period: ns, between examined positions, at least. body_frame: the
    frame of the vehicle in /tf. remote: whether the vehicle is in another
    process.
    """

    def __init__(
        self,
        goals: Sequence[Goal],
        *,
        may_skip: bool = False,
        time_limit: float = race.TIME_LIMIT,
        period: int = 0,
        file: Path | None = None,
        body_frame: str = BODY_FRAME,
        remote: bool = True,
    ) -> None:
        self.file = file
        self.result = ""
        """How the race ended; empty until then."""
        self.score = 0.0
        """Points, by the rule of propwash.race.score."""
        self.events: dict[str, dict[str, Any]] = {}
        """Gates reached or missed, by number, as in the published file."""
        self.publishes: dict[str, Topic] = {}
        self.subscribes: dict[str, tuple[Topic, Callback]] = {
            "/uav/sensors/imu": (Topic("sensor_msgs/msg/Imu", remote=remote), self.on_imu),
            "/uav/collision": (Topic("std_msgs/msg/Empty"), self.on_collision),
            "/tf": (Topic("tf2_msgs/msg/TFMessage", queue=10000, remote=remote), self.on_tf),
        }
        self._goals, self._may_skip, self._time_limit = list(goals), may_skip, time_limit
        self._period = period
        self._body = frame_name(body_frame)
        self._start: int | None = None
        self._before: tuple[int, Position] | None = None
        self._next = 0
        self._reached = 0
        self._last_time = 0.0
        self._started = False

    @staticmethod
    def from_parameters(tree: Tree, remote: bool = True) -> Reporter | None:
        """The published reporter; None without /uav/challenge_name.

        Raises ParameterError for missing or invalid parameters.
        """
        if not get(tree, "/uav/challenge_name", ""):
            return None
        names = get(tree, "/uav/gate_names", [])
        if not isinstance(names, list) or not names:
            raise refusal("/uav/gate_names", names, "a list of names")
        limit = number(tree, "/uav/timeout", -1.0)
        if not limit > 0.0:
            raise refusal("/uav/timeout", limit, "a number > 0 [s]")
        tolerance = number(tree, "/uav/gate_width", 1.0)
        inflation = number(tree, "/uav/inflation", 0.1)
        goals = [GateBox(name, _corners(tree, name), inflation, tolerance) for name in names]
        file = Path(str(get(tree, "/uav/results_location", "results.yaml")))
        return Reporter(goals, may_skip=True, time_limit=limit, file=file, remote=remote)

    @staticmethod
    def of_scene(scene: Scene, file: Path | None = None, remote: bool = True) -> Reporter:
        """A reporter of the race through the gates of a scene, by the rules of propwash.race."""
        goals = [Opening(gate) for gate in race.course_gates(scene)]
        return Reporter(goals, period=PERIOD_NS, file=file, remote=remote)

    @property
    def finished(self) -> bool:
        """Whether the race has ended."""
        return bool(self.result)

    def start(self, stamp: int) -> Outputs:
        """No messages."""
        self._started = True
        return []

    def step(self, stamp: int) -> Outputs:
        """Ends the race after its time limit."""
        if self._start is not None and not self.result and self._since(stamp) > self._time_limit:
            self._end("Timed out")
        return []

    def on_imu(self, message: Message) -> None:
        """Starts the race."""
        if self._start is None:
            self._start = _messages.nanoseconds(message.header.stamp)

    def on_collision(self, message: Message) -> None:
        """Ends a race that has started."""
        if self._start is not None and not self.result:
            self._end("Collision")

    def on_tf(self, message: Message) -> None:
        """Examines the motion of the vehicle."""
        if self._start is None or self.result:
            return
        for each in message.transforms:
            if frame_name(each.child_frame_id) == self._body:
                place = each.transform.translation
                self._move(_messages.nanoseconds(each.header.stamp), (place.x, place.y, place.z))

    def close(self) -> None:
        """Ends the race with the program; without a start, results of before are kept."""
        if (self._started or self._start is not None) and not self.result:
            self._end("Interrupted")

    def report(self) -> str:
        """The results as text."""
        return (
            f"race: {self.result or 'running'}, {self._reached} of {len(self._goals)} gates, "
            f"last at {self._last_time:.2f} s, score {self.score:.2f}"
        )

    def _move(self, stamp: int, place: Position) -> None:
        before = self._before
        if before is not None and 0 <= stamp - before[0] < self._period:
            return
        self._before = (stamp, place)
        if before is None or stamp < before[0]:
            return
        ahead = self._goals[self._next :] if self._may_skip else self._goals[self._next :][:1]
        for number_, goal in enumerate(ahead, start=self._next):
            if goal.reached(before[1], place):
                self._pass(number_, stamp, place)
                return

    def _pass(self, reached: int, stamp: int, place: Position) -> None:
        for missed in range(self._next, reached):
            self.events[f"Gate{missed}"] = {"Name": self._goals[missed].name, "Success": "False"}
        self._last_time = self._since(stamp)
        self.events[f"Gate{reached}"] = {
            "Time": self._last_time,
            "Location": list(place),
            "Name": self._goals[reached].name,
            "Success": "True",
        }
        self._reached += 1
        self._next = reached + 1
        if self._next == len(self._goals):
            self._end("Challenge Completed")

    def _since(self, stamp: int) -> float:
        return 1e-9 * (stamp - (self._start or 0))

    def _end(self, result: str) -> None:
        """Completes the results, and writes them as JSON, which is YAML too."""
        self.result = result
        collided = result == "Collision"
        self.score = race.score(self._reached, self._last_time, collided, self._time_limit)
        if self.file is not None:
            results = {**self.events, "Result": result, "Score": self.score}
            self.file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def _corners(tree: Tree, name: str) -> Array:
    """The corners of a gate. Raises ParameterError unless they span a plane."""
    path = f"/uav/{name}/location"
    value = get(tree, path)
    expected = "4 corners of 3 finite numbers [m], on a plane"
    try:
        corners = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal(path, value, expected) from None
    if corners.shape != (4, 3) or not np.isfinite(corners).all():
        raise refusal(path, value, expected)
    if not np.linalg.norm(np.cross(corners[2] - corners[0], corners[1] - corners[0])) > 0.0:
        raise refusal(path, value, expected)
    return corners
