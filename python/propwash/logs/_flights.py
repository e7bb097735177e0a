"""Reads logs of real flights.

Two formats of the Crazyflie are known, told apart by their columns (docs/replay.md):
motion capture with motor commands and voltage (NanoBench, arXiv 2603.09908), and the on-board log
of about 1 kHz (Eschmann et al., arXiv 2404.07837). Flights are not part of the package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _files, frames
from propwash.logs._csv_table import CsvTable

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.80665
"""m/s^2 in one g, the unit of accelerometer logs."""
PWM_FULL = 65536.0
"""Motor command of full duty cycle."""
GAP = 0.1
"""s without a row, from which on a log is taken for two."""

_FIRMWARE_CUTOFF = 30.0
_LARGEST = 1e12
"""Of any number of a flight in SI units, so that no later product overflows."""

_MOTION_CAPTURE = {
    "time": ["t"],
    "position": ["px", "py", "pz"],
    "attitude": ["qx", "qy", "qz", "qw"],
    "velocity": ["vx", "vy", "vz"],
    "body_rates": ["wx_vicon", "wy_vicon", "wz_vicon"],
    "specific_force": ["imu_acc_x", "imu_acc_y", "imu_acc_z"],
    "motors": [f"motor_motor_m{i}" for i in range(1, 5)],
    "voltage": ["pwr_pm_vbat"],
}
_ON_BOARD = {
    "time": ["timestamp"],
    "specific_force": ["acc.x", "acc.y", "acc.z"],
    "body_rates": ["gyro.x", "gyro.y", "gyro.z"],
    "motors": [f"motor.m{i}" for i in range(1, 5)],
}


@dataclass(frozen=True)
class Flight:
    """A recorded flight, K rows, in SI units and propwash's frames."""

    path: Path
    """File of the log."""
    time: Array
    """(K,) s, from the first row of the log, increasing."""
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
    """(K, 4) unit quaternions, scalar first, their signs continuous."""
    synchronous: bool = True
    """Whether commands and motion were recorded by one clock; a log by radio is not."""
    accelerometer_cutoff: float | None = None
    """Hz, of the low-pass in the accelerometer, where there is one."""

    @property
    def period(self) -> float:
        """s, the median of the steps from row to row."""
        return float(np.median(np.diff(self.time)))

    @property
    def has_pose(self) -> bool:
        """Whether position, velocity and attitude are there."""
        return all(part is not None for part in (self.position, self.velocity, self.attitude))

    def cut(self, start: float = -np.inf, stop: float = np.inf) -> Flight:
        """The rows from `start` to `stop` [s], of the flight's own time, which goes on.

        Raises ValueError where less than two rows are left.
        """
        check_piece(start, stop)
        kept = (self.time >= start) & (self.time <= stop)
        if kept.sum() < 2:
            raise _nothing_between(self.path, start, stop, self.time)
        return self._mapped(lambda values: values[kept])

    def _mapped(self, change: Callable[[Array], Array]) -> Flight:
        """The flight with the same change made to each of its arrays."""
        parts: dict[str, Any] = {
            item.name: change(value)
            for item in fields(self)
            if isinstance(value := getattr(self, item.name), np.ndarray)
        }
        return replace(self, **parts)

    def resampled(self, period: float) -> Flight:
        """The flight on a uniform grid of `period` [s], interpolated linearly."""
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
    """Where flights are looked for: $PROPWASH_FLIGHTS, then ../shared/flights."""
    named = os.environ.get("PROPWASH_FLIGHTS")
    folders = [Path(named)] if named else []
    return [*folders, Path("../shared/flights")]


def find_flight(path: str | PathLike[str]) -> Path:
    """The file itself, or the file of that name in one of flight_folders().

    Raises FileNotFoundError that names every place looked at, and ValueError for a folder or pipe.
    """
    given = Path(path)
    if _files.exists(given) and not _files.is_file(given):
        raise ValueError(f"{given}: expected a flight log, found no regular file")
    places = [given, *(folder / given.name for folder in flight_folders())]
    for place in places:
        if _files.is_file(place):
            return place
    raise FileNotFoundError(
        f"no flight log {str(path)!r:.300}; looked for {', '.join(map(str, places)):.900}. The "
        f"data sets are published at github.com/syediu/nanobench-iros2026 and "
        f"github.com/arplaboratory/data-driven-system-identification; set PROPWASH_FLIGHTS to the "
        f"folder that holds them"
    )


def read_flight(path: str | PathLike[str], start: float = -np.inf, stop: float = np.inf) -> Flight:
    """Reads a flight log of either format, or its rows from `start` to `stop` [s].

    Raises FileNotFoundError; ValueError naming file, columns or row where it is not such a log.
    """
    check_piece(start, stop)
    table = CsvTable.read(find_flight(path))
    if "timestamp" in table.names and "t" not in table.names:
        return _on_board(table, start, stop)
    return _motion_capture(table, start, stop)


def check_piece(start: float, stop: float) -> None:
    """Raises ValueError where a piece of a log does not start before it stops."""
    for name, value in (("start", start), ("stop", stop)):
        if not isinstance(value, Real):
            raise TypeError(f"{name}: expected a time [s], got {value!r:.100}")
    if not start < stop:
        raise ValueError(f"start = {start:g} s: expected a time below stop = {stop:g} s")


def timed(table: CsvTable, time: Array, start: float, stop: float) -> tuple[CsvTable, Array]:
    """The rows from `start` to `stop`, and their times, s from the first row of the file.

    time: (K,) s, of every row. Raises ValueError as `check_time` does, and where there are less
    than two.
    """
    since = np.asarray(time - time[0])
    kept = np.flatnonzero((since >= start) & (since <= stop))
    if len(kept) < 2:
        raise _nothing_between(table.path, start, stop, since)
    rows = slice(int(kept[0]), int(kept[-1]) + 1)
    part = table.piece(rows)
    check_time(part.path, time[rows], float(time[0]), part.first_row)
    return part, since[rows]


