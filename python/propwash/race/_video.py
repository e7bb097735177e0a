"""Videos and images of a race, from an on-board camera or as a map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation, viz
from propwash.race import _map as _race_map
from propwash.race import _race as race
from propwash.viz import video as _video

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

VERTICAL_FOV_DEG = 70.0
_SIZE = {".mp4": (640, 480), ".gif": (320, 240), ".png": (640, 480)}
_MAP_SIZE = {**_SIZE, ".gif": (640, 480), ".mp4": (960, 720)}
_RATE = {".mp4": 30.0, ".gif": 12.5}
_MIN_LETTER = 7
"""px, minimum height of readable letters."""
_AFTER_FINISH, _BEFORE_GATE = 1.0, 0.3
"""Durations after the last gate and before a gate [s]."""
_ROLL_FRACTION = 0.5
_MAX_PITCH = np.deg2rad(25.0)


def show(
    result: race.Result,
    path: str | PathLike[str],
    *,
    camera: bool = True,
    size: tuple[int, int] | None = None,
    rate: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> str:
    """Writes a video, an image or a recording of a flight; returns a description of the output.

    path: a video, .mp4 (extra `video`) or .gif; an image, .png; or a recording for the Rerun
    viewer, .rrd (extra `rerun`). camera: whether to show the on-board camera or a map. size: px,
    width and height. rate: images per second; None: 30, for a GIF 12.5. progress: called with the
    completed fraction.

    Raises ImportError if a package is missing, ValueError for other suffixes.
    """
    path = Path(path)
    if path.suffix.lower() == ".rrd":
        return _recording(result, path)
    _video.check(path)
    suffix = path.suffix.lower()
    width, height = size or (_SIZE if camera else _MAP_SIZE)[suffix]
    if suffix == ".png":
        if not camera:
            viz.save(_race_map.figure(result), path)
            return f"plot {path}"
        _video.pillow().Image.fromarray(gate_images(result, width, height)).save(path)
        return f"image {path}: what the camera sees before each gate"
    rate = rate or _RATE[suffix]
    when = times(result, rate)
    view = on_board if camera else _race_map.video
    images = _with_progress(view(result, when, width, height), len(when), progress)
    count = _video.write(path, images, rate)
    return f"video {path}: {count} images of {width}x{height}, {rate:g} a second"


def _recording(result: race.Result, path: Path) -> str:
    """Writes a recording of the flight, and of its estimate with the estimated gates."""
    title, flight, estimates = f"seed {result.seed}", result.flight, result.estimates
    if estimates is None:
        return viz.show(flight, path, scene=result.scene, title=title)
    estimated = race.RaceFlight(
        flight.time, estimates.position, estimates.attitude, estimates.velocity
    )
    gates = {
        f"estimated {gate.name}": _race_map.opening(gate)
        for gate in estimates.gates_at(len(flight.time) - 1)
    }
    return viz.show(
        {"true": flight, "estimate": estimated},
        path,
        scene=result.scene,
        landmarks=gates,
        title=title,
    )


def _with_progress(
    images: Iterator[Image], total: int, progress: Callable[[float], None] | None
) -> Iterator[Image]:
    for number, image in enumerate(images, 1):
        yield image
        if progress is not None:
            progress(number / total)


def times(result: race.Result, rate: float) -> Array:
    """(K,) s, times of the video's images, until 1 s after the last gate or until the collision."""
    flight = result.flight
    end = float(flight.time[-1])
    if result.collision is not None:
        end = min(end, result.collision.time)
    elif result.finished:
        end = min(end, result.time + _AFTER_FINISH)
    return np.arange(float(flight.time[0]), end, 1.0 / rate)


def poses(flight: race.RaceFlight, when: Array) -> tuple[Array, Array]:
    """Interpolated positions (K, 3) [m] and attitudes (K, 4) of the vehicle."""
    position = np.stack([np.interp(when, flight.time, c) for c in flight.position.T], axis=1)
    return position, _rotation.interpolated(when, flight.time, flight.attitude)


def gimbal(flight: race.RaceFlight, when: Array) -> Array:
    """(K, 4) attitudes, scalar first, of a camera on a gimbal.

    The camera has the vehicle's heading, half of its roll, and a pitch that follows the direction
    of flight: at full speed, the tilt would point a fixed camera at the ground.
    """
    _, attitude = poses(flight, when)
    rotation = _rotation.rotation(attitude)
    velocity = np.stack([np.interp(when, flight.time, c) for c in flight.velocity.T], axis=1)
    speed = np.linalg.norm(velocity, axis=1)
    level = np.swapaxes(_rotation.tilts(rotation[:, :, 2]), 1, 2) @ rotation
    yaw = np.arctan2(level[:, 1, 0], level[:, 0, 0])
    slope = np.arcsin(velocity[:, 2] / (speed + 3.0))
    pitch = -np.clip(slope, -_MAX_PITCH, _MAX_PITCH)
    roll = _ROLL_FRACTION * np.arcsin(np.clip(rotation[:, 2, 1], -1.0, 1.0))
    return _rotation.from_euler(roll, pitch, yaw)


