"""Random numbers of environments: each its own stream, a function of seed, number and episode.

splitmix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
the state of a stream is a hash of (seed, number of the environment, episode, purpose), so that what
an environment draws depends neither on its neighbours nor on how often they were reset.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = (np.uint64(shift) for shift in (30, 27, 31, 11))

START, PARAMETERS, AIR = 0, 1, 2
"""Purposes: what an episode starts from, the vehicle's parameters, wind and delay."""


def _mixed(words: Words) -> Words:
    words = (words ^ (words >> _S30)) * _FIRST
    words = (words ^ (words >> _S27)) * _SECOND
    mixed: Words = words ^ (words >> _S31)
    return mixed


class Draws:
    """Random numbers for the environments that start an episode: one row for each.

    What a row holds depends on the seed, the environment's number, its episode and the calls before
    in the same episode alone.
    """

    def __init__(
        self, seed: int, rows: NDArray[np.intp], numbers: NDArray[Any], episodes: NDArray[Any]
    ) -> None:
        self.rows = rows
        """(m,) places of these environments among all of them."""
        key = _mixed(np.full(len(rows), seed, dtype=np.uint64) + _GOLDEN)
        key = _mixed((key ^ numbers.astype(np.uint64)) + _GOLDEN)
        self._episode = _mixed((key ^ episodes.astype(np.uint64)) + _GOLDEN)
        self._key = self._episode
        self._drawn = 0

    @property
    def size(self) -> int:
        """How many environments start."""
        return len(self.rows)

    def purpose(self, number: int) -> Draws:
        """The same environments, another stream."""
        other = object.__new__(Draws)
        other.rows, other._episode, other._drawn = self.rows, self._episode, 0
        other._key = _mixed(self._episode ^ np.full(1, number, dtype=np.uint64) * _FIRST)
        return other

    def _units(self, columns: int) -> Array:
        """(m, columns) in [0, 1)."""
        counts = np.arange(self._drawn + 1, self._drawn + columns + 1, dtype=np.uint64)
        self._drawn += columns
        words = _mixed(self._key[:, None] + counts * _GOLDEN)
        units: Array = (words >> _S11).astype(np.float64)
        units *= 2.0**-53
        return units

    def uniform(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, width: int | None = None
    ) -> Array:
        """(m,), or (m, width), evenly spread over [low, high)."""
        units = self._units(1 if width is None else width)
        units = units[:, 0] if width is None else units
        least = np.asarray(low, dtype=np.float64)
        return np.asarray(least + units * (np.asarray(high, dtype=np.float64) - least))

    def normal(
        self, mean: ArrayLike = 0.0, deviation: ArrayLike = 1.0, width: int | None = None
    ) -> Array:
        """(m,), or (m, width), of a normal distribution."""
        columns = 1 if width is None else width
        units = self._units(2 * columns)
        radius = np.sqrt(-2.0 * np.log(1.0 - units[:, :columns].copy()))
        normals = radius * np.cos(2.0 * np.pi * units[:, columns:].copy())
        normals = normals[:, 0] if width is None else normals
        scaled = normals * np.asarray(deviation, dtype=np.float64)
        return np.asarray(np.asarray(mean, dtype=np.float64) + scaled)

    def integers(self, count: int) -> NDArray[np.intp]:
        """(m,) whole numbers in [0, count)."""
        return (self._units(1)[:, 0] * count).astype(np.intp)

    def attitude(self, tilt: float = np.pi, yaw: float = np.pi) -> Array:
        """(m, 4) unit quaternions: any heading within ±yaw, leaning to any side by up to `tilt`.

        rad. With the defaults every way up is as likely as it is among all attitudes.
        """
        units = self._units(3)
        cosine = 1.0 - units[:, 0] * (1.0 - np.cos(tilt))
        half_tilt = 0.5 * np.arccos(np.clip(cosine, -1.0, 1.0))
        side = 2.0 * np.pi * units[:, 1]
        half_yaw = yaw * (units[:, 2] - 0.5)
        c, s = np.cos(half_yaw), np.sin(half_yaw)
        x, y = np.sin(half_tilt) * np.cos(side), np.sin(half_tilt) * np.sin(side)
        w = np.cos(half_tilt)
        return np.stack([w * c, x * c + y * s, y * c - x * s, w * s], axis=1)
