"""A recorded flight, and the checks of its arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _files
from propwash.logs._csv_table import CsvTable
from propwash.logs._layout import Layout
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.80665
"""m/s^2 in one g, the unit of accelerometer logs."""
PWM_FULL = 65536.0
"""Motor command of full duty cycle."""
GAP = 0.1
"""Maximum time between rows [s]; a log with a longer gap must be split."""

_LARGEST = 1e12
"""Maximum magnitude of a value in SI units, so that no later product overflows."""


@dataclass(frozen=True)
class Flight:
    """A recorded flight, K rows, in SI units and propwash's frames."""

    path: Path
    """File of the log."""
    time: Array
    """(K,) s since the first row of the log, increasing."""
    duty: Array
    """(K, N) motor commands as duty cycles in [0, 1]."""
    body_rates: Array
    """(K, 3) rad/s, body frame."""
    specific_force: Array
    """(K, 3) m/s^2, body frame."""
    voltage: Array | None = None
    """(K,) V, of the battery."""
    position: Array | None = None
    """(K, 3) m, world frame."""
    velocity: Array | None = None
    """(K, 3) m/s, world frame."""
    attitude: Array | None = None
    """(K, 4) unit quaternions, scalar first, body to world, without sign jumps."""
    synchronous: bool = True
    """Whether commands or rotor speeds and motion have the same clock; false for logs over
    radio."""
    accelerometer_cutoff: float | None = None
    """Cut-off of the accelerometer's low-pass [Hz]; None without one."""
    layout: Layout | None = None
    """Positions and spins of the motors, if the log states them and `read_log` was called without
    the vehicle whose order they are to have."""
    vehicle: VehicleParameters | None = None
    """The vehicle of a flight log of propwash."""
    rotor_speeds: Array | None = None
    """(K, N) rad/s, measured, not negative; identification and prediction use them instead of the
    commands."""

    @property
    def period(self) -> float:
        """Median time between rows [s]."""
        return float(np.median(np.diff(self.time)))

    @property
    def motors(self) -> int:
        """Number of motors with commands or measured speeds."""
        return int((self.duty if self.rotor_speeds is None else self.rotor_speeds).shape[1])

    @property
    def has_pose(self) -> bool:
        """Whether the flight has position, velocity and attitude."""
        return all(values is not None for values in (self.position, self.velocity, self.attitude))

    def cut(self, start: float = -np.inf, stop: float = np.inf) -> Flight:
        """Returns the rows from `start` to `stop` [s]; `time` keeps its origin.

        Raises ValueError if fewer than two rows remain.
        """
        check_piece(start, stop)
        selected = (self.time >= start) & (self.time <= stop)
        if selected.sum() < 2:
            raise _nothing_between(self.path, start, stop, self.time)
        return self._mapped(lambda values: values[selected])

    def _mapped(self, change: Callable[[Array], Array]) -> Flight:
        """Applies a function to each array of the flight."""
        parts: dict[str, Any] = {
            item.name: change(value)
            for item in fields(self)
            if isinstance(value := getattr(self, item.name), np.ndarray)
        }
        return replace(self, **parts)

    def resampled(self, period: float) -> Flight:
        """Interpolates the flight linearly on a uniform grid of `period` [s]."""
        time = np.arange(self.time[0], self.time[-1], period)

        def on_grid(values: Array) -> Array:
            columns = values.reshape(len(values), -1).T
            grid = np.zeros((len(time), len(columns)))
            for k, column in enumerate(columns):
                grid[:, k] = np.interp(time, self.time, column)
            return grid.reshape(len(time), *values.shape[1:])

        flight = replace(self._mapped(on_grid), time=time)
        if flight.attitude is None:
            return flight
        norms = np.linalg.norm(flight.attitude, axis=1, keepdims=True)
        return replace(flight, attitude=flight.attitude / norms)


def flight_folders() -> list[Path]:
    """Search path of flight logs: $PROPWASH_FLIGHTS, then ../shared/flights."""
    named = os.environ.get("PROPWASH_FLIGHTS")
    folders = [Path(named)] if named else []
    return [*folders, Path("../shared/flights")]


def find_flight(path: str | PathLike[str]) -> Path:
    """Returns the file, or the file of that name in one of flight_folders().

    Raises FileNotFoundError that lists the searched paths, and ValueError for a folder or pipe.
    """
    file = Path(path)
    if _files.exists(file) and not _files.is_file(file):
        raise ValueError(f"{file}: expected a flight log, found no regular file")
    candidates = [file, *(folder / file.name for folder in flight_folders())]
    for candidate in candidates:
        if _files.is_file(candidate):
            return candidate
    raise FileNotFoundError(
        f"no flight log {str(path)!r:.300}; looked for {', '.join(map(str, candidates)):.900}. The "
        f"data sets are published at github.com/syediu/nanobench-iros2026 and "
        f"github.com/arplaboratory/data-driven-system-identification; set PROPWASH_FLIGHTS to the "
        f"folder that holds them"
    )


