"""What a flight is cut into for the fit, and what is compared in each piece.

Two kinds of windows. With the attitude given, the motion of 1 s tells forces. Left to itself, that
of 0.1 s tells torques, and with it everything that has to do with how fast a rotor answers.

The state at the start of a window is a measurement and has noise, and the air pushes: both add to
the differences of a window what is alike over it, or grows with it. `whitening` divides that out,
which is the same as to free the initial states with the measured ones for priors, for as long as
they enter linearly; and leaves residuals that are near to white.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from propwash.identify._shooting import Flown, Windows
from propwash.logs import Flight

Array = NDArray[np.float64]

ON_THE_GROUND = 0.1
"""m above the lowest height of the first second, below which the vehicle is taken to stand."""
_MEAN_DUTY = 0.25
_SETTLED = 1.0
_FORGOTTEN = 0.5
_GIVEN_LENGTH = 1.0
_FREE_LENGTH = 0.1
_LONGEST_STEP = 0.05
_LEAST_NOISE = 1e-9
_FORCE_IN_FLIGHT = (3.0, 30.0)
_VOLTAGES_ALIKE = 2.0
_TURNED_OVER = 0.1
_TURNING = 0.2
_RATES_ALIKE = (0.3, 3.0)


@dataclass(frozen=True)
class Noise:
    """Standard deviations that weigh the differences."""

    position: float = 0.005
    """m."""
    velocity: float = 0.01
    """m/s."""
    body_rates: float = 0.05
    """rad/s."""
    specific_force: float = 0.3
    """m/s^2, vertical."""
    push: float = 0.15
    """m/s^2, of the air, alike over a window."""
    twist: float = 2.0
    """rad/s^2, of the air, likewise."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0.0 if item.name in ("push", "twist") else _LEAST_NOISE
            if not (isinstance(value, (int, float)) and least <= value < np.inf):
                expected = "a finite number >= 0" if least == 0.0 else "a finite number > 0"
                raise ValueError(f"noise.{item.name}: expected {expected}, got {value!r:.50}")


def flying_rows(grid: Flight, period: float) -> tuple[int, int]:
    """First row and the one after the last of the longest time in the air.

    Raises ValueError where the flight is not 2 s long, has steps of more than 0.05 s, or shows no
    vehicle that hangs from its rotors: units or axes are others.
    """
    if period > _LONGEST_STEP:
        raise ValueError(
            f"{grid.path}: expected steps of at most {_LONGEST_STEP:g} s, got {period:.3g} s; set "
            f"scale of time, or log faster"
        )
    flying = grid.duty.mean(axis=1) > _MEAN_DUTY
    short = max(1, round(0.25 / period))
    flying = np.convolve(flying, np.ones(2 * short + 1), "same") > short
    second = max(1, round(1.0 / period))
    if grid.position is not None and grid.duty[:second].mean() < _MEAN_DUTY:
        flying &= grid.position[:, 2] > grid.position[:second, 2].min() + ON_THE_GROUND
    # what the motors did before the log is not known
    flying[: round(_FORGOTTEN / period)] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flying.astype(int), [0]])))
    runs = edges.reshape(-1, 2)
    first, last = max(runs.tolist(), key=lambda run: run[1] - run[0], default=(0, 0))
    if grid.position is None:
        first += round(_SETTLED / period)
    seconds = (last - first) * period
    if seconds < 2.0:
        raise ValueError(
            f"{grid.path}: expected at least 2 s in the air (a mean duty cycle above "
            f"{_MEAN_DUTY:.0%}"
            + ("" if grid.position is None else f", {ON_THE_GROUND:g} m above the ground")
            + f"), got {max(seconds, 0.0):.2f} s of a log of {grid.time[-1] - grid.time[0]:.2f} s; "
            "a longer flight would do"
        )
    _check_force(grid, int(first), int(last))
    _check_rates(grid, period, int(first), int(last))
    return int(first), int(last)


def check_voltage(grid: Flight, rows: tuple[int, int], nominal: float) -> None:
    """Raises ValueError where the recorded voltage cannot be that of a battery of `nominal` [V]."""
    if grid.voltage is None or nominal <= 0.0:
        return
    voltage = float(np.mean(grid.voltage[rows[0] : rows[1]]))
    if not nominal / _VOLTAGES_ALIKE <= voltage <= nominal * _VOLTAGES_ALIKE:
        raise ValueError(
            f"{grid.path}: expected about {nominal:.3g} V, the vehicle's battery, its mean in the "
            f"air is {voltage:.4g}; set scale of voltage, leave it out of the mapping, or set "
            f"battery.nominal_voltage of the guess"
        )


def _check_force(grid: Flight, first: int, last: int) -> None:
    force = float(np.mean(grid.specific_force[first:last, 2]))
    least, most = _FORCE_IN_FLIGHT
    if not least <= force <= most:
        advice = (
            "down = true is for frames that look down" if force < 0.0 else "9.81 m/s^2 are one g"
        )
        raise ValueError(
            f"{grid.path}: expected a specific force along body z, up, of {least:g} to {most:g} "
            f"m/s^2 in the air, its mean is {force:.3g}; map the columns in this unit and frame: "
            f"{advice}"
        )


