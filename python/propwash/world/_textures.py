"""Textures of items: image files, and patterns drawn from random numbers.

The patterns have corners at several scales, as feature trackers need them, and repeat without a
seam. An image depends on its name alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _files
from propwash._checks import ParameterError, nearest, shown

Image = NDArray[np.uint8]
_Floats = NDArray[np.float32]

SIZE = 1024
"""px, the width and height of a pattern."""
MAX_SIZE = 8192
"""px, the largest width and height of an image file."""
SUFFIXES = (".png", ".jpg", ".jpeg")
"""The endings of image files."""


class _Canvas:
    """An sRGB image that repeats, of values from 0 to 1; coordinates are in fractions of it."""

    def __init__(self, name: str, colour: tuple[float, float, float]) -> None:
        self.random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
        self.rgb = np.empty((SIZE, SIZE, 3), np.float32)
        self.rgb[:] = colour

    def noise(self, cells_u: int, cells_v: int | None = None) -> _Floats:
        """Smooth random values from -1 to 1 in cells."""
        rows = cells_v or cells_u
        values = self.random.random((rows, cells_u), dtype=np.float32) * 2.0 - 1.0
        return _stretched(_stretched(values).T).T

    def spots(self, cells: int, contrast: float, levels: int = 4) -> None:
        """Multiplies by noise at several scales, each a third of the one before."""
        total = np.zeros((SIZE, SIZE), np.float32)
        for _ in range(levels):
            total += self.noise(min(cells, SIZE))
            cells *= 3
        self.rgb *= (1.0 + contrast * total / np.sqrt(levels))[..., None]

    def put(self, at: Any, half: Any, colour: Any, angle: float = 0.0, disc: bool = False) -> None:
        """Draws a filled rectangle of half edges `half`, or an ellipse, with smooth edges."""
        (x, y), (a, b) = np.asarray(at) * SIZE, np.asarray(half) * SIZE
        c, s = np.cos(angle), np.sin(angle)
        reach_x = int(abs(a * c) + abs(b * s)) + 2
        reach_y = int(abs(a * s) + abs(b * c)) + 2
        columns = np.arange(int(x) - reach_x, int(x) + reach_x + 1)
        rows = np.arange(int(y) - reach_y, int(y) + reach_y + 1)
        dx, dy = (columns + 0.5 - x)[None, :], (rows + 0.5 - y)[:, None]
        u, v = np.abs(c * dx + s * dy), np.abs(c * dy - s * dx)
        if disc:
            cover = np.clip((1.0 - np.hypot(u / a, v / b)) * min(a, b) + 0.5, 0.0, 1.0)
        else:
            cover = np.clip(a + 0.5 - u, 0.0, 1.0) * np.clip(b + 0.5 - v, 0.0, 1.0)
        place = np.ix_(rows % SIZE, columns % SIZE)
        self.rgb[place] += (np.asarray(colour) - self.rgb[place]) * cover[..., None]

    def chips(self, count: int, sizes: tuple[float, float], greys: tuple[float, float]) -> None:
        """Draws small rectangles and ellipses of random sizes, angles and greys."""
        low, high = np.log(sizes)
        for _ in range(count):
            half = np.exp(self.random.uniform(low, high, 2))
            grey = self.random.uniform(*greys) * self.random.uniform(0.93, 1.07, 3)
            angle = self.random.uniform(0.0, np.pi)
            self.put(self.random.random(2), half, grey, angle, self.random.random() < 0.3)

    def print_on(self, at: Any, half: Any, ink: Any) -> None:
        """Draws random content into a rectangle: text, blocks, bars or discs."""
        (x, y), (a, b) = np.asarray(at), np.asarray(half)
        kind = self.random.integers(4)
        columns, rows = ((8, 9), (5, 5), (18, 1), (3, 3))[kind]
        for j in range(rows):
            for i in range(columns):
                if self.random.random() < 0.35:
                    continue
                cell = np.array([a / columns, b / rows])
                centre = (x - a + (2 * i + 1) * cell[0], y - b + (2 * j + 1) * cell[1])
                fill = self.random.uniform((0.5, 0.35), (0.95, 0.7))
                if kind in (1, 2):
                    fill = np.array([1.0 if kind == 1 else fill[1], 1.0])
                self.put(centre, cell * fill, ink, disc=kind == 3)

    def image(self) -> Image:
        """The image in bytes."""
        return np.asarray(np.clip(self.rgb * 255.0 + 0.5, 0.0, 255.0).astype(np.uint8))


def _stretched(values: _Floats) -> _Floats:
    """Interpolates rows of values (k, n) to SIZE rows that repeat."""
    at = np.arange(SIZE, dtype=np.float32) * (len(values) / SIZE)
    below = at.astype(np.intp)
    t = (at - below)[:, None]
    t = t * t * (3.0 - 2.0 * t)
    return np.asarray(values[below] * (1.0 - t) + values[(below + 1) % len(values)] * t)


def _brick() -> Image:
    canvas = _Canvas("brick", (0.72, 0.70, 0.67))
    rows, across = 48, 16
    for j in range(rows):
        for i in range(across):
            grey = canvas.random.uniform(0.42, 0.72)
            colour = grey * np.array([1.12, 0.92, 0.84])
            centre = ((i + 0.5 + 0.5 * (j % 2)) / across, (j + 0.5) / rows)
            canvas.put(centre, (0.47 / across, 0.42 / rows), colour)
    canvas.chips(900, (0.0012, 0.006), (0.22, 0.9))
    canvas.spots(5, 0.13)
    return canvas.image()


def _concrete() -> Image:
    canvas = _Canvas("concrete", (0.64, 0.64, 0.62))
    canvas.spots(4, 0.16, levels=5)
    canvas.chips(1500, (0.001, 0.005), (0.25, 0.9))
    canvas.chips(90, (0.004, 0.02), (0.35, 0.85))
    for j in range(4):
        canvas.put((0.5, j / 4), (0.5, 0.0016), (0.3, 0.3, 0.3))
        for i in range(2):
            canvas.put(((i + 0.5 * (j % 2)) / 2, (j + 0.5) / 4), (0.0016, 0.125), (0.3, 0.3, 0.3))
            for side in (-1, 1):
                hole = ((i + 0.25 + 0.12 * side) / 2, (j + 0.5) / 4)
                canvas.put(hole, (0.005, 0.005), (0.18, 0.18, 0.18), disc=True)
    return canvas.image()


def _wood() -> Image:
    canvas = _Canvas("wood", (0.70, 0.55, 0.40))
    grain = canvas.noise(8, 256) + 0.7 * canvas.noise(24, 512)
    canvas.rgb *= (1.0 + 0.10 * grain)[..., None]
    planks = 24
    for j in range(planks):
        shade = canvas.random.uniform(0.72, 1.15)
        rows = slice(j * SIZE // planks, (j + 1) * SIZE // planks)
        canvas.rgb[rows] *= shade
        ends = canvas.random.random(3)
        for end in ends:
            canvas.put((end, (j + 0.5) / planks), (0.0015, 0.5 / planks), (0.2, 0.15, 0.1))
        for _ in range(4):
            knot = (canvas.random.random(), (j + canvas.random.uniform(0.2, 0.8)) / planks)
            size = canvas.random.uniform(0.002, 0.006)
            canvas.put(knot, (1.5 * size, size), (0.25, 0.17, 0.11), disc=True)
        canvas.put((0.5, j / planks), (0.5, 0.0012), (0.2, 0.15, 0.1))
    canvas.chips(700, (0.0012, 0.004), (0.2, 0.85))
    return canvas.image()


def _terrazzo() -> Image:
    canvas = _Canvas("terrazzo", (0.66, 0.65, 0.62))
    canvas.spots(4, 0.10)
    canvas.chips(350, (0.006, 0.016), (0.25, 0.95))
    canvas.chips(2500, (0.0015, 0.006), (0.2, 0.98))
    for k in range(4):
        canvas.put((k / 4, 0.5), (0.0012, 0.5), (0.35, 0.33, 0.3))
        canvas.put((0.5, k / 4), (0.5, 0.0012), (0.35, 0.33, 0.3))
    return canvas.image()


def _posters() -> Image:
    canvas = _Canvas("posters", (0.80, 0.79, 0.76))
    canvas.spots(5, 0.07, levels=5)
    canvas.chips(500, (0.001, 0.004), (0.4, 0.95))
    places = [(i, j) for j in range(6) for i in range(5)]
    for i, j in places:
        half = canvas.random.uniform((0.045, 0.04), (0.09, 0.072))
        jitter = canvas.random.uniform(-0.3, 0.3, 2) * (np.array([0.1, 0.083]) - half)
        centre = np.array([(i + 0.5) / 5, (j + 0.5) / 6]) + jitter
        paper, ink = canvas.random.uniform(0.55, 0.98, 3), canvas.random.uniform(0.05, 0.40, 3)
        if canvas.random.random() < 0.3:
            paper, ink = ink, paper
        canvas.put(centre, half, ink)
        canvas.put(centre, half - 0.003, paper)
        upper, lower = centre - half * (0.0, 0.45), centre + half * (0.0, 0.5)
        canvas.print_on(upper, half * [0.8, 0.45], ink)
        canvas.print_on(lower, half * [0.8, 0.35], ink)
    return canvas.image()


def _labels() -> Image:
    canvas = _Canvas("labels", (0.86, 0.80, 0.72))
    canvas.rgb *= (1.0 + 0.06 * canvas.noise(4, 512))[..., None]
    canvas.spots(5, 0.09)
    canvas.put((0.5, 0.5), (0.5, 0.035), (0.95, 0.90, 0.78))
    for i, j in [(i, j) for j in range(3) for i in range(3)]:
        half = canvas.random.uniform(0.06, 0.13, 2)
        centre = (np.array([i, j]) + 0.5 + canvas.random.uniform(-0.15, 0.15, 2)) / 3
        ink = np.full(3, canvas.random.uniform(0.08, 0.3))
        if canvas.random.random() < 0.7:
            canvas.put(centre, half + 0.012, (0.97, 0.97, 0.95))
        canvas.print_on(centre - half * (0.0, 0.5), half * [1.0, 0.42], ink)
        canvas.print_on(centre + half * (0.0, 0.5), half * [1.0, 0.42], ink)
    canvas.chips(250, (0.002, 0.008), (0.3, 0.75))
    return canvas.image()


_PATTERNS: dict[str, Callable[[], Image]] = {
    "brick": _brick,
    "concrete": _concrete,
    "labels": _labels,
    "posters": _posters,
    "terrazzo": _terrazzo,
    "wood": _wood,
}


def texture_names() -> list[str]:
    """The names of the textures that need no file."""
    return list(_PATTERNS)


def is_file(texture: str) -> bool:
    """Whether a texture is an image file and not a name. Raises ParameterError if neither."""
    if texture.lower().endswith(SUFFIXES):
        return True
    if texture in _PATTERNS:
        return False
    hint = nearest(texture, _PATTERNS) or f"; known: {', '.join(_PATTERNS)}"
    raise ParameterError(
        f"texture = {shown(texture)}: expected an image file ({', '.join(SUFFIXES)}) or the name "
        f"of a texture{hint}"
    )


def texture_image(texture: str) -> Image:
    """The sRGB image (height, width, 3) of a texture, by its name or the path of its file.

    Raises ParameterError for a file that is not an image, ImportError without OpenCV.
    """
    return _read(Path(texture)) if is_file(texture) else _PATTERNS[texture]()


def _read(path: Path) -> Image:
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            f'{path}: OpenCV reads textures from files: pip install "propwash[vision]"'
        ) from error
    data = np.frombuffer(_files.read_bytes(path, "an image file", ParameterError), np.uint8)
    raw = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if raw is None:
        raise ParameterError(f"{path}: expected a PNG or JPEG image, its content is not one")
    height, width = raw.shape[:2]
    if max(width, height) > MAX_SIZE:
        raise ParameterError(
            f"{path}: expected at most {MAX_SIZE} pixels along an edge, got {width} x {height}; "
            f"reduce the image"
        )
    return np.ascontiguousarray(raw[..., ::-1])
