"""Answers of several renderers, joined by their time stamp into frames."""

from __future__ import annotations

from collections import deque

from propwash.render._side import Part
from propwash.render.frame import Frame, Image


class Gathering:
    """What was asked for, what has come of it, and what never will.

    renderers: how many answer each pose. senses: the one whose landmarks, range and collision
    count.
    """

    def __init__(self, renderers: int, senses: int) -> None:
        self.frames = 0
        self.dropped = 0
        self._renderers = renderers
        self._senses = senses
        self._asked: deque[tuple[int, frozenset[str]]] = deque()
        self._parts: dict[int, dict[int, Part]] = {}

    def asked(self, time_ns: int, rendered: frozenset[str]) -> None:
        """A pose was submitted, with these cameras to be rendered; stamps rise."""
        self._asked.append((time_ns, rendered))

    def add(self, renderer: int, part: Part) -> Frame | None:
        """One renderer's answer; the frame, where it was the last part of it."""
        parts = self._parts.setdefault(part.time_ns, {})
        parts[renderer] = part
        if len(parts) < self._renderers:
            return None
        # answers of a renderer come in the order of their stamps: what is older stays incomplete
        self._parts = {stamp: has for stamp, has in self._parts.items() if stamp > part.time_ns}
        rendered: frozenset[str] = frozenset()
        while self._asked and self._asked[0][0] <= part.time_ns:
            stamp, rendered = self._asked.popleft()
            self.dropped += stamp < part.time_ns
        self.frames += 1
        sensed = parts[self._senses]
        images: dict[str, Image] = {}
        for number in sorted(parts):
            # v2 renderers draw every camera in every frame
            images |= {k: image for k, image in parts[number].images.items() if k in rendered}
        return Frame(
            part.time_ns,
            images,
            sensed.landmarks,
            sensed.range_m,
            sensed.collision,
            max(one.latency for one in parts.values()),
            any(one.half_done for one in parts.values()),
        )

    def give_up(self) -> None:
        """Nothing that was asked for will come."""
        self.dropped += len(self._asked)
        self._asked.clear()
        self._parts.clear()
