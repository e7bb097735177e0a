"""Adapters to reinforcement learning libraries, each a module that needs its library.

`stable_baselines3.FleetVecEnv`, `torchrl.FleetTorchRLEnv` and `rsl_rl.FleetRslRlEnv` take the
arguments of `TorchVectorEnv`: a task class with num_envs and options, or a vector environment.
`docs/gym-adapters.md` has an example for each.
"""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv

import propwash.gym as pg


def environments(
    env_or_kind: Any, num_envs: int | None, mode: AutoresetMode, options: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    """Returns `env_or_kind` if it is a vector environment, else makes environments of that task.

    mode: Autoreset mode of new environments, unless `options` contain another.

    Raises TypeError for other types, and for num_envs or options with existing environments.
    """
    if isinstance(env_or_kind, type) and issubclass(env_or_kind, pg.Task):
        count = 1 if num_envs is None else num_envs
        return pg.make_vec(env_or_kind, count, **{"autoreset_mode": mode, **options})
    if not isinstance(env_or_kind, VectorEnv):
        raise TypeError(
            "env_or_kind: expected a kind of task, such as propwash.gym.Hover, or a vector "
            f"environment, got {env_or_kind!r:.100}"
        )
    names = [*(["num_envs"] if num_envs is not None else []), *options]
    if names:
        raise TypeError(f"{', '.join(names)}: expected none with an existing environment")
    return env_or_kind


def checked_environments(
    env_or_kind: Any, num_envs: int | None, mode: AutoresetMode, options: dict[str, Any]
) -> pg.FleetVectorEnv:
    """Returns environments for a library that stores observations and supports one autoreset mode.

    Raises ValueError for another mode, and for environments that overwrite their observations.
    """
    made = environments(env_or_kind, num_envs, mode, options)
    fleet = made.unwrapped
    if not isinstance(fleet, pg.FleetVectorEnv):
        raise TypeError(f"env_or_kind: expected environments of propwash, got {made!r:.100}")
    if fleet.task.vehicles != 1:
        raise ValueError(
            f"env_or_kind: expected one vehicle in an environment, got {fleet.task.vehicles}; use "
            "propwash.gym.multi.make_parallel"
        )
    found = made.metadata.get("autoreset_mode")
    if found is not mode:
        raise ValueError(f"autoreset_mode: expected {mode.name}, got {found}")
    if fleet._engine.state.reuse_buffers:
        raise ValueError("copy: expected True, as the library stores observations of several steps")
    return made  # type: ignore[return-value]
