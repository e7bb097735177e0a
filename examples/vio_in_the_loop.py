"""Flies on the estimate of visual-inertial odometry: stereo images, IMU, fixed-lag smoothing.

The built-in renderer gives grey stereo images at the exact times of IMU readings; the controller
gets the estimate only. docs/vio.md describes the estimator and the results.

    pip install "propwash[vio]"
    python examples/vio_in_the_loop.py --scene room --seeds 1 --plot vio.png
    python examples/vio_in_the_loop.py --scene warehouse --seeds 20 --results warehouse.csv
    python examples/vio_in_the_loop.py --window --seeds 100 --results window.csv
    python examples/vio_in_the_loop.py --study --seeds 3 --duration 30 --results study.csv

Finished flights are read from the file of --results, so an interrupted study continues.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from propwash.trajectories import Path as FlightPath

if TYPE_CHECKING:
    from vio import Rig
    from vio.report import Case, Results, Row

WINDOW = "window"
IMAGES = (".png", ".pdf", ".svg", ".jpg")
FOVS, RATES, SIZES = (50.0, 70.0, 90.0), (10.0, 20.0, 30.0), ((200, 150), (400, 300), (640, 480))


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scene", default="room", help="a shipped scene or a scene file")
    parser.add_argument("--seeds", type=int, default=1, help="number of flights")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--duration", type=float, default=120.0, help="s")
    parser.add_argument("--speed", type=float, default=2.5, help="m/s, maximum")
    parser.add_argument("--fov", type=float, default=70.0, help="degrees, vertical")
    parser.add_argument("--rate", type=float, default=20.0, help="Hz, of image pairs")
    parser.add_argument("--size", default="400x300", help="pixels")
    parser.add_argument("--baseline", type=float, default=0.2, help="m")
    parser.add_argument("--window", action="store_true", help="fly through a window instead")
    parser.add_argument("--study", action="store_true", help="vary fov, rate and size")
    parser.add_argument("--results", type=Path, help="CSV file to continue")
    parser.add_argument("--plot", type=Path, help="image file, of the last flight")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = arguments_of(argv)
    extras = {"gtsam": "vio", "cv2": "vio"} | ({"matplotlib": "viz"} if arguments.plot else {})
    missing = [name for name in extras if importlib.util.find_spec(name) is None]
    if missing:
        needed = ",".join(dict.fromkeys(extras[name] for name in missing))
        print(f"error: {' and '.join(missing)} not found; pip install 'propwash[{needed}]'")
        return 1
    try:
        run(arguments)
    except (ValueError, OSError) as error:
        print(f"error: {error}")
        return 1
    return 0


def run(arguments: argparse.Namespace) -> None:
    """Flies the cases of the command line and prints their tables."""
    from vio import Rig
    from vio.report import HEADER, Results, summary

    if arguments.seeds < 1:
        raise ValueError(f"seeds = {arguments.seeds}: expected at least 1")
    if not 0.0 < arguments.duration < 1e5:
        raise ValueError(f"duration = {arguments.duration:g} s: expected a time > 0; use 120")
    if not 0.0 < arguments.speed < 100.0:
        raise ValueError(f"speed = {arguments.speed:g} m/s: expected 0 to 100; use 2.5")
    for name in ("results", "plot"):
        file = getattr(arguments, name)
        if file is not None and not file.resolve().parent.is_dir():
            raise ValueError(f"{name} = {file}: expected a file in an existing folder")
    if arguments.plot is not None and arguments.plot.suffix.lower() not in IMAGES:
        raise ValueError(f"plot = {arguments.plot}: expected a name that ends in {IMAGES[0]}")
    width, height = size_of(arguments.size)
    rig = Rig(width, height, arguments.fov, arguments.rate, arguments.baseline)
    results = Results(arguments.results)
    if arguments.study:
        study(arguments, rig, results)
        return
    print(HEADER)
    rows = flights(arguments, rig, results, verbose=True)
    print(summary(rows))


def size_of(text: str) -> tuple[int, int]:
    """The size in "400x300"."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"size = {text!r}: expected WIDTHxHEIGHT, such as 400x300")
    return int(parts[0]), int(parts[1])


def flights(arguments: argparse.Namespace, rig: Rig, results: Results, verbose: bool) -> list[Row]:
    """The rows of all seeds; flies those that the results lack."""
    from vio import fly
    from vio.paths import window_scene
    from vio.report import Case, Row, line, plot

    rows = []
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    for seed in seeds:
        scene = WINDOW if arguments.window else arguments.scene
        duration = 0.0 if arguments.window else arguments.duration
        case = Case(
            scene,
            seed,
            duration,
            arguments.speed,
            rig.width,
            rig.height,
            rig.fov,
            rig.rate,
            rig.baseline,
        )
        row = results.get(case)
        wants_plot = arguments.plot is not None and verbose and seed == seeds[-1]
        if row is None or wants_plot:
            flown = window_scene() if arguments.window else scene
            flight = fly(flown, path_of(case), seed, rig, duration=duration or None)
            if row is None:
                row = Row.of(flight)
                results.add(case, row)
            if wants_plot:
                plot(arguments.plot, flight, f"{scene}, seed {seed}")
        rows.append(row)
        if verbose:
            print(line(seed, row), flush=True)
    return rows


def path_of(case: Case) -> FlightPath:
    """The path of a case."""
    from vio.paths import approach, figure

    if case.scene == WINDOW:
        return approach(case.seed, case.speed)
    return figure(case.scene, case.duration, case.speed)


def study(arguments: argparse.Namespace, rig: Rig, results: Results) -> None:
    """Prints the error against field of view, rate and size, each about the default."""
    from vio.report import study_header, study_line

    print(study_header())
    for rig_of_case in itertools.chain(
        (replace(rig, fov=fov) for fov in FOVS),
        (replace(rig, rate=rate) for rate in RATES),
        (replace(rig, width=size[0], height=size[1]) for size in SIZES),
    ):
        rows = flights(arguments, rig_of_case, results, verbose=False)
        print(study_line(rig_of_case, rows), flush=True)


if __name__ == "__main__":
    sys.exit(main())
