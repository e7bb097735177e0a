"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _files

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CsvTable:
    """A line of names and rows of cells; a column that nobody asks for may hold anything."""

    path: Path
    names: list[str]
    cells: list[list[str]]
    lines: list[int]
    """Of the file, from 1, of each row."""
    first_row: int = 1
    """Number of the first row among those of the file."""

    @classmethod
    def read(cls, path: Path) -> CsvTable:
        """Raises ValueError, which names the line, for what is no table of two rows or more."""
        text = _files.read_text(path, "a CSV file", ValueError)
        cells: list[list[str]] = []
        lines: list[int] = []
        with StringIO(text, newline="") as stream:
            reader = csv.reader(stream)
            try:
                names = [name.strip() for name in next(reader, [])]
                for row in reader:
                    if not row:
                        continue
                    if len(row) != len(names):
                        raise ValueError(
                            f"{path}, line {reader.line_num}: expected {len(names)} columns, got "
                            f"{len(row)}"
                        )
                    cells.append(row)
                    lines.append(reader.line_num)
            except csv.Error as error:
                raise ValueError(
                    f"{path}, line {reader.line_num}: expected a CSV file, {error}"
                ) from None
        if len(cells) < 2:
            raise ValueError(
                f"{path}: expected a line of names and at least two rows, got {len(cells)}"
            )
        return cls(path, names, cells, lines)

    def require(self, names: Sequence[str], advice: str) -> None:
        """Raises ValueError, which ends with the advice, where a column is missing."""
        missing = [name for name in names if name not in self.names]
        if not missing:
            return
        if len(self.names) == 1 and any(mark in self.names[0] for mark in ";\t"):
            advice = "Columns are told apart by commas"
        raise ValueError(
            f"{self.path}: missing columns {', '.join(missing):.500}; found "
            f"{', '.join(self.names) or 'none':.1000}. {advice}"
        )

    def column(self, name: str) -> Array:
        """(K,) a column. Raises ValueError, which names line or row, for what is no number."""
        if self.names.count(name) > 1:
            raise ValueError(
                f"{self.path}: {self.names.count(name)} columns have the name {name!r:.100}; "
                "rename all but one"
            )
        index = self.names.index(name)
        try:
            values = np.array([float(row[index]) for row in self.cells])
        except ValueError:
            number = next(k for k, row in enumerate(self.cells) if not _is_number(row[index]))
            raise ValueError(
                f"{self.path}, line {self.lines[number]}: expected numbers, {name} has "
                f"{self.cells[number][index]!r:.40}; take the row out, or cut the log there"
            ) from None
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"{self.path}, row {self.first_row + bad[0]}: {name} is not a finite number, "
                f"{self.names[0]:.100} = {self.cells[bad[0]][0]:.40}; take the row out, or "
                "cut the log there"
            )
        return values

    def stack(self, names: Sequence[str]) -> Array:
        """(K, N) some columns."""
        return np.stack([self.column(name) for name in names], axis=-1)

    def piece(self, rows: slice) -> CsvTable:
        """Some rows that follow each other."""
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
