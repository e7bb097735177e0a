"""The sensors that are attached to one multicopter."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.sampling import AttachedSensor
from propwash.sampling.sensor import with_axes

Reading = TypeVar("Reading")


class VehicleSensor(AttachedSensor[Reading]):
    """A sensor that is attached to a multicopter, as returned by `Multicopter.attach`."""

    @property
    def reading(self) -> Reading:
        """The last available reading, as of measure() for one body; NaN, False or -1: none yet."""
        return with_axes(self.arrived().reading, ())

    @property
    def time(self) -> float:
        """s, since the reset, time of the reading; NaN: none yet."""
        return float(self.arrived().time[0])

    @property
    def _now(self) -> float:
        """s, of moving items: the vehicle's time, as earlier steps may have had another dt."""
        return float(self._core.time[0])

    def take(self) -> Reading | None:
        """The last available reading, once; None: no other one than in the last call."""
        sample = self.arrived()
        if sample.due == self._taken or np.isnan(sample.time[0]):
            return None
        self._taken = sample.due
        return self.reading


class SampledVehicle(nullcontext[None]):
    """A multicopter as attached sensors sample it: as a fleet of one."""

    size = 1

    def __init__(self, vehicle: _core.Multicopter, first_id: int, dt: float) -> None:
        super().__init__()
        self._vehicle, self.first_id, self.dt = vehicle, first_id, dt

    @property
    def steps(self) -> int:
        """The step count."""
        return self._vehicle.steps

    @property
    def seed(self) -> int:
        """The seed of the noise."""
        return self._vehicle.seed

    @property
    def time(self) -> NDArray[np.float64]:
        """(1,) s."""
        return np.array([self._vehicle.time])

    def read(self, field: str) -> NDArray[Any]:
        """A part of the state, (1, …)."""
        part: NDArray[Any] = getattr(self._vehicle, field)
        return part[np.newaxis]

    def attach(self, sampler: AttachedSensor[Any]) -> None:
        """Starts to call a sampler between steps."""
        self._vehicle._attach_sampler(sampler, self.dt)

    def detach(self, sampler: AttachedSensor[Any]) -> None:
        """Ends to call a sampler."""
        self._vehicle._detach_sampler(sampler)

    def snapshot(self) -> bytes:
        """The state without sensors."""
        return _core.Multicopter.snapshot(self._vehicle)

    def restore(self, snapshot: bytes) -> None:
        """Restores snapshot()."""
        _core.Multicopter.restore(self._vehicle, snapshot)
