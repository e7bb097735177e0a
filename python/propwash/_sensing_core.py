"""A bound fleet with sensors, which stands in the place of the fleet without.

Its steps are split at the instants of the samples; a fleet without sensors has none of this on its
way.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import numpy as np

from propwash import _core
from propwash import _fleet_input as given
from propwash._fleet_commands import RolloutCommands
from propwash._fleet_sensors import FleetSensor, SensorPlan
from propwash._fleet_types import Flags, SensorRecord
from propwash._sensor_base import Motion, Sensor, arrays_of

Reading = TypeVar("Reading")

MAGIC = b"pwsense1"


class SensingCore:
    """A bound fleet with sensors: the same methods, split at the instants of the samples."""

    def __init__(
        self, core: Any, options: Mapping[str, Any], pool: _core.ThreadPool | None
    ) -> None:
        self.core = core
        self.pool = pool
        self.lock = threading.RLock()
        self.dt = float(options["dt"])
        self.first_id = int(options["first_id"])
        self.size = len(core.time)
        self.sensors: dict[str, FleetSensor[Any]] = {}
        self._has_floor = options.get("floor") is not None
        self._contact: Flags | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    def motion(self) -> Motion:
        """What the sensors may know."""
        core = self.core
        return Motion(core.position, core.attitude, core.velocity, core.body_rates)

    def add(self, sensor: Sensor[Reading], plan: SensorPlan, slot: int) -> FleetSensor[Reading]:
        """Attaches a sensor; its first sample is taken at once."""
        with self.lock:
            handle = FleetSensor(self, sensor, plan, slot)
            self.sensors[plan.name] = handle
            return handle

    def remove(self, name: str) -> None:
        """Takes a sensor off."""
        with self.lock:
            self.sensors.pop(name)._retire()

    @property
    def is_bare(self) -> bool:
        """Whether the bound fleet can do without this: no sensors, and nothing to tell of."""
        return not self.sensors and self._contact is None

    def free_slot(self) -> int:
        """The least number that no sensor has: it chooses the streams of the noise."""
        used = {handle._slot for handle in self.sensors.values()}
        return next(slot for slot in range(len(used) + 1) if slot not in used)

    @property
    def contact(self) -> Flags:
        """Whether the floor was touched during the last call, in any of its pieces."""
        present: Flags = self.core.contact
        return present if self._contact is None else self._contact | present

    def step(self, command: Any, substeps: Any) -> None:
        """As that of the core."""
        with self.lock:
            left = _count(substeps)
            if left is None:
                self.core.step(command, substeps)  # refuses
                return
            self._check()
            earlier: Flags | None = None
            while left > 0:
                now = self.core.steps
                waits = [handle.next_step - now for handle in self.sensors.values()]
                piece = min([left, *(max(1, wait) for wait in waits)])
                self.core.step(command, piece)  # refuses the first time or never
                self._contact = earlier
                for handle in self.sensors.values():
                    if handle.next_step <= now + piece:
                        handle.take(now + piece)
                left -= piece
                if self._has_floor and left > 0:
                    earlier = self.contact

    def _check(self) -> None:
        """Refuses sensors that have been changed in flight to what cannot be, before a step."""
        for handle in self.sensors.values():
            handle.check()

    def rollout(
        self, commands: Any, steps: int | None, substeps: Any, names: list[str]
    ) -> dict[str, Any]:
        """As that of the core; the name "readings" asks for those of the sensors."""
        fields = [name for name in names if name != "readings"]
        with self.lock:
            flown = RolloutCommands(self.core, self.size, commands, steps, substeps, fields)
            arrays = {
                name: np.empty((flown.count, *array.shape[1:]), array.dtype)
                for name, array in flown.empty.items()
            }
            records = {
                name: _Recorder(flown.count, handle)
                for name, handle in (self.sensors.items() if "readings" in names else ())
            }
            for t in range(flown.count):
                self.step(flown[t], substeps)
                for name, array in arrays.items():
                    array[t] = self._field(name)
                for recorder in records.values():
                    recorder.write(t)
            result: dict[str, Any] = dict(arrays)
            if "readings" in names:
                result["readings"] = MappingProxyType(
                    {name: recorder.record() for name, recorder in records.items()}
                )
            return result

    def _field(self, name: str) -> Any:
        if name == "contact":
            return self.contact
        if name in ("specific_force", "angular_rate"):
            force, rate = self.core.imu()
            return force if name == "specific_force" else rate
        return getattr(self.core, name)

    def reset(self, parts: Any, chosen: Flags | None, seed: int | None) -> None:
        """As that of the core; readings of the vehicles are lost."""
        with self.lock:
            self._check()
            self.core.reset(parts, chosen, seed)
            for handle in self.sensors.values():
                if seed is not None:
                    handle._start_again(self.core.steps)
                else:
                    mask = np.ones(self.size, dtype=np.bool_) if chosen is None else chosen
                    handle.forget(mask, self.core.steps)

    def snapshot(self) -> bytes:
        """The core's snapshot, and after it that of the sensors."""
        with self.lock:
            if not self.sensors:
                plain: bytes = self.core.snapshot()
                return plain
            content = {
                "core": self.core.snapshot(),
                "first_id": self.first_id,
                "contact": None if self._contact is None else self._contact.tobytes(),
                "sensors": [handle.signature() for handle in self.sensors.values()],
                "states": [handle.snapshot() for handle in self.sensors.values()],
            }
            return MAGIC + msgspec.msgpack.encode(content)

    def restore(self, snapshot: bytes) -> None:
        """Takes up what snapshot() gave of a fleet with the same sensors."""
        with self.lock:
            if not self.sensors:
                self.core.restore(snapshot)
                return
            content = _content(snapshot, [h.signature() for h in self.sensors.values()], self.size)
            self.core.restore(content["core"])
            self.first_id = content["first_id"]
            contact = content["contact"]
            self._contact = None if contact is None else np.frombuffer(contact, np.bool_)
            for handle, state in zip(self.sensors.values(), content["states"], strict=True):
                handle.restore(state)


