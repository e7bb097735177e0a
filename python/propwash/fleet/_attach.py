"""What a fleet offers to those who give it sensors."""

from __future__ import annotations

from collections.abc import Mapping
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
    """The part of a fleet that sensors are attached to."""

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
        """Puts a sensor on every vehicle; its first reading is taken at once.

        rate: Hz, at most that of the steps. Sample k is taken at the first step that is not before
            k / rate from now, on the fleet's clock, wherever that falls within a call of step().
        latency: s, after which a reading can be read, rounded up to whole steps.
        name: of the handle in `sensors` and of its record in a rollout; by default that of the kind
            of sensor, with a number where there are several.

        The noise of a vehicle's readings depends on the fleet's seed, the sensor's, the order in
        which sensors were attached, the vehicle's number and the sample alone. Raises ValueError or
        TypeError for what cannot be; the fleet is then unchanged.

        >>> ground = fleet.attach(RangeFinder(scene), rate=20.0, latency=0.01)
        >>> fleet.step(command, substeps=96)
        >>> ground.reading.range, ground.time
        """
        if not isinstance(sensor, Sensor):
            raise TypeError(
                f"sensor: expected a sensor such as propwash.RangeFinder, got {sensor!r:.100}"
            )
        hertz = _checks.positive("rate", rate, "Hz")
        most = 1.0 / self._core.dt
        if hertz > most * (1.0 + 1e-9):
            raise ValueError(
                f"rate: expected at most one sample a step, {most:g} Hz, got {hertz:g}; make a "
                "fleet with a smaller dt"
            )
        late = _checks.not_negative("latency", latency, "s")
        plan = SensorPlan(_name(name, sensor.kind, self.sensors), hertz, late, sensor.seed)
        with self._core:
            used = {handle.slot for handle in self._sensors.values()}
            slot = next(slot for slot in range(len(used) + 1) if slot not in used)
            return self._carry(sensor, plan, slot)

    def _carry(self, sensor: Sensor[Reading], plan: SensorPlan, slot: int) -> FleetSensor[Reading]:
        """Attaches a sensor; its slot chooses the streams of its noise."""
        handle = FleetSensor(self._core, sensor, plan, slot, self._pool)
        self._sensors[plan.name] = handle  # which keeps it alive
        try:
            self._core.attach(handle)
        except Exception:  # an interrupt leaves it alive: it may be attached
            del self._sensors[plan.name]
            raise
        return handle

    def detach(self, handle: FleetSensor[Any] | str) -> None:
        """Takes a sensor off again, by handle or name. The handle keeps its last reading.

        Raises ValueError for one that this fleet does not carry.
        """
        name = handle if isinstance(handle, str) else getattr(handle, "name", None)
        found = self.sensors.get(name) if isinstance(name, str) else None
        if found is None or not (isinstance(handle, str) or handle is found):
            carried = ", ".join(self.sensors) or "no sensors"
            raise ValueError(
                f"handle: expected a sensor of this fleet, which has {carried}, got {handle!r:.100}"
            )
        with self._core:
            self._core.detach(found)
            self._sensors.pop(found.name).retire()

    @property
    def sensors(self) -> Mapping[str, FleetSensor[Any]]:
        """The attached sensors by name, in the order in which they were attached."""
        return MappingProxyType(self._sensors)

    def _check_sensors(self) -> None:
        """Refuses sensors whose mounting was replaced by that of other bodies."""
        for handle in list(self._sensors.values()):
            handle.check()

    def snapshot(self) -> bytes:
        """Everything that affects the future but parameters, for restore()."""
        with self._core:
            plain = self._core.snapshot()
            return packed(plain, list(self._sensors.values())) if self._sensors else plain

    def restore(self, snapshot: bytes) -> None:
        """Continues, bit for bit, from what snapshot() gave for the same vehicle and size.

        The snapshot of a fleet with sensors holds their biases, counters and readings too, those on
        their way included, and is for a fleet with the same sensors. Raises ValueError for another
        snapshot, TypeError for what is not bytes; nothing changes then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError(f"snapshot: expected the bytes of snapshot(), got {snapshot!r:.100}")
        if not self._sensors and snapshot.startswith(MAGIC):
            raise ValueError(
                "snapshot: expected one of a fleet without sensors, got one of a fleet with; "
                "attach the same sensors first"
            )
        with self._core:
            states: list[Any] = []
            if self._sensors:
                handles = list(self._sensors.values())
                snapshot, states = unpacked(snapshot, handles, self._core.size)
            self._core.restore(snapshot)
            for handle, state in zip(self._sensors.values(), states, strict=True):
                handle.restore(state)


def _name(name: object, kind: str, taken: Mapping[str, Any]) -> str:
    if name is None:
        number = 1
        while (kind if number == 1 else f"{kind}_{number}") in taken:
            number += 1
        return kind if number == 1 else f"{kind}_{number}"
    if not isinstance(name, str) or not name:
        raise TypeError(f"name: expected a text, got {name!r:.100}")
    if name in taken:
        raise ValueError(f"name: expected one that no sensor of the fleet has, got {name!r:.100}")
    return name
