"""How well an identified vehicle predicts what it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.flights import Flight
from propwash.identify import _fit
from propwash.identify._pieces import Forces, Noise, Rates, flying_rows
from propwash.identify._problem import prepare
from propwash.identify._shooting import Candidate, fly
from propwash.parameters import VehicleParameters, load_vehicle

Array = NDArray[np.float64]

GIVEN_HORIZONS = (0.25, 0.5, 1.0)
"""s, of the predictions with the attitude given."""
FREE_HORIZONS = (0.05, 0.1)
"""s, of body rates left to themselves."""


@dataclass(frozen=True)
class Score:
    """Errors of one quantity at one horizon, on flights or parts of them that were not fitted."""

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


def _given(piece: Forces, candidate: Candidate, voltage: Array | None) -> dict[str, Array]:
    windows = piece.windows
    flown = fly(windows, [candidate], [voltage], True)
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


def _free(piece: Rates, candidate: Candidate, voltage: Array | None) -> dict[str, Array]:
    windows = piece.windows
    flown = fly(windows, [candidate], [voltage], False)
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
) -> list[Score]:
    """Fits all logs but one and predicts that one, for each; the logs have poses.

    Raises ValueError for less than two logs, or as `identify.vehicle` does.
    """
    if len(logs) < 2:
        raise ValueError(f"logs: expected at least two to leave one out, got {len(logs)}")
    start = load_vehicle(guess)
    errors = []
    for k, log in enumerate(logs):
        if log.position is None:
            raise ValueError(f"{log.path}: expected a log with poses; take `hold_out` for others")
        found = _fit.vehicle([*logs[:k], *logs[k + 1 :]], start, threads=threads).vehicle
        model = prepare(log, start, Noise(), False)
        rows = flying_rows(model.flight, model.period)
        piece = Forces(model.flight, model.period, rows, Noise(), every=0.1)
        candidate = Candidate(found, found.motor.command_delay)
        errors.append((model.period, _given(piece, candidate, model.flight.voltage)))
    return _scores(errors, GIVEN_HORIZONS)


def hold_out(
    logs: Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    share: float = 0.6,
    threads: int = 0,
) -> list[Score]:
    """Fits the first `share` of each flight and predicts the rest: rates and vertical force.

    Raises ValueError as `identify.vehicle` does.
    """
    found = _fit.vehicle(logs, guess, share=share, threads=threads)
    errors = []
    for log in found.logs:
        period = float(log.flight.time[1] - log.flight.time[0])
        first, last = flying_rows(log.flight, period)
        rest = first + int(share * (last - first)), last
        piece = Rates(log.flight, period, rest, Noise(), every=0.05)
        candidate = Candidate(log.vehicle, log.vehicle.motor.command_delay)
        errors.append((period, _free(piece, candidate, log.voltage)))
    return _scores(errors, FREE_HORIZONS)


def table(scores: Sequence[Score]) -> str:
    """Medians and 90th percentiles, as text."""
    lines = [f"{'':42s}{'ahead':>8s}{'median':>9s}{'90 %':>9s}   medians of the logs"]
    for score in scores:
        each = ", ".join(f"{np.median(e):.3f}" for e in score.errors)
        lines.append(
            f"{f'{score.quantity} [{score.unit}]':42s}{f'{score.horizon:g} s':>8s}"
            f"{score.median:9.3f}{score.most:9.3f}   {each}"
        )
    return "\n".join(lines)
