"""One Dubins car."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from propwash import _checks as given
from propwash import _core
from propwash._core import SpeedYawRate
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array, _key
from propwash.vehicle.parameters import CarParameters
from propwash.vehicle.validation import located


@dataclass
class CarState:
    """The state of a car in the world's plane."""

    x: float = 0.0
    """m."""
    y: float = 0.0
    """m."""
    heading: float = 0.0
    """rad, from world x, counter-clockwise, not wrapped."""


@dataclass(frozen=True, eq=False)
class CarTrajectory:
    """What a rollout recorded, one row after each command: arrays of shape (T,)."""

    time: Array
    """s."""
    x: Array
    """m."""
    y: Array
    """m."""
    heading: Array
    """rad."""

    def __len__(self) -> int:
        return len(self.time)


class Car(_core.Car):
    """The FlightGoggles car (Guerra et al., arXiv 1905.11377, eqs. 24 to 26).

    dt [s] is given with each call.

    vehicle: a name of `propwash.vehicles.names(CarParameters)`, the path of a TOML file, or
        CarParameters.
    integrator: "rk4" or "euler". seed, id: of the noise. noise: False turns it off.
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
        seed, id, noise = _key("seed", seed, 64), _key("id", id, 32), given.flag("noise", noise)
        if integrator not in ("rk4", "euler"):
            raise ValueError(f"integrator: expected 'rk4' or 'euler', got {integrator!r:.100}")
        with located(vehicle):
            super().__init__(parameters, integrator, seed, id, noise)
        self.parameters = parameters
        self._options: tuple[Literal["euler", "rk4"], int, int, bool] = (
            integrator,
            seed,
            id,
            noise,
        )

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
        """Drives and records: one row after each command, held for `substeps` steps of dt [s].

        commands: with T rows; or one command, held for all of `steps` rows.
        dt: s, of this call.

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
        """Starts again at time 0: from `state`, or from the origin, with the given parts replaced.

        The noise goes on, so that no two episodes are alike, unless a seed is given: then the car
        starts as if new. Raises ValueError or TypeError for invalid parts; nothing changes then.
        """
        start = CarState() if state is None else state
        key = None if seed is None else _key("seed", seed, 64)
        self._reset(_replaced(start, (x, y, heading)), key)

    def set_state(
        self,
        state: CarState | None = None,
        *,
        x: float | None = None,
        y: float | None = None,
        heading: float | None = None,
    ) -> None:
        """Replaces the physical state by `state`, or only the given parts of it.

        Time and noise go on. Raises ValueError or TypeError for invalid parts; nothing changes
        then.
        """
        given.require_state("a CarState", state, x, y, heading)
        start = self.state if state is None else state
        self._set_state(_replaced(start, (x, y, heading)))

    @property
    def state(self) -> CarState:
        """The physical state after the last step, copied."""
        return CarState(*self._state())

    def __reduce__(self) -> tuple[Callable[..., Car], tuple[Any, ...], dict[str, Any]]:
        arguments = (type(self), self.parameters, self._options, self.snapshot())
        return _rebuilt, arguments, vars(self)

    def __repr__(self) -> str:
        integrator, _, number, noise = self._options
        return (
            f"Car({self.parameters.name!r}, integrator={integrator!r}, seed={self.seed}, "
            f"id={number}, noise={noise}) at {self.time:.6g} s"
        )


def _replaced(state: CarState, parts: tuple[float | None, ...]) -> tuple[float, ...]:
    """The fields of a state with the given parts in their place."""
    if not isinstance(state, CarState):
        raise TypeError(f"state: expected a CarState, got {state!r:.100}")
    whole = (state.x, state.y, state.heading)
    return tuple(w if p is None else p for w, p in zip(whole, parts, strict=True))


def _rebuilt(
    kind: type[Car],
    parameters: CarParameters,
    options: tuple[Literal["euler", "rk4"], int, int, bool],
    snapshot: bytes,
) -> Car:
    car = kind.__new__(kind)
    Car.__init__(car, parameters, *options)
    car.restore(snapshot)
    return car
