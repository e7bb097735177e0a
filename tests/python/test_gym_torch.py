"""Tensor environments: equal numbers, shared memory, final observations."""

from __future__ import annotations

import gc
import importlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

gym = pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

import propwash.gym as pg  # noqa: E402
from gymnasium.error import ClosedEnvironmentError, ResetNeeded  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from propwash.gym import torch_env  # noqa: E402
from propwash.gym.torch_env import TorchVectorEnv  # noqa: E402

SHORT: dict[str, Any] = {"bound": 1.2, "velocity": 3.0, "max_episode_steps": 7}
"""Options of episodes that are terminated or truncated early."""


def random_actions(steps: int, n: int) -> Any:
    """Random actions, some of them out of range."""
    return np.random.default_rng(1).uniform(-1.2, 1.2, (steps, n, 4)).astype(np.float32)


class Recorded(pg.FleetVectorEnv):
    """Records arguments and results."""

    received: Any
    results: Any

    def step(self, actions: Any) -> Any:
        self.received = actions
        self.results = super().step(actions)
        return self.results


def same_infos(tensors: dict[str, Any], arrays: dict[str, Any]) -> None:
    for name, value in arrays.items():
        if isinstance(value, dict):
            same_infos(tensors[name], value)
        elif value.dtype != object:
            assert isinstance(tensors[name], torch.Tensor)
            assert np.array_equal(tensors[name].numpy(), value), name


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_tensors_equal_the_arrays_of_the_environment(mode: AutoresetMode) -> None:
    options = {"autoreset_mode": mode, **SHORT}
    plain = pg.make_vec(pg.Hover, 5, **options)
    envs = TorchVectorEnv(pg.Hover, 5, **options)
    assert envs.autoreset_mode is envs.metadata["autoreset_mode"] is mode
    assert envs.observation_space == plain.observation_space
    assert envs.single_action_space == plain.single_action_space
    assert np.array_equal(envs.reset(seed=3)[0].numpy(), plain.reset(seed=3)[0])
    ended = 0
    for action in random_actions(30, 5):
        arrays = plain.step(action)
        tensors = envs.step(torch.from_numpy(action))
        for tensor, expected in zip(tensors[:4], arrays[:4], strict=True):
            assert tensor.numpy().dtype == expected.dtype
            assert np.array_equal(tensor.numpy(), expected)
        same_infos(tensors[4], arrays[4])
        done = arrays[2] | arrays[3]
        ended += int(done.sum())
        if mode is AutoresetMode.DISABLED and done.any():
            expected, _ = plain.reset(options={"reset_mask": done})
            first, _ = envs.reset(options={"reset_mask": tensors[2] | tensors[3]})
            assert np.array_equal(first.numpy(), expected)
    assert ended > 10


def test_cpu_tensors_share_the_memory_of_the_environment() -> None:
    inner = Recorded(pg.Hover(), 6, max_episode_steps=2)
    envs = TorchVectorEnv(inner)
    envs.reset(seed=0)
    for _ in range(2):
        actions = torch.full((6, 4), 1.5)
        *tensors, infos = envs.step(actions)
        assert np.shares_memory(inner.received, actions.numpy())
        for tensor, array in zip(tensors, inner.results, strict=False):
            assert np.shares_memory(tensor.numpy(), array)
        assert np.shares_memory(infos["clipped"].numpy(), inner.results[4]["clipped"])
    assert np.shares_memory(infos["distance"].numpy(), inner.results[4]["distance"])


def test_tensors_do_not_change_and_outlive_their_environment() -> None:
    envs = TorchVectorEnv(pg.Hover, 3, **SHORT)
    first, _ = envs.reset(seed=0)
    observations = [first]
    copies = [first.clone()]
    for action in random_actions(10, 3):
        observations.append(envs.step(action)[0])
        copies.append(observations[-1].clone())
    envs.close()
    del envs
    gc.collect()
    assert all(torch.equal(a, b) for a, b in zip(observations, copies, strict=True))


