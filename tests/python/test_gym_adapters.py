"""Adapters: agreement with the environments, ends of episodes, and training."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gym_helpers import adapter
from helpers import code_blocks, run_in_order

pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

import propwash.gym as pg  # noqa: E402
from gymnasium.error import ClosedEnvironmentError, ResetNeeded  # noqa: E402

SHORT: dict[str, Any] = {"bound": 1.2, "velocity": 3.0, "max_episode_steps": 7}
"""Options of episodes that are terminated or truncated early."""
STEPS, ENVS, SEED = 40, 5, 3
PAGE = Path(__file__).resolve().parents[2] / "docs" / "gym-adapters.md"
UPDATES = 20


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limits torch to one thread and writes the logs of Stable-Baselines3 to a temporary folder."""
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


class Reference:
    """Reference results: the environments in mode DISABLED, with explicit resets."""

    def __init__(self) -> None:
        self.envs = pg.make_vec(pg.Hover, ENVS, autoreset_mode="DISABLED", **SHORT)
        self.first = self.envs.reset(seed=SEED)[0]
        self.terminated = self.truncated = 0
        self.lengths = np.zeros(ENVS, dtype=int)

    def steps(self) -> Iterator[Any]:
        """Actions, final observations, reward, terminated, truncated, infos, next observations."""
        random = np.random.default_rng(1)
        for _ in range(STEPS):
            actions = random.uniform(-1.2, 1.2, (ENVS, 4)).astype(np.float32)
            final, reward, terminated, truncated, infos = self.envs.step(actions)
            done = terminated | truncated
            self.lengths = np.where(done, 0, self.lengths + 1)
            mask = {"reset_mask": done}
            after = self.envs.reset(options=mask)[0] if done.any() else final
            yield actions, final, reward, terminated, truncated, infos, after
            self.terminated += int(terminated.sum())
            self.truncated += int(truncated.sum())
        # both kinds of ends occur
        assert self.terminated > 5
        assert self.truncated > 5


def equal(found: Any, expected: Any) -> None:
    found = np.asarray(found).reshape(np.shape(expected))
    assert np.array_equal(found, expected)


