"""Adapters to libraries of reinforcement learning, each a module that needs its library.

`stable_baselines3.FleetVecEnv`, `torchrl.FleetTorchRLEnv`, `rsl_rl.FleetRslRlEnv`. All take what
`TorchVectorEnv` takes: a kind of task with num_envs and options, or a vector environment.
`docs/gym-adapters.md` has ten lines for each.
"""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv

import propwash.gym as pg


def environments(
    env_or_kind: Any, num_envs: int | None, mode: AutoresetMode, options: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    """Environments of a kind, in this autoreset mode unless options say other; or those given.

    Raises TypeError for another kind of thing, and for num_envs or options beside environments.
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
        raise TypeError(
            f"{', '.join(names)}: expected none beside an environment that is made already"
        )
    return env_or_kind


def keeping(
    env_or_kind: Any, num_envs: int | None, mode: AutoresetMode, options: dict[str, Any]
) -> pg.FleetVectorEnv:
    """Those for a library that keeps observations over steps and knows one mode of autoreset.

    Raises ValueError for another mode, and for environments that overwrite what they gave.
    """
    made = environments(env_or_kind, num_envs, mode, options)
    fleet = made.unwrapped
    if not isinstance(fleet, pg.FleetVectorEnv):
        raise TypeError(f"env_or_kind: expected environments of propwash, got {made!r:.100}")
    told = made.metadata.get("autoreset_mode")
    if told is not mode:
        raise ValueError(f"autoreset_mode: expected {mode.name}, got {told}")
    if fleet._engine.state.keeps_blank:
        raise ValueError("copy: expected True, as observations are kept while the next are made")
    return made  # type: ignore[return-value]
