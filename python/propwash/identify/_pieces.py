"""What a flight is cut into for the fit, and what is compared in each piece.

Two kinds of windows. With the attitude given, the motion of 1 s tells forces. Left to itself, that
of 0.1 s tells torques, and with it everything that has to do with how fast a rotor answers.

The state at the start of a window is a measurement and has noise, and the air pushes: both add to
the differences of a window what is alike over it, or grows with it. `whitening` divides that out,
which is the same as to free the initial states with the measured ones for priors, for as long as
they enter linearly; and leaves residuals that are near to white.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.flights import Flight
from propwash.identify._shooting import Flown, Windows

Array = NDArray[np.float64]

ON_THE_GROUND = 0.1
"""m above the lowest height of the first second, below which the vehicle is taken to stand."""
_MEAN_DUTY = 0.25
_SETTLED = 1.0
_FORGOTTEN = 0.5
_GIVEN_LENGTH = 1.0
_FREE_LENGTH = 0.1


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


def flying_rows(grid: Flight, period: float) -> tuple[int, int]:
    """First row and the one after the last of the longest time in the air.

    Raises ValueError where the flight is not 2 s long.
    """
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
    return int(first), int(last)


def windows(
    grid: Flight, period: float, rows: tuple[int, int], length: float, every: float
) -> Windows:
    """Windows of `length` [s] that start `every` [s] between two rows."""
    samples = max(2, round(length / period))
    stride = max(1, round(every / period))
    starts = np.arange(rows[0], rows[1] - samples, stride, dtype=np.intp)
    return Windows(grid, period, starts, samples)


def _inverse_root(covariance: Array) -> Array:
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


class Forces:
    """Position and velocity with the attitude given."""

    attitude_given = True

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
        """(P, W, M), whitened."""
        difference = np.concatenate(
            [
                flown.position[:, :, self.picked] - self.position,
                flown.velocity[:, :, self.picked] - self.velocity,
            ],
            axis=2,
        )
        white = np.einsum("ij,pwjc->pwci", self.whitening, difference)
        return np.asarray(white.reshape(*white.shape[:2], -1))


class Rates:
    """Body rates and vertical specific force, all left to itself."""

    attitude_given = False

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
        """(P, W, H) m/s^2, as the sensor with its low-pass shows it."""
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
        """(P, W, M), whitened."""
        difference = flown.body_rates[:, :, self.picked] - self.body_rates
        white = np.einsum("ij,pwjc->pwci", self.whitening, difference)
        force = (self.vertical_force(flown)[..., self.picked] - self.force) / self.force_noise
        return np.concatenate([white.reshape(*white.shape[:2], -1), force], axis=-1)
