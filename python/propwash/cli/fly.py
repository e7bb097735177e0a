"""`python -m propwash fly`: flies and shows a trained policy (docs/train.md)."""

from __future__ import annotations

import json
import math
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from propwash import viz
from propwash._files import check_file
from propwash.cli import _training_curve
from propwash.cli._options import add_command, option
from propwash.cli._shared import IMAGE_SUFFIXES, EnvironmentOptions, pairs
from propwash.viz import video as _video

_FIXED = {
    "num_envs": "the command sets it",
    "copy": "the command sets it",
    "autoreset_mode": "the command sets it",
    "index": "use --seed",
    "threads": "use --threads of train",
}
"""Options that --option cannot set, and alternatives."""


@dataclass
class FlyOptions(EnvironmentOptions):
    """Options of the command."""

    policy: str = option("the policy file, .onnx, or a name of docs/zoo.md", required=True)
    seed: int = option("seed of the episodes", 0, low=0, high=2**63 - 1)
    episodes: int = option("number of episodes", 100, low=1, high=100_000)
    out: Path = option("image, video (.gif, .mp4) or recording (.rrd)", Path("fly.png"))
    json: bool = option("print the table as JSON", False)


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "fly a policy that `train` wrote, and show it (docs/train.md)"
    add_command(commands, "fly", about, FlyOptions, run)


def run(options: FlyOptions) -> None:
    """Runs the command."""
    is_video = options.out.suffix.lower() in _video.SUFFIXES
    if is_video:
        if options.viz is not None or not options.out.resolve().parent.is_dir():
            raise ValueError(
                f"--out {options.out}: expected a file in a folder that exists, and for a video no "
                "--viz"
            )
        _video.check(options.out)
        viz.require_matplotlib()
    elif options.out.suffix.lower() == ".rrd" or options.viz is not None:
        viz.check(options.out, options.viz)
    else:
        check_file(options.out)
        if options.out.suffix.lower() not in IMAGE_SUFFIXES:
            known = ", ".join((*IMAGE_SUFFIXES, *_video.SUFFIXES, ".rrd"))
            raise ValueError(f"--out {options.out}: expected a name that ends in one of {known}")
    from propwash.gym.evaluation import evaluate, measures
    from propwash.gym.policy import DifferenceWarning, Policy

    policy, changed = Policy.load(options.policy), changes(options.option)
    try:
        with warnings.catch_warnings(action="ignore", category=DifferenceWarning):
            envs = policy.make_vec(options.episodes, copy=False, **changed)
    except TypeError as error:  # an unknown option
        raise ValueError(str(error)) from error
    for line in policy.differences(**changed):
        print(f"propwash: {line}", file=sys.stderr)
    recorded = evaluate(policy, envs, options.seed)
    measured = measures(envs.task, recorded)
    if options.json:
        print(json.dumps({n: v if math.isfinite(v) else None for n, v in measured.items()}))
    else:
        trained = policy.description.training
        print(
            f"{options.policy}: {policy.description.task}, trained for "
            f"{trained.get('steps', 0):,} steps in {trained.get('seconds', 0):g} s"
        )
        print(_training_curve.table(measured, options.episodes))
    title = f"{policy.description.task} by {Path(options.policy).name}, seed {options.seed}"
    if is_video:
        from propwash.cli import _flight_video

        count = _video.write(
            options.out, _flight_video.video(recorded, envs, title), _flight_video.RATE
        )
        shown = f"video {options.out}: {count} images"
    else:
        shown = _training_curve.show_flights(recorded, options.out, options.viz, envs, title)
    if not options.json:
        print(f"  {shown}", flush=True)


def changes(texts: list[str]) -> dict[str, Any]:
    """Parses the values of --option."""
    options = pairs("--option", texts)
    for name in options.keys() & _FIXED.keys():
        raise ValueError(
            f"--option {name}: expected one of the task or its environments; {_FIXED[name]}"
        )
    return options
