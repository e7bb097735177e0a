"""Mapping of the columns of a log to the quantities of a Flight."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _files, _rotation, frames
from propwash._checks import shown
from propwash.logs import _flights as flights
from propwash.logs._consistency import consistent
from propwash.logs._flights import Flight, LogPart

Array = NDArray[np.float64]

WIDTHS = {
    "motors": None,
    "rotor_speeds": None,
    "body_rates": 3,
    "specific_force": 3,
    "position": 3,
    "velocity": 3,
    "attitude": 4,
    "voltage": 1,
}
_MIN_ROWS = 50
MAX_COMMAND_PERIOD = 0.012
"""s; a log with slower motor commands is treated as not synchronous."""
_SPEED_UNITS = {"rad/s": 1.0, "rpm": np.pi / 30.0, "erpm": np.pi / 30.0}
_AT_REST = 0.1
"""Maximum duty cycle at which a vehicle is on the ground."""
_UP: dict[str, Callable[[Array], Array]] = {
    "position": frames.ned_to_enu,
    "velocity": frames.ned_to_enu,
    "attitude": frames.quaternion_ned_frd_to_enu_flu,
    "body_rates": frames.frd_to_flu,
    "specific_force": frames.frd_to_flu,
}
"""Conversions from north-east-down and forward-right-down frames."""


@dataclass(frozen=True)
class Columns:
    """Mapping of the columns of a log to quantities.

    Names of a CSV file are those of its first line; names of a ULog or a ROS bag are `topic:field`,
    with `field` as in `angular_velocity.x` or `q[0]`. All quantities except `body_rates` and
    `specific_force` are optional. A single name may be a string instead of a list.
    """

    body_rates: Sequence[str] = ()
    """Three names; rad/s, body frame."""
    specific_force: Sequence[str] = ()
    """Three names; m/s^2, body frame, from the accelerometer."""
    motors: Sequence[str] = ()
    """One name per rotor, in the vehicle's order; duty cycles from 0 to 1 after `scale`."""
    time: str = ""
    """Time column of a CSV file [s]; topics have their own time stamps."""
    position: Sequence[str] = ()
    """Three names; m, world frame."""
    velocity: Sequence[str] = ()
    """Three names; m/s, world frame. By default differences of the position."""
    attitude: Sequence[str] = ()
    """Four names; unit quaternion w, x, y, z, body to world."""
    voltage: Sequence[str] = ()
    """One name; V."""
    scale: Mapping[str, float] = field(default_factory=dict)
    """Factors that convert quantities to their units, e.g. `{"time": 1e-6}`."""
    offset: Mapping[str, float] = field(default_factory=dict)
    """Summands added before scaling, e.g. `{"motors": -1000.0}`."""
    down: bool = False
    """Whether the frames are north-east-down and forward-right-down, as PX4's are."""
    imu_attitude: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion w, x, y, z, from the axes of the IMU to the body frame of the log."""
    synchronous: bool = True
    """Whether commands, or rotor speeds, and motion have the same clock. Assumed false for topics
    of them below 80 Hz."""
    accelerometer_cutoff: float | None = None
    """Cut-off of the accelerometer's low-pass [Hz]."""
    voltage_cutoff: float | None = None
    """Cut-off of a low-pass without delay that reading applies to the voltage [Hz]; None: as
    recorded. About 1 Hz for telemetry, whose samples dip with the load at random times."""
    rotor_speeds: Sequence[str] = ()
    """One name per rotor, in the vehicle's order; measured speeds in `rotor_speed_unit`, of either
    sign."""
    rotor_speed_unit: str = "rad/s"
    """rad/s, rpm, or erpm: electrical revolutions per minute, pole_pairs times those of the
    rotor."""
    pole_pairs: int = 0
    """Pairs of magnetic poles of a motor, for erpm; 7 of most motors with 14 magnets."""

    def __post_init__(self) -> None:
        for name, width in WIDTHS.items():
            columns = getattr(self, name)
            if isinstance(columns, str):
                columns = (columns,) if columns else ()
                object.__setattr__(self, name, columns)
            names = columns if isinstance(columns, Sequence) else [None]
            if not all(isinstance(each, str) for each in names):
                raise TypeError(f"columns.{name}: expected a list of names, got {shown(columns)}")
            if columns and width is not None and len(columns) != width:
                raise ValueError(f"columns.{name}: expected {width} names, got {len(columns)}")
        for table in ("scale", "offset"):
            self._check_numbers(table)
        for name in ("body_rates", "specific_force"):
            if not getattr(self, name):
                raise ValueError(f"columns.{name}: expected 3 names, got none")
        if not isinstance(self.time, str):
            raise TypeError(f"columns.time: expected a name, got {shown(self.time)}")
        for name in ("down", "synchronous"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(
                    f"columns.{name}: expected true or false, got {shown(getattr(self, name))}"
                )
        self._check_speeds()
        attitude = _checks.shaped("columns.imu_attitude", self.imu_attitude, (4,))
        unit = _checks.unit_quaternions("columns.imu_attitude", attitude)
        object.__setattr__(self, "imu_attitude", tuple(map(float, unit)))
        for name in ("accelerometer_cutoff", "voltage_cutoff"):
            cutoff = getattr(self, name)
            if cutoff is not None and not (_is_finite(cutoff) and cutoff > 0.0):
                raise ValueError(f"columns.{name}: expected a number > 0 [Hz], got {shown(cutoff)}")

    def _check_speeds(self) -> None:
        if self.rotor_speed_unit not in _SPEED_UNITS:
            raise ValueError(
                f"columns.rotor_speed_unit: expected one of {', '.join(_SPEED_UNITS)}, got "
                f"{shown(self.rotor_speed_unit)}"
            )
        is_whole = isinstance(self.pole_pairs, int) and not isinstance(self.pole_pairs, bool)
        if not is_whole or (self.pole_pairs > 0) != (self.rotor_speed_unit == "erpm"):
            raise ValueError(
                f"columns.pole_pairs: expected a whole number > 0 for rotor_speed_unit = erpm, and "
                f"none for other units, got {shown(self.pole_pairs)}"
            )

    def _check_numbers(self, table: str) -> None:
        numbers = getattr(self, table)
        if not isinstance(numbers, Mapping):
            raise TypeError(f"columns.{table}: expected a table of numbers, got {shown(numbers)}")
        for name, number in numbers.items():
            if name not in (*WIDTHS, "time"):
                raise ValueError(
                    f"columns.{table}: {shown(name)} is not one of time, {', '.join(WIDTHS)}"
                )
            if not _is_finite(number) or (table == "scale" and number == 0.0):
                expected = "a finite number" + (" that is not 0" if table == "scale" else "")
                raise ValueError(
                    f"columns.{table}.{name}: expected {expected}, got {shown(number)}"
                )

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Columns:
        """Reads a mapping from a TOML file whose keys are the fields of this class.

        Raises FileNotFoundError, and ValueError, with the file, for an invalid mapping.
        """
        file = existing(Path(path), "mapping")
        table = _files.read_toml(file, ValueError)
        try:
            unknown = set(table) - {item.name for item in fields(cls)}
            if unknown:
                known = ", ".join(item.name for item in fields(cls))
                first = shown(sorted(unknown)[0])
                raise ValueError(f"unknown key {first}; known here: {known}")
            return cls(**table)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None


def _is_finite(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return False
    return abs(number) <= sys.float_info.max  # an integer may be larger than any float


def existing(file: Path, what: str = "log") -> Path:
    """Returns `file`. Raises an exception unless it is a regular file or a folder."""
    if not _files.exists(file):
        raise FileNotFoundError(f"no {what} {str(file)!r:.300}")
    if not _files.is_file(file) and not _files.is_folder(file):
        raise ValueError(f"{file}: expected a {what}, found no regular file")
    return file


def check_length(path: Path, time: Array) -> None:
    """Raises ValueError for a log with too few rows."""
    if len(time) < _MIN_ROWS:
        raise ValueError(
            f"{path}: expected at least {_MIN_ROWS} rows, got {len(time)}, "
            f"{time[-1] - time[0]:.3g} s; use a longer log"
        )


def scaled(columns: Columns, key: str, values: Array) -> Array:
    """Applies the offset and scale of a quantity, and the unit of rotor speeds."""
    values = (values + columns.offset.get(key, 0.0)) * columns.scale.get(key, 1.0)
    if key != "rotor_speeds":
        return values
    unit = _SPEED_UNITS[columns.rotor_speed_unit] / max(columns.pole_pairs, 1)
    return np.asarray(unit * np.abs(values))


@dataclass(frozen=True)
class _Series:
    """A field of a topic over time."""

    name: str
    time: Array
    """(K,) s."""
    values: Array
    """(K,)."""
    first: int = 1
    """Number of the first message."""

    def piece(self, start: float, stop: float) -> _Series:
        """Messages from the last one at or before `start` to the first at or after `stop`."""
        before, after = np.flatnonzero(self.time <= start), np.flatnonzero(self.time >= stop)
        first = int(before[-1]) if len(before) else 0
        rows = slice(first, int(after[0]) + 1 if len(after) else len(self.time))
        return _Series(self.name, self.time[rows], self.values[rows], self.first + first)

    def check(self, path: Path, origin: float) -> None:
        """Raises ValueError, with message and time, for invalid values and times."""
        bad = np.flatnonzero(~np.isfinite(self.values))
        if len(bad):
            raise ValueError(
                f"{path}, message {self.first + bad[0]} of {self.name}: not a finite number, at "
                f"{self.time[bad[0]] - origin:.9g} s; cut the log there"
            )
        if len(self.time) < 2:
            raise ValueError(
                f"{path}: {self.name} has {len(self.time)} messages; use a longer log or a mapping "
                f"without it"
            )
        flights.check_time(Path(f"{path}, {self.name}"), self.time, origin, self.first)


@dataclass(frozen=True)
class Invalid:
    """A section in which a topic does not describe the motion."""

    topic: str
    start: float
    """s, in the time of the log."""
    stop: float
    reason: str


def from_topics(
    path: Path,
    columns: Columns,
    series: Callable[[str], tuple[Array, Array]],
    part: LogPart,
    invalid: Sequence[Invalid] = (),
) -> Flight:
    """Makes a flight from topics by interpolation at the times of the body rates.

    series: Returns times [s] and values of `topic:field`, or raises KeyError that lists the
        available names.
    part: Its times are those since the first time common to all topics.
    invalid: Sections that are rejected if a motor turns in them.
    """
    parts: dict[str, list[_Series]] = {}
    for key in WIDTHS:
        for name in getattr(columns, key):
            try:
                time, values = series(name)
            except KeyError as error:
                raise ValueError(
                    f"{path}: missing {name} for {key}; found {error.args[0]}. Name others in the "
                    f"mapping"
                ) from None
            one = _Series(name, time, scaled(columns, key, values))
            parts.setdefault(key, []).append(one)
    every = [one for group in parts.values() for one in group]
    for one in every:
        if len(one.time) < 2:
            one.check(path, 0.0)
    origin = max(float(one.time[0]) for one in every)
    first = max(origin, origin + part.start)
    last = min([origin + part.stop, *(float(one.time[-1]) for one in every)])
    parts = {key: [one.piece(first, last) for one in group] for key, group in parts.items()}
    for group in parts.values():
        for one in group:
            one.check(path, origin)
    time = parts["body_rates"][0].time
    time = time[(time >= first) & (time <= last)]
    if len(time) < _MIN_ROWS:
        raise ValueError(
            f"{path}: expected topics that were recorded together, {', '.join(parts)} have "
            f"{max(last - first, 0.0):.3g} s in common; use a longer log"
        )
    on_time = {key: _interpolated(path, key, group, time, origin) for key, group in parts.items()}
    inputs = parts.get("rotor_speeds", parts.get("motors", ()))
    period = max((float(np.median(np.diff(one.time))) for one in inputs), default=0.0)
    if period > MAX_COMMAND_PERIOD:
        columns = replace(columns, synchronous=False)
    flight = assembled(path, columns, time - origin, on_time)
    topics = {one.name.rpartition(":")[0] for one in every}
    _check_valid(flight, origin, [section for section in invalid if section.topic in topics])
    return checked(flight, columns, part)


def _check_valid(flight: Flight, origin: float, invalid: Sequence[Invalid]) -> None:
    """Raises ValueError, with the reason and the times, for an invalid section of the flight."""
    turning = np.any(flight.duty > _AT_REST, axis=1)
    for section in sorted(invalid, key=lambda one: one.start):
        start, stop = section.start - origin, section.stop - origin
        if np.any(turning & (flight.time >= start) & (flight.time <= stop)):
            raise ValueError(
                f"{flight.path}: {section.reason}, while the motors turn; split the log there: "
                f"the part to {max(start, 0.0):.3f} s and that from {stop:.3f} s"
            )


def _interpolated(
    path: Path, key: str, group: Sequence[_Series], time: Array, origin: float
) -> Array:
    """(K, N) series interpolated at `time`; attitudes are normalised and have no sign jumps."""
    values = [one.values for one in group]
    if key == "attitude":
        if any(not np.array_equal(one.time, group[0].time) for one in group):
            raise ValueError(
                f"{path}: expected the attitude's four parts from messages of one topic, got "
                f"{', '.join(one.name for one in group)}"
            )
        table = np.stack(values, axis=-1)
        topic = Path(f"{path}, {group[0].name}")
        table = flights.checked_attitude(topic, table, group[0].time - origin, group[0].first)
        values = list(table.T)
    on_time = [np.interp(time, one.time, v) for one, v in zip(group, values, strict=True)]
    result = np.stack(on_time, axis=-1)
    if key == "attitude":
        result /= np.linalg.norm(result, axis=1, keepdims=True)
    return result


def _smoothed(time: Array, values: Array, cutoff: float) -> Array:
    """Filters (K, …) values at `time` [s] by a first-order low-pass, forwards and backwards."""
    decay = np.exp(-2.0 * np.pi * cutoff * np.diff(time)).tolist()

    def passed(series: Array, factors: list[float]) -> Array:
        rows = [series[0]]
        for row, factor in zip(series[1:], factors, strict=True):
            rows.append(row + factor * (rows[-1] - row))
        return np.array(rows)

    return passed(passed(values, decay)[::-1], decay[::-1])[::-1]


def assembled(
    path: Path, columns: Columns, seconds: Array, raw: Mapping[str, Array], first_row: int = 1
) -> Flight:
    """Makes a flight from columns (K, …) in SI units; first_row: number of the first row."""
    flights.check_sizes(path, {"time": seconds, **raw}, first_row)
    parts = dict(raw)
    duty = parts.get("motors", np.zeros((len(seconds), 0)))
    outside = np.argwhere((duty < -1e-3) | (duty > 1.001))
    if len(outside):
        row, motor = outside[0]
        raise ValueError(
            f"{path}, row {first_row + row}, at {seconds[row]:.9g} s: {columns.motors[motor]} "
            f"gives a duty cycle of {duty[row, motor]:.4g}, expected 0 to 1; set scale and offset "
            f"of motors (docs/logs.md)"
        )
    if columns.imu_attitude[0] != 1.0:
        from_imu = _rotation.rotation(columns.imu_attitude)
        for key in ("body_rates", "specific_force"):
            parts[key] = parts[key] @ from_imu.T
    if columns.down:
        parts = {key: _UP.get(key, np.asarray)(values) for key, values in parts.items()}
    attitude = parts.get("attitude")
    if attitude is not None:
        attitude = flights.checked_attitude(path, attitude, seconds, first_row)
    position, velocity = parts.get("position"), parts.get("velocity")
    if position is not None and velocity is None:
        velocity = np.asarray(np.gradient(position, seconds, axis=0))
    voltage = parts.get("voltage")
    return Flight(
        path=path,
        time=seconds,
        duty=np.clip(duty, 0.0, 1.0),
        body_rates=parts["body_rates"],
        specific_force=parts["specific_force"],
        voltage=None if voltage is None else voltage[:, 0],
        position=position,
        velocity=velocity,
        attitude=attitude,
        rotor_speeds=parts.get("rotor_speeds"),
        synchronous=columns.synchronous,
        accelerometer_cutoff=columns.accelerometer_cutoff,
    )


def checked(flight: Flight, columns: Columns, part: LogPart) -> Flight:
    """Returns the flight if it is consistent, or corrected, with a smooth voltage."""
    flight = consistent(flight, part.correct)
    if flight.voltage is None or columns.voltage_cutoff is None:
        return flight
    return replace(flight, voltage=_smoothed(flight.time, flight.voltage, columns.voltage_cutoff))
