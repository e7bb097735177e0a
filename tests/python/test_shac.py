"""SHAC, and the differentiable observations and rewards of tasks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

import propwash.gym as pg  # noqa: E402
from propwash.gym import _differentiable as gradients  # noqa: E402
from propwash.gym import shac  # noqa: E402
from propwash.gym.evaluation import evaluate  # noqa: E402
from propwash.gym.ppo import HOVER  # noqa: E402

SMALL = shac.ShacArgs(num_steps=4, restart_every=3, scale_iterations=4)
SIZE, STEPS = 40, 30


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small(seed: int = 1, envs: int = 32) -> shac.SHAC:
    made = pg.make_vec(pg.Hover, envs, copy=False, **HOVER, **shac.COARSE)
    return shac.SHAC(made, SMALL, seed)


def weights(trained: shac.SHAC) -> list[Any]:
    parts = [*trained.agent.state_dict().values(), *trained.target.parameters()]
    return [each.detach().numpy().tobytes() for each in parts]


def task_of(kind: type[pg.Task], **options: Any) -> gradients.DifferentiableTask:
    envs = pg.make_vec(kind, SIZE, **{"noise": False, "substeps": 30, **options})
    envs.reset(seed=3)
    return gradients.differentiable(envs._engine)


CASES: list[tuple[type[pg.Task], dict[str, Any]]] = [
    (pg.Hover, {}),
    (pg.Hover, {"weights": {"upright": 0.7, "position_scale": 0.4}}),
    (pg.Track, {"path": "circle", "weights": {"velocity": 0.3}}),
    (pg.Race, {"course_seed": [1, 2, 3], "anywhere": True}),
    (pg.Land, {"weights": {"speed": 0.1, "speed_margin": 0.5}}),
]


class Cube(pg.Hover):
    """A custom task with a loss, a target and further columns."""

    def target(self, state: Any) -> Any:
        return np.array([1.0, 2.0, 3.0])

    def extras(self, state: Any) -> Any:
        return [state.time[:, None], np.ones((state.size, 2))]

    def loss(self, window: Any) -> Any:
        away = window.position[1:] - window.target[1:]
        return away.square().sum(-1) + window.velocity[1:].pow(4).sum(-1)


FOREST: dict[str, Any] = {
    **{"observation": ("depth", "state"), "depth_size": (16, 12), "depth_delay": 2, "flights": 8},
    **{"action": "goal_velocity", "substeps": 64, "noise": False},
}


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_observations_and_rewards_equal_those_of_the_task(
    kind: type[pg.Task], options: dict[str, Any], frame: str
) -> None:
    task = task_of(kind, frame=frame, **options)
    generator = torch.Generator().manual_seed(1)
    state, action = task.flight.begin(), torch.zeros(SIZE, 4)
    rows: list[Any] = []
    results: list[Any] = []
    for _ in range(STEPS):
        seen, target, velocity = task.observe(state, action)
        expected = task.task.observation(task.state)
        rounding = 2e-6 + 4e-7 * float(seen[:, :3].abs().max())
        np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=rounding)
        rows.append((*state[:4], action, target, velocity))
        action = 0.3 * torch.randn(SIZE, 4, generator=generator).clamp(-3.0, 3.0)
        action[:, 3] += 0.1
        state, reward, ended = task.step(state, action)
        special = ended | getattr(task.task, "_passed", False)
        results.append((reward.copy(), special.copy()))
    rows.append((*state[:4], action, *task.observe(state, action)[1:]))
    window = gradients.StateWindow(*(torch.stack(part) for part in zip(*rows, strict=True)))
    found = task.reward(window).numpy()
    exact, special = (np.stack(part) for part in zip(*results, strict=True))
    # gates, failures and what follows them are not part of the differentiable reward
    usual = ~np.logical_or.accumulate(special, axis=0)
    assert usual.mean() > 0.5
    np.testing.assert_allclose(found[usual], exact[usual], rtol=1e-6, atol=rounding)


def test_steps_equal_those_of_the_environments() -> None:
    """The same actions give the same observations, rewards and ends, bit for bit."""
    task = task_of(pg.Hover, bound=1.5)
    envs = pg.make_vec(pg.Hover, SIZE, noise=False, substeps=30, bound=1.5)
    envs.reset(seed=3)
    generator = torch.Generator().manual_seed(2)
    state, action = task.flight.begin(), torch.zeros(SIZE, 4)
    going = np.ones(SIZE, dtype=np.bool_)
    for _ in range(STEPS):
        action = torch.rand(SIZE, 4, generator=generator) * 2 - 1
        state, reward, ended = task.step(state, action)
        seen, expected, over, _, _ = envs.step(action.numpy())
        np.testing.assert_array_equal(reward[going], expected[going])
        np.testing.assert_array_equal(ended[going], over[going])
        going &= ~over
        np.testing.assert_array_equal(state.velocity.numpy()[going], seen[going, 3:6])
    assert 0 < going.sum() < SIZE


def test_custom_functions_have_the_derivatives_of_differences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rotated: Any = gradients._Rotated.apply
    for name in ("_PRODUCTS", "_OFFSET"):
        monkeypatch.setattr(gradients, name, getattr(gradients, name).double())
    generator = torch.Generator().manual_seed(4)

    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    for in_body in (False, True):
        assert torch.autograd.gradcheck(
            lambda q, v, b=in_body: rotated(q, v, b), (drawn(3, 4), drawn(3, 5, 3))
        )


@pytest.mark.parametrize(("kind", "options"), [*CASES, (Cube, {})])
def test_gradients_of_observations_equal_differences(
    kind: type[pg.Task], options: dict[str, Any]
) -> None:
    """Along a random direction of the position, in float32."""
    task = task_of(kind, frame="body", **options)
    state, action = task.flight.begin(), torch.zeros(SIZE, 4)
    position = (state.position + 0.1).requires_grad_()
    generator = torch.Generator().manual_seed(5)
    direction = torch.randn(SIZE, 3, generator=generator)

    def seen(position: Any) -> Any:
        return task.observe(state._replace(position=position), action)[0]

    factors = torch.randn(seen(position).shape, generator=generator)
    (found,) = torch.autograd.grad((seen(position) * factors).sum(), position)
    moved = [seen(position.detach() + h * direction).double() for h in (-0.01, 0.01)]
    expected = ((moved[1] - moved[0]) / 0.02 * factors).sum(1)
    np.testing.assert_allclose((found * direction).sum(1), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    "action", ["rate_thrust", "rotor_thrusts", "attitude_thrust", "velocity", "goal_velocity"]
)
def test_gradients_by_actions_equal_differences(action: str) -> None:
    """Of the returns of a window, along random directions, for each level of commands."""
    if action == "goal_velocity":
        task = task_of(pg.ForestFlight, **{**FOREST, "substeps": 30})
    else:
        task = task_of(Cube, action=action)
    start = task.engine.fleet.snapshot()
    generator = torch.Generator().manual_seed(8)
    width = task.engine.actions.size
    first = 0.3 * torch.randn(SIZE, width, generator=generator).clamp(-2.0, 2.0)
    desired = np.array(task.task.desired) if action == "goal_velocity" else None

    def returns(action: Any) -> Any:
        task.engine.fleet.restore(start)
        if desired is not None:
            task.task.desired = desired.copy()
        state = task.flight.begin()
        for _ in range(3):
            state, *_ = task.step(state, action)
            if desired is not None:  # the bearing of the goal is a constant
                task.task.desired = desired.copy()
        return (state.position - state.velocity + state.attitude[:, 1:]).sum(1)

    moving = first.clone().requires_grad_()
    (found,) = torch.autograd.grad(returns(moving).sum(), moving)
    for _ in range(3):
        direction = torch.randn(SIZE, width, generator=generator)
        ends = [returns(first + h * direction).double() for h in (-0.01, 0.01)]
        slope, expected = (ends[1] - ends[0]) / 0.02, (found * direction).sum(1)
        # single rows pass a limit of a thrust or a tilt
        assert (abs(slope - expected) < 0.02 + 0.02 * abs(slope)).float().mean() > 0.85


def test_images_of_a_window_are_those_of_the_environments() -> None:
    """With their delay; columns of the state for the critic follow."""
    task = task_of(pg.ForestFlight, **FOREST)
    envs = pg.make_vec(pg.ForestFlight, SIZE, **FOREST)
    every = np.ones(SIZE, dtype=np.bool_)
    task.engine.seed(5)
    task.restart(every)
    expected: Any = envs.reset(seed=5)[0]
    state, action = task.flight.begin(), torch.zeros(SIZE, 3)
    for _ in range(4):
        seen, target, _ = task.observe(state, action)
        images = expected["depth"].reshape(SIZE, -1)
        np.testing.assert_array_equal(seen[:, : images.shape[1]], images)
        np.testing.assert_array_equal(seen[:, images.shape[1] : -18], expected["state"])
        np.testing.assert_allclose(seen[:, -18:-15], state.position - target, rtol=1e-6)
        action = torch.full((SIZE, 3), 0.2)
        state, *_ = task.step(state, action)
        expected = envs.step(action.numpy())[0]


@pytest.mark.parametrize("network", [{}, {"memory": 8}, {"memory": 8, "convolution": (4,)}])
def test_policies_of_images_are_trained(network: dict[str, Any]) -> None:
    """The actor by the loss and by the critic, whose state has gradients; memory goes on."""
    envs = pg.make_vec(pg.ForestFlight, 8, copy=False, **FOREST)
    args = shac.ShacArgs(num_steps=4, columns=(), restart_every=9, **network)
    trained = shac.SHAC(envs, args, 1)
    before = [each.clone() for each in trained.actor.parameters()]
    trained.iterate()
    assert not any(map(torch.equal, before, trained.actor.parameters()))
    assert trained.memory.any() == bool(network)
    flown = trained.fly(0.1)
    value = trained.target(flown.inputs[-1]).sum()
    (slope,) = torch.autograd.grad(value, trained.agent.actor[-1].bias)
    assert slope.any()
    assert trained.agent.act(envs.reset(seed=1)[0]).shape == (8, 3)


def test_an_end_does_not_save_the_costs_of_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The critic's target at an end contains the value of the state after it."""
    envs = pg.make_vec(Cube, 8, noise=False, substeps=30)
    trained = shac.SHAC(envs, shac.ShacArgs(num_steps=4, columns=()), 1)
    trained.restart()
    flown = trained.fly(0.1)
    flown.ended[1] = 1.0
    value = trained.target(flown.inputs[2]).squeeze(-1)
    targets, td_lambda = [], shac.td_lambda

    def recorded(*arguments: Any) -> Any:
        targets.append(td_lambda(*arguments))
        return targets[-1]

    monkeypatch.setattr(shac, "td_lambda", recorded)
    trained.update_critic(flown)
    torch.testing.assert_close(targets[0][1], (flown.gains[1] + 0.95 * value).detach())


