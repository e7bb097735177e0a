"""The estimates of a pilot, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.world import Gate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of a pilot, in the rows of the flight."""

    position: Array
    """(T, 3) m, world frame."""
    velocity: Array
    """(T, 3) m/s, world frame."""
    attitude: Array
    """(T, 4) unit quaternions, scalar first."""
    gates: Array | None
    """(T, g, 3) offsets of the gates from their nominal poses: x, y [m] and yaw [rad]; None if the
    pilot does not estimate them."""
    true_gates: Array
    """(g, 3) the true offsets."""
    nominal: tuple[Gate, ...]
    """The g gates at their nominal poses."""

    def gates_at(self, row: int) -> list[Gate]:
        """The estimated gates in a row; the nominal gates if the pilot does not estimate them."""
        if self.gates is None:
            return list(self.nominal)
        return [
            gate.moved((x, y, 0.0), yaw)
            for gate, (x, y, yaw) in zip(self.nominal, self.gates[row].tolist(), strict=True)
        ]


@dataclass(frozen=True)
class EstimationErrors:
    """Root mean squares of the errors of a pilot's estimates."""

    position: float
    """m, over the flight."""
    attitude: float
    """rad, over the flight."""
    gates: float
    """m, of the horizontal position of the gates, each at its passage; NaN if not estimated."""


def offset_of(nominal: Gate, true: Gate) -> Array:
    """(3,) x, y [m] and yaw [rad] from the nominal to the true pose of a gate."""
    yaw = (true.yaw - nominal.yaw + np.pi) % (2.0 * np.pi) - np.pi
    return np.array(
        [true.position[0] - nominal.position[0], true.position[1] - nominal.position[1], yaw]
    )


def errors_of(
    estimates: Estimates, time: Array, position: Array, attitude: Array, passed: Sequence[float]
) -> EstimationErrors:
    """The errors of estimates over a flight (T rows); passed: s, times of the gates passed."""
    distance = np.linalg.norm(estimates.position - position, axis=1)
    cosine = np.abs(np.sum(estimates.attitude * attitude, axis=1))
    angle = 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))
    gates = np.nan
    if estimates.gates is not None and passed:
        rows = np.searchsorted(time, passed).clip(0, len(time) - 1)
        each = np.arange(len(passed))
        error = (estimates.gates[rows, each] - estimates.true_gates[each])[:, :2]
        gates = _rms(np.linalg.norm(error, axis=1))
    return EstimationErrors(_rms(distance), _rms(angle), gates)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
