"""Base classes of sensors: the measured motion, noise keys and biases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core

Numbers = NDArray[Any]
Reading = TypeVar("Reading")

FIRST_STREAM = 16
"""The first noise stream reserved for sensors: see docs/random.md."""
STREAMS_PER_SENSOR = 4
"""White noise, bias walk, initial biases, white noise of first readings."""


@dataclass(frozen=True, eq=False)
class Motion:
    """The motion of n bodies that sensors measure, in finite arrays of one dtype."""

    position: Numbers
    """(n, 3) m, world frame."""
    attitude: Numbers
    """(n, 4) unit quaternions, scalar first."""
    velocity: Numbers
    """(n, 3) m/s, world frame."""
    body_rates: Numbers
    """(n, 3) rad/s, body frame."""

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True)
class NoiseKey:
    """The key of a sensor's noise: see docs/sensors.md."""

    key: int
    first_id: int = 0
    stream: int = FIRST_STREAM

    def white(self, sample: int) -> _core.SampleNoise:
        """The white noise of a reading."""
        return _core.SampleNoise(self.key, sample, self.first_id, self.stream)

    def walk(self, sample: int) -> _core.SampleNoise:
        """The increments of biases before a reading."""
        return _core.SampleNoise(self.key, sample, self.first_id, self.stream + 1)

    def start(self, step: int) -> _core.SampleNoise:
        """The initial biases at a step of the physics."""
        return _core.SampleNoise(self.key, step, self.first_id, self.stream + 2)

    def first(self, step: int) -> _core.SampleNoise:
        """The white noise of unscheduled readings at a step of the physics."""
        return _core.SampleNoise(self.key, step, self.first_id, self.stream + 3)


@dataclass(frozen=True, eq=False)
class Sampling:
    """The inputs of a reading other than the motion of the n bodies."""

    bias: NDArray[np.float64]
    """(n, k), of the k bias processes of the sensor."""
    rate: float
    """Rate of the samples [Hz]."""
    noise: _core.SampleNoise
    """The key of the white noise."""
    pool: _core.ThreadPool | None = None
    """Threads that cast rays."""
    time: float | None = None
    """s, the time of the reading, for moving items of a scene; of a fleet, that of its clock."""
    absent: NDArray[np.bool_] | None = None
    """(n,) the bodies that have diverged; None: none of them."""


