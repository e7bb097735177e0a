"""The rate controller and its parts: low-pass filter and control allocation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks, _models
from propwash._checks import checked_parameters
from propwash._core import RateThrust
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

Discretisation = Literal["exact", "backward_euler"]
"""How the low-pass filter is discretised."""

Pid = _models.Pid


@dataclass(frozen=True)
class Wrench:
    """Torque about the body axes and thrust along body z."""

    torque: Array
    """(3,) N m."""
    thrust: float
    """Collective thrust [N]."""


@dataclass(frozen=True)
class RotorCommand:
    """The output of one update of the rate controller."""

    speeds: Array
    """(N,) rad/s, within the limits."""
    desired: Wrench
    """The wrench of the control law."""
    attained: Wrench
    """The steady-state wrench of the limited speeds."""


class Allocation(_models.Allocation):
    """Control allocation (Guerra et al., arXiv 1905.11377, eq. 23) for a vehicle's rotors.

    vehicle: a name, the path of a TOML file, or VehicleParameters.
    """

    def __init__(self, vehicle: str | PathLike[str] | VehicleParameters) -> None:
        self.parameters = vehicles.load(vehicle)
        with located(vehicle):
            super().__init__(self.parameters)

    def __reduce__(self) -> tuple[Callable[..., Allocation], tuple[Any, ...]]:
        return Allocation, (self.parameters,)

    def attained(self, speeds: ArrayLike) -> Wrench:
        """The steady-state wrench of rotor speeds (N,) [rad/s]."""
        return Wrench(*self._attained(speeds))


class RateController(_models.RateController):
    """Low-pass, PID, inversion and allocation: eqs. (19) to (23), in the published order.

    vehicle: a name, the path of a TOML file, or VehicleParameters. dt: s, between updates.
    Raises ParameterError for an invalid vehicle or one whose rotors cannot control its attitude.
    """

    def __init__(
        self, vehicle: str | PathLike[str] | VehicleParameters, dt: float = DEFAULT_DT
    ) -> None:
        self.parameters = vehicles.load(vehicle)
        with located(vehicle):
            super().__init__(self.parameters, dt)
        self._dt = dt

    def __reduce__(self) -> tuple[Callable[..., RateController], tuple[Any, ...]]:
        return _rebuilt, (self.parameters, self._dt, self.snapshot())

    def update(self, gyroscope: ArrayLike, command: RateThrust) -> RotorCommand:
        """Runs one update. gyroscope: (3,) rad/s, body frame.

        Raises ValueError for a wrong shape or numbers that are not finite; filter and integrals
        are then unchanged.
        """
        speeds, desired, attained = self._update(gyroscope, command)
        return RotorCommand(speeds, Wrench(*desired), Wrench(*attained))


def _rebuilt(
    parameters: VehicleParameters, dt: float, snapshot: tuple[Array, Array, Array]
) -> RateController:
    controller = RateController(parameters, dt)
    controller.restore(snapshot)
    return controller


class LowPass:
    """Second-order low-pass filter, eq. (19), by default a Butterworth filter.

    cutoff: Hz, the -3 dB point. dt: s, between samples. discretisation: "exact" for an input
        that is held during dt, or "backward_euler" as in the published node.
    stiffness, damping: p [1/s^2] and q [1/s] of eq. (19), in place of a cut-off.
    channels: None for a scalar signal, k for signals of shape (k,).

    Raises ParameterError for invalid parameters.
    """

    @checked_parameters()
    def __init__(
        self,
        cutoff: float | None = None,
        dt: float = DEFAULT_DT,
        *,
        stiffness: float | None = None,
        damping: float | None = None,
        discretisation: Discretisation = "exact",
        channels: int | None = None,
    ) -> None:
        _checks.choice("discretisation", discretisation, ("exact", "backward_euler"))
        count = 1 if channels is None else _checks.whole_number("channels", channels, 1, 2**31 - 1)
        if cutoff is not None:
            if stiffness is not None or damping is not None:
                raise ValueError("expected either cutoff, or stiffness and damping, got both")
            expected = "a finite number > 0 [Hz]"
            in_range = _checks.number("cutoff", cutoff, expected, lambda x: 1e-100 < x < 1e100)
            omega = 2.0 * math.pi * in_range
            stiffness, damping = omega**2, math.sqrt(2.0) * omega
        if stiffness is None or damping is None:
            raise ValueError("expected cutoff [Hz], or stiffness [1/s^2] and damping [1/s]")
        self._channels = channels
        self._filter = _models.LowPass(stiffness, damping, dt, discretisation == "exact", count)

    @overload
    def update(self, sample: float) -> float: ...
    @overload
    def update(self, sample: ArrayLike) -> float | Array: ...
    def update(self, sample: ArrayLike) -> float | Array:
        """Filters the next sample of shape () or (channels,)."""
        filtered = self.apply(np.asarray(sample)[np.newaxis])[0]
        return float(filtered) if self._channels is None else np.asarray(filtered)

    def apply(self, signal: ArrayLike) -> Array:
        """Filters a signal of shape (T,) or (T, channels), continuing from the last sample."""
        array = np.asarray(signal)
        if self._channels is not None:
            return self._filter.apply(array)
        if array.ndim != 1:
            raise ValueError(
                f"signal: expected an array of shape (T,), got one of shape {array.shape}; for "
                f"several channels construct the filter with channels="
            )
        return self._filter.apply(array[:, np.newaxis])[:, 0]

    def reset(self, value: float = 0.0) -> None:
        """Restarts at rest at `value`. Raises ValueError unless it is finite."""
        self._filter.reset(value)
