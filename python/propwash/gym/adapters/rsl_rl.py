"""RSL-RL: its VecEnv on one fleet.

from rsl_rl.runners import OnPolicyRunner
from propwash.gym.adapters.rsl_rl import FleetRslRlEnv
OnPolicyRunner(FleetRslRlEnv(Hover, 4096, seed=1), config).learn(300)
"""

from __future__ import annotations

from typing import Any

__all__ = ["FleetRslRlEnv"]

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError as error:
    raise ImportError(
        "propwash.gym.adapters.rsl_rl needs rsl-rl-lib; install it with: "
        'pip install "propwash[torch]" rsl-rl-lib'
    ) from error

import torch
from gymnasium.vector import AutoresetMode

import propwash.gym as pg
from propwash.gym.adapters import checked_environments
from propwash.gym.torch_env import TorchVectorEnv

Tensor = torch.Tensor


class FleetRslRlEnv(VecEnv):  # type: ignore[misc]
    """RSL-RL's VecEnv on a fleet.

    Observations are one group, "policy", or the groups of a dict, such as "state" and
    "privileged"; images have their channels first. extras["time_outs"] (n,) marks truncated
    episodes, extras["final_observations"] are the observations before resets, extras["log"] the
    means of the task's infos of ended episodes. Setting `episode_length_buf` staggers the ends of
    episodes, as `learn(…, init_at_random_ep_len=True)` does.

    Args:
        env_or_kind: A task class, or an existing vector environment in autoreset mode SAME_STEP.
        num_envs: Number of environments of a task class.
        seed: Seed of the first episodes, which begin in the constructor.
        device: Device of returned tensors.
        options: Options of `propwash.gym.make_vec` for a task class.

    Raises the exceptions of `propwash.gym.make_vec`, TypeError and ValueError for unsuitable
    environments, and ValueError for episodes without a time limit.
    """

    def __init__(
        self,
        env_or_kind: pg.FleetVectorEnv | type[pg.Task],
        num_envs: int | None = None,
        *,
        seed: int | None = None,
        device: torch.device | str | int = "cpu",
        **options: Any,
    ) -> None:
        made = checked_environments(env_or_kind, num_envs, AutoresetMode.SAME_STEP, options)
        self.envs = TorchVectorEnv(made, device=device)
        self._engine = made.unwrapped._engine
        if not self._engine.limit:
            raise ValueError("max_episode_steps: expected a number >= 1, got 0 (no limit)")
        self.cfg = {"task": type(made.unwrapped.task).__name__, **options}
        self.num_envs, self.device = self.envs.num_envs, self.envs.device
        self.num_actions = (made.single_action_space.shape or (0,))[0]
        self.max_episode_length = self._engine.limit
        self.reset(seed)

    def reset(self, seed: int | None = None) -> TensorDict:
        """Begins episodes in all environments."""
        self._seen, _ = self.envs.reset(seed=seed)
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """The groups (n, …) of the last step."""
        return self._groups(self._seen)

    def _groups(self, seen: Any) -> TensorDict:
        named = seen if isinstance(seen, dict) else {"policy": seen}
        groups = {
            name: each.movedim(-1, 1) if each.ndim == 4 else each for name, each in named.items()
        }
        return TensorDict(groups, batch_size=torch.Size([self.num_envs]), device=self.device)

    @property
    def episode_length_buf(self) -> Tensor:
        """(n,) steps since the start of episodes, a copy."""
        steps = torch.from_numpy(self._engine.state.steps)
        return steps.to(self.device, torch.long, copy=True)

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Tensor) -> None:
        if steps.shape != (self.num_envs,):
            raise ValueError(
                f"episode_length_buf: expected shape ({self.num_envs},), got {tuple(steps.shape)}"
            )
        self._engine.state.steps[:] = steps.detach().cpu().numpy()

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        """Steps all environments with actions (n, A), clipped to [-1, 1]."""
        self._seen, reward, terminated, truncated, infos = self.envs.step(actions)
        last = infos["final_obs"]
        last = self._groups(last) if isinstance(last, dict) else last
        extras: dict[str, Any] = {"time_outs": truncated, "final_observations": last}
        log = {
            f"/episode/{name}": values[final["_" + name]].float().mean()
            for final in [infos.get("final_info", {})]
            for name, values in final.items()
            if not name.startswith("_")
        }
        if log:
            extras["log"] = log
        return self.get_observations(), reward, (terminated | truncated).long(), extras

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()
