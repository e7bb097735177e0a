"""Gymnasium environments of fleets: Hover, Track, Race, Land, ForestFlight and custom tasks.

    import gymnasium as gym
    envs = gym.make_vec("propwash.gym:propwash/Hover-v0", num_envs=4096)
    env = gym.make("propwash.gym:propwash/Race-v0", course="alphapilot", randomize={"mass": 0.2})

Needs the extra `gym`. `docs/gym.md` describes observations, actions, rewards and custom tasks.
"""

from __future__ import annotations

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode as _AutoresetMode  # noqa: F401
except ImportError as error:
    raise ImportError(
        'propwash.gym needs gymnasium >= 1.1; install it with: pip install "propwash[gym]"'
    ) from error

from typing import Any

from propwash.gym import _options
from propwash.gym._check import check_vector_env
from propwash.gym._environment import FleetEnv
from propwash.gym._forest import ForestFlight
from propwash.gym._hover import Hover
from propwash.gym._land import Land
from propwash.gym._options import Settings
from propwash.gym._race import Race
from propwash.gym._randomize import Draws
from propwash.gym._rewards import ForestReward, HoverReward, LandReward, RaceReward, TrackReward
from propwash.gym._snapshot import Snapshot
from propwash.gym._state import State
from propwash.gym._task import Task
from propwash.gym._track import Track, WaypointSpline
from propwash.gym._vector import FleetVectorEnv
from propwash.trajectories import Circle, Lemniscate

__all__ = [
    "Circle",
    "Draws",
    "FleetEnv",
    "FleetVectorEnv",
    "ForestFlight",
    "ForestReward",
    "Hover",
    "HoverReward",
    "Land",
    "LandReward",
    "Lemniscate",
    "Race",
    "RaceReward",
    "Settings",
    "Snapshot",
    "State",
    "Task",
    "Track",
    "TrackReward",
    "WaypointSpline",
    "check_vector_env",
    "make",
    "make_vec",
    "register",
]


def make(kind: type[Task], **options: Any) -> FleetEnv:
    """Makes a single environment; `options` are arguments of the task and of `Settings`."""
    arguments, others = _options.split(kind, options)
    return FleetEnv(kind(**arguments), **others)


def make_vec(kind: type[Task], num_envs: int = 1, **options: Any) -> FleetVectorEnv:
    """Makes a vector environment; `options` belong to the task, `Settings` or FleetVectorEnv."""
    arguments, others = _options.split(kind, options, ("autoreset_mode", "copy"))
    return FleetVectorEnv(kind(**arguments), num_envs, **others)


def register(name: str, kind: type[Task]) -> None:
    """Registers a task with gymnasium for `gym.make` and `gym.make_vec`, e.g. as "lab/Mine-v0".

    The environments truncate episodes after `episode_seconds`, whatever the length of a step. The
    argument `max_episode_steps` of `gym.make` adds a second limit in a wrapper.
    """

    def single(**options: Any) -> FleetEnv:
        return make(kind, **options)

    def vector(num_envs: int = 1, **options: Any) -> FleetVectorEnv:
        return make_vec(kind, num_envs, **options)

    # gym.make reads the render modes from here, task_class() the class
    single.metadata, single.task = FleetEnv.metadata, kind  # type: ignore[attr-defined]
    gymnasium.register(name, entry_point=single, vector_entry_point=vector)


for _kind in (Hover, Track, Race, Land, ForestFlight):
    if f"propwash/{_kind.__name__}-v0" not in gymnasium.registry:
        register(f"propwash/{_kind.__name__}-v0", _kind)
