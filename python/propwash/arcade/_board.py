"""The leader board: the flights of a folder, in one JSON file."""

from __future__ import annotations

import getpass
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

import msgspec

from propwash import _checks, _files
from propwash.arcade._interface import MODES, Mode

FILE = "board.json"
"""Name of the file in the folder."""
_MAX_NAME = 40
_VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A flight on the leader board. Raises ValueError for invalid numbers and names."""

    name: str
    """Name of the pilot."""
    course: str
    """Its name."""
    seed: int
    """Seed of the gates' positions and of the noise."""
    vehicle: str
    """Its name."""
    mode: Mode
    """At the end of the flight."""
    gates: int
    """Passed in order."""
    race_time: float
    """s, of the last gate passed."""
    score: float
    """Points of `race.score`."""
    scale: float = 1.0
    """Lowest scale of the clock."""
    date: str = ""
    """ISO 8601, UTC; empty: now."""
    log: str = ""
    """Flight log, a file in the folder."""

    def __post_init__(self) -> None:
        check_name(self.name)
        _checks.choice("mode", self.mode, MODES)
        if not (
            self.gates >= 0
            and 0.0 <= self.race_time < math.inf
            and math.isfinite(self.score)
            and 0.0 < self.scale <= 1.0
        ):
            raise ValueError(
                "entry: expected gates >= 0, a finite time >= 0, a finite score and a scale > 0 "
                f"and <= 1, got {self.gates}, {self.race_time}, {self.score}, {self.scale}"
            )
        if Path(self.log).name != self.log or self.log == "..":
            raise ValueError(f"log: expected the name of a file in the folder, got {self.log!r}")

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts the best flight first: more gates, then less time."""
        return -self.gates, self.race_time


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    entries: list[Entry]


class Board:
    """The leader board of a folder; several programs may add flights at the same time.

    Only flights at scale 1 with at least one gate are ranked. Reading and adding raise ValueError,
    which names the file, if it is not a leader board, and OSError if it cannot be read or written;
    the file then remains as it was.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._file = self.folder / FILE

    def entries(self) -> list[Entry]:
        """All flights, in the order in which they were added."""
        if not _files.exists(self._file):
            return []
        data = _files.read_bytes(self._file, "a leader board", ValueError)
        try:
            board = msgspec.json.decode(data, type=_File)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._invalid(str(error)) from None
        if board.version != _VERSION:
            raise self._invalid(f"version {board.version}, expected {_VERSION}")
        return board.entries

    def best(self, course: str, seed: int, n: int = 10) -> list[Entry]:
        """The best flights on a course with a seed, at most n; of equal ones the first flown."""
        return self._ranked(self.entries(), course, seed)[:n]

    def add(self, entry: Entry) -> int | None:
        """Adds a flight. Returns its place from 1, or None for a flight that is not ranked."""
        if not entry.date:
            entry = msgspec.structs.replace(entry, date=datetime.now(UTC).isoformat("T", "seconds"))
        with self.locked():
            entries = [*self.entries(), entry]
            data = msgspec.json.encode(_File(_VERSION, entries))
            with _files.written_whole(self._file) as part:
                part.write_bytes(msgspec.json.format(data, indent=1) + b"\n")
        ranked = self._ranked(entries, entry.course, entry.seed)
        return next((place for place, each in enumerate(ranked, 1) if each is entry), None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Excludes other threads and programs that lock the folder, which it creates."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f".{FILE}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @staticmethod
    def _ranked(entries: list[Entry], course: str, seed: int) -> list[Entry]:
        chosen = [
            each
            for each in entries
            if each.course == course and each.seed == seed and each.gates and each.scale >= 1.0
        ]
        return sorted(chosen, key=lambda each: each.rank)

    def _invalid(self, reason: str) -> ValueError:
        return ValueError(
            f"{self._file}: expected a leader board of the arcade, {reason:.200}; correct or move "
            "the file, it was not changed"
        )


def check_name(name: str) -> None:
    """Raises ValueError for an invalid name of a pilot."""
    if not 1 <= len(name) <= _MAX_NAME or not name.isprintable():
        raise ValueError(f"name: expected 1 to {_MAX_NAME} printable characters, got {name!r:.100}")


def default_name() -> str:
    """The user's login, or "pilot"."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "pilot"
    return name[:_MAX_NAME] if name and name.isprintable() else "pilot"
