"""Courses of gates: taken from scenes, and refused where nobody could fly them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import race
from propwash._rotation import rotation
from propwash.world import Gate, Plane, Scene

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """Gates in their order, in arrays."""

    scene: Scene
    names: tuple[str, ...]
    centre: Array
    """(g, 3) m."""
    turn: Array
    """(g, 3, 3), from gate to world: passed along x, y to the left, z up."""
    half: Array
    """(g, 2) m, half of the opening's width and height."""
    start: Array
    """(3,) m."""
    yaw: float
    """rad, heading at the start."""


def load(
    course: str | PathLike[str] | Scene, seed: int | None, gates: Sequence[str] | None
) -> Course:
    """The course of a scene, its name or file. Raises ValueError where it cannot be flown."""
    scene = course if isinstance(course, Scene) else Scene.load(course, seed=seed)
    chosen = race.course_gates(scene, gates)
    _check(scene)
    if scene.start is None:
        raise ValueError(f"course: expected a scene with a start, {scene.name!r} has none")
    return Course(
        scene,
        tuple(gate.name for gate in chosen),
        np.array([gate.position for gate in chosen]),
        np.array([rotation(np.asarray(gate.attitude)) for gate in chosen]),
        np.array([[0.5 * gate.width, 0.5 * gate.height] for gate in chosen]),
        np.array(scene.start.position, dtype=np.float64),
        float(scene.start.yaw),
    )


def _check(scene: Scene) -> None:
    grounds = [item for item in scene.items if isinstance(item, Plane)]
    for gate in scene.gates:
        opening = _corners(gate, 0.0)
        for ground in grounds:
            normal = rotation(np.asarray(ground.attitude))[:, 2]
            depth = float(((opening - np.asarray(ground.position)) @ normal).min())
            if depth < -1e-6:
                raise ValueError(
                    f"course: expected openings above {ground.name!r}, that of gate {gate.name!r} "
                    f"reaches {-depth:.3g} m below it"
                )
    for one, other in combinations(scene.gates, 2):
        if _overlap(one, other):
            raise ValueError(
                f"course: expected gates apart from each other, {one.name!r} and {other.name!r} "
                "overlap"
            )


def _halves(gate: Gate, border: float) -> Array:
    wide, high = 0.5 * gate.width + border, 0.5 * gate.height + border
    return np.array([0.5 * gate.depth, wide, high])


def _corners(gate: Gate, border: float) -> Array:
    """(8, 3) m."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    turn = rotation(np.asarray(gate.attitude))
    return np.asarray(gate.position) + (signs * _halves(gate, border)) @ turn.T


def _overlap(one: Gate, other: Gate) -> bool:
    """Whether two gates, opening and frame, share space: no plane separates their boxes."""
    a, b = rotation(np.asarray(one.attitude)), rotation(np.asarray(other.attitude))
    crossed = np.cross(a.T[:, None], b.T[None]).reshape(-1, 3)
    axes = np.concatenate([a.T, b.T, crossed[np.linalg.norm(crossed, axis=1) > 1e-6]])
    here, there = (_corners(gate, gate.border) @ axes.T for gate in (one, other))
    apart = (here.max(0) <= there.min(0)) | (there.max(0) <= here.min(0))
    return not bool(apart.any())
