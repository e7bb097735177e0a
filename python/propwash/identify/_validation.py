"""Prediction errors of an identified vehicle on flights that were not fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.identify import _fit
from propwash.identify._estimates import Identified, LogEstimate
from propwash.identify._parameters import THRUST
from propwash.identify._pieces import Noise
from propwash.identify._predict import HORIZONS, UNITS, Prediction, distance, measured_at, predict
from propwash.identify._problem import Grid, Scatter, gridded, unidentifiable
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_PAPERS = ("torque", "rotor_inertia", "inertia_x", "inertia_y")
_SHORTEST = 1.2
"""s, for a calibration."""
_CALIBRATED = 0.6
"""Maximum fraction of a flight for its calibration."""


@dataclass(frozen=True)
class Score:
    """Prediction errors of one quantity at one horizon by one model, on validation data.

    quantity, unit: of the prediction; "measured attitude" if that was inserted.
    """

    model: str
    """"fitted", "calibrated", "papers' model" or "constant velocity"."""
    quantity: str
    unit: str
    horizon: float
    """Duration of a prediction [s]."""
    errors: dict[str, Array]
    """For each log, by its file's stem, the (W,) errors of its windows."""

    @property
    def median(self) -> float:
        """Median over all windows of all logs."""
        return float(np.median(np.concatenate([*self.errors.values()])))

    @property
    def percentile_90(self) -> float:
        """90th percentile over all windows of all logs."""
        return float(np.percentile(np.concatenate([*self.errors.values()]), 90))


class _Collected:
    """Errors by model, quantity and horizon."""

    def __init__(self, horizons: Sequence[float]) -> None:
        self._horizons = horizons
        self._scores: dict[tuple[str, str, float], Score] = {}

    def add(self, model: str, name: str, prediction: Prediction) -> None:
        """Adds the errors of a prediction of the log `name`."""
        for quantity, errors in prediction.errors.items():
            how = ", measured attitude" if prediction.attitude else ""
            for k, horizon in enumerate(self._horizons):
                key = (model, quantity + how, horizon)
                new = Score(*key[:2], UNITS[quantity], horizon, {})
                self._scores.setdefault(key, new).errors[name] = errors[:, k]

    def scores(self) -> list[Score]:
        """Returns the scores, by quantity, horizon and model."""
        order = {name: k for k, name in enumerate(UNITS)}
        return sorted(
            self._scores.values(),
            key=lambda s: (
                "measured" in s.quantity,
                order[s.quantity.partition(",")[0]],
                s.horizon,
            ),
        )


def _predict_all(
    collected: _Collected,
    name: str,
    log: Flight,
    starts: Array,
    horizons: Sequence[float],
    models: dict[str, VehicleParameters | Identified | LogEstimate],
    threads: int,
) -> None:
    for attitude in (None, "measured") if log.has_pose else (None,):
        for model, vehicle in models.items():
            predicted = predict(vehicle, log, starts, horizons, attitude, threads=threads)
            collected.add(model, name, predicted)
        collected.add("constant velocity", name, _constant_velocity(predicted))


def _constant_velocity(prediction: Prediction) -> Prediction:
    """Returns the prediction by the velocity, body rates and specific force of each start."""
    flight = prediction.flight
    rows = np.searchsorted(flight.time, prediction.starts - 1e-9)
    ahead = prediction.horizons[:, np.newaxis]
    held = {name: values[:, np.newaxis] for name, values in measured_at(flight, rows).items()}
    values = {name: np.broadcast_to(held[name], m.shape) for name, m in prediction.measured.items()}
    if "position" in values:
        values["position"] = held["position"] + ahead * held["velocity"]
    if "attitude" in values:
        values["attitude"] = _turned(held["attitude"], ahead * held["body rates"])
    errors = {name: distance(name, v, prediction.measured[name]) for name, v in values.items()}
    return Prediction(
        flight,
        prediction.vehicle,
        prediction.starts,
        prediction.horizons,
        prediction.attitude,
        values,
        prediction.measured,
        errors,
    )


