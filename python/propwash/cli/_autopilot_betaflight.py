"""`python -m propwash autopilot betaflight` (docs/betaflight.md)."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from propwash._bridge import Refused
from propwash.autopilot import (
    MOTOR_PORT,
    STATE_PORT,
    Betaflight,
    Check,
    Link,
    Loop,
    LoopStatistics,
    Program,
    Sample,
    ScriptedFlight,
    SimulatedClock,
    Simulation,
    Transmitter,
    UdpLink,
    configuration,
)
from propwash.cli import autopilot
from propwash.cli._options import option
from propwash.cli._shared import own_address
from propwash.cli.autopilot import FOLDER, AutopilotOptions, report

HELP = "Betaflight's simulator build, over UDP (docs/betaflight.md)"


_STICK_PERIOD = 0.01  # s


@dataclass
class BetaflightOptions(AutopilotOptions):
    """Options of Betaflight."""

    folder: Path = option(FOLDER, Path("betaflight"))
    script: Literal["hold", "sticks"] | None = option(
        "fly a script and print a table of its checks"
    )
    program: Path | None = option(
        "start this Betaflight, with its settings, and end it at the end (default: it runs)",
        metavar="ELF",
    )
    keep_settings: bool = option("use the folder's eeprom.bin as it is", False)
    clock: Literal["simulated", "wall"] = option(
        "clock of a Betaflight that --program starts; simulated needs a C compiler and Linux",
        "simulated",
    )
    speed: float = option(
        "simulated seconds per second, 0: as fast as possible; for the simulated clock", 1.0
    )
    polarity: Literal["gazebo", "legacy"] = option(
        "sign of the yaw rate: that of the default build, or of builds with "
        "ENABLE_GAZEBO_BRIDGE=0 and older releases",
        "gazebo",
    )
    sync: bool = option(
        "settings for a build with ENABLE_SIMULATOR_GYROPID_SYNC: one control step a packet", False
    )
    rate: int = option("state packets per second", 500, low=250, high=1000)


@dataclass(frozen=True)
class Flown:
    """A finished flight."""

    script: ScriptedFlight | None
    """None without --script."""
    statistics: LoopStatistics
    refused: Refused
    starts: int
    """Number of times that Betaflight was started, 0 without --program."""


OPTIONS = BetaflightOptions


def run(options: BetaflightOptions) -> None:
    """Runs the command."""
    if options.config:
        print(_settings(options, _simulation(options)), end="")
        return
    flown = fly(options)
    if flown.script is not None:
        print(table(flown.script.checks))
        if not flown.script.passed:
            failed = [check.name for check in flown.script.checks if not check.passed]
            where = f"it ended in part {flown.script.phase!r}"
            raise ValueError(f"the flight did not pass: {', '.join(failed) or where}")


def fly(options: BetaflightOptions) -> Flown:
    """Flies as the options say, until the end of the script, the duration or Ctrl-C."""
    simulation = _simulation(options)
    _check(options)
    host = own_address(options.host)
    with ExitStack() as closed:
        link = UdpLink(MOTOR_PORT, (host, STATE_PORT), host)
        closed.callback(link.close)
        sticks = Transmitter(host)
        closed.callback(sticks.close)
        clock, program = None, None
        if options.program is None:
            report(f"waiting for the flight controller at port {link.port}")
        else:
            options.folder.mkdir(parents=True, exist_ok=True)
            settings = None if options.keep_settings else _settings(options, simulation)
            clock = SimulatedClock(options.folder) if options.clock == "simulated" else None
            program = Program(options.program, options.folder, settings, clock)
            closed.callback(program.close)
            program.start(link, host, report)
        if clock is None:
            sticks.start()
        codec = Betaflight(options.polarity)
        codec.refused = Refused(report)
        loop = _loop(simulation, codec, link, clock, options)
        script = _run(loop, sticks, clock, program, options)
    starts = 0 if program is None else program.starts
    return Flown(script, loop.statistics, codec.refused, starts)


def _loop(
    simulation: Simulation,
    codec: Betaflight,
    link: Link,
    simulated: SimulatedClock | None,
    options: BetaflightOptions,
    **wall: Any,
) -> Loop:
    """The loop. simulated: Betaflight's clock; None for that of the wall. wall: the loop's own."""
    return Loop(
        simulation,
        codec,
        link,
        rate=options.speed or None,
        lockstep=True,
        # the clock of the wall does not wait: a lost packet costs one period of it
        resend=simulation.period if simulated is None else 2.0,
        patience=1.0 if simulated is None else 10.0,
        tolerance=2.0 * simulation.period,
        report=report,
        **wall,
    )


def _check(options: BetaflightOptions) -> None:
    autopilot.check_speed(options.speed)
    if options.program is not None:
        Program.check_path(options.program)
    for name in ("keep_settings", "sync"):
        if getattr(options, name) and options.program is None:
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"{flag}: expected with --program, whose settings it concerns; add it")
    if options.speed != 1.0 and (options.program is None or options.clock == "wall"):
        raise ValueError(
            f"--speed {options.speed:g}: expected 1 without the simulated clock; add --program"
        )


def _run(
    loop: Loop,
    sticks: Transmitter,
    clock: SimulatedClock | None,
    program: Program | None,
    options: BetaflightOptions,
) -> ScriptedFlight | None:
    simulation = loop.simulation
    script = None
    if options.script is not None:
        script = ScriptedFlight(
            simulation.parameters, sticks.set, lambda: loop.connected, options.script
        )
    end = math.inf if options.duration is None else options.duration
    between = max(1, round(_STICK_PERIOD / simulation.period))

    def pilot(sample: Sample) -> bool:
        if program is not None:
            program.check()
        if clock is not None:
            sends_sticks = loop.statistics.steps % between == 0
            clock.allow(sample.time + simulation.period, 2 if sends_sticks else 1)
            if sends_sticks:
                sticks.send(sample.time)
        if simulation.overturned:
            report(f"crashed: the vehicle lies on its back at {sample.time:.1f} s")
            return False
        return sample.time < end and (script is None or script(sample))

    advice = "lower the gains of Betaflight's rate profile"
    with autopilot.observed(loop, pilot, options, advice) as observed:
        try:
            loop.run(observed)
        finally:
            report(f"{loop.statistics}, refused: {loop.codec.refused}")
    return script


def _simulation(options: BetaflightOptions) -> Simulation:
    if options.sync and 1000 % options.rate:
        raise ValueError(f"--rate: expected a divisor of 1000 with --sync, got {options.rate}")
    return autopilot.make_simulation(options, "betaflight", options.rate)


def _settings(options: BetaflightOptions, simulation: Simulation) -> str:
    is_reversed = options.own_spins and simulation.motor_map.reversed
    return configuration(simulation.parameters, is_reversed, options.rate if options.sync else None)


def table(checks: list[Check]) -> str:
    """The checks as a table."""
    rows = [("part", "", "measured", "expected")]
    rows += [(c.name, "ok" if c.passed else "FAILED", c.measured, c.expected) for c in checks]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
