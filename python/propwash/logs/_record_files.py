"""Files of simulated flights: CSV, and MCAP with messages in JSON; both keep every bit."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propwash import _core, _files
from propwash._checks import shown
from propwash.logs import _flights as flights
from propwash.logs._columns import Columns, assembled, check_length, checked, existing
from propwash.logs._csv_table import COMMENT, CsvTable
from propwash.logs._flights import Flight, LogPart
from propwash.logs._record import COMMANDS, OPTIONAL, PARTS, FlightRecord

Array = NDArray[np.float64]

MCAP_PROFILE = "propwash-flight"
_FORMAT = 1
_TITLE = f"{COMMENT}flight log, format "
_ROWS_AT_ONCE = 64
"""Rows that are written without a pause for other threads, some ms."""
_TOPICS = {
    "/state": ("position", "velocity", "attitude", "body_rates"),
    "/imu": ("specific_force", "angular_rate"),
    "/motors": ("rotor_speeds", "duty", "voltage"),
    "/sticks": ("sticks", "mode"),
    "/command": COMMANDS,
    "/gates": ("gates",),
}
"""Quantities in the messages of a topic; each message also has `time` [s]."""
_COLUMNS = Columns(
    body_rates=["body_rates x", "body_rates y", "body_rates z"],
    specific_force=["specific_force x", "specific_force y", "specific_force z"],
)


def check_record_file(path: str | PathLike[str]) -> Path:
    """Returns the path of a flight log that is written after a flight.

    Raises ValueError for a suffix other than `.csv` and `.mcap` and for a folder that does not
    exist, and ImportError for `.mcap` without the package mcap.
    """
    file = Path(path)
    if file.suffix.lower() not in _FORMATS:
        raise ValueError(f"{file}: expected a flight log .csv or .mcap; use another suffix")
    _files.check_file(file, "log")
    if file.suffix.lower() == ".mcap":
        _require_mcap()
    return file


def write_record(path: str | PathLike[str], record: FlightRecord) -> Path:
    """Writes a flight log, `.csv` or `.mcap`, completely or not at all; returns its path.

    Raises as `check_record_file`, and OSError, with the file, if it cannot be written.
    """
    file = check_record_file(path)
    if not isinstance(record, FlightRecord):
        raise TypeError(f"record: expected a FlightRecord, got {shown(record)}")
    write = _FORMATS[file.suffix.lower()]
    if len(record) < 2:
        raise ValueError(f"{file}: expected a flight of at least two rows, got {len(record)}")
    with _files.written_whole(file) as part:
        write(part, record)
    return file


def read_record(path: str | PathLike[str]) -> FlightRecord:
    """Reads a flight log that `write_record` wrote.

    Raises FileNotFoundError, ValueError with the file, and the line or topic, for another or a
    damaged file, and ImportError for `.mcap` without the package mcap.
    """
    file = existing(Path(path))
    if file.suffix.lower() == ".mcap":
        return _read_mcap(file)
    return _read_table(CsvTable.read(file))


def is_record(table: CsvTable) -> bool:
    """Whether a table has the columns of a flight log."""
    return {"body_rates_x", "specific_force_x", "duty_1"} <= set(table.names)


def read_flight_log(table_or_file: CsvTable | Path, part: LogPart) -> Flight:
    """The rows of a flight log as a Flight, with the true motion.

    A duty cycle is the mean over the interval before its row; that of the flight is the mean of
    the intervals before and after it.
    """
    if isinstance(table_or_file, CsvTable):
        path, record = table_or_file.path, _read_table(table_or_file)
    else:
        path, record = table_or_file, _read_mcap(table_or_file)
    time = record.time
    flights.check_time(path, time, float(time[0]))
    check_length(path, time)
    duty = record.duty.copy()
    duty[:-1] = 0.5 * (duty[:-1] + duty[1:])
    names = ("body_rates", "specific_force", "position", "velocity", "attitude")
    parts = {name: getattr(record, name) for name in names}
    if record.voltage is not None:
        parts["voltage"] = record.voltage[:, np.newaxis]
    flight = assembled(path, _COLUMNS, time - time[0], {**parts, "motors": duty})
    flight = replace(flight, vehicle=record.load_vehicle(str(path)))
    return checked(flight.cut(part.start, part.stop), _COLUMNS, part)


def _require_mcap() -> None:
    try:
        import mcap  # noqa: F401
    except ImportError as error:
        raise ImportError('MCAP files need mcap: pip install "propwash[log]"') from error


def _names(quantity: str, rotors: int) -> list[str]:
    """Columns of a quantity in a CSV file."""
    parts = PARTS.get(quantity, ())
    if parts is None:
        parts = tuple(str(k) for k in range(1, rotors + 1))
    return [f"{quantity}_{part}" for part in parts] or [quantity]


def _chunks(rows: int) -> Iterator[slice]:
    """Slices of a few rows, between which other threads may run."""
    for first in range(0, rows, _ROWS_AT_ONCE):
        yield slice(first, min(first + _ROWS_AT_ONCE, rows))


class RecordStream:
    """A flight log `.csv` that is written during the flight; a context manager.

    The rows are in the file when `add` returns: they remain if the process is killed.

    Raises OSError, with the file, if it cannot be written; whole lines remain.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._stream = self.path.open("wb", buffering=0)
        self._present: list[str] = []

    def add(self, record: FlightRecord, rows: int | None = None) -> None:
        """Appends the first rows of a record, by default all.

        Information and quantities are those of the first record.
        """
        if not self._present:
            self._present = [n for n in (*PARTS, "mode") if getattr(record, n) is not None]
            self._write(f"{_TITLE}{_FORMAT}, propwash {_core.__version__}\n")
            self._write("".join(f"# {k} = {json.dumps(v)}\n" for k, v in record.info.items()))
            names = [name for n in self._present for name in _names(n, record.rotors)]
            self._write(",".join(names) + "\n")
        for part in _chunks(len(record) if rows is None else rows):
            text = io.StringIO()
            columns = self._columns(record, part)
            csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
            self._write(text.getvalue())

    def _write(self, text: str) -> None:
        left, start = memoryview(text.encode()), self._stream.tell()
        try:
            while left:
                left = left[self._stream.write(left) :]
        except OSError as error:  # such as a full disk
            with suppress(OSError):  # it may be a device
                self._stream.truncate(start)
            error.filename = str(self.path)
            raise

    def _columns(self, record: FlightRecord, rows: slice) -> Iterator[list[Any]]:
        for name in self._present:
            values = getattr(record, name)[rows]
            for column in values.reshape(len(values), -1).T.tolist():
                yield ["" if x != x else x for x in column] if name in COMMANDS else column

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _write_csv(file: Path, record: FlightRecord) -> None:
    with RecordStream(file) as stream:
        stream.add(record)