def _turned(attitude: Array, angle: Array) -> Array:
    """Returns attitudes (…, 4) turned by rotation vectors (…, 3) in the body frame [rad]."""
    half = 0.5 * np.linalg.norm(angle, axis=-1, keepdims=True)
    w, v = np.cos(half), 0.5 * np.sinc(half / np.pi) * angle
    w0, v0 = attitude[..., :1], attitude[..., 1:]
    real = w0 * w - np.sum(v0 * v, axis=-1, keepdims=True)
    return np.concatenate([real, w0 * v + w * v0 + np.cross(v0, v)], axis=-1)


def papers_model(guess: VehicleParameters) -> VehicleParameters:
    """Returns the guess with the terms of the FlightGoggles papers only.

    One time constant for each motor, its mean; no delay, offset of speeds, rotor drag, blow-back.
    """
    up, down = guess.motor_values("time_constant_up"), guess.motor_values("time_constant_down")
    mean = float(np.mean([*up, *down]))
    return guess.replace(
        motor={
            "time_constant_up": mean,
            "time_constant_down": mean,
            "speed_offset": 0.0,
            "command_delay": 0.0,
        },
        rotor_drag={"linear": (0.0, 0.0, 0.0), "blow_back": 0.0},
    )


def _starts(grid: Grid, fitted: Grid, horizons: Sequence[float]) -> Array:
    """Returns the starts of windows after the rows that are fitted. Raises ValueError for none."""
    if len(horizons) == 0:
        raise ValueError("horizons: expected at least one")
    time = grid.flight.time
    first, last = float(time[fitted.rows[1] - 1]), float(time[grid.rows[1] - 1])
    starts = np.arange(first, last - horizons[-1], 0.1)
    if not len(starts):
        raise ValueError(
            f"{grid.flight.path}: expected more than {horizons[-1]:g} s in the air after the part "
            f"that is fitted, got {last - first:.3g} s; use a longer flight or shorter horizons"
        )
    return starts


def _first(grid: Grid, seconds: float, horizons: Sequence[float]) -> tuple[float, Array]:
    """Returns the time of the calibration [s] and the starts of windows after it."""
    first = max(_SHORTEST, min(seconds, _CALIBRATED * grid.seconds))
    return first, _starts(grid, grid.first(seconds=first), horizons)


