"""Pieces of the generated reference pages, in reStructuredText."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def heading(text: str, underline: str) -> str:
    """A title or the head of a section."""
    return f"{text}\n{underline * len(text)}\n"


def summary_table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and one line about each."""
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for name, brief in rows:
        lines += [f"   * - {name}", f"     - {brief}"]
    return "\n".join([*lines, ""]) if len(lines) > 3 else ""


def write_pages(
    folder: Path, title: str, pages: Mapping[str, str], about: Mapping[str, str]
) -> None:
    """Write pages into a folder that has no others, and a page beside it with a table of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    rows = [(f":doc:`{folder.name}/{name}`", about[name]) for name in pages]
    write(folder.with_suffix(".rst"), f"{heading(title, '=')}\n{summary_table(rows)}")
    for name, text in pages.items():
        write(folder / f"{name}.rst", text)


def write(path: Path, text: str) -> None:
    """Write a page; one that has not changed keeps its time, so that Sphinx does not read it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
