"""`python -m propwash race`: flies and shows the AlphaPilot course, or another one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from propwash import race, viz
from propwash._files import check_file
from propwash.cli._options import add_command, option
from propwash.cli._shared import VEHICLE, image_size, progress
from propwash.vehicle import files as vehicles
from propwash.vehicle.turbulence import Dryden
from propwash.vehicle.validation import located
from propwash.viz import video as _video

_SUITE = race.SensorSuite()
_SENSORS = "flight by sensors"
_HEIGHT, _AIRSPEED = 5.0, 15.0
"""m and m/s, of a race, for its gusts."""
_FIELDS = {"reach": "reach", "miss": "miss_rate", "pixels": "deviation", "latency": "latency"}
"""The field of SensorSuite that an option sets."""


@dataclass
class RaceOptions:
    """Options of the command."""

    vehicle: str = option(VEHICLE, "flightgoggles")
    course: str = option(
        "a name of race.courses(), or a scene file with gates", "alphapilot", metavar="NAME|FILE"
    )
    seed: int = option("seed of gate positions and noise", 0)
    seeds: int | None = option(
        "fly N courses, from that of --seed on, and print a table and the team's score",
        metavar="N",
        low=1,
        high=10_000,
    )
    wind: tuple[float, float] = option(
        "m/s, mean wind towards world x and y, which a pilot by sensors does not know",
        (0.0, 0.0),
        metavar=("X", "Y"),
    )
    gusts: float = option(
        "m/s, strength of gusts: the mean wind 6 m above ground that causes them",
        0.0,
        low=0.0,
        high=100.0,
    )
    mass: float = option(
        "factor on the mass of the vehicle that flies, unknown to planner, pilot and controllers",
        1.0,
        low=0.5,
        high=2.0,
    )
    fastest: bool = option(
        'fly time-optimal paths (pip install "propwash[optimal]"), not those of the planner',
        False,
    )
    sensors: bool = option(
        "fly by IMU, infrared beacons and range finder, without knowing the true state",
        False,
        group=_SENSORS,
    )
    pilot: str | None = option(
        "pilot by sensors: a class or function of a Briefing (default: the built-in pilot)",
        metavar="FILE.py:NAME",
        group=_SENSORS,
    )
    isolate: bool = option(
        "run the pilot in a process of its own",
        False,
        group=_SENSORS,
    )
    mount: Literal["tilted", "level"] | None = option(
        "of the camera: as on racing vehicles, or that of the papers (default: tilted)",
        group=_SENSORS,
    )
    reach: float | None = option(
        f"m, beyond which a beacon is not seen (default: {_SUITE.reach:g})", group=_SENSORS
    )
    miss: float | None = option(
        f"probability that a beacon is missed (default: {_SUITE.miss_rate:g})", group=_SENSORS
    )
    pixels: float | None = option(
        f"pixels, white noise of a beacon (default: {_SUITE.deviation:g})", group=_SENSORS
    )
    latency: float | None = option(
        f"s, until readings arrive (default: {_SUITE.latency:g})", group=_SENSORS
    )
    camera: bool = option("show images of an on-board camera, not the map", False)
    size: Any = option(
        "WxH of the images (default: 640x480, of a GIF 320x240)",
        type=image_size((16, 16), (8192, 8192)),
    )
    rate: float | None = option("images a second (default: 30, of a GIF 12.5)", low=1.0, high=240.0)
    out: Path = option("video (.mp4, .gif), image (.png) or recording (.rrd)", Path("race.png"))
    dtype: Literal["float64", "float32"] = option("precision of the simulation", "float64")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "fly and show the AlphaPilot course of 11 gates (docs/race.md)"
    add_command(commands, "race", about, RaceOptions, run)


def _sensor_options(options: RaceOptions) -> dict[str, Any]:
    """The arguments of race.fly for a flight by sensors."""
    chosen = [n for n in ("mount", *_FIELDS) if getattr(options, n) is not None]
    if not options.sensors:
        chosen += [n for n in ("pilot", "isolate") if getattr(options, n)]
        if chosen:
            raise ValueError(f"--{chosen[0]}: expected with --sensors")
        return {"dtype": options.dtype}
    if options.dtype != "float64":
        raise ValueError("--dtype: expected float64 with --sensors")
    suite = race.SensorSuite(camera=race.mounted_camera(options.mount or "tilted"))
    for name in chosen:
        if name != "mount":
            with located(f"--{name}"):
                suite = replace(suite, **{_FIELDS[name]: getattr(options, name)})
    pilot: race.PilotMaker = race.FastestPilot if options.fastest else race.SensorPilot
    if options.pilot is not None:
        if options.fastest:
            raise ValueError("--fastest: expected without --pilot, which chooses its own paths")
        pilot = race.load_pilot(options.pilot)
    return {"pilot": race.isolated(pilot) if options.isolate else pilot, "sensors": suite}


def run(options: RaceOptions) -> None:
    """Runs the command."""
    if options.seeds is not None:
        return _runs(options, options.seeds)
    check_file(options.out)
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


def _fly(options: RaceOptions, seed: int, **arguments: Any) -> race.Result:
    course = race.find_course(options.course)
    scene, wind = course.scene(seed), (*options.wind, 0.0)
    known = vehicles.load(options.vehicle)
    arguments |= _sensor_options(options)
    if options.fastest and not options.sensors:
        arguments["path"] = race.fastest_path(scene, options.vehicle, wind=wind)
    return race.fly(
        seed,
        known.replace(body={"mass": options.mass * known.body.mass}),
        control_vehicle=known,
        scene=scene,
        nominal=course.scene(None),
        wind=wind,
        turbulence=_gusts(options),
        **arguments,
    )


def _gusts(options: RaceOptions) -> Dryden | None:
    """Dryden turbulence at the height and the speed of a race."""
    if options.gusts == 0.0:
        return None
    return Dryden(options.gusts, _HEIGHT, _AIRSPEED, heading=math.atan2(*reversed(options.wind)))


def _runs(options: RaceOptions, count: int) -> None:
    """Applies the rule of the challenge: many perturbed courses, of which the best five count."""
    show = progress("race: flying")
    results = []
    for number in range(count):
        results.append(_fly(options, options.seed + number))
        show((number + 1) / count)
    print(race.table(results))
