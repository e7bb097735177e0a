"""A pilot for `Race` that knows all positions: the teacher of policies that see images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._core import VelocityCommand
from propwash.gym._state import State

Array = NDArray[Any]

_CRUISE, _GATE = 4.0, 1.8
"""m/s, far from gates, and at gates."""
_SLOW, _FAST = 3.0, 10.0
"""m, distances from the next gate between which the speed rises from one to the other."""
_BEHIND = 2.0
"""m before a gate; a vehicle beside or beyond it that is nearer first flies back to there."""
_BELOW = 3.2
"""m under the centre of a gate, the height at which it does so."""
_FARTHEST = 4.0
"""m, longest distance from the gate of the point on its axis that is the aim."""
_TURN, _TURN_GAIN = 1.5, 2.0
"""rad/s, maximum yaw rate; 1/s, its gain."""


def teach(state: State, centre: Array, axes: Array) -> VelocityCommand:
    """Returns velocities [m/s] and yaw rates [rad/s] that lead through the next gate.

    centre: (n, 3) m, of the next gates. axes: (n, 3, 3) from gate to world frame.

    The aim is a point on the axis of the gate: the farther the vehicle is beside the axis, the
    farther before the gate, and beyond it for a vehicle on the axis. From the wrong side the way
    leads below the gate. The heading is that of the gate's centre, or near it and beyond it that of
    its axis. It depends on the present state only, so it labels any state that a student reaches.
    """
    place = state.position.astype(np.float64)
    local = np.einsum("nji,nj->ni", axes, place - centre)
    along, beside, above = local.T
    off = np.hypot(beside, above)
    aim = np.zeros_like(local)
    aim[:, 0] = np.clip(2.1 - 3.0 * off, -_FARTHEST, 1.5)
    is_beyond = (along > -_BEHIND) & (off > 0.3 - along)
    aim[is_beyond] = np.stack([-_BEHIND - 2.0, 0.0, -_BELOW])
    away = aim - local
    distance = np.linalg.norm(away, axis=1)
    nearness = np.linalg.norm(local, axis=1)
    speed = np.interp(nearness, (_SLOW, _FAST), (_GATE, _CRUISE)) * np.minimum(distance, 1.0)
    velocity = np.einsum("nij,nj->ni", axes, away) * (speed / np.maximum(distance, 1e-9))[:, None]
    axis, to_gate = axes[:, :, 0], centre - place
    is_close = (along > -2.0) | is_beyond
    ahead = np.where(is_close[:, None], axis, to_gate)
    nose = state.rotation[:, :, 0]
    error = np.arctan2(ahead[:, 1], ahead[:, 0]) - np.arctan2(nose[:, 1], nose[:, 0])
    error = np.arctan2(np.sin(error), np.cos(error))
    yaw_rate = np.clip(_TURN_GAIN * error, -_TURN, _TURN)
    velocity, yaw_rate = (np.nan_to_num(each) for each in (velocity, yaw_rate))  # if diverged
    return VelocityCommand(velocity.astype(np.float32), yaw_rate=yaw_rate.astype(np.float32))
