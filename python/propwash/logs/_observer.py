"""Estimates velocity and attitude from the IMU, for logs that have neither.

Rotor drag is linear in the airspeed (docs/model/rotor_drag.md), so the accelerometer measures the
lateral velocity: f = -d v along x and y. A causal observer with fixed gains integrates velocity and
the direction of up with the gyroscope, and corrects both by that measurement.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from propwash._rotation import rotation
from propwash.logs._flights import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_BANDWIDTH = 3.0
"""Bandwidth of the correction [rad/s]; its damping ratio is 0.7."""
_LEAK = 0.5
"""Decay rate of the vertical velocity, which is not observable [1/s]."""
_FLYING = 0.2
"""Mean duty cycle below which the vehicle is assumed to be on the ground."""


def can_observe(vehicle: VehicleParameters) -> bool:
    """Whether the vehicle has enough rotor drag to observe its velocity."""
    return vehicle.rotor_drag.linear[0] > 0.05 and vehicle.rotor_drag.linear[1] > 0.05


def with_observed_motion(
    grid: Flight, vehicle: VehicleParameters, bias: tuple[float, float] = (0.0, 0.0)
) -> Flight:
    """Returns the flight with velocity and attitude.

    Recorded values are used where the log has them. An estimated attitude has heading 0. A vehicle
    without rotor drag (`can_observe`) returns the flight unchanged.

    grid: A flight on a uniform time grid.
    bias: Accelerometer readings along x and y in hover [m/s^2].
    """
    is_known = grid.attitude is not None and grid.velocity is not None
    if is_known or not can_observe(vehicle):
        return grid
    velocity_B, up_B = _observe(grid, vehicle, bias)
    attitude = _level_heading(up_B) if grid.attitude is None else grid.attitude
    velocity = np.einsum("kij,kj->ki", rotation(attitude), velocity_B)
    return replace(grid, velocity=velocity, attitude=attitude)


def _level_heading(up_B: Array) -> Array:
    """(K, 4) attitudes with heading 0 from directions of up (K, 3)."""
    half = np.stack([1.0 + up_B[:, 2], up_B[:, 1], -up_B[:, 0], 0.0 * up_B[:, 0]], axis=-1)
    return np.asarray(half / np.linalg.norm(half, axis=1, keepdims=True))


def _observe(
    grid: Flight, vehicle: VehicleParameters, bias: tuple[float, float]
) -> tuple[Array, Array]:
    """(K, 3) velocity in m/s and (K, 3) direction of up, both in the body frame."""
    h = float(grid.time[1] - grid.time[0])
    gravity = float(np.linalg.norm(vehicle.body.gravity))
    drag_x, drag_y = vehicle.rotor_drag.linear[:2]
    to_velocity, to_up = 1.4 * _BANDWIDTH, _BANDWIDTH**2 / gravity
    bias_x, bias_y = bias
    vx = vy = vz = ux = uy = 0.0
    uz = 1.0
    rows = []
    flying = (grid.duty.mean(axis=1) > _FLYING).tolist()
    measured = zip(flying, grid.body_rates.tolist(), grid.specific_force.tolist(), strict=True)
    for is_flying, (p, q, r), (fx, fy, fz) in measured:
        if is_flying:
            ex = -(fx - bias_x) / drag_x - vx
            ey = -(fy - bias_y) / drag_y - vy
            ax = -drag_x * vx - gravity * ux - (q * vz - r * vy) + to_velocity * ex
            ay = -drag_y * vy - gravity * uy - (r * vx - p * vz) + to_velocity * ey
            az = fz - gravity * uz - (p * vy - q * vx) - _LEAK * vz
            dx = -(q * uz - r * uy) - to_up * ex
            dy = -(r * ux - p * uz) - to_up * ey
            dz = -(p * uy - q * ux)
            vx, vy, vz = vx + h * ax, vy + h * ay, vz + h * az
            ux, uy, uz = ux + h * dx, uy + h * dy, max(uz + h * dz, -0.9)
            scale = (ux * ux + uy * uy + uz * uz) ** -0.5
            ux, uy, uz = scale * ux, scale * uy, scale * uz
        else:
            vx = vy = vz = ux = uy = 0.0
            uz = 1.0
        rows.append((vx, vy, vz, ux, uy, uz))
    table = np.array(rows)
    return table[:, :3], table[:, 3:]
