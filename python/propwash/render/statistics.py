"""What a client counted, and how long answers took."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Latency:
    """Seconds, over the last answers (1000 at most); NaN where there was none.

    mean, median, worst: over these answers. p95, p99: percentiles.
    """

    count: int
    """Answers measured, of all the session."""
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
    """Keeps the last `size` latencies."""

    def __init__(self, size: int = 1000) -> None:
        self._last: deque[float] = deque(maxlen=size)
        self._count = 0

    def add(self, seconds: float) -> None:
        """One more answer."""
        self._last.append(seconds)
        self._count += 1

    def summary(self) -> Latency:
        """Mean and percentiles."""
        if not self._last:
            return Latency(0, *[math.nan] * 5)
        values = np.array(self._last)
        median, p95, p99 = np.percentile(values, (50.0, 95.0, 99.0))
        return Latency(
            self._count,
            float(values.mean()),
            float(median),
            float(p95),
            float(p99),
            float(values.max()),
        )


@dataclass(frozen=True)
class Statistics:
    """Counts since the client was made; of several renderers the sum."""

    submitted: int = 0
    """Poses given to the client."""
    sent: int = 0
    """Messages that went out, of all kinds."""
    resent: int = 0
    """Of them, poses sent again because no answer came."""
    kept_alive: int = 0
    """Of them, poses sent again so that the renderer does not forget the session."""
    received: int = 0
    """Answers taken."""
    repeated: int = 0
    """Answers that had been received before; dropped."""
    late: int = 0
    """Answers older than one already taken; dropped."""
    unknown: int = 0
    """Answers with a time stamp that was never sent; dropped."""
    faulty: int = 0
    """Answers that could not be read or used; dropped."""
    half_done: int = 0
    """Answers taken to poses that a published renderer could not carry out to the end."""
    frames: int = 0
    """Complete frames: every renderer's answer to one pose."""
    dropped: int = 0
    """Poses that newer ones overtook: no frame comes of them."""
    unread: int = 0
    """Frames for which `poll` was not called in time; only `latest` had them."""
    starts: int = 0
    """How often a renderer was waited for, at first and after it went."""
    latency: Latency = Latency(0, *[math.nan] * 5)
