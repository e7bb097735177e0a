"""Convolutions of images in agents of PPO and BPTT."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

import propwash.gym as pg
import torch
from propwash.gym import bptt, policy, ppo, recipes, recurrent
from propwash.gym._convolution import Convolutions, ImageColumns, image_columns
from propwash.gym._observations import flat

DEPTH: dict[str, Any] = {**bptt.FOREST, "depth_size": [16, 10], "depth_pool": [1, 2]}
SMALL: dict[str, Any] = {"hidden": 8, "convolution": (4, 6), "columns": ()}


def forests(count: int, **options: Any) -> Any:
    return pg.make_vec(pg.ForestFlight, count, copy=False, **{**DEPTH, **options})


def test_convolutions_see_the_pixels_and_keep_the_other_columns() -> None:
    generator = torch.Generator().manual_seed(0)
    layers = Convolutions(ImageColumns(2, (5, 4, 3)), 65, (7,), generator)
    x = torch.randn(3, 2, 65, generator=generator)
    seen = layers(x)
    assert seen.shape == (3, 2, layers.size) == (3, 2, 3 * 2 * 7 + 5)
    torch.testing.assert_close(seen[..., -5:], torch.cat([x[..., :2], x[..., 62:]], -1))
    image = x[1, 0, 2:62].reshape(5, 4, 3).permute(2, 0, 1)[None]
    weight, bias = layers.layers[0].parameters()
    expected = torch.conv2d(image, weight, bias, stride=2, padding=1).tanh()
    torch.testing.assert_close(seen[1, 0, :-5], expected.flatten())


def test_the_image_is_found_in_the_order_of_the_observations() -> None:
    assert image_columns(forests(2)) == ImageColumns(0, (5, 16, 1))
    assert image_columns(forests(2, observation=["state", "depth"])).first == 11
    assert image_columns(forests(2, observation="depth")).size == 80


@pytest.mark.parametrize("memory", [0, 12])
@pytest.mark.parametrize("observation", ["depth", ["state", "depth"]])
def test_ppo_trains_convolutions_and_exports_them(
    tmp_path: Path, memory: int, observation: Any
) -> None:
    pytest.importorskip("onnxruntime")
    args = ppo.Args(memory=memory, num_steps=4, minibatch_size=32, **SMALL)
    envs = forests(8, observation=observation, privileged=["state"])
    learner = recurrent.trainer(args)(envs, args, 1)
    before = [each.clone() for each in learner.agent.encoder.parameters()]
    for _ in range(2):
        learner.iterate()
    after = list(learner.agent.encoder.parameters())
    assert all((one != other).any() for one, other in zip(before, after, strict=True))
    check_export(learner.policy, {**DEPTH, "observation": observation}, tmp_path)


def check_export(agent: Any, options: dict[str, Any], folder: Path) -> None:
    """The file of an agent acts as the agent, for two steps."""
    policy.save(agent, folder / "policy.onnx", policy.describe("forest", options))
    loaded = policy.Policy.load(folder / "policy.onnx")
    envs = loaded.make_vec(5)
    seen, _ = envs.reset(seed=2)
    memory = torch.zeros(5, loaded.memory_size)
    for _ in range(2):
        with torch.no_grad():
            inputs = torch.from_numpy(flat(seen))
            expected = agent(inputs, memory) if loaded.memory_size else (agent(inputs), memory)
        memory = expected[1]
        action = loaded.act(seen)
        np.testing.assert_allclose(action, expected[0].numpy(), atol=2e-6)
        seen, *_ = envs.step(action)


def test_bptt_trains_convolutions_and_continues_bit_identically(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    torch.set_num_threads(1)
    args = bptt.BpttArgs(num_steps=5, memory=12, restart_every=2, **SMALL)

    def made() -> Any:
        return bptt.BPTT(forests(6, **bptt.COARSE), args, 1)

    whole, part = made(), made()
    before = [each.clone() for each in whole.agent.encoder.parameters()]
    for _ in range(2):
        whole.iterate()
    after = list(whole.agent.encoder.parameters())
    assert all((one != other).any() for one, other in zip(before, after, strict=True))
    part.load_state_dict(copy.deepcopy(whole.state_dict()))
    for learner in (whole, part):
        learner.iterate()
    for one, other in zip(whole.parameters, part.parameters, strict=True):
        assert torch.equal(one, other)
    check_export(whole.policy, DEPTH, tmp_path)


def test_convolutions_without_an_image_or_with_other_settings_are_refused() -> None:
    args = ppo.Args(**SMALL)
    with pytest.raises(ValueError, match="convolution: expected an observation with an image"):
        ppo.PPO(pg.make_vec(pg.Hover, 2), args, 1)
    with pytest.raises(ValueError, match=r"columns: expected \[\] with convolution, got \(0, 1\)"):
        ppo.PPO(forests(2), ppo.Args(**{**SMALL, "columns": (0, 1)}), 1)
    with pytest.raises(ValueError, match="frames = 3: expected 1 with convolution"):
        recurrent.trainer(ppo.Args(frames=3, **SMALL))
    recipe = recipes.recipe("forest", method="bptt")
    changed = recipes.with_settings(recipe, {"convolution": [8, 16]})
    assert changed.args.convolution == (8, 16)
    with pytest.raises(ValueError, match=r"convolution: expected a list of channels, \[\] for non"):
        recipes.with_settings(recipe, {"convolution": 8})
    with pytest.raises(
        ValueError, match="convolution: expected a whole number from 1 to 256, got 0"
    ):
        recipes.with_settings(recipe, {"convolution": [0]})
