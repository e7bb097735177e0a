"""Logs of any tool into one `FlightLog`: which columns mean what, and the checks of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import flights, frames
from propwash.flights import Flight

Array = NDArray[np.float64]

_WIDTHS = {
    "motors": None,
    "body_rates": 3,
    "specific_force": 3,
    "position": 3,
    "velocity": 3,
    "attitude": 4,
    "voltage": 1,
}
_LEAST_ROWS = 50
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
    `body_rates` and `specific_force` may be left out.
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
    """Whether commands and motion were recorded by one clock."""
    accelerometer_cutoff: float | None = None
    """Hz, of the low-pass in the accelerometer."""

    def __post_init__(self) -> None:
        for name, width in _WIDTHS.items():
            columns = getattr(self, name)
            if isinstance(columns, str):
                raise TypeError(f"columns.{name}: expected a list of names, got {columns!r:.100}")
            if columns and width is not None and len(columns) != width:
                raise ValueError(f"columns.{name}: expected {width} names, got {len(columns)}")
        for table in ("scale", "offset"):
            for name in getattr(self, table):
                if name not in (*_WIDTHS, "time"):
                    raise ValueError(f"columns.{table}: {name!r} is none of time, {_listed()}")
        for name in ("body_rates", "specific_force"):
            if not getattr(self, name):
                raise ValueError(f"columns.{name}: expected 3 names, got none")

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Columns:
        """Reads a mapping from a TOML file whose keys are the fields of this class.

        Raises ValueError, which names the file, for what is no mapping.
        """
        import tomllib

        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            unknown = set(table) - {item.name for item in fields(cls)}
            if unknown:
                known = ", ".join(item.name for item in fields(cls))
                raise ValueError(f"unknown key {sorted(unknown)[0]!r}; known here: {known}")
            return cls(**table)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None


def _listed() -> str:
    return ", ".join(_WIDTHS)


def read_log(path: str | PathLike[str], columns: Columns | None = None) -> Flight:
    """Reads a log: CSV, PX4 ULog (`.ulg`), or a ROS bag.

    A bag is a file `.bag`, `.mcap` or `.db3`, or the folder of a ROS 2 bag.

    columns: which columns hold what; None for the formats that are known (docs/identify.md).

    Raises FileNotFoundError; ImportError, which names the package, where one is missing; ValueError
    for columns that are not there, gaps, times that do not increase, numbers that are not finite,
    and logs that are too short: it names file, row, column and time.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".ulg":
        from propwash.identify import _ulog

        return _ulog.read(_existing(file), columns)
    if suffix in (".bag", ".mcap", ".db3") or file.is_dir():
        from propwash.identify import _rosbag

        return _rosbag.read(_existing(file), columns)
    if columns is None:
        flight = flights.read_flight(file)
        _check_length(flight.path, flight.time)
        return flight
    return _read_csv(flights.find_flight(file), columns)


def _existing(file: Path) -> Path:
    if not file.exists():
        raise FileNotFoundError(f"no log {str(file)!r}")
    return file


def _check_length(path: Path, time: Array) -> None:
    if len(time) < _LEAST_ROWS:
        raise ValueError(
            f"{path}: expected at least {_LEAST_ROWS} rows, got {len(time)}, "
            f"{time[-1] - time[0]:.3g} s; a longer log would do"
        )


def _read_csv(path: Path, columns: Columns) -> Flight:
    table = flights.read_columns(path)
    if not columns.time:
        raise ValueError(f"{path}: columns.time: expected the name of a column of a CSV file")
    named = [columns.time, *(name for key in _WIDTHS for name in getattr(columns, key))]
    missing = [name for name in named if name not in table]
    if missing:
        raise ValueError(
            f"{path}: missing columns {', '.join(missing)}; found {', '.join(table)}. Name others "
            f"in the mapping"
        )
    time = _scaled(columns, "time", table[columns.time])
    parts = {
        key: np.stack([table[name] for name in getattr(columns, key)], axis=-1)
        for key in _WIDTHS
        if getattr(columns, key)
    }
    return assembled(path, columns, time, parts)


def _scaled(columns: Columns, key: str, values: Array) -> Array:
    return (values + columns.offset.get(key, 0.0)) * columns.scale.get(key, 1.0)


def from_topics(
    path: Path, columns: Columns, series: Callable[[str], tuple[Array, Array]]
) -> Flight:
    """A flight from topics, each with its own times, on the times of the body rates.

    series: gives times [s] and values of `topic:field`; KeyError tells what there is instead.
    """
    parts: dict[str, tuple[Array, list[Array]]] = {}
    for key in _WIDTHS:
        for name in getattr(columns, key):
            try:
                time, values = series(name)
            except KeyError as error:
                raise ValueError(
                    f"{path}: missing {name} for {key}; found {error.args[0]}. Name others in the "
                    f"mapping"
                ) from None
            _check_series(path, name, time, values)
            parts.setdefault(key, (time, []))[1].append(values)
    time = parts["body_rates"][0]
    first = max(own[0] for own, _ in parts.values())
    last = min(own[-1] for own, _ in parts.values())
    kept = (time >= first) & (time <= last)
    if kept.sum() < _LEAST_ROWS:
        raise ValueError(
            f"{path}: expected topics that were recorded together, {', '.join(parts)} have "
            f"{max(last - first, 0.0):.3g} s in common; a longer log would do"
        )
    time = time[kept]
    on_time = {
        key: np.stack([np.interp(time, own, values) for values in columns_of], axis=-1)
        for key, (own, columns_of) in parts.items()
    }
    return assembled(path, columns, time, on_time)


def _check_series(path: Path, name: str, time: Array, values: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"{path}, message {bad[0] + 1} of {name}: not a finite number, at {time[bad[0]]:.12g} "
            f"s; cut the log there"
        )
    if len(time) < 2:
        raise ValueError(f"{path}: {name} has {len(time)} messages; a longer log would do")
    flights.checked_time(Path(f"{path}, {name}"), time)


def assembled(path: Path, columns: Columns, time: Array, raw: Mapping[str, Array]) -> Flight:
    """A flight from columns (K, …) that stand in one table."""
    seconds = flights.checked_time(path, time)
    _check_length(path, seconds)
    parts = {key: _scaled(columns, key, values) for key, values in raw.items()}
    duty = parts.get("motors", np.zeros((len(seconds), 0)))
    outside = np.argwhere((duty < -1e-3) | (duty > 1.001))
    if len(outside):
        row, motor = outside[0]
        raise ValueError(
            f"{path}, row {row + 1}, at {seconds[row]:.6g} s: {columns.motors[motor]} gives a duty "
            f"cycle of {duty[row, motor]:.4g}, expected 0 to 1; set scale and offset of motors"
        )
    if columns.down:
        parts = {key: _UP.get(key, np.asarray)(values) for key, values in parts.items()}
    attitude = parts.get("attitude")
    if attitude is not None:
        attitude = flights.checked_attitude(path, attitude)
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
