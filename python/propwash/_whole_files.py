"""Files that are there whole, or as they were before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_file(file: Path) -> None:
    """Raises ValueError where a file cannot be written, as its folder does not exist."""
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise ValueError(f"--out {file}: expected a file in a folder that exists")


def check_folder(folder: Path) -> None:
    """Raises ValueError where a folder cannot be made, because a file is in its place."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        raise ValueError(f"--out {folder}: expected a folder, {there} is a file")


@contextmanager
def written_whole(file: Path, suffix: str | None = None) -> Iterator[Path]:
    """A name beside `file` to write to; what is there at the end takes its place.

    Where the body raises, `file` stays as it was. suffix: of that name, for readers that go by it;
    that of the file by default.
    """
    part = file.with_name(f".{file.stem}.part{file.suffix if suffix is None else suffix}")
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
