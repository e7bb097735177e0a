"""Methods of a fleet and of a vehicle for attached sensors and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks
from propwash._core import ThreadPool as BoundPool
from propwash.sampling._attached import AttachedSensor, Sampled, SensorPlan
from propwash.sampling._snapshot import MAGIC, packed, unpacked
from propwash.sampling.sensor import Sensor

Attached = TypeVar("Attached", bound=AttachedSensor[Any])


class SensorCarrier(Generic[Attached]):
    """A mixin: attached sensors and snapshots.

    _attached_type: of the sensors that are attached. _noun: what carries them, for messages.
    """

    _noun: str
    _attached_type: type[Attached]
    _sensors: dict[str, Attached]
    _pool: BoundPool | None = None

    @property
    def _sampled(self) -> Sampled:
        """What the sensors sample."""
        raise NotImplementedError

    def _attach_new(
        self, sensor: Sensor[Any], rate: float, latency: float, name: str | None
    ) -> Attached:
        """Checks the arguments of attach() and attaches a sensor."""
        if not isinstance(sensor, Sensor):
            raise TypeError(
                f"sensor: expected a sensor such as propwash.RangeFinder, got {sensor!r:.100}"
            )
        hertz = _checks.positive("rate", rate, "Hz")
        maximum = 1.0 / self._sampled.dt
        if hertz > maximum * (1.0 + 1e-9):
            raise ValueError(
                f"rate: expected at most one sample per step, {maximum:g} Hz, got {hertz:g}; use a "
                "smaller dt"
            )
        delay = _checks.not_negative("latency", latency, "s")
        plan = SensorPlan(_name(name, sensor.kind, self.sensors), hertz, delay, sensor.seed)
        with self._sampled:
            used = {handle.slot for handle in self._sensors.values()}
            slot = next(slot for slot in range(len(used) + 1) if slot not in used)
            return self._attach(sensor, plan, slot)

    def _attach(self, sensor: Sensor[Any], plan: SensorPlan, slot: int) -> Attached:
        """Attaches a sensor; the slot selects its noise streams."""
        handle = self._attached_type(self._sampled, sensor, plan, slot, self._pool)
        self._sensors[plan.name] = handle  # keeps it alive
        try:
            self._sampled.attach(handle)
        except Exception:  # not for an interrupt, after which it may be attached
            del self._sensors[plan.name]
            raise
        return handle

    def detach(self, handle: Attached | str) -> None:
        """Detaches a sensor, by handle or name. The handle keeps its last reading.

        Raises ValueError if the sensor is not attached here.
        """
        name = handle if isinstance(handle, str) else getattr(handle, "name", None)
        found = self.sensors.get(name) if isinstance(name, str) else None
        if found is None or not (isinstance(handle, str) or handle is found):
            attached = ", ".join(self.sensors) or "none"
            raise ValueError(
                f"handle: expected a sensor of this {self._noun} ({attached}), got {handle!r:.100}"
            )
        with self._sampled:
            self._sampled.detach(found)
            self._sensors.pop(found.name).retire()

    @property
    def sensors(self) -> Mapping[str, Attached]:
        """The attached sensors by name, in order of attachment."""
        return MappingProxyType(self._sensors)

    def _check_sensors(self) -> None:
        """Raises ValueError for a sensor whose mounting has the wrong number of rows."""
        for handle in list(self._sensors.values()):
            handle.check()

    def _reset_sensors(self, mask: NDArray[np.bool_] | None, seed: int | None) -> None:
        """Resets the sensors of vehicles that have been reset."""
        for handle in self._sensors.values():
            handle.reset(mask, seed)

    def snapshot(self) -> bytes:
        """The complete state except parameters, as bytes for restore()."""
        with self._sampled:
            plain = self._sampled.snapshot()
            return packed(plain, list(self._sensors.values())) if self._sensors else plain

    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot() of the same vehicle, and size of a fleet, bit for bit.

        A snapshot with sensors includes their biases, counters and readings and requires the same
        sensors. Raises ValueError for an unsuitable snapshot, TypeError for other types; nothing
        changes then.
        """
        if not isinstance(snapshot, bytes):
            raise TypeError(f"snapshot: expected the bytes of snapshot(), got {snapshot!r:.100}")
        if not self._sensors and snapshot.startswith(MAGIC):
            raise ValueError(
                f"snapshot: expected that of a {self._noun} without sensors, got one with sensors; "
                "attach the same sensors first"
            )
        core = self._sampled
        with core:
            states: list[Any] = []
            if self._sensors:
                handles = list(self._sensors.values())
                snapshot, states = unpacked(snapshot, handles, core.size, self._noun)
            core.restore(snapshot)
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
