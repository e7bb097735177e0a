"""Where the camera of a vehicle can look: which gates it can see from a planned path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.sensors import Camera

Array = NDArray[np.float64]

_MARGIN = np.radians(4.0)
"""rad, of the field of view that is not used."""
_GATE_ANGLE = np.radians(12.0)
"""rad, about half of the height of a gate seen from 3 m."""
_MIN_FACING = 0.2
"""Cosine between the axis of a gate and the direction to it, from which its beacons are seen."""
_MAX_DISTANCE = 45.0
"""m, beyond which a view is not worth a change of the heading."""


@dataclass(frozen=True, eq=False)
class GateView:
    """Chooses directions in which a camera sees gates whose positions are needed."""

    elevation: float
    """rad, of the optical axis above the body's xy plane."""
    half_angle: float
    """rad, half of the vertical field of view."""
    reach: float
    """Distance beyond which a beacon is not seen [m]."""

    @classmethod
    def of(cls, camera: Camera, reach: float) -> GateView:
        """The view of a camera whose optical axis is in the plane of the body's x and z axes."""
        axis = _rotation.rotation(camera.attitude)[:, 0]
        elevation = float(np.arctan2(axis[2], axis[0]))
        half = 0.5 * np.radians(camera.vertical_fov_deg) - _MARGIN
        return cls(elevation, float(half), min(reach, _MAX_DISTANCE))

    @property
    def hover_elevation(self) -> float:
        """rad, above the horizon, at which a gate near the vehicle is in view in hover."""
        return float(max(0.0, self.elevation - self.half_angle + _GATE_ANGLE))

    def directions(
        self, position: Array, thrust_axis: Array, default: Array, gates: Array, axes: Array
    ) -> Array:
        """Directions (K, 3) of the body's x axis, in which the camera sees a gate.

        position: (K, 3) m. thrust_axis: (K, 3) unit, the body's z axis. default: (K, 3), directions
        where no gate can be seen. gates: (m, 3) m, in the order of their importance. axes: (m, 3)
        unit, in which they are passed.
        """
        result = default.copy()
        is_free = np.ones(len(position), dtype=np.bool_)
        for gate, axis in zip(gates, axes, strict=True):
            line = gate - position
            distance = np.linalg.norm(line, axis=1)
            line = line / np.maximum(distance, 1e-6)[:, None]
            rise = np.sum(line * thrust_axis, axis=1)
            is_seen = np.abs(np.arcsin(np.clip(rise, -1.0, 1.0)) - self.elevation) < self.half_angle
            is_seen &= (line @ axis > _MIN_FACING) & (distance < self.reach) & is_free
            # in this direction the gate is in the plane of the camera's optical axis
            result[is_seen] = (line - rise[:, None] * thrust_axis)[is_seen]
            is_free &= ~is_seen
        return result
