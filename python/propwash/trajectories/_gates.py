"""Places that a path passes: points with a tolerance, and openings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation

if TYPE_CHECKING:
    from propwash import world

Array = NDArray[np.float64]
Row = tuple[Any, float, float]
"""An expression with its lower and its upper bound."""


@dataclass(frozen=True, eq=False)
class Ball:
    """All points within `radius` of `centre`; with radius 0 a point."""

    centre: ArrayLike
    """(3,) m, world frame."""
    radius: float = 0.0
    """m."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _checks.shaped("centre", self.centre, (3,), unit="m"))
        _checks.not_negative("radius", self.radius, "m")

    @property
    def reach(self) -> float:
        """m, from the centre to the farthest point."""
        return self.radius

    def rows(self, position: Any, velocity: Any) -> list[Row]:
        """The constraints on a position [m] and a velocity [m/s], as numbers or symbols."""
        offset = [position[i] - np.asarray(self.centre)[i] for i in range(3)]
        if self.radius == 0.0:
            return [(each, 0.0, 0.0) for each in offset]
        return [(_square(offset) / self.radius**2, -np.inf, 1.0)]


@dataclass(frozen=True, eq=False)
class Disc:
    """A circular opening, which a path passes along `axis`."""

    centre: ArrayLike
    """(3,) m, world frame."""
    axis: ArrayLike
    """(3,) direction of the passage, of any length, world frame."""
    radius: float
    """m."""

    def __post_init__(self) -> None:
        axis = _checks.shaped("axis", self.axis, (3,))
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise ValueError(f"axis: expected a direction, not zero, got {axis.tolist()}")
        object.__setattr__(self, "axis", axis / length)
        object.__setattr__(self, "centre", _checks.shaped("centre", self.centre, (3,), unit="m"))
        _checks.positive("radius", self.radius, "m")

    @property
    def reach(self) -> float:
        """m, from the centre to the farthest point."""
        return self.radius

    def rows(self, position: Any, velocity: Any) -> list[Row]:
        """The constraints on a position [m] and a velocity [m/s], as numbers or symbols."""
        axis = np.asarray(self.axis)
        offset = [position[i] - np.asarray(self.centre)[i] for i in range(3)]
        return [
            (_dot(axis, offset), 0.0, 0.0),
            (_square(offset) / self.radius**2, -np.inf, 1.0),
            (_dot(axis, velocity), 0.0, np.inf),
        ]


@dataclass(frozen=True, eq=False)
class Rectangle:
    """A rectangular opening, such as a window, which a path passes along +x of its frame."""

    centre: ArrayLike
    """(3,) m, world frame."""
    attitude: ArrayLike
    """(4,) unit quaternion, scalar first: its frame to world."""
    width: float
    """m, along y."""
    height: float
    """m, along z."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _checks.shaped("centre", self.centre, (3,), unit="m"))
        attitude = _checks.shaped("attitude", self.attitude, (4,))
        object.__setattr__(self, "attitude", _checks.attitudes("attitude", attitude))
        _checks.positive("width", self.width, "m")
        _checks.positive("height", self.height, "m")

    @classmethod
    def of(cls, gate: world.Gate, margin: float = 0.0) -> Rectangle:
        """The opening of a scene's gate without a margin [m] along its frame."""
        margin = _checks.not_negative("margin", margin, "m")
        width, height = gate.width - 2.0 * margin, gate.height - 2.0 * margin
        if not min(width, height) > 0.0:
            raise ValueError(
                f"margin = {margin:g} m: expected less than half of the opening of {gate.name}, "
                f"{gate.width:g} m x {gate.height:g} m"
            )
        return cls(gate.position, gate.attitude, width, height)

    @property
    def reach(self) -> float:
        """m, from the centre to the farthest point."""
        return 0.5 * math.hypot(self.width, self.height)

    def rows(self, position: Any, velocity: Any) -> list[Row]:
        """The constraints on a position [m] and a velocity [m/s], as numbers or symbols."""
        x, y, z = _rotation.rotation(self.attitude).T
        offset = [position[i] - np.asarray(self.centre)[i] for i in range(3)]
        return [
            (_dot(x, offset), 0.0, 0.0),
            (_dot(y, offset), -0.5 * self.width, 0.5 * self.width),
            (_dot(z, offset), -0.5 * self.height, 0.5 * self.height),
            (_dot(x, velocity), 0.0, np.inf),
        ]


Opening = Ball | Disc | Rectangle


def openings(gates: Sequence[Opening | ArrayLike]) -> list[Opening]:
    """Checked places; an array (3,) [m] is a point."""
    checked: list[Opening] = []
    for number, gate in enumerate(gates):
        if not isinstance(gate, Ball | Disc | Rectangle):
            gate = Ball(_checks.shaped(f"gates[{number}]", gate, (3,), unit="m"))
        checked.append(gate)
    if len(checked) < 2:
        raise ValueError(f"gates: expected at least 2, start and end included, got {len(checked)}")
    return checked


def violation(gate: Opening, position: Array, velocity: Array) -> float:
    """By how much a motion violates the constraints of a gate; the largest."""
    rows = gate.rows(position, velocity)
    return float(max(max(low - value, value - high, 0.0) for value, low, high in rows))


def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _square(a: Any) -> Any:
    return _dot(a, a)
