"""`python -m propwash train`: teaches a task, and keeps what it taught (docs/train.md)."""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import signal
import sys
import time
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from propwash import _checks as given
from propwash import viz
from propwash._checks import shown
from propwash._files import read_bytes
from propwash.cli import _training_curve
from propwash.cli.fly import changes

TASKS = ("hover", "track", "race")
CHECKPOINT, POLICY, CURVE, FLIGHT = "checkpoint.pt", "policy.onnx", "curve.png", "flight"
EPISODES = 200
"""Of an evaluation between; the last one is of `FINAL`."""
FINAL = {"hover": 1000, "track": 1000, "race": 200}
EVALUATION_SEED = 2**31
"""Plus that of training: of the evaluations' episodes."""
PACKAGES = ("torch", "tqdm", "tensorboard", "onnx", "onnxruntime", "gymnasium")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "train", help="teach a neural network to hover, track or race (docs/train.md)"
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument(
        "--out", type=Path, help="the folder for what is written (default: train_TASK)"
    )
    parser.add_argument("--seed", type=int, help="of everything that is drawn (default: 0)")
    parser.add_argument("--steps", type=float, help="of environments, in all (default: the task's)")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="after which training ends (default: none)"
    )
    parser.add_argument("--threads", type=int, help="of environments and PyTorch (default: 1)")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    parser.add_argument(
        "--every", type=float, default=2.0, help="s, between evaluations (default: %(default)g)"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the task or its environments (docs/gym.md), a value in JSON; may be repeated",
    )
    parser.add_argument(
        "--viz", choices=("matplotlib", "rerun"), help="what shows the flight (default: matplotlib)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Trains, tells, keeps."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f'train needs {package}: pip install "propwash[gym,torch]"')
    _check(options)
    out = options.out or Path(f"train_{options.task}")
    kept = _kept(options, out)
    try:
        training = Training(options, out, kept)
    except TypeError as error:  # an option that there is not
        raise ValueError(str(error)) from error
    training.run()


def _check(options: argparse.Namespace) -> None:
    for name, least in (("steps", 1.0), ("seconds", 0.0), ("every", 0.0)):
        value = getattr(options, name)
        if value is not None and not value >= least:
            raise ValueError(f"--{name}: expected a number from {least:g} on, got {value:g}")
    if options.steps is not None and not options.steps < 2**62:
        raise ValueError(f"--steps: expected a finite number, got {options.steps:g}; see --seconds")
    if options.viz == "rerun":
        viz.check(Path(f"{FLIGHT}.rrd"), "rerun")
    if options.threads is not None and not 1 <= options.threads <= 256:
        raise ValueError(f"--threads: expected from 1 to 256, got {options.threads}")
    if options.seed is not None and not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed: expected from 0 to 2147483647, got {options.seed}")


def _kept(options: argparse.Namespace, out: Path) -> dict[str, Any] | None:
    """The checkpoint to go on from. Raises ValueError where folder and options do not agree."""
    file = out / CHECKPOINT
    if not options.resume:
        if file.exists():
            raise ValueError(
                f"--out {out}: expected a folder without a {CHECKPOINT}; --resume goes on from it, "
                "another --out begins anew"
            )
        return None
    if not file.is_file():
        raise ValueError(f"--resume: expected {file}, found none; without --resume it begins anew")
    kept = read_checkpoint(file)
    was = kept["settings"]
    asked = {"task": options.task, "seed": options.seed, "threads": options.threads}
    asked["changes"] = json.dumps(changes(options.option)) if options.option else None
    for name, value in asked.items():
        if value is not None and value != was[name]:
            raise ValueError(
                f"--resume: expected {name} {was[name]} as in {file}, got {value}; leave it out"
            )
    return kept


def read_checkpoint(file: Path) -> dict[str, Any]:
    """The parts of a checkpoint of train.

    Raises ValueError, which names the file, for another file and for parts that train did not
    write. What the parts of the learner hold is checked where they are taken up.
    """
    import torch

    data = io.BytesIO(read_bytes(file, "a checkpoint of train", ValueError))
    try:
        kept: dict[str, Any] = torch.load(data, weights_only=True)
        _check_parts(kept)
    except Exception as error:  # pickle, zip and torch have many kinds
        raise ValueError(f"{file}: expected a checkpoint of train, got {error!s:.100}") from error
    return kept


def _check_parts(kept: dict[str, Any]) -> None:
    """Raises KeyError, TypeError or ValueError for parts of other kinds."""
    from propwash.gym.lessons import LESSONS

    settings, curve = kept["settings"], kept["curve"]
    for name, least, most in (("seed", 0, 2**31 - 1), ("threads", 1, 256)):
        given.whole_number(name, settings[name], least, most)
    if settings["task"] not in LESSONS:
        raise ValueError(f"the task {shown(settings['task'])}")
    if not isinstance(json.loads(settings["changes"]), dict):
        raise ValueError(f"the changes {shown(settings['changes'])}")
    if not given.number("seconds", kept["seconds"]) >= 0.0:
        raise ValueError(f"{shown(kept['seconds'])} seconds")
    rewards, evaluations, measure = curve
    for points in (rewards, evaluations):
        for point in points:
            _steps, _seconds, _value = map(float, point)
    if not isinstance(measure, str) or not isinstance(kept["ppo"], dict):
        raise ValueError("another curve or learner")


