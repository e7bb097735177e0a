"""`python -m propwash fly`: flies a trained policy, and shows it (docs/train.md)."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _training_curve, _video, plots
from propwash._whole_files import check_file

FILMS = (".gif", ".mp4")
_RATE, _WIDTH, _HEIGHT = 25.0, 480, 240


_PICTURES = (".png", ".svg", ".pdf")
_OWN = {
    "num_envs": "the command chooses their number",
    "copy": "the command chooses it",
    "autoreset_mode": "the command chooses it",
    "index": "take --seed",
    "threads": "take --threads of train",
}
"""Options that are not for --option, and what to take instead."""


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "fly", help="fly a policy that `train` wrote, and show it (docs/train.md)"
    )
    parser.add_argument("--policy", type=Path, required=True, help="the policy's file, .onnx")
    parser.add_argument("--seed", type=int, default=0, help="of the episodes (default: 0)")
    parser.add_argument(
        "--episodes", type=int, default=100, help="that are flown (default: %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("fly.png"),
        help="a picture, a film, .gif or .mp4, or a recording, .rrd (default: %(default)s)",
    )
    parser.add_argument(
        "--viz", choices=("matplotlib", "rerun"), help="what shows it (default: by --out)"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of task or environments other than in training, a value in JSON; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Flies, tells, shows."""
    if not 1 <= options.episodes <= 100_000:
        raise ValueError(f"--episodes: expected from 1 to 100000, got {options.episodes}")
    if not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed: expected a whole number from 0 on, got {options.seed}")
    is_film = options.out.suffix.lower() in FILMS
    if is_film:
        if options.viz is not None or not options.out.resolve().parent.is_dir():
            raise ValueError(
                f"--out {options.out}: expected a file in a folder that exists, and for a film no "
                "--viz"
            )
        _video.check(options.out)
    elif options.out.suffix.lower() == ".rrd" or options.viz is not None:
        plots.check(options.out, options.viz)
    else:
        check_file(options.out)
        if options.out.suffix.lower() not in _PICTURES:
            known = ", ".join((*_PICTURES, *FILMS, ".rrd"))
            raise ValueError(f"--out {options.out}: expected a name that ends in one of {known}")
    from propwash.gym._evaluate import evaluate
    from propwash.gym._measures import measures
    from propwash.gym.policy import Policy

    policy = Policy.load(options.policy)
    try:
        envs = policy.make_vec(options.episodes, copy=False, **changes(options.option))
    except TypeError as error:  # an option that there is not
        raise ValueError(str(error)) from error
    flown = evaluate(policy.act, envs, options.seed)
    told = measures(policy.description.task, flown)
    if options.json:
        print(json.dumps({n: v if math.isfinite(v) else None for n, v in told.items()}))
    else:
        trained = policy.description.training
        print(
            f"{options.policy}: {policy.description.task}, trained for "
            f"{trained.get('steps', 0):,} steps in {trained.get('seconds', 0):g} s"
        )
        print(_training_curve.table(told, options.episodes))
    scene = scene_of(envs)
    if is_film:
        count = _video.write(options.out, film(flown, scene), _RATE)
        shown = f"film {options.out}: {count} pictures, from the side and from above"
    else:
        shown = _training_curve.show_flights(flown, options.out, options.viz, scene)
    if not options.json:
        print(f"  {shown}", flush=True)


def changes(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE, values in JSON, or as they stand where they are none."""
    options: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise ValueError(f"--option: expected NAME=VALUE, got {text!r:.100}")
        if name in _OWN:
            raise ValueError(
                f"--option {name}: expected one of the task or its environments; {_OWN[name]}"
            )
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def scene_of(envs: Any) -> Any:
    """What stands in the world of the environments' task, where it has gates; or None."""
    scene = envs.task.scene
    return scene if scene is not None and scene.gates else None


def film(flown: Any, scene: Any) -> Iterator[NDArray[np.uint8]]:
    """The first flights from the side (x, z), and from above (x, y), as time goes by."""
    pil = _video.pillow()
    shown = min(_training_curve.SHOWN, flown.position.shape[1])
    position = flown.position[:, :shown]
    everywhere = position[np.isfinite(position).all(axis=2)]
    gates = [] if scene is None else [np.asarray(gate.position) for gate in scene.gates]
    points = np.concatenate([everywhere, *([each[None] for each in gates])])
    low, high = points.min(axis=0) - 0.2, points.max(axis=0) + 0.2
    half = _WIDTH // 2
    scale = float(min(half / (high[0] - low[0]), _HEIGHT / max(high[1:] - low[1:])))
    middle = 0.5 * (low + high)

    def pixels(way: Any, axis: int) -> list[tuple[float, float]]:
        left = half * (0.5 if axis == 2 else 1.5)
        across = left + scale * (way[:, 0] - middle[0])
        up = 0.5 * _HEIGHT - scale * (way[:, axis] - middle[axis])
        return list(zip(across.tolist(), up.tolist(), strict=True))

    steps = np.arange(0.0, flown.time[-1], 1.0 / _RATE)
    for when, row in zip(steps, np.searchsorted(flown.time, steps), strict=True):
        image = pil.Image.new("RGB", (_WIDTH, _HEIGHT), (245, 245, 240))
        draw = pil.ImageDraw.Draw(image)
        draw.line([(half, 0), (half, _HEIGHT)], fill=(200, 200, 200))
        for axis in (2, 1):
            for gate in gates:
                x, y = pixels(gate[None], axis)[0]
                draw.rectangle((x - 3, y - 3, x + 3, y + 3), outline=(40, 150, 60))
            for vehicle in range(shown):
                way = position[: row + 1, vehicle]
                way = way[np.isfinite(way).all(axis=1)]
                drawn = pixels(way, axis)
                if len(drawn) > 1:
                    draw.line(drawn, fill=(50, 90, 170))
                x, y = drawn[-1]
                draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=(20, 20, 20))
        draw.text((6, 4), f"x, z   {when:4.1f} s", (90, 90, 90))
        draw.text((half + 6, 4), "x, y", (90, 90, 90))
        yield np.asarray(image)
