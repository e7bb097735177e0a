"""Windows of a flight for the fit, and their residuals.

Forces are identifiable from windows of 1 s with measured attitude; torques and the rotors' dynamics
from windows of 0.1 s that are predicted from the initial state alone.

The residuals of a window are correlated, as they share the noise of the measured initial state and
the disturbances of the air. `whitening` is an inverse square root of their covariance. For small
errors this is equivalent to estimating the initial states with the measured ones as priors.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from propwash.identify._open_loop import Simulated, Windows
from propwash.logs import Flight

Array = NDArray[np.float64]

_MIN_HEIGHT = 0.1
"""m above the lowest height in the first second; below it the vehicle counts as on the ground."""
_MEAN_DUTY = 0.25
_OBSERVER_SETTLING = 1.0
_MOTOR_SETTLING = 0.5
_FORCES_LENGTH = 1.0
_RATES_LENGTH = 0.1
_MAX_STEP = 0.05
_MIN_NOISE = 1e-9
_FORCE_IN_FLIGHT = (3.0, 30.0)
_MAX_VOLTAGE_RATIO = 2.0
_ROTATION_INTERVAL = 0.1
_MIN_ROTATION_RATE = 0.2
_RATE_RATIOS = (0.3, 3.0)


@dataclass(frozen=True)
class Noise:
    """Standard deviations that weight the residuals."""

    position: float = 0.005
    """m."""
    velocity: float = 0.01
    """m/s."""
    body_rates: float = 0.05
    """rad/s."""
    specific_force: float = 0.3
    """m/s^2, vertical."""
    push: float = 0.15
    """m/s^2, disturbance by the air, constant over a window."""
    twist: float = 2.0
    """rad/s^2/sqrt(Hz), disturbance by the air, white noise."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            minimum = 0.0 if item.name in ("push", "twist") else _MIN_NOISE
            if not (isinstance(value, (int, float)) and minimum <= value < np.inf):
                expected = "a finite number >= 0" if minimum == 0.0 else "a finite number > 0"
                raise ValueError(f"noise.{item.name}: expected {expected}, got {value!r:.50}")


def flying_rows(grid: Flight, period: float) -> tuple[int, int]:
    """Returns the first row and the one after the last of the longest time in the air.

    Raises ValueError if that is shorter than 2 s, steps exceed 0.05 s, or specific force or body
    rates are implausible, as with wrong units or axes.
    """
    if period > _MAX_STEP:
        raise ValueError(
            f"{grid.path}: expected steps of at most {_MAX_STEP:g} s, got {period:.3g} s; set "
            f"scale of time, or log faster"
        )
    flying = grid.duty.mean(axis=1) > _MEAN_DUTY
    half = max(1, round(0.25 / period))
    flying = np.convolve(flying, np.ones(2 * half + 1), "same") > half
    second = max(1, round(1.0 / period))
    if grid.position is not None and grid.duty[:second].mean() < _MEAN_DUTY:
        flying &= grid.position[:, 2] > grid.position[:second, 2].min() + _MIN_HEIGHT
    # the initial motor speeds are unknown
    flying[: round(_MOTOR_SETTLING / period)] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flying.astype(int), [0]])))
    runs = edges.reshape(-1, 2)
    first, last = max(runs.tolist(), key=lambda run: run[1] - run[0], default=(0, 0))
    if grid.position is None:
        first += round(_OBSERVER_SETTLING / period)
    seconds = (last - first) * period
    if seconds < 2.0:
        raise ValueError(
            f"{grid.path}: expected at least 2 s in the air (a mean duty cycle above "
            f"{_MEAN_DUTY:.0%}"
            + ("" if grid.position is None else f", {_MIN_HEIGHT:g} m above the ground")
            + f"), got {max(seconds, 0.0):.2f} s of a log of {grid.time[-1] - grid.time[0]:.2f} s; "
            "use a longer flight"
        )
    _check_force(grid, int(first), int(last))
    _check_rates(grid, period, int(first), int(last))
    return int(first), int(last)


def check_voltage(grid: Flight, rows: tuple[int, int], nominal: float) -> None:
    """Raises ValueError if the recorded voltage is implausible for a battery of `nominal` [V]."""
    if grid.voltage is None or nominal <= 0.0:
        return
    voltage = float(np.mean(grid.voltage[rows[0] : rows[1]]))
    if not nominal / _MAX_VOLTAGE_RATIO <= voltage <= nominal * _MAX_VOLTAGE_RATIO:
        raise ValueError(
            f"{grid.path}: expected about the {nominal:.3g} V of the vehicle's battery, got a mean "
            f"in the air of {voltage:.4g} V; set scale of voltage, omit it from the mapping, or "
            f"set battery.nominal_voltage of the guess"
        )


def _check_force(grid: Flight, first: int, last: int) -> None:
    force = float(np.mean(grid.specific_force[first:last, 2]))
    low, high = _FORCE_IN_FLIGHT
    if not low <= force <= high:
        advice = "set down = true for axes that point down" if force < 0.0 else "1 g is 9.81 m/s^2"
        raise ValueError(
            f"{grid.path}: expected a mean specific force in the air of {low:g} to {high:g} m/s^2 "
            f"along body z, upwards, got {force:.3g}; map the columns in this unit and frame: "
            f"{advice}"
        )


