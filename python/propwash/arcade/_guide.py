"""What guides a pilot to the next gate: directions, gates passed out of order, and the lesson."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import numpy as np

from propwash import _rotation, race
from propwash.arcade._interface import Array, FlightSnapshot, Task, WrongGate
from propwash.vehicle import MulticopterState
from propwash.world import Gate

AHEAD, BEHIND = math.radians(35.0), math.radians(135.0)
"""rad, bearing of a gate up to which it is ahead, and from which the pilot has to turn around."""
CLIMB = 1.0
"""m, above the ground, of the lesson's first task."""
HOVER_SPEED, HOVER_TIME = 0.4, 2.0
"""m/s and s: the vehicle hovers if it is not faster for this time."""
TURN = math.radians(90.0)
"""rad, of the lesson's turn."""


def next_gate(gates: Sequence[Gate], snapshot: FlightSnapshot) -> Gate | None:
    """The gate after those passed; None after the last one."""
    passed = len(snapshot.passed)
    return gates[passed] if passed < len(gates) else None


def distance(gate: Gate, snapshot: FlightSnapshot) -> float:
    """m, from the vehicle to the centre of the gate."""
    return math.dist(gate.position, snapshot.position.tolist())


def directions(gate: Gate, snapshot: FlightSnapshot) -> str:
    """How to reach the side from which the gate is passed; empty: straight on."""
    relative = np.asarray(gate.position) - snapshot.position
    heading = _rotation.heading(snapshot.attitude)
    bearing = math.remainder(math.atan2(relative[1], relative[0]) - heading, math.tau)
    along = float(relative @ _rotation.rotation(gate.attitude)[:, 0])
    found = []
    if abs(bearing) >= BEHIND:
        found.append("turn around")
    elif abs(bearing) > AHEAD:
        found.append("turn left" if bearing > 0.0 else "turn right")
    if along <= 0.0:
        found.append("enter from the other side")
    return ", ".join(found)


def guidance(gate: Gate, snapshot: FlightSnapshot) -> str:
    """One line: the name of the gate, its distance and the directions."""
    parts = (gate.name, f"{distance(gate, snapshot):.0f} m", directions(gate, snapshot))
    return " · ".join(filter(None, parts))


class Openings:
    """The openings of the gates of a course, which finds those that are passed out of order."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = gates
        self._axes = np.array([_rotation.rotation(gate.attitude)[:, 0] for gate in gates])
        self._offsets = np.einsum("gi,gi->g", self._axes, [gate.position for gate in gates])

    def wrong(
        self, right: Container[int], time: float, before: Array, after: Array
    ) -> WrongGate | None:
        """The first gate that a line passes backwards, or that is not among the right ones.

        right: their indices. time: s, race time. before, after: (3,) m.
        """
        start, end = (self._axes @ point >= self._offsets for point in (before, after))
        for index in np.flatnonzero(start != end).tolist():
            gate, backwards = self._gates[index], bool(start[index])
            if index in right and not backwards:
                continue
            line = np.array((after, before) if backwards else (before, after))
            if race.passages(gate, np.array([0.0, 1.0]), line):
                return WrongGate(gate.name, time, backwards)
        return None


class Lesson:
    """The tasks of the first course, one after the other; a passed gate completes all before it.

    height: m, of the vehicle at rest.
    """

    def __init__(self, height: float) -> None:
        self.task: Task = "take_off"
        self.progress = 0.0
        """Progress of the task, from 0 to 1."""
        self._height = height
        self._heading = self._done = 0.0

    def advance(self, state: MulticopterState, has_passed: bool, elapsed: float) -> None:
        """Judges the newest state, `elapsed` [s] after the one before.

        has_passed: whether a gate has been passed.
        """
        heading = _rotation.heading(state.attitude)
        turned = math.remainder(heading - self._heading, math.tau)
        self._heading = heading
        if has_passed:
            self.task, self.progress = "gates", 0.0
        elif self.task == "take_off":
            self._proceed((float(state.position[2]) - self._height) / CLIMB, "hover")
        elif self.task == "hover":
            is_slow = float(np.linalg.norm(state.velocity)) <= HOVER_SPEED
            self._done = self._done + elapsed if is_slow else 0.0
            self._proceed(self._done / HOVER_TIME, "yaw")
        elif self.task == "yaw":
            self._done += turned
            self._proceed(abs(self._done) / TURN, "gate")

    def _proceed(self, progress: float, following: Task) -> None:
        self.progress = min(max(progress, 0.0), 1.0)
        if progress >= 1.0:
            self.task, self.progress, self._done = following, 0.0, 0.0
