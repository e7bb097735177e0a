"""Keeps flights: logs in a folder, and their places on the leader board."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from propwash import _files
from propwash.arcade import _messages as messages
from propwash.arcade._board import Board, Entry
from propwash.logs import FlightRecord, write_record
from propwash.race import Result

SUFFIXES = (".csv", ".mcap")


class FlightStore:
    """Writes the log of each flight, and adds it to the leader board.

    A log that cannot be written remains in memory and is written with the next one, or by
    `write_waiting`. folder: created at the first flight. pilot: name. suffix: of the logs. send:
    called with each message for the pages. Any thread may call the methods.
    """

    def __init__(
        self, folder: Path, pilot: str, suffix: str, send: Callable[[messages.ToPage], None]
    ) -> None:
        self.board = Board(folder)
        self.files: list[Path] = []
        """Logs written."""
        self._folder, self._pilot, self._suffix, self._send = folder, pilot, suffix, send
        self._waiting: dict[Path, FlightRecord] = {}
        self._lock = threading.Lock()

    def keep(self, record: FlightRecord, result: Result, scale: float) -> None:
        """Keeps a flight, as `Runner` passes it on. Raises OSError or ValueError for files."""
        now = datetime.now(UTC)
        added = {"pilot": self._pilot, "scale": scale, "date": now.isoformat("T", "seconds")}
        record = replace(record, info={**record.info, **added})
        with self._lock:
            file = self._free(f"{record.info['course']}-{record.info['seed']}-{now:%Y%m%d-%H%M%S}")
            self._waiting[file] = record
        place = None
        try:
            self.write_waiting()
            place = self.board.add(self._entry(record, result, file))
        finally:
            self._send(_message(record, result, place, file if file in self.files else None))
            self.send_board(record.info["course"], record.info["seed"])

    def write_waiting(self) -> None:
        """Writes the logs in memory. Raises OSError; those not written remain."""
        with self._lock:
            while self._waiting:
                file, record = next(iter(self._waiting.items()))
                self._folder.mkdir(parents=True, exist_ok=True)
                write_record(file, record)
                self.files.append(file)
                del self._waiting[file]

    def newest_board(self, course: str, seed: int) -> messages.BoardMessage:
        """The leader board; empty, with a notice, if its file cannot be read."""
        try:
            best = self.board.best(course, seed)
        except (OSError, ValueError) as error:
            self._send(messages.Notice(f"{error}"[:500]))
            best = []
        return messages.BoardMessage(course, seed, [msgspec.to_builtins(each) for each in best])

    def send_board(self, course: str, seed: int) -> None:
        """Sends the leader board to the pages."""
        self._send(self.newest_board(course, seed))

    def _free(self, stem: str) -> Path:
        """A file that does not exist and does not wait."""
        number = 1
        while True:
            name = stem if number == 1 else f"{stem}-{number}"
            file = self._folder / f"{name}{self._suffix}"
            if file not in self._waiting and not _files.exists(file):
                return file
            number += 1

    def _entry(self, record: FlightRecord, result: Result, file: Path) -> Entry:
        info, mode = record.info, record.mode
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


def _message(
    record: FlightRecord, result: Result, place: int | None, file: Path | None
) -> messages.FlightMessage:
    return messages.FlightMessage(
        result=record.info["phase"],
        gates=len(result.passages),
        race_time=_last(result),
        score=float(result.score),
        ranked=place is not None,
        place=place,
        log=None if file is None else str(file),
    )
