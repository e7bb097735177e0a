"""The read-only properties of a fleet: state, time, readings and options."""

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
        """A copy of the physical state."""
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
        """(n, 4) unit quaternions, scalar first, from body to world."""
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
        """(n, N) rad/s, commanded rotor speeds in the last step."""
        return self._core.read("rotor_command")

    @property
    def rotor_effectiveness(self) -> Numbers:
        """(n, N) factors on the thrust and aerodynamic torque of the rotors."""
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
        """The present readings of the IMUs, or the last ones if they are slower than the steps."""
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
    def battery_voltage(self) -> Numbers:
        """(n,) V; that of the last step with a battery circuit; 0 without a nominal voltage."""
        return self._core.read("battery_voltage")

    @property
    def battery_current(self) -> Numbers:
        """(n,) A, in the last step; 0 without a battery circuit."""
        return self._core.read("battery_current")

    @property
    def state_of_charge(self) -> Numbers:
        """(n,) remaining fraction of the batteries' capacity; 1 without a battery circuit."""
        return self._core.read("state_of_charge")

    @property
    def wind(self) -> Numbers:
        """(n, 3) m/s, mean wind, world frame."""
        return self._core.read("wind")

    @property
    def contact(self) -> Flags:
        """(n,) whether the floor was touched during the last step() or row of a rollout."""
        return self._core.read("contact")

    @property
    def diverged(self) -> Flags:
        """(n,) whether the state is not finite; reset() repairs it."""
        return self._core.read("diverged")

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) s, since each vehicle's reset."""
        return self._core.time

    @property
    def vehicle(self) -> VehicleParameters:
        """The parameters of the vehicle that the fleet was constructed with."""
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
        """s, duration of a step."""
        return float(self._options["dt"])

    @property
    def seed(self) -> int:
        """The seed of all noise."""
        return self._core.seed

    @property
    def steps(self) -> int:
        """Steps since construction or since a reset with a seed: the counter of the noise."""
        return self._core.steps

    @property
    def threads(self) -> int:
        """The number of threads of a step."""
        return self._core.threads

    @property
    def bytes_per_vehicle(self) -> float:
        """The memory per vehicle."""
        return self._core.bytes_per_vehicle

    @property
    def rotors(self) -> int:
        """The number of rotors of a vehicle."""
        return len(self._parameters.rotors)

    @property
    def isa(self) -> str:
        """The name of the instruction set of the kernels."""
        return self._core.isa

    def __len__(self) -> int:
        return self._size
