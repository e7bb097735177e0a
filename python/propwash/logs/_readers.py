"""Reads a log of any known kind."""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path

from propwash import _files
from propwash.logs import _flights as flights
from propwash.logs import _rosbag, _ulog
from propwash.logs._columns import WIDTHS, Columns, assembled, check_length, existing, scaled
from propwash.logs._csv_table import CsvTable
from propwash.logs._flights import Flight


def read_log(
    path: str | PathLike[str],
    columns: Columns | None = None,
    *,
    start: float = -math.inf,
    stop: float = math.inf,
) -> Flight:
    """Reads a log: CSV, PX4 ULog (`.ulg`), or a ROS bag.

    A bag is a file `.bag`, `.mcap` or `.db3`, or the folder of a ROS 2 bag.

    columns: which columns hold what; None for the formats that are known (docs/identify.md).
    start, stop: s, from the first row: the piece that is read; what is wrong elsewhere does no
        harm.

    Raises FileNotFoundError; ImportError, which names the package, where one is missing; ValueError
    for columns that are not there, gaps, times that do not increase, numbers that are not finite,
    and logs that are too short: it names file, row, column and time.
    """
    if columns is not None and not isinstance(columns, Columns):
        raise TypeError(f"columns: expected identify.Columns, got {columns!r:.100}")
    flights.check_piece(start, stop)
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path: expected a path, got {path!r:.100}")
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".ulg":
        return _ulog.read(existing(file), columns, (start, stop))
    if suffix in (".bag", ".mcap", ".db3") or _files.is_folder(file):
        return _rosbag.read(existing(file), columns, (start, stop))
    if columns is None:
        flight = flights.read_flight(file, start, stop)
        check_length(flight.path, flight.time)
        return flight
    return _read_csv(flights.find_flight(file), columns, (start, stop))


def _read_csv(path: Path, columns: Columns, piece: tuple[float, float]) -> Flight:
    if not columns.time:
        raise ValueError(f"{path}: columns.time: expected the name of a column of a CSV file")
    table = CsvTable.read(path)
    keys = [key for key in WIDTHS if getattr(columns, key)]
    table.require(
        [columns.time, *(name for key in keys for name in getattr(columns, key))],
        "Name others in the mapping",
    )
    time = scaled(columns, "time", table.column(columns.time))
    table, time = flights.timed(table, time, *piece)
    parts = {key: scaled(columns, key, table.stack(getattr(columns, key))) for key in keys}
    return assembled(path, columns, time, parts, table.first_row)
