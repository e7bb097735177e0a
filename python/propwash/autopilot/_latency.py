"""Statistics of times, in constant memory."""

from __future__ import annotations

import math

import numpy as np

_SHORTEST, _LONGEST = 1e-6, 1e2  # s
_PER_DECADE = 50
_DECADES = round(math.log10(_LONGEST / _SHORTEST))


class Latencies:
    """Number, mean, maximum and quantiles of times [s]; quantiles to 5 %, from 1 us to 100 s."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.maximum = 0.0
        self._bins = np.zeros(_DECADES * _PER_DECADE, dtype=np.int64)

    def add(self, seconds: float) -> None:
        """Counts a time; a negative one, of clocks that differ, as 0."""
        seconds = max(seconds, 0.0)
        self.count += 1
        self.total += seconds
        self.maximum = max(self.maximum, seconds)
        place = math.floor(_PER_DECADE * math.log10(max(seconds, _SHORTEST) / _SHORTEST))
        self._bins[min(place, len(self._bins) - 1)] += 1

    @property
    def mean(self) -> float:
        """s; NaN without times."""
        return self.total / self.count if self.count else math.nan

    def quantile(self, probability: float) -> float:
        """s; NaN without times."""
        if not self.count:
            return math.nan
        place = int(np.searchsorted(self._bins.cumsum(), probability * self.count))
        edge: float = _SHORTEST * 10.0 ** ((place + 1) / _PER_DECADE)
        return min(edge, self.maximum)

    def __str__(self) -> str:
        if not self.count:
            return "none"
        values = (self.mean, self.quantile(0.5), self.quantile(0.99), self.maximum)
        mean, median, high, most = (f"{1e3 * value:.3g}" for value in values)
        return f"mean {mean}, median {median}, 99 % {high}, max {most} ms ({self.count})"
