"""A video of a policy's flights, from the side and from above, or from on board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.cli import _onboard_video
from propwash.cli._training_curve import SHOWN, landmarks_of, scene_of
from propwash.viz import flights as _flights
from propwash.viz.figures import START, TARGET, Canvas, frames, labelled, name_points, video_figure
from propwash.viz.flights import gate_corners

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

RATE = 25.0
"""Frames per second."""
_WIDTH, _HEIGHT = 800, 440
_VIEWS = (("from the side", 0, 2), ("from above", 0, 1))


def video(
    recorded: Any, envs: Any, title: str, rows: Sequence[int] | None = None
) -> Iterator[Image]:
    """Yields frames of some flights, with the scene of the first of them.

    Flights of ForestFlight that observe depth are shown from on board, with their depth images.

    recorded: An Evaluation. envs: Environments of the task. rows: Numbers of the flights; None for
    the first ones.
    """
    if envs.task.is_filmed_onboard and "depth" in envs._engine.settings.observations:
        yield from _onboard_video.video(recorded, envs, title, RATE, rows)
        return
    drawn = _Views(recorded, envs, title, rows)
    when = np.arange(0.0, float(recorded.time[-1]), 1.0 / RATE)
    yield from frames(Canvas(drawn.figure, drawn.moving), len(when), lambda k: drawn.move(when[k]))


class _Views:
    """Two views of the flights, and the artists that move."""

    def __init__(
        self, recorded: Any, envs: Any, title: str, rows: Sequence[int] | None = None
    ) -> None:
        count = recorded.position.shape[1]
        rows = range(min(SHOWN, count)) if rows is None else rows
        self.time = np.asarray(recorded.time, dtype=np.float64)
        self.position = np.asarray(recorded.position[:, rows], dtype=np.float64)
        """(T, k, 3) m."""
        self.figure = figure = video_figure(_WIDTH, _HEIGHT)
        figure.suptitle(f"{title}: {self.position.shape[1]} of {count} flights", fontsize=11)
        scene = scene_of(envs, rows[0])
        self.gates = [] if scene is None else list(scene.gates)
        self.landmarks = _flights.landmarks(landmarks_of(envs))
        columns = figure.subplots(1, 2)
        self.lines: list[list[Any]] = []
        self.dots: list[Any] = []
        for axes, (name, x, y) in zip(columns, _VIEWS, strict=True):
            self._draw(axes, x, y)
            labelled(axes, name, f"{'xyz'[x]} [m]", f"{'xyz'[y]} [m]")
        handles, names = columns[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=4, fontsize=8)
        self.clock: Any = figure.text(0.98, 0.02, "", ha="right", va="bottom", fontsize=10)
        if self.gates:
            # seen from the side, names would overlap
            places = [gate.position[:2] for gate in self.gates]
            lines = [gate_corners(gate)[:, :2] for gate in self.gates]
            name_points(columns[1], places, [gate.name for gate in self.gates], lines, 7.0)

    def _draw(self, axes: Any, x: int, y: int) -> None:
        everywhere = self.position[np.isfinite(self.position).all(axis=2)]
        axes.plot(everywhere[:, x], everywhere[:, y], ls="none")  # for the limits
        for number, gate in enumerate(self.gates):
            corners, label = gate_corners(gate)[[0, 1, 2, 3, 0]], None if number else "gate"
            axes.plot(corners[:, x], corners[:, y], color="tab:orange", lw=2.0, label=label)
        for name, points in self.landmarks.items():
            style: Any = {**TARGET, "ms": 12} if len(points) == 1 else {"color": "0.6", "ls": "--"}
            axes.plot(points[:, x], points[:, y], label=name, **style)
        axes.plot(self.position[0, :, x], self.position[0, :, y], **START, ms=8, label="start")
        count = self.position.shape[1]
        self.lines.append([axes.plot([], [], lw=1.0, color=f"C{k % 10}")[0] for k in range(count)])
        self.dots.append(axes.plot([], [], "ko", ms=5, label="vehicle")[0])
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)

    @property
    def moving(self) -> list[Any]:
        """Artists that change between frames, in drawing order."""
        return [*(line for lines in self.lines for line in lines), *self.dots, self.clock]

    def move(self, t: float) -> None:
        """Moves the artists to a time [s] since the start."""
        row = int(np.searchsorted(self.time, t))
        recorded = self.position[: row + 1]
        last = [way[np.isfinite(way).all(axis=1)][-1] for way in recorded.transpose(1, 0, 2)]
        for (_, x, y), lines, dots in zip(_VIEWS, self.lines, self.dots, strict=True):
            for vehicle, line in enumerate(lines):
                line.set_data(recorded[:, vehicle, x], recorded[:, vehicle, y])
            dots.set_data([place[x] for place in last], [place[y] for place in last])
        self.clock.set_text(f"{t:.2f} s")
