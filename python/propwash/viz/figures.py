"""Common parts of figures: labels with units, names beside points, animation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

AXES = ("x", "y", "z")
COLOURS = ("tab:blue", "tab:orange", "tab:green")
START: dict[str, Any] = {
    "marker": "o",
    "color": "tab:green",
    "mfc": "none",
    "mew": 1.5,
    "ls": "none",
}
"""Hollow and larger than END, which it surrounds on a closed path."""
END: dict[str, Any] = {"marker": "s", "color": "tab:red", "ls": "none"}
TARGET: dict[str, Any] = {"marker": "*", "color": "tab:purple", "ls": "none"}

_DIRECTIONS = np.deg2rad([0.0, 45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0])
_DISTANCES = (4.0, 9.0, 16.0, 26.0, 40.0)
"""Candidate distances [points] between a name and its point."""
_MIN_WIDTH, _MAX_WIDTH = 4.2, 12.8
"""inches, of an animated figure; smaller images have a lower resolution."""


def require_matplotlib() -> None:
    """Raises ImportError that names the extra to install if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "propwash[viz]"') from error


def new_figure(width: float, height: float, dpi: float = 100.0) -> Figure:
    """An empty figure of a size in inches, without a window."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def video_figure(width: int, height: int) -> Figure:
    """An empty figure of a size in pixels, with legible text."""
    inches = float(np.clip(width / 100.0, _MIN_WIDTH, _MAX_WIDTH))
    dpi = width / inches
    # sizes are rounded down
    return new_figure((width + 0.01) / dpi, (height + 0.01) / dpi, dpi)


def labelled(axes: Axes, title: str, x: str, y: str) -> None:
    """Sets title and axis labels, with units in brackets, and a grid."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)


def legend_above(axes: Axes) -> None:
    """Adds a legend in one row above the lines and extends the axis for it."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.22 * (high - low))
    axes.legend(fontsize=7, loc="upper center", ncols=6, frameon=False)


def name_points(
    axes: Axes,
    points: Any,
    names: Sequence[str],
    avoid: Iterable[Any] = (),
    size: float = 8.0,
) -> list[Any]:
    """Writes names beside points, avoiding overlap with names and lines; returns the texts.

    points: (k, 2), data coordinates. avoid: (m, 2) each, points of lines. Limits, titles and labels
    of the figure must be final.
    """
    from matplotlib.patheffects import withStroke

    figure: Any = axes.figure
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer).get_points()
    per_point = figure.dpi / 72.0
    anchors = axes.transData.transform(np.asarray(points, dtype=np.float64).reshape(-1, 2))
    lines = [axes.transData.transform(np.asarray(line).reshape(-1, 2)) for line in avoid]
    obstacles = np.concatenate([anchors, *(_dense(line) for line in lines)])
    texts: list[Any] = []
    boxes: list[Array] = []
    for anchor, name in zip(anchors, names, strict=True):
        text = axes.annotate(
            name,
            tuple(axes.transData.inverted().transform(anchor)),
            xytext=(0.0, 0.0),
            textcoords="offset points",
            fontsize=size,
            color="0.15",
            ha="center",
            va="center",
            arrowprops={"arrowstyle": "-", "color": "0.55", "lw": 0.6, "shrinkA": 0, "shrinkB": 2},
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        text.set_in_layout(False)
        extent = text.get_window_extent(renderer)
        half = 0.5 * np.array([extent.width, extent.height]) + per_point
        offset = _place(anchor, half, boxes, obstacles, frame, per_point)
        text.set_position(tuple(offset / per_point))
        boxes.append(np.array([anchor + offset - half, anchor + offset + half]))
        texts.append(text)
    return texts


def _dense(line: Array) -> Array:
    """Points of a line at a distance of a few pixels."""
    whole = line[np.isfinite(line).all(axis=1)]
    if len(whole) < 2:
        return whole
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(whole, axis=0), axis=1))])
    even = np.linspace(0.0, length[-1], int(min(4000, length[-1] / 3.0)) + 2)
    return np.stack([np.interp(even, length, axis) for axis in whole.T], axis=1)


def _place(
    anchor: Array,
    half: Array,
    boxes: Sequence[Array],
    obstacles: Array,
    frame: Array,
    per_point: float,
) -> Array:
    """Offset [px] from the anchor to the centre of a name with the lowest cost."""
    best, lowest = np.zeros(2), np.inf
    for distance in _DISTANCES:
        for angle in _DIRECTIONS:
            towards = np.array([np.cos(angle), np.sin(angle)])
            offset = towards * (distance * per_point + half * np.abs(towards))
            low, high = anchor + offset - half, anchor + offset + half
            cost = 0.3 * distance + 10.0 * np.count_nonzero(
                ((obstacles > low) & (obstacles < high)).all(axis=1)
            )
            for other in boxes:
                overlap = np.minimum(high, other[1]) - np.maximum(low, other[0])
                cost += 1e4 * (overlap > 0.0).all()
            cost += 1e3 * ((low < frame[0]) | (high > frame[1])).any()
            if cost < lowest:
                best, lowest = offset, cost
    return best


class Canvas:
    """Images of a figure in which a few artists change; everything else is drawn once."""

    def __init__(self, figure: Figure, moving: Sequence[Artist]) -> None:
        self._canvas: Any
        self._canvas = figure.canvas
        self._moving = moving
        for artist in moving:
            artist.set_animated(True)
        self._canvas.draw()
        self._background: Any = self._canvas.copy_from_bbox(figure.bbox)

    def image(self) -> Image:
        """(height, width, 3) image of the present state of the artists."""
        self._canvas.restore_region(self._background)
        renderer = self._canvas.get_renderer()
        for artist in self._moving:
            artist.draw(renderer)
        return np.array(np.asarray(self._canvas.buffer_rgba())[..., :3])


def frames(canvas: Canvas, count: int, move: Callable[[int], None]) -> Iterator[Image]:
    """The images of an animation; `move` updates the artists for each."""
    for number in range(count):
        move(number)
        yield canvas.image()
