"""Windows of a flight for the fit, and their residuals.

Forces are identifiable from windows of 1 s with measured attitude; torques and the rotors' dynamics
from windows of 0.1 s that are predicted from the initial state alone. From commands with another
clock only the mean torque of a flight is, from windows of 0.2 s.

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

_FORCES_LENGTH = 1.0
_RATES_LENGTH = 0.1
_TORQUES_LENGTH = 0.2
_LATE_COMMANDS = 4.0
"""rad/s^2, angular acceleration of commands that are 40 ms early or late."""
_MIN_NOISE = 1e-9


@dataclass(frozen=True)
class Noise:
    """Standard deviations that weight the residuals, and those of errors in the inputs."""

    position: float = 0.005
    """Error of a position [m]."""
    velocity: float = 0.01
    """Error of a velocity [m/s]."""
    body_rates: float = 0.05
    """Error of a body rate [rad/s]."""
    specific_force: float = 0.3
    """m/s^2, vertical."""
    push: float = 0.15
    """m/s^2, disturbance by the air, constant over a window."""
    twist: float = 2.0
    """rad/s^2/sqrt(Hz), disturbance by the air, white noise."""
    rotor_speeds: float | None = None
    """Error of a measured rotor speed [rad/s], white; None: estimated from each log."""
    commands: float = 0.0
    """Error of a duty cycle, white from row to row."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None and item.name == "rotor_speeds":
                continue
            may_vanish = item.name in ("push", "twist", "rotor_speeds", "commands")
            minimum = 0.0 if may_vanish else _MIN_NOISE
            if not (isinstance(value, (int, float)) and minimum <= value < np.inf):
                expected = "a finite number >= 0" if minimum == 0.0 else "a finite number > 0"
                raise ValueError(f"noise.{item.name}: expected {expected}, got {value!r:.50}")


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


def accelerometer_low_pass(values: Array, cutoff: float | None, period: float) -> Array:
    """Filters samples (…, H) by a Butterworth low-pass of second order, as in the sensor.

    cutoff: Hz; None: returns the values. period: s, from sample to sample; implicit Euler.
    """
    if cutoff is None:
        return values
    omega = 2.0 * np.pi * cutoff
    denominator = 1.0 + period * np.sqrt(2.0) * omega + (period * omega) ** 2
    smooth = np.empty_like(values)
    value = values[..., 0]
    slope = np.zeros_like(value)
    for k in range(values.shape[-1]):
        slope = (slope + period * omega**2 * (values[..., k] - value)) / denominator
        value = value + period * slope
        smooth[..., k] = value
    return smooth


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
        self.series_length = len(t)
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


class Torques:
    """Residuals of body rates, for commands with another clock: identifies the mean torque."""

    replay_attitude = False
    record = ("body_rates",)

    def __init__(
        self, grid: Flight, period: float, rows: tuple[int, int], noise: Noise, every: float = 0.1
    ) -> None:
        self.windows = windows(grid, period, rows, _TORQUES_LENGTH, every)
        step = max(1, round(0.05 / period))
        self.sampled = np.arange(step - 1, self.windows.samples, step)
        t = (self.sampled + 1.0) * period
        covariance = np.diag(np.full(len(t), noise.body_rates**2)) + noise.body_rates**2
        covariance += _LATE_COMMANDS**2 * np.outer(t, t) + noise.twist**2 * np.minimum.outer(t, t)
        self.whitening = _inverse_root(covariance)
        self.series_length = len(t)
        self.body_rates = grid.body_rates[self.windows.rows[:, self.sampled]]

    def residuals(self, predicted: Simulated) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        rates = _subtract(predicted.body_rates[:, :, self.sampled], self.body_rates)
        return _whitened(self.whitening, rates)


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

    def residuals(self, predicted: Simulated) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        rates = _subtract(predicted.body_rates[:, :, self.sampled], self.body_rates)
        vertical = accelerometer_low_pass(
            predicted.specific_force[..., 2], self.cutoff, self.windows.period
        )[..., self.sampled]
        force = _subtract(vertical, self.force) / self.force_noise
        return np.concatenate([_whitened(self.whitening, rates), force], axis=-1)
