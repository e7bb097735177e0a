"""Tensor environments: equal numbers, shared memory, final observations in rows."""

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
"""Episodes that end for both reasons."""


def wild(steps: int, n: int) -> Any:
    """Actions, also outside the range."""
    return np.random.default_rng(1).uniform(-1.2, 1.2, (steps, n, 4)).astype(np.float32)


class Recorded(pg.FleetVectorEnv):
    """Records arguments and results."""

    taken: Any
    gave: Any

    def step(self, actions: Any) -> Any:
        self.taken = actions
        self.gave = super().step(actions)
        return self.gave


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
    for action in wild(30, 5):
        arrays = plain.step(action)
        tensors = envs.step(torch.from_numpy(action))
        for given, expected in zip(tensors[:4], arrays[:4], strict=True):
            assert given.numpy().dtype == expected.dtype
            assert np.array_equal(given.numpy(), expected)
        same_infos(tensors[4], arrays[4])
        done = arrays[2] | arrays[3]
        ended += int(done.sum())
        if mode is AutoresetMode.DISABLED and done.any():
            expected, _ = plain.reset(options={"reset_mask": done})
            begun, _ = envs.reset(options={"reset_mask": tensors[2] | tensors[3]})
            assert np.array_equal(begun.numpy(), expected)
    assert ended > 10


def test_cpu_tensors_share_the_memory_of_the_environment() -> None:
    inner = Recorded(pg.Hover(), 6, max_episode_steps=2)
    envs = TorchVectorEnv(inner)
    envs.reset(seed=0)
    for _ in range(2):
        actions = torch.full((6, 4), 1.5)
        *tensors, infos = envs.step(actions)
        assert np.shares_memory(inner.taken, actions.numpy())
        for tensor, array in zip(tensors, inner.gave, strict=False):
            assert np.shares_memory(tensor.numpy(), array)
        assert np.shares_memory(infos["clipped"].numpy(), inner.gave[4]["clipped"])
    assert np.shares_memory(infos["distance"].numpy(), inner.gave[4]["distance"])


def test_tensors_do_not_change_and_outlive_their_environment() -> None:
    envs = TorchVectorEnv(pg.Hover, 3, **SHORT)
    first, _ = envs.reset(seed=0)
    kept = [first]
    copies = [first.clone()]
    for action in wild(10, 3):
        kept.append(envs.step(action)[0])
        copies.append(kept[-1].clone())
    envs.close()
    del envs
    gc.collect()
    assert all(torch.equal(a, b) for a, b in zip(kept, copies, strict=True))


def test_without_copies_all_observations_share_memory() -> None:
    envs = TorchVectorEnv(pg.Hover, 3, copy=False, **SHORT)
    envs.reset(seed=0)
    places, finals = set(), []
    for action in wild(20, 3):
        seen, _, _, _, infos = envs.step(action)
        places.add(seen.data_ptr())
        finals.append((infos["final_obs"], infos["final_obs"].clone()))
    assert len(places) == 1
    assert all(torch.equal(a, b) for a, b in finals)


def test_final_observations_are_rows_with_a_mask() -> None:
    envs = TorchVectorEnv(pg.Hover, 5, **SHORT)
    assert envs.autoreset_mode is AutoresetMode.SAME_STEP
    single_steps = pg.make_vec(pg.Hover, 5, autoreset_mode="DISABLED", **SHORT)
    envs.reset(seed=4)
    single_steps.reset(seed=4)
    both = set()
    for action in wild(30, 5):
        seen, _, terminated, truncated, infos = envs.step(torch.from_numpy(action))
        led_to, _, over, late, _ = single_steps.step(action)
        done = over | late
        assert np.array_equal(infos["final_obs"].numpy(), led_to)
        assert np.array_equal(infos["_final_obs"].numpy(), done)
        assert infos["_final_obs"].equal(terminated | truncated)
        begun = single_steps.reset(options={"reset_mask": done})[0] if done.any() else led_to
        assert np.array_equal(seen.numpy(), begun)
        # changes to the observation do not affect the final observation
        seen.zero_()
        assert np.array_equal(infos["final_obs"].numpy(), led_to)
        both |= {name for name, flags in (("over", over), ("late", late)) if flags.any()}
    assert both == {"over", "late"}


@pytest.mark.parametrize(
    "given",
    [
        lambda a: a.clone().requires_grad_(),
        lambda a: a.double(),
        lambda a: a.t().contiguous().t(),
        lambda a: a.numpy(),
        lambda a: a.tolist(),
    ],
    ids=["grad", "double", "strided", "numpy", "list"],
)
def test_actions_of_any_layout_are_accepted(given: Any) -> None:
    actions = torch.from_numpy(wild(1, 4)[0])
    results = []
    for form in (lambda a: a, given):
        envs = TorchVectorEnv(pg.Hover, 4)
        envs.reset(seed=0)
        results.append(envs.step(form(actions))[0])
    assert torch.equal(*results)
    assert not results[1].requires_grad


