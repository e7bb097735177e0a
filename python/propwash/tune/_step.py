"""Steps of the commanded rate, flown by the vehicle itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from propwash._core import RateThrust
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array, Integrator, Multicopter
from propwash.vehicle.parameters import VehicleParameters


@dataclass(frozen=True)
class StepFigures:
    """What a step response is judged by. NaN where it never gets there."""

    rise_time: float
    """s, from 10 % to 90 % of the step."""
    overshoot: float
    """Of the step, 0.1 is 10 %; 0 where there is none."""
    settling_time: float
    """s, after which it stays within the band about the step, 2 % where nothing else is said."""
    final: float
    """Share of the step that is reached: the mean of the last tenth."""


@dataclass(frozen=True, eq=False)
class StepResponse:
    """A flown step of one rate."""

    time: Array
    """(T,) s, since the step."""
    rate: Array
    """(T,) rad/s, of the axis that was commanded."""
    rates: Array
    """(T, 3) rad/s."""
    rotor_command: Array
    """(T, N) rad/s."""
    axis: int
    """0, 1 or 2: x, y or z."""
    amplitude: float
    """rad/s, of the step."""
    figures: StepFigures


def milliseconds(time: float, flown: float) -> str:
    """A time [s] of a step response as text, or that it lies beyond the time flown [s]."""
    return f"{1e3 * time:.0f} ms" if math.isfinite(time) else f"> {1e3 * flown:.0f} ms"


def step_figures(
    time: ArrayLike, response: ArrayLike, amplitude: float, band: float = 0.02
) -> StepFigures:
    """Rise time, overshoot and settling of a response (T,) to a step of `amplitude` at time 0.

    band: of the settling, as a share of the step. A response that is not finite has no figures:
    NaN, and an infinite overshoot. Raises ValueError for arrays that do not match.
    """
    t = np.asarray(time, dtype=np.float64)
    y = np.asarray(response, dtype=np.float64)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 10:
        raise ValueError(
            f"response: expected as many values as times, at least 10, got {y.shape} and {t.shape}"
        )
    if amplitude == 0.0 or not math.isfinite(amplitude):
        raise ValueError(f"amplitude: expected a finite number that is not 0, got {amplitude!r}")
    if not 0.0 < band < 1.0:
        raise ValueError(f"band: expected a share in (0, 1), got {band!r}")
    if not np.isfinite(y).all():
        return StepFigures(math.nan, math.inf, math.nan, math.nan)
    y = y / amplitude
    low, high = (_first_time(t, y, level) for level in (0.1, 0.9))
    outside = np.flatnonzero(np.abs(y - 1.0) > band)
    settled = 0.0 if not len(outside) else math.nan
    if len(outside) and outside[-1] + 1 < len(t):
        settled = float(t[outside[-1] + 1])
    last = y[-max(1, len(y) // 10) :]
    return StepFigures(high - low, max(0.0, float(y.max()) - 1.0), settled, float(last.mean()))


def _first_time(t: Array, y: Array, level: float) -> float:
    reached = np.flatnonzero(y >= level)
    if not len(reached):
        return math.nan
    i = int(reached[0])
    if i == 0:  # from nothing at time 0
        return float(t[0] * level / y[0])
    share = (level - y[i - 1]) / (y[i] - y[i - 1])
    return float(t[i - 1] + share * (t[i] - t[i - 1]))


def step_response(
    vehicle: str | PathLike[str] | VehicleParameters,
    axis: int = 0,
    amplitude: float = 0.5,
    duration: float = 1.0,
    *,
    dt: float = DEFAULT_DT,
    integrator: Integrator = "rk4",
    noise: bool = False,
    seed: int = 0,
    band: float = 0.02,
) -> StepResponse:
    """Flies a step of one commanded body rate from hover: limits, lag, delay, all that there is.

    axis: 0, 1, 2 for x, y, z. amplitude: rad/s. duration: s. noise: with process and IMU noise.
    band: of the settling, as a share of the step; under noise 0.05 is wiser.
    Raises ValueError for what cannot be, ParameterError for a vehicle that cannot be flown so.
    """
    if axis not in (0, 1, 2):
        raise ValueError(f"axis: expected 0, 1 or 2, got {axis!r}")
    if not (math.isfinite(duration) and duration >= 20.0 * dt):
        raise ValueError(f"duration: expected at least 20 steps of dt [s], got {duration!r}")
    parameters = vehicles.load(vehicle)
    uav = Multicopter(vehicle, integrator=integrator, seed=seed, noise=noise)
    rates = np.zeros(3)
    rates[axis] = amplitude
    flown = uav.rollout(RateThrust(rates, parameters.weight), dt, steps=round(duration / dt))
    rate = flown.body_rates[:, axis]
    return StepResponse(
        flown.time,
        rate,
        flown.body_rates,
        flown.rotor_command,
        axis,
        amplitude,
        step_figures(flown.time, rate, amplitude, band),
    )
