"""Policies with memory: a GRU, or the last observations."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

import propwash.gym as pg  # noqa: E402
from propwash.cli import main  # noqa: E402
from propwash.gym import policy, ppo, recipes, recurrent  # noqa: E402
from propwash.gym.evaluation import evaluate  # noqa: E402

COLUMNS = (0, 1, 2, 12, 13, 14)
GRU = ppo.Args(
    num_steps=6, minibatch_size=48, restart_every=2, scale_iterations=9, columns=COLUMNS, memory=8
)
FRAMES = replace(GRU, memory=0, frames=3)
KINDS = pytest.mark.parametrize("args", [GRU, FRAMES], ids=["gru", "frames"])
SHORT: dict[str, Any] = {**ppo.HOVER, "substeps": 30, "max_episode_steps": 4, "copy": False}
pytestmark = pytest.mark.usefixtures("one_thread")


def small(args: ppo.Args, seed: int = 1) -> recurrent.MemoryPPO:
    made = recurrent.trainer(args)(pg.make_vec(pg.Hover, 16, **SHORT), args, seed)
    assert isinstance(made, recurrent.MemoryPPO)
    return made


def trained(args: ppo.Args) -> recurrent.MemoryAgent:
    """An agent whose output depends on its memory."""
    learner = small(args)
    learner.iterate()
    with torch.no_grad():
        for each in learner.agent.actor.parameters():
            each.mul_(3.0)
    return learner.agent


def sequence(steps: int = 9, rows: int = 5) -> tuple[Any, Any]:
    """Observations (T, n, 22), and whether each begins an episode (T, n)."""
    rng = np.random.default_rng(3)
    begins = rng.uniform(size=(steps, rows)) < 0.3
    begins[0] = True
    return rng.normal(0.0, 1.0, (steps, rows, 22)).astype(np.float32), begins


def weights(learner: ppo.PPO) -> list[Any]:
    return [each.numpy().tobytes() for each in learner.agent.state_dict().values()]


@KINDS
def test_a_sequence_equals_its_steps(args: ppo.Args) -> None:
    agent = trained(args)
    observations, begins = sequence()
    x = agent.normalise(torch.from_numpy(observations))
    with torch.no_grad():
        memory = torch.full((5, agent.memory_size), 7.0)
        at_once = agent.see_all(x, memory, torch.from_numpy(1.0 - begins).float())
        for t in range(len(x)):
            memory = torch.where(torch.from_numpy(begins[t])[:, None], 0.0, memory)
            action, memory = agent(torch.from_numpy(observations[t]), memory)
            assert torch.allclose(action, agent.actor(at_once[t]).clamp(-1.0, 1.0), atol=1e-6)


@KINDS
def test_a_saved_policy_remembers_like_its_agent(args: ppo.Args, tmp_path: Path) -> None:
    agent = trained(args)
    policy.save(agent, tmp_path / "policy.onnx", policy.describe("hover", ppo.HOVER))
    loaded = policy.Policy.load(tmp_path / "policy.onnx")
    assert loaded.memory_size == agent.memory_size
    observations, begins = sequence()
    memory, actions = None, []
    for seen, begin in zip(observations, begins, strict=True):
        loaded.reset(begin)
        if memory is not None:
            memory[torch.from_numpy(begin)] = 0.0
        with torch.no_grad():
            action, memory = agent(torch.from_numpy(seen), memory)
        actions.append(loaded.act(seen))
        assert np.allclose(actions[-1], action.numpy(), atol=1e-5)
    one, other = (loaded.act(observations[-1]) for _ in range(2))
    assert not np.array_equal(one, other)  # it remembers
    loaded.reset()
    assert np.array_equal(loaded.act(observations[0]), actions[0])
    with pytest.raises(ValueError, match="expected 5 rows, as in the call before, got 4"):
        loaded.act(observations[0, :4])
    with pytest.raises(ValueError, match=r"mask: expected shape \(5,\)"):
        loaded.reset(np.ones(4, dtype=bool))


def test_frames_are_the_last_observations_of_the_episode() -> None:
    agent = trained(FRAMES)
    observations, begins = sequence()
    x = agent.normalise(torch.from_numpy(observations))
    goes_on = torch.from_numpy(1.0 - begins).float()
    seen = agent.see_all(x, torch.zeros(5, agent.memory_size), goes_on)
    for t in range(len(x)):
        for row in range(5):
            begin = max(k for k in range(t + 1) if begins[k, row])
            expected = [x[max(begin, t - k), row] for k in range(3)]
            assert torch.equal(seen[t, row], torch.cat(expected))


@KINDS
def test_memory_continues_between_rollouts_and_ends_with_an_episode(args: ppo.Args) -> None:
    """Two rollouts, recalled as one sequence from zero, have the probabilities of their actions.

    An episode of 4 steps and its reset take 5, so rollouts of 6 steps begin within episodes.
    """
    learner = small(args)
    learner.iterate()  # with weights that are not the first ones
    learner.live[-1] = 0.0
    learner.done[-1] = 0.0
    learner.raw[-1] = torch.from_numpy(learner.envs.reset(seed=5)[0])
    parts: list[tuple[Any, ...]] = []
    for _ in range(2):
        learner.rollout()
        part = learner.raw[:-1], learner.actions, learner.log_probs, learner.live
        parts.append(tuple(each.clone() for each in part))
    raw, actions, log_probs, live = (torch.cat(each) for each in zip(*parts, strict=True))
    assert live.sum(0).unique().tolist() == [10.0]  # of 12 steps, 2 began episodes
    goes_on = torch.cat([torch.zeros(1, 16), live[:-1]])
    with torch.no_grad():
        memory = torch.zeros(16, learner.agent.memory_size)
        seen = learner.agent.see_all(learner.agent.normalise(raw), memory, goes_on)
        assert torch.allclose(learner.agent.log_prob(seen, actions), log_probs, atol=1e-4)


@KINDS
def test_resumed_training_gives_identical_weights(args: ppo.Args) -> None:
    uninterrupted, again = small(args), small(args)
    for _ in range(4):
        uninterrupted.iterate()
        if uninterrupted.iteration == 2:
            again.iterate()
            again.load_state_dict(copy.deepcopy(uninterrupted.state_dict()))
    assert weights(again) != weights(uninterrupted)
    for _ in range(2):
        again.iterate()
    assert weights(again) == weights(uninterrupted)


def test_evaluations_begin_without_memory() -> None:
    agent = trained(GRU)
    envs = pg.make_vec(pg.Hover, 16, **SHORT)
    first, second = (evaluate(agent, envs, seed=2) for _ in range(2))
    assert np.array_equal(first.position, second.position, equal_nan=True)


class Cue(pg.Task):
    """Hold the first action at a number that only the first observation contains."""

    def reset_state(self, draws: Any) -> Any:
        if not hasattr(self, "cue"):
            self.cue = np.zeros(64, dtype=np.float32)
        self.cue[draws.rows] = np.where(draws.uniform(-1.0, 1.0) < 0.0, -0.8, 0.8)
        return {}

    def observation(self, state: Any) -> Any:
        return (self.cue * (state.steps == 0))[:, None]

    def reward(self, state: Any) -> Any:
        return -np.square(state.action[:, 0] - self.cue)


@pytest.mark.parametrize(
    ("memory", "frames", "remembers"),
    [
        pytest.param(16, 1, True, marks=pytest.mark.slow),
        (0, 6, True),
        pytest.param(0, 3, False, marks=pytest.mark.slow),
        pytest.param(0, 1, False, marks=pytest.mark.slow),
    ],
)
def test_a_cue_is_remembered_with_memory_only(memory: int, frames: int, remembers: bool) -> None:
    """The square error without the cue is 0.64, and the last of 6 observations is 5 steps old."""
    args = ppo.Args(
        memory=memory, frames=frames, columns=(), num_steps=14, minibatch_size=448, hidden=16
    )
    options: dict[str, Any] = {"substeps": 1, "max_episode_steps": 6, "noise": False}
    learner = recurrent.trainer(args)(pg.make_vec(Cue, 64, copy=False, **options), args, seed=1)
    for _ in range(40):
        learner.iterate()
    envs = pg.make_vec(Cue, 64, **options)
    error = -evaluate(learner.agent, envs, seed=2).returns / 6.0
    assert (error.mean() < 0.05) if remembers else (error.mean() > 0.2)


@pytest.mark.slow
def test_the_commands_train_resume_and_fly_with_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hover from sensors: the critic has the true state in training, the policy never has."""
    out = tmp_path / "out"
    train = ["train", "hover", "--observation", "sensors", "--out", str(out), "--every", "2000"]
    train += ["--set", "num_envs=64", "--set", "memory=8", "--set", "restart_every=1"]
    short = ["--option", "episode_seconds=0.5"]
    assert main.main([*train, "--steps", "1000", *short]) == 0
    assert main.main([*train, "--steps", "2000", *short, "--resume"]) == 0
    assert "2,048 steps" in capsys.readouterr().out
    loaded = policy.Policy.load(out / "policy.onnx")
    assert (loaded.memory_size, loaded.observation_size) == (8, 6 + 4 + 1 + 3 * 8)
    assert loaded.description.options["substeps"] == 30
    shown = ["--episodes", "5", "--out", str(tmp_path / "fly.png")]
    assert main.main(["fly", "--policy", str(out / "policy.onnx"), *shown]) == 0
    assert "5 new episodes" in capsys.readouterr().out


