"""Files that are found by the name of a shipped one, or by their path."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from propwash import _input_files
from propwash import _parameter_values as values
from propwash._parameter_values import ParameterError


def names(folder: Path) -> list[str]:
    """What is shipped in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def find(kind: str, folder: Path, asked: str | PathLike[str]) -> Path:
    """The file that a name or a path means. kind: "scene", "vehicle", for the message.

    Raises ParameterError, with the nearest name, where there is none.
    """
    try:
        text = fspath(asked)
    except TypeError:
        text = None
    if not isinstance(text, str):
        expected = "a name, or the path of a TOML file"
        raise ParameterError(f"{kind} = {asked!r:.100}: expected {expected}")
    if isinstance(asked, str) and not text.endswith(".toml") and not set(text) & {"/", "\\"}:
        shipped = names(folder)
        if text in shipped:
            return folder / f"{text}.toml"
        raise ParameterError(
            f"no {kind} {text!r}{values.nearest(text, shipped) or '.'} "
            f"The shipped ones are {', '.join(shipped)}; or give the path of a TOML file"
        )
    path = Path(text)
    if not _input_files.is_file(path):
        raise ParameterError(
            f"no {kind} file {values.shown(text, 200)}: expected the path of a TOML file"
        )
    return path
