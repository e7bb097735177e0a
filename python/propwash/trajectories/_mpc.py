"""Model predictive control of the rotor speeds along a reference; see docs/control/mpc.md."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _derivatives
from propwash._core import RotorSpeeds
from propwash.fleet import FleetState
from propwash.trajectories._flatness import flatness
from propwash.trajectories._reference import Reference
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import MulticopterState
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MpcParameters:
    """Horizon and weights. An error as large as its tolerance costs 1 in each period."""

    horizon: int = 20
    """Periods."""
    period: float = 0.04
    """s."""
    substeps: int = 2
    """RK4 steps of the model in a period."""
    position_tolerance: float = 0.1
    """m."""
    velocity_tolerance: float = 1.0
    """m/s."""
    tilt_tolerance: float = 1.0
    """rad, about body x and y."""
    yaw_tolerance: float = 1.0
    """rad, about body z."""
    rates_tolerance: float = 5.0
    """rad/s."""
    command_tolerance: float = 0.3
    """Fraction of the range of a motor."""
    disturbance_bandwidth: float = 5.0
    """1/s, of the observer of force and torque; 0: none."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            with _checks.checked_parameters():
                if name in ("horizon", "substeps"):
                    _checks.whole_number(name, value, 1, 1000)
                elif name == "disturbance_bandwidth":
                    _checks.not_negative(name, value, "1/s")
                else:
                    _checks.positive(name, value)


class Mpc:
    """Follows a reference with a vehicle, or with each vehicle of a fleet.

    Each command plans the rotor speeds of the horizon by one iteration of differential dynamic
    programming on the vehicle's equations of motion, within the range of the motors, from the plan
    before. Attitude, rates and rotor speeds of the reference are those of `flatness`. The force and
    the torque that the model lacks are observed from the motion and are constant in the plan.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters,
        reference: Reference,
        parameters: MpcParameters | None = None,
        *,
        size: int | None = None,
    ) -> None:
        """vehicle: the one that the controller assumes. size: vehicles of the fleet; None: one.

        Raises ParameterError for an invalid vehicle or parameter, TypeError for another reference,
        and ValueError for one of several vehicles, of less than two rows or without a defined
        attitude (free fall).
        """
        loaded = vehicles.load(vehicle)
        if parameters is not None and not isinstance(parameters, MpcParameters):
            raise TypeError(f"parameters: expected MpcParameters or None, got {parameters!r:.100}")
        self._vehicle = loaded
        self.follow(reference)
        self._parameters = MpcParameters() if parameters is None else parameters
        self._size = size
        count = 1 if size is None else _checks.whole_number("size", size, 1, 10**6)
        with _checks.checked_parameters():
            self._core = _derivatives.Mpc(loaded, vars(self._parameters), count)
        self._last: float | None = None

    @property
    def parameters(self) -> MpcParameters:
        """Horizon and weights."""
        return self._parameters

    def command(self, state: MulticopterState | FleetState, time: float) -> RotorSpeeds:
        """Returns the rotor speeds to command in `state` at a time of the reference [s].

        After the end of the reference the velocity of its last row is held. Raises ValueError for
        a time before that of the last command and for states of another shape or that are not
        finite; the controller is then unchanged.
        """
        now = _checks.number("time", time)
        if self._last is not None and now < self._last:
            raise ValueError(
                f"time = {now:g}: expected at least {self._last:g} s, that of the last command; "
                "call reset() before a new flight"
            )
        width = self._rows.shape[1]
        parts = [np.asarray(part, dtype=np.float64) for part in vars(state).values()]
        expected = () if self._size is None else (self._size,)
        widths = (3, 3, 4, 3, width - 13)
        for name, part, numbers in zip(vars(state), parts, widths, strict=True):
            if part.shape != (*expected, numbers):
                raise ValueError(
                    f"state.{name}: expected shape {(*expected, numbers)}, got {part.shape}"
                )
        states = np.concatenate(parts, axis=-1).reshape(-1, width)
        invalid = ~np.isfinite(states).all(axis=1)
        if invalid.any():
            which = "" if self._size is None else f" of vehicle {int(np.argmax(invalid))}"
            raise ValueError(
                f"state{which}: expected finite numbers; reset a vehicle that diverged"
            )
        elapsed = 0.0 if self._last is None else now - self._last
        speeds = self._core.command(states, self._points(now), elapsed)
        self._last = now
        return RotorSpeeds(speeds[0] if self._size is None else speeds)

    def follow(self, reference: Reference) -> None:
        """Replaces the reference, on the same time axis; plan and disturbance remain.

        Exceptions are those of the constructor; the controller is then unchanged.
        """
        if not isinstance(reference, Reference):
            raise TypeError(
                "reference: expected a Reference, such as path.sample(period=1 / 240), got "
                f"{reference!r:.100}"
            )
        if np.ndim(reference.yaw) != 1 or len(reference) < 2:
            raise ValueError(
                "reference: expected one vehicle and at least two rows, got yaw of shape "
                f"{np.shape(reference.yaw)}"
            )
        required = flatness(reference, self._vehicle)
        rows = np.concatenate(
            [
                reference.position,
                reference.velocity,
                required.attitude,
                required.body_rates,
                required.rotor_speeds,
            ],
            axis=1,
        )
        invalid = ~np.isfinite(rows).all(axis=1)
        if invalid.any():
            raise ValueError(
                f"reference: row {int(np.argmax(invalid))} requires free fall or a roll of 90 "
                "degrees, where the attitude is undefined; slow it down"
            )
        self._rows, self._times = rows, np.asarray(reference.time, dtype=np.float64)

    def reset(self) -> None:
        """Forgets plan and disturbance, for a new flight."""
        self._core.reset()
        self._last = None

    @property
    def plan(self) -> Array:
        """(horizon + 1, 3) m: positions of the last plan, the first one now; (n, …) of a fleet."""
        return self._of_size(self._core.plan)

    @property
    def disturbance_force(self) -> Array:
        """(3,) N, world frame: the force that the model lacks; (n, 3) of a fleet."""
        return self._of_size(self._core.disturbance_force[:, 0])

    @property
    def disturbance_torque(self) -> Array:
        """(3,) N m, body frame: the torque that the model lacks; (n, 3) of a fleet."""
        return self._of_size(self._core.disturbance_torque[:, 0])

    def _of_size(self, array: Array) -> Array:
        return array[0] if self._size is None else array

    def _points(self, now: float) -> Array:
        """The rows of the reference at the start of each period, (horizon + 1, 13 + N)."""
        times = now + self._parameters.period * np.arange(self._parameters.horizon + 1)
        after = np.clip(np.searchsorted(self._times, times), 1, len(self._times) - 1)
        start, end = self._times[after - 1], self._times[after]
        part = np.clip((times - start) / (end - start), 0.0, 1.0)[:, None]
        rows: Array = self._rows[after - 1] * (1.0 - part) + self._rows[after] * part
        rows[:, :3] += np.maximum(times - self._times[-1], 0.0)[:, None] * rows[:, 3:6]
        rows[:, 6:10] /= np.linalg.norm(rows[:, 6:10], axis=1, keepdims=True)
        return rows
