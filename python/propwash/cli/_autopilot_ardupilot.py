"""`python -m propwash autopilot ardupilot` (docs/ardupilot.md)."""

from __future__ import annotations

import argparse

from propwash.autopilot import ArduPilot, Loop, UdpLink
from propwash.cli import autopilot

HELP = "ArduPilot's simulator, over UDP in lock step (docs/ardupilot.md)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ArduPilot."""
    autopilot.add_lockstep(parser, ArduPilot.PORT, "UDP")


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    autopilot.check_patience(options)
    simulation = autopilot.make_simulation(options, "ardupilot", ArduPilot.RATE)
    codec = ArduPilot(len(simulation.motor_map.order), refused=autopilot.reporting())
    loop = Loop(
        simulation,
        codec,
        UdpLink(options.port, host=options.host, is_peer=ArduPilot.is_servo_packet),
        rate=None,
        lockstep=True,
        patience=options.patience,
        unanswered="wait",
        report=autopilot.report,
    )
    autopilot.run_until(loop, options)
