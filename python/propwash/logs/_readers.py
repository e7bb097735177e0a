"""Reads logs of all supported formats."""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from propwash import _files
from propwash.logs import _blackbox, _mcap, _rosbag, _ulog
from propwash.logs import _flights as flights
from propwash.logs._columns import (
    WIDTHS,
    Columns,
    assembled,
    check_length,
    checked,
    existing,
    scaled,
)
from propwash.logs._csv_table import CsvTable
from propwash.logs._flights import PWM_FULL, STANDARD_GRAVITY, Flight, LogPart
from propwash.logs._layout import BETAFLIGHT_QUAD_X, Layout
from propwash.logs._motors import Vehicle, in_rotor_order
from propwash.logs._record_files import MCAP_PROFILE, is_record, read_flight_log

_MOTION_CAPTURE = Columns(
    time="t",
    position=["px", "py", "pz"],
    attitude=["qw", "qx", "qy", "qz"],
    velocity=["vx", "vy", "vz"],
    body_rates=["wx_vicon", "wy_vicon", "wz_vicon"],
    specific_force=["imu_acc_x", "imu_acc_y", "imu_acc_z"],
    motors=[f"motor_motor_m{i}" for i in range(1, 5)],
    voltage="pwr_pm_vbat",
    scale={"specific_force": STANDARD_GRAVITY, "motors": 1.0 / PWM_FULL},
    synchronous=False,
    voltage_cutoff=1.0,
)
"""Motion capture with motor commands and voltage of a Crazyflie (NanoBench, arXiv 2603.09908)."""
_ON_BOARD = Columns(
    time="timestamp",
    specific_force=["acc.x", "acc.y", "acc.z"],
    body_rates=["gyro.x", "gyro.y", "gyro.z"],
    motors=[f"motor.m{i}" for i in range(1, 5)],
    scale={
        "time": 1e-6,
        "specific_force": STANDARD_GRAVITY,
        "body_rates": math.pi / 180.0,
        "motors": 1.0 / PWM_FULL,
    },
    accelerometer_cutoff=30.0,
)
"""On-board log of a Crazyflie at about 1 kHz (Eschmann et al., arXiv 2404.07837)."""


def read_log(
    path: str | PathLike[str],
    columns: Columns | None = None,
    *,
    vehicle: Vehicle | None = None,
    start: float = -math.inf,
    stop: float = math.inf,
    correct: bool = False,
) -> Flight:
    """Reads a log: CSV, PX4 ULog (`.ulg`), a ROS bag, MCAP, or an event log of LCM.

    A bag is a file `.bag`, `.mcap` or `.db3`, or the folder of a ROS 2 bag. Other MCAP files have
    messages in JSON or protobuf.

    Args:
        path: The log.
        columns: Mapping of columns to quantities; None for the built-in formats (docs/logs.md).
        vehicle: Vehicle in the order of whose rotors the motors of a flight controller are
            returned; None for the order of the log. A mapping states the order itself.
        start: Start of the part that is read, s since the first row.
        stop: End of that part. Errors elsewhere in the log are ignored.
        correct: Whether to correct wrong units, axes and lost voltages that the log shows beyond
            doubt (docs/logs.md#wrong-logs), with a warning, instead of raising an exception.

    Raises:
        FileNotFoundError: If the log does not exist.
        ImportError: If the package that reads the format is missing.
        ValueError: With file, row, column and time: for missing columns, gaps, times that do not
            increase, values that are not finite, logs that are too short, quantities that do not
            agree with each other, and motors that do not match the vehicle's rotors.
    """
    if columns is not None and not isinstance(columns, Columns):
        raise TypeError(f"columns: expected identify.Columns, got {columns!r:.100}")
    part = LogPart(start, stop, correct)
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path: expected a path, got {path!r:.100}")
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".ulg":
        flight, layout = _ulog.read(existing(file), columns, part)
        return flight if columns is not None else _ordered(flight, layout, vehicle)
    if suffix == ".mcap" and not _files.is_folder(file):
        profile = _mcap.profile_of(existing(file))
        if profile == MCAP_PROFILE and columns is None:
            return read_flight_log(file, part)
        if profile not in (None, "ros1", "ros2"):
            return _mcap.read(file, columns, part)
    if suffix in (".bag", ".mcap", ".db3") or _files.is_folder(file):
        return _rosbag.read(existing(file), columns, part)
    from propwash import lcm  # it hosts vehicles too: the core does not import it

    if lcm.is_event_log(file):
        from propwash.logs import _lcm

        return _lcm.read(file, columns, part)
    flight = _read_csv(file, columns, part, vehicle)
    check_length(flight.path, flight.time)
    return flight


def read_flight(
    path: str | PathLike[str], start: float = -math.inf, stop: float = math.inf
) -> Flight:
    """Reads a CSV log of a built-in format, or its rows from `start` to `stop` [s].

    Raises FileNotFoundError, and ValueError, with file, columns or row, for an invalid log.
    """
    return _read_csv(path, None, LogPart(start, stop), None)


def _read_csv(
    path: str | PathLike[str],
    columns: Columns | None,
    part: LogPart,
    vehicle: Vehicle | None,
) -> Flight:
    table = CsvTable.read(flights.find_flight(path))
    if columns is None and is_record(table):
        return read_flight_log(table, part)
    advice = "Name others in the mapping"
    is_blackbox = columns is None and _blackbox.is_blackbox(table)
    if is_blackbox:
        columns = _blackbox.columns(table)
    elif columns is None:
        advice = "docs/logs.md lists the formats, and maps others"
        has_timestamp = "timestamp" in table.names and "t" not in table.names
        columns = _ON_BOARD if has_timestamp else _MOTION_CAPTURE
    if not columns.time:
        raise ValueError(f"{table.path}: columns.time: expected the name of a column of a CSV file")
    keys = [key for key in WIDTHS if getattr(columns, key)]
    table.require([columns.time, *(name for key in keys for name in getattr(columns, key))], advice)
    time = scaled(columns, "time", table.column(columns.time))
    table, time = flights.timed(table, time, part.start, part.stop)
    parts = {key: scaled(columns, key, table.stack(getattr(columns, key))) for key in keys}
    if is_blackbox and "motors" in parts:  # a stopped motor has a command below the lowest speed
        parts["motors"] = np.maximum(parts["motors"], 0.0)
    flight = assembled(table.path, columns, time, parts, table.first_row)
    flight = checked(flight, columns, part)
    if not is_blackbox:
        return flight
    return _ordered(flight, BETAFLIGHT_QUAD_X if flight.motors == 4 else None, vehicle)


def _ordered(flight: Flight, layout: Layout | None, vehicle: Vehicle | None) -> Flight:
    if vehicle is None:
        return replace(flight, layout=layout)
    return in_rotor_order(flight, layout, vehicle)
