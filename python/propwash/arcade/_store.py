"""Keeps flights: logs in a folder, and their places on the leader board."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from propwash import _files
from propwash.arcade import _messages as messages
from propwash.arcade._board import Board, Entry, check_name
from propwash.logs import FlightRecord, write_record
from propwash.race import Result

SUFFIXES = (".csv", ".mcap")


@dataclass(eq=False)
class _StoredFlight:
    """A flight, and where it is kept."""

    record: FlightRecord
    result: Result
    name: str
    """Name of the log, without suffix."""
    file: Path | None = None
    place: int | None = None
    """On the leader board."""


class FlightStore:
    """Writes the log of each flight, and adds it to the leader board.

    A flight whose log cannot be written remains in memory and is written with the next one, or by
    `write_waiting`. folder: created at the first flight. pilot: name. suffix: of the logs. send:
    called with each message for the pages. Any thread may call the methods, and several programs
    may use a folder. Raises ValueError for an invalid name.
    """

    def __init__(
        self, folder: Path, pilot: str, suffix: str, send: Callable[[messages.ToPage], None]
    ) -> None:
        check_name(pilot)
        self.board = Board(folder)
        self.files: list[Path] = []
        """Logs written."""
        self._pilot, self._suffix, self._send = pilot, suffix, send
        self._waiting: deque[_StoredFlight] = deque()
        self._lock = threading.Lock()

    def keep(self, record: FlightRecord, result: Result, scale: float) -> None:
        """Keeps a flight, as `Runner` passes it on. Raises OSError or ValueError for files."""
        now = datetime.now(UTC)
        course, seed = record.info["course"], record.info["seed"]
        added = {"pilot": self._pilot, "scale": scale, "date": now.isoformat("T", "seconds")}
        record = replace(record, info={**record.info, **added})
        flight = _StoredFlight(record, result, f"{course}-{seed}-{now:%Y%m%d-%H%M%S}")
        with self._lock:
            self._waiting.append(flight)
        try:
            self.write_waiting()
        finally:
            self._send(_message(flight))
            self._send(self.newest_board(course, seed))

    def write_waiting(self) -> None:
        """Writes and ranks the flights in memory.

        Raises OSError for a log, those not written remain; and ValueError for the leader board.
        """
        with self._lock:
            while self._waiting:
                flight = self._waiting[0]
                with self.board.locked():  # another program may choose the same name
                    file = self._free(flight.name)
                    write_record(file, flight.record)
                flight.file = file
                self.files.append(file)
                self._waiting.popleft()
                flight.place = self.board.add(self._entry(flight, file))

    def newest_board(self, course: str, seed: int) -> messages.BoardMessage:
        """The leader board; empty, with a notice, if its file cannot be read."""
        try:
            best = self.board.best(course, seed)
        except (OSError, ValueError) as error:
            self._send(messages.Notice(f"{error}"[:500]))
            best = []
        return messages.BoardMessage(course, seed, [msgspec.to_builtins(each) for each in best])

    def _free(self, stem: str) -> Path:
        """A file that does not exist."""
        number = 1
        while True:
            name = stem if number == 1 else f"{stem}-{number}"
            file = self.board.folder / f"{name}{self._suffix}"
            if not _files.exists(file):
                return file
            number += 1

    def _entry(self, flight: _StoredFlight, file: Path) -> Entry:
        result, info, mode = flight.result, flight.record.info, flight.record.mode
        assert mode is not None  # a game records it
        return Entry(
            name=self._pilot,
            course=info["course"],
            seed=info["seed"],
            vehicle=info["vehicle"],
            mode=str(mode[-1]),  # type: ignore[arg-type]
            gates=len(result.passages),
            race_time=_last(result),
            score=float(result.score),
            scale=info["scale"],
            date=info["date"],
            log=file.name,
        )


def _last(result: Result) -> float:
    """Race time [s] of the last gate passed; 0 without one."""
    return float(result.passages[-1].time) if result.passages else 0.0


def _message(flight: _StoredFlight) -> messages.FlightMessage:
    return messages.FlightMessage(
        result=flight.record.info["phase"],
        gates=len(flight.result.passages),
        race_time=_last(flight.result),
        score=float(flight.result.score),
        ranked=flight.place is not None,
        place=flight.place,
        log=None if flight.file is None else str(flight.file),
    )
