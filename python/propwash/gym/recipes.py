"""Recipes of `python -m propwash train`: tasks, their options and PPO hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from propwash.gym import ppo
from propwash.gym.ppo import Args


@dataclass(frozen=True)
class Recipe:
    """Training of a task."""

    options: dict[str, Any]
    """Options of the task and its environments for evaluation and use."""
    training: dict[str, Any]
    """Options that differ in training."""
    args: Args
    num_envs: int
    steps: int
    """Total number of environment steps."""


RECIPES = {
    "hover": Recipe(ppo.HOVER, ppo.FAST, Args(), 1024, 500_000),
    "track": Recipe(
        {"frame": "body"},
        {"substeps": 20, "max_episode_steps": 200, "bound": 3.0},
        Args(
            num_steps=16,
            gamma=0.97,
            columns=(*ppo.STATE, *range(22, 34)),
            minibatch_size=4096,
            scale_iterations=40,
        ),
        1024,
        1_000_000,
    ),
    "race": Recipe(
        {"frame": "body"},
        {"substeps": 30, "max_episode_steps": 300, "bound": 40.0, "anywhere": True},
        Args(
            num_steps=32,
            gamma=0.985,
            reward_scale=0.05,
            columns=(*ppo.STATE, *range(22, 31)),
            minibatch_size=8192,
            scale_iterations=60,
            restart_every=50,
        ),
        1024,
        20_000_000,
    ),
}
