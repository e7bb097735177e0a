"""Vector environments with PyTorch tensors.

    from propwash.gym import Hover
    from propwash.gym.torch_env import TorchVectorEnv
    envs = TorchVectorEnv(Hover, 4096, device="cuda")

Requires the extra `torch`. `docs/gym-adapters.md` has a loop that bootstraps at time limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["TorchVectorEnv"]

try:
    import torch
except ImportError as error:
    raise ImportError(
        'propwash.gym.torch_env needs torch; install it with: pip install "propwash[torch]"'
    ) from error

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, VectorEnv

import propwash.gym as pg
from propwash.gym._device import DeviceVectorEnv
from propwash.gym._device import make as make_on_device
from propwash.gym.adapters import environments

Tensor = torch.Tensor
Send = Callable[[str, Any], Tensor]
"""Converts an array, with the name of its buffer."""


class TorchVectorEnv(VectorEnv[Any, Any, Any]):
    """A vector environment that takes and returns tensors.

    Environments made here reset in the same step (autoreset_mode SAME_STEP), so that every step is
    a valid transition; an existing environment keeps its mode. Spaces and
    `metadata` are those of the environment.

    On the CPU, tensors share the memory of the environment's arrays; only the infos' "final_obs" is
    copied. Tensors remain valid in later steps, except the observation of an environment made with
    copy=False, whose memory every step overwrites.

    For CUDA, environments of `Hover`, `Track`, `Land` and `Race` made here are computed on the GPU
    with the extra `cuda` and the options that `docs/gpu-kernels.md` lists; a RuntimeWarning says if
    they cannot be. The arrays of others are copied through pinned memory on the current stream.

    Args:
        env_or_kind: A task class, such as `propwash.gym.Hover`, or an existing vector environment.
        num_envs: Number of environments of a task class.
        device: Device of returned tensors.
        options: Options of `propwash.gym.make_vec` for a task class.

    Raises:
        TypeError: For another type of `env_or_kind`, and for unknown options.
        ValueError: For a device that torch cannot use.
    """

    def __init__(
        self,
        env_or_kind: VectorEnv[Any, Any, Any] | type[pg.Task],
        num_envs: int | None = None,
        *,
        device: torch.device | str | int = "cpu",
        **options: Any,
    ) -> None:
        self.device = _usable(device)
        env: VectorEnv[Any, Any, Any] | None = self._made_on_device(env_or_kind, num_envs, options)
        self._is_on_device = env is not None
        if env is None:
            env = environments(env_or_kind, num_envs, AutoresetMode.SAME_STEP, options)
        self.env = env
        space = env.single_observation_space
        parts = list(space.spaces.values()) if isinstance(space, Dict) else [space]
        if not all(isinstance(part, Box) for part in parts):
            raise TypeError(
                "env_or_kind: expected observations of a Box or a Dict of Boxes, got "
                f"{space!r:.100}"
            )
        self.num_envs = env.num_envs
        self.single_observation_space = env.single_observation_space
        self.single_action_space = env.single_action_space
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.metadata, self.spec = env.metadata, env.spec
        self.render_mode = getattr(env, "render_mode", None)
        self._sender = _Sender(self.device)

    def _made_on_device(
        self, kind: Any, num_envs: int | None, options: dict[str, Any]
    ) -> DeviceVectorEnv | None:
        """Environments that step on the GPU; None for those that step on the CPU."""
        is_task = isinstance(kind, type) and issubclass(kind, pg.Task)
        if self.device.type != "cuda" or not is_task:
            return None
        try:
            return make_on_device(kind, num_envs, str(self.device), options)
        except (ImportError, OSError) as error:
            warnings.warn(f"environments step on the CPU: {error}", RuntimeWarning, stacklevel=3)
            return None

    @property
    def autoreset_mode(self) -> AutoresetMode | None:
        """Mode of the environment; None if its metadata does not contain one."""
        return self.metadata.get("autoreset_mode")

    @property
    def unwrapped(self) -> Any:
        """The innermost environment, with NumPy arrays and attributes fleet, task and period."""
        return self.env.unwrapped

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Resets the environment; returns observations (n, …), a tensor or a dict, and infos.

        Values in options, such as options["reset_mask"], (n,) bool, and options["state"], may be
        tensors on any device.
        """
        obs, infos = self.env.reset(seed=seed, options=_arrays(options))
        with self._sender as send:
            return _sent(send, "observation", obs), self._infos(send, infos)

    def step(self, actions: Any) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Steps all environments with actions (n, A), a tensor on any device or an array.

        Returns observations (n, …), a tensor or a dict, and rewards (n,), float32 for environments
        of propwash, terminated and truncated (n,) bool, and infos with tensors instead of arrays.
        In mode SAME_STEP the infos always contain

        - "final_obs" (n, …): the last observation of episodes that ended, elsewhere the returned
          observation;
        - "_final_obs" (n,): whether the episode ended.

        Raises the exceptions of the environment for invalid actions; nothing changes then. On a GPU
        values are not checked: NaN counts as a clipped 0.
        """
        if self._is_on_device:
            return self.env.step(actions)
        if isinstance(actions, Tensor):
            # for float32 on the CPU this is a view
            kind = torch.float32 if actions.is_floating_point() else actions.dtype
            actions = actions.detach().to("cpu", kind).numpy()
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._with_finals(obs, infos)
        with self._sender as send:
            return (
                _sent(send, "observation", obs),
                send("reward", reward),
                send("terminated", terminated),
                send("truncated", truncated),
                self._infos(send, infos),
            )

    def _with_finals(self, obs: Any, infos: dict[str, Any]) -> dict[str, Any]:
        """Returns infos with the last observations as one array."""
        mask = infos.get("_final_obs", np.zeros(self.num_envs, dtype=np.bool_))
        last = infos["final_obs"][mask] if mask.any() else []
        if isinstance(obs, dict):
            final: Any = {
                name: _replaced(array, mask, [each[name] for each in last])
                for name, array in obs.items()
            }
        else:
            final = _replaced(obs, mask, last)
        return {**infos, "final_obs": final, "_final_obs": mask}

    def _infos(self, send: Send, infos: dict[str, Any], path: str = "infos/") -> dict[str, Any]:
        result = infos.copy()
        for name, value in infos.items():
            if isinstance(value, dict):
                result[name] = self._infos(send, value, path + name + "/")
            elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
                result[name] = send(path + name, value)
        return result

    def render(self) -> Any:
        """Renders the environment; frames are arrays."""
        return self.env.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the environment."""
        self.env.close(**kwargs)


