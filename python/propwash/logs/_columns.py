"""Logs of any tool into one `FlightLog`: which columns mean what, and the checks of them all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _files, frames
from propwash._checks import shown
from propwash.logs import _flights as flights
from propwash.logs._flights import Flight

Array = NDArray[np.float64]

WIDTHS = {
    "motors": None,
    "body_rates": 3,
    "specific_force": 3,
    "position": 3,
    "velocity": 3,
    "attitude": 4,
    "voltage": 1,
}
_LEAST_ROWS = 50
SLOWEST_COMMANDS = 0.012
"""s, from command to command, above which motors are not known as the motion is."""
_UP: dict[str, Callable[[Array], Array]] = {
    "position": frames.ned_to_enu,
    "velocity": frames.ned_to_enu,
    "attitude": frames.quaternion_ned_frd_to_enu_flu,
    "body_rates": frames.frd_to_flu,
    "specific_force": frames.frd_to_flu,
}
"""From frames that look down into ours."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a log hold what.

    Names of a CSV file are those of its first line; those of an ULog or a ROS bag are
    `topic:field`, with `field` as in `angular_velocity.x` or `q[0]`. Every quantity but
    `body_rates` and `specific_force` may be left out. One name may be given as a text in place of a
    list.
    """

    body_rates: Sequence[str] = ()
    """Three, rad/s, body axes."""
    specific_force: Sequence[str] = ()
    """Three, m/s^2, body axes: the accelerometer."""
    motors: Sequence[str] = ()
    """One for each rotor, in the vehicle's order; duty cycles from 0 to 1 after `scale`."""
    time: str = ""
    """Of a CSV file, s; topics have their own time stamps."""
    position: Sequence[str] = ()
    """Three, m, world frame."""
    velocity: Sequence[str] = ()
    """Three, m/s, world frame; where left out, differences of the position."""
    attitude: Sequence[str] = ()
    """Four of a unit quaternion, w x y z in this order, body to world."""
    voltage: Sequence[str] = ()
    """One, V."""
    scale: Mapping[str, float] = field(default_factory=dict)
    """What to multiply a quantity by to have it in its unit: `{"time": 1e-6}`."""
    offset: Mapping[str, float] = field(default_factory=dict)
    """What to add before that: `{"motors": -1000.0}`."""
    down: bool = False
    """Whether the frames are north-east-down and forward-right-down, as PX4's are."""
    synchronous: bool = True
    """Whether commands and motion were recorded by one clock. Commands of a topic that comes less
    than 80 times a second are taken for such that were not."""
    accelerometer_cutoff: float | None = None
    """Hz, of the low-pass in the accelerometer."""

    def __post_init__(self) -> None:
        for name, width in WIDTHS.items():
            columns = getattr(self, name)
            if isinstance(columns, str):
                columns = (columns,) if columns else ()
                object.__setattr__(self, name, columns)
            if not all(isinstance(c, str) for c in _iterated(columns)):
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
        cutoff = self.accelerometer_cutoff
        if cutoff is not None and not (_is_finite(cutoff) and cutoff > 0.0):
            raise ValueError(
                f"columns.accelerometer_cutoff: expected a number > 0 [Hz], got {shown(cutoff)}"
            )

    def _check_numbers(self, table: str) -> None:
        numbers = getattr(self, table)
        if not isinstance(numbers, Mapping):
            raise TypeError(f"columns.{table}: expected a table of numbers, got {shown(numbers)}")
        for name, number in numbers.items():
            if name not in (*WIDTHS, "time"):
                raise ValueError(f"columns.{table}: {shown(name)} is none of time, {_listed()}")
            if not _is_finite(number) or (table == "scale" and number == 0.0):
                expected = "a finite number" + (" that is not 0" if table == "scale" else "")
                raise ValueError(
                    f"columns.{table}.{name}: expected {expected}, got {shown(number)}"
                )

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Columns:
        """Reads a mapping from a TOML file whose keys are the fields of this class.

        Raises FileNotFoundError, and ValueError, which names the file, for what is no mapping.
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


def _iterated(columns: object) -> Sequence[object]:
    return columns if isinstance(columns, Sequence) else [None]


def _is_finite(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return False
    return abs(number) <= sys.float_info.max  # an integer may be larger than any float


def _listed() -> str:
    return ", ".join(WIDTHS)


def existing(file: Path, what: str = "log") -> Path:
    """A regular file or a folder: others may block or never end."""
    if not _files.exists(file):
        raise FileNotFoundError(f"no {what} {str(file)!r:.300}")
    if not _files.is_file(file) and not _files.is_folder(file):
        raise ValueError(f"{file}: expected a {what}, found no regular file")
    return file


def check_length(path: Path, time: Array) -> None:
    """Raises ValueError for a log of too few rows."""
    if len(time) < _LEAST_ROWS:
        raise ValueError(
            f"{path}: expected at least {_LEAST_ROWS} rows, got {len(time)}, "
            f"{time[-1] - time[0]:.3g} s; a longer log would do"
        )


def scaled(columns: Columns, key: str, values: Array) -> Array:
    """Values of a column in SI units."""
    return (values + columns.offset.get(key, 0.0)) * columns.scale.get(key, 1.0)


@dataclass(frozen=True)
class _Series:
    """One field of a topic, with the times of its messages."""

    name: str
    time: Array
    """(K,) s."""
    values: Array
    """(K,)."""
    first: int = 1
    """Number of the first of these messages."""

    def piece(self, start: float, stop: float) -> _Series:
        """From the last message up to `start` to the first from `stop` on."""
        before, after = np.flatnonzero(self.time <= start), np.flatnonzero(self.time >= stop)
        first = int(before[-1]) if len(before) else 0
        rows = slice(first, int(after[0]) + 1 if len(after) else len(self.time))
        return _Series(self.name, self.time[rows], self.values[rows], self.first + first)

    def check(self, path: Path, origin: float) -> None:
        """Raises ValueError, which names message and time, for what cannot be used."""
        bad = np.flatnonzero(~np.isfinite(self.values))
        if len(bad):
            raise ValueError(
                f"{path}, message {self.first + bad[0]} of {self.name}: not a finite number, at "
                f"{self.time[bad[0]] - origin:.9g} s; cut the log there"
            )
        if len(self.time) < 2:
            raise ValueError(
                f"{path}: {self.name} has {len(self.time)} messages; a longer log would do, or a "
                f"mapping without it"
            )
        flights.check_time(Path(f"{path}, {self.name}"), self.time, origin, self.first)


def from_topics(
    path: Path,
    columns: Columns,
    series: Callable[[str], tuple[Array, Array]],
    piece: tuple[float, float],
) -> Flight:
    """A flight from topics, each with its own times, on the times of the body rates.

    series: gives times [s] and values of `topic:field`; KeyError tells what there is instead.
    piece: s, from the first time that all topics have: what is read.
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
    every = [one for own in parts.values() for one in own]
    for one in every:
        if len(one.time) < 2:
            one.check(path, 0.0)
    origin = max(float(one.time[0]) for one in every)
    first = max(origin, origin + piece[0])
    last = min([origin + piece[1], *(float(one.time[-1]) for one in every)])
    parts = {key: [one.piece(first, last) for one in own] for key, own in parts.items()}
    for own in parts.values():
        for one in own:
            one.check(path, origin)
    time = parts["body_rates"][0].time
    time = time[(time >= first) & (time <= last)]
    if len(time) < _LEAST_ROWS:
        raise ValueError(
            f"{path}: expected topics that were recorded together, {', '.join(parts)} have "
            f"{max(last - first, 0.0):.3g} s in common; a longer log would do"
        )
    on_time = {key: _on_time(path, key, own, time, origin) for key, own in parts.items()}
    slowest = max((float(np.median(np.diff(m.time))) for m in parts.get("motors", ())), default=0.0)
    if slowest > SLOWEST_COMMANDS:
        columns = replace(columns, synchronous=False)
    return assembled(path, columns, time - origin, on_time)