def test_final_observations_have_a_mask() -> None:
    envs = TorchVectorEnv(pg.Hover, 5, **SHORT)
    assert envs.autoreset_mode is AutoresetMode.SAME_STEP
    reference = pg.make_vec(pg.Hover, 5, autoreset_mode="DISABLED", **SHORT)
    envs.reset(seed=4)
    reference.reset(seed=4)
    reasons = set()
    for action in random_actions(30, 5):
        obs, _, terminated, truncated, infos = envs.step(torch.from_numpy(action))
        final, _, terminated_now, truncated_now, _ = reference.step(action)
        done = terminated_now | truncated_now
        assert np.array_equal(infos["final_obs"].numpy(), final)
        assert np.array_equal(infos["_final_obs"].numpy(), done)
        assert infos["_final_obs"].equal(terminated | truncated)
        first = reference.reset(options={"reset_mask": done})[0] if done.any() else final
        assert np.array_equal(obs.numpy(), first)
        # changes to the observation do not affect the final observation
        obs.zero_()
        assert np.array_equal(infos["final_obs"].numpy(), final)
        flags = {"terminated": terminated_now, "truncated": truncated_now}
        reasons |= {name for name, values in flags.items() if values.any()}
    assert reasons == {"terminated", "truncated"}


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.clone().requires_grad_(),
        lambda a: a.double(),
        lambda a: a.t().contiguous().t(),
        lambda a: a.numpy(),
        lambda a: a.tolist(),
    ],
    ids=["grad", "double", "strided", "numpy", "list"],
)
def test_actions_of_any_layout_are_accepted(convert: Any) -> None:
    actions = torch.from_numpy(random_actions(1, 4)[0])
    results = []
    for function in (lambda a: a, convert):
        envs = TorchVectorEnv(pg.Hover, 4)
        envs.reset(seed=0)
        results.append(envs.step(function(actions))[0])
    assert torch.equal(*results)
    assert not results[1].requires_grad


def test_half_precision_and_integer_actions_are_accepted() -> None:
    envs = TorchVectorEnv(pg.Hover)
    for kind in (torch.bfloat16, torch.float16, torch.int64):
        envs.reset(seed=0)
        obs = envs.step(torch.ones((1, 4), dtype=kind))[0]
        assert obs.shape == (1, 22)
        assert (obs[0, 18:] == 1.0).all()


def test_tensors_of_another_device_have_the_same_shapes() -> None:
    envs = TorchVectorEnv(pg.Hover, 3, device="meta", **SHORT)
    obs, _ = envs.reset(seed=0)
    assert envs.device == obs.device == torch.device("meta")
    *tensors, infos = envs.step(torch.zeros((3, 4)))
    for tensor, width in zip(tensors, ((3, 22), (3,), (3,), (3,)), strict=True):
        assert tensor.device.type == "meta"
        assert tensor.shape == width
    assert infos["final_obs"].device.type == infos["_final_obs"].device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a CUDA device is missing")
def test_tensors_of_cuda_have_the_same_numbers() -> None:
    cpu, cuda = (TorchVectorEnv(pg.Hover, 300, device=d, **SHORT) for d in ("cpu", "cuda"))
    pairs = [(cpu.reset(seed=1)[0], cuda.reset(seed=1)[0])]
    for action in torch.from_numpy(random_actions(40, 300)):
        *found, infos = cpu.step(action)
        *expected, expected_infos = cuda.step(action.cuda())
        pairs += [*zip(found, expected, strict=True)]
        pairs.append((infos["final_obs"], expected_infos["final_obs"]))
    assert cuda.device == pairs[0][1].device
    assert all(torch.equal(a, b.cpu()) for a, b in pairs)


