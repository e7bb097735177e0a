"""Training of custom tasks, and what remains when a training fails."""

from __future__ import annotations

import errno
import re
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import code_blocks, run_in_order

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")
pytest.importorskip("tqdm")

import propwash.gym as pg  # noqa: E402
from propwash.__main__ import main  # noqa: E402
from propwash.cli import _training  # noqa: E402
from propwash.cli.train import read_checkpoint  # noqa: E402
from propwash.gym import policy, ppo, recipes  # noqa: E402
from propwash.gym.evaluation import Evaluation, evaluate, measures  # noqa: E402
from propwash.gym.policy import Policy  # noqa: E402

SMALL = ["--set", "num_steps=4", "--set", "num_envs=32", "--set", "restart_every=2"]
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PAGE = ROOT / "examples", ROOT / "docs" / "train.md"
REWARDS = ROOT / "docs" / "rewards.md"
STEP = 4 * 32  # steps of an iteration
WRITER = "tensorboard.summary.writer.record_writer"
FEW = replace(recipes.DEFAULT, episodes=(5, 6))


class Rise(pg.Task):
    """Climbs; the faults of derived classes begin in the training, after the first evaluations."""

    recipe = FEW
    episode_seconds = 0.5
    step = 0

    def update(self, state: pg.State) -> None:
        self.step += 1

    def extras(self, state: pg.State) -> Any:
        return state.position[:, 2:]

    def reward(self, state: pg.State) -> Any:
        return state.velocity[:, 2]

    def terminated(self, state: pg.State) -> Any:
        return state.position[:, 2] < -1.0

    def info(self, state: pg.State) -> Any:
        return {"height": state.position[:, 2]}

    def fails(self, state: pg.State) -> bool:
        """Whether the seventh iteration has begun."""
        return state.size == 32 and self.step > 24


class ShapeOfReward(Rise):
    def reward(self, state: pg.State) -> Any:
        return np.zeros(3) if self.fails(state) else super().reward(state)


class NanReward(Rise):
    def reward(self, state: pg.State) -> Any:
        return np.full(state.size, np.nan if self.fails(state) else 0.0)


class TextReward(Rise):
    def reward(self, state: pg.State) -> Any:
        return np.full(state.size, "one") if self.fails(state) else super().reward(state)


class ShapeOfTerminated(Rise):
    def terminated(self, state: pg.State) -> Any:
        return False if self.fails(state) else super().terminated(state)


class WidthOfObservation(Rise):
    def observation(self, state: pg.State) -> Any:
        return np.zeros((state.size, 5 if self.fails(state) else 4))


class NanObservation(Rise):
    def observation(self, state: pg.State) -> Any:
        return np.full((state.size, 4), np.nan if self.fails(state) else 1.0)


class Divides(Rise):
    def update(self, state: pg.State) -> None:
        super().update(state)
        self.rate = 1 / (0 if self.fails(state) else 1)


class Lift(Rise):
    """Succeeds above the start, which random actions reach in some episodes."""

    recipe = replace(FEW, goal={"success [%]": 1.0})

    def info(self, state: pg.State) -> Any:
        return {"height": state.position[:, 2], "success": state.position[:, 2] > -0.01}


class NoReward(Rise):
    reward = pg.Task.reward


class NoMeasures(Rise):
    def measures(self, result: Any) -> dict[str, float]:
        return {}


class TextMerit(Rise):
    def merit(self, measured: Any) -> Any:
        return "good"


class OtherGoal(Rise):
    recipe = replace(FEW, goal={"hight": 1.0})


class NoRecipe(Rise):
    recipe: Any = 3


