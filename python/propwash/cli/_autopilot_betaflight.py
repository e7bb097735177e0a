"""`python -m propwash autopilot betaflight` (docs/betaflight.md)."""

from __future__ import annotations

import argparse
import sys

from propwash.autopilot import Loop, Sample, UdpLink
from propwash.autopilot import _betaflight as betaflight
from propwash.autopilot._script import Check, ScriptedFlight
from propwash.cli import autopilot

HELP = "Betaflight's simulator build, over UDP (docs/betaflight.md)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of Betaflight."""
    parser.add_argument(
        "--script", choices=("hold", "sticks"), help="fly a script and print a table of its checks"
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
    substeps = max(1, round(1000 / options.packets))
    simulation = autopilot.make_simulation(
        options, "betaflight", 1.0 / (options.packets * substeps), substeps
    )
    codec = betaflight.Betaflight(options.polarity)
    link = UdpLink(betaflight.MOTOR_PORT, (options.host, betaflight.STATE_PORT), options.host)
    sticks = betaflight.Transmitter(options.host)
    loop = Loop(
        simulation,
        codec,
        link,
        lockstep=options.lockstep,
        resend=0.02,
        report=lambda text: print(text, file=sys.stderr, flush=True),
    )
    script = ScriptedFlight(
        simulation.parameters, sticks.set, lambda: loop.connected, options.script or "hold"
    )

    def pilot(sample: Sample) -> bool:
        return sample.time < (options.duration or float("inf")) and (
            script(sample) if options.script else True
        )

    sticks.start()
    try:
        loop.run(pilot)
    finally:
        sticks.close()
        link.close()
        print(loop.statistics, f"refused: {codec.refused}", file=sys.stderr)
    if options.script:
        print(table(script.checks))
        if not script.passed:
            raise ValueError(f"the flight ended in part {script.phase!r}")


def table(checks: list[Check]) -> str:
    """The checks as a table."""
    rows = [("part", "", "measured", "expected")]
    rows += [(c.name, "ok" if c.passed else "FAILED", c.measured, c.expected) for c in checks]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
