"""Results of flights: a CSV file that a study continues, tables and plots."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

import numpy as np

from vio.flight import Flight
from vio.rig import Array, Rig


@dataclass(frozen=True)
class Case:
    """What identifies a row of results."""

    scene: str
    seed: int
    duration: float
    """s; 0: the whole path."""
    speed: float
    """m/s."""
    width: int
    height: int
    fov: float
    rate: float
    baseline: float


@dataclass(frozen=True)
class Row:
    """The result of a flight."""

    end: str
    """"completed", "contact" or "lost"."""
    seconds: float
    distance: float
    """m."""
    final_error: float
    """m."""
    max_error: float
    rms_error: float
    yaw_error: float
    """Degrees, at the end."""
    tracked: float
    """Mean number of features."""
    min_tracked: int
    cpu: float
    """s."""

    @classmethod
    def of(cls, flight: Flight) -> Row:
        """The result of a flight."""
        error = flight.error
        yaw = _yaw(flight.estimated_attitude[-1]) - _yaw(flight.attitude[-1])
        return cls(
            flight.end or "completed",
            float(flight.time[-1]),
            flight.distance,
            float(error[-1]),
            float(error.max()),
            float(np.sqrt(np.mean(error**2))),
            float(np.degrees((yaw + np.pi) % (2.0 * np.pi) - np.pi)),
            float(flight.tracked.mean()),
            int(flight.tracked.min()),
            flight.cpu,
        )

    @property
    def drift(self) -> float:
        """Error at the end as a fraction of the distance."""
        return self.final_error / max(self.distance, 1e-9)


class Results:
    """Rows by case; with a file, each is appended when it is known, and read again at the start."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._rows: dict[Case, Row] = {}
        if file is not None and file.exists():
            self._read(file)

    def _read(self, file: Path) -> None:
        with file.open(newline="", encoding="utf-8") as opened:
            for number, line in enumerate(csv.DictReader(opened), start=2):
                try:
                    self._rows[_parsed(Case, line)] = _parsed(Row, line)
                except (KeyError, TypeError, ValueError):
                    raise ValueError(
                        f"{file}, line {number}: expected the columns {', '.join(_COLUMNS)}; "
                        "choose another file or remove the line"
                    ) from None

    def get(self, case: Case) -> Row | None:
        """The row of a case, or None."""
        return self._rows.get(case)

    def add(self, case: Case, row: Row) -> None:
        """Stores a row, and appends it to the file."""
        self._rows[case] = row
        if self._file is None:
            return
        is_new = not self._file.exists()
        with self._file.open("a", newline="", encoding="utf-8") as opened:
            writer = csv.DictWriter(opened, _COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            result = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(row).items()}
            writer.writerow({**asdict(case), **result})


T = TypeVar("T")
_COLUMNS = [item.name for kind in (Case, Row) for item in fields(kind)]


def _parsed(kind: type[T], line: dict[str, str]) -> T:
    types = {"str": str, "int": int, "float": float}
    return kind(**{item.name: types[item.type](line[item.name]) for item in fields(kind)})


def _yaw(attitude: Array) -> float:
    w, x, y, z = attitude
    return float(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


HEADER = (
    "seed  end         time s  distance m  error m    error %   max m  yaw deg  features  cpu s"
)


def line(seed: int, row: Row) -> str:
    """A line of the table of flights."""
    return (
        f"{seed:4d}  {row.end:10}  {row.seconds:6.1f}  {row.distance:10.1f}  {row.final_error:7.3f}"
        f"  {100 * row.drift:9.3f}  {row.max_error:6.3f}  {row.yaw_error:7.2f}  "
        f"{row.tracked:8.1f}  {row.cpu:5.1f}"
    )


def summary(rows: Iterable[Row]) -> str:
    """Counts and errors of several flights."""
    listed = list(rows)
    done = sum(row.end == "completed" for row in listed)
    drift = 100.0 * np.array([row.drift for row in listed])
    worst = max(row.max_error for row in listed)
    return (
        f"completed: {done} of {len(listed)}; error at the end: median {np.median(drift):.3f} %, "
        f"max {drift.max():.3f} % of the distance; largest error {worst:.2f} m; "
        f"{sum(row.cpu for row in listed):.0f} s of CPU time"
    )


def plot(file: Path, flight: Flight, title: str) -> None:
    """Saves a figure of the trajectory, the error and the features (needs the extra `viz`)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    axes[0].plot(*flight.position[:, :2].T, label="true")
    axes[0].plot(*flight.estimated_position[:, :2].T, "--", label="estimate")
    axes[0].set(xlabel="x [m]", ylabel="y [m]", title=title, aspect="equal")
    axes[0].legend()
    distance = np.cumsum(np.linalg.norm(np.diff(flight.position, axis=0), axis=1))
    axes[1].plot(flight.time, flight.error, label="position error")
    axes[1].plot(flight.time[1:], 0.01 * distance, "k:", label="1 % of the distance")
    axes[1].set(xlabel="time [s]", ylabel="m", ylim=(0.0, max(2.0 * flight.error.max(), 0.05)))
    axes[1].legend()
    axes[2].plot(flight.time, flight.tracked)
    axes[2].set(xlabel="time [s]", ylabel="tracked features", ylim=(0.0, None))
    figure.savefig(file, dpi=100)
    plt.close(figure)


def study_header() -> str:
    """The head of the table of the study."""
    return "fov deg  rate Hz  size px     completed  error % median     max  features  cpu s/s"


def study_line(rig: Rig, rows: list[Row]) -> str:
    """A line of the table of the study."""
    drift = 100.0 * np.array([row.drift for row in rows])
    done = sum(row.end == "completed" for row in rows)
    cpu = sum(row.cpu for row in rows) / sum(row.seconds for row in rows)
    size = f"{rig.width} x {rig.height}"
    return (
        f"{rig.fov:7.0f}  {rig.rate:7.0f}  {size:10}  {done:3d} of {len(rows):2d}  "
        f"{np.median(drift):14.3f}  {drift.max():6.3f}  "
        f"{np.mean([row.tracked for row in rows]):8.1f}  {cpu:7.2f}"
    )
