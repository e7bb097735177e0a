"""Paths in space, drawn with matplotlib: coloured by their speed, with gates, on equal axes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash import _guidance
from propwash._flown import Flown, gate_bars
from propwash._scene_items import Gate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_PIECES = 8_000
"""Of all paths in one figure: more are not seen."""


def draw(figure: Figure, flights: Sequence[Flown], gates: Sequence[Gate], place: Any = 111) -> None:
    """Draws into a place of a figure: all of it, or a part of a grid."""
    axes: Any = figure.add_subplot(place, projection="3d")
    _draw_paths(figure, axes, flights)
    corners = [_draw_gate(axes, gate) for gate in gates]
    _set_equal(axes, np.concatenate([*(flight.position for flight in flights), *corners]))
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")


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
        whole = flight.position[np.isfinite(flight.position).all(axis=1)]
        axes.plot(*whole[:1].T, "o", color="tab:green", ms=5)
        axes.plot(*whole[-1:].T, "s", color="tab:red", ms=5)
        if 1 < len(flights) <= 12:
            axes.text(*whole[-1], f"  {flight.name}", fontsize=8)
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, label="speed [m/s]", shrink=0.6, pad=0.1)


def _draw_gate(axes: Any, gate: Gate) -> Array:
    """Draws the bars, and how the gate is passed; returns the frame's corners, (4, 3) m."""
    solid = import_module("mpl_toolkits.mplot3d.art3d")
    turn, place = _guidance.rotation(np.asarray(gate.attitude)), np.asarray(gate.position)
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
    outer = 0.5 * np.array([0.0, gate.width, gate.height]) + gate.border * np.array([0, 1, 1])
    corners: Array = (square * outer) @ turn.T + place
    axes.text(*corners[np.argmax(corners[:, 2])], gate.name, fontsize=7, color="0.25")
    return corners


def _set_equal(axes: Any, points: Array) -> None:
    """A metre is as long on each axis; a flat path keeps some room above and below."""
    from matplotlib.ticker import MaxNLocator

    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    most = max(float((high - low).max()), 1e-3)
    half = 0.5 * np.maximum(1.08 * (high - low), 0.25 * most)
    middle = 0.5 * (low + high)
    for set_limits, centre, extent in zip(
        (axes.set_xlim, axes.set_ylim, axes.set_zlim), middle, half, strict=True
    ):
        set_limits(centre - extent, centre + extent)
    for axis, extent in zip((axes.xaxis, axes.yaxis, axes.zaxis), half, strict=True):
        axis.set_major_locator(MaxNLocator(nbins=max(2, round(8.0 * float(extent / half.max())))))
    axes.set_box_aspect(half, zoom=1.15)