class TestStableBaselines3:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("stable_baselines3", "FleetVecEnv")

    def test_episodes_end_with_terminal_observations(self, kind: Any) -> None:
        reference, envs = Reference(), kind(pg.Hover, ENVS, **SHORT)
        envs.seed(SEED)
        equal(envs.reset(), reference.first)
        for actions, final, reward, terminated, truncated, expected, after in reference.steps():
            observations, rewards, done, infos = envs.step(actions)
            equal(observations, after)
            equal(rewards, reward)
            equal(done, terminated | truncated)
            assert len(infos) == ENVS
            for i, info in enumerate(infos):
                assert ("terminal_observation" in info) == bool(done[i])
                assert info.get("TimeLimit.truncated", False) == bool(truncated[i])
                assert info.get("clipped", 0) == (
                    expected["clipped"][i] if "clipped" in expected else 0
                )
                if done[i]:
                    equal(info["terminal_observation"], final[i])
                    assert info["distance"] == expected["distance"][i]

    def test_training_runs(self, kind: Any) -> None:
        from stable_baselines3 import PPO
        from stable_baselines3.common.evaluation import evaluate_policy
        from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

        envs = VecNormalize(VecMonitor(kind(pg.Hover, 16, max_episode_steps=30)))
        model: Any = PPO(
            "MlpPolicy", envs, n_steps=16, batch_size=128, n_epochs=2, device="cpu", seed=0
        )
        before = {name: value.clone() for name, value in model.policy.state_dict().items()}
        model.learn(UPDATES * 16 * 16)
        assert model.num_timesteps == UPDATES * 16 * 16
        assert model._n_updates == UPDATES * 2
        changed = model.policy.state_dict()
        assert all(torch.isfinite(value).all() for value in changed.values())
        assert not torch.equal(changed["action_net.weight"], before["action_net.weight"])
        assert {episode["l"] for episode in model.ep_info_buffer} == {30}
        reward, _ = evaluate_policy(model, envs, n_eval_episodes=4)
        assert np.isfinite(reward)

    def test_off_policy_buffers_contain_the_final_observation(self, kind: Any) -> None:
        from stable_baselines3 import SAC

        envs = kind(pg.Hover, 4, **SHORT)
        model: Any = SAC(
            "MlpPolicy", envs, learning_starts=10**6, buffer_size=400, seed=0, device="cpu"
        )
        model.learn(4 * 60)
        buffer = model.replay_buffer
        ended = buffer.dones[:60].astype(bool)
        equal(buffer.observations[1:60][~ended[:59]], buffer.next_observations[:59][~ended[:59]])
        differs = buffer.observations[1:60][ended[:59]] != buffer.next_observations[:59][ended[:59]]
        assert differs.any(axis=1).all()
        assert buffer.timeouts[:60].sum() > 0
        assert (buffer.timeouts[:60] <= buffer.dones[:60]).all()

    def test_a_seed_applies_to_one_reset(self, kind: Any) -> None:
        envs = kind(pg.Hover)
        envs.seed(1)
        first, second = envs.reset(), envs.reset()
        envs.seed(1)
        equal(envs.reset(), first)
        equal(envs.reset(), second)
        assert not np.array_equal(first, second)

    def test_options_unsupported_by_fleets_are_refused(self, kind: Any) -> None:
        envs = kind(pg.Hover, 3)
        assert envs.get_attr("period", [0, 2]) == [envs.envs.period] * 2
        assert envs.get_attr("render_mode") == [None] * 3
        assert not envs.has_attr("wings")
        assert envs.env_is_wrapped(object, 1) == [False]
        for method, arguments in ((envs.set_attr, ("period", 1.0)), (envs.env_method, ("fly",))):
            with pytest.raises(NotImplementedError):
                method(*arguments)
        envs.set_options({"wings": 2})
        with pytest.raises(ValueError, match="options: expected none"):
            envs.reset()
        envs.set_options()
        envs.reset()
        with pytest.raises(ValueError, match="environment 0"):
            envs.step(np.full((3, 4), np.nan))
        envs.close()
        with pytest.raises(ClosedEnvironmentError):
            envs.step(np.zeros((3, 4)))


