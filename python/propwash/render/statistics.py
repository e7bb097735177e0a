"""Counts and latencies of a client."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Latency:
    """Latencies [s] of the last answers, at most 1000; NaN without answers.

    mean, median, worst: over these answers. p95, p99: percentiles.
    """

    count: int
    """Answers since the start of the session."""
    mean: float
    median: float
    p95: float
    p99: float
    worst: float

    def __str__(self) -> str:
        if self.count == 0:
            return "no answer"
        return (
            f"{1e3 * self.mean:.2f} ms mean, {1e3 * self.median:.2f} median, "
            f"{1e3 * self.p95:.2f} 95 %, {1e3 * self.p99:.2f} 99 %, {1e3 * self.worst:.2f} worst"
        )


class LatencyRecorder:
    """Records the last `size` latencies."""

    def __init__(self, size: int = 1000) -> None:
        self._last: deque[float] = deque(maxlen=size)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Adds the latency of an answer."""
        self._last.append(seconds)
        self._count += 1

    def summary(self) -> Latency:
        """Mean and percentiles."""
        if not self._last:
            return Latency(0, *[math.nan] * 5)
        values = np.array(self._last)
        parts = (values.mean(), *np.percentile(values, (50.0, 95.0, 99.0)), values.max())
        return Latency(self._count, *map(float, parts))


@dataclass(frozen=True)
class Statistics:
    """Counts since the client was created, summed over the renderers."""

    submitted: int = 0
    """Poses submitted to the client."""
    sent: int = 0
    """Messages sent, of all kinds."""
    resent: int = 0
    """Poses sent again because no answer arrived."""
    kept_alive: int = 0
    """Poses sent again so that the renderer does not end the session."""
    received: int = 0
    """Answers accepted."""
    repeated: int = 0
    """Answers received twice; dropped."""
    outdated: int = 0
    """Answers older than one already accepted; dropped."""
    unknown: int = 0
    """Answers with a time stamp that was never sent; dropped."""
    faulty: int = 0
    """Malformed or unsuitable answers; dropped."""
    incomplete: int = 0
    """Accepted answers to poses that a published renderer could not fully apply."""
    frames: int = 0
    """Complete frames: an answer of each renderer to one pose."""
    dropped: int = 0
    """Poses without a frame, because newer poses superseded them."""
    unread: int = 0
    """Frames discarded because `poll` was not called in time."""
    starts: int = 0
    """Session starts, at first and after a renderer disconnected."""
    latency: Latency = Latency(0, *[math.nan] * 5)
