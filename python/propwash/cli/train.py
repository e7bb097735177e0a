"""`python -m propwash train`: trains a policy with PPO and saves it (docs/train.md)."""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import signal
import sys
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from propwash import _checks as checks
from propwash import viz
from propwash._checks import shown
from propwash._files import read_bytes
from propwash.cli import _training_curve
from propwash.cli._shared import add_environment, check_range, saved
from propwash.cli.fly import changes

TASKS = ("hover", "track", "race")
CHECKPOINT, POLICY, CURVE, FLIGHT = "checkpoint.pt", "policy.onnx", "curve.png", "flight"
EPISODES = 200
"""Episodes of an evaluation during training."""
FINAL = {"hover": 1000, "track": 1000, "race": 200}
"""Episodes of the last evaluation."""
EVALUATION_SEED = 2**31
"""Added to the seed of the training for evaluations."""
PACKAGES = ("torch", "tqdm", "tensorboard", "onnx", "onnxruntime", "gymnasium")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "train", help="train a neural network to hover, track or race (docs/train.md)"
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--out", type=Path, help="output folder (default: train_TASK)")
    parser.add_argument("--seed", type=int, help="seed of all random numbers (default: 0)")
    parser.add_argument("--steps", type=float, help="total environment steps (default: by task)")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="time limit of training (default: none)"
    )
    parser.add_argument("--threads", type=int, help="of environments and PyTorch (default: 1)")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument(
        "--every", type=float, default=2.0, help="s, between evaluations (default: %(default)g)"
    )
    add_environment(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f'train needs {package}: pip install "propwash[gym,torch]"')
    _check(options)
    out = options.out or Path(f"train_{options.task}")
    checkpoint = _checkpoint(options, out)
    try:
        training = Training(options, out, checkpoint)
    except TypeError as error:  # an unknown option
        raise ValueError(str(error)) from error
    training.run()


def _check(options: argparse.Namespace) -> None:
    for name, low in (("steps", 1.0), ("seconds", 0.0), ("every", 0.0)):
        value = getattr(options, name)
        if value is not None and not value >= low:
            raise ValueError(f"--{name}: expected a number >= {low:g}, got {value:g}")
    if options.steps is not None and not options.steps < 2**62:
        raise ValueError(f"--steps: expected a finite number, got {options.steps:g}; see --seconds")
    if options.viz == "rerun":
        viz.check(Path(f"{FLIGHT}.rrd"), "rerun")
    check_range("threads", options.threads, 1, 256)
    check_range("seed", options.seed, 0, 2**31 - 1)


