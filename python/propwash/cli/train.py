"""`python -m propwash train`: trains a policy and saves it (docs/train.md)."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from propwash import _checks as checks
from propwash import viz
from propwash._checks import shown
from propwash._files import check_folder, read_bytes, read_toml
from propwash.cli import _training_curve
from propwash.cli._options import add_command, check_range, option
from propwash.cli._shared import EnvironmentOptions, pairs, saved
from propwash.cli._training import CHECKPOINT, FLIGHT, TRADEOFF, Training
from propwash.cli.fly import changes
from propwash.viz import video as _video

SEEDS = "seeds.png"
METHODS = ("ppo", "shac", "bptt", "imitate")
PACKAGES = ("torch", "tqdm", "tensorboard", "onnx", "onnxruntime", "gymnasium")


@dataclass
class TrainOptions(EnvironmentOptions):
    """Options of the command."""

    task: str = option(
        "hover, track, race, land, forest, module:Class, or the id of a registered task",
        positional=True,
    )
    method: Literal["ppo", "shac", "bptt", "imitate"] | None = option(
        "PPO, gradients of the physics, or imitation of a teacher (default: by task)"
    )
    out: Path | None = option("output folder (default: train_TASK)")
    observation: Literal["state", "sensors", "imu", "depth", "grey", "rgb"] | None = option(
        "what the policy observes (default: by task; docs/gym.md)"
    )
    seed: int | None = option("seed of all random numbers (default: 0)", low=0, high=2**31 - 1)
    seeds: int | None = option(
        "train with N seeds from --seed on; print a table", metavar="N", low=2, high=1000
    )
    steps: float | None = option("max environment steps (default: by task)")
    seconds: float = option("time limit of training (default: none)", math.inf)
    threads: int | None = option("threads of the training (default: 1)", low=1, high=256)
    resume: bool = option("continue from the checkpoint", False)
    every: float | None = option("steps between evaluations (default: by task)")
    video: bool = option("write the worst episodes of each evaluation as GIF", False)
    full: bool = option(
        "do not stop at the goal; forest by bptt: train a larger network for longer", False
    )
    set: list[str] = option(
        "setting of the method (docs/train.md), value in JSON; may be repeated",
        [],
        metavar="NAME=VALUE",
    )
    settings: Path | None = option(
        "settings of the method in TOML; --set takes priority", metavar="FILE"
    )


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "train a neural network to hover, track, race, land, fly a forest or a custom task"
    add_command(commands, "train", about, TrainOptions, run)


def run(options: TrainOptions) -> None:
    """Runs the command."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise ImportError(f'train needs {package}: pip install "propwash[gym,torch]"')
    _check(options)
    from propwash.gym import recipes

    # raises an error for an unknown task
    recipes.recipe(options.task, method=_method(options))
    name = re.split(r"[:/]", options.task)[-1].lower()
    out = options.out or Path(f"train_{name}")
    check_folder(out)
    if options.seeds is None:
        _train(options, out, {})
    else:
        _run_seeds(options, out, options.seeds)


def _train(
    options: TrainOptions, out: Path, common: Mapping[str, Any]
) -> tuple[Training, dict[str, float]]:
    """Trains once; returns the training and its results.

    common: settings of other seeds that replace those of the options.
    """
    settings = {**_identity(options), **common}
    checkpoint = _checkpoint(options, settings, out)
    settings = checkpoint["settings"] if checkpoint else settings
    try:
        training = Training(settings, options, out, checkpoint)
    except TypeError as error:  # an unknown option
        raise ValueError(str(error)) from error
    finished = training.finished() if options.seeds is not None else {}
    return training, finished or training.run()


def _method(options: TrainOptions) -> str:
    from propwash.gym.recipes import default_method

    return options.method or default_method(options.task)


def _is_larger(options: TrainOptions) -> bool:
    """Whether --full selects another network."""
    from propwash.gym.recipes import recipe

    return options.full and bool(recipe(options.task, method=_method(options)).larger)


def _identity(options: TrainOptions) -> dict[str, Any]:
    """Options that a checkpoint must share with the command that resumes it."""
    return {
        "task": options.task,
        "method": _method(options),
        "larger": _is_larger(options),
        "seed": options.seed or 0,
        "threads": options.threads or 1,
        "changes": json.dumps(_changes(options), sort_keys=True),
        "set": json.dumps(_settings(options), sort_keys=True),
    }


def _changes(options: TrainOptions) -> dict[str, Any]:
    """Options of task and environments from --option and --observation."""
    found = changes(options.option)
    if options.observation is not None:
        if found.get("observation", options.observation) != options.observation:
            raise ValueError(
                f"--observation {options.observation}: expected the same as --option, got "
                f"{found['observation']!r:.50}"
            )
        found["observation"] = options.observation
    return found


def _settings(options: TrainOptions) -> dict[str, Any]:
    """Settings of the method from --settings and --set."""
    from propwash.gym.recipes import recipe, with_settings

    found: dict[str, Any] = {}
    sources = {"--set": pairs("--set", options.set)}
    if options.settings is not None:
        read = read_toml(options.settings, ValueError)
        sources = {f"--settings {options.settings}": read, **sources}
    for source, values in sources.items():
        found |= values
        try:
            with_settings(recipe(options.task, method=_method(options)), found)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from error
    return found