def _replaced(array: Any, mask: Any, rows: Any) -> Any:
    """Returns a copy of an array with other rows where the mask is set."""
    copy = np.array(array)
    if len(rows):
        copy[mask] = np.stack(rows)
    return copy


def _sent(send: Send, name: str, observed: Any) -> Any:
    """Sends observations, an array or a dict of arrays."""
    if isinstance(observed, dict):
        return {key: send(f"{name}/{key}", array) for key, array in observed.items()}
    return send(name, observed)


def _arrays(value: Any) -> Any:
    """Converts tensors to arrays, also in dicts."""
    if isinstance(value, dict):
        return {name: _arrays(each) for name, each in value.items()}
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


class _Sender:
    """Context manager whose function copies arrays to tensors on a device; entered once per step.

    For CUDA each name has a pinned buffer. Entering waits for the copies of the previous step
    before the buffers are overwritten.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._send = {"cpu": _shared, "cuda": self._through_pinned}.get(device.type, self._copied)
        self._pinned: dict[str, Tensor] = {}
        self._sent: Any = None

    def __enter__(self) -> Send:
        if self._sent is not None:
            self._sent.synchronize()
        return self._send

    def __exit__(self, *_: object) -> None:
        if self._device.type == "cuda":
            self._sent = torch.cuda.current_stream(self._device).record_event()

    def _copied(self, _: str, array: Any) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _through_pinned(self, name: str, array: Any) -> Tensor:
        source = torch.from_numpy(array)
        pinned = self._pinned.get(name)
        if pinned is None or pinned.shape != source.shape or pinned.dtype != source.dtype:
            pinned = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
            self._pinned[name] = pinned
        pinned.copy_(source)
        return pinned.to(self._device, non_blocking=True)


def _shared(_: str, array: Any) -> Tensor:
    return torch.from_numpy(array)


def _usable(device: torch.device | str | int) -> torch.device:
    try:
        # an empty tensor has the device index: "cuda" is the current device
        return torch.empty(0, device=torch.device(device)).device
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"device: expected one that torch can use here, such as 'cpu' or 'cuda', got "
            f"{device!r:.100}: {reason:.200}"
        ) from error
