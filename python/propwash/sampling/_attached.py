"""Attached sensors: sampling times, latency and stored readings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.sampling.sensor import (
    FIRST_STREAM,
    STREAMS_PER_SENSOR,
    Motion,
    NoiseKey,
    Reading,
    Sampling,
    Sensor,
    arrays_of,
    blanked,
)

_FEW = 16
"""First readings of at most 1/_FEW of the fleet are measured one vehicle at a time."""

Record = TypeVar("Record")
Flags = NDArray[np.bool_]


Sampled = Any
"""What is sampled: a bound fleet, or one vehicle that looks like it (vehicle/_sensors.py)."""


@dataclass(frozen=True)
class SensorSample(Generic[Reading]):
    """A reading and the step at which it is available."""

    due: int
    """The step from which it is available."""
    time: NDArray[np.float64]
    """(n,) s, since each vehicle's reset; NaN: no reading."""
    reading: Reading
    """What the sensor has measured."""

    def without(self, mask: Flags) -> SensorSample[Reading]:
        """A copy without the readings of the vehicles of a mask."""
        time = self.time.copy()
        time[mask] = np.nan
        return replace(self, time=time, reading=blanked(self.reading, mask))

    def replaced(
        self, rows: NDArray[np.intp], time: NDArray[np.float64], reading: Reading
    ) -> SensorSample[Reading]:
        """A copy with other times and readings in some rows."""

        def put(whole: NDArray[Any], some: NDArray[Any]) -> NDArray[Any]:
            whole = whole.copy()
            whole[rows] = some
            whole.flags.writeable = False
            return whole

        return replace(self, time=put(self.time, time), reading=_mapped(put, self.reading, reading))


