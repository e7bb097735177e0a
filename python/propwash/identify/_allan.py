"""Noise of a stationary inertial sensor from its Allan deviation.

Overlapping Allan variance and its equivalent degrees of freedom: Riley, Handbook of Frequency
Stability Analysis (NIST SP 1065, 2008), equation (14) and table 5. Noise terms:
IEEE Std 952-1997, annex C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._checks import require_scipy
from propwash.logs import Flight

Array = NDArray[np.float64]

SENSORS = {"gyroscope": "rad/s", "accelerometer": "m/s^2"}
"""Sensors and their units."""

_FLICKER = 2.0 * math.log(2.0) / math.pi
_MIN_SAMPLES = 200
_MIN_REST = 2.0
_BLOCK = 0.5
_MAX_DEVIATION = {"gyroscope": 0.2, "accelerometer": 1.0}
_MAX_LOW_PASS = 32


@dataclass(frozen=True)
class AllanCurve:
    """Overlapping Allan deviation of one signal at octave-spaced averaging times."""

    tau: Array
    """(T,) s."""
    deviation: Array
    """(T,) in the unit of the signal."""
    low: Array
    """(T,) lower confidence limit."""
    high: Array
    """(T,) upper confidence limit."""
    freedom: Array
    """(T,) equivalent degrees of freedom."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    value: the estimate. low, high: confidence limits; `low` is 0 if the interval includes 0.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.2g} to {self.high:.2g})"


@dataclass(frozen=True)
class AxisNoise:
    """Noise of one axis of one sensor; u is the sensor's unit."""

    sensor: str
    """"accelerometer" or "gyroscope"."""
    axis: str
    """"x", "y" or "z"."""
    curve: AllanCurve
    noise_density: Interval
    """Density of the white noise [u/sqrt(Hz)]."""
    bias_instability: Interval
    """Bias instability [u]."""
    random_walk: Interval
    """Density of the random walk of the bias [u/s/sqrt(Hz)]."""
    first: int
    """Index of the first fitted averaging time; the sensor's low-pass affects shorter ones."""

    def model(self, tau: ArrayLike) -> Array:
        """Returns the Allan deviation of the fitted noise at averaging times [s]."""
        times = np.asarray(tau, dtype=np.float64)
        n, b, k = (
            x.value**2 for x in (self.noise_density, self.bias_instability, self.random_walk)
        )
        return np.asarray(np.sqrt(n / times + _FLICKER * b + k * times / 3.0))


@dataclass(frozen=True)
class ImuNoise:
    """Noise of a stationary inertial measurement unit."""

    flight: Flight
    """The stationary part of the log."""
    axes: tuple[AxisNoise, ...]
    """Three axes of the gyroscope, then three of the accelerometer."""
    confidence: float
    """Confidence level of the intervals, 0 to 1."""

    def parameters(self) -> dict[str, float]:
        """Returns fields of `ImuParameters`: root mean squares over the axes.

        `vehicle.replace(imu=found.parameters())`. Axes whose random walk is not
        significantly above 0 count as 0.
        """
        found = {}
        for sensor in SENSORS:
            axes = [axis for axis in self.axes if axis.sensor == sensor]
            white = [axis.noise_density.value for axis in axes]
            walk = [axis.random_walk for axis in axes]
            significant = [w.value if w.low > 0.0 else 0.0 for w in walk]
            found[f"{sensor}_noise_density"] = float(np.sqrt(np.mean(np.square(white))))
            found[f"{sensor}_bias_walk"] = float(np.sqrt(np.mean(np.square(significant))))
        return found

    def table(self) -> str:
        """Returns the estimates with their confidence intervals as text."""
        head = ("noise density [u/sqrt(Hz)]", "bias instability [u]", "random walk [u/s/sqrt(Hz)]")
        lines = [f"{'':18s}" + "".join(f"{text:>32s}" for text in head)]
        for axis in self.axes:
            numbers = (axis.noise_density, axis.bias_instability, axis.random_walk)
            cells = "".join(f"{number!s:>32s}" for number in numbers)
            lines.append(f"{axis.sensor + ' ' + axis.axis:18s}{cells}   u = {SENSORS[axis.sensor]}")
        lines.append(f"in brackets: confidence intervals of {self.confidence:.0%}")
        return "\n".join(lines)


