"""`python -m propwash replay`: predicts a real flight from its motor commands."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from propwash import logs, viz
from propwash._files import check_folder
from propwash.cli._shared import add_logs, add_vehicle, read_logs, saved


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    replayed = commands.add_parser(
        "replay", help="predict a real flight from its motor commands, and compare"
    )
    add_logs(replayed)
    add_vehicle(replayed, "crazyflie")
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
        "--out", type=Path, default=Path(), help="folder of the plots (default: the current one)"
    )
    replayed.set_defaults(run=run)


def _horizons(text: str) -> tuple[float, ...]:
    expected = "expected seconds between 0.002 and 60, separated by commas"
    try:
        horizons = tuple(float(part) for part in text.split(","))
    except ValueError:
        horizons = (math.nan,)
    if not all(0.002 <= horizon <= 60.0 for horizon in horizons):
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return horizons


def run(options: argparse.Namespace) -> None:
    """Predicts each log, and prints and plots the errors."""
    if not 0.0 < options.every < math.inf:
        raise ValueError(f"--every: expected a finite number > 0 [s], got {options.every:g}")
    check_folder(options.out)
    names: Counter[str] = Counter()
    for number, flight in enumerate(read_logs(options, options.vehicle)):
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
        plot = saved(partial(viz.replay_figure, result), file)
        print(f"plot: {plot}", flush=True)
