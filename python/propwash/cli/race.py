"""`python -m propwash race`: flies the AlphaPilot course, and shows it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from propwash import race, viz
from propwash._files import check_file
from propwash.viz import video as _video


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    flown = commands.add_parser(
        "race", help="fly the AlphaPilot course of 11 gates, and show it (docs/race.md)"
    )
    flown.add_argument(
        "--vehicle", default="flightgoggles", help="a name or a TOML file (default: %(default)s)"
    )
    flown.add_argument(
        "--seed", type=int, default=0, help="of the gates' places and of the noise (default: 0)"
    )
    flown.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="fly the courses of seeds 0 to N - 1, and print a table and the team's score",
    )
    flown.add_argument(
        "--camera", action="store_true", help="show what a camera on board sees, not the map"
    )
    flown.add_argument(
        "--size", type=_size, help="WxH of the pictures (default: 640x480, of a GIF 320x240)"
    )
    flown.add_argument("--rate", type=float, help="pictures a second (default: 30, of a GIF 12.5)")
    flown.add_argument(
        "--out",
        type=Path,
        default=Path("race.png"),
        help="a film, .mp4, .gif, a picture, .png, or a recording, .rrd (default: %(default)s)",
    )
    flown.add_argument(
        "--dtype",
        choices=("float64", "float32"),
        default="float64",
        help="the numbers that the vehicle is computed with (default: %(default)s)",
    )
    flown.set_defaults(run=run)


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    width, height = (int(part) for part in match.groups()) if match else (0, 0)
    if not (16 <= width <= 8192 and 16 <= height <= 8192):
        raise argparse.ArgumentTypeError(
            f"expected WIDTHxHEIGHT, from 16 to 8192 pixels each, got {text!r}"
        )
    return width, height


def run(options: argparse.Namespace) -> None:
    """Flies, tells, shows."""
    if options.seeds is not None:
        return _runs(options)
    check_file(options.out)
    if options.rate is not None and not 1.0 <= options.rate <= 240.0:
        raise ValueError(f"--rate: expected from 1 to 240 pictures a second, got {options.rate:g}")
    is_recording = options.out.suffix.lower() == ".rrd"
    if is_recording:
        viz.check(options.out)
    else:
        _video.check(options.out, ", .rrd")
    if not options.camera and not is_recording:
        viz.require_matplotlib()
    result = race.fly(
        options.seed, options.vehicle, dtype=options.dtype, progress=_progress("flying")
    )
    print(race.report(result), flush=True)
    shown = race.show(
        result,
        options.out,
        camera=options.camera,
        size=options.size,
        rate=options.rate,
        progress=_progress("picturing"),
    )
    print(f"  {shown}")


def _runs(options: argparse.Namespace) -> None:
    """The rule of the challenge: many perturbed courses, of which the best five count."""
    if not 1 <= options.seeds <= 10_000:
        raise ValueError(f"--seeds: expected from 1 to 10000 courses, got {options.seeds}")
    progress = _progress("flying")
    results = []
    for seed in range(options.seeds):
        results.append(race.fly(seed, options.vehicle, dtype=options.dtype))
        progress((seed + 1) / options.seeds)
    print(race.table(results))


def _progress(what: str) -> Callable[[float], None]:
    """A line that counts, where somebody can see it."""
    if not sys.stderr.isatty():
        return lambda share: None
    return partial(_show, what)


def _show(what: str, share: float) -> None:
    end = "\n" if share >= 1.0 else "\r"
    print(f"race: {what} {share:4.0%}", end=end, file=sys.stderr, flush=True)
