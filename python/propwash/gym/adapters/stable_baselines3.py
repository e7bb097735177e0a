"""Stable-Baselines3: its VecEnv on one fleet.

from stable_baselines3 import PPO
from propwash.gym.adapters.stable_baselines3 import FleetVecEnv
PPO("MlpPolicy", FleetVecEnv(Hover, 64), device="cpu").learn(1_000_000)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["FleetVecEnv"]

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError(
        "propwash.gym.adapters.stable_baselines3 needs stable-baselines3; install it with: "
        'pip install "propwash[torch]" stable-baselines3'
    ) from error

import numpy as np
from gymnasium.vector import AutoresetMode

import propwash.gym as pg
from propwash.gym.adapters import checked_environments


class FleetVecEnv(VecEnv):
    """Stable-Baselines3's VecEnv on a fleet.

    At the end of an episode infos[i] has "terminal_observation", "TimeLimit.truncated" and the
    infos of the task. `seed(s)` seeds all environments in the next reset(); each has its own
    stream. All environments are one object: `get_attr` reads its attributes; `set_attr`,
    `env_method` and options of single environments are not supported.

    Args:
        env_or_kind: A task class, or an existing vector environment in autoreset mode SAME_STEP.
        num_envs: Number of environments of a task class.
        options: Options of `propwash.gym.make_vec` for a task class.

    Raises the exceptions of `propwash.gym.make_vec`, and TypeError and ValueError for unsuitable
    environments.
    """

    def __init__(
        self,
        env_or_kind: pg.FleetVectorEnv | type[pg.Task],
        num_envs: int | None = None,
        **options: Any,
    ) -> None:
        self.envs = checked_environments(env_or_kind, num_envs, AutoresetMode.SAME_STEP, options)
        self._actions: Any = None
        self.metadata = self.envs.metadata
        super().__init__(
            self.envs.num_envs, self.envs.single_observation_space, self.envs.single_action_space
        )

    def reset(self) -> Any:
        """Observations (n, …), an array or a dict."""
        if any(self._options):
            raise ValueError(f"options: expected none, got {self._options!r:.100}")
        seen, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        return seen

    def step_async(self, actions: Any) -> None:
        """Stores the actions (n, A)."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Steps all environments; returns observations, rewards, dones and infos."""
        seen, reward, terminated, truncated, infos = self.envs.step(self._actions)
        rows: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if infos:
            _spread(rows, infos)
            _spread(rows, infos.get("final_info", {}))
        done = terminated | truncated
        for row in np.flatnonzero(done):
            rows[row]["terminal_observation"] = infos["final_obs"][row]
            rows[row]["TimeLimit.truncated"] = bool(truncated[row])
        return seen, reward, done, rows

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the environments, once for each index."""
        value = getattr(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"{attr_name}: set it as an option of the constructor")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"{method_name}: a fleet has no methods of single environments")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Returns False for each: wrappers such as VecMonitor wrap all environments at once."""
        return [False for _ in self._get_indices(indices)]

    def render(self, mode: str | None = None) -> Any:
        """Returns all frames as one image; with render_mode="human" step() shows them."""
        return None if self.render_mode == "human" else super().render(mode)

    def get_images(self) -> Sequence[Any]:
        """Returns the frames of the environments that are drawn (option `render_envs`)."""
        return self.envs.render() or ()


def _spread(rows: list[dict[str, Any]], infos: dict[str, Any]) -> None:
    """Copies infos, arrays with masks, to the rows they apply to."""
    for name in infos:
        if name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        values = infos[name]
        for row in np.flatnonzero(infos["_" + name]):
            value = values[row]
            rows[row][name] = value.item() if value.ndim == 0 else value.copy()