def last_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Runs a command that must fail; returns its one-line error."""
    assert main(arguments) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("propwash: ")
    return line


@pytest.mark.slow
def test_custom_tasks_are_trained_resumed_and_flown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "lab/Rise-v0" not in gymnasium.registry:
        pg.register("lab/Rise-v0", Rise)
    policies: list[Policy] = []
    for name in (f"{__name__}:Rise", f"{__name__}:lab/Rise-v0", "lab/Rise-v0"):
        out = tmp_path / str(len(policies))
        train = ["train", name, "--out", str(out), *SMALL, "--every", "200"]
        assert main([*train, "--steps", str(3 * STEP)]) == 0
        assert main([*train, "--steps", str(5 * STEP), "--resume"]) == 0
        text = capsys.readouterr().out
        assert f"{name}: {5 * STEP} steps" in text
        for measure in ("return", r"lost \[%\]", "height"):
            assert re.search(rf"{measure} +-?\d", text)
        file = str(out / "policy.onnx")
        assert main(["fly", "--policy", file, "--out", str(tmp_path / "fly.png")]) == 0
        assert "100 new episodes" in capsys.readouterr().out
        policies.append(Policy.load(file))
    seen = np.random.default_rng(0).normal(0, 1, (50, 23)).astype(np.float32)
    assert np.array_equal(policies[0].act(seen), policies[1].act(seen))
    assert np.array_equal(policies[0].act(seen), policies[2].act(seen))
    uninterrupted = tmp_path / "whole"
    train = ["train", f"{__name__}:Rise", "--out", str(uninterrupted), *SMALL, "--every", "200"]
    assert main([*train, "--steps", str(5 * STEP)]) == 0
    whole, again = (
        read_checkpoint(out / "checkpoint.pt")["learner"]["agent"]
        for out in (uninterrupted, tmp_path / "0")
    )
    assert all(torch.equal(whole[name], again[name]) for name in whole)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ShapeOfReward", r"ShapeOfReward\.reward: expected shape \(32,\), got \(3,\)"),
        ("NanReward", r"NanReward\.reward: expected finite rewards, got nan for environment 0"),
        (
            "TextReward",
            "TextReward: expected rewards of float32 and terminations of bool, got <U3 and bool",
        ),
        ("ShapeOfTerminated", r"terminated: expected shape \(32,\), got \(\)"),
        (
            "WidthOfObservation",
            r"WidthOfObservation\.observation: expected .* as in the first one, got .*5",
        ),
        (
            "NanObservation",
            r"NanObservation\.observation: expected finite numbers, got nan in column 0",
        ),
        ("Divides", r"ZeroDivisionError: division by zero \(.*test_train_tasks\.py, line \d+\)"),
    ],
)
def test_a_fault_of_a_task_keeps_checkpoint_and_policy(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", f"{__name__}:{name}", "--out", str(tmp_path), *SMALL]
    train += ["--every", "200", "--steps", str(20 * STEP)]
    line = last_line(capsys, train)
    assert re.search(f"the training stopped at step {6 * STEP}: .*{message}", line)
    assert re.search(rf"policy\.onnx is that of step \d+\..*pt is that of step {6 * STEP}", line)
    assert read_checkpoint(tmp_path / "checkpoint.pt")["learner"]["counts"][1] == 6 * STEP
    assert Policy.load(tmp_path / "policy.onnx").description.task.endswith(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoReward", "NotImplementedError: NoReward.reward: expected in a custom task"),
        ("NoMeasures", r"NoMeasures\.measures: expected a dict of numbers by name, .* got {}"),
        ("TextMerit", r"TextMerit\.merit: expected a tuple of numbers, got 'good'"),
        ("OtherGoal", "goal: there is no measure 'hight'; did you mean 'height'"),
        ("NoRecipe", r"NoRecipe\.recipe: expected a Recipe, got 3"),
    ],
)
def test_invalid_measures_and_recipes_are_refused(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", f"{__name__}:{name}", "--out", str(tmp_path), "--every", "1", *SMALL]
    assert re.search(message, last_line(capsys, [*train, "--steps", str(3 * STEP)]))


@pytest.mark.slow
def test_nan_is_the_lowest_merit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merits = iter([np.nan, -3.0, np.nan, -5.0])
    monkeypatch.setattr(Rise, "merit", lambda self, measured: (next(merits),))
    train = ["train", f"{__name__}:Rise", "--out", str(tmp_path), *SMALL, "--every", "1"]
    assert main([*train, "--steps", str(4 * STEP)]) == 0
    assert Policy.load(tmp_path / "policy.onnx").description.training["best_step"] == 2 * STEP


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "where", ["checkpoint", *(pytest.param(w, marks=pytest.mark.slow) for w in ("policy", "log"))]
)
def test_a_full_disk_ends_training_with_the_files_written_before(
    where: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write, record, count = Path.write_bytes, _training.Training.record, 0

    def counted(self: Any, statistics: dict[str, float]) -> None:
        nonlocal count
        count += 1
        if count == 4 and where == "log":
            monkeypatch.setattr(f"{WRITER}.RecordWriter.write", full_disk)
        record(self, statistics)

    def written(self: Path, data: bytes) -> int:
        if count >= 4 and where in self.name:
            full_disk()
        return write(self, data)

    monkeypatch.setattr(_training.Training, "record", counted)
    monkeypatch.setattr(Path, "write_bytes", written)
    merits = iter(range(100))
    monkeypatch.setattr(Rise, "merit", lambda self, measured: (next(merits),))
    train = ["train", f"{__name__}:Rise", "--out", str(tmp_path), "--every", "1", *SMALL]
    line = last_line(capsys, [*train, "--steps", str(50 * STEP)])
    assert "No space left on device" in line
    steps = [int(each.replace(",", "")) for each in re.findall(r"of step ([\d,]+)", line)]
    checkpoint = read_checkpoint(tmp_path / "checkpoint.pt")
    assert 0 < checkpoint["best"]["step"] <= steps[0] >= 3 * STEP
    assert checkpoint["best"]["step"] == steps[0] or where == "checkpoint"
    assert checkpoint["learner"]["counts"][1] == steps[1] >= 2 * STEP
    Policy.load(tmp_path / "policy.onnx")
    assert not [each for each in tmp_path.iterdir() if ".part" in each.name]
    monkeypatch.undo()
    assert main([*train, "--steps", str(6 * STEP), "--resume"]) == 0


@pytest.mark.slow
def test_a_write_that_fails_is_reported_in_one_line(tmp_path: Path) -> None:
    """The system refuses files of more than 80 kB: the first checkpoint is smaller."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))

    arguments = ["train", "hover", "--out", "out", *SMALL, "--every", "9e9", "--steps", "1e4"]
    ended = subprocess.run(
        [sys.executable, "-m", "propwash", *arguments],
        cwd=tmp_path,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert re.search(r"File too large: '.*checkpoint\.pt'.*pt is that of step 0$", ended.stderr)
    assert read_checkpoint(tmp_path / "out" / "checkpoint.pt")["learner"]["counts"][1] == 0


@pytest.mark.slow
def test_an_interrupted_run_of_several_seeds_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finished seed is read, the interrupted one continued and the other one trained."""
    record, trained = _training.Training.record, []

    def recorded(self: Any, statistics: dict[str, float]) -> None:
        record(self, statistics)
        trained.append((self.seed, self.learner.global_step))
        if trained == first:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_training.Training, "record", recorded)
    first = [(7, STEP), (7, 2 * STEP), (7, 3 * STEP), (8, STEP), (8, 2 * STEP)]
    train = ["train", f"{__name__}:Rise", "--seed", "7", "--seeds", "3", *SMALL, "--every", "200"]
    train += ["--steps", str(3 * STEP)]
    assert main([*train, "--out", str(tmp_path / "a")]) == 130
    assert main([*train, "--out", str(tmp_path / "b"), "--resume"]) == 2
    assert "expected checkpoint.pt in a folder" in capsys.readouterr().err
    assert main([*train, "--out", str(tmp_path / "a"), "--set", "gamma=0.9", "--resume"]) == 2
    assert "--resume: expected set" in capsys.readouterr().err
    assert main([*train, "--out", str(tmp_path / "a"), "--resume"]) == 0
    assert trained[5:] == [(8, 3 * STEP), *((9, k * STEP) for k in (1, 2, 3))]
    resumed = capsys.readouterr().out.splitlines()[-7:-1]
    assert main([*train, "--out", str(tmp_path / "b")]) == 0
    whole = capsys.readouterr().out.splitlines()[-7:-1]

    def numbers(lines: list[str]) -> list[list[str]]:
        return [[cell for k, cell in enumerate(line.split()) if k != 2] for line in lines]

    assert numbers(resumed[1:]) == numbers(whole[1:])  # without the processor time
    assert main([*train[:-1], str(4 * STEP), "--out", str(tmp_path / "b"), "--resume"]) == 0
    assert [seed for seed, step in trained if step == 4 * STEP] == [7, 8, 9]


@pytest.mark.slow
def test_seeds_added_by_a_resumed_run_have_the_settings_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", f"{__name__}:Rise", "--steps", str(STEP), "--out", str(tmp_path)]
    assert main([*train, "--seeds", "2", *SMALL, "--set", "hidden=5"]) == 0
    assert main([*train, "--seeds", "3", "--resume"]) == 0
    files = [tmp_path / f"seed_{seed}" / "checkpoint.pt" for seed in range(3)]
    settings = [read_checkpoint(file)["settings"] for file in files]
    assert settings == [{**settings[0], "seed": seed} for seed in range(3)]
    assert "hidden" in settings[2]["set"]
    assert main([*train[:-1], str(tmp_path / "other"), "--seed", "1", *SMALL]) == 0
    files[1].write_bytes((tmp_path / "other" / "checkpoint.pt").read_bytes())
    capsys.readouterr()
    assert main([*train, "--seeds", "3", "--resume"]) == 2
    assert "expected the settings" in capsys.readouterr().err


@pytest.mark.slow
def test_evaluations_are_reported_in_lines_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", f"{__name__}:Rise", "--out", str(tmp_path), *SMALL, "--every", str(STEP)]
    assert main([*train, "--steps", str(3 * STEP)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    for k, line in enumerate(lines, start=1):
        assert re.search(
            rf"Rise, seed 0: {k * STEP} steps, [\d.]+ s; evaluation: return -?\d", line
        )


@pytest.mark.slow
def test_success_is_reported_selects_the_policy_and_ends_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = ["train", f"{__name__}:Lift", "--out", str(tmp_path), *SMALL, "--every", str(STEP)]
    assert main([*train, "--steps", str(60 * STEP)]) == 0
    said = capsys.readouterr()
    lines = said.err.splitlines()
    number = r"-?[\d.e+-]+"
    for line in lines:
        assert re.search(
            rf"evaluation: success \[%\] {number}, return {number}, lost \[%\] {number}, .*"
            rf"height {number}; goal: success \[%\] 1$",
            line,
        )
    success = [float(line.split("success [%] ")[1].split(",")[0]) for line in lines]
    assert len(success) < 60
    assert [each >= 1.0 for each in success] == [False] * (len(success) - 1) + [True]
    assert "goal reached: success [%] 1" in said.out
    task = Lift()
    assert task.merit({"success [%]": 2.0, "return": 1.0}) > task.merit(
        {"success [%]": 2.0, "return": 0.5}
    )


@pytest.mark.slow
def test_the_worst_episodes_are_filmed(tmp_path: Path) -> None:
    train = ["train", f"{__name__}:Rise", "--out", str(tmp_path), *SMALL, "--every", str(STEP)]
    assert main([*train, "--steps", str(2 * STEP), "--video"]) == 0
    films = sorted(tmp_path.glob("worst_*.gif"))
    assert [each.name for each in films] == [f"worst_{k * STEP:010d}.gif" for k in (1, 2)]
    assert all(each.read_bytes().startswith(b"GIF") for each in films)


@pytest.mark.parametrize(
    ("infos", "lost", "worst"),
    [
        ({}, [0, 0, 1, 0], [2, 1, 3, 0]),
        ({"success": np.array([True, False, True, False])}, [0, 0, 1, 0], [1, 3, 2, 0]),
        ({"finished": np.array([True, False, True, True])}, [1, 1, 1, 0], [1, 2, 3, 0]),
    ],
)
def test_the_worst_episodes_lack_success_and_have_low_returns(
    infos: dict[str, Any], lost: list[int], worst: list[int]
) -> None:
    empty = np.zeros((1, 4), dtype=np.float32)
    returns = np.array([4.0, 1.0, 2.0, 3.0], dtype=np.float32)
    result = Evaluation(
        empty[0, :1], empty, empty, empty, empty, returns, np.array(lost, dtype=np.bool_), infos
    )
    assert result.worst(4).tolist() == worst
    assert result.worst(2).tolist() == worst[:2]


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="examples are missing")
def test_the_example_task_is_learnt_with_the_default_recipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Untrained policies leave the bounds; trained ones reach targets."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    described = policy.describe("custom_task:Chase", {"frame": "body", "substeps": 30})
    trained = ppo.PPO(described.make_vec(1024, copy=False), recipes.DEFAULT.args, seed=1)
    test_envs = described.make_vec(100)
    before = measures(test_envs.task, evaluate(trained.agent.act, test_envs, seed=2))
    while trained.global_step < 500_000:
        trained.iterate()
    after = measures(test_envs.task, evaluate(trained.agent.act, test_envs, seed=2))
    assert before["lost [%]"] > 90.0
    assert after["lost [%]"] < 20.0
    assert after["return"] > before["return"] + 8.0
    assert after["reached"] > 1.0


@pytest.mark.skipif(not REWARDS.exists(), reason="docs/rewards.md is missing")
def test_the_code_of_the_page_about_rewards_runs() -> None:
    run_in_order(code_blocks(REWARDS, "python"), "docs/rewards.md")


@pytest.mark.skipif(not PAGE.exists(), reason="docs/train.md is missing")
def test_the_task_of_the_page_has_a_recipe() -> None:
    (code,) = [text for _, text in code_blocks(PAGE, "python") if "class Climb" in text]
    names: dict[str, Any] = {}
    exec(code, names)
    task = names["Climb"]
    assert isinstance(task.recipe, recipes.Recipe)
    result = evaluate(lambda seen: np.zeros((len(seen), 4), np.float32), pg.make_vec(task, 3), 1)
    assert task.recipe.goal.keys() <= measures(task(), result).keys()
