"""`python -m propwash replay`: what a vehicle file makes of the commands of a real flight."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import Any

from propwash import logs, viz
from propwash._files import check_folder, written_whole
from propwash.cli._logs import add_logs, read_logs


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    replayed = commands.add_parser(
        "replay", help="predict a real flight from its motor commands, and compare"
    )
    add_logs(replayed)
    replayed.add_argument(
        "--vehicle", default="crazyflie", help="a name or a TOML file (default: %(default)s)"
    )
    replayed.add_argument(
        "--horizons",
        type=_horizons,
        default=logs.HORIZONS,
        help="s, separated by commas (default: 0.1,0.25,0.5,1.0)",
    )
    replayed.add_argument(
        "--every", type=float, default=0.1, help="s, between windows (default: 0.1)"
    )
    replayed.add_argument(
        "--out", type=Path, default=Path(), help="the folder for the plots (default: this one)"
    )
    replayed.set_defaults(run=run)


def _horizons(text: str) -> tuple[float, ...]:
    expected = "expected seconds between 0.002 and 60, separated by commas"
    try:
        horizons = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}") from None
    if not all(0.002 <= horizon <= 60.0 for horizon in horizons):
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return horizons


def run(options: argparse.Namespace) -> None:
    """Reads each log, predicts it, tells and draws how far off that is."""
    if not 0.0 < options.every < math.inf:
        raise ValueError(f"--every: expected a finite number > 0 [s], got {options.every:g}")
    check_folder(options.out)
    names: Counter[str] = Counter()
    for number, flight in enumerate(read_logs(options)):
        result = logs.replay(flight, options.vehicle, max(options.horizons), options.every)
        windows = len(result.predictions["model"].time)
        if number > 0:
            print()
        seconds = flight.time[-1] - flight.time[0]
        print(f"{flight.path}: {seconds:.1f} s, {windows} windows in the air")
        print(logs.replay_table(result, options.horizons))
        names[flight.path.stem] += 1
        again = f"_{names[flight.path.stem]}" if names[flight.path.stem] > 1 else ""
        file = options.out / f"replay_{flight.path.stem}{again}.png"
        print(f"plot: {_save(result, file)}", flush=True)


def _save(result: logs.Replay, file: Path) -> str:
    """Draws the plot; tells where, or what is missing for it."""
    try:
        figure = viz.replay_figure(result)
    except ImportError as error:
        return f"none: {error}"
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(file) as part:
        viz.save(figure, part)
    return str(file)
