"""Simulated responses to steps of the commanded body rate."""

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
    """Figures of merit of a step response; NaN for levels that are not reached."""

    rise_time: float
    """s, from 10 % to 90 % of the step."""
    overshoot: float
    """Fraction of the step: 0.1 is 10 %."""
    settling_time: float
    """s, after which the response stays within the band around the step, by default 2 %."""
    final: float
    """Final value as a fraction of the step: the mean of the last tenth."""


@dataclass(frozen=True, eq=False)
class StepResponse:
    """Simulated response to a step of one body rate."""

    time: Array
    """(T,) s since the step."""
    rate: Array
    """(T,) rad/s, about the commanded axis."""
    rates: Array
    """(T, 3) rad/s."""
    rotor_command: Array
    """(T, N) rad/s."""
    axis: int
    """0, 1 or 2: x, y or z."""
    amplitude: float
    """Height of the step [rad/s]."""
    figures: StepFigures


def milliseconds(time: float, duration: float) -> str:
    """Formats a time [s] of a step response, NaN as not within the simulated duration [s]."""
    return f"{1e3 * time:.0f} ms" if math.isfinite(time) else f"not in {1e3 * duration:.0f} ms"


def step_figures(
    time: ArrayLike, response: ArrayLike, amplitude: float, band: float = 0.02
) -> StepFigures:
    """Computes the figures of a response (T,) to a step of `amplitude` at time 0.

    time: (T,) s. band: Settling band as a fraction of the step. A response that is not finite
    gives NaN and infinite overshoot. Raises ValueError for arrays of different lengths.
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
        raise ValueError(f"band: expected a fraction in (0, 1), got {band!r}")
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
    if i == 0:  # from zero at time 0
        return float(t[0] * level / y[0])
    return float(np.interp(level, y[i - 1 : i + 1], t[i - 1 : i + 1]))


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
    """Simulates a step of one commanded body rate from hover with the full vehicle model.

    Args:
        vehicle: Name, TOML file or parameters.
        axis: 0, 1, 2 for x, y, z.
        amplitude: Height of the step [rad/s].
        duration: Simulated time [s].
        dt: Time step [s].
        integrator: "rk4" or "euler".
        noise: Whether to simulate process and IMU noise.
        seed: Seed of the noise.
        band: Settling band as a fraction of the step; with noise 0.05 is recommended.

    Raises ValueError for invalid arguments, ParameterError for a vehicle without rate controller.
    """
    if axis not in (0, 1, 2):
        raise ValueError(f"axis: expected 0, 1 or 2, got {axis!r}")
    if not (math.isfinite(duration) and duration >= 20.0 * dt):
        raise ValueError(f"duration: expected at least 20 steps of dt [s], got {duration!r}")
    parameters = vehicles.load(vehicle)
    uav = Multicopter(vehicle, integrator=integrator, seed=seed, noise=noise)
    rates = np.zeros(3)
    rates[axis] = amplitude
    recorded = uav.rollout(RateThrust(rates, parameters.weight), dt, steps=round(duration / dt))
    rate = recorded.body_rates[:, axis]
    return StepResponse(
        recorded.time,
        rate,
        recorded.body_rates,
        recorded.rotor_command,
        axis,
        amplitude,
        step_figures(recorded.time, rate, amplitude, band),
    )