def test_targets_of_the_critic() -> None:
    """Closed forms: with lambda 1 sums of discounted rewards and the value at the end of the
    window; with lambda 0 one step; nothing is added after the end of an episode.
    """
    steps, gamma = 6, 0.9
    rewards, ended = torch.ones(steps, 2), torch.zeros(steps, 2)
    values = torch.full((steps + 1, 2), 3.0)
    ended[3, 1] = 1.0
    powers = gamma ** torch.arange(steps + 1.0)
    whole = shac.td_lambda(rewards, values, ended, gamma, 1.0)
    for t in range(steps):
        ahead = steps - t
        assert whole[t, 0] == pytest.approx(float(powers[:ahead].sum() + 3.0 * powers[ahead]))
    for t in range(4):
        assert whole[t, 1] == pytest.approx(float(powers[: 4 - t].sum()))
    one = shac.td_lambda(rewards, values, ended, gamma, 0.0)
    assert float(one[0, 0]) == pytest.approx(1.0 + gamma * 3.0)
    assert float(one[3, 1]) == pytest.approx(1.0)


def test_the_actor_ignores_what_follows_the_end_of_an_episode() -> None:
    """The gradient of the returns is zero for steps and values after the end."""
    trained = small()
    trained.restart()
    flown = trained.fly(0.1)
    flown.window.position.retain_grad()
    live = torch.cat([flown.live[:2], torch.zeros_like(flown.live[2:])])
    trained.update_actor(flown._replace(live=live))
    slopes: Any = flown.window.position.grad
    assert slopes[1:3].any()
    assert not slopes[3:].any()