def _check_rates(grid: Flight, period: float, first: int, last: int) -> None:
    """Raises ValueError if the attitude is inconsistent with the body rates."""
    if grid.attitude is None:
        return
    interval = max(1, round(_ROTATION_INTERVAL / period))
    before, after = grid.attitude[first : last - interval], grid.attitude[first + interval : last]
    w, x, y, z = before.T
    inverse = np.stack([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    rate = np.einsum("ijk,kj->ki", inverse, after)
    rate = 2.0 * np.sign(rate[:, :1]) * rate[:, 1:] / (interval * period)
    sums = np.cumsum(grid.body_rates[first:last], axis=0)
    measured = (sums[interval:] - sums[:-interval]) / interval
    for k, axis in enumerate("xyz"):
        if np.std(rate[:, k]) < _MIN_ROTATION_RATE:
            continue
        ratio = float(np.cov(rate[:, k], measured[:, k])[0, 1] / np.var(rate[:, k]))
        if not _RATE_RATIOS[0] <= ratio <= _RATE_RATIOS[1]:
            raise ValueError(
                f"{grid.path}: expected body rates that match the attitude, those about {axis} are "
                f"{ratio:.3g} times its rate of change; map them in rad/s and in body axes, "
                f"forward left up (for other axes set down = true), and the quaternion as w x y z, "
                f"body to world"
            )


def windows(
    grid: Flight, period: float, rows: tuple[int, int], length: float, every: float
) -> Windows:
    """Returns windows of `length` [s] that start every `every` [s] between two rows.

    Raises ValueError if the rows are too few for one window.
    """
    samples = max(2, round(length / period))
    stride = max(1, round(every / period))
    starts = np.arange(rows[0], rows[1] - samples, stride, dtype=np.intp)
    if len(starts) == 0:
        raise ValueError(
            f"{grid.path}: expected {length:g} s in the air for a window, got "
            f"{(rows[1] - rows[0]) * period:.3g} s; use a longer flight or a larger fraction"
        )
    return Windows(grid, period, starts, samples)


def _inverse_root(covariance: Array) -> Array:
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def _subtract(predicted: Array, measured: Array) -> Array:
    """Subtracts measurements from the values; leaves the derivatives, which follow them."""
    difference = predicted.copy()
    difference[0] -= measured
    return difference


def _whitened(whitening: Array, difference: Array) -> Array:
    """Returns (1 + V, W, 3 J) for differences (1 + V, W, J, 3)."""
    white = np.swapaxes(difference, -1, -2) @ whitening.T
    return np.asarray(white.reshape(*white.shape[:2], -1))


class Forces:
    """Residuals of position and velocity with measured attitude."""

    replay_attitude = True
    record = ("position", "velocity")

    def __init__(
        self, grid: Flight, period: float, rows: tuple[int, int], noise: Noise, every: float = 0.25
    ) -> None:
        self.windows = windows(grid, period, rows, _FORCES_LENGTH, every)
        step = max(1, round(0.05 / period))
        self.sampled = np.arange(step - 1, self.windows.samples, step)
        t = (self.sampled + 1.0) * period
        one, zero = np.ones_like(t), np.zeros_like(t)
        effects = [(np.r_[one, zero], noise.position), (np.r_[t, one], noise.velocity)]
        effects.append((np.r_[0.5 * t * t, t], noise.push))
        covariance = np.diag(np.r_[one * noise.position, one * noise.velocity] ** 2)
        for effect, deviation in effects:
            covariance += deviation**2 * np.outer(effect, effect)
        self.whitening = _inverse_root(covariance)
        self.series_length = 2 * len(t)
        measured = self.windows.rows[:, self.sampled]
        assert grid.position is not None
        assert grid.velocity is not None
        self.position, self.velocity = grid.position[measured], grid.velocity[measured]

    def residuals(self, predicted: Simulated) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        difference = np.concatenate(
            [
                _subtract(predicted.position[:, :, self.sampled], self.position),
                _subtract(predicted.velocity[:, :, self.sampled], self.velocity),
            ],
            axis=2,
        )
        return _whitened(self.whitening, difference)


class Rates:
    """Residuals of body rates and vertical specific force, predicted from the initial state."""

    replay_attitude = False
    record = ("body_rates", "specific_force")

    def __init__(
        self, grid: Flight, period: float, rows: tuple[int, int], noise: Noise, every: float = 0.1
    ) -> None:
        self.windows = windows(grid, period, rows, max(_RATES_LENGTH, 6.0 * period), every)
        step = max(1, round(0.01 / period))
        self.sampled = np.arange(step - 1, self.windows.samples, step)
        t = (self.sampled + 1.0) * period
        covariance = np.diag(np.full(len(t), noise.body_rates**2)) + noise.body_rates**2
        covariance += noise.twist**2 * np.minimum.outer(t, t)
        self.whitening = _inverse_root(covariance)
        self.series_length = len(t)
        self.force_noise = noise.specific_force
        self.cutoff = grid.accelerometer_cutoff
        measured = self.windows.rows[:, self.sampled]
        self.body_rates = grid.body_rates[measured]
        self.force = grid.specific_force[measured][..., 2]

    def vertical_force(self, predicted: Simulated) -> Array:
        """Returns (1 + V, W, H) m/s^2, filtered by the sensor's low-pass."""
        force = predicted.specific_force[..., 2]
        if self.cutoff is None:
            return force
        omega, h = 2.0 * np.pi * self.cutoff, self.windows.period
        denominator = 1.0 + h * np.sqrt(2.0) * omega + (h * omega) ** 2
        smooth = np.empty_like(force)
        value = force[..., 0]
        slope = np.zeros_like(value)
        for k in range(force.shape[-1]):  # Butterworth, implicit Euler
            slope = (slope + h * omega**2 * (force[..., k] - value)) / denominator
            value = value + h * slope
            smooth[..., k] = value
        return smooth

    def residuals(self, predicted: Simulated) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        rates = _subtract(predicted.body_rates[:, :, self.sampled], self.body_rates)
        vertical = self.vertical_force(predicted)[..., self.sampled]
        force = _subtract(vertical, self.force) / self.force_noise
        return np.concatenate([_whitened(self.whitening, rates), force], axis=-1)
