"""Training: learning, resuming, policy files and commands."""

from __future__ import annotations

import argparse
import re
import signal
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")
pytest.importorskip("tqdm")

import propwash.gym as pg  # noqa: E402
from propwash._files import written_whole  # noqa: E402
from propwash.cli import _training, _training_curve  # noqa: E402
from propwash.cli import fly as _fly_command  # noqa: E402
from propwash.cli import train as _train_command  # noqa: E402
from propwash.gym import policy, ppo, recipes  # noqa: E402
from propwash.gym.evaluation import evaluate  # noqa: E402
from propwash.world import Gate, Plane, Scene, Start  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n"
SMALL = ppo.Args(num_steps=4, minibatch_size=64, restart_every=3, scale_iterations=4)
pytestmark = pytest.mark.usefixtures("one_thread")


def command(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    _train_command.add_parser(commands)
    _fly_command.add_parser(commands)
    options = parser.parse_args(arguments)
    options.run(options)


def small(seed: int = 1, envs: int = 32) -> ppo.PPO:
    return ppo.PPO(pg.make_vec(pg.Hover, envs, copy=False, **ppo.HOVER, **ppo.FAST), SMALL, seed)


@pytest.fixture
def few_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(recipes.RECIPES["hover"], episodes=(5, 5))
    monkeypatch.setitem(recipes.RECIPES, "hover", few)


def weights(trained: ppo.PPO) -> list[Any]:
    return [each.numpy().tobytes() for each in trained.agent.state_dict().values()]


@pytest.mark.slow
def test_ten_seconds_of_training_improve_the_reward() -> None:
    """Before training many vehicles leave the bounds; after it all stay near the origin.

    The reward per step is 1.2 for an upright vehicle at the target and 0.7 at a distance of 1 m.
    """
    envs = pg.make_vec(pg.Hover, 1024, copy=False, **ppo.HOVER, **ppo.FAST)
    trained = ppo.PPO(envs, ppo.Args(), seed=1)
    test_envs = pg.make_vec(pg.Hover, 100, copy=False, **ppo.HOVER)
    before = evaluate(trained.agent.act, test_envs, seed=5)
    rewards = [trained.iterate()["reward"] for _ in range(32)]
    after = evaluate(trained.agent.act, test_envs, seed=5)
    assert np.mean(rewards[-5:]) > np.mean(rewards[:5]) + 0.2
    assert np.median(after.returns) > 2.0 * np.median(before.returns)
    assert np.median(after.distance[-1]) < 0.4
    assert np.isnan(before.distance[-1]).mean() > 0.2  # an untrained policy fails
    assert not np.isnan(after.distance[-1]).any()


def test_weights_are_averaged_and_the_learning_rate_decays() -> None:
    args = replace(SMALL, average=4, decay_steps=2 * SMALL.num_steps * 32)  # two iterations
    envs = pg.make_vec(pg.Hover, 32, copy=False, **ppo.HOVER, **ppo.FAST)
    trained = ppo.PPO(envs, args, seed=1)
    mean = [each.clone() for each in trained.policy.parameters()]
    for factor in (1.0, 0.5, 0.02, 0.02):
        before = trained.learning_rate
        trained.args = replace(args, update_epochs=1, minibatch_size=10**6)  # one optimiser step
        trained.iterate()
        assert trained.optimizer.param_groups[0]["lr"] == pytest.approx(factor * before)
        mean = [m + (x - m) / 4 for m, x in zip(mean, trained.agent.parameters(), strict=True)]
    for expected, averaged in zip(mean, trained.policy.parameters(), strict=True):
        torch.testing.assert_close(averaged, expected)
    without = small()
    assert without.policy is without.agent


def test_the_decay_of_the_recipe_is_that_of_395_iterations_at_its_default_sizes() -> None:
    recipe = recipes.recipe("hover", "sensors")
    assert recipe.args.decay_steps == 395 * recipe.args.num_steps * recipe.num_envs


def test_advantages_match_their_definition() -> None:
    """Discounted sums of the temporal-difference errors, up to the end of the episode.

    Row 2 ends an episode by time, row 5 by the task; rows 3 and 6 start the next.
    """
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=8), rng.normal(size=9)
    terminated, done, live = np.zeros(8), np.zeros(8), np.ones(8)
    done[[2, 5]], terminated[5], live[[3, 6]] = 1, 1, 0
    args = ppo.Args(gamma=0.9, gae_lambda=0.8)
    arguments = [torch.tensor(each)[:, None] for each in (rewards, values, terminated, done, live)]
    advantages = ppo.compute_gae(arguments[0], arguments[1], arguments[2:], args)[:, 0].numpy()
    delta = rewards + 0.9 * values[1:] * (1 - terminated) - values[:-1]
    for t in range(8):
        expected, weight = 0.0, 1.0
        for k in range(t, 8):
            expected += weight * delta[k] if live[t] else 0.0
            if done[k] or not live[k]:
                break
            weight *= 0.9 * 0.8
        assert advantages[t] == pytest.approx(expected)