def _run_seeds(options: TrainOptions, out: Path, count: int) -> None:
    """Trains with several seeds, each in a folder; prints a table and writes a plot."""
    first = options.seed or 0
    check_range("seed + seeds - 1", first + count - 1, 0, 2**31 - 1)
    runs = []
    common: dict[str, Any] = {}
    for seed in range(first, first + count):
        folder = out / f"seed_{seed}"
        resume = options.resume and (folder / CHECKPOINT).exists()
        each = replace(options, seed=seed, resume=resume)
        checkpoint = _checkpoint(each, _identity(each), folder)  # raises before any training
        if checkpoint:
            settings = {k: v for k, v in checkpoint["settings"].items() if k != "seed"}
            common = common or settings
            if settings != common:
                raise ValueError(
                    f"--resume: expected the settings {shown(common)} of the other seeds in "
                    f"{folder / CHECKPOINT}, got {shown(settings)}; remove the folder {folder}"
                )
        runs.append((each, folder))
    if options.resume and not any(each.resume for each, _ in runs):
        raise ValueError(
            f"--resume: expected {CHECKPOINT} in a folder {out / 'seed_K'}, found none; start "
            "without --resume"
        )
    rows, curves = [], {}
    for each, folder in runs:
        training, row = _train(each, folder, common)
        rows.append(row)
        curves[training.seed] = training.curve
    print(_training_curve.seeds_table(rows))
    title = f"{options.task}: {count} seeds"
    plot = saved(lambda: _training_curve.seeds_figure(curves, title), out / SEEDS)
    print(f"  curves        {plot}", flush=True)
    named = {f"seed {seed}": row for seed, row in zip(curves, rows, strict=True)}
    training.write_tradeoff(named, out / TRADEOFF)


def _check(options: TrainOptions) -> None:
    for name, low in (("steps", 1.0), ("seconds", 0.0), ("every", 0.0)):
        value = getattr(options, name)
        if value is not None and not value >= low:
            raise ValueError(f"--{name}: expected a number >= {low:g}, got {value:g}")
    for name in ("steps", "every"):
        value = getattr(options, name)
        if value is not None and not value < 1e18:
            raise ValueError(f"--{name}: expected a number below 1e18, got {value:g}")
    if options.viz == "rerun":
        viz.check(Path(f"{FLIGHT}.rrd"), "rerun")
    if options.video:
        _video.check(f"{FLIGHT}.gif")
        viz.require_matplotlib()


def _check_new(out: Path) -> None:
    if (out / CHECKPOINT).exists():
        raise ValueError(
            f"--out {out}: expected a folder without a {CHECKPOINT}; --resume continues from "
            "it, another --out starts anew"
        )


def _checkpoint(
    options: TrainOptions, settings: dict[str, Any], out: Path
) -> dict[str, Any] | None:
    """Returns the checkpoint of --resume. Raises ValueError if it contradicts the options."""
    file = out / CHECKPOINT
    if not options.resume:
        _check_new(out)
        return None
    if not file.is_file():
        raise ValueError(f"--resume: expected {file}, found none; start without --resume")
    checkpoint = read_checkpoint(file)
    previous = checkpoint["settings"]
    chosen = {
        "task": True,
        "method": options.method is not None,
        "larger": _is_larger(options),
        "seed": options.seed is not None,
        "threads": options.threads is not None,
        "changes": bool(options.option or options.observation),
        "set": bool(options.set or options.settings),
    }
    for name, is_chosen in chosen.items():
        if is_chosen and settings[name] != previous[name]:
            raise ValueError(
                f"--resume: expected {name} {previous[name]} as in {file}, got {settings[name]}; "
                "omit it"
            )
    return checkpoint


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Reads a checkpoint of train.

    Raises ValueError that names the file if it is not one. The learner checks its own part.
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
    from propwash.gym.recipes import recipe

    settings = checkpoint["settings"]
    checks.whole_number("seed", settings["seed"], 0, 2**31 - 1)
    checks.whole_number("threads", settings["threads"], 1, 256)
    checks.flag("larger", settings["larger"])
    if settings["method"] not in METHODS:
        raise ValueError(f"the method {shown(settings['method'])}")
    recipe(settings["task"], method=settings["method"])
    for name in ("changes", "set"):
        if not isinstance(json.loads(settings[name]), dict):
            raise ValueError(f"the {name} {shown(settings[name])}")
    best = checkpoint["best"]
    if best:
        _merit, _step, _agent = list(map(float, best["merit"])), int(best["step"]), best["agent"]
    for name in ("seconds", "cpu"):
        if not checks.number(name, checkpoint[name]) >= 0.0:
            raise ValueError(f"{name} {shown(checkpoint[name])}")
    _check_curve(checkpoint["curve"])
    results = checkpoint["results"]
    if results:
        _row = {str(name): float(value) for name, value in results["row"].items()}
        checks.flag("reached", results["reached"])
        _check_curve(results["curve"])
    if not isinstance(checkpoint["learner"], dict):
        raise ValueError("an invalid state of the learner")


def _check_curve(curve: Any) -> None:
    rewards, evaluations, measure = curve
    for points in (rewards, *evaluations.values()):
        for point in points:
            _steps, _seconds, _value = map(float, point)
    if not isinstance(measure, str):
        raise ValueError(f"the measure {shown(measure)}")
