"""What fleets of all vehicles have: size, clock, parameters, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash import _fleet_input as given
from propwash._fleet_parameters import FleetParameters
from propwash._fleet_types import Flags
from propwash.parameters import CarParameters, VehicleParameters

FleetIntegrator = Literal["euler", "rk4"]

Parameters = TypeVar("Parameters", VehicleParameters, CarParameters)
Core = TypeVar(
    "Core",
    _core.FleetFloat32 | _core.FleetFloat64,
    _core.CarFleetFloat32 | _core.CarFleetFloat64,
)


class BaseFleet(Generic[Parameters, Core]):
    """n vehicles of one kind around a bound fleet; kinds set the fields and bring step()."""

    _core: Core
    _parameters: Parameters
    _parameter_map: FleetParameters
    _size: int
    _dtype: np.dtype[Any]
    _options: dict[str, Any]

    def _take_options(
        self, n: object, dtype: Any, integrator: object, dt: object, seed: object, first_id: object
    ) -> None:
        """Checks and keeps what all fleets are made with. Raises ValueError or TypeError."""
        if integrator not in ("rk4", "euler"):
            raise ValueError(f"integrator: expected 'rk4' or 'euler', got {integrator!r:.100}")
        self._size = given.whole_number("n", n, 1, 2**32)
        self._dtype = given.numpy_type(dtype)
        self._options = {
            "integrator": integrator,
            "dt": given.number("dt", dt, "a finite number > 0 [s]"),
            "seed": given.whole_number("seed", seed, 0, 2**64 - 1),
            "first_id": given.whole_number("first_id", first_id, 0, 2**32 - self._size),
        }

    def snapshot(self) -> bytes:
        """Everything that affects the future but parameters, for restore()."""
        return self._core.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Continues, bit for bit, from what snapshot() gave for the same vehicle and size.

        Raises ValueError for another snapshot, TypeError for what is not bytes; nothing changes
        then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError(f"snapshot: expected the bytes of snapshot(), got {snapshot!r:.100}")
        self._core.restore(snapshot)

    @property
    def diverged(self) -> Flags:
        """(n,) whether a number of the state is not finite; reset() mends it."""
        return self._core.diverged

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) s, since each vehicle's reset."""
        return self._core.time

    @property
    def parameters(self) -> FleetParameters:
        """A mapping from names to arrays (n, …): `fleet.parameters["mass"] *= 1.1`."""
        return self._parameter_map

    @parameters.setter
    def parameters(self, values: Mapping[str, ArrayLike]) -> None:
        if values is not self._parameter_map:
            self._parameter_map.update(values)

    @property
    def vehicle(self) -> Parameters:
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

    def __len__(self) -> int:
        return self._size

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        arguments: tuple[Any, ...] = (self._parameters, self._size, self._dtype.name, self.threads)
        state: tuple[Any, ...] = (self._options, self._parameter_map.own(), self.snapshot())
        return _rebuilt, (type(self), *arguments, *state)

    def __repr__(self) -> str:
        o = self._options
        return (
            f"{type(self).__name__}({self._parameters.name!r}, {self._size}, "
            f"dtype={self._dtype.name!r}, integrator={o['integrator']!r}, dt={o['dt']:.6g}, "
            f"seed={self.seed}, threads={self.threads}) after {self.steps} steps"
        )


def _rebuilt(
    kind: Any,
    parameters: VehicleParameters | CarParameters,
    size: int,
    dtype: str,
    threads: int,
    options: dict[str, Any],
    own: dict[str, Any],
    snapshot: bytes,
) -> Any:
    if not isinstance(snapshot, bytes) or not isinstance(size, int) or size > len(snapshot):
        # before memory is taken for as many
        raise ValueError(f"snapshot: expected that of {size!r:.50} vehicles, got {snapshot!r:.50}")
    fleet = kind.__new__(kind)
    # a user's class may be made in another way than ours
    ours = next(each for each in kind.__mro__ if BaseFleet in each.__bases__)
    ours.__init__(fleet, parameters, size, dtype, threads=threads, **options)
    fleet.parameters.update(own)
    fleet.restore(snapshot)
    return fleet
