"""Many Dubins cars, stepped together on as many threads as wanted."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from propwash import _core, vehicles
from propwash import _fleet_input as given
from propwash._core import SpeedYawRate
from propwash._fleet_base import BaseFleet, FleetIntegrator
from propwash._fleet_parameters import FleetParameters
from propwash._fleet_types import Flags, Numbers, pool_of
from propwash.car import CarState
from propwash.multicopter import DEFAULT_DT
from propwash.parameters import CarParameters
from propwash.validation import located


@dataclass(frozen=True, eq=False)
class CarFleetState:
    """The state of n cars in the world's plane, in arrays (n, …) of the fleet's dtype."""

    position: Numbers
    """(n, 2) m, world frame."""
    heading: Numbers
    """(n,) rad, from world x, counter-clockwise, not wrapped."""

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, eq=False)
class CarFleetTrajectory:
    """What a rollout recorded after each command: arrays of shape (T, n, …)."""

    time: NDArray[np.float64]
    """(T, n) s, since each vehicle's reset."""
    position: Numbers
    """(T, n, 2) m, world frame."""
    heading: Numbers
    """(T, n) rad, from world x, counter-clockwise, not wrapped."""

    def __len__(self) -> int:
        return len(self.time)


class CarFleet(BaseFleet[CarParameters, _core.CarFleetFloat32 | _core.CarFleetFloat64]):
    """n cars of FlightGoggles (Guerra et al., arXiv 1905.11377, eqs. 24 to 26), stepped together.

    dt [s] is given at construction; a single Car takes it with each call.

    vehicle: a name of `propwash.vehicles.names(CarParameters)`, the path of a TOML file, or
        CarParameters.
    n: number of vehicles.
    dtype: "float32" or "float64", of all that is computed, and of the arrays that are read.
    integrator: "rk4" or "euler". dt: s, of every step.
    seed, first_id: of the noise. Vehicle i is number first_id + i, and its noise depends on seed,
        number and step alone: a fleet that is split into parts drives the same bits.
    threads: 0 for all processors of the process, a number with the caller's included, or a
        ThreadPool that fleets share.
    noise: False turns process noise off.

    They start at the origin along world x; in float64 each drives, bit for bit, as the Car of its
    number does. Raises ParameterError for an invalid vehicle, ValueError or TypeError for
    other arguments. Threads of Python may share a fleet: they take turns. Arrays that are read are
    the caller's own.

    >>> fleet = CarFleet("car", 4096, seed=7)
    >>> fleet.step(SpeedYawRate(speed=2.0, yaw_rate=0.3), substeps=10)
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
        parameters = vehicles.load(vehicle, CarParameters)
        self._take_options(n, dtype, integrator, dt, seed, first_id)
        self._parameters = parameters
        pool = pool_of(threads)
        self._options["noise"] = given.flag("noise", noise)
        kind = _core.CarFleetFloat32 if self._dtype == np.float32 else _core.CarFleetFloat64
        with located(vehicle):
            core = kind(parameters, self._size, pool=pool, **self._options)
            table = _core.car_parameter_table(parameters)
        self._core = core
        self._parameter_map = FleetParameters(cast(Any, core), self._size, table)

    def step(self, command: SpeedYawRate, *, substeps: int = 1) -> None:
        """Advances all vehicles by `substeps` steps of the fleet's dt under a held command.

        command: speed (n,) and yaw rate (n,), limited to each vehicle's range; a number is for all
        alike. Arrays of the fleet's dtype in C order are the fastest.

        Raises ValueError or TypeError for invalid arguments; the fleet is then unchanged.
        """
        self._core.step(command, substeps)

    def rollout(
        self, commands: SpeedYawRate, *, steps: int | None = None, substeps: int = 1
    ) -> CarFleetTrajectory:
        """Drives and records: one entry of arrays (T, n, …) after each command.

        commands: speed (T, n) and yaw rate (T, n), each held for `substeps` steps of the
        fleet's dt; n may be 1 for what is for all vehicles alike. Without the axis T it is one
        command, held for all of `steps` entries.

        Raises ValueError or TypeError as step() does; the fleet is then unchanged.
        """
        return CarFleetTrajectory(**self._core.rollout(commands, steps, substeps))

    def reset(
        self,
        state: CarFleetState | CarState | None = None,
        *,
        position: ArrayLike | None = None,
        heading: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        seed: int | None = None,
    ) -> None:
        """Starts vehicles again at time 0: from `state`, or at the origin along world x.

        The given parts replace those of the state. position: (n, 2) m, or (2,) for all. heading:
        (n,) rad, or a number for all. mask: (n,) truth values, which vehicles; parts may then have
        a row for each of these instead. Parameters stay. The noise goes on, so that no two
        episodes are alike, unless a seed is given: then all vehicles start as if new.

        Raises ValueError or TypeError for invalid parts; nothing changes then.
        """
        chosen = given.mask(mask, self._size)
        parts = self._parts(state, position, heading, chosen)
        if seed is None:
            self._core.reset(parts, chosen, None)
            return
        if chosen is not None:
            raise ValueError("seed: expected None together with a mask; it is of all vehicles")
        self._core.reset(parts, None, given.whole_number("seed", seed, 0, 2**64 - 1))

    @property
    def state(self) -> CarFleetState:
        """The physical state after the last step, copied."""
        return CarFleetState(self._core.position, self._core.heading)

    def set_state(
        self,
        state: CarFleetState | CarState | None = None,
        *,
        position: ArrayLike | None = None,
        heading: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces the physical state by `state`, or only the given parts of it, as reset() does.

        Time and noise go on.
        """
        chosen = given.mask(mask, self._size)
        parts = self._parts(state, position, heading, chosen)
        given.require_state("a CarFleetState", *parts)
        self._core.set_state(parts, chosen)

    def _parts(
        self, state: object, position: object, heading: object, chosen: Flags | None
    ) -> tuple[Numbers | None, Numbers | None]:
        if isinstance(state, CarState):
            state = CarFleetState(np.array([state.x, state.y]), np.array(state.heading))
        if not isinstance(state, CarFleetState | None):
            raise TypeError(f"state: expected a CarFleetState or a CarState, got {state!r:.100}")

        def part(name: str, value: object, shape: tuple[int, ...], unit: str) -> Numbers | None:
            value = getattr(state, name, None) if value is None else value
            if value is None:
                return None
            rows = given.rows(name, value, self._size, shape, self._dtype, unit, chosen)
            return rows.reshape(-1)

        return part("position", position, (2,), "m"), part("heading", heading, (), "rad")

    @property
    def position(self) -> Numbers:
        """(n, 2) m, world frame."""
        return self._core.position

    @property
    def heading(self) -> Numbers:
        """(n,) rad, from world x, counter-clockwise, not wrapped."""
        return self._core.heading