def test_normalisation_uses_all_observations() -> None:
    rng = np.random.default_rng(1)
    observations = rng.normal(3.0, 2.0, (4, 500, 22)).astype(np.float32)
    agent = ppo.Agent(22, 4, ppo.Args(columns=()), torch.Generator())
    for part in observations:
        agent.learn_scale(torch.from_numpy(part))
    scaled = agent.normalise(torch.from_numpy(observations.reshape(-1, 22))).numpy()
    assert np.abs(scaled.mean(axis=0)).max() < 1e-3
    assert np.abs(scaled.std(axis=0) - 1.0).max() < 1e-2


def test_resumed_training_gives_identical_weights(tmp_path: Path) -> None:
    uninterrupted = small()
    for _ in range(6):
        uninterrupted.iterate()
        if uninterrupted.iteration == 3:
            torch.save(uninterrupted.state_dict(), tmp_path / "state.pt")
    again = small()
    again.iterate()
    assert weights(again) != weights(uninterrupted)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for _ in range(3):
        again.iterate()
    assert weights(again) == weights(uninterrupted)
    assert again.global_step == uninterrupted.global_step
    other = small(seed=2)
    for _ in range(6):
        other.iterate()
    assert weights(other) != weights(uninterrupted)


def test_a_saved_policy_acts_like_its_agent(tmp_path: Path) -> None:
    trained = small()
    trained.iterate()
    file = tmp_path / "policy.onnx"
    described = policy.describe("hover", {**ppo.HOVER, "max_rates": (6.0, 6.0, 3.0)}, {"seed": 1})
    policy.save(trained.agent, file, described)
    loaded = policy.Policy.load(file)
    assert loaded.description.options["max_rates"] == [6.0, 6.0, 3.0]
    assert loaded.description.options["frame"] == "body"
    observations = np.random.default_rng(0).normal(0, 3, (50, 22)).astype(np.float32)
    assert np.allclose(loaded.act(observations), trained.agent.act(observations), atol=1e-5)
    assert np.abs(loaded.act(100 * observations)).max() <= 1.0
    envs = loaded.make_vec(3)
    assert envs.task.frame == "body"
    assert envs.fleet.vehicle.name == pg.make_vec(pg.Hover, 1).fleet.vehicle.name
    with pytest.raises(ValueError, match=r"expected shape \(n, 22\), got \(3, 21\)"):
        loaded.act(np.zeros((3, 21)))
    with pytest.raises(ValueError, match="expected observations of 22 numbers"):
        loaded.make_vec(3, observation="sensors")


@pytest.mark.parametrize("task", ["track", "race", "land"])
def test_the_tasks_can_be_trained(task: str) -> None:
    recipe = recipes.RECIPES[task]
    options = {**recipe.options, **recipe.training}
    described = policy.describe(task, recipe.options)
    trained = ppo.PPO(described.make_vec(8, copy=False, **recipe.training), recipe.args, seed=0)
    assert np.isfinite(trained.iterate()["reward"])
    test_envs = described.make_vec(2, **{**options, "max_episode_steps": 9})
    measured = test_envs.task.measures(evaluate(trained.agent.act, test_envs, seed=1))
    assert all(isinstance(value, float) for value in measured.values())
    assert all(isinstance(value, float) for value in test_envs.task.merit(measured))


