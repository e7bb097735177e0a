"""Observations of several parts in tensors, in the adapters and in PPO."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import propwash.gym as pg
import pytest
from gym_helpers import adapter
from helpers import code_blocks, run_in_order

torch = pytest.importorskip("torch")

from propwash.gym import policy, ppo  # noqa: E402
from propwash.gym.torch_env import TorchVectorEnv  # noqa: E402

PARTS: dict[str, Any] = {
    "observation": ("depth", "sensors"),
    "privileged": True,
    "depth_size": (8, 6),
    "max_episode_steps": 5,
}
ENVS, SEED = 3, 4
NAMES = ["depth", "sensors", "privileged"]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "gym-observations.md"


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """Limits torch to one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


def steps(count: int = 12) -> Iterator[Any]:
    """The first observation; then actions, final observations, done, next observations."""
    envs = pg.make_vec(pg.Race, ENVS, autoreset_mode="DISABLED", **PARTS)
    yield envs.reset(seed=SEED)[0]
    random = np.random.default_rng(1)
    for _ in range(count):
        actions = random.uniform(-1.0, 1.0, (ENVS, 4)).astype(np.float32)
        final, _, terminated, truncated, _ = envs.step(actions)
        done = terminated | truncated
        after = envs.reset(options={"reset_mask": done})[0] if done.any() else final
        yield actions, final, done, after


def equal(found: Any, expected: Any) -> None:
    for name in NAMES:
        assert np.array_equal(np.asarray(found[name]), expected[name])


def test_tensors_are_those_of_the_arrays() -> None:
    reference = steps()
    envs = TorchVectorEnv(pg.Race, ENVS, **PARTS)
    equal(envs.reset(seed=SEED)[0], next(reference))
    for actions, final, done, after in reference:
        seen, *_, infos = envs.step(torch.from_numpy(actions))
        equal(seen, after)
        equal(infos["final_obs"], final)
        assert np.array_equal(infos["_final_obs"], done)


class TestStableBaselines3:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("stable_baselines3", "FleetVecEnv")

    def test_the_last_observation_is_a_dict(self, kind: Any) -> None:
        reference, envs = steps(), kind(pg.Race, ENVS, **PARTS)
        envs.seed(SEED)
        equal(envs.reset(), next(reference))
        for actions, final, done, after in reference:
            seen, _, dones, infos = envs.step(actions)
            equal(seen, after)
            assert np.array_equal(dones, done)
            for row in np.flatnonzero(done):
                last = infos[row]["terminal_observation"]
                equal(last, {name: final[name][row] for name in NAMES})

    @pytest.mark.parametrize("dtype", ["float32", "uint8"])
    def test_a_policy_of_several_inputs_is_trained(self, kind: Any, dtype: str) -> None:
        from stable_baselines3 import PPO

        options = {**PARTS, "depth_dtype": dtype, "depth_size": (64, 48)}
        envs = kind(pg.Land, 4, **options)
        model = PPO("MultiInputPolicy", envs, n_steps=8, batch_size=16, device="cpu", n_epochs=1)
        before = [value.clone() for value in model.policy.parameters()]
        model.learn(64)
        after = list(model.policy.parameters())
        assert any(value.ndim == 4 for value in after) == (dtype == "uint8")  # convolutions
        assert all(torch.isfinite(value).all() for value in after)
        assert not all(torch.equal(*pair) for pair in zip(before, after, strict=True))


class TestTorchRL:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("torchrl", "FleetTorchRLEnv")

    @pytest.mark.parametrize("dtype", ["float32", "uint8"])
    def test_specs_match_the_parts(self, kind: Any, dtype: str) -> None:
        from torchrl.envs import check_env_specs

        envs = kind(pg.Race, ENVS, depth_dtype=dtype, **PARTS)
        check_env_specs(envs, seed=0, break_when_any_done="both")
        assert set(envs.observation_spec.keys()) == set(NAMES)
        assert envs.observation_spec["depth"].shape == (ENVS, 6, 8, 1)
        assert envs.observation_spec["depth"].dtype == getattr(torch, dtype)

    def test_final_observations_are_next(self, kind: Any) -> None:
        reference, envs = steps(), kind(pg.Race, ENVS, **PARTS)
        envs.set_seed(SEED)
        now = envs.reset()
        equal(now, next(reference))
        for actions, final, done, after in reference:
            now["action"] = torch.from_numpy(actions)
            then, now = envs.step_and_maybe_reset(now)
            equal(then["next"], final)
            assert np.array_equal(then["next", "done"][:, 0], done)
            equal(now, after)

    def test_ended_environments_keep_their_observation(self, kind: Any) -> None:
        envs = kind(pg.Race, 8, **PARTS)
        envs.set_seed(0)
        flown = envs.rollout(8, break_when_any_done=False, break_when_all_done=True)
        later = flown["next", "done"][:, :-1, 0]
        for name in NAMES:
            seen = flown["next", name]
            assert torch.equal(seen[:, 1:][later], seen[:, :-1][later])


