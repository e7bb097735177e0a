"""Force of the air below a multicopter on the vehicles in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash.fleet import Fleet
from propwash.gym.multi._state import SceneState
from propwash.vehicle.parameters import VehicleParameters

Numbers = NDArray[np.float32]

_ROTOR_RADIUS = 0.4
"""Radius of a rotor as a fraction of the distance between the nearest two."""


@dataclass(frozen=True)
class Downwash:
    """Downwash as a turbulent jet with a Gaussian profile; see docs/gym-multi.md for the equations.

    Raises ValueError for numbers out of range.
    """

    rotor_radius: float | None = None
    """m; None for 0.4 of the distance between the nearest two rotors."""
    spread: float = 0.094
    """Half-width of the jet's velocity per distance (Pope, Turbulent Flows, 2000, table 5.1)."""
    drag: float = 0.85
    """Force over momentum flux through the rotor discs; 0.85 agrees with Panerati et al. 2021."""

    def __post_init__(self) -> None:
        if self.rotor_radius is not None:
            checks.positive("rotor_radius", self.rotor_radius)
        checks.positive("spread", self.spread)
        if checks.number("drag", self.drag) < 0.0:
            raise ValueError(f"drag: expected a number >= 0, got {self.drag!r:.100}")

    def area(self, vehicle: VehicleParameters) -> float:
        """Area of all rotor discs of a vehicle [m^2].

        Raises ValueError for a vehicle with one rotor if `rotor_radius` is None.
        """
        radius = self.rotor_radius
        if radius is None:
            places = np.array([rotor.position for rotor in vehicle.rotors])
            apart = np.linalg.norm(places[:, None] - places[None], axis=2)
            if not (apart > 0.0).any():
                raise ValueError("rotor_radius: expected a number for a vehicle with one rotor")
            radius = _ROTOR_RADIUS * float(apart[apart > 0.0].min())
        return float(np.pi * radius**2 * len(vehicle.rotors))

    def flux(self, thrust: Any, along: Any, across: Any, area: float) -> Any:
        """Momentum flux density of the jet [N/m^2].

        thrust: of the vehicle above [N]. along: distance below it along its axis [m]; the result is
        0 for negative ones. across: squared distance from the axis [m^2]. area: of its discs [m^2].
        """
        width = np.sqrt(area / (4.0 * np.pi)) + self.spread * _SIGMA * np.maximum(along, 0.0)
        density = thrust / (2.0 * np.pi * width**2) * np.exp(-0.5 * across / width**2)
        return np.where(along > 0.0, density, 0.0)

    def forces(self, state: SceneState) -> Numbers:
        """Returns the forces on the vehicles of all scenes [N], (n, 3) in world axes."""
        fleet, vehicle = state.fleet, state.fleet.vehicle
        area = self.area(vehicle)
        up = state.to_others(state.rotation[:, :, 2])
        offsets, present, squared = state._paired()
        along = np.einsum("nvk,nvk->nv", offsets, up)
        across = np.maximum(np.where(present, squared, 0.0) - along * along, 0.0)
        thrust = state.to_others(thrusts(fleet, state.rotor_speeds))
        density = np.where(present, self.flux(thrust, along, across, area), 0.0)
        forces = np.einsum("nv,nvk->nk", -self.drag * area * density, up)
        return np.asarray(forces, dtype=np.float32)


_SIGMA = float(0.5 / np.sqrt(np.log(2.0)))
"""Standard deviation of the momentum flux of a Gaussian jet per half-width of its velocity."""


def thrusts(fleet: Fleet, rotor_speeds: Numbers) -> Numbers:
    """Thrusts (n,) [N] of vehicles with the nominal thrust coefficients."""
    coefficients = np.array([rotor.thrust_coefficient for rotor in fleet.vehicle.rotors])
    total: Numbers = (rotor_speeds * rotor_speeds) @ coefficients.astype(np.float32)
    return total
