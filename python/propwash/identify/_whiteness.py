"""Whiteness of the residuals of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BIN_EDGES = np.linspace(-5.0, 5.0, 41)
"""Bin edges of `Whiteness.histogram`, in standard deviations of the assumed noise."""
_HIGH_RMS = 5.0
_MAX_LAG = 20


@dataclass(frozen=True)
class Whiteness:
    """Whiteness test of the residuals of one type of window."""

    kind: str
    """"forces", "torques" or "rates"."""
    residuals: int
    """Number of residuals."""
    rms: float
    """1 if the assumed noise equals the noise of the log."""
    autocorrelations: tuple[float, ...]
    """At lags of 1, 2, ... samples within a window, averaged over windows."""
    bounds: tuple[float, ...]
    """Limits of their absolute values: each of white residuals is within with 95 % probability."""
    histogram: tuple[int, ...]
    """Numbers of residuals in 40 bins from -5 to 5; the others are outside."""

    @property
    def autocorrelation(self) -> float:
        """At a lag of one sample."""
        return self.autocorrelations[0]

    @property
    def bound(self) -> float:
        """Limit of the absolute value of `autocorrelation`."""
        return self.bounds[0]

    @property
    def is_white(self) -> bool:
        """Whether the autocorrelation at a lag of one sample is within the bound."""
        return abs(self.autocorrelation) <= self.bound

    @property
    def notes(self) -> list[str]:
        """What residuals far above the assumed noise suggest; mostly empty."""
        advice = "check the order of the motors, units and frames of the log, and the guess"
        return [f"far above the assumed noise: {advice}"] if self.rms > _HIGH_RMS else []


def whiteness_of(kind: str, parts: Sequence[tuple[Array, int, float]]) -> Whiteness:
    """Tests whitened residuals.

    parts: residuals (W, M) of windows, which are series of a number of samples one after another,
        that number, and in how many windows each row of the log is.
    """
    series = [
        (residuals.reshape(len(residuals), -1, length), overlap)
        for residuals, length, overlap in parts
    ]
    values = np.concatenate([residuals.ravel() for residuals, _, _ in parts])
    lags = range(1, min(_MAX_LAG + 1, max(length for _, length, _ in parts)))
    correlations, bounds = zip(*(_autocorrelation(series, lag) for lag in lags), strict=True)
    return Whiteness(
        kind,
        values.size,
        float(np.sqrt(np.mean(values**2))),
        correlations,
        bounds,
        tuple(np.histogram(values, BIN_EDGES)[0].tolist()),
    )


def _autocorrelation(series: Sequence[tuple[Array, float]], lag: int) -> tuple[float, float]:
    """Returns the autocorrelation along the last axes, and its bound for white residuals.

    Windows that share rows are not independent and count accordingly less.
    """
    product = power = pairs = 0.0
    for one, overlap in series:
        later, earlier = one[..., lag:], one[..., :-lag]
        product += float(np.sum(later * earlier))
        power += float(np.sum(0.5 * (later**2 + earlier**2)))
        pairs += later.size / overlap
    return product / power, float(1.96 / np.sqrt(pairs))
