"""Prediction errors of an identified vehicle on validation data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.identify import _fit
from propwash.identify._pieces import Forces, Noise, Rates, flying_rows
from propwash.identify._problem import prepare, usable
from propwash.identify._open_loop import Flyer, fly
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

FORCE_HORIZONS = (0.25, 0.5, 1.0)
"""s, of predictions with measured attitude."""
RATE_HORIZONS = (0.05, 0.1)
"""s, of predictions from the initial state alone."""


@dataclass(frozen=True)
class Score:
    """Prediction errors of one quantity at one horizon, on validation data.

    quantity, unit: of the prediction.
    """

    quantity: str
    unit: str
    horizon: float
    """s."""
    errors: tuple[Array, ...]
    """For each log the (W,) errors of its windows."""

    @property
    def median(self) -> float:
        """Median over all windows of all logs."""
        return float(np.median(np.concatenate(self.errors)))

    @property
    def percentile_90(self) -> float:
        """90th percentile over all windows of all logs."""
        return float(np.percentile(np.concatenate(self.errors), 90))


def _force_errors(piece: Forces, flyer: Flyer) -> dict[str, Array]:
    windows = piece.windows
    predicted = fly(windows, flyer, True)
    flight, rows = windows.flight, windows.rows
    assert flight.position is not None
    assert flight.velocity is not None
    force = predicted.specific_force[0][..., 2] - flight.specific_force[rows][..., 2]
    return {
        "position, measured attitude": np.linalg.norm(
            predicted.position[0] - flight.position[rows], axis=-1
        ),
        "velocity, measured attitude": np.linalg.norm(
            predicted.velocity[0] - flight.velocity[rows], axis=-1
        ),
        "vertical specific force, measured attitude": np.abs(force),
    }


def _rate_errors(piece: Rates, flyer: Flyer) -> dict[str, Array]:
    windows = piece.windows
    predicted = fly(windows, flyer, False)
    flight, rows = windows.flight, windows.rows
    force = piece.vertical_force(predicted)[0] - flight.specific_force[rows][..., 2]
    return {
        "body rates": np.linalg.norm(predicted.body_rates[0] - flight.body_rates[rows], axis=-1),
        "vertical specific force": np.abs(force),
    }


_UNITS = {"position": "m", "velocity": "m/s", "body rates": "rad/s", "vertical": "m/s^2"}


def _scores(
    errors: Sequence[tuple[float, dict[str, Array]]], horizons: Sequence[float]
) -> list[Score]:
    scores = []
    for quantity in errors[0][1]:
        unit = next(unit for name, unit in _UNITS.items() if quantity.startswith(name))
        for horizon in horizons:
            parts = tuple(found[quantity][:, round(horizon / h) - 1] for h, found in errors)
            scores.append(Score(quantity, unit, horizon, parts))
    return scores


def leave_one_out(
    logs: Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    threads: int = 0,
    *,
    parameters: Sequence[str] | None = None,
    noise: Noise | None = None,
) -> list[Score]:
    """Predicts each log by a fit of all others. The logs need position, velocity and attitude.

    guess, threads, parameters, noise: as for `identify.fit_vehicle`.

    Raises ValueError for fewer than two logs and for a log without poses, and the exceptions of
    `identify.fit_vehicle`.
    """
    if len(logs) < 2:
        raise ValueError(f"logs: expected at least two to leave one out, got {len(logs)}")
    for log in logs:
        if not usable(log)[0]:
            raise ValueError(
                f"{log.path}: expected a log with position, velocity and attitude; use `hold_out` "
                f"for others"
            )
    start = vehicles.load(guess)
    weights = noise or Noise()
    errors = []
    for k, log in enumerate(logs):
        rest = [*logs[:k], *logs[k + 1 :]]
        found = _fit.fit_vehicle(rest, start, parameters=parameters, noise=noise, threads=threads)
        model = prepare(log, start, weights, False)
        rows = flying_rows(model.flight, model.period)
        piece = Forces(model.flight, model.period, rows, weights, every=0.1)
        flyer = Flyer(found.vehicle, model.flight.voltage)
        errors.append((model.period, _force_errors(piece, flyer)))
    return _scores(errors, FORCE_HORIZONS)


def hold_out(
    logs: Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    fraction: float = 0.6,
    threads: int = 0,
    *,
    parameters: Sequence[str] | None = None,
    noise: Noise | None = None,
) -> list[Score]:
    """Fits the first `fraction` of each flight; predicts body rates and vertical force of the rest.

    guess, threads, parameters, noise: as for `identify.fit_vehicle`.

    Raises ValueError for an invalid fraction and for a log with several clocks or of less than
    80 Hz, and the exceptions of `identify.fit_vehicle`.
    """
    for log in logs:
        if not usable(log)[1]:
            raise ValueError(
                f"{log.path}: expected commands and motion with one clock at 80 Hz or more; use "
                f"`leave_one_out` for logs of poses"
            )
    if not 0.05 <= fraction <= 0.95:
        raise ValueError(f"fraction: expected a number from 0.05 to 0.95, got {fraction!r:.50}")
    found = _fit.fit_vehicle(
        logs, guess, parameters=parameters, fraction=fraction, noise=noise, threads=threads
    )
    weights = noise or Noise()
    errors = []
    for estimate in found.logs:
        period = float(estimate.flight.time[1] - estimate.flight.time[0])
        # an estimated attitude has no heading and may be inconsistent with the body rates
        first, last = flying_rows(replace(estimate.flight, attitude=None), period)
        rest = first + int(fraction * (last - first)), last
        piece = Rates(estimate.flight, period, rest, weights, every=0.05)
        errors.append((period, _rate_errors(piece, Flyer(estimate.vehicle, estimate.voltage))))
    return _scores(errors, RATE_HORIZONS)


def table(scores: Sequence[Score]) -> str:
    """Returns medians and 90th percentiles as text."""
    lines = [f"{'':48s}{'ahead':>8s}{'median':>9s}{'90 %':>9s}   medians of the logs"]
    for score in scores:
        medians = ", ".join(f"{np.median(e):.3f}" for e in score.errors)
        lines.append(
            f"{f'{score.quantity} [{score.unit}]':48s}{f'{score.horizon:g} s':>8s}"
            f"{score.median:9.3f}{score.percentile_90:9.3f}   {medians}"
        )
    return "\n".join(lines)