def _read_table(table: CsvTable) -> FlightRecord:
    if not is_record(table):
        raise ValueError(
            f"{table.path}: expected a flight log of propwash.logs.write_record, found columns "
            f"{', '.join(table.names):.300}"
        )
    rotors = 1
    while f"duty_{rotors + 1}" in table.names:
        rotors += 1
    parts: dict[str, Any] = {}
    for quantity in PARTS:
        names = _names(quantity, rotors)
        if quantity in OPTIONAL and not set(names) & set(table.names):
            continue
        table.require(names, "Use the log as propwash wrote it")
        has_gaps = quantity in COMMANDS
        columns = [table.column(name, gaps=has_gaps) for name in names]
        parts[quantity] = columns[0] if PARTS[quantity] == () else np.stack(columns, axis=-1)
    if "mode" in table.names:
        index = table.names.index("mode")
        parts["mode"] = np.array([row[index] for row in table.cells])
    return _made(table.path, parts, _info(table))


def _info(table: CsvTable) -> dict[str, Any]:
    """The comments `# key = value` before the names of the columns."""
    if table.comments and table.comments[0].startswith(_TITLE):
        number = table.comments[0].removeprefix(_TITLE).partition(",")[0].strip()
        _check_format(table.path, number)
    info = {}
    for line, comment in enumerate(table.comments[1:], 2):
        key, _, value = comment.removeprefix("#").partition("=")
        try:
            info[key.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(
                f"{table.path}, line {line}: expected '# key = value' with a value of JSON, got "
                f"{comment!r:.100}"
            ) from None
    return info


def _check_format(path: Path, number: str) -> None:
    if number != str(_FORMAT):
        raise ValueError(
            f"{path}: expected a flight log of format {_FORMAT}, got {number!r:.20}; use the "
            f"version of propwash that wrote it"
        )


def _made(path: Path, parts: Mapping[str, Any], info: Mapping[str, Any]) -> FlightRecord:
    try:
        return FlightRecord(**parts, info=info)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def _schema(present: Sequence[str]) -> bytes:
    """The JSON schema of the messages with these quantities."""
    number = {"type": "number"}
    properties: dict[str, Any] = {"time": number}
    for name in present:
        parts = PARTS.get(name, ())
        if parts:
            properties[name] = {"type": "object", "properties": dict.fromkeys(parts, number)}
        elif parts is None:
            properties[name] = {"type": "array", "items": number}
        else:
            properties[name] = {"type": "string"} if name == "mode" else number
    return json.dumps({"type": "object", "properties": properties}).encode()


def _messages(record: FlightRecord, present: Sequence[str], rows: slice) -> list[dict[str, Any]]:
    """One message for each row, without NaN."""
    messages = [{"time": time} for time in record.time[rows].tolist()]
    for name in present:
        parts = PARTS.get(name, ())
        for message, value in zip(messages, getattr(record, name)[rows].tolist(), strict=True):
            content = dict(zip(parts, value, strict=True)) if parts else value
            first = next(iter(content.values())) if parts else content
            if name not in COMMANDS or first == first:
                message[name] = content
    return messages


def _write_mcap(file: Path, record: FlightRecord) -> None:
    from mcap.writer import Writer

    stamps = np.round(1e9 * (record.time - min(record.time[0], 0.0))).astype(np.int64).tolist()
    with file.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile=MCAP_PROFILE, library=f"propwash {_core.__version__}")
        info = {key: json.dumps(value) for key, value in record.info.items()}
        writer.add_metadata(MCAP_PROFILE, {"format": str(_FORMAT), **info})
        topics: dict[int, list[str]] = {}
        for topic, quantities in _TOPICS.items():
            present = [name for name in quantities if getattr(record, name) is not None]
            if present:
                name = "propwash." + topic.removeprefix("/")
                schema = writer.register_schema(name, "jsonschema", _schema(present))
                topics[writer.register_channel(topic, "json", schema)] = present
        for rows in _chunks(len(record)):
            for channel, present in topics.items():
                for row, message in enumerate(_messages(record, present, rows), rows.start):
                    data = json.dumps(message).encode()
                    writer.add_message(channel, stamps[row], data, stamps[row], row)
        writer.finish()  # type: ignore[no-untyped-call]