class Sensor(ABC, Generic[Reading]):
    """Base class of a sensor that measures one body or many.

    `measure()` takes arrays (…, 3) and (…, 4), where … are the axes of bodies, none for a single
    body, and returns arrays with the same axes first. It counts its samples; its noise depends only
    on the sensor's seed, that count and the index of the body. `Fleet.attach` measures a fleet at a
    fixed rate instead.
    """

    kind: ClassVar[str]
    """The default name of attached sensors."""

    def __init__(self, seed: int) -> None:
        self._seed = _checks.seed(seed)
        self._samples = 0
        self._bias: NDArray[np.float64] | None = None

    @property
    def seed(self) -> int:
        """The seed of the noise."""
        return self._seed

    @property
    def samples(self) -> int:
        """Calls of measure() since construction or since a reset with a seed."""
        return self._samples

    def reset(self, seed: int | None = None) -> None:
        """Restarts measure() with newly drawn biases.

        The noise sequence continues, so episodes differ, unless a seed is given: then the sensor
        restarts as newly constructed.
        """
        if seed is not None:
            self._seed = _checks.seed(seed)
            self._samples = 0
        self._bias = None

    def _processes(self) -> list[tuple[float, float]]:
        """Standard deviation and correlation time [s] of each bias of a body."""
        return []

    @abstractmethod
    def _read(self, motion: Motion, sampling: Sampling) -> Reading:
        """Returns one sample of n bodies, in arrays (n, …)."""

    def _check_size(self, n: int) -> None:
        """Raises ValueError if the sensor cannot measure n bodies."""

    @property
    def is_joint(self) -> bool:
        """Whether a reading depends on the other bodies, so that all are measured together."""
        return False

    def is_for(self, n: int) -> bool:
        """Whether the sensor can measure n bodies: a mounting may have another number of rows."""
        try:
            self._check_size(n)
        except ValueError:
            return False
        return True

    def started(
        self,
        bias: NDArray[np.float64] | None,
        n: int,
        mask: NDArray[np.bool_] | None,
        noise: _core.SampleNoise,
    ) -> NDArray[np.float64]:
        """Biases (n, k), newly drawn for the bodies of the mask; None: all bodies."""
        deviations = [deviation for deviation, _ in self._processes()]
        if bias is None:
            bias = np.zeros((n, len(deviations)))
        if not deviations:
            return bias
        chosen = np.ones(n, dtype=np.bool_) if mask is None else mask
        return _core.bias_start(bias, chosen, deviations, noise)

    def sampled(
        self,
        motion: Motion,
        bias: NDArray[np.float64],
        rate: float,
        sample: int,
        key: NoiseKey,
        pool: _core.ThreadPool | None = None,
        time: float | None = None,
    ) -> tuple[Reading, NDArray[np.float64]]:
        """A reading of n bodies and the biases that it contains."""
        processes = self._processes()
        if processes:
            deviations, times = [p[0] for p in processes], [p[1] for p in processes]
            bias = _core.bias_next(bias, deviations, times, 1.0 / rate, key.walk(sample))
        return self.read(motion, Sampling(bias, rate, key.white(sample), pool, time)), bias

    def read(self, motion: Motion, sampling: Sampling) -> Reading:
        """A reading of n bodies with these biases; NaN, False or -1 for diverged bodies."""
        poses = np.concatenate((motion.position, motion.attitude), axis=1)
        diverged = ~np.isfinite(poses).all(axis=1)
        if not diverged.any():
            return self._read(motion, sampling)
        arrays = arrays_of(motion)
        for name, array in arrays.items():
            arrays[name] = array.copy()
            arrays[name][diverged] = _checks.LEVEL if name == "attitude" else 0.0
        sampling = replace(sampling, absent=diverged)
        return blanked(self._read(Motion(**arrays), sampling), diverged)

    def _measured(
        self,
        position: ArrayLike,
        attitude: ArrayLike | None,
        velocity: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        dt: float = 1.0,
        time: float | None = None,
    ) -> Reading:
        lead, at, attitudes = _checks.poses(position, attitude)
        n = len(at)
        motion = Motion(
            at,
            attitudes,
            _checks.vectors("velocity", velocity, lead, at.dtype),
            _checks.vectors("body_rates", body_rates, lead, at.dtype),
        )
        rate = 1.0 / _checks.positive("dt", dt, "s")
        moment = None if time is None else _checks.number("time", time, "a finite number [s]")
        self._check_size(n)
        key = NoiseKey(_core.sensor_key(0, self._seed))
        bias = self._bias
        if bias is None or len(bias) != n:
            bias = self.started(None, n, None, key.start(self._samples))
        reading, self._bias = self.sampled(motion, bias, rate, self._samples, key, time=moment)
        self._samples += 1
        return with_axes(reading, lead)


def arrays_of(reading: Any) -> dict[str, Numbers]:
    """The arrays of a reading by name."""
    return {field.name: getattr(reading, field.name) for field in fields(reading)}


def blanked(reading: Reading, mask: NDArray[np.bool_]) -> Reading:
    """A reading with NaN, False, -1, or 0 of unsigned numbers, for the bodies of a mask."""

    def blank(array: Numbers) -> Numbers:
        array = array.copy()
        array[mask] = {"f": np.nan, "b": False, "u": 0}.get(array.dtype.kind, -1)
        return array

    return type(reading)(**{name: blank(array) for name, array in arrays_of(reading).items()})


class ModelledSensor(Sensor[Reading]):
    """A sensor with a compiled model, which is rebuilt after pickling."""

    _model: Any

    @abstractmethod
    def _make(self) -> None:
        """Builds the model from the parameters of the sensor."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make()


def with_axes(reading: Reading, lead: tuple[int, ...]) -> Reading:
    """A reading of bodies in one row as that of bodies with axes `lead`; (): one body."""

    def with_axes(array: Numbers) -> Numbers:
        result: Numbers = array.reshape((*lead, *array.shape[1:]))[()]  # a number for one body
        return result

    return type(reading)(**{name: with_axes(array) for name, array in arrays_of(reading).items()})
