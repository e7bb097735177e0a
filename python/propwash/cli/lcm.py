"""`python -m propwash lcm`: a vehicle on an LCM network."""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from propwash._files import check_file
from propwash.cli._options import add_command, option
from propwash.cli._shared import VEHICLE

_REST = 3.0
"""s, hover before the path of --fly."""
_SHORTEST = 10.0
"""s, flight with --fly."""
_SPEED = 2.0
"""m/s, of --fly."""
_YAW: Final = "forward"


@dataclass
class LcmOptions:
    """Options of the command."""

    vehicle: str = option(VEHICLE, "blackbird")
    url: str = option("LCM network (default: LCM's, which stays on this machine)", "")
    offline: bool = option("no network, as fast as possible; see --record", False)
    duration: float | None = option("s, simulated (default: until Ctrl-C)", low=1e-3, high=1e6)
    start: tuple[float, float, float, float] | None = option(
        "m, east, north and up, and degrees from east (default: 0 0 0 0)",
        metavar=("X", "Y", "Z", "YAW"),
    )
    fly: str | None = option(
        "fly one of 18 paths (docs/datasets.md); takes no commands", metavar="NAME"
    )
    speed: float | None = option(f"m/s, maximum on the path of --fly (default: {_SPEED:g})")
    yaw: Literal["forward", "constant"] | None = option(
        f"heading on the path of --fly (default: {_YAW})"
    )
    step_rate: int = option("Hz, of the simulation", 1800)
    rate: list[str] = option(
        "rate of a published channel, 0 for none; may be repeated", [], metavar="CHANNEL=HZ"
    )
    clock_scale: float = option("simulated time per time", 1.0, low=1e-3, high=1e3)
    lock_step: bool = option("simulate only what the channel step asks for", False)
    record: Path | None = option("write all messages to an event log", metavar="FILE")
    play: Path | None = option("take the commands of an event log", metavar="FILE")
    seed: int = option("of the noise", 0)
    types: bool = option("print the path of the message types, for lcm-gen", False)


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "simulate a vehicle for programs that communicate by LCM (docs/lcm.md)"
    add_command(commands, "lcm", about, LcmOptions, run)


def run(options: LcmOptions) -> None:
    """Runs the command."""
    from propwash import lcm
    from propwash._bridge import Refused

    if options.types:
        print(lcm.DEFINITIONS)
        return
    _check(options)
    commands = [] if options.play is None else list(lcm.read_events(options.play))
    if options.play is not None and not commands:
        raise ValueError(f"--play {options.play}: expected an event log with messages, got none")
    *position, yaw = options.start or (0.0, 0.0, 0.0, 0.0)
    simulation = lcm.LcmVehicle(
        options.vehicle,
        rates=_rates(options.rate),
        step_rate=options.step_rate,
        position=position,
        yaw=math.radians(yaw),
        reference=_reference(options),
        lock_step=options.lock_step,
        seed=options.seed,
        refused=Refused(lambda text: print(f"lcm: {text}", file=sys.stderr, flush=True)),
    )
    link: lcm.LcmLink = (
        lcm.Offline() if options.offline else lcm.connect(options.url, simulation.refused)
    )
    with ExitStack() as stack:
        stack.callback(link.close)
        recorder = None
        if options.record is not None:
            recorder = stack.enter_context(lcm.EventWriter(options.record))
        scale = math.inf if options.offline else options.clock_scale
        bridge = lcm.Run(simulation, link, scale, recorder, _from_zero(commands))
        print(_greeting(options), flush=True)
        started = time.monotonic()
        try:
            bridge.run(_duration(options, commands))
        finally:
            print(_summary(bridge, time.monotonic() - started), flush=True)
            if recorder is not None:
                print(f"  record        {options.record}", flush=True)


def _check(options: LcmOptions) -> None:
    if options.record is not None:
        check_file(options.record, "--record")
    if options.offline and options.lock_step:
        raise ValueError("--lock-step: expected a network, got --offline; remove one of them")
    if options.offline and (options.fly, options.play, options.duration) == (None, None, None):
        raise ValueError("--offline: expected --duration, --fly or --play, got none; add one")
    for name in ("speed", "yaw"):
        if options.fly is None and getattr(options, name) is not None:
            raise ValueError(f"--{name}: expected with --fly, whose path it describes; add --fly")
    if options.fly is not None and _duration(options, []) < _SHORTEST:
        raise ValueError(
            f"--duration: expected at least {_SHORTEST:g} s with --fly, hover, start and "
            f"stop, got {options.duration:g}"
        )
    if options.fly is not None and options.start is not None:
        raise ValueError("--start: expected no --fly, whose path has its own start; remove one")
    if options.fly is not None and options.play is not None:
        raise ValueError("--play: expected no --fly, whose vehicle takes no commands; remove one")


def _rates(texts: list[str]) -> dict[str, int]:
    rates = {}
    for text in texts:
        channel, _, rate = text.partition("=")
        if not rate.isdecimal():
            raise ValueError(f"--rate: expected CHANNEL=HZ, a whole number, got {text!r:.100}")
        rates[channel] = int(rate)
    return rates


def _reference(options: LcmOptions) -> Any:
    """The sampled path of --fly, or None."""
    if options.fly is None:
        return None
    from propwash import datasets, trajectories

    duration = _duration(options, [])
    speed = _SPEED if options.speed is None else options.speed
    lap = datasets.closed_path(options.fly, options.yaw or _YAW, speed, options.vehicle)
    course = trajectories.Repeated(lap, duration - _REST)
    count = math.ceil(duration * options.step_rate) + 1
    return course.sample(np.arange(count) / options.step_rate - _REST)


def _duration(options: LcmOptions, commands: list[Any]) -> float:
    """s; a path takes 60 s by default, a played log until its last message."""
    if options.duration is not None:
        return float(options.duration)
    if options.fly is not None:
        return 60.0
    return 1e-6 * (commands[-1].utime - commands[0].utime) if commands else math.inf


def _from_zero(events: list[Any]) -> list[Any]:
    """The events with times since the first one."""
    return [event._replace(utime=event.utime - events[0].utime) for event in events]


def _greeting(options: LcmOptions) -> str:
    where = "offline" if options.offline else options.url or "LCM's default network"
    how = "in lock step" if options.lock_step else f"at {options.clock_scale:g} times real time"
    what = f"flies {options.fly}" if options.fly else "waits for arm"
    return f"{options.vehicle} {what}: {where}" + ("" if options.offline else f", {how}")


def _summary(bridge: Any, wall: float) -> str:
    simulation = bridge.simulation
    simulated = 1e-6 * simulation.utime
    behind = f", {bridge.skipped:.3g} s behind" if bridge.skipped else ""
    rows = [f"  simulated     {simulated:.3f} s in {wall:.3f} s{behind}"]
    for title, counts in (("published", bridge.published), ("received", bridge.received)):
        text = ", ".join(f"{n} {channel}" for channel, n in counts.items())
        rows.append(f"  {title:13} {text or 'none'}")
    rows.append(f"  refused       {simulation.refused}")
    return "\n".join(rows)