def leave_one_out(
    logs: Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    threads: int = 0,
    *,
    seconds: float = 8.0,
    horizons: Sequence[float] = HORIZONS,
    parameters: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    noise: Noise | None = None,
    scatter: Scatter | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> list[Score]:
    """Predicts each log by a fit of all others.

    Four models predict the same windows: the fitted vehicle, the same one calibrated on the first
    `seconds` (at most 60 %) of the flight, the papers' model fitted to the same logs, and constant
    velocity. The windows begin after the calibration.

    guess, threads, parameters, groups, noise, scatter: as for `identify.fit_vehicle`. A log is
        predicted by the result for its vehicle, if that flew another log.
    seconds: for the calibration.
    horizons: s, increasing.
    progress: is called with a message before each fit.

    Raises ValueError for fewer than two logs and for one that is too short, and the exceptions of
    `identify.fit_vehicle`.
    """
    logs = _fit.checked(logs)
    if len(logs) < 2:
        raise ValueError(f"logs: expected at least two to leave one out, got {len(logs)}")
    start = vehicles.load(guess)
    names = _stems(logs)
    collected = _Collected(horizons)
    _fit.checked_groups(groups, logs)
    parts = [_first(gridded(log, start), seconds, horizons) for log in logs]
    for k, (log, (first, starts)) in enumerate(zip(logs, parts, strict=True)):
        progress(f"{names[k]}: fitting the other {len(logs) - 1}")
        rest = [*logs[:k], *logs[k + 1 :]]
        others = None if groups is None else [*groups[:k], *groups[k + 1 :]]
        found = _fit.fit_vehicle(
            rest,
            start,
            parameters=parameters,
            groups=others,
            noise=noise,
            scatter=scatter,
            threads=threads,
        )
        if groups is not None:
            found = found.groups.get(groups[k], found)
        papers = _fit_papers(rest, start, noise, scatter, threads)
        calibrated = _fit.calibrate(
            found, log, first, noise=noise, scatter=scatter, threads=threads
        )
        models: dict[str, VehicleParameters | Identified | LogEstimate] = {
            "fitted": found,
            "calibrated": calibrated,
            "papers' model": papers,
        }
        _predict_all(collected, names[k], log, starts, horizons, models, threads)
    return collected.scores()


def _fit_papers(
    logs: Sequence[Flight],
    guess: VehicleParameters,
    noise: Noise | None,
    scatter: Scatter | None,
    threads: int,
) -> VehicleParameters:
    papers = papers_model(guess)
    names = [name for name in (THRUST[0], *_PAPERS) if not unidentifiable(name, logs, papers)]
    found = _fit.fit_vehicle(
        logs, papers, parameters=names, noise=noise, scatter=scatter, threads=threads
    )
    return found.vehicle


def hold_out(
    logs: Flight | Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    fraction: float = 0.6,
    threads: int = 0,
    *,
    horizons: Sequence[float] = HORIZONS,
    parameters: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    noise: Noise | None = None,
    scatter: Scatter | None = None,
) -> list[Score]:
    """Fits the first `fraction` of each flight and predicts the rest, as constant velocity does.

    guess, threads, parameters, groups, noise, scatter: as for `identify.fit_vehicle`. horizons: s.

    Raises ValueError for an invalid fraction and for a log that is too short, and the exceptions of
    `identify.fit_vehicle`.
    """
    if not 0.05 <= fraction <= 0.95:
        raise ValueError(f"fraction: expected a number from 0.05 to 0.95, got {fraction!r:.50}")
    logs = _fit.checked(logs)
    start = vehicles.load(guess)
    grids = [gridded(log, start) for log in logs]
    starts = [_starts(grid, grid.first(fraction), horizons) for grid in grids]
    found = _fit.fit_vehicle(
        logs,
        start,
        parameters=parameters,
        fraction=fraction,
        groups=groups,
        noise=noise,
        scatter=scatter,
        threads=threads,
    )
    collected = _Collected(horizons)
    names = _stems(logs)
    for name, log, after, estimate in zip(names, logs, starts, found.logs, strict=True):
        _predict_all(collected, name, log, after, horizons, {"fitted": estimate}, threads)
    return collected.scores()


def _stems(logs: Sequence[Flight]) -> list[str]:
    """Returns a name for each log, without duplicates."""
    stems = [log.path.stem for log in logs]
    return [f"{s} {k + 1}" if stems.count(s) > 1 else s for k, s in enumerate(stems)]


def table_rows(scores: Sequence[Score]) -> list[list[str]]:
    """Returns medians and 90th percentiles of each model; the first row has the heads."""
    models = list(dict.fromkeys(score.model for score in scores))
    cells: dict[tuple[str, str, float], dict[str, str]] = {}
    for s in scores:
        row = cells.setdefault((s.quantity, s.unit, s.horizon), {})
        row[s.model] = f"{s.median:.3f} / {s.percentile_90:.3f}"
    rows = [
        [f"{quantity} [{unit}]", f"{horizon:g} s", *(row.get(model, "-") for model in models)]
        for (quantity, unit, horizon), row in cells.items()
    ]
    return [["", "ahead", *models], *rows]


def table(scores: Sequence[Score]) -> str:
    """Returns medians and 90th percentiles of each model as text."""
    head, *rows = table_rows(scores)
    units = ["", "", *["median / 90 %"] * (len(head) - 2)]
    return "\n".join(
        f"{name:52s}{ahead:>8s}" + "".join(f"{cell:>20s}" for cell in cells)
        for name, ahead, *cells in (head, units, *rows)
    )
