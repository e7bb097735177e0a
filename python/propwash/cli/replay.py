"""`python -m propwash replay`: predicts a real flight from its motor commands."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from propwash import identify
from propwash._files import check_folder
from propwash.cli._options import add_command, option
from propwash.cli._shared import (
    LOG_VEHICLE,
    VEHICLE,
    LogOptions,
    read_logs,
    saved,
    vehicle_of,
)
from propwash.logs import Flight


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "predict a real flight from its motor commands, and compare"
    add_command(commands, "replay", about, ReplayOptions, run)


def _horizons(text: str) -> tuple[float, ...]:
    expected = "expected seconds between 0.002 and 60, separated by commas"
    try:
        horizons = tuple(float(part) for part in text.split(","))
    except ValueError:
        horizons = (math.nan,)
    if not all(0.002 <= horizon <= 60.0 for horizon in horizons):
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return tuple(sorted(set(horizons)))


@dataclass
class ReplayOptions(LogOptions):
    """Options of the command."""

    vehicle: str | None = option(
        f"{VEHICLE} (default: that of a flight log of propwash, or {LOG_VEHICLE})"
    )
    horizons: Any = option(
        "s, separated by commas (default: 0.1,0.25,0.5,1.0)", (0.1, 0.25, 0.5, 1.0), type=_horizons
    )
    every: float = option("s, between windows", 0.1)
    out: Path = option("folder of the plots (default: the current one)", Path())


def run(options: ReplayOptions) -> None:
    """Predicts each log, and prints and plots the errors."""
    if not 0.0 < options.every < math.inf:
        raise ValueError(f"--every: expected a finite number > 0 [s], got {options.every:g}")
    check_folder(options.out)
    names: Counter[str] = Counter()
    for number, flight in enumerate(read_logs(options, options.vehicle or LOG_VEHICLE)):
        predictions = _predictions(flight, options)
        if number > 0:
            print()
        seconds = flight.time[-1] - flight.time[0]
        print(f"{flight.path}: {seconds:.1f} s, {len(predictions[0].starts)} windows in the air")
        for prediction in predictions:
            print("measured attitude:" if prediction.attitude else "model:")
            print(prediction.table(options.horizons))
        names[flight.path.stem] += 1
        again = f"_{names[flight.path.stem]}" if names[flight.path.stem] > 1 else ""
        file = options.out / f"replay_{flight.path.stem}{again}.png"
        plot = saved(partial(identify.replay_figure, predictions), file)
        print(f"plot: {plot}", flush=True)


def _predictions(flight: Flight, options: ReplayOptions) -> list[identify.Prediction]:
    """Returns predictions of every sample ahead; with poses also one with measured attitude."""
    horizons: Sequence[float] = options.horizons
    vehicle = vehicle_of(options.vehicle, [flight])
    first = identify.predict(vehicle, flight, None, horizons, every=options.every)
    period = first.flight.time[1] - first.flight.time[0]
    dense = period * np.arange(1, round(horizons[-1] / period) + 1)
    modes: tuple[Literal["measured"] | None, ...] = (None, "measured")
    return [
        identify.predict(vehicle, flight, first.starts, dense, mode)
        for mode in modes[: 1 + flight.has_pose]
    ]
