"""Predictions of a recorded flight from its motor commands and measured initial states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._checks import shown
from propwash.identify._bias import AccelerometerBias, fit_bias
from propwash.identify._estimates import Identified, LogEstimate
from propwash.identify._open_loop import Flyer, Windows, fly
from propwash.identify._pieces import accelerometer_low_pass
from propwash.identify._problem import Grid, gridded, without_bias
from propwash.logs import Flight, with_observed_motion
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

HORIZONS = (0.1, 0.25, 0.5, 1.0)
"""Prediction horizons at which errors are reported [s]."""
UNITS = {
    "position": "m",
    "velocity": "m/s",
    "attitude": "deg",
    "body rates": "rad/s",
    "vertical specific force": "m/s^2",
}
"""Units of the errors, by quantity."""
_SHORTEST = 0.5
"""s in the air."""


@dataclass(frozen=True)
class Prediction:
    """Predictions of S windows of a flight at H horizons, and their errors."""

    flight: Flight
    """On a uniform grid; with velocity and attitude if an observer estimated them."""
    vehicle: VehicleParameters
    starts: Array
    """(S,) s, of the log."""
    horizons: Array
    """(H,) s, after each start."""
    attitude: Literal["measured"] | None
    """Whether the measured attitude and body rates were inserted every 10 ms."""
    values: Mapping[str, Array]
    """Predicted, by quantity: `position`, `velocity` (S, H, 3), `attitude` (S, H, 4), `body rates`
    (S, H, 3), `vertical specific force` (S, H), which the accelerometer's low-pass has filtered."""
    measured: Mapping[str, Array]
    """The same, as recorded at these times."""
    errors: Mapping[str, Array]
    """(S, H) distances between predicted and measured, in the units of `UNITS`."""

    def error(self, quantity: str, horizon: float) -> Array:
        """Returns the errors (S,) of a quantity at a horizon [s].

        Raises ValueError for a quantity or horizon that was not predicted.
        """
        if quantity not in self.errors:
            raise ValueError(f"quantity: expected one of {', '.join(self.errors)}, got {quantity}")
        k = int(np.argmin(np.abs(self.horizons - horizon)))
        if abs(self.horizons[k] - horizon) > 0.51 * _period(self.flight):
            raise ValueError(
                f"horizon: expected one of {', '.join(f'{h:g}' for h in self.horizons)} s, got "
                f"{horizon:g}"
            )
        return self.errors[quantity][:, k]

    def table(self, horizons: Sequence[float] | None = None) -> str:
        """Returns medians and 90th percentiles of the errors as text; default: all horizons."""
        chosen = self.horizons if horizons is None else horizons
        lines = [
            f"{'':34s}" + "".join(f"{f'{h:g} s ahead':>19s}" for h in chosen),
            f"{'':34s}" + f"{'median / 90 %':>19s}" * len(chosen),
        ]
        for quantity in self.errors:
            cells = ""
            for horizon in chosen:
                median, high = np.percentile(self.error(quantity, horizon), [50, 90])
                cells += f"{f'{median:.3g} / {high:.3g}':>19s}"
            lines.append(f"  {f'{quantity} [{UNITS[quantity]}]':32s}{cells}")
        return "\n".join(lines)


def predict(
    vehicle: str | PathLike[str] | VehicleParameters | Identified | LogEstimate,
    log: Flight,
    starts: ArrayLike | None = None,
    horizons: ArrayLike = HORIZONS,
    attitude: Literal["measured"] | None = None,
    *,
    every: float = 0.1,
    threads: int = 0,
) -> Prediction:
    """Predicts windows of a flight from measured states and the recorded commands.

    Each window starts from the measured position, velocity, attitude and body rates; then the model
    receives only the motor commands, which the motors have followed from the first row of the log,
    or the measured rotor speeds of a log that has them.

    vehicle: a name, a file, parameters; the result of `fit_vehicle`, which adds the accelerometer's
        bias and what batteries have in common; or that of `calibrate` for this log, which adds its
        trims and battery.
    log: from `read_log`, or the flight of a `LogEstimate`. One without poses gets velocity and
        attitude from an observer
        (`with_observed_motion`), if the vehicle has rotor drag.
    starts: (S,) s, of the log; None for every `every` [s] in the air.
    horizons: (H,) s, after each start.
    attitude: None: predicted; "measured": measured attitude and rates are inserted every 10 ms, so
        that the errors are those of the forces.
    threads: as for `Fleet`.

    Raises ValueError for a log that cannot be used, a calibration of another one, for starts and
    horizons outside it and for
    "measured" without a recorded attitude, TypeError for another type of log, ParameterError for an
    invalid vehicle.
    """
    if not isinstance(log, Flight):
        raise TypeError(f"log: expected a FlightLog of identify.read_log(), got {log!r:.100}")
    if attitude not in (None, "measured"):
        raise ValueError(f"attitude: expected None or 'measured', got {shown(attitude)}")
    if attitude == "measured" and not log.has_pose:
        raise ValueError(
            f"{log.path}: attitude = 'measured' needs a log with position, velocity and attitude"
        )
    fitted = vehicle if isinstance(vehicle, Identified | LogEstimate) else None
    if isinstance(vehicle, Identified | LogEstimate):
        vehicle = vehicle.vehicle
    if isinstance(fitted, LogEstimate) and fitted.flight.path.name != log.path.name:
        raise ValueError(
            f"vehicle: expected the calibration of {log.path}, got that of {fitted.flight.path}; "
            f"calibrate on this log, or use `.vehicle` for the trims without the battery"
        )
    parameters = vehicles.load(vehicle)
    grid = gridded(log, parameters, _SHORTEST)
    ahead = _checked_horizons(horizons, grid)
    rows = _start_rows(starts, every, grid, int(ahead[-1]))
    has_bias = not (isinstance(fitted, LogEstimate) and log is fitted.flight)
    flight, voltage = prepared(grid, parameters, fitted, has_bias)
    windows = Windows(flight, grid.period, rows, int(ahead[-1]))
    flown = fly(windows, Flyer(parameters, voltage), attitude == "measured", threads)
    force = accelerometer_low_pass(
        flown.specific_force[0][..., 2], flight.accelerometer_cutoff, grid.period
    )
    at = ahead - 1
    values = {"body rates": flown.body_rates[0][:, at], "vertical specific force": force[:, at]}
    if log.has_pose:
        values["position"] = flown.position[0][:, at]
        values["velocity"] = flown.velocity[0][:, at]
        values["attitude"] = flown.attitude[0][:, at]
    if attitude == "measured":
        del values["body rates"], values["attitude"]
    measured = measured_at(flight, rows[:, np.newaxis] + ahead)
    return Prediction(
        flight,
        parameters,
        np.asarray(flight.time[rows]),
        np.asarray(ahead * grid.period, dtype=np.float64),
        attitude,
        values,
        {name: measured[name] for name in values},
        {name: distance(name, values[name], measured[name]) for name in UNITS if name in values},
    )


