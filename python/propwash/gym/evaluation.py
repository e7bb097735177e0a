"""Evaluates a policy in new episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propwash._checks import nearest, shown
from propwash.gym._evaluation import Evaluation, Numbers
from propwash.gym._task import Task
from propwash.gym._vector import FleetVectorEnv

__all__ = ["Evaluation", "evaluate"]


class Actor(Protocol):
    """A policy with memory."""

    def act(self, observation: Any) -> Any:
        """Returns actions (n, A) for observations (n, k), and advances the memory."""

    def reset(self) -> None:
        """Clears the memory, before new episodes."""


Act = Callable[[Numbers], Numbers] | Actor
"""A policy: actions (n, A) for observations (n, k), or an object with memory."""


def check_evaluable(envs: FleetVectorEnv) -> None:
    """Raises ValueError for environments without a time limit."""
    if not envs._engine.limit:
        raise ValueError("max_episode_steps: expected a number >= 1 for an evaluation, got 0")


def evaluate(policy: Act, envs: FleetVectorEnv, seed: int) -> Evaluation:
    """Flies one episode in each environment.

    Resets the memory of a policy at the start. Raises ValueError for environments without a time
    limit.
    """
    check_evaluable(envs)
    act: Any = getattr(policy, "act", policy)
    getattr(policy, "reset", lambda: None)()
    n = envs.num_envs
    seen, _ = envs.reset(seed=seed)
    going = np.ones(n, dtype=np.bool_)
    returns = np.zeros(n, dtype=np.float32)
    lost = np.zeros(n, dtype=np.bool_)
    final: dict[str, NDArray[Any]] = {}
    rows: list[tuple[Numbers, ...]] = []
    while going.any():
        seen, reward, terminated, truncated, infos = envs.step(act(seen))
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


def measures(task: Task, result: Evaluation) -> dict[str, float]:
    """Returns task.measures(result). Raises ValueError unless it is a dict of some numbers."""
    found = task.measures(result)
    try:
        if found:
            return {str(name): float(value) for name, value in found.items()}
    except (AttributeError, TypeError, ValueError):
        pass
    raise ValueError(
        f"{type(task).__name__}.measures: expected a dict of numbers by name, not empty, got "
        f"{shown(found)}"
    )


def merit(task: Task, measured: Mapping[str, float]) -> tuple[float, ...]:
    """Returns task.merit(measured), with −inf for NaN. Raises ValueError unless it is a tuple."""
    found = task.merit(measured)
    try:
        return tuple(-math.inf if math.isnan(each) else float(each) for each in tuple(found))
    except (TypeError, ValueError):
        raise ValueError(
            f"{type(task).__name__}.merit: expected a tuple of numbers, got {shown(found)}"
        ) from None


def reaches(goal: Mapping[str, float], measured: Mapping[str, float]) -> bool:
    """Whether all measures of a goal have at least its values. Raises ValueError for others."""
    for name in goal.keys() - measured.keys():
        raise ValueError(f"goal: there is no measure {name!r:.100}{nearest(name, measured)}")
    return all(measured[name] >= low for name, low in goal.items())