class Training:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, out: Path, kept: dict[str, Any] | None) -> None:
        from propwash.gym import policy, ppo
        from propwash.gym.evaluation import refuse_unjudged
        from propwash.gym.lessons import LESSONS

        self.out, self.every, self.viz = out, options.every, options.viz
        self.settings: dict[str, Any] = {
            "task": options.task,
            "seed": options.seed or 0,
            "threads": options.threads or 1,
            "changes": json.dumps(changes(options.option)),
        }
        if kept is not None:
            self.settings = kept["settings"]
        self.task, self.seed = self.settings["task"], self.settings["seed"]
        lesson, threads = LESSONS[self.task], self.settings["threads"]
        others = json.loads(self.settings["changes"])
        self.steps, self.seconds = options.steps or lesson.steps, options.seconds
        self.description = policy.describe(self.task, {**lesson.options, **others})
        _threads(threads)
        envs = self.description.make_vec(
            lesson.num_envs, copy=False, threads=threads, **{**lesson.training, **others}
        )
        flown: dict[str, Any] = {"copy": False, "threads": threads}
        self.between = self.description.make_vec(EPISODES, **flown)
        refuse_unjudged(self.between)
        self.finally_ = self.description.make_vec(FINAL[self.task], **flown)
        # what a task adds to its observations stands after the action, of four numbers mostly
        more = math.prod(envs.single_action_space.shape or ()) - 4
        columns = tuple(each + more * (each > 18) for each in lesson.args.columns)
        self.ppo = ppo.PPO(envs, replace(lesson.args, columns=columns), self.seed)
        self.curve = _training_curve.Curve()
        self.before = 0.0
        if kept is not None:
            try:
                self.ppo.load_state_dict(kept["ppo"])
            except Exception as error:  # torch raises many kinds
                raise ValueError(
                    f"{out / CHECKPOINT}: expected that of this version, got {error!s:.200}"
                ) from error
            self.curve = _training_curve.Curve(*kept["curve"])
            self.before = kept["seconds"]
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
            self.keep()
        with (
            # what a resumed run repeats is not to stand there twice
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
            while self.ppo.global_step < self.steps and not self.is_over:
                self.after(self.ppo.iterate())
        self.finish()
        if self.stopped:
            print("  stopped; --resume goes on from the checkpoint")
            raise KeyboardInterrupt

    @property
    def is_over(self) -> bool:
        """Whether the time is spent, or Ctrl-C came."""
        return self.stopped or self.elapsed - self.before >= self.seconds

    def after(self, told: dict[str, float]) -> None:
        """Of each iteration: counts, logs, evaluates, keeps."""
        trained = self.ppo
        step, seconds = trained.global_step, self.elapsed
        self.curve.add(step, seconds, told["reward"])
        for name, value in told.items():
            self.log.add_scalar(f"train/{name}", value, step)
        self.bar.set_postfix(reward=f"{told['reward']:.2f}", refresh=False)
        self.bar.update(step - self.bar.n)
        if seconds >= self.next_evaluation:
            for name, value in self.evaluate(self.between)[0].items():
                self.log.add_scalar(f"evaluation/{name}", value, step)
            # long episodes may not take more than a tenth of the time
            self.next_evaluation = seconds + max(self.every, 10.0 * (self.elapsed - seconds))
        if trained.iteration % trained.args.restart_every == 0:
            self.keep()

    def evaluate(self, envs: Any) -> tuple[dict[str, float], Any]:
        """Measures of fresh episodes, and their flights."""
        from propwash.gym.evaluation import evaluate, measures

        flown = evaluate(self.ppo.agent.act, envs, EVALUATION_SEED + self.seed)
        told = measures(self.task, flown)
        name, value = next(iter(told.items()))
        self.curve.evaluated(name, self.ppo.global_step, self.elapsed, value)
        return told, flown

    def keep(self) -> None:
        """Writes the checkpoint, whole or not at all."""
        import torch

        from propwash.gym.policy import write_whole

        content = io.BytesIO()
        torch.save(
            {
                "settings": self.settings,
                "ppo": self.ppo.state_dict(),
                "curve": self.curve.parts(),
                "seconds": self.elapsed,
            },
            content,
        )
        write_whole(self.out / CHECKPOINT, content.getvalue())

    def finish(self) -> None:
        """The policy, the last evaluation, pictures."""
        from propwash.gym import policy

        seconds, steps = self.elapsed, self.ppo.global_step
        policy.save(self.ppo.agent, self.out / POLICY, self.description)
        told, flown = self.evaluate(self.finally_)
        training = {"seed": self.seed, "steps": steps, "seconds": round(seconds, 2), **told}
        described = type(self.description)(
            **{**asdict(self.description), "training": _finite(training)}
        )
        policy.save(self.ppo.agent, self.out / POLICY, described)
        print(f"{self.task}: {steps:,} steps in {seconds:.1f} s, seed {self.seed}")
        print(_training_curve.table(told, FINAL[self.task]))
        print(f"  policy        {self.out / POLICY}")
        title = f"{self.task}, seed {self.seed}"
        print(f"  curve         {self.curve.save(self.out / CURVE, title)}")
        suffix = ".rrd" if self.viz == "rerun" else ".png"
        shown = _training_curve.show_flights(
            flown, self.out / f"{FLIGHT}{suffix}", self.viz, self.finally_, title
        )
        print(f"  flight        {shown}", flush=True)


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    """Without what JSON has no word for."""
    return {
        name: value
        for name, value in numbers.items()
        if not isinstance(value, float) or math.isfinite(value)
    }


def _threads(count: int) -> None:
    import torch

    torch.set_num_threads(count)


class _Interrupt:
    """Ctrl-C ends training after the iteration; a second one at once."""

    def __init__(self, training: Training) -> None:
        self._training = training

    def __enter__(self) -> None:
        try:
            self._before: Any = signal.signal(signal.SIGINT, self._stop)
        except ValueError:  # not the main thread
            self._before = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._training.stopped:
            raise KeyboardInterrupt
        self._training.stopped = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