def prepared(
    grid: Grid,
    vehicle: VehicleParameters,
    fitted: Identified | LogEstimate | None,
    has_bias: bool,
) -> tuple[Flight, Array | None]:
    """Returns the flight without bias and with velocity and attitude, and its voltage."""
    flight = grid.flight
    bias: AccelerometerBias | None = None
    if fitted is not None:
        bias = fitted.bias if has_bias else None
    elif not flight.has_pose:
        bias = fit_bias([(flight, grid.rows)], vehicle)
    flight = with_observed_motion(without_bias(flight, bias), vehicle)
    if fitted is None or fitted.battery is None:
        return flight, flight.voltage
    start = float(flight.time[grid.rows[0]])
    if isinstance(fitted, LogEstimate):
        start = fitted.seconds[0]
    return flight, fitted.battery.voltage(flight, grid.period, start)[0]


def _checked_horizons(horizons: ArrayLike, grid: Grid) -> NDArray[np.intp]:
    """Returns the horizons in rows of the grid, increasing."""
    seconds = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    longest = (len(grid.flight.time) - 1) * grid.period
    inside = (seconds >= 0.5 * grid.period) & (seconds <= longest + 1e-9)
    if not (seconds.ndim == 1 and seconds.size and inside.all()):
        raise ValueError(
            f"horizons: expected seconds from {grid.period:g}, a sample of {grid.flight.path}, to "
            f"{longest:.4g}, got {shown(horizons)}"
        )
    if np.any(np.diff(seconds) <= 0.0):
        raise ValueError(f"horizons: expected increasing seconds, got {shown(horizons)}")
    return np.maximum(1, np.round(seconds / grid.period).astype(np.intp))


def _start_rows(
    starts: ArrayLike | None, every: float, grid: Grid, samples: int
) -> NDArray[np.intp]:
    time = grid.flight.time
    if starts is None:
        if not 0.0 < every < np.inf:
            raise ValueError(f"every: expected a time > 0 s, got {every!r:.50}")
        first, last = grid.rows
        rows = np.arange(first, last - samples, max(1, round(every / grid.period)), dtype=np.intp)
        if not len(rows):
            raise ValueError(
                f"{grid.flight.path}: expected more than {samples * grid.period:g} s in the air, "
                f"got {(last - first) * grid.period:.3g} s; use shorter horizons"
            )
        return rows
    seconds = np.atleast_1d(np.asarray(starts, dtype=np.float64))
    latest = float(time[-1 - samples])
    inside = (seconds >= time[0] - 1e-9) & (seconds <= latest + 1e-9)
    if not (seconds.ndim == 1 and seconds.size and inside.all()):
        raise ValueError(
            f"starts: expected times from {time[0]:g} to {latest:g} s, the last one for which "
            f"{grid.flight.path} has {samples * grid.period:g} s, got {shown(starts)}"
        )
    return np.asarray(np.round((seconds - time[0]) / grid.period), dtype=np.intp)


def measured_at(flight: Flight, rows: NDArray[np.intp]) -> dict[str, Array]:
    """Returns the recorded quantities at rows, by name."""
    parts = {
        "position": flight.position,
        "velocity": flight.velocity,
        "attitude": flight.attitude,
        "body rates": flight.body_rates,
        "vertical specific force": flight.specific_force[:, 2],
    }
    return {name: values[rows] for name, values in parts.items() if values is not None}


def distance(quantity: str, a: Array, b: Array) -> Array:
    """Returns the distances (…) of two values of a quantity, in its unit of `UNITS`."""
    if quantity == "attitude":
        alignment = np.abs(np.sum(a * b, axis=-1))
        return np.asarray(np.rad2deg(2.0 * np.arccos(np.clip(alignment, 0.0, 1.0))))
    if quantity == "vertical specific force":
        return np.asarray(np.abs(a - b))
    return np.asarray(np.linalg.norm(a - b, axis=-1))


def _period(flight: Flight) -> float:
    return float(flight.time[1] - flight.time[0])
