"""Order and spins of the motors of flight controllers, and their match with a vehicle's rotors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.logs._layout import Layout
from propwash.vehicle.parameters import RotorParameters, VehicleParameters

Array = NDArray[np.float64]

_CORNERS = {"FR": (1.0, -1.0), "RR": (-1.0, -1.0), "RL": (-1.0, 1.0), "FL": (1.0, 1.0)}


def _quad(order: str, ccw: str) -> Layout:
    names = order.split()
    positions = np.array([_CORNERS[name] for name in names])
    return Layout(positions, tuple(1 if name in ccw.split() else -1 for name in names))


QUAD_X = {
    "betaflight": _quad("RR FR RL FL", ccw="FR RL"),
    "px4": _quad("FR RL FL RR", ccw="FR RL"),
    "ardupilot": _quad("FR RL FL RR", ccw="FR RL"),
    "flightgoggles": _quad("FL RL RR FR", ccw="FL RR"),
}
"""Motors of a quad-x in the order of each program: positions (forward, left) and spins from above
(+1 counter-clockwise)."""


@dataclass(frozen=True)
class MotorMap:
    """Which motor of a flight controller drives each rotor of a vehicle."""

    order: tuple[int, ...]
    """Index of the flight controller's motor for each rotor."""
    reversed: bool
    """Whether all rotors spin opposite to the flight controller's table."""

    def to_rotors(self, motors: Array) -> Array:
        """Motor outputs in the order of the vehicle's rotors."""
        return np.asarray(motors[list(self.order)])


def match(vehicle: VehicleParameters, layout: Layout) -> MotorMap:
    """Matches motors with rotors by their direction from the centre.

    Raises ValueError, with both geometries, if they do not match one to one, or if only some of
    the rotors spin as the table states.
    """
    own = Layout.of_vehicle(vehicle)
    order = _by_direction(own.positions, layout.positions)
    same = [own.spins[k] == layout.spins[motor] for k, motor in enumerate(order)]
    if len(own.spins) != len(layout.spins) or len(set(order)) != len(order) or len(set(same)) != 1:
        raise ValueError(
            f"vehicle {vehicle.name!r}: expected rotors that match the motors of the flight "
            f"controller in number and direction (forward, left), and all or none in spin; the "
            f"vehicle has {own}; the flight controller has {layout}; use another vehicle"
        )
    return MotorMap(tuple(order), not same[0])


def _by_direction(own: Array, other: Array) -> list[int]:
    """Index of the nearest direction of `other` for each position."""
    ours, theirs = (np.arctan2(p[:, 1], p[:, 0]) for p in (own, other))
    apart = np.abs((theirs[None, :] - ours[:, None] + np.pi) % (2.0 * np.pi) - np.pi)
    return [int(k) for k in np.argmin(apart, axis=1)]


def with_reversed_spins(vehicle: VehicleParameters) -> VehicleParameters:
    """A copy of the vehicle whose rotors all spin in the other direction."""
    rotors = tuple(_reversed(rotor) for rotor in vehicle.rotors)
    return vehicle.replace(rotors=rotors)


def _reversed(rotor: RotorParameters) -> RotorParameters:
    return rotor.replace(spin=-rotor.spin)
