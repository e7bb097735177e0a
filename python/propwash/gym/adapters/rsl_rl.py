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
from propwash.gym.adapters import keeping
from propwash.gym.torch_env import TorchVectorEnv

Tensor = torch.Tensor


class FleetRslRlEnv(VecEnv):  # type: ignore[misc]
    """Environments of a fleet as RSL-RL has them.

    env_or_kind: a kind of task, of which `num_envs` environments are made with the options of
        `propwash.gym.make_vec`; or vector environments in autoreset mode SAME_STEP. seed: of the
        first episodes, which begin at once. device: where tensors are wanted.

    Observations are one group, "policy". extras["time_outs"] tells which episodes their time ended,
    extras["final_observations"] what all saw before new episodes began, extras["log"] the means of
    what the task tells of those that ended. `episode_length_buf` is that of the environments:
    setting it lets them end apart, as `learn(…, init_at_random_ep_len=True)` does.

    Raises as `keeping` and `propwash.gym.make_vec`; ValueError for episodes without an end.
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
        made = keeping(env_or_kind, num_envs, AutoresetMode.SAME_STEP, options)
        self.envs = TorchVectorEnv(made, device=device)
        self._engine = made.unwrapped._engine
        if not self._engine.limit:
            raise ValueError("max_episode_steps: expected a number >= 1, got 0 (never)")
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
        """The group "policy", (n, k)."""
        return TensorDict(
            {"policy": self._seen}, batch_size=torch.Size([self.num_envs]), device=self.device
        )

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
        """One step of all; actions (n, A), clipped to [-1, 1]."""
        self._seen, reward, terminated, truncated, infos = self.envs.step(actions)
        extras: dict[str, Any] = {
            "time_outs": truncated,
            "final_observations": infos["final_obs"],
        }
        log = {
            f"/episode/{name}": values[told["_" + name]].float().mean()
            for told in [infos.get("final_info", {})]
            for name, values in told.items()
            if not name.startswith("_")
        }
        if log:
            extras["log"] = log
        return self.get_observations(), reward, (terminated | truncated).long(), extras

    def close(self) -> None:
        """Nothing can be done with them afterwards."""
        self.envs.close()
