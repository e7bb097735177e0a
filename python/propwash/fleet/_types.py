"""Data types of fleets: states, readings and trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _core, _float64

Numbers = NDArray[Any]
"""Arrays of the fleet's dtype."""
Flags = NDArray[np.bool_]
FleetIntegrator = Literal["euler", "rk4"]
"""Integrators that a fleet has."""

Core: TypeAlias = "_core.FleetFloat32 | _float64.FleetFloat64"
"""A bound fleet."""

RECORDED = (
    "time",
    "position",
    "velocity",
    "attitude",
    "body_rates",
    "rotor_speeds",
    "readings",
)
"""The fields that a rollout records by default."""


@dataclass(frozen=True, eq=False)
class FleetState:
    """The physical state of n multicopters, in arrays (n, …) of the fleet's dtype."""

    position: Numbers
    """(n, 3) m, of the centres of mass, world frame."""
    velocity: Numbers
    """(n, 3) m/s, world frame."""
    attitude: Numbers
    """(n, 4) unit quaternions, scalar first, from body to world."""
    body_rates: Numbers
    """(n, 3) rad/s, body frame."""
    rotor_speeds: Numbers
    """(n, N) rad/s, positive for thrust along the rotor's axis."""

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, eq=False)
class FleetImuReading:
    """One measurement of the inertial sensor of each vehicle, in sensor axes."""

    specific_force: Numbers
    """(n, 3) m/s^2; (0, 0, 9.81) in hover."""
    angular_rate: Numbers
    """(n, 3) rad/s."""


@dataclass(frozen=True, eq=False)
class SensorRecord:
    """The readings of an attached sensor after each command."""

    time: NDArray[np.float64]
    """(T, n) s, since each vehicle's reset, time of the readings; NaN: none yet."""
    reading: Any
    """The sensor's reading, in arrays (T, n, …)."""


@dataclass(frozen=True, eq=False)
class FleetTrajectory:
    """The recording of a rollout after each command: arrays (T, n, …); None: not recorded."""

    time: NDArray[np.float64] | None = None
    """(T, n) s, since each vehicle's reset."""
    position: Numbers | None = None
    """(T, n, 3) m, world frame."""
    velocity: Numbers | None = None
    """(T, n, 3) m/s, world frame."""
    attitude: Numbers | None = None
    """(T, n, 4) unit quaternions, scalar first."""
    body_rates: Numbers | None = None
    """(T, n, 3) rad/s, body frame."""
    rotor_speeds: Numbers | None = None
    """(T, n, N) rad/s."""
    rotor_command: Numbers | None = None
    """(T, n, N) rad/s, commanded rotor speeds."""
    specific_force: Numbers | None = None
    """(T, n, 3) m/s^2, the IMU's readings."""
    angular_rate: Numbers | None = None
    """(T, n, 3) rad/s, the IMU's readings."""
    accelerometer_bias: Numbers | None = None
    """(T, n, 3) m/s^2, bias of the readings."""
    gyroscope_bias: Numbers | None = None
    """(T, n, 3) rad/s, bias of the readings."""
    battery_voltage: Numbers | None = None
    """(T, n) V."""
    battery_current: Numbers | None = None
    """(T, n) A, of a battery circuit."""
    state_of_charge: Numbers | None = None
    """(T, n) remaining fraction of the batteries' capacity."""
    contact: Flags | None = None
    """(T, n) whether the floor was touched under that command."""
    diverged: Flags | None = None
    """(T, n) whether the state is not finite."""
    readings: Mapping[str, SensorRecord] = field(default_factory=dict)
    """The readings of attached sensors by name."""

    def __len__(self) -> int:
        arrays = [array for array in vars(self).values() if isinstance(array, np.ndarray)]
        arrays += [record.time for record in self.readings.values()]
        return len(arrays[0]) if arrays else 0


def estimate_rows(state: object, size: int, dtype: np.dtype[Any]) -> tuple[Numbers | None, ...]:
    """Position, velocity and attitude of `state`, a row for each vehicle.

    Attitudes are normalised; those of unit length up to rounding keep their bits.
    """

    def part(name: str, width: int, unit: str) -> Numbers:
        if not hasattr(state, name):
            raise TypeError(
                "state: expected a MotionEstimate or an object with position, velocity and "
                f"attitude, got {state!r:.100}"
            )
        value = getattr(state, name)
        rows = _checks.rows(f"state.{name}", value, size, (width,), dtype, unit)
        return np.ascontiguousarray(np.broadcast_to(rows, (size, width)))

    attitude = part("attitude", 4, "1")
    unit = _checks.unit_quaternions("state.attitude", attitude)
    is_rounding = np.abs(unit - attitude).max(axis=1, keepdims=True) < 8 * np.finfo(dtype).eps
    kept = np.where(is_rounding, attitude, unit)
    return part("position", 3, "m"), part("velocity", 3, "m/s"), kept, None, None
