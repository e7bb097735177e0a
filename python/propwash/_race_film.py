"""What a race looks like: from on board, and from above."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash import _guidance, _video, plots, race
from propwash.world import Gate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Picture = NDArray[np.uint8]

VERTICAL_FOV_DEG = 70.0
_SIZE = {".mp4": (640, 480), ".gif": (320, 240), ".png": (640, 480)}
_RATE = {".mp4": 30.0, ".gif": 12.5}
_AFTER = 1.0
_BEFORE_GATE = 0.3
_ROLL = 0.5
_STEEPEST = np.deg2rad(25.0)


def write(
    result: race.Result,
    path: Path,
    camera: bool,
    size: tuple[int, int] | None,
    rate: float | None,
    progress: Callable[[float], None] | None,
) -> str:
    """race.show(), which see."""
    _video.check(path)
    suffix = path.suffix.lower()
    width, height = size or _SIZE[suffix]
    if suffix == ".png":
        if not camera:
            plots.save(figure(result), path)
            return f"plot {path}"
        _video.pillow().Image.fromarray(gate_pictures(result, width, height)).save(path)
        return f"picture {path}: what the camera sees before each gate"
    rate = rate or _RATE[suffix]
    when = times(result, rate)
    view = on_board if camera else from_above
    pictures = _counted(view(result, when, width, height), len(when), progress)
    count = _video.write(path, pictures, rate)
    return f"film {path}: {count} pictures of {width}x{height}, {rate:g} a second"


def _counted(
    pictures: Iterator[Picture], total: int, progress: Callable[[float], None] | None
) -> Iterator[Picture]:
    for number, picture in enumerate(pictures, 1):
        yield picture
        if progress is not None:
            progress(number / total)


def times(result: race.Result, rate: float) -> Array:
    """(K,) s, of the pictures of a film: to a second after the last gate, or to the collision."""
    flight = result.flight
    end = float(flight.time[-1])
    if result.collision is not None:
        end = min(end, result.collision.time)
    elif result.finished:
        end = min(end, result.time + _AFTER)
    return np.arange(float(flight.time[0]), end, 1.0 / rate)


def poses(flight: race.Flight, when: Array) -> tuple[Array, Array]:
    """(K, 3) m and (K, 4): where the vehicle was at times between its rows."""
    position = np.stack([np.interp(when, flight.time, c) for c in flight.position.T], axis=1)
    signs = np.sign(np.sum(flight.attitude[1:] * flight.attitude[:-1], axis=1))
    turned = (
        flight.attitude
        * np.cumprod(np.concatenate([[1.0], np.where(signs < 0, -1.0, 1.0)]))[:, None]
    )
    attitude = np.stack([np.interp(when, flight.time, c) for c in turned.T], axis=1)
    return position, attitude / np.linalg.norm(attitude, axis=1, keepdims=True)


def gimbal(flight: race.Flight, when: Array) -> Array:
    """(K, 4) attitudes, scalar first, of a camera that is kept half level.

    It has the vehicle's heading and half of its roll, and looks up and down with the way: a vehicle
    at full speed leans so far forward that a camera fixed to it would see the ground.
    """
    _, attitude = poses(flight, when)
    turned = np.stack([_guidance.rotation(q) for q in attitude])
    velocity = np.stack([np.interp(when, flight.time, c) for c in flight.velocity.T], axis=1)
    speed = np.linalg.norm(velocity, axis=1)
    level = np.swapaxes(_guidance.tilts(turned[:, :, 2]), 1, 2) @ turned
    yaw = np.arctan2(level[:, 1, 0], level[:, 0, 0])
    steep = np.arcsin(velocity[:, 2] / (speed + 3.0))
    pitch = -np.clip(steep, -_STEEPEST, _STEEPEST)
    roll = _ROLL * np.arcsin(np.clip(turned[:, 2, 1], -1.0, 1.0))
    (cy, cp, cr), (sy, sp, sr) = (f(0.5 * np.stack([yaw, pitch, roll])) for f in (np.cos, np.sin))
    return np.stack(
        [
            cy * cp * cr + sy * sp * sr,
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
        ],
        axis=1,
    )


def on_board(result: race.Result, when: Array, width: int, height: int) -> Iterator[Picture]:
    """What a camera on a gimbal sees at each time, with time, gates and speed written in it."""
    from propwash.render import Camera, Offscreen

    eyes = Offscreen(
        result.scene, width=width, height=height, vertical_fov_deg=VERTICAL_FOV_DEG, antialias=2
    )
    position, _ = poses(result.flight, when)
    for t, place, attitude in zip(when, position, gimbal(result.flight, when), strict=True):
        frame = eyes.render(Camera("front"), place, attitude)
        yield _labelled(np.array(frame.images["front"]), result, float(t))


def gate_pictures(result: race.Result, width: int, height: int) -> Picture:
    """A sheet of what the camera sees shortly before each gate, three beside each other."""
    when = np.array([p.time for p in result.passages]) - _BEFORE_GATE
    if len(when) == 0:
        when = times(result, 2.0)[-1:]
    pictures = list(on_board(result, np.maximum(when, result.flight.time[0]), width, height))
    columns = min(3, len(pictures))
    rows = -(-len(pictures) // columns)
    sheet = np.zeros((rows * height, columns * width, 3), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        y, x = height * (i // columns), width * (i % columns)
        sheet[y : y + height, x : x + width] = picture
    return sheet


def _labelled(picture: Picture, result: race.Result, t: float) -> Picture:
    pil = _video.pillow()
    image = pil.Image.fromarray(picture)
    draw = pil.ImageDraw.Draw(image)
    size = max(11, image.height // 22)
    font = pil.ImageFont.load_default(size)
    flight = result.flight
    speed = np.interp(t, flight.time, np.linalg.norm(flight.velocity, axis=1))
    done = [p for p in result.passages if p.time <= t]
    left = f"{t - flight.time[0]:5.2f} s   {speed:4.1f} m/s"
    right = f"gate {len(done)} of {len(result.course)}"
    edge = size // 2
    for text, place, anchor in [
        (left, (edge, edge), "la"),
        (right, (image.width - edge, edge), "ra"),
    ]:
        draw.text(place, text, (255, 255, 255), font, anchor, stroke_width=2, stroke_fill=(0, 0, 0))
    return np.asarray(image)


def figure(result: race.Result) -> Figure:
    """The flight from above, its colour its speed, with the gates; and its height over time."""
    flight = result.flight
    drawn = plots._figure(6.5, 10)
    grid = drawn.add_gridspec(4, 1)
    above, side = drawn.add_subplot(grid[:3]), drawn.add_subplot(grid[3])
    speed = np.linalg.norm(flight.velocity, axis=1)
    x, y = flight.position[:, :2].T
    points = above.scatter(x, y, s=4, c=speed, cmap="viridis")
    drawn.colorbar(points, ax=above, label="speed [m/s]", shrink=0.8)
    passed = {p.gate: p.time for p in result.passages}
    for gate in race.course_gates(result.scene, result.course):
        colour = "tab:green" if gate.name in passed else "tab:red"
        ends = gate_ends(gate)
        above.plot(*ends.T, color=colour, lw=3)
        above.annotate(gate.name, ends[0], fontsize=8, xytext=(4, 4), textcoords="offset points")
        if gate.name in passed:
            side.plot(passed[gate.name], gate.position[2], "s", color=colour)
    above.plot(*flight.position[0, :2], "ko", label="start")
    above.set_aspect("equal")
    above.legend(fontsize=8)
    title = f"{result.vehicle}, seed {result.seed}: {len(passed)} of {len(result.course)} gates"
    plots._labelled(above, f"{title}, score {result.score:.2f}", "x [m]", "y [m]")
    side.plot(flight.time, flight.position[:, 2], lw=1)
    plots._labelled(
        side, "height, and the middles of the gates as they are passed", "time [s]", "m"
    )
    return drawn


def gate_ends(gate: Gate) -> Array:
    """(2, 2) m, from above: where the opening ends to the left and to the right."""
    left = _guidance.rotation(np.asarray(gate.attitude))[:2, 1] * 0.5 * gate.width
    centre = np.asarray(gate.position)[:2]
    return np.stack([centre + left, centre - left])


def from_above(result: race.Result, when: Array, width: int, height: int) -> Iterator[Picture]:
    """The course from above at each time, with the way flown."""
    pil = _video.pillow()
    position, _ = poses(result.flight, when)
    gates = race.course_gates(result.scene, result.course)
    view = _MapView(np.concatenate([*map(gate_ends, gates), position[:, :2]]), width, height)
    font = pil.ImageFont.load_default(max(9, height // 40))
    for row, t in enumerate(when):
        image = pil.Image.new("RGB", (width, height), (245, 245, 240))
        draw = pil.ImageDraw.Draw(image)
        passed = {p.gate for p in result.passages if p.time <= t}
        for gate in gates:
            colour = (40, 150, 60) if gate.name in passed else (200, 60, 40)
            ends = view.pixels(gate_ends(gate))
            draw.line(ends, fill=colour, width=max(2, height // 160))
            draw.text(ends[0], gate.name, (90, 90, 90), font)
        way = view.pixels(position[: row + 1, :2])
        if len(way) > 1:
            draw.line(way, fill=(50, 90, 170), width=max(1, height // 300))
        (x, y), r = way[-1], max(3, height // 100)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(20, 20, 20))
        yield _labelled(np.asarray(image), result, float(t))


class _MapView:
    """From metres to the pixels of a picture, y up."""

    def __init__(self, points: Array, width: int, height: int) -> None:
        low, high = points.min(axis=0) - 3.0, points.max(axis=0) + 3.0
        self._scale = float(np.min(np.array([width, height]) / (high - low)))
        self._centre = 0.5 * (low + high)
        self._middle = 0.5 * np.array([width, height])

    def pixels(self, points: Array) -> list[tuple[float, float]]:
        moved = (points - self._centre) * self._scale * np.array([1.0, -1.0]) + self._middle
        return [(float(x), float(y)) for x, y in moved]
