"""Conversion between the frame conventions of other programs and of propwash.

propwash uses a right-handed world with z up, body axes forward, left, up (FLU), and Hamilton
quaternions, scalar first, from body to world. Each function of vectors and quaternions takes arrays
with any leading axes, returns a new float64 array of the same shape, and raises ValueError for a
last axis of another size or TypeError for other types, as do the converters of vehicles, states and
readings.

Vehicles, states and readings of a simulator with a north-east-down world (NED) and
forward-right-down body axes (FRD) are converted as follows:

    uav = Multicopter(frames.vehicle_ned_frd_to_enu_flu(theirs))
    uav.reset(frames.state_ned_frd_to_enu_flu(their_state))
    reading = frames.reading_flu_to_frd(uav.imu)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash.vehicle.multicopter import ImuReading, MulticopterState
from propwash.vehicle.parameters import ResidualParameters, VehicleParameters

Array = NDArray[np.float64]

__all__ = [
    "enu_to_ned",
    "flu_to_frd",
    "frd_to_flu",
    "ned_to_enu",
    "quaternion_enu_flu_to_ned_frd",
    "quaternion_ned_frd_to_enu_flu",
    "reading_flu_to_frd",
    "reading_frd_to_flu",
    "state_enu_flu_to_ned_frd",
    "state_ned_frd_to_enu_flu",
    "vehicle_enu_flu_to_ned_frd",
    "vehicle_ned_frd_to_enu_flu",
    "wxyz_to_xyzw",
    "xyzw_to_wxyz",
]


def ned_to_enu(vector: ArrayLike) -> Array:
    """Vectors (…, 3) from a north-east-down to an east-north-up world."""
    v = _checks.shaped("vector", vector, ("…", 3), finite=False)
    return np.stack([v[..., 1], v[..., 0], -v[..., 2]], axis=-1)


def enu_to_ned(vector: ArrayLike) -> Array:
    """Vectors (…, 3) from an east-north-up to a north-east-down world."""
    return ned_to_enu(vector)


def frd_to_flu(vector: ArrayLike) -> Array:
    """Vectors (…, 3) from forward-right-down to forward-left-up body axes."""
    return np.asarray(
        _checks.shaped("vector", vector, ("…", 3), finite=False) * np.array([1.0, -1.0, -1.0])
    )


def flu_to_frd(vector: ArrayLike) -> Array:
    """Vectors (…, 3) from forward-left-up to forward-right-down body axes."""
    return frd_to_flu(vector)


def xyzw_to_wxyz(quaternion: ArrayLike) -> Array:
    """Quaternions (…, 4) from scalar last to scalar first."""
    return np.asarray(
        np.roll(_checks.shaped("quaternion", quaternion, ("…", 4), finite=False), 1, axis=-1)
    )


def wxyz_to_xyzw(quaternion: ArrayLike) -> Array:
    """Quaternions (…, 4) from scalar first to scalar last."""
    return np.asarray(
        np.roll(_checks.shaped("quaternion", quaternion, ("…", 4), finite=False), -1, axis=-1)
    )


def quaternion_ned_frd_to_enu_flu(quaternion: ArrayLike) -> Array:
    """Attitudes (…, 4), scalar first: FRD body to NED world becomes FLU body to ENU world."""
    # q_ENU_NED o q o q_FRD_FLU with q_ENU_NED = (0, 1, 1, 0)/sqrt(2), q_FRD_FLU = (0, 1, 0, 0)
    w, x, y, z = np.moveaxis(
        _checks.shaped("quaternion", quaternion, ("…", 4), finite=False), -1, 0
    )
    product = np.stack([-(w + z), -(x + y), y - x, z - w], axis=-1)
    return np.asarray(product * np.sqrt(0.5))


def quaternion_enu_flu_to_ned_frd(quaternion: ArrayLike) -> Array:
    """Attitudes (…, 4), scalar first: FLU body to ENU world becomes FRD body to NED world."""
    return quaternion_ned_frd_to_enu_flu(quaternion)


def vehicle_ned_frd_to_enu_flu(vehicle: VehicleParameters) -> VehicleParameters:
    """Converts a vehicle with vectors in FRD body axes and gravity in an NED world.

    The IMU axes change with the body axes: an IMU that is aligned with the body remains aligned;
    reading_frd_to_flu() and reading_flu_to_frd() convert its readings. The spin of a rotor does not
    change, as it is defined about the rotor axis.
    """
    _expect(vehicle, VehicleParameters)
    w, *axis = vehicle.imu.attitude
    return vehicle.replace(
        body={
            "inertia": _tensor_frd_to_flu(vehicle.body.inertia),
            "gravity": ned_to_enu(vehicle.body.gravity),
        },
        rotors=[
            rotor.replace(position=frd_to_flu(rotor.position), axis=frd_to_flu(rotor.axis))
            for rotor in vehicle.rotors
        ],
        drag={"rotational": _tensor_frd_to_flu(vehicle.drag.rotational)},
        ground_effect={"height": 0.0 - vehicle.ground_effect.height},
        contact={"height": 0.0 - vehicle.contact.height},
        residual=_residual_frd_to_flu(vehicle.residual),
        imu={
            "position": frd_to_flu(vehicle.imu.position),
            "attitude": (w, *frd_to_flu(axis)),
        },
    )


def _residual_frd_to_flu(residual: ResidualParameters) -> ResidualParameters:
    """Returns the residual in axes whose y and z have opposite signs."""
    of_even, of_odd = (1.0, -1.0, -1.0, -1.0, -1.0), (-1.0, 1.0, -1.0, 1.0, -1.0)
    # signs of the monomials, in the order of docs/model/residual.md
    squares = [a * b for a, b in combinations_with_replacement(of_even[:4], 2)]
    squares += [a * b for a, b in combinations_with_replacement(of_odd[:3], 2)]
    even = np.array([1.0, *of_even, *squares])
    odd = np.array([*of_odd, *(a * b for a in of_even[:4] for b in of_odd[:3])])
    signs = {
        "force_x": even,
        "force_y": -odd,
        "force_z": -even,
        "torque_x": odd,
        "torque_y": -even,
        "torque_z": -odd,
    }
    return residual.replace(
        velocity_centre=frd_to_flu(residual.velocity_centre),
        thrust_centre=0.0 - residual.thrust_centre,
        **{name: 0.0 + np.asarray(getattr(residual, name)) * sign for name, sign in signs.items()},
    )


def vehicle_enu_flu_to_ned_frd(vehicle: VehicleParameters) -> VehicleParameters:
    """Converts a vehicle of propwash to FRD body axes and an NED world."""
    return vehicle_ned_frd_to_enu_flu(vehicle)


def state_ned_frd_to_enu_flu(state: MulticopterState) -> MulticopterState:
    """Converts a state with NED vectors, an attitude from FRD body to NED world and FRD rates."""
    _expect(state, MulticopterState)
    return replace(
        state,
        position=ned_to_enu(state.position),
        velocity=ned_to_enu(state.velocity),
        attitude=quaternion_ned_frd_to_enu_flu(state.attitude),
        body_rates=frd_to_flu(state.body_rates),
    )


def state_enu_flu_to_ned_frd(state: MulticopterState) -> MulticopterState:
    """Converts a state of propwash to an NED world and FRD body axes."""
    return state_ned_frd_to_enu_flu(state)


def reading_frd_to_flu(reading: ImuReading) -> ImuReading:
    """Converts an IMU reading from FRD to FLU axes."""
    _expect(reading, ImuReading)
    return replace(
        reading,
        specific_force=frd_to_flu(reading.specific_force),
        angular_rate=frd_to_flu(reading.angular_rate),
    )


def reading_flu_to_frd(reading: ImuReading) -> ImuReading:
    """Converts an IMU reading of propwash to FRD axes."""
    return reading_frd_to_flu(reading)


def _expect(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


def _tensor_frd_to_flu(tensor: ArrayLike) -> Array:
    """R J R^T for a tensor (3, 3) of FRD axes."""
    signs = np.array([1.0, -1.0, -1.0])
    return np.asarray(tensor, dtype=np.float64) * np.outer(signs, signs)
