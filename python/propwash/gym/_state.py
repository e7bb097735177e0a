"""What a task sees: the vehicles' states in arrays, one row for each environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.fleet import Fleet, FleetImuReading

Numbers = NDArray[np.float32]

FEW = 64
"""Environments, below which calls cost more than numbers."""

# R = A + B + 1 with A = u[_U1] q[_Q1], B = u[_U2] q[_Q2], where u = (2 q, -2 q), row by row
_U = np.array([6, 1, 1, 1, 5, 2, 1, 2, 5, 7, 4, 0, 0, 7, 4, 4, 0, 6])
_Q = np.array([2, 2, 3, 2, 1, 3, 3, 3, 1, 3, 3, 2, 3, 3, 1, 2, 1, 2])
_TWICE = np.array([2, 2, 2, 2, -2, -2, -2, -2], dtype=np.float32)
_TWICE_OF = np.array([0, 1, 2, 3, 0, 1, 2, 3])


class State:
    """The vehicles after a step, in float32: read it, do not write to it.

    Where a vehicle has diverged stands what it was before.
    """

    def __init__(self, fleet: Fleet, actions: int, period: float) -> None:
        n = fleet.size
        self.fleet = fleet
        """The vehicles, for what is not here: their parameters, rotor speeds, sensors."""
        self.size = n
        self.period = period
        """s, of a step of the environments."""
        self.position: Numbers = np.zeros((n, 3), dtype=np.float32)
        """(n, 3) m, world frame."""
        self.velocity: Numbers = self.position
        """(n, 3) m/s, world frame."""
        self.attitude: Numbers = np.zeros((n, 4), dtype=np.float32)
        """(n, 4) unit quaternions, scalar first: body to world."""
        self.body_rates: Numbers = self.position
        """(n, 3) rad/s, body frame."""
        self.action: Numbers = np.zeros((n, actions), dtype=np.float32)
        """(n, A) what was last done, within [-1, 1]; 0 at the start of an episode."""
        self.previous_action: Numbers = self.action
        """(n, A) what was done before that."""
        self.steps = np.zeros(n, dtype=np.int32)
        """(n,) steps since the start of the episode."""
        self.diverged = np.zeros(n, dtype=np.bool_)
        """(n,) whether a number of the vehicle's state is not finite any more."""
        self._rows: Any = None
        self._before = self.position, self.velocity, self.attitude, self.body_rates
        self._blank: Numbers | None = None
        self.keeps_blank = False

    def blank(self, width: int) -> Numbers:
        """(n, width) numbers to write an observation to: all of them, as they hold anything."""
        if not self.keeps_blank:
            return np.empty((self.size, width), dtype=np.float32)
        if self._blank is None or self._blank.shape[1] != width:
            self._blank = np.empty((self.size, width), dtype=np.float32)
        return self._blank

    def read(self) -> None:
        """Takes what the fleet is now; `steps` and actions are the engine's."""
        core = self.fleet._core
        self._before = self.position, self.velocity, self.attitude, self.body_rates
        self.position, self.velocity = core.position, core.velocity
        self.attitude, self.body_rates = core.attitude, core.body_rates
        self.diverged = core.diverged
        self._rows = None
        if self.diverged.any():
            self.take_back()

    def take_back(self) -> None:
        """Puts the former numbers of those that diverged in place of theirs."""
        now = self.position, self.velocity, self.attitude, self.body_rates
        for old, new in zip(self._before, now, strict=True):
            new[self.diverged] = old[self.diverged]
        self._rows = None

    @property
    def time(self) -> Numbers:
        """(n,) s since the start of the episode."""
        return self.steps * np.float32(self.period)

    @property
    def rotor_speeds(self) -> Numbers:
        """(n, N) rad/s; 0 for a vehicle that diverged."""
        return np.nan_to_num(self.fleet.rotor_speeds, posinf=0.0, neginf=0.0)

    @property
    def imu(self) -> FleetImuReading:
        """The readings of the inertial sensors, with all their noise."""
        return self.fleet.imu

    @property
    def rotation_rows(self) -> Any:
        """The nine numbers of `rotation`, row by row, each (n,)."""
        if self._rows is None:
            self._rows = _rotation_rows(self.attitude)
        return self._rows

    @property
    def rotation(self) -> Numbers:
        """(n, 3, 3) from body to world."""
        turned = np.empty((self.size, 9), dtype=np.float32)
        self.write_rotation(turned)
        return turned.reshape(-1, 3, 3)

    @property
    def upright(self) -> Numbers:
        """(n,) cosine of the angle between the body's z and the world's: 1 level, -1 inverted."""
        up: Numbers = self.rotation_rows[8]
        return up

    def write_rotation(self, columns: Numbers) -> None:
        """The nine numbers of the rotation into an array (n, 9)."""
        rows = self.rotation_rows
        if self.size < FEW:
            columns[:] = rows.T
            return
        for number, row in enumerate(rows):
            columns[:, number] = row

    def to_body(self, vector: Numbers) -> Numbers:
        """(n, 3) of the world in components of the body."""
        rows = self.rotation_rows
        x, y, z = vector[:, 0], vector[:, 1], vector[:, 2]
        turned = np.empty((self.size, 3), dtype=np.float32)
        for axis in range(3):
            turned[:, axis] = rows[axis] * x + rows[3 + axis] * y + rows[6 + axis] * z
        return turned


def write(columns: Numbers, values: Numbers) -> None:
    """(n, k) into (n, k): for many rows column by column, as numpy's loops over k are short."""
    if len(columns) < FEW or values.ndim == 1:
        columns[:] = values
        return
    for number in range(columns.shape[1]):
        columns[:, number] = values[:, number]


def _rotation_rows(attitude: Numbers) -> Any:
    """Nine arrays (n,), the same bits on both ways."""
    if len(attitude) < FEW:
        q = attitude.T
        u = _TWICE[:, None] * q[_TWICE_OF]
        parts = u[_U] * q[_Q]
        few = parts[:9] + parts[9:]
        few[0::4] += np.float32(1.0)
        return few
    w, x, y, z = np.ascontiguousarray(attitude.T)
    w2, x2, y2, z2 = w + w, x + x, y + y, z + z
    xx, yy, zz = x2 * x, y2 * y, z2 * z
    xy, xz, yz = x2 * y, x2 * z, y2 * z
    wx, wy, wz = w2 * x, w2 * y, w2 * z
    one = np.float32(1.0)
    return (
        one - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        one - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        one - (xx + yy),
    )
