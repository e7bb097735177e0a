"""Evaluates a policy in new episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.gym._evaluation import Evaluation, Numbers
from propwash.gym._vector import FleetVectorEnv

__all__ = ["Evaluation", "evaluate"]

Act = Callable[[Numbers], Numbers]
"""A policy: actions (n, A) for observations (n, k)."""


def check_evaluable(envs: FleetVectorEnv) -> None:
    """Raises ValueError for environments without a time limit."""
    if not envs._engine.limit:
        raise ValueError("max_episode_steps: expected a number >= 1 for an evaluation, got 0")


def evaluate(policy: Act, envs: FleetVectorEnv, seed: int) -> Evaluation:
    """Flies one episode in each environment.

    Raises ValueError for environments without a time limit.
    """
    check_evaluable(envs)
    n = envs.num_envs
    seen, _ = envs.reset(seed=seed)
    going = np.ones(n, dtype=np.bool_)
    returns = np.zeros(n, dtype=np.float32)
    lost = np.zeros(n, dtype=np.bool_)
    final: dict[str, NDArray[Any]] = {}
    rows: list[tuple[Numbers, ...]] = []
    while going.any():
        seen, reward, terminated, truncated, infos = envs.step(policy(seen))
        returns += reward * going
        state = envs._engine.state
        target = envs.task.target(state)
        error = state.position if target is None else state.position - target
        distance = np.sqrt(np.square(error).sum(axis=1))
        row = [state.position, state.velocity, state.attitude, distance]
        rows.append(tuple(np.array(part, dtype=np.float32) for part in row))
        for part in rows[-1]:
            part[~going] = np.nan
        ended = going & (terminated | truncated)
        lost |= going & terminated
        for name in [name for name in infos if not name.startswith("_")]:
            values = np.asarray(infos[name])
            final.setdefault(name, np.zeros_like(values))[ended] = values[ended]
        going &= ~ended
    time = np.arange(1, len(rows) + 1, dtype=np.float32) * np.float32(envs.period)
    position, velocity, attitude, away = (np.stack(part) for part in zip(*rows, strict=True))
    return Evaluation(time, position, velocity, attitude, away, returns, lost, final)
