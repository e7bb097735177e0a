"""`python -m propwash autopilot`: a flight controller flies a simulated vehicle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from propwash import logs
from propwash._bridge import Refused
from propwash._files import check_folder
from propwash.autopilot import QUAD_X, Loop, OscillationMonitor, Pilot, RecordingPilot, Simulation
from propwash.cli._options import add_command, check_range, option
from propwash.cli._shared import VEHICLE

_PROGRAMS = ("betaflight", "px4", "ardupilot")
"""Each has a module `cli/_autopilot_<name>.py` with HELP, OPTIONS and run(options)."""


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "autopilot", help="fly a vehicle with Betaflight, PX4 or ArduPilot (docs/autopilot.md)"
    )
    parser.set_defaults(run=lambda options: parser.error(f"expected {' or '.join(_PROGRAMS)}"))
    programs = parser.add_subparsers(title="flight controllers")
    for name in _PROGRAMS:
        module = import_module(f"propwash.cli._autopilot_{name}")
        add_command(programs, name, module.HELP, module.OPTIONS, module.run)


FOLDER = "folder for the settings and other files of the program"


@dataclass
class AutopilotOptions:
    """Options of all flight controllers."""

    vehicle: str = option(VEHICLE, "flightgoggles")
    config: bool = option("print the program's settings for the vehicle and end", False)
    folder: Path = option(FOLDER, Path())
    seed: int = option("seed of the noise", 0, low=0, high=2**63 - 1)
    no_noise: bool = option("without noise and biases", False)
    own_spins: bool = option(
        "keep the vehicle's rotor spins where they are opposite to the flight controller's table, "
        "for a flight controller configured for them",
        False,
    )
    duration: float | None = option(
        "s, simulated, after which to stop (default: until Ctrl-C)", low=0.0, high=1e6
    )
    log: Path | None = option(
        "write flight logs, .csv or .mcap (docs/autopilot.md#log)", metavar="FILE"
    )
    host: str = option("address to listen on", "127.0.0.1")


@dataclass
class LockstepOptions(AutopilotOptions):
    """Options of flight controllers in lock step."""

    patience: float = option("s of wall time to wait for an answer", 1.0, low=1e-3, high=1e6)


def make_simulation(options: AutopilotOptions, program: str, rate: float) -> Simulation:
    """The simulation that the common options describe, for the motors of a program.

    rate: Hz, of its samples.
    """
    if options.log is not None:
        logs.check_record_file(options.log)
    simulation = Simulation(
        options.vehicle,
        QUAD_X[program],
        own_spins=options.own_spins,
        seed=options.seed,
        noise=not options.no_noise,
    )
    simulation.period = 1.0 / rate
    return simulation


def check_speed(speed: float) -> None:
    """Raises ValueError for an invalid --speed; 0: as fast as possible."""
    if speed != 0.0:
        check_range("speed", speed, 1e-3, 1e3)


def report(text: str) -> None:
    """Prints a line to standard error."""
    print(text, file=sys.stderr, flush=True)


def reporting() -> Refused:
    """Counts of refused inputs, which print the first one of each reason."""
    return Refused(report)


def write_settings(options: AutopilotOptions, name: str, text: str) -> Path:
    """Writes a file of settings to the folder of the program; returns its absolute path."""
    check_folder(options.folder, "--folder")
    options.folder.mkdir(parents=True, exist_ok=True)
    file: Path = options.folder.resolve() / name
    file.write_text(text, encoding="utf-8")
    return file


def run_until(loop: Loop, options: AutopilotOptions, advice: str, hint: str = "") -> None:
    """Runs a loop for the duration, or until Ctrl-C; prints the counts at the end.

    advice: what to do about an oscillation. hint: added to the message that it waits.
    """
    report(f"waiting for the flight controller at port {loop.link.port}{hint}")
    end = float("inf") if options.duration is None else options.duration
    with observed(loop, lambda sample: sample.time < end, options, advice) as pilot:
        try:
            loop.run(pilot)
        finally:
            loop.link.close()
            report(f"{loop.statistics}; refused: {loop.codec.refused}")


@contextmanager
def observed(loop: Loop, pilot: Pilot, options: AutopilotOptions, advice: str) -> Iterator[Pilot]:
    """The pilot, which also reports an oscillation, and with `--log` records the flights."""
    pilot = OscillationMonitor(loop.simulation, pilot, report, advice)
    with ExitStack() as stack:
        if options.log is not None:
            recording = RecordingPilot(
                loop.simulation, pilot, options.log, report, seed=options.seed
            )
            stack.callback(_report_logs, recording)
            pilot = stack.enter_context(recording)
        yield pilot


def _report_logs(recording: RecordingPilot) -> None:
    for file in recording.files:
        report(f"log: {file}; python -m propwash replay {file}")
    if not recording.files and recording.error is None:
        report("no log: the vehicle was not simulated")
