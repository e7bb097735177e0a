"""Many Dubins cars, stepped together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from propwash import _checks, _core, _models
from propwash._core import SpeedYawRate
from propwash.fleet._types import Flags, FleetIntegrator, Numbers
from propwash.fleet.threads import pool_of
from propwash.vehicle import files as vehicles
from propwash.vehicle.car import CarState
from propwash.vehicle.multicopter import DEFAULT_DT
from propwash.vehicle.parameters import CarParameters
from propwash.vehicle.validation import located


@dataclass(frozen=True, eq=False)
class CarFleetState:
    """The state of n cars in the world's plane, in arrays (n,) of the fleet's dtype."""

    x: Numbers
    """Position along x [m]."""
    y: Numbers
    """Position along y [m]."""
    heading: Numbers
    """rad, counter-clockwise from the world's x axis, not wrapped."""

    def __len__(self) -> int:
        return len(self.x)


class CarFleet:
    """n Dubins cars, stepped together in SIMD lanes and on several threads.

    Car i is bit for bit a Car with the id first_id + i; up to rounding in a float32 fleet.

    vehicle: a name of `propwash.vehicles.names(CarParameters)`, the path of a TOML file, or
        CarParameters.
    n: number of cars.
    dtype, integrator, dt, seed, threads, first_id: as of a Fleet.
    noise: False disables it.

    Cars start at the origin. Raises ParameterError for an invalid vehicle, ValueError or TypeError
    for other arguments. Thread-safe: concurrent calls wait for each other.

    >>> cars = CarFleet("car", 1000, seed=7)
    >>> cars.step(SpeedYawRate(2.0, np.linspace(-1.0, 1.0, 1000)), substeps=10)
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | CarParameters = "car",
        n: int = 1,
        dtype: DTypeLike = "float32",
        integrator: FleetIntegrator = "rk4",
        dt: float = DEFAULT_DT,
        seed: int = 0,
        threads: int | _core.ThreadPool = 0,
        *,
        first_id: int = 0,
        noise: bool = True,
    ) -> None:
        self._vehicle = vehicles.load(vehicle, CarParameters)
        self._size = _checks.whole_number("n", n, 1, 2**32)
        self._dtype = _checks.numpy_type(dtype)
        self._options = (
            _checks.choice("integrator", integrator, ("rk4", "euler")),
            _checks.number("dt", dt, "a finite number > 0 [s]"),
            _checks.seed(seed),
            _checks.whole_number("first_id", first_id, 0, 2**32 - self._size),
            _checks.flag("noise", noise),
        )
        self._parameters: list[CarParameters] | None = None
        kind = _models.CarFleetFloat32 if self._dtype == np.float32 else _models.CarFleetFloat64
        with located(vehicle):
            self._core = kind(self._vehicle, self._size, *self._options, pool_of(threads))

    def step(self, command: SpeedYawRate, *, substeps: int = 1) -> None:
        """Advances all cars by `substeps` steps of the fleet's dt under a held command.

        command: speed and yaw rate, (n,) each, or a number for all cars.

        Raises ValueError or TypeError for invalid arguments; the fleet is then unchanged.
        """
        self._core.step(command, substeps)

    def reset(
        self,
        state: CarFleetState | CarState | None = None,
        *,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        heading: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        seed: int | None = None,
    ) -> None:
        """Restarts cars at time 0 from `state`, by default the origin.

        Other arguments replace parts of the state: (n,), or a number for all cars. mask: (n,)
        booleans that select cars; parts may then have a number for each selected car instead. The
        noise sequence continues, so episodes differ, unless a seed is given: then all cars restart
        as newly constructed, with the present parameters.

        Raises ValueError or TypeError for invalid arguments; nothing changes then.
        """
        chosen = _checks.mask(mask, self._size)
        rows = self._rows(CarState() if state is None else state, (x, y, heading), chosen)
        if seed is not None:
            if chosen is not None:
                raise ValueError(
                    "seed: expected None together with a mask, as it applies to all cars"
                )
            seed = _checks.seed(seed)
        self._core.reset(rows, chosen, seed)

    def set_state(
        self,
        state: CarFleetState | CarState | None = None,
        *,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        heading: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces the state by `state`, or parts of it, with the arguments of reset().

        Time and noise continue.
        """
        _checks.require_state("a CarFleetState", state, x, y, heading)
        chosen = _checks.mask(mask, self._size)
        start = self.state if state is None else state
        self._core.set_state(self._rows(start, (x, y, heading), chosen), chosen)

    def _rows(
        self, state: object, parts: tuple[ArrayLike | None, ...], chosen: Flags | None
    ) -> Numbers:
        """The state with some parts replaced: (n, 3)."""
        if not isinstance(state, CarFleetState | CarState):
            raise TypeError(f"state: expected a CarFleetState or a CarState, got {state!r:.100}")
        rows = np.empty((self._size, 3), dtype=self._dtype)
        units = {"x": "m", "y": "m", "heading": "rad"}
        for i, (name, unit) in enumerate(units.items()):
            value = getattr(state, name) if parts[i] is None else parts[i]
            rows[:, i] = _checks.rows(name, value, self._size, (), self._dtype, unit, chosen)
        return rows

    def set_parameters(self, parameters: Sequence[CarParameters]) -> None:
        """Replaces the parameters of all cars; states, times and noise continue.

        Raises ParameterError for an invalid car, ValueError for another number of cars, and
        TypeError; nothing changes then.
        """
        cars = list(parameters)
        if len(cars) != self._size:
            raise ValueError(
                f"parameters: expected {self._size} CarParameters, one for each, got {len(cars)}"
            )
        for i, car in enumerate(cars):
            if not isinstance(car, CarParameters):
                raise TypeError(f"parameters[{i}]: expected CarParameters, got {car!r:.100}")
        self._core.set_parameters(cars)
        self._parameters = cars

    def snapshot(self) -> bytes:
        """Returns the complete state without the parameters as bytes."""
        return self._core.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot of a fleet of the same vehicle, size, dtype and options.

        Results are then bitwise equal. Raises ValueError or TypeError for other bytes or
        objects; nothing changes then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError(f"snapshot: expected the bytes of snapshot(), got {snapshot!r:.100}")
        self._core.restore(snapshot)

    @property
    def state(self) -> CarFleetState:
        """A copy of the state."""
        x, y, heading = np.ascontiguousarray(self._core.read().T)
        return CarFleetState(x, y, heading)

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) s, since each car's reset."""
        return self._core.time

    @property
    def steps(self) -> int:
        """Steps since construction or the last reset with a seed; counter of the noise."""
        return self._core.steps

    @property
    def seed(self) -> int:
        """Seed of all noise."""
        return self._core.seed

    @property
    def vehicle(self) -> CarParameters:
        """The parameters that the fleet was constructed with."""
        return self._vehicle

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._dtype

    @property
    def dt(self) -> float:
        """s, duration of a step."""
        return self._options[1]

    @property
    def threads(self) -> int:
        """The number of threads, including the calling one."""
        return self._core.threads

    def __len__(self) -> int:
        return self._size

    def __reduce__(self) -> tuple[Callable[..., CarFleet], tuple[Any, ...]]:
        arguments = (self._vehicle, self._size, self._dtype.name, *self._options, self.threads)
        return _rebuilt, (arguments, self._parameters, self.snapshot())

    def __repr__(self) -> str:
        return (
            f"CarFleet({self._vehicle.name!r}, {self._size}, dtype={self._dtype.name!r}, "
            f"integrator={self._options[0]!r}, dt={self.dt:.6g}, seed={self.seed}, "
            f"threads={self.threads}) after {self.steps} steps"
        )


def _rebuilt(
    arguments: tuple[Any, ...], parameters: list[CarParameters] | None, snapshot: bytes
) -> CarFleet:
    vehicle, size, dtype, integrator, dt, seed, first_id, noise, threads = arguments
    if not isinstance(snapshot, bytes) or not isinstance(size, int) or size > len(snapshot):
        # checked before memory is allocated
        raise ValueError(f"snapshot: expected that of {size!r:.50} cars, got {snapshot!r:.50}")
    fleet = CarFleet(
        vehicle, size, dtype, integrator, dt, seed, threads, first_id=first_id, noise=noise
    )
    if parameters is not None:
        fleet.set_parameters(parameters)
    fleet.restore(snapshot)
    return fleet