def test_pinned_memory_is_written_after_pending_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[str] = []
    empty = torch.empty

    def pinned(*shape: Any, dtype: Any, pin_memory: bool) -> Any:
        assert pin_memory
        log.append("allocated")
        return empty(*shape, dtype=dtype)

    def to(tensor: Any, device: Any, non_blocking: bool) -> Any:
        assert non_blocking
        log.append("copied")
        return tensor.clone()

    event = SimpleNamespace(synchronize=lambda: log.append("waited"))
    stream = SimpleNamespace(record_event=lambda: event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: stream)
    monkeypatch.setattr(torch, "empty", pinned)
    monkeypatch.setattr(torch.Tensor, "to", to)
    sender = torch_env._Sender(SimpleNamespace(type="cuda"))  # type: ignore[arg-type]
    for rows in (2, 2, 3):
        numbers = np.full((rows, 4), rows, dtype=np.float32)
        flags = np.zeros(rows, dtype=np.bool_)
        with sender as send:
            assert np.array_equal(send("a", numbers).numpy(), numbers)
            assert np.array_equal(send("b", flags).numpy(), flags)
        log.append("|")
    first = ["allocated", "copied", "allocated", "copied", "|"]
    assert log == [*first, "waited", "copied", "copied", "|", "waited", *first]


def test_any_vector_environment_is_accepted() -> None:
    inner = gym.make_vec(
        "CartPole-v1", 3, vectorization_mode="sync", max_episode_steps=5,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )  # fmt: skip
    envs = TorchVectorEnv(inner)
    envs.reset(seed=0)
    for step in range(1, 6):
        obs, _, _, truncated, infos = envs.step(torch.ones(3, dtype=torch.int64))
        assert obs.shape == infos["final_obs"].shape == (3, 4)
        assert bool(infos["_final_obs"].all()) == bool(truncated.all()) == (step == 5)
    assert not torch.equal(obs, infos["final_obs"])
    assert envs.unwrapped is inner
    envs.close()
    assert inner.closed
    wrapped = gym.wrappers.vector.RecordEpisodeStatistics(pg.make_vec(pg.Hover, 2, **SHORT))
    envs = TorchVectorEnv(wrapped)
    assert envs.autoreset_mode is AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    for _ in range(7):
        infos = envs.step(torch.zeros((2, 4)))[4]
    assert infos["episode"]["r"].shape == (2,)


def test_an_invalid_device_is_refused() -> None:
    absent = "cuda" if not torch.cuda.is_available() else "cuda:99"
    for device in ("banana", None, absent, 1.5):
        with pytest.raises(ValueError, match="device: expected one that torch can use"):
            TorchVectorEnv(pg.Hover, 2, device=device)  # type: ignore[arg-type]


def test_non_environments_are_refused() -> None:
    for other in (3, "Hover", pg.Hover(), pg.make(pg.Hover), dict):
        with pytest.raises(TypeError, match="expected a kind of task"):
            TorchVectorEnv(other)  # type: ignore[arg-type]
    envs = pg.make_vec(pg.Hover, 2)
    with pytest.raises(TypeError, match="num_envs, copy: expected none"):
        TorchVectorEnv(envs, 2, copy=False)
    with pytest.raises(TypeError, match="max_episode_steps"):
        TorchVectorEnv(pg.Hover, 2, max_episode_step=3)
    with pytest.raises(ValueError, match="num_envs"):
        TorchVectorEnv(pg.Hover, 0)


def test_invalid_actions_change_nothing() -> None:
    envs, other = (TorchVectorEnv(pg.Hover, 3) for _ in range(2))
    with pytest.raises(ResetNeeded):
        envs.step(torch.zeros((3, 4)))
    envs.reset(seed=0)
    other.reset(seed=0)
    wrong = torch.zeros((3, 4))
    wrong[1, 2] = float("nan")
    with pytest.raises(ValueError, match="environment 1"):
        envs.step(wrong)
    for shape in ((4,), (3, 3), (2, 4), (3, 4, 1)):
        with pytest.raises(ValueError, match=r"expected numbers of shape \(3, 4\)"):
            envs.step(torch.zeros(shape))
    with pytest.raises((TypeError, ValueError)):
        envs.step(None)
    valid = torch.full((3, 4), 0.1)
    assert torch.equal(envs.step(valid)[0], other.step(valid)[0])
    envs.close()
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step(valid)
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()


def test_without_torch_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "propwash.gym.torch_env")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "propwash\[torch\]"'):
        importlib.import_module("propwash.gym.torch_env")
