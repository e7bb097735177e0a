"""What can be read of a fleet: its state, its clock, its readings and how it was made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.fleet._types import Core, Flags, FleetImuReading, FleetState, Numbers
from propwash.vehicle.parameters import VehicleParameters


class FleetFields:
    """The read-only properties of a Fleet. Arrays are copies, of the fleet's dtype."""

    _core: Core
    _parameters: VehicleParameters
    _size: int
    _dtype: np.dtype[Any]
    _options: dict[str, Any]

    @property
    def state(self) -> FleetState:
        """The physical state after the last step, copied."""
        return FleetState(*map(self._core.read, FleetState.__dataclass_fields__))

    @property
    def position(self) -> Numbers:
        """(n, 3) m, world frame."""
        return self._core.read("position")

    @property
    def velocity(self) -> Numbers:
        """(n, 3) m/s, world frame."""
        return self._core.read("velocity")

    @property
    def attitude(self) -> Numbers:
        """(n, 4) unit quaternions, scalar first: they turn body components into the world."""
        return self._core.read("attitude")

    @property
    def body_rates(self) -> Numbers:
        """(n, 3) rad/s, body frame."""
        return self._core.read("body_rates")

    @property
    def rotor_speeds(self) -> Numbers:
        """(n, N) rad/s."""
        return self._core.read("rotor_speeds")

    @property
    def rotor_command(self) -> Numbers:
        """(n, N) rad/s, what the motors were driven to in the last step."""
        return self._core.read("rotor_command")

    @property
    def rotor_effectiveness(self) -> Numbers:
        """(n, N) factors on the rotors' thrust and aerodynamic torque."""
        return self._core.read("rotor_effectiveness")

    @property
    def external_force(self) -> Numbers:
        """(n, 3) N, world frame."""
        return self._core.read("external_force")

    @property
    def external_torque(self) -> Numbers:
        """(n, 3) N m, body frame."""
        return self._core.read("external_torque")

    @property
    def imu(self) -> FleetImuReading:
        """The IMUs' readings now, or their last ones where they are slower than the steps."""
        return FleetImuReading(*self._core.imu())

    @property
    def accelerometer_bias(self) -> Numbers:
        """(n, 3) m/s^2, sensor axes."""
        return self._core.read("accelerometer_bias")

    @property
    def gyroscope_bias(self) -> Numbers:
        """(n, 3) rad/s, sensor axes."""
        return self._core.read("gyroscope_bias")

    @property
    def wind(self) -> Numbers:
        """(n, 3) m/s, mean wind, world frame."""
        return self._core.read("wind")

    @property
    def contact(self) -> Flags:
        """(n,) whether the floor was touched during the last step() or entry of a rollout."""
        return self._core.read("contact")

    @property
    def diverged(self) -> Flags:
        """(n,) whether a number of the state is not finite; reset() mends it."""
        return self._core.read("diverged")

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) s, since each vehicle's reset."""
        return self._core.time

    @property
    def vehicle(self) -> VehicleParameters:
        """The vehicle from which the fleet was made."""
        return self._parameters

    @property
    def size(self) -> int:
        """The number of vehicles."""
        return self._size

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._dtype

    @property
    def dt(self) -> float:
        """s, of a step."""
        return float(self._options["dt"])

    @property
    def seed(self) -> int:
        """Key of all noise."""
        return self._core.seed

    @property
    def steps(self) -> int:
        """Steps since construction or since a reset with a seed: the counter of the noise."""
        return self._core.steps

    @property
    def threads(self) -> int:
        """The number of threads that a step runs on."""
        return self._core.threads

    @property
    def bytes_per_vehicle(self) -> float:
        """Memory that one vehicle takes."""
        return self._core.bytes_per_vehicle

    @property
    def rotors(self) -> int:
        """The number of rotors of a vehicle."""
        return len(self._parameters.rotors)

    @property
    def isa(self) -> str:
        """The instruction set of the kernels."""
        return self._core.isa

    def __len__(self) -> int:
        return self._size
