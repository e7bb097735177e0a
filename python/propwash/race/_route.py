"""Points of a path through gates, fixed to the gates, so that they move with estimated gates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _rotation
from propwash.world import Gate

Array = NDArray[np.float64]

MIN_APPROACH = 1.0
"""m, before a gate; a path that comes from less far before it is first led behind the gate."""
_BEFORE = 2.5
"""m, of additional points before and after a gate."""
_RUN_OUT = 12.0
"""m, from the last gate to the end of the path."""
_CLEARANCE = 0.8
"""m, between the frame of a gate and a path that passes it outside."""
_MIN_COSINE = 0.6
"""Between the axis of a gate and the chord of its neighbours; below, points before and after the
gate are added."""


@dataclass(frozen=True, eq=False)
class Route:
    """Points of a path, of which the first is the start."""

    gate: NDArray[np.intp]
    """(n,) number of the gate to which a point is fixed."""
    offset: Array
    """(n, 3) m, from the centre of the gate, in its axes."""
    is_passage: NDArray[np.bool_]
    """(n,) whether the point is the passage of the gate."""
    is_stop: NDArray[np.bool_]
    """(n,) whether the point is behind a gate to which the path comes from the wrong side: a pilot
    that does not know where the gate is can look for it there."""

    def axes(self, gates: Sequence[Gate], moved: Array | None = None) -> tuple[Array, Array]:
        """Centres (g, 3) [m] and axes (g, 3, 3), in columns, of gates moved by `moved`."""
        centres = np.array([gate.position for gate in gates])
        axes = np.array([_rotation.rotation(gate.attitude) for gate in gates])
        if moved is not None:
            centres[:, :2] += moved[:, :2]
            c, s = np.cos(moved[:, 2]), np.sin(moved[:, 2])
            x, y = axes[:, 0].copy(), axes[:, 1].copy()
            axes[:, 0] = c[:, None] * x - s[:, None] * y
            axes[:, 1] = s[:, None] * x + c[:, None] * y
        return centres, axes

    def points(self, gates: Sequence[Gate], moved: Array | None = None) -> Array:
        """The points (n, 3) [m]; moved: (g, 3), offsets of the gates: x, y [m] and yaw [rad]."""
        centres, axes = self.axes(gates, moved)
        rotated = np.einsum("nij,nj->ni", axes[self.gate], self.offset)
        return np.asarray(centres[self.gate] + rotated)

    def courses(self, gates: Sequence[Gate]) -> Array:
        """Unit directions (g, 2) from the point before each gate to the point after it."""
        points, passages = self.points(gates)[:, :2], np.flatnonzero(self.is_passage)
        chords = points[passages + 1] - points[passages - 1]
        return np.asarray(chords / np.linalg.norm(chords, axis=1)[:, None])


def route(start: ArrayLike, gates: Sequence[Gate], elevation: float = 0.0) -> Route:
    """Returns the points of a path from the start through the centres of all gates.

    If the path comes from the wrong side of a gate, points before it, and if necessary beside it,
    are added; if it would cross a gate at a small angle to its plane, points before and after it.
    elevation: rad, of the gate seen from the point before it at which the path may stop.
    """
    centres = [np.asarray(gate.position) for gate in gates]
    previous = np.asarray(start, dtype=np.float64)
    rows: list[tuple[int, Array, bool, bool]] = []
    for number, gate in enumerate(gates):
        rotation = _rotation.rotation(gate.attitude)
        is_last = number == len(gates) - 1
        local = rotation.T @ (previous - centres[number])
        if number == 0:
            rows.append((0, local, False, False))
        before = _spacing(centres, number, number - 1)
        after = _spacing(centres, number, number + 1)
        chord = (centres[number] if is_last else centres[number + 1]) - previous
        cosine = float(rotation[:, 0] @ chord) / max(float(np.linalg.norm(chord)), 1e-9)
        is_behind = bool(local[0] > -MIN_APPROACH)
        is_oblique = cosine < _MIN_COSINE
        if is_behind:
            rows += [(number, point, False, False) for point in _detour(gate, local, before)]
        if is_behind or is_oblique:
            drop = before * math.tan(elevation) if is_behind else 0.0
            rows.append((number, np.array([-before, 0.0, -drop]), False, is_behind))
        rows.append((number, np.zeros(3), True, False))
        if is_oblique and not is_last:
            rows.append((number, np.array([after, 0.0, 0.0]), False, False))
        if is_last:
            rows.append((number, np.array([_RUN_OUT, 0.0, 0.0]), False, False))
        previous = centres[number] + (after if is_oblique else 0.0) * rotation[:, 0]
    return Route(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
    )


def _detour(gate: Gate, local: Array, before: float) -> list[Array]:
    """A point beside the gate, if the straight line to the point before it is near the frame."""
    fraction = max(local[0], 0.0) / (max(local[0], 0.0) + before)
    crossing = (1.0 - fraction) * local
    margin = gate.border + _CLEARANCE
    half = 0.5 * gate.width + margin
    if abs(crossing[1]) > half or abs(crossing[2]) > 0.5 * gate.height + margin:
        return []
    side = half + 0.5 if local[1] > 0.0 else -half - 0.5
    return [np.array([0.0, side, 0.5 * local[2]])]


def _spacing(centres: Sequence[Array], number: int, neighbour: int) -> float:
    if not 0 <= neighbour < len(centres):
        return _BEFORE
    distance = float(np.linalg.norm(centres[neighbour] - centres[number]))
    return min(_BEFORE, 0.25 * distance)
