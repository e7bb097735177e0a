"""Reading and writing of files, and search for shipped files.

Every error names the file and what was expected. A path that is not a regular file is rejected
before it is opened: a pipe would block, and a device may never end.
"""

from __future__ import annotations

import errno
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from propwash._checks import ParameterError, nearest, shown

_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LONG_KEY = re.compile(r"(?<![^\s.=,{}\[\]#])(?:[^\s.=,{}\[\]#]++[ \t]*+\.[ \t]*+){64}")
"""A key of more than 64 parts: the time of tomllib is quadratic in the number of parts."""


# Unlike the methods of Path, these functions do not raise for too long names.


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether a path exists."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a regular file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def read_bytes(file: Path, expected: str, error: type[ValueError]) -> bytes:
    """The bytes of a regular file. expected: "a TOML file", for the message."""
    if not is_file(file):
        reason = "found a folder" if is_folder(file) else "found no regular file"
        if not exists(file):
            reason = os.strerror(errno.ENOENT)
        raise error(f"{file!s:.300}: expected {expected}, {reason}")
    try:
        return file.read_bytes()
    except OSError as failure:
        raise error(f"{file}: expected {expected}, {failure.strerror}") from None


def encoding_of(data: bytes) -> str:
    """The encoding of a text by its byte order mark; empty for UTF-8 or without a mark."""
    return next((name for mark, name in _ENCODINGS if data.startswith(mark)), "")


def read_text(file: Path, expected: str, error: type[ValueError]) -> str:
    """The text of a UTF-8 file, with or without byte order mark; line ends become line feeds."""
    data = read_bytes(file, expected, error)
    encoding = encoding_of(data)
    if encoding:
        raise error(f"{file}: expected {expected} in UTF-8, got {encoding}; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        raise error(
            f"{file}: expected {expected} in UTF-8, line {line} has the byte "
            f"0x{data[failure.start]:02x}; save it as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_toml(file: Path, error: type[ValueError]) -> dict[str, Any]:
    """The tables of a TOML file."""
    return parse_toml(read_text(file, "a TOML file", error), str(file), error)


def parse_toml(text: str, file: str, error: type[ValueError]) -> dict[str, Any]:
    """The tables of a text in TOML; file: its name, for the message."""
    long = _LONG_KEY.search(text)
    if long is not None:
        line = text.count("\n", 0, long.start()) + 1
        raise error(f"{file}: expected a TOML file, got a key of more than 64 parts in line {line}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(f"{file}: expected a TOML file, got values nested too deeply") from None
    except ValueError as failure:  # TOMLDecodeError, and integers of more than 4300 digits
        raise error(f"{file}: expected a TOML file, {failure!s:.200}") from None


def check_file(file: Path, option: str = "--out") -> None:
    """Raises ValueError if a file cannot be written because its folder does not exist."""
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise ValueError(f"{option} {file}: expected a file in a folder that exists")


def check_folder(folder: Path, option: str = "--out") -> None:
    """Raises ValueError if a folder cannot be created or written."""
    present = next(each for each in (folder, *folder.parents) if each.exists())
    if not present.is_dir():
        raise ValueError(f"{option} {folder!s:.300}: expected a folder, {present} is a file")
    if not os.access(present, os.W_OK | os.X_OK):
        raise ValueError(f"{option} {folder!s:.300}: expected a folder that can be written")


@contextmanager
def written_whole(file: Path, suffix: str | None = None) -> Iterator[Path]:
    """A temporary path in the same folder, which replaces `file` at the end.

    If the body raises, `file` remains unchanged; an OSError names it. suffix: of the temporary
    path, by default that of the file.
    """
    part = file.with_name(f".{file.stem}.part{file.suffix if suffix is None else suffix}")
    try:
        yield part
        part.replace(file)
    except OSError as error:
        if error.filename in (None, str(part)):  # as for a full disk
            error.filename = str(file)
        raise
    finally:
        part.unlink(missing_ok=True)


def shipped_names(folder: Path) -> list[str]:
    """The names of the TOML files in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def find_shipped(kind: str, folder: Path, name: str | PathLike[str]) -> Path:
    """The file of a shipped name, or of a path. kind: "scene" or "vehicle", for the message.

    Raises ParameterError with the most similar name if there is none.
    """
    try:
        text = fspath(name)
    except TypeError:
        text = None
    if not isinstance(text, str):
        expected = "a name, or the path of a TOML file"
        raise ParameterError(f"{kind} = {name!r:.100}: expected {expected}")
    if isinstance(name, str) and not text.endswith(".toml") and not set(text) & {"/", "\\"}:
        shipped = shipped_names(folder)
        if text in shipped:
            return folder / f"{text}.toml"
        raise ParameterError(
            f"no {kind} {text!r}{nearest(text, shipped) or '.'} "
            f"Expected one of {', '.join(shipped)}, or the path of a TOML file"
        )
    path = Path(text)
    if not is_file(path):
        raise ParameterError(f"no {kind} file {shown(text, 200)}: expected the path of a TOML file")
    return path
