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
from propwash.gym.adapters import keeping


class FleetVecEnv(VecEnv):
    """Environments of a fleet as Stable-Baselines3 has them.

    env_or_kind: a kind of task, of which `num_envs` environments are made with the options of
        `propwash.gym.make_vec`; or vector environments in autoreset mode SAME_STEP.

    Where an episode ends, infos[i] has "terminal_observation", "TimeLimit.truncated" and what the
    task tells. `seed(s)` gives the next reset() one seed, from which each environment has its own
    stream. The environments are one object: `get_attr` reads its attributes, and none can be set,
    no method called and no option given for some of them.

    Raises as `keeping` and `propwash.gym.make_vec`.
    """

    def __init__(
        self,
        env_or_kind: pg.FleetVectorEnv | type[pg.Task],
        num_envs: int | None = None,
        **options: Any,
    ) -> None:
        self.envs = keeping(env_or_kind, num_envs, AutoresetMode.SAME_STEP, options)
        self._actions: Any = None
        self.metadata = self.envs.metadata
        super().__init__(
            self.envs.num_envs, self.envs.single_observation_space, self.envs.single_action_space
        )

    def reset(self) -> Any:
        """(n, k) observations."""
        if any(self._options):
            raise ValueError(f"options: expected none, got {self._options!r:.100}")
        seen, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        return seen

    def step_async(self, actions: Any) -> None:
        """Takes the actions (n, A)."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Steps all: observations, rewards, whether episodes ended, infos."""
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
        """Nothing can be done with them afterwards."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environments, once for each."""
        value = getattr(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"{attr_name}: expected among the options, where they are made")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"{method_name}: environments of a fleet have no methods each")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """None is; VecMonitor and the like wrap all of them."""
        return [False for _ in self._get_indices(indices)]

    def render(self, mode: str | None = None) -> Any:
        """The environments' frames in one picture; with render_mode="human" steps show them."""
        return None if self.render_mode == "human" else super().render(mode)

    def get_images(self) -> Sequence[Any]:
        """The frames of the environments that are drawn (option `render_envs`), for recorders."""
        return self.envs.render() or ()


def _spread(rows: list[dict[str, Any]], infos: dict[str, Any]) -> None:
    """Infos in arrays with masks, to the rows that they are of."""
    for name in infos:
        if name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        values = infos[name]
        for row in np.flatnonzero(infos["_" + name]):
            value = values[row]
            rows[row][name] = value.item() if value.ndim == 0 else value.copy()