def test_resuming_is_bit_identical(tmp_path: Path) -> None:
    whole = small()
    for _ in range(3):
        whole.iterate()
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    for _ in range(4):
        whole.iterate()
    resumed = small()
    resumed.load_state_dict(torch.load(tmp_path / "state.pt"))
    for _ in range(4):
        resumed.iterate()
    assert resumed.global_step == whole.global_step == 7 * 4 * 32
    assert weights(resumed) == weights(whole)
    assert weights(small(seed=2)) != weights(small(seed=1))


@pytest.mark.slow
def test_hover_is_learnt_in_107_520_steps() -> None:
    envs = pg.make_vec(pg.Hover, 64, copy=False, **HOVER, **shac.COARSE)
    trained = shac.SHAC(envs, shac.ShacArgs(), seed=1)
    while trained.global_step < 107_520:
        trained.iterate()
    new = pg.make_vec(pg.Hover, 200, copy=False, **HOVER)
    result = evaluate(trained.agent.act, new, seed=7)
    assert result.settled(0.1, 2.0) >= 0.95


@pytest.mark.slow
def test_landing_is_learnt_in_101_376_steps() -> None:
    from propwash.gym import recipes

    recipe = recipes.recipe("land", method="shac")
    options: dict[str, Any] = {**recipe.options, **recipe.training}
    envs = pg.make_vec(pg.Land, recipe.num_envs, copy=False, **options)
    trained = shac.SHAC(envs, recipe.args, seed=1)
    while trained.global_step < 101_376:
        trained.iterate()
    new = pg.make_vec(pg.Land, 200, copy=False, **recipe.options)
    result = evaluate(trained.agent.act, new, seed=7)
    assert np.mean(result.infos["success"]) >= 0.7  # it varies between evaluations