def _read_mcap(path: Path) -> FlightRecord:
    _require_mcap()
    from mcap.reader import make_reader

    messages: dict[str, list[dict[str, Any]]] = {}
    try:
        with path.open("rb") as stream:
            reader = make_reader(stream)
            metadata = [one for one in reader.iter_metadata() if one.name == MCAP_PROFILE]
            for _, channel, message in reader.iter_messages():
                messages.setdefault(channel.topic, []).append(json.loads(message.data))
        texts = {key: text for one in metadata for key, text in one.metadata.items()}
        number = texts.pop("format", "none")
        info = {key: json.loads(text) for key, text in texts.items()}
    except Exception as error:  # mcap and decompressors raise many types
        raise ValueError(
            f"{path}: expected a flight log of propwash.logs.write_record: {error!s:.300}"
        ) from None
    _check_format(path, number)
    return _made(path, _parts_of(path, messages), info)


def _parts_of(path: Path, messages: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Arrays of the quantities in messages."""
    parts: dict[str, Any] = {}
    for topic, quantities in _TOPICS.items():
        rows = messages.get(topic, [])
        try:
            if rows:
                times = np.array([row["time"] for row in rows], dtype=np.float64)
                if not np.array_equal(parts.setdefault("time", times), times):
                    raise ValueError("its times are not those of /state")
            for name in quantities:
                if any(name in row for row in rows):
                    parts[name] = _column(rows, name)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}, {topic}: expected the messages of a flight log, {error!r:.200}"
            ) from None
    missing = [name for name in PARTS if name not in parts and name not in OPTIONAL]
    if missing:
        raise ValueError(f"{path}: expected a flight log, it lacks {', '.join(missing)}")
    return parts


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Any:
    """A quantity of all messages, an array; NaN where a command lacks it."""
    keys = PARTS.get(name, ())
    lacking = {key: math.nan for key in keys} if keys else math.nan
    values = [row.get(name, lacking) if name in COMMANDS else row[name] for row in rows]
    if keys:
        values = [[value[key] for key in keys] for value in values]
    return np.array(values, dtype=np.str_ if name == "mode" else np.float64)


_FORMATS = {".csv": _write_csv, ".mcap": _write_mcap}
