"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _files

Array = NDArray[np.float64]

COMMENT = "# propwash "
"""Start of a file that has comments before the names of its columns."""


@dataclass(frozen=True)
class CsvTable:
    """A header line and rows of cells; only requested columns need to be numbers."""

    path: Path
    names: list[str]
    cells: list[list[str]]
    lines: list[int]
    """Line number of each row in the file, from 1."""
    first_row: int = 1
    """Number of the first row in the file."""
    comments: list[str] = field(default_factory=list)
    """Lines before the names, if the first one starts with `# propwash`."""

    @classmethod
    def read(cls, path: Path) -> CsvTable:
        """Reads a CSV file of two rows or more. Raises ValueError, with the line, otherwise."""
        text = _files.read_text(path, "a CSV file", ValueError)
        cells: list[list[str]] = []
        lines: list[int] = []
        comments: list[str] = []
        while text.startswith("#" if comments else COMMENT):
            comment, _, text = text.partition("\n")
            comments.append(comment)
        above = len(comments)
        with StringIO(text, newline="") as stream:
            reader = csv.reader(stream)
            try:
                names = [name.strip() for name in next(reader, [])]
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(names):
                        raise ValueError(
                            f"{path}, line {above + reader.line_num}: expected {len(names)} "
                            f"columns, got {len(row)}"
                        )
                    cells.append(row)
                    lines.append(above + reader.line_num)
            except csv.Error as error:
                raise ValueError(
                    f"{path}, line {above + reader.line_num}: expected a CSV file, {error}"
                ) from None
        if len(cells) < 2:
            raise ValueError(
                f"{path}: expected a line of names and at least two rows, got {len(cells)}"
            )
        return cls(path, names, cells, lines, comments=comments)

    def require(self, names: Sequence[str], advice: str) -> None:
        """Raises ValueError, with the advice at its end, if a column is missing."""
        missing = [name for name in names if name not in self.names]
        if not missing:
            return
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ";\t"):
            advice = "Columns must be separated by commas"
        raise ValueError(
            f"{self.path}: missing columns {', '.join(missing):.500}; found "
            f"{', '.join(self.names) or 'none':.1000}. {advice}"
        )

    def column(self, name: str, *, gaps: bool = False) -> Array:
        """Returns a column (K,). Raises ValueError, with line or row, for an invalid number.

        gaps: Whether cells may be empty; they are NaN.
        """
        if self.names.count(name) > 1:
            raise ValueError(
                f"{self.path}: {self.names.count(name)} columns have the name {name!r:.100}; "
                "rename all but one"
            )
        index = self.names.index(name)
        try:
            if gaps:
                return np.array([float(row[index] or "nan") for row in self.cells])
            values = np.array([float(row[index]) for row in self.cells])
        except ValueError:
            cells = [row[index] or "nan" * gaps for row in self.cells]
            number = next(k for k, cell in enumerate(cells) if not _is_number(cell))
            raise ValueError(
                f"{self.path}, line {self.lines[number]}: expected numbers, {name} has "
                f"{self.cells[number][index]!r:.40}; remove the row, or cut the log there"
            ) from None
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"{self.path}, row {self.first_row + bad[0]}: {name} is not a finite number, "
                f"{self.names[0]:.100} = {self.cells[bad[0]][0]:.40}; remove the row, or "
                "cut the log there"
            )
        return values

    def stack(self, names: Sequence[str]) -> Array:
        """Returns N columns as (K, N)."""
        return np.stack([self.column(name) for name in names], axis=-1)

    def piece(self, rows: slice) -> CsvTable:
        """Returns a range of consecutive rows."""
        return replace(
            self,
            cells=self.cells[rows],
            lines=self.lines[rows],
            first_row=self.first_row + rows.start,
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
