"""Reads logs of real flights.

Two formats of the Crazyflie are known, told apart by their columns (docs/replay.md):
motion capture with motor commands and voltage (NanoBench, arXiv 2603.09908), and the on-board log
of about 1 kHz (Eschmann et al., arXiv 2404.07837). Flights are not part of the package.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import frames

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.80665
"""m/s^2 in one g, the unit of accelerometer logs."""
PWM_FULL = 65536.0
"""Motor command of full duty cycle."""
GAP = 0.1
"""s without a row, from which on a log is taken for two."""

_FIRMWARE_CUTOFF = 30.0

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
    time: Array
    """(K,) s, from 0, increasing."""
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

    def cut(self, start: float = -np.inf, stop: float = np.inf) -> Flight:
        """The rows from `start` to `stop` [s], of the flight's own time, which goes on.

        Raises ValueError where less than two rows are left.
        """
        kept = (self.time >= start) & (self.time <= stop)
        if kept.sum() < 2:
            raise ValueError(
                f"{self.path}: expected rows between {start:g} and {stop:g} s, the log has "
                f"{self.time[0]:g} to {self.time[-1]:g} s"
            )
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

    Raises FileNotFoundError that names every place looked at.
    """
    given = Path(path)
    places = [given, *(folder / given.name for folder in flight_folders())]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(
        f"no flight log {str(path)!r}; looked for {', '.join(str(p) for p in places)}. The data "
        f"sets are published at github.com/syediu/nanobench-iros2026 and "
        f"github.com/arplaboratory/data-driven-system-identification; set PROPWASH_FLIGHTS to the "
        f"folder that holds them"
    )


def read_flight(path: str | PathLike[str]) -> Flight:
    """Reads a flight log of either format.

    Raises FileNotFoundError; ValueError naming file, columns or row where it is not such a log.
    """
    file = find_flight(path)
    columns = read_columns(file)
    if "timestamp" in columns and "t" not in columns:
        return _on_board(file, columns)
    return _motion_capture(file, columns)


def read_columns(path: Path) -> dict[str, Array]:
    """The columns of a CSV file by name. Raises ValueError that names the line or the row."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected a CSV file of text, {error}") from None
    with StringIO(text, newline="") as stream:
        reader = csv.reader(stream)
        header = [name.strip() for name in next(reader, [])]
        rows: list[list[float]] = []
        for cells in reader:
            if not cells:
                continue
            where = f"{path}, line {reader.line_num}"
            try:
                row = [float(cell) for cell in cells]
            except ValueError as error:
                raise ValueError(f"{where}: expected numbers, {error}") from None
            if len(row) != len(header):
                raise ValueError(f"{where}: expected {len(header)} columns, got {len(row)}")
            rows.append(row)
    if len(rows) < 2:
        raise ValueError(f"{path}: expected a line of names and at least two rows, got {len(rows)}")
    table = np.array(rows)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row_number, column = bad[0]
        raise ValueError(
            f"{path}, row {row_number + 1}: {header[column]} is not a finite number, "
            f"{header[0]} = {table[row_number, 0]:.12g}; take the row out, or cut the log there"
        )
    return dict(zip(header, table.T, strict=True))


def _table(path: Path, columns: dict[str, Array], names: Sequence[str]) -> Array:
    return np.stack([columns[name] for name in names], axis=-1)


def _require(path: Path, columns: dict[str, Array], wanted: dict[str, list[str]]) -> None:
    missing = [name for names in wanted.values() for name in names if name not in columns]
    if missing:
        raise ValueError(
            f"{path}: missing columns {', '.join(missing)}; found {', '.join(columns) or 'none'}. "
            f"docs/replay.md lists the two formats that are read"
        )


def checked_time(path: Path, time: Array) -> Array:
    """Time [s] counted from the first row.

    Raises ValueError, which names row and time, where it does not increase, or has a gap of more
    than ten steps and 0.1 s.
    """
    steps = np.diff(time)
    if np.any(steps <= 0.0):
        row = int(np.argmax(steps <= 0.0)) + 2
        how = "the same time twice" if steps[row - 2] == 0.0 else "time going back"
        raise ValueError(
            f"{path}, row {row}: expected time to increase, got {how}: {time[row - 2]:.12g} s, "
            f"then {time[row - 1]:.12g} s; take the row out, or sort the log"
        )
    allowed = max(GAP, 10.0 * float(np.median(steps)))
    if np.any(steps > allowed):
        row = int(np.argmax(steps > allowed)) + 2
        raise ValueError(
            f"{path}, row {row}: a gap of {steps[row - 2]:.3g} s before the time of "
            f"{time[row - 1]:.12g} s, expected at most {allowed:.3g} s; cut the log into two there"
        )
    return np.asarray(time - time[0])


def checked_attitude(path: Path, attitude: Array) -> Array:
    """(K, 4) unit quaternions of continuous sign. Raises ValueError where one is no rotation."""
    attitude = attitude.copy()
    flips = np.sign(np.sum(attitude[1:] * attitude[:-1], axis=1))
    attitude[1:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, np.newaxis]
    norms = np.linalg.norm(attitude, axis=1, keepdims=True)
    if np.any(np.abs(norms - 1.0) > 1e-2):
        row = int(np.argmax(np.abs(norms - 1.0) > 1e-2)) + 1
        raise ValueError(f"{path}, row {row}: expected qx, qy, qz, qw to be a unit quaternion")
    return np.asarray(attitude / norms)


def _duty(path: Path, commands: Array) -> Array:
    if commands.min() < 0.0 or commands.max() > PWM_FULL:
        raise ValueError(
            f"{path}: expected motor commands in [0, {PWM_FULL:.0f}], got "
            f"[{commands.min():g}, {commands.max():g}]"
        )
    return commands / PWM_FULL


def _motion_capture(path: Path, columns: dict[str, Array]) -> Flight:
    _require(path, columns, _MOTION_CAPTURE)
    part = {key: _table(path, columns, names) for key, names in _MOTION_CAPTURE.items()}
    attitude = frames.xyzw_to_wxyz(part["attitude"])
    return Flight(
        path=path,
        time=checked_time(path, part["time"][:, 0]),
        duty=_duty(path, part["motors"]),
        body_rates=part["body_rates"],
        specific_force=part["specific_force"] * STANDARD_GRAVITY,
        voltage=part["voltage"][:, 0],
        position=part["position"],
        velocity=part["velocity"],
        attitude=checked_attitude(path, attitude),
        synchronous=False,
    )


def _on_board(path: Path, columns: dict[str, Array]) -> Flight:
    _require(path, columns, _ON_BOARD)
    part = {key: _table(path, columns, names) for key, names in _ON_BOARD.items()}
    return Flight(
        path=path,
        time=checked_time(path, part["time"][:, 0] * 1e-6),
        duty=_duty(path, part["motors"]),
        body_rates=np.deg2rad(part["body_rates"]),
        specific_force=part["specific_force"] * STANDARD_GRAVITY,
        accelerometer_cutoff=_FIRMWARE_CUTOFF,
    )
