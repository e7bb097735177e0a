"""Parameters of the downwash; docs/model/downwash.md has the equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from propwash import _checks as checks
from propwash.vehicle.parameters import VehicleParameters

_ROTOR_RADIUS = 0.4
"""Radius of a rotor as a fraction of the distance between the nearest two."""


@dataclass(frozen=True)
class Downwash:
    """Downwash of each vehicle on those below it: a turbulent jet of the vehicle's thrust.

    The force is computed from the state at the start of a step of the environment, and held.
    docs/model/downwash.md states the equations, their source and what is not modelled.

    Raises ValueError for numbers out of range.
    """

    rotor_radius: float | None = None
    """m; None for 0.4 of the distance between the nearest two rotors."""
    spread: float = 0.094
    """Half-width of the jet per distance."""
    coefficient: float = 1.0
    """Force on a vehicle over the momentum flux through its rotor discs."""

    def __post_init__(self) -> None:
        if self.rotor_radius is not None:
            checks.positive("rotor_radius", self.rotor_radius)
        checks.positive("spread", self.spread)
        checks.not_negative("coefficient", self.coefficient)

    def numbers(self, vehicle: VehicleParameters) -> tuple[float, float, float]:
        """Area of all rotor discs of a vehicle [m^2], spread and coefficient.

        Raises ValueError for a vehicle with one rotor if `rotor_radius` is None.
        """
        radius = self.rotor_radius
        if radius is None:
            places = np.array([rotor.position for rotor in vehicle.rotors])
            apart = np.linalg.norm(places[:, None] - places[None], axis=2)
            if not (apart > 0.0).any():
                raise ValueError(
                    "Downwash: expected a rotor_radius for a vehicle without rotors side by side, "
                    "got None"
                )
            radius = _ROTOR_RADIUS * float(apart[apart > 0.0].min())
        return float(np.pi * radius**2 * len(vehicle.rotors)), self.spread, self.coefficient
