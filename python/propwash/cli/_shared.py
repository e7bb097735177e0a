"""Options, checks and output shared by the commands."""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from propwash import logs, viz
from propwash._files import written_whole
from propwash.cli._options import option
from propwash.vehicle.parameters import VehicleParameters

LOG_VEHICLE = "crazyflie"
"""The vehicle of logs that do not describe theirs."""
IMAGE_SUFFIXES = (".png", ".svg", ".pdf")
_SECONDS = r"\d+(?:\.\d*)?|\.\d+"


VEHICLE = "a name or a TOML file"
"""Help of `--vehicle`."""


@dataclass
class EnvironmentOptions:
    """Options of commands with environments."""

    viz: Literal["matplotlib", "rerun"] | None = option(
        "library for the flight (default: by suffix)"
    )
    option: list[str] = option(
        "an option of the task or its environments (docs/gym.md) as JSON; may be repeated",
        [],
        metavar="NAME=VALUE",
    )


@dataclass
class LogOptions:
    """Options of commands that read logs."""

    flight: list[str] = option(
        "logs: CSV, PX4 ULog, ROS bags, MCAP (docs/logs.md); LOG@FROM:TO reads a part, s from the "
        "first row",
        positional=True,
        nargs="+",
    )
    columns: Path | None = option("a TOML file that maps columns to quantities")
    correct: bool = option(
        "correct wrong units, axes and lost voltages that a log shows beyond doubt, and warn", False
    )


def pairs(flag: str, texts: list[str]) -> dict[str, Any]:
    """Parses NAME=VALUE of a repeated option `flag`; values are JSON, or else strings."""
    values: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise ValueError(f"{flag}: expected NAME=VALUE, got {text!r:.100}")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values


def own_address(host: str) -> str:
    """The IPv4 address of --host. Raises ValueError unless it is one of this machine."""
    try:
        address = socket.gethostbyname(host)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"--host {host!s:.100}: expected an address or a name of this machine, got: {reason}"
        ) from None
    return address


def image_size(
    smallest: tuple[int, int], largest: tuple[int, int]
) -> Callable[[str], tuple[int, int]]:
    """Returns a function that parses WIDTHxHEIGHT within bounds, in pixels."""

    def parsed(text: str) -> tuple[int, int]:
        match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text)
        width, height = (int(part) for part in match.groups()) if match else (-1, -1)
        if not (smallest[0] <= width <= largest[0] and smallest[1] <= height <= largest[1]):
            bounds = "from {}x{} to {}x{} pixels".format(*smallest, *largest)
            raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT, {bounds}, got {text!r}")
        return width, height

    return parsed


def saved(make: Callable[[], Any], file: Path) -> str:
    """Writes a figure; returns its path, or why there is none if a package is missing."""
    try:
        figure = make()
    except ImportError as error:
        return f"none: {error}"
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(file) as part:
        viz.save(figure, part)
    return str(file)


def progress(what: str) -> Callable[[float], None]:
    """Returns a function that prints a fraction on a terminal, overwriting the line."""

    def show(fraction: float) -> None:
        end = "\n" if fraction >= 1.0 else "\r"
        print(f"{what} {fraction:4.0%}", end=end, file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else lambda fraction: None


def read_logs(options: LogOptions, vehicle: str | None) -> list[Any]:
    """Reads the logs, or the parts of them selected by LOG@FROM:TO.

    vehicle: Vehicle whose rotors give the order of the motors; None for the order of the log.
    """
    path = options.columns
    if path is not None and not path.is_file():
        raise ValueError(
            f"--columns {path}: expected a TOML file that maps columns to quantities "
            "(docs/logs.md), found none"
        )
    columns = None if path is None else logs.Columns.from_toml(path)
    read = partial(logs.read_log, columns=columns, vehicle=vehicle, correct=options.correct)
    return [_read(name, read) for name in options.flight]


def vehicle_of(named: str | None, flights: Sequence[logs.Flight]) -> str | VehicleParameters:
    """The vehicle that was named, or else that of flight logs, or else the Crazyflie.

    Raises ValueError for flight logs of different vehicles.
    """
    own = [flight.vehicle for flight in flights if flight.vehicle is not None]
    if named is not None or not own:
        return named or LOG_VEHICLE
    names = sorted({vehicle.name for vehicle in own})
    if len(names) > 1:
        raise ValueError(f"--vehicle: the flights are of {', '.join(names)}; name one vehicle")
    return own[0]


def _read(name: str, read: Callable[..., logs.Flight]) -> logs.Flight:
    path, at, part = name.rpartition("@")
    if not at or Path(name).exists():
        return read(name)
    seconds = re.fullmatch(rf"({_SECONDS})?:({_SECONDS})?", part)
    if seconds is None:
        raise ValueError(
            f"{name}: expected LOG@FROM:TO, seconds from the first row of the log, got {part!r}"
        )
    start, stop = (float(seconds[1] or "-inf"), float(seconds[2] or "inf"))
    if not start < stop:
        raise ValueError(
            f"{name}: expected LOG@FROM:TO with FROM below TO, got {start:g} and {stop:g} s"
        )
    return read(path, start=start, stop=stop)