def _nothing_between(path: Path, start: float, stop: float, time: Array) -> ValueError:
    return ValueError(
        f"{path}: expected rows between {start:g} and {stop:g} s, the log has {time[0]:g} to "
        f"{time[-1]:g} s"
    )


def _require(table: CsvTable, wanted: dict[str, list[str]]) -> None:
    table.require(
        [name for names in wanted.values() for name in names],
        "docs/replay.md lists the two formats that are read, docs/identify.md how others are",
    )


def check_time(path: Path, time: Array, origin: float, first_row: int = 1) -> None:
    """Raises ValueError where time does not increase or has a gap; it names row and time.

    A gap is more than ten steps and 0.1 s. time: (K,) s; origin: where the log begins, s;
    first_row: number of the first of these rows.
    """
    steps = np.diff(time)
    if np.any(steps <= 0.0):
        row = int(np.argmax(steps <= 0.0)) + 1
        how = "the same time twice" if steps[row - 1] == 0.0 else "time going back"
        raise ValueError(
            f"{path}, row {first_row + row}: expected time to increase, got {how}: "
            f"{time[row - 1]:.12g} s, then {time[row]:.12g} s; take the row out, or sort the log"
        )
    allowed = max(GAP, 10.0 * float(np.median(steps)))
    if np.any(steps > allowed):
        row = int(np.argmax(steps > allowed)) + 1
        before, after = time[row - 1] - origin, time[row] - origin
        raise ValueError(
            f"{path}, row {first_row + row}: a gap of {steps[row - 1]:.3g} s before the time of "
            f"{time[row]:.12g} s, expected at most {allowed:.3g} s; cut the log into two there: "
            f"the piece to {before:.9g} s and that from {after:.9g} s"
        )


def checked_attitude(path: Path, attitude: Array, time: Array, first_row: int = 1) -> Array:
    """(K, 4) unit quaternions of continuous sign.

    Raises ValueError, which names row and time [s], where one is no rotation.
    """
    attitude = attitude.copy()
    flips = np.sign(np.sum(attitude[1:] * attitude[:-1], axis=1))
    attitude[1:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, np.newaxis]
    norms = np.linalg.norm(attitude, axis=1, keepdims=True)
    wrong = np.flatnonzero(np.abs(norms[:, 0] - 1.0) > 1e-2)
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{path}, row {first_row + row}, at {time[row]:.9g} s: expected the attitude to be a "
            f"unit quaternion, its length is {norms[row, 0]:.3g}; take the row out, or cut the log "
            f"there"
        )
    return np.asarray(attitude / norms)


def check_sizes(path: Path, parts: Mapping[str, Array | None], first_row: int = 1) -> None:
    """Raises ValueError, which names row and quantity, for a number beyond any flight's.

    parts: (K, …) in SI units, by name.
    """
    for name, values in parts.items():
        if values is None:
            continue
        rows = values.reshape(len(values), -1)
        wrong = np.argwhere(~(np.abs(rows) <= _LARGEST))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(
                f"{path}, row {first_row + row}: {name} is {rows[row, column]:.4g}, expected at "
                f"most {_LARGEST:g} in SI units; take the row out, or set another scale"
            )


def checked(flight: Flight, first_row: int = 1) -> Flight:
    """The flight. Raises ValueError as check_sizes() does."""
    parts = {item.name: getattr(flight, item.name) for item in fields(flight)}
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    check_sizes(flight.path, arrays, first_row)
    return flight


def _duty(table: CsvTable, names: Sequence[str], time: Array) -> Array:
    commands = table.stack(names)
    outside = np.argwhere((commands < 0.0) | (commands > PWM_FULL))
    if len(outside):
        row, motor = outside[0]
        raise ValueError(
            f"{table.path}, row {table.first_row + row}, at {time[row]:.9g} s: {names[motor]} is "
            f"{commands[row, motor]:g}, expected motor commands in [0, {PWM_FULL:.0f}]; "
            f"docs/identify.md tells how other scales are mapped"
        )
    return commands / PWM_FULL


def _motion_capture(table: CsvTable, start: float, stop: float) -> Flight:
    names = _MOTION_CAPTURE
    _require(table, names)
    table, time = timed(table, table.column("t"), start, stop)
    attitude = frames.xyzw_to_wxyz(table.stack(names["attitude"]))
    flight = Flight(
        path=table.path,
        time=time,
        duty=_duty(table, names["motors"], time),
        body_rates=table.stack(names["body_rates"]),
        specific_force=table.stack(names["specific_force"]) * STANDARD_GRAVITY,
        voltage=table.column("pwr_pm_vbat"),
        position=table.stack(names["position"]),
        velocity=table.stack(names["velocity"]),
        attitude=checked_attitude(table.path, attitude, time, table.first_row),
        synchronous=False,
    )
    return checked(flight, table.first_row)


def _on_board(table: CsvTable, start: float, stop: float) -> Flight:
    names = _ON_BOARD
    _require(table, names)
    table, time = timed(table, table.column("timestamp") * 1e-6, start, stop)
    flight = Flight(
        path=table.path,
        time=time,
        duty=_duty(table, names["motors"], time),
        body_rates=np.deg2rad(table.stack(names["body_rates"])),
        specific_force=table.stack(names["specific_force"]) * STANDARD_GRAVITY,
        accelerometer_cutoff=_FIRMWARE_CUTOFF,
    )
    return checked(flight, table.first_row)
