"""`python -m propwash autopilot betaflight` (docs/betaflight.md)."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from propwash.autopilot import Loop, Sample, Simulation, UdpLink
from propwash.autopilot import _betaflight as betaflight
from propwash.autopilot._betaflight_program import Program, configuration
from propwash.autopilot._script import Check, ScriptedFlight
from propwash.cli import autopilot
from propwash.cli._shared import check_range

HELP = "Betaflight's simulator build, over UDP (docs/betaflight.md)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of Betaflight."""
    parser.add_argument(
        "--script", choices=("hold", "sticks"), help="fly a script and print a table of its checks"
    )
    parser.add_argument(
        "--config", action="store_true", help="print Betaflight's settings for the vehicle and end"
    )
    parser.add_argument(
        "--program",
        type=Path,
        metavar="ELF",
        help="start this Betaflight, with its settings, and end it at the end (default: it runs)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("betaflight"),
        help="working directory of the program (default: %(default)s)",
    )
    parser.add_argument(
        "--keep-settings", action="store_true", help="use the folder's eeprom.bin as it is"
    )
    parser.add_argument(
        "--polarity",
        choices=("gazebo", "legacy"),
        default="gazebo",
        help="sign of the yaw rate: that of the default build, or of builds with "
        "ENABLE_GAZEBO_BRIDGE=0 and older releases (default: %(default)s)",
    )
    parser.add_argument(
        "--lockstep",
        action="store_true",
        help="wait for the motors of each sample: for builds with ENABLE_SIMULATOR_GYROPID_SYNC",
    )
    parser.add_argument(
        "--packets", type=int, default=500, help="state packets per second (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    check_range("packets", options.packets, 250, 1000)
    substeps = max(1, round(1000 / options.packets))
    dt = 1.0 / (options.packets * substeps)
    simulation = autopilot.make_simulation(options, "betaflight", dt, substeps)
    reversed_yaw = options.own_spins and simulation.motor_map.reversed
    settings = configuration(simulation.parameters, reversed_yaw)
    if options.config:
        print(settings, end="")
        return
    with ExitStack() as closed:
        link = UdpLink(betaflight.MOTOR_PORT, (options.host, betaflight.STATE_PORT), options.host)
        closed.callback(link.close)
        sticks = betaflight.Transmitter(options.host)
        closed.callback(sticks.close)
        if options.program is not None:
            options.folder.mkdir(parents=True, exist_ok=True)
            program = Program(
                options.program, options.folder, None if options.keep_settings else settings
            )
            closed.callback(program.close)
            program.start(link, options.host, _report)
        sticks.start()
        _fly(options, simulation, link, sticks)


def _fly(
    options: argparse.Namespace,
    simulation: Simulation,
    link: UdpLink,
    sticks: betaflight.Transmitter,
) -> None:
    codec = betaflight.Betaflight(options.polarity)
    loop = Loop(
        simulation,
        codec,
        link,
        lockstep=options.lockstep,
        resend=0.02,
        tolerance=2.0 * simulation.period,
        report=_report,
    )
    script = ScriptedFlight(
        simulation.parameters, sticks.set, lambda: loop.connected, options.script or "hold"
    )

    def pilot(sample: Sample) -> bool:
        return sample.time < (options.duration or float("inf")) and (
            script(sample) if options.script else True
        )

    try:
        loop.run(pilot)
    finally:
        _report(f"{loop.statistics}, refused: {codec.refused}")
    if options.script:
        print(table(script.checks))
        if not script.passed:
            raise ValueError(f"the flight ended in part {script.phase!r}")


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(checks: list[Check]) -> str:
    """The checks as a table."""
    rows = [("part", "", "measured", "expected")]
    rows += [(c.name, "ok" if c.passed else "FAILED", c.measured, c.expected) for c in checks]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
