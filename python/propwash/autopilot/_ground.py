"""Contact of a vehicle with flat ground at z = 0: spring, damper and friction at four feet."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from propwash.vehicle import MulticopterState, VehicleParameters

Array = NDArray[np.float64]

_PENETRATION = 0.003  # m, at rest
_GEAR = 0.05  # m, height of the centre of mass above the feet at rest
_FRICTION = 0.7
_SLIDE = 0.05  # m/s, below which friction is viscous


class Ground:
    """Forces of the ground on feet below the rotors, applied as an external wrench."""

    def __init__(self, vehicle: VehicleParameters) -> None:
        mass = vehicle.body.mass
        self.rest_height = _GEAR
        self.touching = True
        self._feet = [
            (rotor.position[0], rotor.position[1], -_GEAR - _PENETRATION)
            for rotor in vehicle.rotors
        ]
        count = len(self._feet)
        self._stiffness = vehicle.weight / (count * _PENETRATION)
        self._damping = 0.7 * 2.0 * math.sqrt(self._stiffness * mass / count)

    def wrench(self, state: MulticopterState) -> tuple[Array, Array]:
        """Force in the world frame [N] and torque in the body frame [N m]."""
        rotation = _matrix(state.attitude)
        force, torque = np.zeros(3), np.zeros(3)
        self.touching = False
        if state.position[2] > 1.0:
            return force, torque
        for foot in self._feet:
            arm_W = rotation @ foot
            depth = -(state.position[2] + arm_W[2])
            if depth <= 0.0:
                continue
            self.touching = True
            velocity = state.velocity + rotation @ np.cross(state.body_rates, foot)
            normal = max(0.0, self._stiffness * depth - self._damping * velocity[2])
            speed = math.hypot(velocity[0], velocity[1])
            slide = -_FRICTION * normal / max(speed, _SLIDE)
            force_W = np.array([slide * velocity[0], slide * velocity[1], normal])
            force += force_W
            torque += np.cross(foot, rotation.T @ force_W)
        return force, torque


def _matrix(q: Array) -> Array:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
