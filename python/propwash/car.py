"""One Dubins car."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from propwash import _core
from propwash._core import SpeedYawRate
from propwash.multicopter import DEFAULT_DT, Array, _flag, _key
from propwash.parameters import CarParameters, load_car
from propwash.validation import located


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

    vehicle: a name of `propwash.names()`, the path of a TOML file, or CarParameters.
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
        parameters = load_car(vehicle)
        seed, id, noise = _key("seed", seed, 64), _key("id", id, 32), _flag("noise", noise)
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

        def step(self, command: SpeedYawRate, dt: float = DEFAULT_DT, steps: int = 1) -> None:
            """Advances `steps` steps of dt [s] under a held command."""

    def rollout(
        self,
        command: SpeedYawRate,
        dt: float = DEFAULT_DT,
        steps: int | None = None,
        substeps: int = 1,
    ) -> CarTrajectory:
        """Drives and records: one row after each command, held for `substeps` steps of dt [s].

        command: with T rows, or one for all of `steps` rows. Raises ValueError as step() does.
        """
        return CarTrajectory(**self._rollout(command, dt, steps, substeps))

    def reset(self, state: CarState | None = None) -> None:
        """Starts again at time 0, at the origin or at `state`."""
        self._reset(_fields(state if state is not None else CarState()))

    @property
    def state(self) -> CarState:
        """The state after the last step, copied. Setting it leaves time and noise."""
        return CarState(*self._state())

    @state.setter
    def state(self, state: CarState) -> None:
        self._set_state(_fields(state))

    def __reduce__(self) -> tuple[Callable[..., Car], tuple[Any, ...], dict[str, Any]]:
        arguments = (type(self), self.parameters, self._options, self.get_state())
        return _rebuilt, arguments, vars(self)

    def __repr__(self) -> str:
        integrator, seed, number, noise = self._options
        return (
            f"Car({self.parameters.name!r}, integrator={integrator!r}, seed={seed}, id={number}, "
            f"noise={noise}) at {self.time:.6g} s"
        )


def _fields(state: CarState) -> tuple[float, float, float]:
    if not isinstance(state, CarState):
        raise TypeError(f"state: expected a CarState, got {state!r:.100}")
    return (state.x, state.y, state.heading)


def _rebuilt(
    kind: type[Car],
    parameters: CarParameters,
    options: tuple[Literal["euler", "rk4"], int, int, bool],
    snapshot: tuple[Any, ...],
) -> Car:
    car = kind.__new__(kind)
    Car.__init__(car, parameters, *options)
    car.set_state(snapshot)
    return car
