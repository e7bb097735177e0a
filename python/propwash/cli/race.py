"""`python -m propwash race`: flies and shows the AlphaPilot course, or another one."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from propwash import race, viz
from propwash._files import check_file
from propwash.cli._shared import add_vehicle, check_range, image_size, progress
from propwash.vehicle.validation import located
from propwash.viz import video as _video

_SENSOR_OPTIONS = {
    "reach": ("reach", "m, beyond which a beacon is not seen"),
    "miss": ("miss_rate", "probability that a beacon is missed"),
    "pixels": ("deviation", "pixels, white noise of a beacon"),
    "latency": ("latency", "s, until readings arrive"),
}
"""Options of the command: the field of SensorSuite, and its description."""


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "race", help="fly and show the AlphaPilot course of 11 gates (docs/race.md)"
    )
    add_vehicle(parser)
    parser.add_argument(
        "--course",
        default="alphapilot",
        metavar="NAME|FILE",
        help="a course by name, or a scene file with gates (default: %(default)s)",
    )
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
        "--size",
        type=image_size((16, 16), (8192, 8192)),
        help="WxH of the images (default: 640x480, of a GIF 320x240)",
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
        help="of the camera: as on racing vehicles, or that of the papers (default: tilted)",
    )
    suite = race.SensorSuite()
    for name, (field, text) in _SENSOR_OPTIONS.items():
        help_text = f"{text} (default: {getattr(suite, field):g})"
        group.add_argument(f"--{name}", type=float, help=help_text)


def _sensor_options(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of race.fly for a flight by sensors."""
    chosen = [n for n in ("mount", *_SENSOR_OPTIONS) if getattr(options, n) is not None]
    if not options.sensors:
        if chosen:
            raise ValueError(f"--{chosen[0]}: expected with --sensors")
        return {"dtype": options.dtype}
    if options.dtype != "float64":
        raise ValueError("--dtype: expected float64 with --sensors")
    suite = race.SensorSuite(camera=race.mounted_camera(options.mount or "tilted"))
    for name in chosen:
        if name != "mount":
            with located(f"--{name}"):
                suite = replace(suite, **{_SENSOR_OPTIONS[name][0]: getattr(options, name)})
    return {"pilot": race.SensorPilot, "sensors": suite}


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
    result = _fly(options, options.seed, progress=progress("race: flying"))
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


def _fly(options: argparse.Namespace, seed: int, **arguments: Any) -> race.Result:
    course = race.find_course(options.course)
    return race.fly(
        seed,
        options.vehicle,
        scene=course.scene(seed),
        nominal=course.scene(None),
        **_sensor_options(options),
        **arguments,
    )


def _runs(options: argparse.Namespace) -> None:
    """Applies the rule of the challenge: many perturbed courses, of which the best five count."""
    check_range("seeds", options.seeds, 1, 10_000)
    show = progress("race: flying")
    results = []
    for number in range(options.seeds):
        results.append(_fly(options, options.seed + number))
        show((number + 1) / options.seeds)
    print(race.table(results))
