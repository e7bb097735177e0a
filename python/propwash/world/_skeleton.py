"""Bodies that move together: recorded or streamed skeletons, and a person."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks, _world
from propwash._checks import ParameterError, checked_parameters, refusal
from propwash.vehicle.fields import Vector3
from propwash.world._items import Capsule, Item, Sphere
from propwash.world._motion import Array, Motion, RowMotion

_ABSENT: Array = np.full(7, np.nan)
_ABSENT.setflags(write=False)


class Skeleton:
    """Bodies with a common recording or stream of poses, such as the bones of a person.

    bones: k boxes, capsules or other items; their own poses are relative to those of the recording.
    times: (T,) s, increasing. positions: (T, k, 3) m. attitudes: (T, k, 4).
    history: maximum number of poses; append() drops the older half of more.

    `items` are the items for a scene. Poses are interpolated as by Waypoints; before the first pose
    the bodies are absent, after the last one they are at rest. A stream appends poses while the
    scene is in use, also from another thread. Raises ParameterError for invalid arguments.
    """

    @checked_parameters()
    def __init__(
        self,
        bones: Iterable[Item],
        times: ArrayLike = (),
        positions: ArrayLike = (),
        attitudes: ArrayLike = (),
        *,
        history: int = 100_000,
    ) -> None:
        bones = tuple(bones)
        for bone in bones:
            if not isinstance(bone, Item) or bone.motion is not None:
                raise ParameterError(f"bones: expected items without motions, got {bone!r:.100}")
        self._count = len(bones)
        self._history = _checks.whole_number("history", history, 2, 2**31)
        # append() extends or replaces them so that readers in other threads see a valid state
        self._samples: tuple[list[float], list[Array]] = ([], [])
        self.items = tuple(bone.replace(motion=_Bone(self, i)) for i, bone in enumerate(bones))
        """The bones, moving."""
        moments = _checks.shaped("times", times, ("T",), unit="s")
        for name, rows in (("positions", positions), ("attitudes", attitudes)):
            if np.shape(rows)[:1] != moments.shape and (len(moments) or np.size(rows)):
                got = _checks.described(rows)
                raise ParameterError(f"{name}: expected one row for each of times, got {got}")
        for time, at, attitude in zip(
            moments.tolist(), np.asarray(positions), np.asarray(attitudes), strict=True
        ):
            self.append(time, at, attitude)

    def append(self, time: float, positions: ArrayLike, attitudes: ArrayLike) -> None:
        """Adds the poses of all bones at a time later than the last one.

        time: s. positions: (k, 3) m. attitudes: (k, 4).
        """
        times, rows = self._samples
        with checked_parameters():
            moment = _checks.number("time", time)
            if times and moment <= times[-1]:
                expected = f"more than that of the last poses, {times[-1]:g} s"
                raise refusal("time", moment, expected)
            at = _checks.shaped("positions", positions, (self._count, 3), unit="m")
            turned = _checks.shaped("attitudes", attitudes, (self._count, 4))
            row = np.concatenate((at, _checks.unit_quaternions("attitudes", turned)), axis=1)
            row.setflags(write=False)
        if len(times) >= self._history:
            start = len(times) - self._history // 2
            times, rows = times[start:], rows[start:]
            times.append(moment)
            rows.append(row)
            self._samples = (times, rows)
            return
        rows.append(row)  # before its time, so that a reader never finds a time without a row
        times.append(moment)

    @property
    def last_time(self) -> float:
        """s, of the last poses; NaN without poses."""
        times, _ = self._samples
        return times[-1] if times else math.nan

    def row(self, bone: int, time: float) -> Array:
        """(7,) position and attitude of a bone at a time [s]; NaN before the first pose."""
        times, rows = self._samples
        after = bisect.bisect_right(times, time)
        if after == 0 or math.isnan(time):
            return _ABSENT
        if after == len(times):
            last: Array = rows[after - 1][bone]
            return last
        pair = np.array((rows[after - 1][bone], rows[after][bone]))
        row: Array = _world.Waypoints(times[after - 1 : after + 1], pair, False)(time)
        return row


class _Bone(RowMotion):
    """The motion of one bone of a skeleton."""

    def __init__(self, skeleton: Skeleton, number: int) -> None:
        self._skeleton = skeleton
        self._number = number

    def row(self, time: float) -> Array:
        return self._skeleton.row(self._number, time)


def poses_between(starts: ArrayLike, ends: ArrayLike) -> tuple[Array, Array]:
    """Poses of bodies whose z axes lie along lines, such as capsules between two joints.

    starts, ends: (…, 3) m. Returns positions (…, 3), the centres of the lines, and attitudes
    (…, 4), the smallest rotations that take the vertical to the lines.
    """
    a, b = np.asarray(starts, dtype=np.float64), np.asarray(ends, dtype=np.float64)
    line = b - a
    length = np.linalg.norm(line, axis=-1, keepdims=True)
    if not (length > 0.0).all():
        raise ValueError("ends: expected points that differ from starts")
    x, y, z = np.moveaxis(line / length, -1, 0)
    # half-angle form of the rotation from (0, 0, 1); about x for a line straight down
    w = np.sqrt(np.maximum(0.5 * (1.0 + z), 0.0))
    down = w < 1e-9
    scale = 0.5 / np.where(down, 1.0, w)
    attitude = np.stack(
        (w, np.where(down, 1.0, -y * scale), np.where(down, 0.0, x * scale), np.zeros_like(w)), -1
    )
    attitude /= np.linalg.norm(attitude, axis=-1, keepdims=True)
    return 0.5 * (a + b), attitude


def person(
    name: str = "person", motion: Motion | None = None, *, height: float = 1.75
) -> tuple[Item, ...]:
    """The items of a standing person: head, trunk, and two arms and legs.

    The person stands on the origin of the axes of the motion and faces x. name: a prefix of the
    items' names. height: m.
    """
    k = _checks.positive("height", height, "m") / 1.75
    shirt, trousers, skin = (0.75, 0.20, 0.22), (0.16, 0.20, 0.32), (0.80, 0.60, 0.48)

    def common(part: str, colour: Vector3, y: float, z: float) -> dict[str, Any]:
        place = {"position": (0.0, k * y, k * z), "motion": motion}
        return {"name": f"{name} {part}", "category": "person", "colour": colour, **place}

    parts: list[Item] = [
        Sphere(**common("head", skin, 0.0, 1.635), radius=0.115 * k),
        Capsule(**common("trunk", shirt, 0.0, 1.17), radius=0.17 * k, length=0.36 * k),
    ]
    for side, y in (("left", 1.0), ("right", -1.0)):
        # legs and arms overlap each other and the trunk: light would shine through gaps
        leg, arm = common(f"{side} leg", trousers, 0.085 * y, 0.47), 0.225 * y
        parts.append(Capsule(**leg, radius=0.09 * k, length=0.76 * k))
        sleeve = common(f"{side} arm", shirt, arm, 1.16)
        parts.append(Capsule(**sleeve, radius=0.06 * k, length=0.50 * k))
    return tuple(parts)