def _on_time(path: Path, key: str, own: Sequence[_Series], time: Array, origin: float) -> Array:
    """(K, N) what stands in some series, interpolated; attitudes along the shorter way."""
    values = [one.values for one in own]
    if key == "attitude":
        if any(not np.array_equal(one.time, own[0].time) for one in own):
            raise ValueError(
                f"{path}: expected the attitude's four parts from messages of one topic, got "
                f"{', '.join(one.name for one in own)}"
            )
        table = np.stack(values, axis=-1)
        topic = Path(f"{path}, {own[0].name}")
        table = flights.checked_attitude(topic, table, own[0].time - origin, own[0].first)
        values = list(table.T)
    on_time = [np.interp(time, one.time, v) for one, v in zip(own, values, strict=True)]
    result = np.stack(on_time, axis=-1)
    if key == "attitude":
        result /= np.linalg.norm(result, axis=1, keepdims=True)
    return result


def assembled(
    path: Path, columns: Columns, seconds: Array, raw: Mapping[str, Array], first_row: int = 1
) -> Flight:
    """A flight from columns (K, …) in their units; first_row: number of their first."""
    check_length(path, seconds)
    flights.check_sizes(path, {"time": seconds, **raw}, first_row)
    parts = dict(raw)
    duty = parts.get("motors", np.zeros((len(seconds), 0)))
    outside = np.argwhere((duty < -1e-3) | (duty > 1.001))
    if len(outside):
        row, motor = outside[0]
        raise ValueError(
            f"{path}, row {first_row + row}, at {seconds[row]:.9g} s: {columns.motors[motor]} "
            f"gives a duty cycle of {duty[row, motor]:.4g}, expected 0 to 1; set scale and offset "
            f"of motors"
        )
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
        synchronous=columns.synchronous,
        accelerometer_cutoff=columns.accelerometer_cutoff,
    )