@pytest.mark.slow
def test_race_is_learnt_from_a_start_beyond_the_first_gate() -> None:
    """The straight line from the start reaches the first gate on the wrong side."""
    size: Any = {"width": 2.0, "height": 2.0, "border": 0.2, "depth": 0.1}
    gates = [Gate(name=f"{x}", position=(float(x), 0.0, 2.0), **size) for x in (0, 6, 12)]
    start = Start(position=(2.0, 0.0, 2.0), yaw=0.0)
    course = Scene([Plane(name="ground"), *gates], start=start)
    recipe = recipes.RECIPES["race"]
    options = {**recipe.options, "course": course, "course_seed": None, "copy": False}
    envs = pg.make_vec(pg.Race, 256, **{**recipe.training, **options})
    trained = ppo.PPO(envs, replace(recipe.args, minibatch_size=1024), seed=1)
    test_envs = pg.make_vec(pg.Race, 50, episode_seconds=10.0, **options)
    before = test_envs.task.measures(evaluate(trained.agent.act, test_envs, seed=1))
    while trained.global_step < 300_000:
        trained.iterate()
    after = test_envs.task.measures(evaluate(trained.agent.act, test_envs, seed=1))
    assert before["gates passed"] == 0.0
    assert after["finished [%]"] > 90.0
    assert after["score"] > 20.0


