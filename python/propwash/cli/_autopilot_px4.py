"""`python -m propwash autopilot px4` (docs/px4.md)."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from propwash.autopilot import (
    FirmwareLoop,
    Home,
    Link,
    Loop,
    Px4,
    Px4Hil,
    SerialLink,
    Simulation,
    TcpLink,
    UdpLink,
    px4_hil_parameters,
    px4_parameters,
    settings_file,
)
from propwash.cli import autopilot
from propwash.cli._options import check_range, option
from propwash.cli.autopilot import FOLDER, LockstepOptions, report

HELP = "PX4: its simulator build over TCP in lock step, or hardware in the loop (docs/px4.md)"
P = TypeVar("P", bound=Px4)
_BITS = 1200
"""Bits on a serial line for each HIL_SENSOR and what is sent beside it."""


@dataclass
class Px4Options(LockstepOptions):
    """Options of PX4."""

    folder: Path = option(FOLDER, Path("px4"))
    port: int = option("TCP port", Px4.PORT)
    device: str | None = option(
        "hardware in the loop: serial device, or udp:PORT, of a PX4 with SYS_HITL 1 (default: the "
        "simulator build)"
    )
    baud: int = option("bit/s, of a serial device", 921_600)
    speed: float = option("simulated seconds per second; 0: as fast as PX4 answers", 1.0)
    rate: float = option("Hz, of HIL_SENSOR", Px4.RATE, low=100.0, high=1000.0)
    home: tuple[float, float, float] = option(
        "degrees, degrees, m, of the start",
        (Home.latitude_deg, Home.longitude_deg, Home.altitude),
        metavar=("LATITUDE", "LONGITUDE", "ALTITUDE"),
    )


OPTIONS = Px4Options


def run(options: Px4Options) -> None:
    """Runs the command."""
    autopilot.check_speed(options.speed)
    for name, value, limit in zip(
        ("latitude", "longitude", "altitude"), options.home, (90.0, 180.0, 10_000.0), strict=True
    ):
        check_range(f"home, {name}", value, -limit, limit)
    if options.device is not None:
        _check_device(options, options.device)
    simulation = autopilot.make_simulation(options, "px4", options.rate)
    if options.device is not None:
        _run_hil(options, options.device, simulation)
        return
    parameters = px4_parameters(simulation.parameters, options.own_spins)
    text = "".join(f"export PX4_PARAM_{name}={value:.10g}\n" for name, value in parameters.items())
    if options.config:
        print(text, end="")
        return
    codec = _codec(Px4, options, simulation)
    loop = Loop(
        simulation,
        codec,
        TcpLink(options.port, options.host),
        rate=options.speed or None,
        lockstep=True,
        patience=options.patience,
        unanswered="step",
        report=report,
    )
    file = autopilot.write_settings(options, "vehicle.sh", text)
    name = shlex.quote(str(file))
    report(f"start PX4 with the parameters of the vehicle: . {name} && make px4_sitl none_iris")
    hint = "; a PX4 that was connected before does not connect again: start it anew"
    autopilot.run_until(loop, options, f"does PX4 use the parameters in {file}?", hint)


def _codec(kind: type[P], options: Px4Options, simulation: Simulation, **others: Any) -> P:
    """Makes the codec of both kinds of connection."""
    return kind(
        len(simulation.motor_map.order),
        Home(*options.home),
        seed=options.seed,
        noise=not options.no_noise,
        refused=autopilot.reporting(),
        **others,
    )


def _check_device(options: Px4Options, device: str) -> None:
    """Checks the options of hardware in the loop."""
    if options.speed != 1.0:
        raise ValueError(
            f"--speed: expected 1 with --device, as hardware has its own clock, got "
            f"{options.speed:g}; leave it out"
        )
    if not device.startswith("udp:") and options.rate * _BITS > options.baud:
        raise ValueError(
            f"--rate: expected at most {options.baud / _BITS:.0f} Hz at --baud {options.baud}, got "
            f"{options.rate:g}; use a faster port"
        )


def _run_hil(options: Px4Options, device: str, simulation: Simulation) -> None:
    """Simulates the vehicle of a PX4 in its hardware-in-the-loop mode."""
    firmware = FirmwareLoop("px4", simulation.parameters, options.own_spins)
    _, text = settings_file(firmware, px4_hil_parameters(len(simulation.motor_map.order)))
    if options.config:
        print(text, end="")
        return
    codec = _codec(Px4Hil, options, simulation, report=report)
    link = _link(options, device)
    loop = Loop(simulation, codec, link, patience=options.patience, report=report)
    file = autopilot.write_settings(options, "vehicle.params", text)
    report(f"load the parameters of the vehicle with a ground station, and start PX4 anew: {file}")
    is_local = isinstance(link, UdpLink) and options.host == Px4Options.host
    hint = ", to which only this machine can send: use --host 0.0.0.0 for a board"
    try:
        autopilot.run_until(
            loop, options, f"does PX4 use the parameters in {file}?", hint if is_local else ""
        )
    finally:
        report(codec.statistics())


def _link(options: Px4Options, device: str) -> Link:
    scheme, _, port = device.partition(":")
    if scheme != "udp":
        return SerialLink(device, options.baud)
    if not port.isdigit():
        raise ValueError(f"--device {device}: expected a serial device or udp:PORT")
    return UdpLink(int(port), host=options.host, is_peer=Px4Hil.is_mavlink)