class TestRslRl:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("rsl_rl", "FleetRslRlEnv")

    def test_groups_are_the_parts(self, kind: Any) -> None:
        reference, envs = steps(), kind(pg.Race, ENVS, seed=SEED, **PARTS)
        first = next(reference)
        groups = envs.get_observations()
        assert set(groups.keys()) == set(NAMES)
        assert groups["depth"].shape == (ENVS, 1, 6, 8)  # channels first
        equal({**groups, "depth": groups["depth"].movedim(1, -1)}, first)
        for actions, final, _, after in reference:
            groups, _, _, extras = envs.step(torch.from_numpy(actions))
            last = extras["final_observations"]
            equal({**groups, "depth": groups["depth"].movedim(1, -1)}, after)
            equal({**last, "depth": last["depth"].movedim(1, -1)}, final)

    @pytest.mark.parametrize("sees", ["state", "depth"])
    def test_the_critic_may_have_its_own_groups(self, kind: Any, sees: Any) -> None:
        from rsl_rl.runners import OnPolicyRunner

        options: Any = {"depth_size": (16, 12)} if sees == "depth" else {}
        more: Any = {}
        if sees == "depth":
            convolution = {"output_channels": [4], "kernel_size": 4, "stride": 2}
            more = {"class_name": "CNNModel", "cnn_cfg": convolution}
        envs = kind(
            pg.Race, 4, seed=0, observation=[sees], privileged=True, max_episode_steps=20, **options
        )
        net = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
        config = {
            "num_steps_per_env": 8,
            "save_interval": 100,
            "obs_groups": {"actor": [sees], "critic": ["privileged"]},
            "algorithm": {"class_name": "PPO", "num_learning_epochs": 1, "num_mini_batches": 2},
            "actor": {**net, **more, "distribution_cfg": {"class_name": "GaussianDistribution"}},
            "critic": net,
        }
        runner = OnPolicyRunner(envs, config, None, "cpu")
        runner.learn(2)
        width = envs.get_observations()["privileged"].shape[1]
        assert next(runner.alg.critic.parameters()).shape[1] == width


class Heavy(pg.Hover):
    """Rewards the drawn mass, of which the state has no information."""

    def observation(self, state: pg.State) -> Any:
        return np.zeros((state.size, 2))

    def reward(self, state: pg.State) -> Any:
        mass = state.fleet.parameters["mass"]
        return np.sign(mass - state.fleet.vehicle.body.mass)


class TestPpo:
    """The privileged columns in PPO."""

    ARGS = ppo.Args(columns=(), num_steps=4, minibatch_size=128, scale_iterations=4, gamma=0.5)

    def trained(self, iterations: int = 30, **options: Any) -> tuple[ppo.PPO, float]:
        envs = pg.make_vec(Heavy, 64, randomize={"mass": 0.3}, max_episode_steps=20, **options)
        trained = ppo.PPO(envs, self.ARGS, seed=1)
        losses = [trained.iterate()["value_loss"] for _ in range(iterations)]
        return trained, float(np.mean(losses[-5:]))

    def test_the_critic_uses_them(self) -> None:
        _, blind = self.trained()
        _, informed = self.trained(privileged=["parameters"])
        # returns are -2 or 2 (discount 0.5), which the state does not determine
        assert blind > 2.0
        assert informed < 0.25 * blind

    def test_the_policy_does_not(self) -> None:
        trained, _ = self.trained(2, privileged=True)
        envs = pg.make_vec(Heavy, 5, randomize={"mass": 0.3}, privileged=True, wind=3.0)
        seen = envs.reset(seed=3)[0]
        expected = trained.agent.act(seen)
        seen["privileged"] += 7.0
        assert np.array_equal(trained.agent.act(seen), expected)
        assert np.array_equal(trained.agent.act(seen["state"]), expected)

    def test_a_policy_file_has_no_privileged_inputs(self, tmp_path: Path) -> None:
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
        options: Any = {"observation": ["depth", "sensors"], "depth_size": [8, 6]}
        description = policy.describe("land", {**options, "privileged": True})
        assert "privileged" not in description.options
        envs = description.make_vec(16, privileged=True)
        trained = ppo.PPO(envs, self.ARGS, seed=1)
        trained.iterate()
        policy.save(trained.agent, tmp_path / "policy.onnx", description)
        loaded = policy.Policy.load(tmp_path / "policy.onnx")
        seen = loaded.make_vec(7).reset(seed=2)[0]
        assert isinstance(seen, dict)
        assert np.abs(loaded.act(seen) - trained.agent.act(seen)).max() < 1e-5
        with pytest.raises(ValueError, match=r"expected observations of .* numbers"):
            loaded.make_vec(7, depth_size=[8, 8])


@pytest.mark.skipif(not PAGE.exists(), reason="docs/gym-observations.md is missing")
def test_the_code_of_the_page_runs() -> None:
    blocks = code_blocks(PAGE, "python")
    assert len(blocks) == 3
    run_in_order(blocks, PAGE.name)
