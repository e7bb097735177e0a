"""What a fleet offers to those who give it sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from propwash import _core
from propwash import _sensor_input as sensed
from propwash._fleet_sensors import FleetSensor, SensorPlan
from propwash._sensing_core import MAGIC, SensingCore
from propwash._sensor_base import Sensor

Reading = TypeVar("Reading")


class SensorCarrier:
    """The part of a fleet that sensors are attached to."""

    _core: Any
    _options: dict[str, Any]
    _pool: _core.ThreadPool | None

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
        hertz = sensed.at_least("rate", rate, 0.0, "Hz", open_=True)
        most = 1.0 / float(self._options["dt"])
        if hertz > most * (1.0 + 1e-9):
            raise ValueError(
                f"rate: expected at most one sample a step, {most:g} Hz, got {hertz:g}; make a "
                "fleet with a smaller dt"
            )
        late = sensed.at_least("latency", latency, 0.0, "s")
        plan = SensorPlan(_name(name, sensor.kind, self.sensors), hertz, late, sensor.seed)
        core = self._core
        if not isinstance(core, SensingCore):
            core = SensingCore(core, self._options, self._pool)
        handle = core.add(sensor, plan, core.free_slot())
        self._core = core
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
        self._core.remove(found.name)
        if self._core.is_bare:
            self._core = self._core.core

    @property
    def sensors(self) -> Mapping[str, FleetSensor[Any]]:
        """The attached sensors by name, in the order in which they were attached."""
        core = self._core
        return MappingProxyType(core.sensors if isinstance(core, SensingCore) else {})

    def _refuse_sensors(self, snapshot: object) -> None:
        """Says more than the bound fleet could of a snapshot that holds sensors' readings."""
        if isinstance(snapshot, bytes) and snapshot.startswith(MAGIC) and not self.sensors:
            raise ValueError(
                "snapshot: expected one of a fleet without sensors, got one of a fleet with; "
                "attach the same sensors first"
            )

    def _recorded(self, names: list[str]) -> list[str]:
        """The names of a rollout's fields that there is something to record for."""
        return names if self.sensors else [name for name in names if name != "readings"]

    def _with_sensors(
        self, made: tuple[Callable[..., Any], tuple[Any, ...]]
    ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What pickle needs beside what it needs of the fleet without its sensors."""
        if not self.sensors:
            return made
        make, arguments = made
        plain = (*arguments[:-1], self._core.core.snapshot())
        carried = [handle.attachment() for handle in self.sensors.values()]
        return _rebuilt_with_sensors, (make, plain, carried, arguments[-1])


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


def _rebuilt_with_sensors(
    make: Callable[..., Any],
    arguments: tuple[Any, ...],
    carried: list[tuple[Sensor[Any], SensorPlan, int]],
    snapshot: bytes,
) -> Any:
    fleet = make(*arguments)
    core = SensingCore(fleet._core, fleet._options, fleet._pool)
    for sensor, plan, slot in carried:
        core.add(sensor, plan, slot)
    fleet._core = core
    fleet.restore(snapshot)
    return fleet
