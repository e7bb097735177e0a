"""Velocity and attitude of a flight whose log has neither, from its inertial sensor.

A rotor's drag is linear in the speed through the air (docs/model/rotor_drag.md), so an
accelerometer measures it: f = -d v along x and y. An observer of fixed gains carries velocity and
the direction of up along with the gyroscope, and is corrected by that measurement. It looks at the
past alone.
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
"""rad/s, of the correction; its damping is 0.7."""
_LEAK = 0.5
"""1/s, at which a climb is forgotten: nothing measures it."""
_FLYING = 0.2
"""Mean duty cycle below which the vehicle is taken to stand."""


def can_observe(vehicle: VehicleParameters) -> bool:
    """Whether the vehicle has the drag that makes its velocity visible."""
    return vehicle.rotor_drag.linear[0] > 0.05 and vehicle.rotor_drag.linear[1] > 0.05


def with_observed_motion(
    grid: Flight, vehicle: VehicleParameters, bias: tuple[float, float]
) -> Flight:
    """The flight, on a uniform grid, with velocity and attitude.

    A heading that was not measured is 0. An attitude that was is kept, and the velocity observed.

    bias: m/s^2, what the accelerometer shows along x and y at rest in the air.
    """
    is_known = grid.attitude is not None and grid.velocity is not None
    if is_known or not can_observe(vehicle):
        return grid
    velocity_B, up_B = _observe(grid, vehicle, bias)
    attitude = _level_heading(up_B) if grid.attitude is None else grid.attitude
    velocity = np.einsum("kij,kj->ki", rotation(attitude), velocity_B)
    return replace(grid, velocity=velocity, attitude=attitude)


def _level_heading(up_B: Array) -> Array:
    """(K, 4) attitudes of heading 0 with this direction of up."""
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
