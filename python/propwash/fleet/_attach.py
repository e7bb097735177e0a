"""The methods of a fleet for attached sensors and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from types import MappingProxyType
from typing import Any, TypeVar

from propwash import _checks
from propwash._core import ThreadPool as BoundPool
from propwash.fleet._sensors import FleetSensor, SensorPlan
from propwash.fleet._snapshot import MAGIC, packed, unpacked
from propwash.fleet._types import Core
from propwash.fleet.sensor import Sensor

Reading = TypeVar("Reading")


class SensorCarrier:
    """A mixin of Fleet: attached sensors and snapshots."""

    _core: Core
    _pool: BoundPool | None
    _sensors: dict[str, FleetSensor[Any]]

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
        if not isinstance(sensor, Sensor):
            raise TypeError(
                f"sensor: expected a sensor such as propwash.RangeFinder, got {sensor!r:.100}"
            )
        hertz = _checks.positive("rate", rate, "Hz")
        maximum = 1.0 / self._core.dt
        if hertz > maximum * (1.0 + 1e-9):
            raise ValueError(
                f"rate: expected at most one sample per step, {maximum:g} Hz, got {hertz:g}; use a "
                "smaller dt"
            )
        delay = _checks.not_negative("latency", latency, "s")
        plan = SensorPlan(_name(name, sensor.kind, self.sensors), hertz, delay, sensor.seed)
        with self._core:
            used = {handle.slot for handle in self._sensors.values()}
            slot = next(slot for slot in range(len(used) + 1) if slot not in used)
            return self._attach(sensor, plan, slot)

    def _attach(self, sensor: Sensor[Reading], plan: SensorPlan, slot: int) -> FleetSensor[Reading]:
        """Attaches a sensor; the slot selects its noise streams."""
        handle = FleetSensor(self._core, sensor, plan, slot, self._pool)
        self._sensors[plan.name] = handle  # keeps it alive
        try:
            self._core.attach(handle)
        except Exception:  # not for an interrupt, after which it may be attached
            del self._sensors[plan.name]
            raise
        return handle

    def detach(self, handle: FleetSensor[Any] | str) -> None:
        """Detaches a sensor, by handle or name. The handle keeps its last reading.

        Raises ValueError if the sensor is not attached to this fleet.
        """
        name = handle if isinstance(handle, str) else getattr(handle, "name", None)
        found = self.sensors.get(name) if isinstance(name, str) else None
        if found is None or not (isinstance(handle, str) or handle is found):
            attached = ", ".join(self.sensors) or "none"
            raise ValueError(
                f"handle: expected a sensor of this fleet ({attached}), got {handle!r:.100}"
            )
        with self._core:
            self._core.detach(found)
            self._sensors.pop(found.name).retire()

    @property
    def sensors(self) -> Mapping[str, FleetSensor[Any]]:
        """The attached sensors by name, in order of attachment."""
        return MappingProxyType(self._sensors)

    def _check_sensors(self) -> None:
        """Raises ValueError for a sensor whose mounting has the wrong number of rows."""
        for handle in list(self._sensors.values()):
            handle.check()

    def snapshot(self) -> bytes:
        """The complete state except parameters, as bytes for restore()."""
        with self._core:
            plain = self._core.snapshot()
            return packed(plain, list(self._sensors.values())) if self._sensors else plain

    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot() of a fleet of the same vehicle and size, bit for bit.

        The snapshot of a fleet with sensors includes their biases, counters and readings and
        requires a fleet with the same sensors. Raises ValueError for an unsuitable snapshot,
        TypeError for other types; nothing changes then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError(f"snapshot: expected the bytes of snapshot(), got {snapshot!r:.100}")
        if not self._sensors and snapshot.startswith(MAGIC):
            raise ValueError(
                "snapshot: expected that of a fleet without sensors, got one with sensors; attach "
                "the same sensors first"
            )
        with self._core:
            states: list[Any] = []
            if self._sensors:
                handles = list(self._sensors.values())
                snapshot, states = unpacked(snapshot, handles, self._core.size)
            self._core.restore(snapshot)
            for handle, state in zip(self._sensors.values(), states, strict=True):
                handle.restore(state)


def _name(name: object, kind: str, used: Mapping[str, Any]) -> str:
    if name is None:
        candidates = chain([kind], (f"{kind}_{number}" for number in count(2)))
        return next(each for each in candidates if each not in used)
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected a string, got {name!r:.100}")
    if name in used:
        raise ValueError(f"name: expected a name that is not in use, got {name!r:.100}")
    return name