class _Recorder:
    """The readings of one sensor over a rollout."""

    def __init__(self, count: int, handle: FleetSensor[Any]) -> None:
        self._handle = handle
        present = handle.reading
        self._kind = type(present)
        self._time = np.empty((count, len(handle.time)))
        self._arrays = {
            name: np.empty((count, *array.shape), array.dtype)
            for name, array in arrays_of(present).items()
        }

    def write(self, t: int) -> None:
        self._time[t] = self._handle.time
        for name, array in arrays_of(self._handle.reading).items():
            self._arrays[name][t] = array

    def record(self) -> SensorRecord:
        return SensorRecord(self._time, self._kind(**self._arrays))


def _count(substeps: object) -> int | None:
    """A number of steps, or None for what the core will refuse."""
    try:
        return given.whole_number("substeps", substeps, 1, 2**31 - 1)
    except ValueError:
        return None


def _content(snapshot: bytes, ours: list[Any], size: int) -> dict[str, Any]:
    """What a snapshot holds, checked against our sensors."""
    wanted = ", ".join(f"{name} ({kind} at {rate:g} Hz)" for kind, name, rate, *_ in ours)
    expected = f"snapshot: expected one of a fleet with the sensors {wanted}, got"
    if not snapshot.startswith(MAGIC):
        raise ValueError(f"{expected} one of a fleet without, or other bytes")
    broken = f"{expected} bytes that are cut off or changed"
    try:
        content: dict[str, Any] = msgspec.msgpack.decode(snapshot[len(MAGIC) :])
        theirs = content["sensors"]
        if theirs != ours:
            names = ", ".join(f"{name} ({kind} at {rate:g} Hz)" for kind, name, rate, *_ in theirs)
            raise _OtherSensors(
                f"{expected} one with {names}; name, kind, rate, latency, seed and the shapes of "
                "the readings must be the same"
            )
        sound = isinstance(content["core"], bytes)
        sound = sound and _is_count(content["first_id"], 2**32 - size + 1)
        sound = sound and (content["contact"] is None or _is_row(content["contact"], size))
        for state, signature in zip(content["states"], ours, strict=True):
            sound = sound and _is_sound(state, signature, size)
    except _OtherSensors as error:
        raise ValueError(str(error)) from None
    except (msgspec.DecodeError, LookupError, TypeError, ValueError):
        raise ValueError(broken) from None
    if not sound:
        raise ValueError(broken)
    return content


class _OtherSensors(Exception):
    """A good snapshot, but not of these."""


def _is_sound(state: list[Any], signature: list[Any], size: int) -> bool:
    start, sample, bias, samples = state
    *_, biases, layout = signature
    sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for _, kind, shape in layout]
    return (
        _is_count(start, 2**62)
        and _is_count(sample, 2**40)
        and _is_row(bias, 8 * size * biases)
        and bool(np.isfinite(np.frombuffer(bias)).all())
        and len(samples) > 0
        and all(
            _is_count(due, 2**63)
            and _is_row(time, 8 * size)
            and len(arrays) == len(sizes)
            and all(_is_row(array, length) for array, length in zip(arrays, sizes, strict=True))
            for due, time, arrays in samples
        )
    )


def _is_count(value: object, end: int) -> bool:
    return type(value) is int and 0 <= value < end


def _is_row(value: object, length: int) -> bool:
    return isinstance(value, bytes) and len(value) == length
