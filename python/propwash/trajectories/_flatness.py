"""What a reference asks of the vehicle: attitude, rates, thrust, rotor thrusts."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.trajectories._reference import Reference
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flatness:
    """What a reference asks of a vehicle: T rows, of n vehicles (T, n, …)."""

    attitude: Array
    """(T, 4) unit quaternions, scalar first: body to world; the sign is continuous over time."""
    body_rates: Array
    """(T, 3) rad/s, body frame."""
    angular_acceleration: Array
    """(T, 3) rad/s^2, body frame."""
    specific_force: Array
    """(T, 3) m/s^2, world frame: acceleration less gravity, plus what balances the drag. The thrust
    axis points along it; `thrust` is corrected for rotor drag along that axis."""
    thrust: Array
    """(T,) N, of all rotors, along body z."""
    torque: Array
    """(T, 3) N m, of the rotors, body frame."""
    rotor_thrusts: Array
    """(T, N) N; beyond what the rotors can give where the reference asks for it."""
    rotor_speeds: Array
    """(T, N) rad/s, at which they give it; negative for a negative thrust."""


def flatness(
    reference: Reference, vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles"
) -> Flatness:
    """What a reference asks of a vehicle, in air at rest: equations (O10) to (O19).

    The rotors' momentum and lag, and command delays, are not in it; of the linear rotor drag across
    the body the mean of both axes is taken. Rows in free fall, or rolled by 90 degrees, have no
    attitude: their numbers are NaN, except specific_force.

    Raises ParameterError for a vehicle whose rotors cannot give torque about each axis, ValueError
    for a reference with numbers that are not finite.
    """
    shape = np.shape(reference.yaw)
    columns = {
        name: np.reshape(getattr(reference, name), (-1, 3))
        for name in ("velocity", "acceleration", "jerk", "snap")
    } | {name: np.ravel(getattr(reference, name)) for name in ("yaw", "yaw_rate")}
    columns["yaw_acceleration"] = np.ravel(reference.yaw_acceleration)
    found = _core.flatness(vehicles.load(vehicle), columns, shape[1] if len(shape) > 1 else 1)
    return Flatness(**{name: each.reshape(*shape, *each.shape[1:]) for name, each in found.items()})