def _checkpoint(options: argparse.Namespace, out: Path) -> dict[str, Any] | None:
    """Returns the checkpoint of --resume. Raises ValueError if it does not fit the options."""
    file = out / CHECKPOINT
    if not options.resume:
        if file.exists():
            raise ValueError(
                f"--out {out}: expected a folder without a {CHECKPOINT}; --resume continues from "
                "it, another --out starts anew"
            )
        return None
    if not file.is_file():
        raise ValueError(f"--resume: expected {file}, found none; start without --resume")
    checkpoint = read_checkpoint(file)
    previous = checkpoint["settings"]
    present = {"task": options.task, "seed": options.seed, "threads": options.threads}
    present["changes"] = json.dumps(changes(options.option)) if options.option else None
    for name, value in present.items():
        if value is not None and value != previous[name]:
            raise ValueError(
                f"--resume: expected {name} {previous[name]} as in {file}, got {value}; omit it"
            )
    return checkpoint


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Reads a checkpoint of train.

    Raises ValueError, with the file, if it is not one. The learner checks its own part.
    """
    import torch

    data = io.BytesIO(read_bytes(file, "a checkpoint of train", ValueError))
    try:
        checkpoint: dict[str, Any] = torch.load(data, weights_only=True)
        _check_parts(checkpoint)
    except Exception as error:  # pickle, zip and torch raise many types
        raise ValueError(f"{file}: expected a checkpoint of train, got {error!s:.100}") from error
    return checkpoint


def _check_parts(checkpoint: dict[str, Any]) -> None:
    """Raises KeyError, TypeError or ValueError for invalid parts."""
    from propwash.gym.recipes import RECIPES

    settings, curve = checkpoint["settings"], checkpoint["curve"]
    for name, low, high in (("seed", 0, 2**31 - 1), ("threads", 1, 256)):
        checks.whole_number(name, settings[name], low, high)
    if settings["task"] not in RECIPES:
        raise ValueError(f"the task {shown(settings['task'])}")
    if not isinstance(json.loads(settings["changes"]), dict):
        raise ValueError(f"the changes {shown(settings['changes'])}")
    if not checks.number("seconds", checkpoint["seconds"]) >= 0.0:
        raise ValueError(f"{shown(checkpoint['seconds'])} seconds")
    rewards, evaluations, measure = curve
    for points in (rewards, evaluations):
        for point in points:
            _steps, _seconds, _value = map(float, point)
    if not isinstance(measure, str) or not isinstance(checkpoint["ppo"], dict):
        raise ValueError("another curve or learner")


class Training:
    """One run of the command."""

    def __init__(
        self, options: argparse.Namespace, out: Path, checkpoint: dict[str, Any] | None
    ) -> None:
        import torch

        from propwash.gym import policy, ppo
        from propwash.gym.evaluation import check_evaluable
        from propwash.gym.recipes import RECIPES

        self.out, self.every, self.viz = out, options.every, options.viz
        self.settings: dict[str, Any] = {
            "task": options.task,
            "seed": options.seed or 0,
            "threads": options.threads or 1,
            "changes": json.dumps(changes(options.option)),
        }
        if checkpoint is not None:
            self.settings = checkpoint["settings"]
        self.task, self.seed = self.settings["task"], self.settings["seed"]
        recipe, threads = RECIPES[self.task], self.settings["threads"]
        others = json.loads(self.settings["changes"])
        self.steps, self.seconds = options.steps or recipe.steps, options.seconds
        self.description = policy.describe(self.task, {**recipe.options, **others})
        torch.set_num_threads(threads)
        envs = self.description.make_vec(
            recipe.num_envs, copy=False, threads=threads, **{**recipe.training, **others}
        )
        flown: dict[str, Any] = {"copy": False, "threads": threads}
        self.between = self.description.make_vec(EPISODES, **flown)
        check_evaluable(self.between)
        self.last = self.description.make_vec(FINAL[self.task], **flown)
        # the task's extras follow the action, for which the recipes assume four columns
        more = math.prod(envs.single_action_space.shape or ()) - 4
        columns = tuple(each + more * (each > 18) for each in recipe.args.columns)
        self.ppo = ppo.PPO(envs, replace(recipe.args, columns=columns), self.seed)
        self.curve = _training_curve.Curve()
        self.before = 0.0
        if checkpoint is not None:
            try:
                self.ppo.load_state_dict(checkpoint["ppo"])
            except Exception as error:  # torch raises many types
                raise ValueError(
                    f"{out / CHECKPOINT}: expected that of this version, got {error!s:.200}"
                ) from error
            self.curve = _training_curve.Curve(*checkpoint["curve"])
            self.before = checkpoint["seconds"]
        self.stopped = False

    @property
    def elapsed(self) -> float:
        """Time of training [s], evaluations included."""
        return self.before + time.perf_counter() - self.began

    def run(self) -> None:
        """Trains until the budget is spent, or Ctrl-C."""
        from torch.utils.tensorboard.writer import SummaryWriter

        self.out.mkdir(parents=True, exist_ok=True)
        self.began = time.perf_counter()
        self.next_evaluation = self.before + self.every
        if self.ppo.iteration == 0:
            self.save_checkpoint()
        with (
            # removes the steps that a resumed run repeats
            SummaryWriter(str(self.out), purge_step=self.ppo.global_step or None) as self.log,
            import_module("tqdm").tqdm(
                total=round(self.steps),
                initial=self.ppo.global_step,
                unit="step",
                unit_scale=True,
                desc=self.task,
                disable=not sys.stderr.isatty(),
            ) as self.bar,
            _Interrupt(self),
        ):
            while (
                self.ppo.global_step < self.steps
                and not self.stopped
                and self.elapsed - self.before < self.seconds
            ):
                self.record(self.ppo.iterate())
        self.finish()
        if self.stopped:
            print("  stopped; --resume continues from the checkpoint")
            raise KeyboardInterrupt

    def record(self, statistics: dict[str, float]) -> None:
        """Logs an iteration, evaluates the policy and saves a checkpoint when due."""
        trained = self.ppo
        step, seconds = trained.global_step, self.elapsed
        self.curve.rewards.append((step, seconds, statistics["reward"]))
        for name, value in statistics.items():
            self.log.add_scalar(f"train/{name}", value, step)
        self.bar.set_postfix(reward=f"{statistics['reward']:.2f}", refresh=False)
        self.bar.update(step - self.bar.n)
        if seconds >= self.next_evaluation:
            for name, value in self.evaluate(self.between)[0].items():
                self.log.add_scalar(f"evaluation/{name}", value, step)
            # evaluations may not take more than a tenth of the time
            self.next_evaluation = seconds + max(self.every, 10.0 * (self.elapsed - seconds))
        if trained.iteration % trained.args.restart_every == 0:
            self.save_checkpoint()

    def evaluate(self, envs: Any) -> tuple[dict[str, float], Any]:
        """Evaluates the policy in new episodes; returns measures and flights."""
        from propwash.gym.evaluation import evaluate, measures

        flown = evaluate(self.ppo.agent.act, envs, EVALUATION_SEED + self.seed)
        measured = measures(self.task, flown)
        self.curve.measure, value = next(iter(measured.items()))
        self.curve.evaluations.append((self.ppo.global_step, self.elapsed, value))
        return measured, flown

    def save_checkpoint(self) -> None:
        """Writes the checkpoint atomically."""
        import torch

        from propwash._files import written_whole

        content = io.BytesIO()
        torch.save(
            {
                "settings": self.settings,
                "ppo": self.ppo.state_dict(),
                "curve": (self.curve.rewards, self.curve.evaluations, self.curve.measure),
                "seconds": self.elapsed,
            },
            content,
        )
        with written_whole(self.out / CHECKPOINT) as part:
            part.write_bytes(content.getvalue())

    def finish(self) -> None:
        """Writes the policy, the last evaluation and the figures."""
        from propwash.gym import policy

        seconds, steps = self.elapsed, self.ppo.global_step
        policy.save(self.ppo.agent, self.out / POLICY, self.description)
        measured, flown = self.evaluate(self.last)
        training = {"seed": self.seed, "steps": steps, "seconds": round(seconds, 2), **measured}
        # JSON has no infinity or NaN
        finite = {name: value for name, value in training.items() if math.isfinite(value)}
        policy.save(self.ppo.agent, self.out / POLICY, replace(self.description, training=finite))
        print(f"{self.task}: {steps:,} steps in {seconds:.1f} s, seed {self.seed}")
        print(_training_curve.table(measured, FINAL[self.task]))
        print(f"  policy        {self.out / POLICY}")
        title = f"{self.task}, seed {self.seed}"
        curve = saved(lambda: self.curve.figure(title), self.out / CURVE)
        print(f"  curve         {curve}")
        suffix = ".rrd" if self.viz == "rerun" else ".png"
        shown = _training_curve.show_flights(
            flown, self.out / f"{FLIGHT}{suffix}", self.viz, self.last, title
        )
        print(f"  flight        {shown}", flush=True)


class _Interrupt:
    """Ctrl-C ends training after the iteration; a second Ctrl-C ends it immediately."""

    def __init__(self, training: Training) -> None:
        self._training = training

    def __enter__(self) -> None:
        try:
            self._before: Any = signal.signal(signal.SIGINT, self._stop)
        except ValueError:  # not in the main thread
            self._before = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._training.stopped:
            raise KeyboardInterrupt
        self._training.stopped = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
