"""One Dubins car."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from propwash import _checks, _core
from propwash._core import SpeedYawRate
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array, rebuilt
from propwash.vehicle.parameters import CarParameters
from propwash.vehicle.validation import located


@dataclass
class CarState:
    """The state of a car in the world's plane."""

    x: float = 0.0
    """Position along x [m]."""
    y: float = 0.0
    """Position along y [m]."""
    heading: float = 0.0
    """rad, counter-clockwise from the world's x axis, not wrapped."""


@dataclass(frozen=True, eq=False)
class CarTrajectory:
    """The recording of a rollout, with a row after each command: arrays of shape (T,)."""

    time: Array
    """Time [s]."""
    x: Array
    """Position along x [m]."""
    y: Array
    """Position along y [m]."""
    heading: Array
    """Angle from the x axis [rad]."""

    def __len__(self) -> int:
        return len(self.time)


class Car(_core.Car):
    """The FlightGoggles car (Guerra et al., arXiv 1905.11377, eqs. 24 to 26).

    dt [s] is an argument of each call.

    vehicle: a name of `propwash.vehicles.names(CarParameters)`, the path of a TOML file, or
        CarParameters.
    integrator: "rk4" or "euler". seed, id: of the noise. noise: False disables it.
    """

    parameters: CarParameters

    def __init__(
        self,
        vehicle: str | PathLike[str] | CarParameters = "car",
        integrator: Literal["euler", "rk4"] = "rk4",
        seed: int = 0,
        id: int = 0,
        noise: bool = True,
    ) -> None:
        parameters = vehicles.load(vehicle, CarParameters)
        seed, id, noise = (
            _checks.seed(seed),
            _checks.seed(id, "id", 32),
            _checks.flag("noise", noise),
        )
        _checks.choice("integrator", integrator, ("rk4", "euler"))
        with located(vehicle):
            super().__init__(parameters, integrator, seed, id, noise)
        self.parameters = parameters
        self._options = (integrator, seed, id, noise)

    if TYPE_CHECKING:

        def step(self, command: SpeedYawRate, dt: float = DEFAULT_DT, *, substeps: int = 1) -> None:
            """Advances by `substeps` steps of dt [s] under a held command."""

    def rollout(
        self,
        commands: SpeedYawRate,
        dt: float = DEFAULT_DT,
        *,
        steps: int | None = None,
        substeps: int = 1,
    ) -> CarTrajectory:
        """Drives and records a row after each command, which is held for `substeps` steps of dt.

        commands: with T rows, or one command that is held for `steps` rows. dt: s.

        Raises ValueError or TypeError as step() does; the state is then unchanged.
        """
        return CarTrajectory(**self._rollout(commands, dt, steps, substeps))

    def reset(
        self,
        state: CarState | None = None,
        *,
        x: float | None = None,
        y: float | None = None,
        heading: float | None = None,
        seed: int | None = None,
    ) -> None:
        """Restarts at time 0 from `state`, by default the origin; other arguments replace parts.

        The noise sequence continues, so episodes differ, unless a seed is given: then the car
        restarts as newly constructed. Raises ValueError or TypeError for invalid arguments; nothing
        changes then.
        """
        start = CarState() if state is None else state
        key = None if seed is None else _checks.seed(seed)
        self._reset(_replaced(start, (x, y, heading)), key)

    def set_state(
        self,
        state: CarState | None = None,
        *,
        x: float | None = None,
        y: float | None = None,
        heading: float | None = None,
    ) -> None:
        """Replaces the physical state by `state`, or parts of it.

        Time and noise continue. Raises ValueError or TypeError for invalid arguments; nothing
        changes then.
        """
        _checks.require_state("a CarState", state, x, y, heading)
        start = self.state if state is None else state
        self._set_state(_replaced(start, (x, y, heading)))

    @property
    def state(self) -> CarState:
        """A copy of the physical state."""
        return CarState(*self._state())

    def __reduce__(self) -> tuple[Callable[..., Car], tuple[Any, ...], dict[str, Any]]:
        arguments = (self.parameters, *self._options)
        return rebuilt, (type(self), Car, arguments, self.snapshot()), vars(self)

    def __repr__(self) -> str:
        integrator, _, number, noise = self._options
        return (
            f"Car({self.parameters.name!r}, integrator={integrator!r}, seed={self.seed}, "
            f"id={number}, noise={noise}) at {self.time:.6g} s"
        )


def _replaced(state: CarState, parts: tuple[float | None, ...]) -> tuple[float, ...]:
    """The fields of a state with some parts replaced."""
    if not isinstance(state, CarState):
        raise TypeError(f"state: expected a CarState, got {state!r:.100}")
    whole = (state.x, state.y, state.heading)
    return tuple(w if p is None else p for w, p in zip(whole, parts, strict=True))