def _check_rates(grid: Flight, period: float, first: int, last: int) -> None:
    """Raises ValueError if the attitude is inconsistent with the body rates."""
    if grid.attitude is None:
        return
    reach = max(1, round(_TURNED_OVER / period))
    before, after = grid.attitude[first : last - reach], grid.attitude[first + reach : last]
    w, x, y, z = before.T
    inverse = np.stack([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    turned = np.einsum("ijk,kj->ki", inverse, after)
    turned = 2.0 * np.sign(turned[:, :1]) * turned[:, 1:] / (reach * period)
    total = np.cumsum(grid.body_rates[first:last], axis=0)
    said = (total[reach:] - total[:-reach]) / reach
    for k, axis in enumerate("xyz"):
        if np.std(turned[:, k]) < _TURNING:
            continue
        ratio = float(np.cov(turned[:, k], said[:, k])[0, 1] / np.var(turned[:, k]))
        if not _RATES_ALIKE[0] <= ratio <= _RATES_ALIKE[1]:
            raise ValueError(
                f"{grid.path}: expected body rates that go with the attitude, those about {axis} "
                f"are {ratio:.3g} times as large as it turns; map them in rad/s and in body axes, "
                f"forward left up (down = true is for others), and the quaternion as w x y z, body "
                f"to world"
            )


def windows(
    grid: Flight, period: float, rows: tuple[int, int], length: float, every: float
) -> Windows:
    """Windows of `length` [s] that start `every` [s] between two rows.

    Raises ValueError where there is no room for one.
    """
    samples = max(2, round(length / period))
    stride = max(1, round(every / period))
    starts = np.arange(rows[0], rows[1] - samples, stride, dtype=np.intp)
    if len(starts) == 0:
        raise ValueError(
            f"{grid.path}: expected {length:g} s in the air for a window, got "
            f"{(rows[1] - rows[0]) * period:.3g} s; a longer flight, or a larger share, would do"
        )
    return Windows(grid, period, starts, samples)


def _inverse_root(covariance: Array) -> Array:
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def _less(flown: Array, measured: Array) -> Array:
    """Values less what was measured; derivatives, which are behind them, as they are."""
    difference = flown.copy()
    difference[0] -= measured
    return difference


def _whitened(whitening: Array, difference: Array) -> Array:
    """(1 + V, W, 3 J) of (1 + V, W, J, 3)."""
    white = np.swapaxes(difference, -1, -2) @ whitening.T
    return np.asarray(white.reshape(*white.shape[:2], -1))


class Forces:
    """Residuals of position and velocity with measured attitude."""

    attitude_given = True
    record = ("position", "velocity")

    def __init__(
        self, grid: Flight, period: float, rows: tuple[int, int], noise: Noise, every: float = 0.25
    ) -> None:
        self.windows = windows(grid, period, rows, _GIVEN_LENGTH, every)
        step = max(1, round(0.05 / period))
        self.picked = np.arange(step - 1, self.windows.samples, step)
        t = (self.picked + 1.0) * period
        one, none = np.ones_like(t), np.zeros_like(t)
        starts = [(np.r_[one, none], noise.position), (np.r_[t, one], noise.velocity)]
        starts.append((np.r_[0.5 * t * t, t], noise.push))
        covariance = np.diag(np.r_[one * noise.position, one * noise.velocity] ** 2)
        for effect, deviation in starts:
            covariance += deviation**2 * np.outer(effect, effect)
        self.whitening = _inverse_root(covariance)
        self.run = 2 * len(t)
        measured = self.windows.rows[:, self.picked]
        assert grid.position is not None
        assert grid.velocity is not None
        self.position, self.velocity = grid.position[measured], grid.velocity[measured]

    def residuals(self, flown: Flown) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        difference = np.concatenate(
            [
                _less(flown.position[:, :, self.picked], self.position),
                _less(flown.velocity[:, :, self.picked], self.velocity),
            ],
            axis=2,
        )
        return _whitened(self.whitening, difference)


class Rates:
    """Body rates and vertical specific force, all left to itself."""

    attitude_given = False
    record = ("body_rates", "specific_force")

    def __init__(
        self, grid: Flight, period: float, rows: tuple[int, int], noise: Noise, every: float = 0.1
    ) -> None:
        self.windows = windows(grid, period, rows, max(_FREE_LENGTH, 6.0 * period), every)
        step = max(1, round(0.01 / period))
        self.picked = np.arange(step - 1, self.windows.samples, step)
        t = (self.picked + 1.0) * period
        covariance = np.diag(np.full(len(t), noise.body_rates**2)) + noise.body_rates**2
        covariance += noise.twist**2 * np.minimum.outer(t, t)
        self.whitening = _inverse_root(covariance)
        self.run = len(t)
        self.force_noise = noise.specific_force
        self.cutoff = grid.accelerometer_cutoff
        measured = self.windows.rows[:, self.picked]
        self.body_rates = grid.body_rates[measured]
        self.force = grid.specific_force[measured][..., 2]

    def vertical_force(self, flown: Flown) -> Array:
        """(1 + V, W, H) m/s^2, as the sensor with its low-pass shows it."""
        force = flown.specific_force[..., 2]
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

    def residuals(self, flown: Flown) -> Array:
        """(1 + V, W, M), whitened: residuals, and their derivatives for each of V unknowns."""
        rates = _less(flown.body_rates[:, :, self.picked], self.body_rates)
        force = _less(self.vertical_force(flown)[..., self.picked], self.force) / self.force_noise
        return np.concatenate([_whitened(self.whitening, rates), force], axis=-1)
