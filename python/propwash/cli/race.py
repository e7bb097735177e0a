"""`python -m propwash race`: flies and shows the AlphaPilot course."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from propwash import race, viz
from propwash._files import check_file
from propwash.cli._shared import add_vehicle, check_range, progress
from propwash.viz import video as _video


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "race", help="fly and show the AlphaPilot course of 11 gates (docs/race.md)"
    )
    add_vehicle(parser)
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of gate positions and noise (default: 0)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="fly N courses, from that of --seed on, and print a table and the team's score",
    )
    _add_sensors(parser)
    parser.add_argument(
        "--camera", action="store_true", help="show images of an on-board camera, not the map"
    )
    parser.add_argument(
        "--size", type=_size, help="WxH of the images (default: 640x480, of a GIF 320x240)"
    )
    parser.add_argument("--rate", type=float, help="images a second (default: 30, of a GIF 12.5)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("race.png"),
        help="video (.mp4, .gif), image (.png) or recording (.rrd) (default: %(default)s)",
    )
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32"),
        default="float64",
        help="precision of the simulation (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def _add_sensors(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("flight by sensors")
    group.add_argument(
        "--sensors",
        action="store_true",
        help="fly by IMU, infrared beacons and range finder, without knowing the true state",
    )
    group.add_argument(
        "--mount",
        choices=("tilted", "level"),
        default="tilted",
        help="of the camera: as on racing vehicles, or that of the papers (default: %(default)s)",
    )
    group.add_argument("--reach", type=float, help="m, beyond which a beacon is not seen")
    group.add_argument(
        "--miss", type=float, default=0.0, help="probability that a beacon is missed"
    )
    group.add_argument(
        "--pixels", type=float, default=2.0, help="noise of a beacon (default: %(default)s)"
    )
    group.add_argument("--latency", type=float, default=0.0, help="s, until readings arrive")


def _sensor_options(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of race.fly for a flight by sensors."""
    if not options.sensors:
        return {"dtype": options.dtype}
    if options.dtype != "float64":
        raise ValueError("--dtype: expected float64 with --sensors")
    suite = race.SensorSuite(
        camera=race.mounted_camera(options.mount),
        deviation=options.pixels,
        reach=float("inf") if options.reach is None else options.reach,
        miss_rate=options.miss,
        latency=options.latency,
    )
    return {"pilot": race.SensorPilot, "sensors": suite}


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
    width, height = (int(part) for part in match.groups()) if match else (0, 0)
    if not (16 <= width <= 8192 and 16 <= height <= 8192):
        raise argparse.ArgumentTypeError(
            f"expected WIDTHxHEIGHT, from 16 to 8192 pixels each, got {text!r}"
        )
    return width, height


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    if options.seeds is not None:
        return _runs(options)
    check_file(options.out)
    check_range("rate", options.rate, 1.0, 240.0)
    is_recording = options.out.suffix.lower() == ".rrd"
    if is_recording:
        viz.check(options.out)
    else:
        _video.check(options.out, ", .rrd")
    if not options.camera and not is_recording:
        viz.require_matplotlib()
    result = race.fly(
        options.seed,
        options.vehicle,
        progress=progress("race: flying"),
        **_sensor_options(options),
    )
    print(race.report(result), flush=True)
    shown = race.show(
        result,
        options.out,
        camera=options.camera,
        size=options.size,
        rate=options.rate,
        progress=progress("race: rendering"),
    )
    print(f"  {shown}")


def _runs(options: argparse.Namespace) -> None:
    """Applies the rule of the challenge: many perturbed courses, of which the best five count."""
    check_range("seeds", options.seeds, 1, 10_000)
    show = progress("race: flying")
    results = []
    arguments = _sensor_options(options)
    for number in range(options.seeds):
        results.append(race.fly(options.seed + number, options.vehicle, **arguments))
        show((number + 1) / options.seeds)
    print(race.table(results))
