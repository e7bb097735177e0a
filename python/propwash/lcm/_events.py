"""Event logs of LCM, as lcm-logger writes them."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from propwash import _files

_SYNC = 0xEDA1DA01
_SYNC_BYTES = _SYNC.to_bytes(4, "big")
_HEADER = struct.Struct(">Iqqii")
"""Sync word, number and time of the event, lengths of channel and data."""


class Event(NamedTuple):
    """A message of a log."""

    utime: int
    """us, when the message was received."""
    channel: str
    """Its name."""
    data: bytes
    """The encoded message."""


def is_event_log(path: str | PathLike[str]) -> bool:
    """Whether a file begins as an event log does."""
    if not _files.is_file(path):
        return False
    with Path(path).open("rb") as stream:
        return stream.read(4) == _SYNC_BYTES


def read_events(path: str | PathLike[str]) -> Iterator[Event]:
    """The messages of an event log in the order of the file; does not need the package lcm.

    Raises ValueError, with the position, where the file is damaged. Warns if the last event is not
    complete, as when the logger was stopped.
    """
    file = Path(path)
    if not _files.is_file(file):
        raise ValueError(f"{file}: expected an event log of LCM, found no regular file")
    size = file.stat().st_size
    with file.open("rb") as stream:
        while header := stream.read(_HEADER.size):
            at = stream.tell() - len(header)
            _, _, utime, *lengths = _HEADER.unpack(header.ljust(_HEADER.size, b"\0"))
            whole = len(header) == _HEADER.size
            if header[:4] != _SYNC_BYTES[: len(header)] or (whole and min(lengths) < 0):
                raise ValueError(
                    f"{file}: expected an event of LCM at byte {at}, got {header[:4].hex()}; cut "
                    "the log there"
                )
            if not whole or stream.tell() + sum(lengths) > size:
                warnings.warn(
                    f"{file}: the last event, at byte {at}, is not complete", stacklevel=2
                )
                return
            name, data = (stream.read(length) for length in lengths)
            yield Event(utime, name.decode("utf-8", "replace"), data)


class EventWriter:
    """Writes an event log that lcm-logplayer plays. A context manager."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._stream = Path(path).open("wb")  # noqa: SIM115
        self._count = 0

    def write(self, utime: int, channel: str, data: bytes) -> None:
        """Writes a message that was received at `utime` [us]."""
        name = channel.encode()
        header = _HEADER.pack(_SYNC, self._count, utime, len(name), len(data))
        self._stream.write(header + name + data)
        self._count += 1

    def close(self) -> None:
        """Completes the file."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
