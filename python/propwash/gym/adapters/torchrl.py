"""TorchRL: its EnvBase on one fleet.

from propwash.gym.adapters.torchrl import FleetTorchRLEnv
FleetTorchRLEnv(Hover, 64).rollout(100, break_when_any_done=False)
"""

from __future__ import annotations

from typing import Any

__all__ = ["FleetTorchRLEnv"]

try:
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Composite, Unbounded
    from torchrl.envs import EnvBase
except ImportError as error:
    raise ImportError(
        "propwash.gym.adapters.torchrl needs torchrl; install it with: "
        'pip install "propwash[torch]" torchrl'
    ) from error

import numpy as np
import torch
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict
from gymnasium.vector import AutoresetMode

import propwash.gym as pg
from propwash.gym.adapters import checked_environments
from propwash.gym.torch_env import TorchVectorEnv


class FleetTorchRLEnv(EnvBase):  # type: ignore[misc]
    """TorchRL's EnvBase on a fleet, with batch_size (n,).

    Keys are "observation", "action", "reward", "done", "terminated" and "truncated"; observations
    that are a dict have their own keys instead, such as "state" and "privileged". The last
    observation of an episode is at ("next", …); TorchRL resets ended episodes by
    "_reset". "_step" may exclude only environments whose episode has ended, as one fleet steps all.
    `set_seed` takes effect with the next reset of all environments.

    Args:
        env_or_kind: A task class, or an existing vector environment in autoreset mode DISABLED.
        num_envs: Number of environments of a task class.
        device: Device of returned tensors.
        options: Options of `propwash.gym.make_vec` for a task class.

    Raises the exceptions of `propwash.gym.make_vec`, and TypeError and ValueError for unsuitable
    environments.
    """

    def __init__(
        self,
        env_or_kind: pg.FleetVectorEnv | type[pg.Task],
        num_envs: int | None = None,
        *,
        device: torch.device | str | int = "cpu",
        **options: Any,
    ) -> None:
        made = checked_environments(env_or_kind, num_envs, AutoresetMode.DISABLED, options)
        envs = TorchVectorEnv(made, device=device)
        n, where = envs.num_envs, envs.device
        super().__init__(device=where, batch_size=torch.Size([n]))
        self.envs = envs
        space, act = envs.observation_space, envs.action_space.shape or ()
        boxes = space.spaces if isinstance(space, Dict) else {"observation": space}
        self.observation_spec = Composite(
            {name: _spec(box, where) for name, box in boxes.items()}, shape=(n,), device=where
        )
        self.action_spec = Bounded(-1.0, 1.0, act, device=where, dtype=torch.float32)
        self.reward_spec = Unbounded((n, 1), device=where, dtype=torch.float32)
        flag = Binary(1, (n, 1), device=where, dtype=torch.bool)
        self.done_spec = Composite(
            {name: flag.clone() for name in _FLAGS}, shape=(n,), device=where
        )
        self._next_seed: int | None = None
        self._terminated = self._truncated = torch.zeros((n, 1), dtype=torch.bool, device=where)
        self._has_held = False

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if mask is None or mask.all():
            seen, _infos = self.envs.reset(seed=self._next_seed)
            self._next_seed = None
            mask = torch.ones_like(self._terminated)
        else:
            mask = mask.reshape(-1, 1)
            seen, _infos = self.envs.reset(options={"reset_mask": mask[:, 0]})
        self._terminated, self._truncated = self._terminated & ~mask, self._truncated & ~mask
        return self._result(seen)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        held = self._held(tensordict.get("_step", None))
        seen, reward, terminated, truncated, _ = self.envs.step(tensordict["action"])
        parts = reward[:, None], terminated[:, None], truncated[:, None]
        reward, terminated, truncated = parts
        if held is not None:
            rows = held[:, 0]
            seen = {name: each.clone() for name, each in _named(seen).items()}
            for name, each in seen.items():
                each[rows] = tensordict[name][rows]
            reward = torch.where(held, 0.0, reward)
            terminated = torch.where(held, self._terminated, terminated)
            truncated = torch.where(held, self._truncated, truncated)
        self._terminated, self._truncated = terminated, truncated
        return self._result(seen, reward)

    def _held(self, chosen: Any) -> Any:
        """(n, 1) environments excluded by "_step"; they are reset, as the fleet steps all."""
        if chosen is None and not self._has_held:
            return None
        done = self._terminated | self._truncated
        held = torch.zeros_like(done) if chosen is None else ~chosen.reshape(-1, 1)
        if (done & ~held).any():
            raise ResetNeeded("expected reset() with '_reset' after the end of an episode")
        if (held & ~done).any():
            raise ValueError("_step: expected all unfinished environments, as one fleet steps them")
        self._has_held = bool(held.any())
        if self._has_held:
            self.envs.reset(options={"reset_mask": held[:, 0]})
        return held

    def _result(self, seen: Any, reward: torch.Tensor | None = None) -> TensorDictBase:
        flags = self._terminated | self._truncated, self._terminated, self._truncated
        result = {**_named(seen), **dict(zip(_FLAGS, flags, strict=True))}
        if reward is not None:
            result["reward"] = reward
        return TensorDict(result, batch_size=self.batch_size, device=self.device)

    def close(self, **kwargs: Any) -> None:
        """Closes the environments."""
        self.envs.close()
        super().close(**kwargs)


def _named(seen: Any) -> dict[str, torch.Tensor]:
    return seen if isinstance(seen, dict) else {"observation": seen}


def _spec(box: Any, device: torch.device) -> Unbounded | Bounded:
    if not box.is_bounded():
        return Unbounded(box.shape, device=device, dtype=torch.float32)
    limits = float(box.low.min()), float(box.high.max())
    kind = torch.uint8 if box.dtype == np.uint8 else torch.float32
    return Bounded(*limits, box.shape, device=device, dtype=kind)


_FLAGS = ("done", "terminated", "truncated")
