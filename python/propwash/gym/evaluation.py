"""Flights of a policy in fresh episodes, and what can be said of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.gym._vector import FleetVectorEnv

__all__ = ["Flown", "evaluate"]

Numbers = NDArray[np.float32]
Act = Callable[[Numbers], Numbers]
"""A policy: actions (n, A) for observations (n, k)."""


@dataclass(frozen=True)
class Flown:
    """One episode of each of n environments; after its end NaN."""

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
    """(n,) whose episode the task ended, and not its time."""
    infos: dict[str, NDArray[Any]]
    """(n, …) what the task told at the end."""

    def settled(self, radius: float, seconds: float) -> float:
        """Share of the episodes whose distance is within `radius` [m] for all the last seconds.

        One that the task ended is none of them.
        """
        late = self.time > self.time[-1] - np.float32(seconds + 1e-4)
        return float(np.mean((self.distance[late] <= radius).all(axis=0) & ~self.lost))

    def error(self, after: float = 0.0) -> Numbers:
        """(n,) m, root mean square of each vehicle's distance later than `after` [s]."""
        square: Numbers = np.square(self.distance[self.time >= after])
        with np.errstate(invalid="ignore"):
            mean: Numbers = np.sqrt(np.nansum(square, 0) / (~np.isnan(square)).sum(0))
        return mean


def refuse_unjudged(envs: FleetVectorEnv) -> None:
    """Raises ValueError for environments of sensors, and for such as have no time limit."""
    if not envs._engine.limit:
        raise ValueError("max_episode_steps: expected a number >= 1, to judge a policy by, got 0")
    seen = envs._engine.settings.observation
    if seen != "state":
        raise ValueError(f"observation: expected 'state', to judge a policy by, got {seen!r}")


def evaluate(policy: Act, envs: FleetVectorEnv, seed: int) -> Flown:
    """Flies an episode in each environment.

    The target's distance is that of the first three columns of an observation of the state. Raises
    ValueError as refuse_unjudged().
    """
    refuse_unjudged(envs)
    n = envs.num_envs
    seen, _ = envs.reset(seed=seed)
    going = np.ones(n, dtype=np.bool_)
    returns = np.zeros(n, dtype=np.float32)
    lost = np.zeros(n, dtype=np.bool_)
    told: dict[str, NDArray[Any]] = {}
    rows: list[tuple[Numbers, ...]] = []
    while going.any():
        seen, reward, terminated, truncated, infos = envs.step(policy(seen))
        returns += reward * going
        state = envs._engine.state
        distance = np.sqrt(np.square(seen[:, :3]).sum(axis=1))
        row = [state.position, state.velocity, state.attitude, distance]
        rows.append(tuple(_masked(part, going) for part in row))
        ended = going & (terminated | truncated)
        lost |= going & terminated
        for name in [name for name in infos if not name.startswith("_")]:
            values = np.asarray(infos[name])
            kept = told.setdefault(name, np.zeros_like(values))
            kept[ended] = values[ended]
        going &= ~ended
    time = np.arange(1, len(rows) + 1, dtype=np.float32) * np.float32(envs.period)
    position, velocity, attitude, away = (np.stack(part) for part in zip(*rows, strict=True))
    return Flown(time, position, velocity, attitude, away, returns, lost, told)


def _masked(values: Any, going: NDArray[np.bool_]) -> Numbers:
    masked: Numbers = np.array(values, dtype=np.float32)
    masked[~going] = np.nan
    return masked


RADIUS, LATE = 0.1, 2.0
"""m and s: Hover succeeds within that distance for all of its last seconds."""


def measures(task: str, flown: Flown) -> dict[str, float]:
    """What counts for a task, by name with its unit; the first is what is plotted."""
    infos = flown.infos
    if task == "race":
        finished = np.asarray(infos["finished"], dtype=bool)
        times = infos["time"][finished]
        return {
            "gates passed": float(np.mean(infos["gates"])),
            "finished [%]": 100.0 * float(np.mean(finished)),
            "collided [%]": 100.0 * float(np.mean(infos["collision"])),
            "score": float(np.mean(infos["score"])),
            "best five scores": float(np.mean(np.sort(infos["score"])[-5:])),
            "median time [s]": float(np.median(times)) if len(times) else math.nan,
        }
    told: dict[str, float] = {}
    if task == "hover":
        told[f"within {RADIUS} m for the last {LATE:g} s [%]"] = 100.0 * flown.settled(RADIUS, LATE)
    if task == "track":
        told["error after 2 s, median of RMS [m]"] = _median(flown.error(2.0))
    told["lost [%]"] = 100.0 * float(np.mean(flown.lost))
    told["distance at the end, median [m]"] = float(np.median(infos["distance"]))
    return told


def _median(values: Any) -> float:
    """Of numbers of which those that are none count as endless."""
    return float(np.median(np.nan_to_num(values, nan=np.inf)))
