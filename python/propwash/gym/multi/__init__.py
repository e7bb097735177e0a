"""Several vehicles in one scene: Formation, MultiRace and custom tasks.

    from propwash.gym import multi
    env = multi.make_parallel(multi.Formation, vehicles=4)          # a pettingzoo.ParallelEnv
    envs = multi.make_parallel_vec(multi.MultiRace, 256, vehicles=2)  # many scenes, one fleet

Needs the extra `gym`, and make_parallel() the extra `multi`. `docs/gym-multi.md` describes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from propwash.gym import _options
from propwash.gym.multi._downwash import Downwash
from propwash.gym.multi._environment import FleetParallelVectorEnv
from propwash.gym.multi._race import MultiRace
from propwash.gym.multi._rewards import FormationReward, MultiRaceReward
from propwash.gym.multi._state import SceneState
from propwash.gym.multi._task import Formation, MultiTask

if TYPE_CHECKING:
    from propwash.gym.multi.parallel import FleetParallelEnv

__all__ = [
    "Downwash",
    "FleetParallelVectorEnv",
    "Formation",
    "FormationReward",
    "MultiRace",
    "MultiRaceReward",
    "MultiTask",
    "SceneState",
    "make_parallel",
    "make_parallel_vec",
]


def make_parallel(kind: type[MultiTask], **options: Any) -> FleetParallelEnv:
    """Makes one scene as a pettingzoo.ParallelEnv; `options` belong to the task or `Settings`."""
    from propwash.gym.multi.parallel import FleetParallelEnv

    arguments, others = _options.split(kind, options)
    return FleetParallelEnv(kind(**arguments), **others)


def make_parallel_vec(
    kind: type[MultiTask], num_envs: int = 1, **options: Any
) -> FleetParallelVectorEnv:
    """Makes many scenes; `options` belong to the task, `Settings` or FleetParallelVectorEnv."""
    arguments, others = _options.split(kind, options, ("autoreset_mode", "copy"))
    return FleetParallelVectorEnv(kind(**arguments), num_envs, **others)
