"""The result of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Evaluation:
    """Record of one episode in each of n environments, NaN after its end."""

    time: Numbers
    """(T,) s, after each step."""
    position: Numbers
    """(T, n, 3) m, world frame."""
    velocity: Numbers
    """(T, n, 3) m/s, world frame."""
    attitude: Numbers
    """(T, n, 4) unit quaternions, scalar first."""
    distance: Numbers
    """(T, n) m, from the task's target."""
    returns: Numbers
    """(n,) sums of the rewards."""
    lost: NDArray[np.bool_]
    """(n,) whether the task terminated the episode before its time limit."""
    infos: dict[str, NDArray[Any]]
    """(n, …) infos at the end of the episodes."""

    @property
    def success(self) -> NDArray[np.bool_] | None:
        """(n,) the info `success` of the task, or else `finished`; None without them."""
        for name in ("success", "finished"):
            if name in self.infos:
                return np.asarray(self.infos[name], dtype=np.bool_)
        return None

    def worst(self, count: int) -> NDArray[np.intp]:
        """Indices of the `count` worst episodes, the worst first.

        Episodes without success come first, in tasks without that info those that are lost; among
        them, those with the smallest sum of rewards.
        """
        good = ~self.lost if self.success is None else self.success
        return np.lexsort((self.returns, good))[:count]

    def settled(self, radius: float, seconds: float) -> float:
        """Fraction of episodes within `radius` [m] of the target for all of the last `seconds`.

        Terminated episodes do not count as settled.
        """
        last = self.time > self.time[-1] - np.float32(seconds + 1e-4)
        return float(np.mean((self.distance[last] <= radius).all(axis=0) & ~self.lost))

    def error(self, after: float = 0.0) -> Numbers:
        """(n,) m, RMS distance of each vehicle from the target since time `after` [s]."""
        square: Numbers = np.square(self.distance[self.time >= after])
        with np.errstate(invalid="ignore"):
            mean: Numbers = np.sqrt(np.nansum(square, 0) / (~np.isnan(square)).sum(0))
        return mean