class TestTorchRL:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("torchrl", "FleetTorchRLEnv")

    @pytest.mark.parametrize("n", [1, 3])
    def test_specs_match_the_arrays(self, kind: Any, n: int) -> None:
        from torchrl.envs import check_env_specs

        envs = kind(pg.Hover, n, **SHORT)
        check_env_specs(envs, seed=0, break_when_any_done="both")
        assert envs.batch_size == (n,)
        assert set(envs.done_spec.keys()) == {"done", "terminated", "truncated"}

    def test_final_observations_are_next_and_resets_use_masks(self, kind: Any) -> None:
        reference, envs = Reference(), kind(pg.Hover, ENVS, **SHORT)
        envs.set_seed(SEED)
        now = envs.reset()
        equal(now["observation"], reference.first)
        for actions, final, reward, terminated, truncated, _, after in reference.steps():
            now["action"] = torch.from_numpy(actions)
            then, now = envs.step_and_maybe_reset(now)
            equal(then["next", "observation"], final)
            equal(then["next", "reward"], reward)
            equal(then["next", "terminated"], terminated)
            equal(then["next", "truncated"], truncated)
            equal(then["next", "done"], terminated | truncated)
            equal(now["observation"], after)
            assert not now["done"].any()

    def test_finished_environments_can_be_omitted(self, kind: Any) -> None:
        envs = kind(pg.Hover, 8, **SHORT)
        envs.set_seed(0)
        flown = envs.rollout(50, break_when_any_done=False, break_when_all_done=True)
        assert flown.shape == (8, 7)
        done = flown["next", "done"][..., 0]
        assert done[:, -1].all()
        assert done[:, :-1].any()
        # an ended episode does not change
        later = done[:, :-1]
        equal(
            flown["next", "observation"][:, 1:][later], flown["next", "observation"][:, :-1][later]
        )
        last = flown[:, -1]["next"].exclude("reward")
        with pytest.raises(ResetNeeded):
            envs.rand_step(last.clone())
        last["_reset"] = torch.arange(8)[:, None] < 4
        begun = envs.reset(last.clone())
        equal(begun["done"], ~last["_reset"])
        equal(begun["observation"][4:], last["observation"][4:])
        begun["_step"] = ~begun["done"]
        flown = envs.rand_step(begun)
        assert flown["next", "done"][4:].all()
        equal(flown["next", "reward"][4:], np.zeros(4))
        equal(flown["next", "observation"][4:], flown["observation"][4:])
        assert (flown["next", "observation"][:4] != flown["observation"][:4]).any(1).all()
        assert not envs.reset()["done"].any()
        partial = envs.rand_action(envs.reset())
        partial["_step"] = torch.arange(8) > 3
        with pytest.raises(ValueError, match="_step: expected all unfinished environments"):
            envs.step(partial)

    def test_a_seed_applies_to_one_reset(self, kind: Any) -> None:
        envs = kind(pg.Hover, 2)
        envs.set_seed(4)
        first, second = envs.reset()["observation"], envs.reset()["observation"]
        envs.set_seed(4)
        equal(envs.reset()["observation"], first)
        equal(envs.reset()["observation"], second)
        assert not torch.equal(first, second)

    @pytest.mark.slow
    def test_training_runs(self, kind: Any) -> None:
        from tensordict.nn import TensorDictModule as Module

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # custom classes
            from torchrl.collectors import Collector
        from torchrl.envs import Compose, InitTracker, RewardSum, StepCounter, TransformedEnv
        from torchrl.modules import NormalParamExtractor, ProbabilisticActor, TanhNormal
        from torchrl.objectives import ClipPPOLoss
        from torchrl.objectives.value import GAE

        nn = torch.nn
        envs = TransformedEnv(
            kind(pg.Hover, 16, max_episode_steps=30),
            Compose(InitTracker(), RewardSum(), StepCounter()),
        )
        net = nn.Sequential(nn.Linear(22, 32), nn.Tanh(), nn.Linear(32, 8), NormalParamExtractor())
        actor = ProbabilisticActor(
            Module(net, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
            distribution_class=TanhNormal, return_log_prob=True,
        )  # fmt: skip
        value_net = nn.Sequential(nn.Linear(22, 32), nn.Tanh(), nn.Linear(32, 1))
        critic = Module(value_net, ["observation"], ["state_value"])
        loss = ClipPPOLoss(actor, critic)
        gae = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
        optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
        before = net[0].weight.detach().clone()
        frames = 16 * 16
        collector = Collector(envs, actor, frames_per_batch=frames, total_frames=UPDATES * frames)
        updates, lengths = 0, set()
        for data in collector:
            gae(data)
            losses = loss(data.reshape(-1))
            total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            assert torch.isfinite(total)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            updates += 1
            lengths |= set(data["next", "step_count"][data["next", "done"]].tolist())
        collector.shutdown()
        assert updates == UPDATES
        assert lengths == {30}
        assert not torch.equal(net[0].weight, before)
        assert envs.base_env.is_closed

    def test_closed_environments_are_refused(self, kind: Any) -> None:
        envs = kind(pg.Hover)
        envs.close()
        with pytest.raises(ClosedEnvironmentError):
            envs.reset()


class TestRslRl:
    @pytest.fixture
    def kind(self) -> Any:
        return adapter("rsl_rl", "FleetRslRlEnv")

    def test_time_outs_are_distinguished_from_terminations(self, kind: Any) -> None:
        reference, envs = Reference(), kind(pg.Hover, ENVS, seed=SEED, **SHORT)
        equal(envs.get_observations()["policy"], reference.first)
        for actions, final, reward, terminated, truncated, expected, after in reference.steps():
            observations, rewards, done, extras = envs.step(torch.from_numpy(actions))
            equal(observations["policy"], after)
            equal(envs.get_observations()["policy"], after)
            equal(rewards, reward)
            equal(done, terminated | truncated)
            equal(extras["time_outs"], truncated)
            equal(extras["final_observations"], final)
            equal(envs.episode_length_buf, reference.lengths)
            assert ("log" in extras) == bool(done.any())
            if done.any():
                mean = expected["distance"][expected["_distance"]].mean()
                assert extras["log"]["/episode/distance"].item() == pytest.approx(mean)

    def test_environments_end_their_episodes_independently(self, kind: Any) -> None:
        envs = kind(pg.Hover, 4, seed=0, max_episode_steps=10, velocity=0.0)
        envs.episode_length_buf = torch.tensor([0, 3, 6, 9])
        ends = []
        for step in range(1, 11):
            _, _, done, extras = envs.step(torch.zeros((4, 4)))
            equal(done, extras["time_outs"])
            ends += [(step, row) for row in done.nonzero()[:, 0].tolist()]
        assert ends == [(1, 3), (4, 2), (7, 1), (10, 0)]
        with pytest.raises(ValueError, match="episode_length_buf: expected shape"):
            envs.episode_length_buf = torch.zeros(3)

    @pytest.mark.slow
    def test_training_runs(self, kind: Any) -> None:
        from rsl_rl.runners import OnPolicyRunner

        envs = kind(pg.Hover, 16, seed=0, max_episode_steps=30)
        net = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "elu"}
        config = {
            "num_steps_per_env": 16,
            "save_interval": 100,
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
            "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2},
            "actor": {**net, "distribution_cfg": {"class_name": "GaussianDistribution"}},
            "critic": net,
        }
        runner = OnPolicyRunner(envs, config, None, "cpu")
        before = [value.clone() for value in runner.alg.get_policy().parameters()]
        runner.learn(UPDATES, init_at_random_ep_len=True)
        assert runner.current_learning_iteration == UPDATES - 1
        after = list(runner.alg.get_policy().parameters())
        assert all(torch.isfinite(value).all() for value in after)
        assert not any(torch.equal(*pair) for pair in zip(before, after, strict=True))
        assert len(set(envs.episode_length_buf.tolist())) > 4

    def test_invalid_use_is_refused(self, kind: Any) -> None:
        with pytest.raises(ValueError, match="max_episode_steps: expected a number >= 1"):
            kind(pg.Hover, max_episode_steps=0)
        envs = kind(pg.Hover)
        assert (envs.num_envs, envs.num_actions, envs.max_episode_length) == (1, 4, 480)
        with pytest.raises(ValueError, match="environment 0"):
            envs.step(torch.full((1, 4), float("nan")))
        envs.close()
        with pytest.raises(ClosedEnvironmentError):
            envs.step(torch.zeros((1, 4)))


