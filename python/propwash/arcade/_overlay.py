"""Draws the numbers of the page over an image, for films."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.arcade._ghosts import Ghost
from propwash.arcade._guide import guidance, next_gate
from propwash.arcade._interface import FlightSnapshot
from propwash.arcade._view import FlightView
from propwash.viz import video
from propwash.world import Gate

Image = NDArray[np.uint8]
Colour = tuple[int, int, int, int]

_WHITE, _SOFT, _GLASS = (232, 238, 244, 255), (159, 176, 192, 255), (9, 13, 18, 158)
_BLUE, _AMBER, _FILL = (76, 201, 240, 255), (255, 183, 3, 255), (255, 183, 3, 26)
_RED, _GREEN = (255, 93, 93, 255), (94, 224, 138, 255)
_SPLITS = 8
"""Gates in the list of times."""
_TITLES = {"finished": "Finished", "collided": "Collision", "timeout": "Time limit"}


class Overlay:
    """Draws time, gates, speed, height, sticks and mode of a flight over its images.

    title: of the flight. gates: in order. ghosts: with their differences in time.
    """

    def __init__(
        self, size: tuple[int, int], title: str, gates: Sequence[Gate], ghosts: Sequence[Ghost] = ()
    ) -> None:
        self._pil = video.pillow()
        self._width, self._height = size
        self._unit = max(11.0, 0.0145 * size[0])
        self._fonts: dict[int, Any] = {}
        self._title, self._gates, self._ghosts = title, gates, ghosts

    def draw(
        self, rgb: Image, snapshot: FlightSnapshot, view: FlightView, *, ended: bool = False
    ) -> Image:
        """The image with the numbers of a snapshot that the view has just drawn.

        ended: whether to show the result.
        """
        image = self._pil.Image.fromarray(rgb).convert("RGBA")
        layer = self._pil.Image.new("RGBA", image.size, (0, 0, 0, 0))
        pen = self._pil.ImageDraw.Draw(layer)
        gate = next_gate(self._gates, snapshot)
        self._target(pen, view, None if gate is None else gate.name)
        self._top(pen, snapshot, gate)
        self._bottom(pen, snapshot)
        if ended:
            self._result(pen, snapshot)
        image.alpha_composite(layer)
        return np.asarray(image.convert("RGB"))

    def _top(self, pen: Any, snapshot: FlightSnapshot, gate: Gate | None) -> None:
        u = self._unit
        self._text(pen, (u, u), clock(snapshot.race_time), 2.5)
        lines = []
        for ghost in self._ghosts:
            lead = ghost.difference(snapshot.passed)
            if lead is not None:
                lines.append((ghost.name, f"{lead:+.2f}", _RED if lead > 0.0 else _GREEN))
        self._list(pen, u, 4.4 * u, lines)
        middle = 0.5 * self._width
        count = f"{len(snapshot.passed)} / {len(self._gates)}"
        self._text(pen, (middle, u), count, 1.9, anchor="mt")
        if gate is not None:
            text = f"next: {guidance(gate, snapshot)}"
            self._text(pen, (middle, 3.3 * u), text, 1.0, _AMBER, "mt")
        splits = snapshot.passed[-_SPLITS:]
        rows = [(name, clock(time), _WHITE) for name, time in splits]
        self._list(pen, self._width - u, u, rows, is_right=True)

    def _bottom(self, pen: Any, snapshot: FlightSnapshot) -> None:
        u, low = self._unit, self._height - self._unit
        speed = float(np.linalg.norm(snapshot.velocity))
        numbers = ((f"{speed:.1f}", "m/s"), (f"{snapshot.position[2]:.1f}", "m"))
        pen.rounded_rectangle((u, low - 2.8 * u, 13.6 * u, low), 0.5 * u, _GLASS)
        for k, (number, unit) in enumerate(numbers):
            self._text(pen, ((5.2 + 5.6 * k) * u, low - 0.6 * u), number, 1.9, anchor="rs")
            self._text(pen, ((5.5 + 5.6 * k) * u, low - 0.6 * u), unit, 1.0, _SOFT, "ls")
        sticks, middle, half = snapshot.sticks, 0.5 * self._width, 2.3 * u
        pairs = ((sticks.yaw, 2.0 * sticks.throttle - 1.0), (sticks.roll, sticks.pitch))
        for side, (across, up) in zip((-1.0, 1.0), pairs, strict=True):
            x, y = middle + side * 1.2 * half, low - half
            pen.rounded_rectangle((x - half, y - half, x + half, y + half), 0.5 * u, _GLASS)
            pen.line((x - 0.88 * half, y, x + 0.88 * half, y), _SOFT)
            pen.line((x, y - 0.88 * half, x, y + 0.88 * half), _SOFT)
            x, y = x + 0.85 * half * across, y - 0.85 * half * up
            pen.ellipse((x - 0.35 * u, y - 0.35 * u, x + 0.35 * u, y + 0.35 * u), _BLUE)
        right = self._width - u
        self._text(pen, (right, low - 1.5 * u), snapshot.mode, 1.2, _BLUE, "rs")
        self._text(pen, (right, low), self._title, 0.85, _SOFT, "rs")

    def _target(self, pen: Any, view: FlightView, gate: str | None) -> None:
        outline = view.outline(gate)
        if len(outline) > 2:
            pen.polygon(outline, _FILL)
            pen.line([*outline, outline[0]], _AMBER, max(1, round(self._width / 320)))
        target = view.target(gate)
        if target is None:
            return
        x, y, is_ahead = target
        if is_ahead and 0.0 <= x <= self._width and 0.0 <= y <= self._height:
            return
        centre = np.array([0.5 * self._width, 0.5 * self._height])
        along = np.array([x, y]) - centre
        along = along / (np.linalg.norm(along) or 1.0)
        tip = centre + along * [0.4 * self._width, 0.28 * self._height]
        across = np.array([-along[1], along[0]])
        corners = [tip + self._unit * (a * along + b * across) for a, b in _ARROW]
        pen.polygon([tuple(map(float, corner)) for corner in corners], _AMBER)

    def _result(self, pen: Any, snapshot: FlightSnapshot) -> None:
        u, x, y = self._unit, 0.5 * self._width, 0.46 * self._height
        title = _TITLES.get(snapshot.phase, "Reset")
        if snapshot.collision is not None:
            title += f" with {snapshot.collision}"
        text = f"{len(snapshot.passed)} of {len(self._gates)} gates"
        if snapshot.passed:
            text += f" in {snapshot.passed[-1][1]:.2f} s"
        half = 0.5 * max(self._font(2.0).getlength(title), self._font(1.3).getlength(text)) + 2 * u
        pen.rounded_rectangle((x - half, y - 3.2 * u, x + half, y + 3 * u), u, (12, 17, 23, 219))
        colour = _GREEN if snapshot.phase == "finished" else _AMBER
        self._text(pen, (x, y - 0.3 * u), title, 2.0, colour, "ms")
        self._text(pen, (x, y + 1.9 * u), text, 1.3, _WHITE, "ms")

    def _list(
        self,
        pen: Any,
        x: float,
        y: float,
        rows: Sequence[tuple[str, str, Colour]],
        *,
        is_right: bool = False,
    ) -> None:
        """Names and values; (x, y) is the upper left corner, or the upper right one."""
        if not rows:
            return
        u, font = self._unit, self._font(1.0)
        width = max(font.getlength(name) + font.getlength(value) for name, value, _ in rows) + 3 * u
        left = x - width if is_right else x
        bottom = y + (1.5 * len(rows) + 0.6) * u
        pen.rounded_rectangle((left, y, left + width, bottom), 0.5 * u, _GLASS)
        for k, (name, value, colour) in enumerate(rows):
            line = y + (1.5 * k + 1.4) * u
            self._text(pen, (left + 0.7 * u, line), name, 1.0, _SOFT, "ls")
            self._text(pen, (left + width - 0.7 * u, line), value, 1.0, colour, "rs")

    def _text(
        self,
        pen: Any,
        place: tuple[float, float],
        text: str,
        size: float,
        colour: Colour = _WHITE,
        anchor: str = "lt",
    ) -> None:
        shadow = (place[0] + 1.0, place[1] + 1.0)
        pen.text(shadow, text, (0, 0, 0, 200), self._font(size), anchor)
        pen.text(place, text, colour, self._font(size), anchor)

    def _font(self, size: float) -> Any:
        pixels = round(size * self._unit)
        if pixels not in self._fonts:
            self._fonts[pixels] = self._pil.ImageFont.load_default(pixels)
        return self._fonts[pixels]


_ARROW = ((0.9, 0.0), (-0.7, 0.85), (-0.3, 0.0), (-0.7, -0.85))
"""Corners of the arrow to a gate outside of the image: along and across."""


def clock(seconds: float) -> str:
    """Minutes, seconds and hundredths."""
    hundredths = round(100.0 * seconds)
    return f"{hundredths // 6000}:{hundredths // 100 % 60:02d}.{hundredths % 100:02d}"
