"""Differential flatness: attitude, rates, thrust and rotor thrusts that a reference requires."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _models
from propwash.trajectories._reference import Reference
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flatness:
    """Motion and forces that a reference requires: arrays (T, …), or (T, n, …) for n vehicles."""

    attitude: Array
    """(T, 4) unit quaternions, scalar first, body to world, without sign jumps over time."""
    body_rates: Array
    """(T, 3) rad/s, body frame."""
    angular_acceleration: Array
    """(T, 3) rad/s^2, body frame."""
    specific_force: Array
    """(T, 3) m/s^2, world frame: acceleration minus gravity minus drag acceleration. It gives
    the thrust axis; `thrust` is corrected for rotor drag along that axis."""
    thrust: Array
    """(T,) N, total of all rotors, along body z."""
    torque: Array
    """(T, 3) N m, of all rotors, body frame."""
    rotor_thrusts: Array
    """(T, N) N; not limited to what the rotors can produce."""
    rotor_speeds: Array
    """(T, N) rad/s, that produce `rotor_thrusts`; negative for a negative thrust."""


def flatness(
    reference: Reference, vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles"
) -> Flatness:
    """Returns the motion and forces that a reference requires: equations (O10) to (O19).

    Assumes still air. Neglects rotor angular momentum, motor lag and command delays. The linear
    rotor drag along body x and y is replaced by its mean. In free fall and at a roll of 90 degrees
    the attitude is undefined: all numbers are NaN except specific_force.

    Raises ParameterError for a vehicle whose rotors cannot produce torque about each axis, and
    ValueError for a reference with values that are not finite.
    """
    shape = np.shape(reference.yaw)
    columns = {
        name: np.reshape(getattr(reference, name), (-1, 3))
        for name in ("velocity", "acceleration", "jerk", "snap")
    } | {name: np.ravel(getattr(reference, name)) for name in ("yaw", "yaw_rate")}
    columns["yaw_acceleration"] = np.ravel(reference.yaw_acceleration)
    rows = _models.flatness(vehicles.load(vehicle), columns, shape[1] if len(shape) > 1 else 1)
    return Flatness(**{name: each.reshape(*shape, *each.shape[1:]) for name, each in rows.items()})
