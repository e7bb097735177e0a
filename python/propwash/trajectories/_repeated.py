"""A closed path that is flown again and again, from rest to rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propwash import _checks
from propwash.trajectories._reference import Path, composed
from propwash.trajectories._shapes import eased

Array = NDArray[np.float64]


class Repeated(Path):
    """Repeats a closed path, from rest to rest.

    path: a closed path, such as a closed minimum_snap(). duration: s, total. ramp: s, of the smooth
    start and of the stop, along the path. Between the ramps the speed is that of the path. It is at
    rest before time 0 and after its end, which need not be the start of the path.

    Raises ValueError for a duration below two ramps.
    """

    def __init__(self, path: Path, duration: float, ramp: float = 3.0) -> None:
        if not isinstance(path, Path):
            raise TypeError(f"path: expected a Path, got {path!r:.100}")
        self._path = path
        self._ramp = _checks.positive("ramp", ramp, "s")
        self._duration = _checks.positive("duration", duration, "s")
        if self._duration < 2.0 * self._ramp:
            raise ValueError(
                f"duration: expected at least two ramps of {self._ramp:g} s, got {duration:g} s"
            )

    @property
    def duration(self) -> float:
        """s, from rest to rest."""
        return self._duration

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        stop = self._duration - self._ramp
        parameter = eased(time, self._ramp) - eased(time - stop, self._ramp)
        position, yaw = self._path.evaluate(parameter[0])
        return composed(position, parameter), composed(yaw, parameter[:3])
