"""What all sensors have in common: who they measure, their noise and their biases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core
from propwash import _sensor_checks as sensed

Numbers = NDArray[Any]
Reading = TypeVar("Reading")

FIRST_STREAM = 16
"""Streams of the noise from here on are free for sensors: see docs/random.md."""
STREAMS_PER_SENSOR = 4
"""White noise, walk of the biases, biases at the start, white noise of first readings."""


@dataclass(frozen=True, eq=False)
class Motion:
    """What sensors may know of n bodies, in arrays of one dtype; finite throughout."""

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
    """Whose noise it is: see docs/sensors.md."""

    key: int
    first_id: int = 0
    stream: int = FIRST_STREAM

    def white(self, sample: int) -> _core.SampleNoise:
        """Of a reading."""
        return _core.SampleNoise(self.key, sample, self.first_id, self.stream)

    def walk(self, sample: int) -> _core.SampleNoise:
        """Of the step that biases make before a reading."""
        return _core.SampleNoise(self.key, sample, self.first_id, self.stream + 1)

    def start(self, step: int) -> _core.SampleNoise:
        """Of biases that start at a step of the physics."""
        return _core.SampleNoise(self.key, step, self.first_id, self.stream + 2)

    def first(self, step: int) -> _core.SampleNoise:
        """Of readings that are taken at a step of the physics outside of the schedule."""
        return _core.SampleNoise(self.key, step, self.first_id, self.stream + 3)


@dataclass(frozen=True, eq=False)
class Sampling:
    """What a reading depends on besides the motion of the n bodies."""

    bias: NDArray[np.float64]
    """(n, k), of the k processes of the sensor."""
    rate: float
    """Hz."""
    noise: _core.SampleNoise
    """The key of the white noise."""
    pool: _core.ThreadPool | None = None
    """On which rays are cast."""


class Sensor(ABC, Generic[Reading]):
    """A device that measures one body or many.

    `measure()` of each sensor takes arrays (…, 3) and (…, 4), where … is nothing for a single body
    or any axes of bodies, and gives arrays (…, …). It counts its own samples, and its noise depends
    on the sensor's seed, on that count and on the body's place among the bodies alone.
    `Fleet.attach` measures a fleet at a rate of its own instead.
    """

    kind: ClassVar[str]
    """Name, from which attached sensors get theirs."""
    nominal_dt: ClassVar[float] = 1.0
    """s, time step assumed where no fleet or time specifies one."""

    def __init__(self, seed: int) -> None:
        self._seed = given.whole_number("seed", seed, 0, 2**64 - 1)
        self._samples = 0
        self._bias: NDArray[np.float64] | None = None

    @property
    def seed(self) -> int:
        """Tells the noise of sensors apart that are otherwise alike."""
        return self._seed

    @property
    def samples(self) -> int:
        """Calls of measure() since construction or since a reset with a seed."""
        return self._samples

    def reset(self, seed: int | None = None) -> None:
        """Starts measure() again: biases are drawn anew.

        The noise goes on, so that no two episodes are alike, unless a seed is given: then the
        sensor starts as if new.
        """
        if seed is not None:
            self._seed = given.whole_number("seed", seed, 0, 2**64 - 1)
            self._samples = 0
        self._bias = None

    def _processes(self) -> list[tuple[float, float]]:
        """Deviation and correlation time [s] of each bias of a body."""
        return []

    @abstractmethod
    def _read(self, motion: Motion, sampling: Sampling) -> Reading:
        """One sample of n bodies; arrays (n, …)."""

    def _check_size(self, n: int) -> None:
        """Raises ValueError where the sensor is not for n bodies."""

    def is_for(self, n: int) -> bool:
        """Whether it can measure n bodies: not where it has a mounting for each of others."""
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
        """Biases (n, k), drawn anew where the mask says so; None: all."""
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
    ) -> tuple[Reading, NDArray[np.float64]]:
        """A reading of n bodies and the biases that are in it."""
        processes = self._processes()
        if processes:
            deviations, times = [p[0] for p in processes], [p[1] for p in processes]
            bias = _core.bias_next(bias, deviations, times, 1.0 / rate, key.walk(sample))
        return self.read(motion, Sampling(bias, rate, key.white(sample), pool)), bias

    def read(self, motion: Motion, sampling: Sampling) -> Reading:
        """A reading of n bodies with these biases; NaN, False, -1 for bodies that diverged."""
        lost = _lost(motion)
        if not lost.any():
            return self._read(motion, sampling)
        return blanked(self._read(_found(motion, lost), sampling), lost)

    def _measured(
        self,
        position: ArrayLike,
        attitude: ArrayLike | None,
        velocity: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        dt: float = 1.0,
    ) -> Reading:
        lead, at, turned = sensed.poses(position, attitude)
        n = len(at)
        motion = Motion(
            at,
            turned,
            sensed.rows("velocity", velocity, lead, at.dtype),
            sensed.rows("body_rates", body_rates, lead, at.dtype),
        )
        rate = 1.0 / sensed.at_least("dt", dt, 0.0, "s", open_=True)
        self._check_size(n)
        key = NoiseKey(_core.sensor_key(0, self._seed))
        bias = self._bias
        if bias is None or len(bias) != n:
            bias = self.started(None, n, None, key.start(self._samples))
        reading, self._bias = self.sampled(motion, bias, rate, self._samples, key)
        self._samples += 1
        return _with_axes(reading, lead)


def arrays_of(reading: Any) -> dict[str, Numbers]:
    """The arrays of a reading by name."""
    return {field.name: getattr(reading, field.name) for field in fields(reading)}


def blanked(reading: Reading, mask: NDArray[np.bool_]) -> Reading:
    """A reading that says nothing of the bodies of a mask: NaN, False, -1."""

    def blank(array: Numbers) -> Numbers:
        array = array.copy()
        array[mask] = {"f": np.nan, "b": False}.get(array.dtype.kind, -1)
        return array

    return type(reading)(**{name: blank(array) for name, array in arrays_of(reading).items()})


class ModelledSensor(Sensor[Reading]):
    """A sensor with a compiled model, which is made again after pickling."""

    _model: Any

    @abstractmethod
    def _make(self) -> None:
        """Makes the model from the numbers that the sensor keeps."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make()


def _with_axes(reading: Reading, lead: tuple[int, ...]) -> Reading:
    def shaped(array: Numbers) -> Numbers:
        result: Numbers = array.reshape((*lead, *array.shape[1:]))[()]  # a number for one body
        return result

    return type(reading)(**{name: shaped(array) for name, array in arrays_of(reading).items()})


def _lost(motion: Motion) -> NDArray[np.bool_]:
    """Which bodies are nowhere."""
    poses = np.concatenate((motion.position, motion.attitude), axis=1)
    lost: NDArray[np.bool_] = ~np.isfinite(poses).all(axis=1)
    return lost


def _found(motion: Motion, lost: NDArray[np.bool_]) -> Motion:
    """With bodies that are nowhere at the origin."""

    def mended(array: Numbers, value: Any) -> Numbers:
        array = array.copy()
        array[lost] = value
        return array

    return Motion(
        mended(motion.position, 0.0),
        mended(motion.attitude, sensed.LEVEL),
        mended(motion.velocity, 0.0),
        mended(motion.body_rates, 0.0),
    )