def test_half_precision_and_integer_actions_are_accepted() -> None:
    envs = TorchVectorEnv(pg.Hover)
    for kind in (torch.bfloat16, torch.float16, torch.int64):
        envs.reset(seed=0)
        seen = envs.step(torch.ones((1, 4), dtype=kind))[0]
        assert seen.shape == (1, 22)
        assert (seen[0, 18:] == 1.0).all()


def test_another_device_gets_the_same_shapes() -> None:
    envs = TorchVectorEnv(pg.Hover, 3, device="meta", **SHORT)
    seen, _ = envs.reset(seed=0)
    assert envs.device == seen.device == torch.device("meta")
    *tensors, infos = envs.step(torch.zeros((3, 4)))
    for tensor, width in zip(tensors, ((3, 22), (3,), (3,), (3,)), strict=True):
        assert tensor.device.type == "meta"
        assert tensor.shape == width
    assert infos["final_obs"].device.type == infos["_final_obs"].device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_cuda_gets_the_same_numbers() -> None:
    here, there = (TorchVectorEnv(pg.Hover, 300, device=d, **SHORT) for d in ("cpu", "cuda"))
    kept = [(here.reset(seed=1)[0], there.reset(seed=1)[0])]
    for action in torch.from_numpy(wild(40, 300)):
        *ours, infos = here.step(action)
        *theirs, told = there.step(action.cuda())
        kept += [*zip(ours, theirs, strict=True), (infos["final_obs"], told["final_obs"])]
    assert there.device == kept[0][1].device
    assert all(torch.equal(a, b.cpu()) for a, b in kept)


def test_pinned_memory_is_written_after_the_last_copies_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[str] = []
    empty = torch.empty

    def pinned(*shape: Any, dtype: Any, pin_memory: bool) -> Any:
        assert pin_memory
        log.append("made")
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
    first = ["made", "copied", "made", "copied", "|"]
    assert log == [*first, "waited", "copied", "copied", "|", "waited", *first]


def test_any_vector_environment_is_accepted() -> None:
    inner = gym.make_vec(
        "CartPole-v1", 3, vectorization_mode="sync", max_episode_steps=5,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )  # fmt: skip
    envs = TorchVectorEnv(inner)
    envs.reset(seed=0)
    for step in range(1, 6):
        seen, _, _, truncated, infos = envs.step(torch.ones(3, dtype=torch.int64))
        assert seen.shape == infos["final_obs"].shape == (3, 4)
        assert bool(infos["_final_obs"].all()) == bool(truncated.all()) == (step == 5)
    assert not torch.equal(seen, infos["final_obs"])
    assert envs.unwrapped is inner
    envs.close()
    assert inner.closed
    tracked = gym.wrappers.vector.RecordEpisodeStatistics(pg.make_vec(pg.Hover, 2, **SHORT))
    envs = TorchVectorEnv(tracked)
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
    made = pg.make_vec(pg.Hover, 2)
    with pytest.raises(TypeError, match="num_envs, copy: expected none"):
        TorchVectorEnv(made, 2, copy=False)
    with pytest.raises(TypeError, match="max_episode_steps"):
        TorchVectorEnv(pg.Hover, 2, max_episode_step=3)
    with pytest.raises(ValueError, match="num_envs"):
        TorchVectorEnv(pg.Hover, 0)


def test_invalid_actions_change_nothing() -> None:
    envs, twin = (TorchVectorEnv(pg.Hover, 3) for _ in range(2))
    with pytest.raises(ResetNeeded):
        envs.step(torch.zeros((3, 4)))
    envs.reset(seed=0)
    twin.reset(seed=0)
    wrong = torch.zeros((3, 4))
    wrong[1, 2] = float("nan")
    with pytest.raises(ValueError, match="environment 1"):
        envs.step(wrong)
    for shape in ((4,), (3, 3), (2, 4), (3, 4, 1)):
        with pytest.raises(ValueError, match=r"expected numbers of shape \(3, 4\)"):
            envs.step(torch.zeros(shape))
    with pytest.raises((TypeError, ValueError)):
        envs.step(None)
    right = torch.full((3, 4), 0.1)
    assert torch.equal(envs.step(right)[0], twin.step(right)[0])
    envs.close()
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step(right)
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "propwash.gym.torch_env")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "propwash\[torch\]"'):
        importlib.import_module("propwash.gym.torch_env")
