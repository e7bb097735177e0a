"""Checked poses as tuples of floats, which are faster than arrays for single poses.

World right-handed with z up, body and camera axes forward-left-up, quaternions scalar first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import index
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from propwash._rotation import Quaternion, product

Position = tuple[float, float, float]
Attitude = Quaternion
Pose = tuple[Position, Attitude]

IDENTITY: Pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
UNIT_TOLERANCE = 1e-3
"""The maximum deviation of a quaternion's norm from 1, which is then normalised."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number of Python or numpy, and not a boolean."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_positive(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number > 0."""
    return is_number(value) and 0.0 < value < math.inf


def position(name: str, value: ArrayLike) -> Position:
    """(3,) finite numbers. Raises ValueError that names the argument."""
    x, y, z = numbers(name, value, 3, "a position of 3 finite numbers [m]")
    return x, y, z


def attitude(name: str, value: ArrayLike) -> Attitude:
    """(4,) unit quaternion, scalar first, normalised. Raises ValueError for others."""
    expected = "a unit quaternion of 4 finite numbers, scalar first"
    w, x, y, z = numbers(name, value, 4, expected)
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        raise ValueError(f"{name}: expected {expected}, got {value!r:.100} with a norm of {norm:g}")
    return w / norm, x / norm, y / norm, z / norm


def pose(name: str, value: object) -> Pose:
    """A pair of position and attitude. Raises ValueError that names the argument."""
    place: ArrayLike
    rotation: ArrayLike
    try:
        place, rotation = value  # type: ignore[misc]
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: expected a pair (position, attitude), got {value!r:.100}"
        ) from None
    return position(f"{name}: position", place), attitude(f"{name}: attitude", rotation)


def poses(name: str, value: object, known: Mapping[str, object]) -> dict[str, Pose]:
    """A dict of known names to (position, attitude). Raises ValueError for others."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{name}: expected a dict of name: (position, attitude), got {value!r:.100}"
        )
    for key in value:
        check_known(name, key, known)
    return {key: pose(f"{name}[{key!r}]", each) for key, each in value.items()}


def names(name: str, value: object, known: Mapping[str, object]) -> frozenset[str]:
    """A set of known names from an iterable; None: all. Raises ValueError for others."""
    if value is None:
        return frozenset(known)
    # the keys of a dict of flags would ignore the flags
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{name}: expected a list of names, or None for all, got {value!r:.100}")
    chosen = list(value)
    for key in chosen:
        check_known(name, key, known)
    return frozenset(chosen)


def check_known(name: str, key: object, known: Mapping[str, object]) -> None:
    """Raises ValueError that lists the known names for any other key."""
    if not isinstance(key, str) or key not in known:
        expected = f"one of {', '.join(map(repr, known))}" if known else "no names"
        raise ValueError(f"{name}: expected {expected}, got {key!r:.100}")


def time_stamp(value: object) -> int:
    """A whole number of nanoseconds that fits in 64 bits and is at least 0."""
    try:
        stamp = index(value)  # type: ignore[arg-type]
    except TypeError:
        stamp = -1
    if isinstance(value, bool) or not 0 <= stamp < 2**63:
        raise ValueError(
            f"time_ns: expected a whole number of nanoseconds from 0 to 2**63 - 1, got "
            f"{value!r:.100}; seconds are round(1e9 * seconds)"
        )
    return stamp


def compose(outer: Pose, inner: Pose) -> Pose:
    """The pose of B in W from that of A in W and that of B in A."""
    (px, py, pz), (aw, ax, ay, az) = outer
    vx, vy, vz = inner[0]
    # R v = v + 2 w (r x v) + 2 r x (r x v), r the vector part of the quaternion
    cx, cy, cz = ay * vz - az * vy, az * vx - ax * vz, ax * vy - ay * vx
    return (
        (
            px + vx + 2.0 * (aw * cx + ay * cz - az * cy),
            py + vy + 2.0 * (aw * cy + az * cx - ax * cz),
            pz + vz + 2.0 * (aw * cz + ax * cy - ay * cx),
        ),
        product(outer[1], inner[1]),
    )


def numbers(name: str, value: ArrayLike, count: int, expected: str) -> list[float]:
    """Finite numbers. Raises ValueError that names the argument."""
    try:
        if isinstance(value, str | bytes | Mapping):  # strings of digits would convert to numbers
            raise TypeError
        numbers = [float(number) for number in value]  # type: ignore[union-attr, arg-type]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name}: expected {expected}, got {value!r:.100}")
    return numbers
