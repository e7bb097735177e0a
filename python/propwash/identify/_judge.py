"""How well an identified vehicle predicts what it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.identify import _fit
from propwash.identify._pieces import Forces, Noise, Rates, flying_rows
from propwash.identify._problem import prepare, usable
from propwash.identify._shooting import Flyer, fly
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

GIVEN_HORIZONS = (0.25, 0.5, 1.0)
"""s, of the predictions with the attitude given."""
FREE_HORIZONS = (0.05, 0.1)
"""s, of body rates left to themselves."""


@dataclass(frozen=True)
class Score:
    """Errors of one quantity at one horizon, on flights or parts of them that were not fitted.

    quantity, unit: what was predicted.
    """

    quantity: str
    unit: str
    horizon: float
    """s."""
    errors: tuple[Array, ...]
    """Of each log, (W,)."""

    @property
    def median(self) -> float:
        """Over all windows of all logs."""
        return float(np.median(np.concatenate(self.errors)))

    @property
    def most(self) -> float:
        """What 90 % of all windows stay below."""
        return float(np.percentile(np.concatenate(self.errors), 90))


def _given(piece: Forces, flyer: Flyer) -> dict[str, Array]:
    windows = piece.windows
    flown = fly(windows, flyer, True)
    flight, rows = windows.flight, windows.rows
    assert flight.position is not None
    assert flight.velocity is not None
    force = flown.specific_force[0][..., 2] - flight.specific_force[rows][..., 2]
    return {
        "position, attitude given": np.linalg.norm(
            flown.position[0] - flight.position[rows], axis=-1
        ),
        "velocity, attitude given": np.linalg.norm(
            flown.velocity[0] - flight.velocity[rows], axis=-1
        ),
        "vertical specific force, attitude given": np.abs(force),
    }


def _free(piece: Rates, flyer: Flyer) -> dict[str, Array]:
    windows = piece.windows
    flown = fly(windows, flyer, False)
    flight, rows = windows.flight, windows.rows
    force = piece.vertical_force(flown)[0] - flight.specific_force[rows][..., 2]
    return {
        "body rates": np.linalg.norm(flown.body_rates[0] - flight.body_rates[rows], axis=-1),
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
    """Fits all logs but one and predicts that one, for each; the logs have poses.

    parameters, noise: as `identify.fit_vehicle` takes them.

    Raises ValueError for less than two logs, or as `identify.fit_vehicle` does.
    """
    if len(logs) < 2:
        raise ValueError(f"logs: expected at least two to leave one out, got {len(logs)}")
    for log in logs:
        if not usable(log)[0]:
            raise ValueError(
                f"{log.path}: expected a log with position, velocity and attitude; take `hold_out` "
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
        errors.append((model.period, _given(piece, flyer)))
    return _scores(errors, GIVEN_HORIZONS)


def hold_out(
    logs: Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    share: float = 0.6,
    threads: int = 0,
    *,
    parameters: Sequence[str] | None = None,
    noise: Noise | None = None,
) -> list[Score]:
    """Fits the first `share` of each flight and predicts the rest: rates and vertical force.

    parameters, noise: as `identify.fit_vehicle` takes them.

    Raises ValueError for logs of commands and motion by different clocks, or as
    `identify.fit_vehicle` does.
    """
    for log in logs:
        if not usable(log)[1]:
            raise ValueError(
                f"{log.path}: expected commands and motion by one clock at 80 Hz or more; take "
                f"`leave_one_out` for logs of poses"
            )
    if not 0.05 <= share <= 0.95:
        raise ValueError(f"share: expected a number from 0.05 to 0.95, got {share!r:.50}")
    found = _fit.fit_vehicle(
        logs, guess, parameters=parameters, share=share, noise=noise, threads=threads
    )
    weights = noise or Noise()
    errors = []
    for own in found.logs:
        period = float(own.flight.time[1] - own.flight.time[0])
        # an attitude that was observed has no heading: it need not go with the body rates
        first, last = flying_rows(replace(own.flight, attitude=None), period)
        rest = first + int(share * (last - first)), last
        piece = Rates(own.flight, period, rest, weights, every=0.05)
        errors.append((period, _free(piece, Flyer(own.vehicle, own.voltage))))
    return _scores(errors, FREE_HORIZONS)


def table(scores: Sequence[Score]) -> str:
    """Medians and 90th percentiles, as text."""
    lines = [f"{'':48s}{'ahead':>8s}{'median':>9s}{'90 %':>9s}   medians of the logs"]
    for score in scores:
        each = ", ".join(f"{np.median(e):.3f}" for e in score.errors)
        lines.append(
            f"{f'{score.quantity} [{score.unit}]':48s}{f'{score.horizon:g} s':>8s}"
            f"{score.median:9.3f}{score.most:9.3f}   {each}"
        )
    return "\n".join(lines)