ADAPTERS = {
    "stable_baselines3": ("FleetVecEnv", "DISABLED"),
    "torchrl": ("FleetTorchRLEnv", "SAME_STEP"),
    "rsl_rl": ("FleetRslRlEnv", "NEXT_STEP"),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_incompatible_environments_are_refused(name: str) -> None:
    kind_name, mode = ADAPTERS[name]
    kind = adapter(name, kind_name)
    with pytest.raises(ValueError, match="autoreset_mode: expected"):
        kind(pg.make_vec(pg.Hover, 2, autoreset_mode=mode))
    with pytest.raises(ValueError, match="autoreset_mode: expected"):
        kind(pg.Hover, 2, autoreset_mode=mode)
    with pytest.raises(ValueError, match="copy: expected True"):
        kind(pg.Hover, 2, copy=False)
    with pytest.raises(TypeError, match="num_envs: expected none"):
        kind(pg.make_vec(pg.Hover), 2)
    with pytest.raises(TypeError, match="expected a kind of task"):
        kind("Hover")


@pytest.mark.parametrize("name", ADAPTERS)
def test_without_its_library_an_adapter_names_the_package(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"propwash.gym.adapters.{name}"
    for loaded in [each for each in sys.modules if each.split(".")[0] == name]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=r"install it with: pip install"):
        importlib.import_module(module)


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="docs/gym-adapters.md is missing")
def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (kind, _) in ADAPTERS.items():
        adapter(name, kind)
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(PAGE, "python")
    assert len(blocks) == 5
    run_in_order(blocks, PAGE.name)