@dataclass(frozen=True)
class LogPart:
    """Which part of a log is read, and how; the arguments of `read_log`."""

    start: float = -np.inf
    """s since the first row."""
    stop: float = np.inf
    correct: bool = False
    """Whether faults that the log shows beyond doubt are corrected."""

    def __post_init__(self) -> None:
        check_piece(self.start, self.stop)
        if not isinstance(self.correct, bool):
            raise TypeError(f"correct: expected True or False, got {self.correct!r:.100}")


def check_piece(start: float, stop: float) -> None:
    """Raises ValueError unless `start` is before `stop`, TypeError for other types."""
    for name, value in (("start", start), ("stop", stop)):
        if not isinstance(value, Real):
            raise TypeError(f"{name}: expected a time [s], got {value!r:.100}")
    if not start < stop:
        raise ValueError(f"start = {start:g} s: expected a time below stop = {stop:g} s")


def timed(table: CsvTable, time: Array, start: float, stop: float) -> tuple[CsvTable, Array]:
    """Returns the rows from `start` to `stop`, and their times [s] since the first row.

    time: (K,) s, of all rows. Raises ValueError as `check_time`, and for fewer than two rows.
    """
    elapsed = np.asarray(time - time[0])
    selected = np.flatnonzero((elapsed >= start) & (elapsed <= stop))
    if len(selected) < 2:
        raise _nothing_between(table.path, start, stop, elapsed)
    rows = slice(int(selected[0]), int(selected[-1]) + 1)
    values = table.piece(rows)
    check_time(values.path, time[rows], float(time[0]), values.first_row)
    return values, elapsed[rows]


def _nothing_between(path: Path, start: float, stop: float, time: Array) -> ValueError:
    return ValueError(
        f"{path}: expected rows between {start:g} and {stop:g} s, the log has {time[0]:g} to "
        f"{time[-1]:g} s"
    )


def check_time(path: Path, time: Array, origin: float, first_row: int = 1) -> None:
    """Raises ValueError, with row and time, if time does not increase or has a gap.

    A gap is longer than ten median steps and 0.1 s. time: (K,) s. origin: Start of the log [s].
    first_row: Number of the first row.
    """
    steps = np.diff(time)
    if np.any(steps <= 0.0):
        row = int(np.argmax(steps <= 0.0)) + 1
        fault = "the same time twice" if steps[row - 1] == 0.0 else "time going back"
        raise ValueError(
            f"{path}, row {first_row + row}: expected time to increase, got {fault}: "
            f"{time[row - 1]:.12g} s, then {time[row]:.12g} s; remove the row, or sort the log"
        )
    allowed = max(GAP, 10.0 * float(np.median(steps)))
    if np.any(steps > allowed):
        row = int(np.argmax(steps > allowed)) + 1
        before, after = time[row - 1] - origin, time[row] - origin
        raise ValueError(
            f"{path}, row {first_row + row}: a gap of {steps[row - 1]:.3g} s before the time of "
            f"{time[row]:.12g} s, expected at most {allowed:.3g} s; split the log there: "
            f"the part to {before:.9g} s and that from {after:.9g} s"
        )


def checked_attitude(path: Path, attitude: Array, time: Array, first_row: int = 1) -> Array:
    """Returns (K, 4) unit quaternions without sign jumps.

    Raises ValueError, with row and time [s], for a quaternion that is not of unit length.
    """
    attitude = attitude.copy()
    flips = np.sign(np.sum(attitude[1:] * attitude[:-1], axis=1))
    attitude[1:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, np.newaxis]
    norms = np.linalg.norm(attitude, axis=1, keepdims=True)
    invalid = np.flatnonzero(np.abs(norms[:, 0] - 1.0) > 1e-2)
    if len(invalid):
        row = int(invalid[0])
        raise ValueError(
            f"{path}, row {first_row + row}, at {time[row]:.9g} s: expected the attitude to be a "
            f"unit quaternion, its length is {norms[row, 0]:.3g}; remove the row, or cut the log "
            f"there"
        )
    return np.asarray(attitude / norms)


def check_sizes(path: Path, parts: Mapping[str, Array | None], first_row: int = 1) -> None:
    """Raises ValueError, with row and quantity, for a value that is too large for a flight.

    parts: (K, …) in SI units, by name.
    """
    for name, values in parts.items():
        if values is None:
            continue
        rows = values.reshape(len(values), -1)
        invalid = np.argwhere(~(np.abs(rows) <= _LARGEST))
        if len(invalid):
            row, column = invalid[0]
            raise ValueError(
                f"{path}, row {first_row + row}: {name} is {rows[row, column]:.4g}, expected at "
                f"most {_LARGEST:g} in SI units; remove the row, or set another scale"
            )