def allan(values: ArrayLike, period: float, confidence: float = 0.95) -> AllanCurve:
    """Returns the overlapping Allan deviation of a signal (K,) sampled every `period` [s].

    Raises ValueError for fewer than 200 samples, a constant signal, values that are not finite, and
    an invalid period or confidence.
    """
    signal = np.asarray(values, dtype=np.float64)
    if signal.ndim != 1 or len(signal) < _MIN_SAMPLES:
        raise ValueError(
            f"values: expected at least {_MIN_SAMPLES} samples in one row, got shape "
            f"{signal.shape}; use a longer log"
        )
    if not np.isfinite(signal).all():
        sample = int(np.argmin(np.isfinite(signal)))
        raise ValueError(
            f"values: sample {sample}, at {sample * period:.6g} s, is not a finite number; cut the "
            f"log there"
        )
    if not 0.0 < period < math.inf:
        raise ValueError(f"period: expected a finite number > 0 [s], got {period!r:.50}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence: expected a number between 0 and 1, got {confidence!r:.50}")
    if np.ptp(signal) == 0.0:
        raise ValueError(
            f"values: all of the {len(signal)} samples are {signal[0]:g}; expected a signal with "
            f"noise"
        )
    phase = np.concatenate([[0.0], np.cumsum(signal - signal.mean())]) * period
    sizes = 2 ** np.arange(int(math.log2(len(signal) / 4)) + 1)
    variance = np.array([_variance(phase, int(m), period) for m in sizes])
    tau = np.asarray(sizes * period, dtype=np.float64)
    slope = np.gradient(np.log(np.maximum(variance, 1e-300)), np.log(tau))
    pairs = zip(sizes.tolist(), slope.tolist(), strict=True)
    freedom = np.array([_freedom(len(phase), m, s) for m, s in pairs])
    low, high = _interval(variance, freedom, confidence)
    return AllanCurve(tau, np.sqrt(variance), low, high, freedom)


def _variance(phase: Array, m: int, period: float) -> float:
    second = phase[2 * m :] - 2.0 * phase[m:-m] + phase[: -2 * m]
    return float(np.mean(second**2)) / (2.0 * (m * period) ** 2)


def _freedom(points: int, m: int, slope: float) -> float:
    """Returns the degrees of freedom for the noise type that the variance's slope indicates."""
    n = float(points)
    if slope < -0.5:  # white
        white = 3.0 * (n - 1.0) / (2.0 * m) - 2.0 * (n - 2.0) / n
        return max(white * 4.0 * m * m / (4.0 * m * m + 5.0), 1.0)
    if slope < 0.5 and m > 1:  # flicker
        return max(5.0 * n * n / (4.0 * m * (n + 3.0 * m)), 1.0)
    walk = (n - 2.0) / m * ((n - 1.0) ** 2 - 3.0 * m * (n - 1.0) + 4.0 * m * m) / (n - 3.0) ** 2
    return max(walk, 1.0)


def _interval(variance: Array, freedom: Array, confidence: float) -> tuple[Array, Array]:
    require_scipy("identification")
    from scipy.stats import chi2

    tail = 0.5 * (1.0 - confidence)
    low = np.sqrt(variance * freedom / chi2.ppf(1.0 - tail, freedom))
    high = np.sqrt(variance * freedom / chi2.ppf(tail, freedom))
    return np.asarray(low), np.asarray(high)


def _first_fitted(curve: AllanCurve) -> int:
    """Returns the index where the curve begins to fall: a low-pass flattens it before."""
    density = curve.deviation**2 * curve.tau
    early = density[: int(math.log2(_MAX_LOW_PASS)) + 1]
    return int(np.argmax(early)) if early.max() > 1.3 * density[0] else 0


def _correlation(white: Array) -> Array:
    """Returns the correlation of octave-spaced Allan variances, from their white-noise fractions.

    Neighbours average overlapping differences, which correlates them by 0.53 for white noise and by
    0.89 for a random walk.
    """
    octaves = np.abs(np.subtract.outer(np.arange(len(white)), np.arange(len(white))))
    fraction = np.clip(white, 0.0, 1.0)
    first, second = np.sqrt(fraction), np.sqrt(1.0 - fraction)
    return np.asarray(
        np.outer(first, first) * 0.53**octaves + np.outer(second, second) * 0.89**octaves
    )


def _noise_terms(curve: AllanCurve, first: int, confidence: float) -> list[Interval]:
    """Fits white noise, flicker noise and random walk by non-negative least squares."""
    from scipy.optimize import nnls
    from scipy.stats import norm

    tau, freedom = curve.tau[first:], curve.freedom[first:]
    measured = curve.deviation[first:] ** 2
    design = np.stack([1.0 / tau, np.full_like(tau, _FLICKER), tau / 3.0], axis=-1)
    expected = measured
    terms = np.zeros(3)
    for _ in range(10):
        deviation = expected * np.sqrt(2.0 / freedom)
        terms, _ = nnls(design / deviation[:, np.newaxis], measured / deviation)
        expected = np.maximum(design @ terms, 1e-6 * measured)
    relative = expected * np.sqrt(2.0 / freedom)
    weighted = design / relative[:, np.newaxis]
    gain = np.linalg.solve(weighted.T @ weighted, weighted.T)
    correlation = _correlation(design[:, 0] * terms[0] / expected)
    standard_error = np.sqrt(np.diag(gain @ correlation @ gain.T))
    half_width = float(norm.ppf(0.5 * (1.0 + confidence))) * standard_error
    return [
        Interval(math.sqrt(p), math.sqrt(max(p - r, 0.0)), math.sqrt(p + r))
        for p, r in zip(terms.tolist(), half_width.tolist(), strict=True)
    ]