@pytest.mark.parametrize("task", ["hover", "track", "race", "land"])
def test_policies_with_memory_are_evaluated_at_the_rate_of_their_training(task: str) -> None:
    plain = recipes.recipe(task)
    for changed in (
        recipes.with_settings(plain, {"memory": 8}),
        recipes.with_settings(plain, {"frames": 3}),
        recipes.recipe(task, "sensors"),
        recipes.recipe(task, ["sensors", "depth"]),
    ):
        rates = [{**changed.options, **more}["substeps"] for more in ({}, changed.training)]
        assert rates[0] == rates[1]
    assert recipes.with_settings(plain, {"gamma": 0.9}).options == plain.options


def test_a_network_with_an_invalid_memory_is_refused(tmp_path: Path) -> None:
    import onnx

    file = tmp_path / "policy.onnx"
    policy.save(trained(GRU), file, policy.describe("hover", ppo.HOVER))
    model = onnx.load(file)
    model.graph.output.pop()
    onnx.save(model, file)
    with pytest.raises(ValueError, match=r"policy\.onnx: expected a network .* with a memory"):
        policy.Policy.load(file)
    model.graph.output.append(model.graph.output[0])
    model.graph.output[1].name = "x"
    onnx.save(model, file)
    with pytest.raises(ValueError, match=r"a next memory of shape \(2, 8\)"):
        policy.Policy.load(file)
