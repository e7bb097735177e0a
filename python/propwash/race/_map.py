"""Map of a race, with height and speed over time, as a figure or a video."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.race import _race as race
from propwash.race._estimates import Estimates
from propwash.viz.figures import (
    END,
    START,
    Canvas,
    frames,
    labelled,
    name_points,
    new_figure,
    video_figure,
)
from propwash.world import Gate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

_SMALL = (560, 400)
"""px, minimum width and height for the plots over time; below, only the map is drawn."""
PASSED, WAITING = "tab:green", "tab:red"
_CRASH: dict[str, Any] = {"marker": "X", "color": "tab:red", "ls": "none", "ms": 9}


def title_of(result: race.Result) -> str:
    """Vehicle, course and seed."""
    seed = "" if result.seed is None else f", seed {result.seed}"
    return f"{result.vehicle or 'flight'} on course {result.scene.name!r}{seed}"


def figure(result: race.Result) -> Figure:
    """Map of gates and path, coloured by speed, with height and speed over time."""
    chart = _Map(result, new_figure(11.0, 8.5), is_video=False)
    chart.figure.suptitle(
        f"{title_of(result)}: {len(result.passages)} of {len(result.course)} gates, "
        f"score {result.score:.2f}"
    )
    chart.name()
    return chart.figure


def video(result: race.Result, when: Array, width: int, height: int) -> Iterator[Image]:
    """The figure at each time, with the path up to that time."""
    is_small = width < _SMALL[0] or height < _SMALL[1]
    chart = _Map(result, video_figure(width, height), is_video=True, is_small=is_small)
    chart.figure.suptitle(title_of(result), fontsize=11)
    moving = chart.animate()
    chart.name()
    yield from frames(Canvas(chart.figure, moving), len(when), lambda k: chart.move(float(when[k])))


class _Map:
    """The figure, and the artists that a video animates."""

    def __init__(
        self, result: race.Result, empty: Figure, is_video: bool, is_small: bool = False
    ) -> None:
        self.result, self.figure = result, empty
        self._is_video, self._is_small = is_video, is_small
        self.flight = flight = result.flight
        self.speed = np.linalg.norm(flight.velocity, axis=1)
        """(T,) m/s."""
        self.start = float(flight.time[0])
        self.gates = race.course_gates(result.scene, result.course)
        self.over_time: list[Any] = []
        self.estimated: list[Any] = []
        """The lines of the estimated path and gates."""
        if is_small:
            self.above = empty.add_subplot()
            self._draw_map()
            return
        grid = empty.add_gridspec(3, 2, width_ratios=[3, 2], height_ratios=[5, 5, 3])
        self.above = empty.add_subplot(grid[:, 0])
        self._draw_map()
        self.over_time = [empty.add_subplot(grid[row, 1]) for row in (0, 1)]
        self._draw_over_time("height [m]", flight.position[:, 2], self.over_time[0])
        self._draw_over_time("speed [m/s]", self.speed, self.over_time[1])
        below = empty.add_subplot(grid[2, 1])
        below.set_axis_off()
        handles, names = self.above.get_legend_handles_labels()
        below.legend(handles, names, loc="upper center", fontsize=8, ncols=2, frameon=False)

    def _draw_map(self) -> None:
        from matplotlib.collections import LineCollection
        from matplotlib.colors import Normalize

        axes, positions = self.above, self.flight.position[:, :2]
        self.pieces = np.stack([positions[:-1], positions[1:]], axis=1)
        self.path: Any = LineCollection(
            list(self.pieces),
            cmap="viridis",
            norm=Normalize(0.0, max(float(self.speed.max()), 1e-3)),
            linewidths=2.5,
        )
        self.path.set_array(0.5 * (self.speed[1:] + self.speed[:-1]))
        axes.add_collection(self.path)
        if not self._is_small:
            self.figure.colorbar(
                self.path, ax=axes, label="speed [m/s]", location="bottom", shrink=0.7, aspect=40
            )
        passed = 0 if self._is_video else len(self.result.passages)
        self.ends = [gate_ends(gate) for gate in self.gates]
        self.lines = [
            axes.plot(*end.T, color=PASSED if k < passed else WAITING, lw=3.0)[0]
            for k, end in enumerate(self.ends)
        ]
        if self.result.estimates is not None:
            self._draw_estimates(axes, self.result.estimates)
        axes.plot(*positions[0], **START, ms=9, label="start")
        if not self._is_video:
            axes.plot(*positions[-1], **END, label="end")
        for colour, label in ((PASSED, "gate, passed"), (WAITING, "gate, not passed")):
            axes.plot([], [], color=colour, lw=3.0, label=label)
        crash = self.result.collision
        if crash is not None:
            axes.plot(*self._at(crash.time)[:2], **_CRASH, label=f"collision with {crash.item}")
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
        labelled(axes, "from above", "x [m]", "y [m]")

    def _draw_estimates(self, axes: Any, estimates: Estimates) -> None:
        last = len(self.flight.time) - 1
        style: dict[str, Any] = {"color": "black", "ls": (0, (3, 2)), "zorder": 3}
        self.estimated.append(
            axes.plot(*estimates.position[:, :2].T, **style, lw=0.9, label="path, estimated")[0]
        )
        for number, gate in enumerate(estimates.gates_at(last)):
            label = "gate, estimated" if number == 0 else None
            self.estimated.append(
                axes.plot(*gate_ends(gate).T, **style, lw=1.6, label=label)[0]
            )

    def _move_estimates(self, estimates: Estimates, row: int) -> None:
        self.estimated[0].set_data(*estimates.position[: row + 1, :2].T)
        for line, gate in zip(self.estimated[1:], estimates.gates_at(row), strict=True):
            line.set_data(*gate_ends(gate).T)

    def _draw_over_time(self, label: str, values: Array, axes: Any) -> None:
        time, name = self.flight.time - self.start, label.partition(" ")[0]
        axes.plot(time, values, lw=1.2, color="tab:blue")
        for passage in self.result.passages:
            when = passage.time - self.start
            axes.plot(when, np.interp(when, time, values), "s", color=PASSED, ms=5)
        crash = self.result.collision
        if crash is not None:
            when = crash.time - self.start
            axes.plot(when, np.interp(when, time, values), **_CRASH)
        labelled(axes, f"{name}, with the gates passed", "time [s]", label)

    def name(self) -> None:
        """Adds the names of points; call it after all other artists have their final positions."""
        positions = self.flight.position[:, :2]
        points = [np.asarray(gate.position)[:2] for gate in self.gates]
        names = [
            f"{k}" if self._is_small else f"{k}. {gate.name}"
            for k, gate in enumerate(self.gates, 1)
        ]
        points.append(positions[0])
        names.append("start")
        if not self._is_video:
            points.append(positions[-1])
            names.append("end")
        name_points(self.above, points, names, [positions, *self.ends])

    def animate(self) -> list[Any]:
        """Adds the animated artists and returns all of them."""
        self.cursors = [axes.axvline(0.0, color="black", lw=0.8) for axes in self.over_time]
        (self.vehicle,) = self.above.plot([], [], "o", color="black", ms=6)
        if self._is_small:
            # replaces the title of the map; its text reserves space in the layout
            self.clock = self.above.set_title("0 s", fontsize=10)
        else:
            self.clock = self.figure.text(0.98, 0.02, "", ha="right", va="bottom", fontsize=10)
        return [
            self.path,
            *self.lines,
            *self.estimated,
            *self.cursors,
            self.vehicle,
            self.clock,
        ]

    def move(self, t: float) -> None:
        """Moves the artists to a time of the flight [s]."""
        row = int(np.searchsorted(self.flight.time, t, side="right")) - 1
        x, y, _ = self._at(t)
        self.path.set_segments(list(self.pieces[: max(row, 0)]))
        self.vehicle.set_data([x], [y])
        if self.result.estimates is not None:
            self._move_estimates(self.result.estimates, max(row, 0))
        for cursor in self.cursors:
            cursor.set_xdata([t - self.start] * 2)
        passed = sum(passage.time <= t for passage in self.result.passages)
        for number, line in enumerate(self.lines):
            line.set_color(PASSED if number < passed else WAITING)
        speed = np.interp(t, self.flight.time, self.speed)
        self.clock.set_text(
            f"{t - self.start:.2f} s, {speed:.1f} m/s, gate {passed} of {len(self.gates)}"
        )

    def _at(self, t: float) -> Array:
        return np.array([np.interp(t, self.flight.time, axis) for axis in self.flight.position.T])


def gate_ends(gate: Gate) -> Array:
    """(2, 2) m, x and y of the left and right ends of the opening."""
    left = _rotation.rotation(gate.attitude)[:2, 1] * 0.5 * gate.width
    centre = np.asarray(gate.position)[:2]
    return np.stack([centre + left, centre - left])


def opening(gate: Gate) -> Array:
    """(5, 3) m, the outline of the opening, closed."""
    axes = _rotation.rotation(gate.attitude)
    left, up = 0.5 * gate.width * axes[:, 1], 0.5 * gate.height * axes[:, 2]
    corners = [left + up, -left + up, -left - up, left - up, left + up]
    return np.asarray(gate.position) + np.array(corners)