def resting(log: Flight) -> Flight:
    """Returns the longest part of a log with all motors at zero; a log without motors as a whole.

    Raises ValueError if that part is shorter than 2 s.
    """
    if log.duty.shape[1] == 0:
        return log
    still = np.concatenate([[0], (log.duty.max(axis=1) == 0.0).astype(int), [0]])
    runs = np.flatnonzero(np.diff(still)).reshape(-1, 2)
    first, last = max(runs.tolist(), key=lambda run: run[1] - run[0], default=(0, 1))
    seconds = float(log.time[last - 1] - log.time[first])
    if seconds < _MIN_REST:
        raise ValueError(
            f"{log.path}: expected at least {_MIN_REST:g} s with all motors at zero, got "
            f"{seconds:.2f} s; a stationary log is required to estimate noise"
        )
    return log.cut(float(log.time[first]), float(log.time[last - 1]))


def _check_rest(grid: Flight, period: float) -> None:
    """Raises ValueError if a mean over half a second deviates by more than noise explains."""
    block = max(1, round(_BLOCK / period))
    count = len(grid.time) // block
    for sensor, signal in (
        ("gyroscope", grid.body_rates),
        ("accelerometer", grid.specific_force),
    ):
        means = signal[: count * block].reshape(count, block, 3).mean(axis=1)
        white = np.std(np.diff(signal, axis=0), axis=0) / math.sqrt(2.0 * block)
        deviation = np.abs(means - np.median(means, axis=0))
        moving = np.argwhere(deviation > _MAX_DEVIATION[sensor] + 6.0 * white)
        if len(moving):
            first, axis = moving[0]
            raise ValueError(
                f"{grid.path}, at {grid.time[first * block]:.6g} s: expected a log at rest, the "
                f"mean of {sensor} {'xyz'[axis]} over {_BLOCK:g} s is {deviation[first, axis]:.3g} "
                f"{SENSORS[sensor]} from its median; select a part at rest"
            )


def fit_imu(
    log: Flight, *, start: float | None = None, stop: float | None = None, confidence: float = 0.95
) -> ImuNoise:
    """Estimates the noise of the inertial sensors from a stationary log.

    start, stop: s, in the log's time; both None: the longest part with all motors at zero.
    confidence: level of the intervals, 0 to 1.

    Raises ValueError if the log is too short, lacks a sensor, has a constant signal or is not at
    rest: a mean over half a second deviates from the median by 0.2 rad/s or 1 m/s^2 more than noise
    explains.
    """
    if not isinstance(log, Flight):
        raise TypeError(f"log: expected a FlightLog of identify.read_log(), got {log!r:.100}")
    if start is None and stop is None:
        rest = resting(log)
    else:
        rest = log.cut(-math.inf if start is None else start, math.inf if stop is None else stop)
    signals = {"gyroscope": rest.body_rates, "accelerometer": rest.specific_force}
    absent = [sensor for sensor in SENSORS if signals[sensor].size == 0]
    if absent:
        raise ValueError(f"{log.path}: the log has no {absent[0]}; map its columns")
    if len(rest.time) < _MIN_SAMPLES:
        raise ValueError(
            f"{log.path}: expected at least {_MIN_SAMPLES} rows at rest, got {len(rest.time)}; "
            f"use a longer log"
        )
    grid = rest.resampled(rest.period)
    _check_rest(grid, rest.period)
    signals = {"gyroscope": grid.body_rates, "accelerometer": grid.specific_force}
    axes: Sequence[AxisNoise] = [
        _axis(sensor, "xyz"[k], signals[sensor][:, k], rest.period, confidence)
        for sensor in SENSORS
        for k in range(3)
    ]
    return ImuNoise(rest, tuple(axes), confidence)


def _axis(sensor: str, axis: str, signal: Array, period: float, confidence: float) -> AxisNoise:
    try:
        curve = allan(signal, period, confidence)
    except ValueError as error:
        raise ValueError(f"{sensor} {axis}: {error}") from None
    first = _first_fitted(curve)
    white, flicker, walk = _noise_terms(curve, first, confidence)
    return AxisNoise(sensor, axis, curve, white, flicker, walk, first)
