"""Converters between the conventions of other programs and propwash's own.

propwash's world is right-handed with z up, its body axes are forward, left, up (FLU), and its
quaternions are Hamilton, scalar first, from body to world. Every function of vectors and
quaternions takes arrays with any number of leading dimensions and returns a new float64 array of
the same shape; each raises ValueError for a last dimension of another size. The converters of
vehicles, states and readings raise TypeError for objects of other types.

Vehicles, states and readings of a simulator with a north-east-down world (NED) and
forward-right-down body axes (FRD) are converted as a whole:

    uav = Multicopter(frames.vehicle_ned_frd_to_enu_flu(theirs))
    uav.reset(frames.state_ned_frd_to_enu_flu(their_state))
    reading = frames.reading_flu_to_frd(uav.imu)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash.vehicle.multicopter import ImuReading, MulticopterState
from propwash.vehicle.parameters import VehicleParameters

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
    """(…, 3) of a north-east-down world in the east-north-up world."""
    v = _with_last(vector, 3)
    return np.stack([v[..., 1], v[..., 0], -v[..., 2]], axis=-1)


def enu_to_ned(vector: ArrayLike) -> Array:
    """(…, 3) of an east-north-up world in the north-east-down world."""
    return ned_to_enu(vector)


def frd_to_flu(vector: ArrayLike) -> Array:
    """(…, 3) of forward-right-down body axes in forward-left-up ones."""
    return np.asarray(_with_last(vector, 3) * np.array([1.0, -1.0, -1.0]))


def flu_to_frd(vector: ArrayLike) -> Array:
    """(…, 3) of forward-left-up body axes in forward-right-down ones."""
    return frd_to_flu(vector)


def xyzw_to_wxyz(quaternion: ArrayLike) -> Array:
    """(…, 4), scalar last to scalar first."""
    return np.asarray(np.roll(_with_last(quaternion, 4), 1, axis=-1))


def wxyz_to_xyzw(quaternion: ArrayLike) -> Array:
    """(…, 4), scalar first to scalar last."""
    return np.asarray(np.roll(_with_last(quaternion, 4), -1, axis=-1))


def quaternion_ned_frd_to_enu_flu(quaternion: ArrayLike) -> Array:
    """(…, 4) scalar first: from FRD body to NED world, into from FLU body to ENU world."""
    # q_ENU_NED o q o q_FRD_FLU with q_ENU_NED = (0, 1, 1, 0)/sqrt(2), q_FRD_FLU = (0, 1, 0, 0)
    w, x, y, z = np.moveaxis(_with_last(quaternion, 4), -1, 0)
    turned = np.stack([-(w + z), -(x + y), y - x, z - w], axis=-1)
    return np.asarray(turned * np.sqrt(0.5))


def quaternion_enu_flu_to_ned_frd(quaternion: ArrayLike) -> Array:
    """(…, 4) scalar first: from FLU body to ENU world, into from FRD body to NED world."""
    return quaternion_ned_frd_to_enu_flu(quaternion)


def vehicle_ned_frd_to_enu_flu(vehicle: VehicleParameters) -> VehicleParameters:
    """A vehicle whose vectors are in FRD body axes and whose gravity is in an NED world.

    The sensor's axes are changed with the body's: a sensor that was aligned with the body stays so,
    and its readings are converted by reading_frd_to_flu() and reading_flu_to_frd(). Each rotor's
    spin is seen from the tip of its own axis and stays.
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
        imu={
            "position": frd_to_flu(vehicle.imu.position),
            "attitude": (w, *frd_to_flu(axis)),
        },
    )


def vehicle_enu_flu_to_ned_frd(vehicle: VehicleParameters) -> VehicleParameters:
    """A vehicle of propwash in FRD body axes and an NED world."""
    return vehicle_ned_frd_to_enu_flu(vehicle)


def state_ned_frd_to_enu_flu(state: MulticopterState) -> MulticopterState:
    """A state in an NED world, its attitude from FRD body to NED world, its rates in FRD axes."""
    _expect(state, MulticopterState)
    return replace(
        state,
        position=ned_to_enu(state.position),
        velocity=ned_to_enu(state.velocity),
        attitude=quaternion_ned_frd_to_enu_flu(state.attitude),
        body_rates=frd_to_flu(state.body_rates),
    )


def state_enu_flu_to_ned_frd(state: MulticopterState) -> MulticopterState:
    """A state of propwash in an NED world and FRD body axes."""
    return state_ned_frd_to_enu_flu(state)


def reading_frd_to_flu(reading: ImuReading) -> ImuReading:
    """A reading in FRD axes, of a sensor whose vehicle is converted."""
    _expect(reading, ImuReading)
    return replace(
        reading,
        specific_force=frd_to_flu(reading.specific_force),
        angular_rate=frd_to_flu(reading.angular_rate),
    )


def reading_flu_to_frd(reading: ImuReading) -> ImuReading:
    """A reading of propwash in FRD axes."""
    return reading_frd_to_flu(reading)


def _expect(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


def _tensor_frd_to_flu(tensor: ArrayLike) -> Array:
    """R J R^T for a tensor (3, 3) of FRD axes."""
    signs = np.array([1.0, -1.0, -1.0])
    return np.asarray(tensor, dtype=np.float64) * np.outer(signs, signs)


def _with_last(values: ArrayLike, size: int) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu":
            raise TypeError("not numbers")
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"expected an array of shape (…, {size}), got {values!r:.100}") from error
    if array.ndim < 1 or array.shape[-1] != size:
        raise ValueError(f"expected an array of shape (…, {size}), got shape {array.shape}")
    return array
