"""Paths in space, drawn with matplotlib: coloured by their speed, with gates, on equal axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.viz.figures import END, START, TARGET, name_points
from propwash.viz.flown import Flown, gate_bars, gate_corners
from propwash.world import Gate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_MOST_NAMES = 12
"""Of flights; more would cover them."""
_MOST_MOVES, _APART = 20, 4.0
"""Attempts to separate labels, and the pixels between them."""
_SMALLEST = 0.2
"""m, the least extent that is shown."""
_PIECES = 8_000
"""Of all paths in one figure: more are not seen."""


def draw(
    figure: Figure,
    flights: Sequence[Flown],
    gates: Sequence[Gate],
    landmarks: Mapping[str, Array],
    place: Any = None,
) -> None:
    """Draws into a part of a grid; into all of the figure where place is None."""
    axes: Any = figure.add_subplot(111 if place is None else place, projection="3d")
    _draw_paths(figure, axes, flights)
    corners = [_draw_gate(axes, gate) for gate in gates]
    for name, points in landmarks.items():
        style: Any = TARGET if len(points) == 1 else {"color": "0.55", "ls": "--", "lw": 1.0}
        axes.plot(*points.T, label=name, **style)
    ways = [flight.position for flight in flights]
    # the layout of a figure does not account for the labels of these axes
    zoom = 1.0 if place is None else 0.85
    _set_equal(axes, np.concatenate([*ways, *landmarks.values(), *corners]), zoom)
    for set_label, axis, name in (
        (axes.set_xlabel, axes.xaxis, "x [m]"),
        (axes.set_ylabel, axes.yaxis, "y [m]"),
        (axes.set_zlabel, axes.zaxis, "z [m]"),
    ):
        set_label(name)
        axis.set_rotate_label(False)
    axes.legend(fontsize=8, loc="upper left", ncols=3)
    _untangle(figure, axes)
    _name(axes, flights, gates, corners)


def _name(
    axes: Any, flights: Sequence[Flown], gates: Sequence[Gate], corners: Sequence[Array]
) -> None:
    """Names of gates, and of flights at their starts."""
    named = [
        (corner[np.argmax(corner[:, 2])], gate.name)
        for corner, gate in zip(corners, gates, strict=True)
    ]
    if 1 < len(flights) <= _MOST_NAMES:
        named += [(_whole(flight.position)[0], flight.name) for flight in flights]
    if named:
        points = _projected(axes, np.array([point for point, _ in named]))
        ways = [_projected(axes, _whole(flight.position)) for flight in flights]
        name_points(axes, points, [name for _, name in named], ways)


def _untangle(figure: Figure, axes: Any) -> None:
    """Moves labels away from numbers, and leaves out numbers where two axes meet.

    matplotlib places both by the axes box alone, whatever the angle of view.
    """
    from matplotlib.ticker import FixedLocator

    three = (axes.xaxis, axes.yaxis, axes.zaxis)
    for axis in three:
        low, high = sorted(axis.get_view_interval())
        shown = [place for place in axis.get_majorticklocs() if low <= place <= high]
        axis.set_major_locator(FixedLocator(shown))
    for _ in range(_MOST_MOVES):
        figure.draw_without_rendering()
        numbers = [_boxes(axis) for axis in three]
        every = [box for boxes in numbers for box in boxes]
        tangled = [axis for axis in three if _covered(axis.label.get_window_extent(), every)]
        for axis in tangled:
            axis.labelpad += 4.0
        is_free = not tangled
        for i, j in permutations(range(3), 2):
            bad = [_covered(box, numbers[j]) for box in numbers[i]]
            if any(bad) and len(numbers[i]) > max(2, len(numbers[j]) - 1):
                places = zip(three[i].get_majorticklocs(), bad, strict=True)
                three[i].set_major_locator(FixedLocator([place for place, b in places if not b]))
                is_free = False
                break
        if is_free:
            break


def _boxes(axis: Any) -> list[Any]:
    """Of the numbers of an axis as they were drawn: asking the axis would place them anew."""
    ticks = axis.majorTicks[: len(axis.get_majorticklocs())]
    return [tick.label1.get_window_extent() for tick in ticks]


def _covered(box: Any, others: list[Any]) -> bool:
    return any(box.padded(_APART).overlaps(other) for other in others)


def _projected(axes: Any, points: Array) -> Array:
    """(k, 2) where points (k, 3) are on the paper."""
    projection = import_module("mpl_toolkits.mplot3d.proj3d")
    x, y, _ = projection.proj_transform(*points.T, axes.get_proj())
    return np.column_stack([x, y])


def _whole(position: Array) -> Array:
    """The rows that are finite."""
    return position[np.isfinite(position).all(axis=1)]


def _draw_paths(figure: Figure, axes: Any, flights: Sequence[Flown]) -> None:
    from matplotlib.colors import Normalize

    solid = import_module("mpl_toolkits.mplot3d.art3d")
    speeds = [flight.speed for flight in flights]
    known = [speed[np.isfinite(speed)] for speed in speeds if speed is not None]
    every = np.concatenate([*known, np.empty(0)])
    scale = Normalize(0.0, max(float(every.max()), 1e-3) if len(every) else 1.0)
    drawn = None
    for number, (flight, speed) in enumerate(zip(flights, speeds, strict=True)):
        stride = max(1, len(flights) * len(flight.position) // _PIECES)
        last = len(flight.position) - 1
        rows = np.unique(np.append(np.arange(0, last, stride), last))
        place = flight.position[rows]
        pieces = np.stack([place[:-1], place[1:]], axis=1)
        flown = np.isfinite(pieces).all(axis=(1, 2))
        pieces = pieces[flown]
        if speed is None or not flown.any():
            lines = solid.Line3DCollection(pieces, colors=f"C{number % 10}", linewidths=1.6)
        else:
            lines = solid.Line3DCollection(pieces, cmap="viridis", norm=scale, linewidths=1.8)
            lines.set_array(0.5 * (speed[rows][:-1] + speed[rows][1:])[flown])
            drawn = lines
        if flown.any():
            axes.add_collection3d(lines)
        whole, is_first = _whole(flight.position), number == 0
        axes.plot(*whole[:1].T, **START, ms=8, label="start" if is_first else None)
        axes.plot(*whole[-1:].T, **END, ms=5, label="end" if is_first else None)
    if drawn is not None:
        # below, as the z axis is labelled at the right
        figure.colorbar(
            drawn, ax=axes, label="speed [m/s]", location="bottom", shrink=0.6, pad=0.02, aspect=40
        )


def _draw_gate(axes: Any, gate: Gate) -> Array:
    """Draws the bars, and how the gate is passed; returns the frame's corners, (4, 3) m."""
    solid = import_module("mpl_toolkits.mplot3d.art3d")
    turn, place = _rotation.rotation(gate.attitude), np.asarray(gate.position)
    square = np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]])
    centres, halves = gate_bars(gate)
    bars = [
        (centre + square * half) @ turn.T + place
        for centre, half in zip(centres, halves, strict=True)
    ]
    axes.add_collection3d(
        solid.Poly3DCollection(bars, facecolors="tab:orange", edgecolors="0.35", linewidths=0.3)
    )
    axes.quiver(*place, *turn[:, 0], length=0.4 * gate.width, color="0.4", linewidth=1.0)
    return gate_corners(gate)


def _set_equal(axes: Any, points: Array, zoom: float) -> None:
    """A metre is as long on each axis; a flat path keeps some room above and below."""
    from matplotlib.ticker import MaxNLocator

    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    most = max(float((high - low).max()), _SMALLEST)
    half = 0.5 * np.maximum(1.08 * (high - low), 0.25 * most)
    middle = 0.5 * (low + high)
    for set_limits, centre, extent in zip(
        (axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, half, strict=True
    ):
        set_limits(centre - extent, centre + extent)
    for axis, extent in zip((axes.xaxis, axes.yaxis, axes.zaxis), half, strict=True):
        axis.set_major_locator(MaxNLocator(nbins=max(2, round(6.0 * float(extent / half.max())))))
    axes.set_box_aspect(half, zoom=zoom)