def test_what_has_no_gradients_is_refused() -> None:
    cases: list[tuple[type[pg.Task], dict[str, Any], str]] = [
        (pg.Hover, {"noise": True}, "noise: expected False"),
        (pg.Hover, {"privileged": ["state"]}, "privileged: expected False"),
        (pg.Task, {}, "task: expected Hover, Land, .* or one with a method `loss` .*, got Task"),
    ]
    for kind, options, message in cases:
        envs = pg.make_vec(kind, 2, **{"noise": False, **options})
        with pytest.raises(ValueError, match=message):
            shac.SHAC(envs, SMALL, 1)
    short = pg.make_vec(pg.Hover, 2, noise=False, max_episode_steps=SMALL.num_steps - 1)
    with pytest.raises(ValueError, match=r"num_steps: expected at most .*, an episode, got"):
        shac.SHAC(short, SMALL, 1)


def command(arguments: list[str]) -> None:
    from propwash.cli import train

    parser = argparse.ArgumentParser()
    train.add_parser(parser.add_subparsers())
    options = parser.parse_args(arguments)
    options.run(options)


@pytest.mark.slow
def test_the_command_trains_and_resumes_with_shac(tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime", "tensorboard", "tqdm"):
        pytest.importorskip(package)
    from propwash.cli.train import read_checkpoint
    from propwash.gym.policy import Policy

    few = ["train", "hover", "--every", "1e9", "--set", "num_steps=4", "--set", "restart_every=3"]
    few += ["--set", "num_envs=32", "--method", "shac"]
    command([*few, "--out", str(tmp_path / "whole"), "--steps", "768"])
    command([*few, "--out", str(tmp_path / "parts"), "--steps", "500"])
    again = ["train", "hover", "--out", str(tmp_path / "parts"), "--resume"]
    with pytest.raises(ValueError, match="--resume: expected method shac"):
        command([*again, "--method", "ppo"])
    command([*again, "--steps", "768"])
    one, other = (read_checkpoint(tmp_path / k / "checkpoint.pt") for k in ("whole", "parts"))
    assert one["learner"]["counts"] == other["learner"]["counts"] == (6, 768)
    for name, value in one["learner"]["agent"].items():
        assert torch.equal(value, other["learner"]["agent"][name]), name
    policy = Policy.load(tmp_path / "whole" / "policy.onnx")
    assert policy.description.training["method"] == "shac"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["propwash.gym:Task"], "--method shac: expected hover, track, .* or a task with a method"),
        (["hover", "--set", "clip_coef=0.1"], "there is no setting 'clip_coef'"),
        (["hover", "--set", "target_rate=2"], "target_rate: expected a finite number > 0 and <= 1"),
        (["hover", "--option", "noise=true"], "noise: expected False"),
    ],
)
def test_invalid_commands_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        command(["train", *arguments, "--method", "shac", "--out", str(tmp_path / "new")])
