"""What the commands that read logs of flights have in common."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

_SECONDS = r"\d+(?:\.\d*)?|\.\d+"


def add_logs(parser: argparse.ArgumentParser) -> None:
    """Adds `flight`, one log or more, and `--columns`."""
    parser.add_argument(
        "flight",
        nargs="+",
        help="logs: CSV, PX4 ULog, ROS bags (docs/replay.md, docs/identify.md); LOG@FROM:TO takes "
        "a piece, s from the first row",
    )
    parser.add_argument(
        "--columns", type=Path, help="a TOML file that says which columns hold what"
    )


def read_logs(options: argparse.Namespace) -> list[Any]:
    """The logs, or the pieces of them that FROM:TO after an @ tells."""
    columns = _columns(options.columns)
    return [_read(name, columns) for name in options.flight]


def _read(name: str, columns: Any) -> Any:
    """A log, or the piece of it that FROM:TO after an @ tells."""
    from propwash import identify

    path, at, piece = name.rpartition("@")
    if not at or Path(name).exists():
        return identify.read_log(name, columns)
    seconds = re.fullmatch(rf"({_SECONDS})?:({_SECONDS})?", piece)
    if seconds is None:
        raise ValueError(
            f"{name}: expected LOG@FROM:TO, seconds from the first row of the log, got {piece!r}"
        )
    start, stop = (float(seconds[1] or "-inf"), float(seconds[2] or "inf"))
    if not start < stop:
        raise ValueError(
            f"{name}: expected LOG@FROM:TO with FROM below TO, got {start:g} and {stop:g} s"
        )
    return identify.read_log(path, columns, start=start, stop=stop)


def _columns(path: Path | None) -> Any:
    """The mapping that a file tells, or None."""
    from propwash import identify

    if path is None:
        return None
    if not path.is_file():
        raise ValueError(
            f"--columns {path}: expected a TOML file that says which columns hold what "
            "(docs/identify.md), there is none"
        )
    return identify.Columns.from_toml(path)
