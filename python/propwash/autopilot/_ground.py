"""Contact of a vehicle with flat ground at z = 0: spring, damper and friction at four feet."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from propwash.vehicle import VehicleParameters

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

    def wrench(self, state: tuple[Array, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Force in the world frame [N] and torque in the body frame [N m].

        state: position, velocity, attitude and body rates, as those of a MulticopterState.
        """
        self.touching = False
        height = float(state[0][2])
        if height > 1.0:
            return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        vx, vy, vz = state[1].tolist()
        p, q, r = state[3].tolist()
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = _matrix(*state[2].tolist())
        fx = fy = fz = tx = ty = tz = 0.0
        for x, y, z in self._feet:
            depth = -(height + r20 * x + r21 * y + r22 * z)
            if depth <= 0.0:
                continue
            self.touching = True
            ux, uy, uz = q * z - r * y, r * x - p * z, p * y - q * x
            wx, wy = vx + r00 * ux + r01 * uy + r02 * uz, vy + r10 * ux + r11 * uy + r12 * uz
            rise = vz + r20 * ux + r21 * uy + r22 * uz
            normal = max(0.0, self._stiffness * depth - self._damping * rise)
            slide = -_FRICTION * normal / max(math.hypot(wx, wy), _SLIDE)
            gx, gy = slide * wx, slide * wy
            fx, fy, fz = fx + gx, fy + gy, fz + normal
            bx, by = r00 * gx + r10 * gy + r20 * normal, r01 * gx + r11 * gy + r21 * normal
            bz = r02 * gx + r12 * gy + r22 * normal
            tx, ty, tz = tx + y * bz - z * by, ty + z * bx - x * bz, tz + x * by - y * bx
        return (fx, fy, fz), (tx, ty, tz)


def _matrix(w: float, x: float, y: float, z: float) -> tuple[float, ...]:
    """Rows of the rotation from body to world."""
    return (
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
