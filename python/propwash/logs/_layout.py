"""Positions and spins of motors, as flight controllers state them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_SPINS = {1: "ccw", -1: "cw", 0: "spin unknown"}


@dataclass(frozen=True)
class Layout:
    """Positions and spins of motors, in the order of a log."""

    positions: Array
    """(N, 2) forward and left of the centre, in any unit."""
    spins: tuple[int, ...]
    """+1 counter-clockwise from above, -1 clockwise, 0 unknown."""

    @classmethod
    def of_vehicle(cls, vehicle: VehicleParameters) -> Layout:
        """The rotors of a vehicle."""
        positions = np.array([rotor.position[:2] for rotor in vehicle.rotors])
        signs = [np.sign(rotor.spin * rotor.axis[2]) for rotor in vehicle.rotors]
        return cls(positions, tuple(int(sign) for sign in signs))

    def __str__(self) -> str:
        rows = zip(self.positions, self.spins, strict=True)
        motors = [
            f"{k} {_SPINS[spin]} at ({x:.3g}, {y:.3g})" for k, ((x, y), spin) in enumerate(rows, 1)
        ]
        return ", ".join(motors)


# The order is the same in all firmware: rear right, front right, rear left, front left. Spins are
# a setting of the vehicle.
BETAFLIGHT_QUAD_X = Layout(np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]), (0,) * 4)
PX4_QUAD_X = Layout(np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]), (1, 1, -1, -1))
