"""Pieces of the generated reference pages, in reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path


def escape(text: str) -> str:
    """Text in which nothing is markup."""
    return re.sub(r"([\\\\*`|_])", r"\\\1", text)


def heading(text: str, underline: str) -> str:
    """A title or the head of a section."""
    return f"{text}\n{underline * len(text)}\n"


def summary_table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and one line about each."""
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for name, brief in rows:
        lines += [f"   * - {name}", f"     - {brief}"]
    return "\n".join([*lines, ""]) if len(lines) > 3 else ""


def first_sentence(text: str) -> str:
    """The first sentence of a description."""
    words = " ".join(text.split())
    end = words.find(". ")
    return words if end < 0 else words[: end + 1]


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages into a folder that has no others; pages that have not changed keep their time."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
