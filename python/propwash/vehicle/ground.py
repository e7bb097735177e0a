"""Vehicles that stand on the ground before a flight."""

from __future__ import annotations

import math

import numpy as np

from propwash import _rotation
from propwash.vehicle.multicopter import MulticopterState
from propwash.vehicle.parameters import VehicleParameters

__all__ = ["rest_height", "standing", "with_contact"]

_FREQUENCY = 12.0  # Hz
_LEG = 0.03  # m, below the rotors and the centre of mass


def with_contact(vehicle: VehicleParameters, height: float | None = None) -> VehicleParameters:
    """A copy that can stand on the ground.

    A vehicle without `contact` gets legs that end 3 cm below its rotors and its centre of mass,
    with an oscillation of 12 Hz. height: m, of the ground, world frame; None: that of the vehicle.
    """
    if not vehicle.contact.frequency:
        lowest = min(rotor.position[2] for rotor in vehicle.rotors)
        legs = {"frequency": _FREQUENCY, "leg": max(lowest, 0.0) + _LEG}
        vehicle = vehicle.replace(contact=legs)
    return vehicle if height is None else vehicle.replace(contact={"height": height})


def rest_height(vehicle: VehicleParameters) -> float:
    """m, of a vehicle that stands: (mg / nk = g / omega^2) below that of its legs."""
    contact = vehicle.contact
    feet = min(rotor.position[2] for rotor in vehicle.rotors) - contact.leg
    gravity = -vehicle.body.gravity[2]
    return contact.height - feet - gravity / (2.0 * math.pi * contact.frequency) ** 2


def standing(
    vehicle: VehicleParameters, x: float = 0.0, y: float = 0.0, yaw: float = 0.0
) -> MulticopterState:
    """The state of a vehicle that stands at x, y [m] with a heading [rad].

    The rotors are stopped, or turn as slowly as their motors can.
    """
    position = np.array([x, y, rest_height(vehicle)])
    attitude = np.array(_rotation.about_z(yaw))
    rotors = np.maximum(0.0, vehicle.motor_values("speed_min"))
    return MulticopterState(position, np.zeros(3), attitude, np.zeros(3), rotors)