@pytest.mark.slow
def test_the_commands_train_resume_and_fly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    train = ["train", "hover", "--out", str(out), "--every", "0", "--threads", "1"]
    command([*train, "--seed", "4", "--steps", "1", "--option", "position=0.5"])
    text = capsys.readouterr().out
    assert re.search(r"hover: 8,192 steps in [\d.]+ s, seed 4", text)
    assert re.search(r"within 0.1 m for the last 2 s \[%\]\s+\d+\.\d", text)
    assert {each.name for each in out.iterdir()} >= {
        "checkpoint.pt", "policy.onnx", "curve.png", "flight.png"
    }  # fmt: skip
    assert (out / "curve.png").read_bytes().startswith(PNG)
    assert list(out.glob("events.out.tfevents*"))
    with pytest.raises(ValueError, match="--resume continues from it"):
        command([*train, "--steps", "1"])
    with pytest.raises(ValueError, match="expected seed 4"):
        command([*train, "--resume", "--seed", "5"])
    command([*train, "--resume", "--steps", "16000"])
    assert "16,384 steps" in capsys.readouterr().out

    shown = tmp_path / "fly.gif"
    command(["fly", "--policy", str(out / "policy.onnx"), "--episodes", "5", "--out", str(shown)])
    text = capsys.readouterr().out
    assert "hover, trained for 16,384 steps" in text
    assert "5 new episodes" in text
    assert shown.read_bytes().startswith(b"GIF")


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_ctrl_c_saves_the_policy(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = _training.Training.record

    def interrupted(self: Any, values: dict[str, float]) -> None:
        record(self, values)
        signal.raise_signal(number)

    monkeypatch.setattr(_training.Training, "record", interrupted)
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        command(["train", "hover", "--out", str(tmp_path), "--steps", "1e9"])
    text = capsys.readouterr().out
    assert "hover: 8,192 steps" in text
    assert "--resume continues from the checkpoint" in text
    assert policy.Policy.load(tmp_path / "policy.onnx").description.training["steps"] == 8192
    assert signal.getsignal(number) is before


@pytest.mark.slow
def test_the_best_policy_is_saved_instead_of_the_last(
    few_episodes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluations of decreasing merit: the policy is that of the first one, also when resumed."""
    merits = iter(range(100, 0, -1))
    monkeypatch.setattr(pg.Hover, "merit", lambda self, measured: (float(next(merits)),))
    train = ["train", "hover", "--out", str(tmp_path), "--every", "0", "--seed", "3"]
    train += ["--set", "restart_every=1", "--set", "num_envs=64", "--option", "position=0.5"]
    command([*train, "--steps", "1"])
    first = (tmp_path / "policy.onnx").read_bytes()
    kept = policy.Policy.load(tmp_path / "policy.onnx")
    command([*train, "--steps", "2000", "--resume"])
    seen = np.random.default_rng(0).normal(0, 1, (50, 22)).astype(np.float32)
    assert (tmp_path / "policy.onnx").read_bytes() != first  # describes the longer training
    assert np.array_equal(policy.Policy.load(tmp_path / "policy.onnx").act(seen), kept.act(seen))


def test_training_ends_at_the_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    easy = replace(recipes.RECIPES["hover"], goal={"lost [%]": 0.0}, episodes=(5, 5))
    monkeypatch.setitem(recipes.RECIPES, "hover", easy)
    train = ["train", "hover", "--every", "1000", "--set", "num_envs=64", "--steps", "3000"]
    command([*train, "--out", str(tmp_path / "goal")])
    assert "hover: 1,024 steps" in (text := capsys.readouterr().out)
    assert "goal reached" in text
    command([*train, "--out", str(tmp_path / "full"), "--full"])
    assert "hover: 3,072 steps" in (text := capsys.readouterr().out)
    assert "goal reached" not in text


@pytest.mark.slow
def test_several_seeds_give_a_table_and_a_plot(
    few_episodes: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("num_envs = 32\nlearning_rate = 1\nminibatch_size = 64\n")
    train = ["train", "hover", "--out", str(tmp_path), "--seed", "7", "--seeds", "3", "--steps"]
    command([*train, "500", "--settings", str(file), "--set", "learning_rate=1e-3"])
    *_, head, one, two, three, mean, middle, shown = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["seed", "steps", "CPU", "[s]"]
    rows = np.array([[float(cell.replace(",", "")) for cell in row.split()[2:]]
                     for row in (one, two, three)])  # fmt: skip
    assert [row.split()[:2] for row in (one, two, three)] == [[f"{k}", "512"] for k in (7, 8, 9)]
    assert np.allclose([float(x) for x in mean.split()[2:]], rows.mean(axis=0), atol=0.011)
    assert middle.split()[0] == "IQM"
    assert (tmp_path / "seeds.png").read_bytes().startswith(PNG)
    assert str(tmp_path / "seeds.png") in shown
    trained = policy.Policy.load(tmp_path / "seed_8" / "policy.onnx").description.training
    assert trained["settings"] == {"num_envs": 32, "learning_rate": 1e-3, "minibatch_size": 64}


def test_the_interquartile_mean_ignores_outliers() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=20)
    middle = _training_curve.interquartile_mean(values)
    assert np.quantile(values, 0.25) < middle < np.quantile(values, 0.75)
    values[np.argmax(values)] = 1e9
    assert _training_curve.interquartile_mean(values) == middle
    assert _training_curve.interquartile_mean([2.0, 4.0]) == 3.0


def test_training_that_diverges_stops_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    train = ["train", "hover", "--out", str(tmp_path), "--set", "learning_rate=1e30"]
    with pytest.raises(ValueError, match=r"diverged: iteration 0.*lower learning_rate or"):
        command([*train, "--set", "num_envs=64", "--set", "minibatch_size=32"])
    kept = _train_command.read_checkpoint(tmp_path / "checkpoint.pt")
    assert all(each.isfinite().all() for each in kept["learner"]["agent"].values())


@pytest.mark.parametrize("name", [each.name for each in fields(ppo.Args)])
def test_every_setting_can_be_set(name: str) -> None:
    value = {"columns": [0, 3], "convolution": [4], "gamma": 0.5, "gae_lambda": 0.5}.get(name, 3)
    recipe = recipes.with_settings(recipes.RECIPES["race"], {name: value, "num_envs": 5})
    default = getattr(ppo.Args, name)
    assert type(getattr(recipe.args, name)) is type(default)
    assert getattr(recipe.args, name) == (tuple(value) if isinstance(value, list) else value)
    assert recipe.num_envs == 5
    for wrong in (-1, "many", None, [-1], True, float("nan")):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            recipes.with_settings(recipes.RECIPES["race"], {name: wrong})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "hover", "--set", "gama=0.9"], "--set: .* 'gama'; did you mean 'gamma'"),
        (["train", "hover", "--set", "gamma=1.5"], "gamma: expected a finite number > 0 and <= 1"),
        (["train", "hover", "--set", "num_steps=2.5"], "num_steps: expected a whole number"),
        (["train", "hover", "--set", "num_steps=1"], "num_steps: expected .* 2 .*, got 1"),
        (["train", "hover", "--set", "hidden=100000"], "hidden: expected .* 4096.*, got 100000"),
        (["train", "hover", "--set", "num_envs=1000000000"], "a product from 4 to 16,777,216, got"),
        (
            ["train", "hover", "--set", "num_envs=1", "--set", "num_steps=2"],
            "num_envs and num_steps: expected a product from 4 to .*, got 1 and 2",
        ),
        (["train", "hover", "--set", "columns=[99]"], "columns: expected numbers below 22"),
        (
            ["train", "hover", "--set", "memory=8", "--set", "frames=2"],
            "memory = 8, frames = 2: expected one of them",
        ),
        (["train", "hover", "--settings", "bad.onnx"], "bad.onnx: expected a TOML file, Expected"),
        (["train", "hover", "--settings", "none.toml"], "none.toml: expected a TOML file"),
        (["train", "hover", "--seeds", "1"], "--seeds: expected from 2 to 1000, got 1"),
        (["train", "hover", "--seeds", "2", "--resume"], "--resume: expected checkpoint.pt in a"),
        (["train", "hover", "--steps", "0"], "--steps: expected a number >= 1, got 0"),
        (["train", "hover", "--seconds", "nan"], "--seconds: expected a number >= 0"),
        (["train", "hover", "--seed", "-1"], "--seed: expected from 0"),
        (["train", "hover", "--threads", "0"], "--threads: expected from 1 to 256, got 0"),
        (["train", "hover", "--resume"], "--resume: expected .*checkpoint.pt, found none"),
        (["train", "hover", "--option", "tilt"], "--option: expected NAME=VALUE, got 'tilt'"),
        (["train", "hover", "--option", "titl=1"], "there is no 'titl'; did you mean 'tilt'"),
        (["train", "hover", "--option", "tilt=9"], r"tilt: expected a number in \[0, pi\]"),
        (["train", "hover", "--steps", "inf"], "--steps: expected a number below 1e18, got inf"),
        (["train", "hover", "--option", "copy=true"], "--option copy: expected one of the task"),
        (["train", "hover", "--option", "wind=-3"], "wind: expected 0 <= min"),
        (["train", "hover", "--option", "max_episode_steps=0"], "max_episode_steps: expected"),
        (["train", "hove"], "task: expected one of hover, .* got 'hove'; did you mean 'hover'"),
        (["train", "math:sin"], "task 'math:sin': expected a class derived from .*Task"),
        (["train", "math:cosh2"], "task 'math:cosh2': .* has no attribute 'cosh2'"),
        (["train", "nowhere:Task"], "No module named 'nowhere'"),
        (["train", "nowhere:lab/X-v0"], "No module named 'nowhere'"),
        (["train", "hover", "--out", "bad.onnx/a"], "--out .*: expected a folder, bad.onnx is a"),
        (["fly", "--policy", "bad.onnx", "--out", "fly.xyz"], "a name that ends in one of .png"),
        (["fly", "--policy", "none.onnx"], "none.onnx: expected a policy file, or one of hover"),
        (["fly", "--policy", "hovr"], "hovr: expected .* found none; did you mean 'hover'"),
        (["fly", "--policy", "bad.onnx"], "bad.onnx: expected an ONNX model"),
        (["fly", "--policy", "bad.onnx", "--episodes", "0"], "--episodes: expected from 1"),
        (["fly", "--policy", "bad.onnx", "--out", "no/fly.png"], "in a folder that exists"),
    ],
)
def test_invalid_options_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.onnx").write_bytes(b"not a model")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        command(arguments)
    assert {path.name for path in Path().iterdir()} == {"bad.onnx"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"gama = 0.9", "settings.toml: there is no setting 'gama'; did you mean 'gamma'"),
        (b"decay_iterations = 3", "setting 'decay_iterations'; did you mean 'decay_steps'"),
        (b"[ppo]\ngamma = 0.9", "settings.toml: 'ppo': expected a value, got a table"),
        (b"hidden = 0", "settings.toml: hidden: expected a whole number"),
        (
            "gamma = 0.9".encode("utf-16"),
            "settings.toml: expected a TOML file in UTF-8, got UTF-16",
        ),
        (b"gamma = 0.9\ngamma = 0.8", "settings.toml: expected a TOML file, Cannot overwrite"),
    ],
)
def test_invalid_files_of_settings_are_refused(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("settings.toml").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        command(["train", "hover", "--settings", "settings.toml"])
    Path("settings.toml").write_bytes(b"\xef\xbb\xbfgamma = 0.9\r\n")  # with byte order mark
    options = _train_command.TrainOptions(task="hover", settings=Path("settings.toml"))
    assert _train_command._settings(options) == {"gamma": 0.9}


@pytest.mark.parametrize("content", [{"settings": {"task": "hover"}}, {"learner": 1}, [3]])
def test_invalid_checkpoints_are_refused(content: Any, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.pt"
    torch.save(content, file)
    with pytest.raises(ValueError, match=r"checkpoint\.pt: expected a checkpoint of train"):
        command(["train", "hover", "--resume", "--out", str(tmp_path)])


def test_a_failed_write_keeps_the_previous_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.onnx"
    with written_whole(file) as part:
        part.write_bytes(b"old")
    with pytest.raises(TypeError), written_whole(file) as part:
        part.write_bytes("not bytes")  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["policy.onnx"]


def test_lost_vehicles_are_counted(tmp_path: Path) -> None:
    def fall(observations: Any) -> Any:
        return np.tile(np.array([0, 0, 0, -1], dtype=np.float32), (len(observations), 1))

    for n in (1, 3):
        envs = pg.make_vec(pg.Hover, n, bound=2.0)
        result = evaluate(fall, envs, seed=1)
        assert result.lost.all()
        assert envs.task.measures(result)["lost [%]"] == 100.0
        assert result.settled(100.0, 0.01) == 0.0
    with pytest.raises(ValueError, match="max_episode_steps"):
        evaluate(fall, pg.make_vec(pg.Hover, 1, max_episode_steps=0), seed=1)


def test_a_policy_file_contains_the_options_of_actions(tmp_path: Path) -> None:
    spread = {"mass": ("uniform", 0.8, 1.2), "thrust_coefficient": ("normal", 1.9e-6, 1e-8)}
    options = {"action": "velocity", "max_speed": 3.0, "randomize": spread}
    described = policy.describe("hover", options)
    trained = ppo.PPO(described.make_vec(2, copy=False), SMALL, seed=0)
    policy.save(trained.agent, tmp_path / "policy.onnx", described)
    loaded = policy.Policy.load(tmp_path / "policy.onnx")
    assert loaded.description.options["max_speed"] == 3.0
    assert loaded.description.options["max_rates"] == list(pg.Settings.max_rates)
    envs = loaded.make_vec(2)
    assert envs.reset(seed=1)[0].shape == (2, 22)


def test_policies_of_older_versions_can_be_loaded(tmp_path: Path) -> None:
    """These files contain options without effect."""
    trained = small(envs=2)
    described = policy.describe("hover", {})
    assert "max_tilt" not in described.options
    unused = {"history": 8, "max_tilt": 0.7, "max_speed": 5.0}
    older = policy.Description("hover", {**described.options, **unused})
    policy.save(trained.agent, tmp_path / "policy.onnx", older)
    loaded = policy.Policy.load(tmp_path / "policy.onnx")
    assert loaded.description.options.keys() == described.options.keys()
    assert loaded.make_vec(2).reset(seed=1)[0].shape == (2, 22)


def test_a_model_without_a_valid_task_is_refused(tmp_path: Path) -> None:
    import onnx

    trained = small(envs=2)
    file = tmp_path / "policy.onnx"
    policy.save(trained.agent, file, policy.describe("hover", {}))
    model = onnx.load(file)
    model.metadata_props[0].value = '{"task": "swim", "options": {}}'
    onnx.save(model, file)
    with pytest.raises(
        ValueError, match=r"task: expected one of hover, track, race, land, .* got 'swim'"
    ):
        policy.Policy.load(file)
    del model.metadata_props[:]
    onnx.save(model, file)
    with pytest.raises(ValueError, match="expected a policy of `python -m propwash train`"):
        policy.Policy.load(file)
    with pytest.raises(ValueError, match="expected JSON values"):
        policy.describe("track", {"path": pg.Circle(2.0)})


@pytest.mark.slow
def test_a_resumed_training_keeps_an_earlier_best_policy(tmp_path: Path) -> None:
    """Also one that was found after the last restart."""
    out = tmp_path / "hover"
    command(["train", "hover", "--out", str(out), "--steps", "40000", "--every", "20000"])
    before = policy.Policy.load(out / "policy.onnx")
    command(["train", "hover", "--out", str(out), "--resume", "--seconds", "0"])
    after = policy.Policy.load(out / "policy.onnx")
    seen = np.linspace(-1.0, 1.0, 3 * 22, dtype=np.float32).reshape(3, 22)
    assert np.array_equal(before.act(seen), after.act(seen))


@pytest.mark.slow
def test_the_length_of_an_episode_is_an_option(tmp_path: Path) -> None:
    out = str(tmp_path / "hover")
    arguments = ["--steps", "9000", "--every", "9e9", "--option", "episode_seconds=3"]
    command(["train", "hover", "--out", out, *arguments])


def test_the_folders_of_all_seeds_are_checked_before_training(tmp_path: Path) -> None:
    (tmp_path / "seed_1").mkdir()
    (tmp_path / "seed_1" / "checkpoint.pt").write_bytes(b"")
    with pytest.raises((ValueError, SystemExit)):
        command(["train", "hover", "--seeds", "2", "--out", str(tmp_path)])
    assert not (tmp_path / "seed_0").exists()