def on_board(result: race.Result, when: Array, width: int, height: int) -> Iterator[Image]:
    """Images of a camera on a gimbal, captioned with vehicle, course, time, speed and gates."""
    title = _race_map.title_of(result)
    for t, image in zip(when, _images(result, when, width, height), strict=True):
        passed = sum(passage.time <= t for passage in result.passages)
        next_gate = result.course[passed] if passed < len(result.course) else "none"
        right = f"gates {passed} of {len(result.course)}, next {next_gate}"
        yield captioned(image, [title, right, _time_and_speed(result, float(t))])


def gate_images(result: race.Result, width: int, height: int) -> Image:
    """One image with the camera images shortly before each gate, three in a row."""
    passages = result.passages
    when = np.maximum(
        np.array([p.time for p in passages]) - _BEFORE_GATE, float(result.flight.time[0])
    )
    names = [f"{k}. {p.gate}" for k, p in enumerate(passages, 1)]
    title = f"{_race_map.title_of(result)}: {_BEFORE_GATE:g} s before each gate"
    if len(when) == 0:
        when, names = times(result, 2.0)[-1:], ["no gate was passed"]
        title = _race_map.title_of(result)
    images = [
        captioned(image, [name, "", _time_and_speed(result, float(t))])
        for name, t, image in zip(names, when, _images(result, when, width, height), strict=True)
    ]
    columns = min(3, len(images))
    rows = -(-len(images) // columns)
    gap, head = max(2, width // 100), max(16, height // 9)
    shape = (head + rows * (height + gap), columns * (width + gap) + gap, 3)
    sheet = np.full(shape, 255, dtype=np.uint8)
    for i, image in enumerate(images):
        y, x = head + (height + gap) * (i // columns), gap + (width + gap) * (i % columns)
        sheet[y : y + height, x : x + width] = image
    sheet[:head] = captioned(sheet[:head], [title, "", ""], 2 * head // 3, dark=True)
    return sheet


def _images(result: race.Result, when: Array, width: int, height: int) -> Iterator[Image]:
    from propwash.render import Offscreen, RenderCamera

    renderer = Offscreen(
        result.scene, width=width, height=height, vertical_fov_deg=VERTICAL_FOV_DEG, antialias=2
    )
    position, _ = poses(result.flight, when)
    for point, attitude in zip(position, gimbal(result.flight, when), strict=True):
        yield np.array(renderer.render(RenderCamera("front"), point, attitude).images["front"])


def _time_and_speed(result: race.Result, t: float) -> str:
    flight = result.flight
    speed = np.interp(t, flight.time, np.linalg.norm(flight.velocity, axis=1))
    return f"{t - flight.time[0]:.2f} s, {speed:.1f} m/s"


def captioned(
    frame: Image, texts: Sequence[str], largest: int | None = None, dark: bool = False
) -> Image:
    """An image with texts in its upper left, upper right and lower left corners.

    largest: px, maximum height of letters; None: chosen from the image's height. Texts that do
    not fit are omitted.
    """
    pil = _video.pillow()
    image = pil.Image.fromarray(frame)
    draw = pil.ImageDraw.Draw(image)
    ink, rim = ((30, 30, 30), (255, 255, 255)) if dark else ((255, 255, 255), (0, 0, 0))
    max_size = max(_MIN_LETTER, min(image.height // 20, 28)) if largest is None else largest
    size, boxes = captions(draw, image.size, texts, max_size)
    for text, box in zip(texts, boxes, strict=False):
        font, rim_width = pil.ImageFont.load_default(size), max(1, size // 8)
        draw.text(box[:2], text, ink, font, "lt", stroke_width=rim_width, stroke_fill=rim)
    return np.asarray(image)


def captions(
    draw: Any, image: tuple[int, int], texts: Sequence[str], largest: int
) -> tuple[int, list[tuple[float, float, float, float]]]:
    """The maximum height of letters [px] at which three captions fit, and the captions' boxes.

    image: px, width and height. Boxes are (left, top, right, bottom); no boxes if nothing fits.
    """
    pil = _video.pillow()
    width, height = image
    for size in range(largest, _MIN_LETTER - 1, -1):
        font, edge = pil.ImageFont.load_default(size), size // 2
        extents = [draw.textbbox((0, 0), text, font, "lt")[2:] for text in texts]
        (w0, h0), (w1, h1), (w2, h2) = extents
        if max(w0 + w1 + 3 * edge, w2 + 2 * edge) > width or max(h0, h1) + h2 > height - 3 * edge:
            continue
        right, low = width - edge, height - edge
        return size, [
            (edge, edge, edge + w0, edge + h0),
            (right - w1, edge, right, edge + h1),
            (edge, low - h2, edge + w2, low),
        ]
    return 0, []