class AttachedSensor(_core.FleetSampler, Generic[Reading]):
    """A sensor that samples a fleet or a vehicle at its rate.

    Samples are taken on the clock of the steps and become available after `latency`. After a reset
    a vehicle has no reading until the next sample.
    """

    def __init__(
        self,
        core: Sampled,
        sensor: Sensor[Reading],
        plan: SensorPlan,
        slot: int,
        pool: _core.ThreadPool | None,
    ) -> None:
        super().__init__()
        self._core = core
        self._pool = pool
        self._sensor = sensor
        self._plan = plan
        self.slot = slot
        self._latency_steps = _core.latency_in_steps(plan.latency, core.dt)
        self._restart(core.steps)

    @property
    def sensor(self) -> Sensor[Reading]:
        """The sensor. Calls of its measure() do not affect the attached readings."""
        return self._sensor

    @property
    def name(self) -> str:
        """The key in `sensors` of the fleet or vehicle."""
        return self._plan.name

    @property
    def rate(self) -> float:
        """Hz, sample rate."""
        return self._plan.rate

    @property
    def latency(self) -> float:
        """s, from a sample until it is available."""
        return self._plan.latency

    @property
    def samples(self) -> int:
        """The number of samples, which is the counter of the noise."""
        return self._sample

    def __repr__(self) -> str:
        p = self._plan
        return (
            f"{type(self).__name__}({p.name!r}, rate={p.rate:g}, latency={p.latency:g}) after "
            f"{self._sample} samples"
        )

    @property
    def _now(self) -> float:
        """s, of moving items: the clock of the steps, which a reset with a seed sets to zero."""
        return float(self._core.steps * self._core.dt)

    def _deliver(self) -> None:
        now = self._core.steps
        while self._pending and self._pending[0].due <= now:
            self._current = self._pending.popleft()

    def arrived(self) -> SensorSample[Reading]:
        """The last available sample; it is immutable."""
        with self._core:
            self._deliver()
            return self._current

    def _schedule(self) -> None:
        self.next_step = _core.sample_step(self._sample, self.rate, self._core.dt, self._start)

    def _key(self) -> NoiseKey:
        """The noise key, for the present seed of the vehicles."""
        key = _core.sensor_key(self._core.seed, self._plan.seed)
        stream = FIRST_STREAM + STREAMS_PER_SENSOR * self.slot
        return NoiseKey(key, self._core.first_id, stream)

    def _restart(self, step: int) -> None:
        """Restarts as newly attached: takes sample 0 now."""
        self._start, self._sample = step, 0
        self._taken = -1  # `due` of the reading that was taken last
        self._bias = self._sensor.started(None, self._core.size, None, self._key().start(step))
        self._pending: deque[SensorSample[Reading]] = deque()
        first = self._take(step)
        self._current = replace(first, due=step).without(np.ones(self._core.size, dtype=np.bool_))

    def check(self) -> None:
        """Raises ValueError if the sensor cannot measure the number of vehicles."""
        self._sensor._check_size(self._core.size)

    def sample(self, step: int) -> None:
        """Takes the sample that is due at a step; called between steps."""
        self._take(step)

    def _take(self, step: int) -> SensorSample[Reading]:
        core = self._core
        reading, self._bias = self._sensor.sampled(
            _motion(core), self._bias, self.rate, self._sample, self._key(), self._pool, self._now
        )
        for array in arrays_of(reading).values():
            array.flags.writeable = False
        time = core.time
        time.flags.writeable = False
        sample = SensorSample(step + self._latency_steps, time, reading)
        self._deliver()
        self._pending.append(sample)
        self._sample += 1
        self._schedule()
        return sample

    def reset(self, mask: Flags | None, seed: int | None) -> None:
        """Resets vehicles of the mask: discards their pending readings and draws new biases."""
        step = self._core.steps
        if seed is not None:
            self._restart(step)
            return
        if mask is None:
            mask = np.ones(self._core.size, dtype=np.bool_)
        self._deliver()
        self._current = self._current.without(mask)
        self._pending = deque(sample.without(mask) for sample in self._pending)
        key = self._key().start(step)
        self._bias = self._sensor.started(self._bias, self._core.size, mask, key)

    def prime(self, mask: Flags) -> None:
        """Takes a reading, available at once, for the vehicles of the mask.

        It remains available until the next reading. Its noise depends only on the seed of the
        fleet, the sensor, the vehicle and the step.
        """
        core = self._core
        with core:
            self._deliver()
            chosen = np.flatnonzero(mask)
            first = self._first_readings(chosen, _motion(core))
            times = core.time[chosen]
            self._current, *waiting = (
                sample.replaced(chosen, times, first) for sample in (self._current, *self._pending)
            )
            self._pending = deque(waiting)

    def _first_readings(self, chosen: NDArray[np.intp], motion: Motion) -> Reading:
        """Readings of some vehicles; measures only these if they are few, to save time."""
        sensor, rate, step = self._sensor, self.rate, self._core.steps
        key, pool = self._key(), self._pool
        now = self._now
        if len(chosen) * _FEW > len(motion) or sensor.is_joint or not sensor.is_for(1):
            everyone = sensor.read(motion, Sampling(self._bias, rate, key.first(step), pool, now))
            return _mapped(lambda array: array[chosen], everyone)
        rows = [
            sensor.read(
                _mapped(lambda array, i=i: array[i : i + 1], motion),
                Sampling(
                    self._bias[i : i + 1],
                    rate,
                    replace(key, first_id=key.first_id + i).first(step),
                    pool,
                    now,
                ),
            )
            for i in chosen.tolist()
        ]
        return _mapped(lambda *arrays: np.concatenate(arrays), *rows)

    def attachment(self) -> tuple[Sensor[Reading], SensorPlan, int]:
        """The sensor, its plan and the slot of its noise."""
        return self._sensor, self._plan, self.slot

    def retire(self) -> None:
        """Discards pending readings; the last reading remains."""
        self._deliver()
        self._pending.clear()

    def signature(self) -> list[Any]:
        """The properties that must agree between snapshot and restored sensor."""
        arrays = arrays_of(self._current.reading)
        p = self._plan
        layout = [[name, a.dtype.str, list(a.shape)] for name, a in arrays.items()]
        device = [self._sensor.kind, p.name, p.rate, p.latency, self._core.dt, p.seed, self.slot]
        return [*device, self._bias.shape[1], layout]

    def snapshot(self) -> list[Any]:
        """The complete state as plain data."""
        self._deliver()
        samples = [self._current, *self._pending]
        packed = [_packed(sample) for sample in samples]
        return [self._start, self._sample, self._bias.tobytes(), packed, self._taken]

    def restore(self, state: list[Any]) -> None:
        """Restores the result of snapshot()."""
        self._start, self._sample, bias, samples, self._taken = state
        self._bias = np.frombuffer(bias).reshape(self._bias.shape).copy()
        found = [_unpacked(sample, self._current) for sample in samples]
        self._current, self._pending = found[0], deque(found[1:])
        self._schedule()


@dataclass(frozen=True)
class SensorPlan:
    """How a sensor is attached."""

    name: str
    """Its key among the attached sensors."""
    rate: float
    """Hz, of the samples."""
    latency: float
    """s, from a sample to its reading."""
    seed: int
    """The seed of the sensor when it was attached."""


def _motion(core: Sampled) -> Motion:
    """The motion of the vehicles that sensors measure."""
    return Motion(*map(core.read, ("position", "attitude", "velocity", "body_rates")))


def _mapped(change: Callable[..., NDArray[Any]], *records: Record) -> Record:
    """Applies a function to each array of records of one type; returns a record."""
    columns = [arrays_of(record) for record in records]
    changed = {name: change(*(arrays[name] for arrays in columns)) for name in columns[0]}
    return type(records[0])(**changed)


def _packed(sample: SensorSample[Any]) -> list[Any]:
    arrays = arrays_of(sample.reading).values()
    return [sample.due, sample.time.tobytes(), [array.tobytes() for array in arrays]]


def _unpacked(packed: list[Any], like: SensorSample[Reading]) -> SensorSample[Reading]:
    due, time, contents = packed
    arrays = arrays_of(like.reading)
    read = {
        name: np.frombuffer(content, array.dtype).reshape(array.shape)
        for (name, array), content in zip(arrays.items(), contents, strict=True)
    }
    return SensorSample(due, np.frombuffer(time), type(like.reading)(**read))
