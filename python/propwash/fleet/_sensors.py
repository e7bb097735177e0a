"""The sensors that are attached to a fleet."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from propwash.fleet._device import require_cpu
from propwash.fleet._types import Core, SensorRecord
from propwash.sampling import AttachedSensor, Sensor, SensorCarrier, SensorSample
from propwash.sampling.sensor import arrays_of

Reading = TypeVar("Reading")


class FleetSensor(AttachedSensor[Reading]):
    """A sensor that is attached to every vehicle of a fleet, as returned by `Fleet.attach`."""

    @property
    def reading(self) -> Reading:
        """The last available reading, in read-only arrays (n, …); NaN, False or -1: none yet."""
        return self.arrived().reading

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) s, since each vehicle's reset, time of the reading; NaN: none yet."""
        return self.arrived().time

    def record(self, samples: list[SensorSample[Reading]]) -> SensorRecord:
        """Stacks samples of arrived() into arrays (T, n, …)."""

        def whole(rows: list[NDArray[Any]], like: NDArray[Any]) -> NDArray[Any]:
            return np.array(rows, like.dtype).reshape(len(rows), *like.shape)

        like = self.arrived()
        time = whole([sample.time for sample in samples], like.time)
        columns = [arrays_of(sample.reading) for sample in samples]
        arrays = {
            name: whole([column[name] for column in columns], array)
            for name, array in arrays_of(like.reading).items()
        }
        return SensorRecord(time, type(like.reading)(**arrays))


class FleetSensors(SensorCarrier[FleetSensor[Any]]):
    """A mixin of Fleet: attached sensors and snapshots."""

    _core: Core
    _attached_type = FleetSensor
    _noun = "fleet"

    @property
    def _sampled(self) -> Core:
        return self._core

    def attach(
        self,
        sensor: Sensor[Reading],
        rate: float,
        latency: float = 0.0,
        *,
        name: str | None = None,
    ) -> FleetSensor[Reading]:
        """Attaches a sensor to every vehicle; the first sample is taken immediately.

        rate: Hz, at most that of the steps. Sample k is taken at the first step at or after
            k / rate from now, on the clock of the fleet, also within a call of step().
        latency: s, until a reading is available, rounded up to whole steps.
        name: key in `sensors` and in the readings of a rollout; by default the kind of the sensor,
            with a number if there are several.

        The noise of a reading depends only on the seeds of fleet and sensor, the order in which
        sensors were attached, the number of the vehicle and that of the sample. Raises ValueError
        or TypeError for invalid arguments; the fleet is then unchanged.

        >>> ground = fleet.attach(RangeFinder(scene), rate=20.0, latency=0.01)
        >>> fleet.step(command, substeps=96)
        >>> ground.reading.range, ground.time
        """
        require_cpu(self, "attach()")
        return self._attach_new(sensor, rate, latency, name)
