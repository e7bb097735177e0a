"""Poses as plain tuples, checked: what stands between a caller's arrays and a pose message.

World right-handed with z up, axes of bodies and cameras forward-left-up, quaternions scalar first.
A few numbers at a time: tuples of floats are quicker here than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import index
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

Position = tuple[float, float, float]
Attitude = tuple[float, float, float, float]
Pose = tuple[Position, Attitude]

IDENTITY: Pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
UNIT_TOLERANCE = 1e-3
"""How far a quaternion's norm may be from 1; it is normalised then."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number, of Python or numpy, and none of True and False."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_positive(value: object) -> TypeGuard[float]:
    """Whether it is a finite number above 0."""
    return is_number(value) and 0.0 < value < math.inf


def position(name: str, value: ArrayLike) -> Position:
    """(3,) finite numbers; ValueError names the argument."""
    x, y, z = _numbers(name, value, 3, "a position of 3 finite numbers [m]")
    return x, y, z


def attitude(name: str, value: ArrayLike) -> Attitude:
    """(4,) a unit quaternion, scalar first, normalised; ValueError names the argument."""
    expected = "a unit quaternion of 4 finite numbers, scalar first"
    w, x, y, z = _numbers(name, value, 4, expected)
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        raise ValueError(f"{name}: expected {expected}, got {value!r:.100} with a norm of {norm:g}")
    return w / norm, x / norm, y / norm, z / norm


def pose(name: str, value: object) -> Pose:
    """A pair of position and attitude; ValueError names the argument."""
    where: ArrayLike
    turned: ArrayLike
    try:
        where, turned = value  # type: ignore[misc]
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: expected a pair (position, attitude), got {value!r:.100}"
        ) from None
    return position(f"{name}: position", where), attitude(f"{name}: attitude", turned)


def poses(name: str, value: object, known: Mapping[str, object]) -> dict[str, Pose]:
    """A dict of name to (position, attitude), each name a known one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{name}: expected a dict of name: (position, attitude), got {value!r:.100}"
        )
    for key in value:
        check_known(name, key, known)
    return {key: pose(f"{name}[{key!r}]", given) for key, given in value.items()}


def names(name: str, value: object, known: Mapping[str, object]) -> frozenset[str]:
    """Some of the known names, from an iterable of them; None: all."""
    if value is None:
        return frozenset(known)
    # of a dict of flags the keys would count, whatever the flags
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{name}: expected a list of names, or None for all, got {value!r:.100}")
    chosen = list(value)
    for key in chosen:
        check_known(name, key, known)
    return frozenset(chosen)


def check_known(name: str, key: object, known: Mapping[str, object]) -> None:
    """Raises ValueError, which lists the known names, for any other key."""
    if not isinstance(key, str) or key not in known:
        there = ", ".join(map(repr, known)) or "none"
        raise ValueError(f"{name}: no {key!r:.100} here; there are {there}")


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
    (vx, vy, vz), (bw, bx, by, bz) = inner
    # R v = v + 2 w (r x v) + 2 r x (r x v), r the vector part of the quaternion
    cx, cy, cz = ay * vz - az * vy, az * vx - ax * vz, ax * vy - ay * vx
    return (
        (
            px + vx + 2.0 * (aw * cx + ay * cz - az * cy),
            py + vy + 2.0 * (aw * cy + az * cx - ax * cz),
            pz + vz + 2.0 * (aw * cz + ax * cy - ay * cx),
        ),
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
    )


def _numbers(name: str, value: ArrayLike, count: int, expected: str) -> list[float]:
    try:
        if isinstance(value, str | bytes | Mapping):  # of digits they would pass for numbers
            raise TypeError
        numbers = [float(number) for number in value]  # type: ignore[union-attr, arg-type]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name}: expected {expected}, got {value!r:.100}")
    return numbers
