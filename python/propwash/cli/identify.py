"""`python -m propwash identify`: identifies vehicle parameters and IMU noise from logs."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from propwash import viz
from propwash._files import check_file
from propwash.cli._options import add_command, option
from propwash.cli._shared import (
    IMAGE_SUFFIXES,
    LOG_VEHICLE,
    VEHICLE,
    LogOptions,
    read_logs,
    saved,
    vehicle_of,
)
from propwash.vehicle.parameters import VehicleParameters


@dataclass
class IdentifyOptions(LogOptions):
    """Options of the command."""

    vehicle: str | None = option(
        f"initial guess, {VEHICLE} (default: that of a flight log of propwash, or {LOG_VEHICLE})"
    )
    parameters: str | None = option(
        "names of free parameters, separated by commas (default: all identifiable ones)"
    )
    groups: str | None = option(
        "name of the vehicle of each log, separated by commas (default: all of one vehicle); "
        "writes a file for each, OUT_NAME.toml"
    )
    imu: bool = option(
        "identify IMU noise from a stationary log instead, with a plot of Allan deviations", False
    )
    validate: bool = option(
        "also validate: predict each flight by a fit of the others, or the last 40 % of a single "
        "flight by a fit of the first 60 %",
        False,
    )
    threads: int = option("0 for all processors (default: 0)", 0)
    out: Path | None = option(
        "vehicle file to write (default: identified.toml), or the plot (allan.png)"
    )
    report: Path | None = option(
        "also write a page with estimates, residuals and predictions, .html (default: none)"
    )


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "identify a vehicle from logs of its flights (docs/identify.md)"
    add_command(commands, "identify", about, IdentifyOptions, run)


def run(options: IdentifyOptions) -> None:
    """Runs the command."""
    from propwash import identify

    out: Path = options.out or Path("allan.png" if options.imu else "identified.toml")
    check_file(out)
    if options.imu:
        _imu(options, out)
        return
    if out.suffix != ".toml":
        raise ValueError(f"--out {out}: expected the name of a vehicle file, .toml")
    if options.report is not None:
        check_file(options.report, "--report")
        if options.report.suffix.lower() != ".html":
            raise ValueError(f"--report {options.report}: expected the name of a page, .html")
    groups = None
    if options.groups is not None:
        groups = [name.strip() for name in options.groups.split(",")]
        for name in groups:
            if not re.fullmatch(r"[\w-]+", name):
                raise ValueError(
                    f"--groups: expected names of letters, digits, _ and -, got {name!r}"
                )
    logs = read_logs(options, options.vehicle or LOG_VEHICLE)
    guess = vehicle_of(options.vehicle, logs)
    names = None
    if options.parameters is not None:
        names = [name.strip() for name in options.parameters.split(",")]
    if options.validate or options.report is not None:
        viz.require_matplotlib()
    found = identify.fit_vehicle(
        logs, guess, parameters=names, groups=groups, threads=options.threads
    )
    print(found.table() + "\n")
    scores = None
    if options.validate:
        scores = _score(logs, guess, names, groups, options.threads, out)
    if options.report is not None:
        identify.report(found, options.report, scores=scores, command=_command(options))
        print(f"report: {options.report}", flush=True)
    results = {out: found}
    results |= {out.with_stem(f"{out.stem}_{name}"): one for name, one in found.groups.items()}
    for result in results.values():
        result.to_toml()  # raises for an estimate at a bound, before any file is written
    for file, result in results.items():
        result.save(file)
        print(f"vehicle: {file}", flush=True)


def _command(options: IdentifyOptions) -> str:
    """Returns the command that identifies the same vehicle, with names of files but no folders."""
    parts = ["python", "-m", "propwash", "identify"]
    parts += [Path(name).name for name in options.flight]
    for flag, file in (("--columns", options.columns), ("--vehicle", options.vehicle)):
        parts += [] if file is None else [flag, Path(file).name]
    for flag, text in (("--parameters", options.parameters), ("--groups", options.groups)):
        parts += [] if text is None else [flag, text]
    parts += [f"--{name}" for name in ("correct", "validate") if getattr(options, name)]
    return shlex.join(parts)


def _imu(options: IdentifyOptions, out: Path) -> None:
    from propwash import identify

    others = {
        "--vehicle": options.vehicle,
        "--parameters": options.parameters,
        "--groups": options.groups,
        "--report": options.report,
    }
    unused = [name for name, value in others.items() if value is not None]
    if options.validate or unused:
        raise ValueError(f"--imu: expected no {[*unused, '--validate'][0]}, which has no effect")
    if len(options.flight) != 1:
        raise ValueError(f"--imu: expected one log, got {len(options.flight)}")
    if out.suffix.lower() not in IMAGE_SUFFIXES:
        raise ValueError(f"--out {out}: expected the name of a plot, .png, .svg or .pdf")
    viz.require_matplotlib()
    noise = identify.fit_imu(*read_logs(options, None))
    print(noise.table())
    for name, value in noise.parameters().items():
        print(f"imu.{name} = {value:.3g}")
    print(f"plot: {saved(lambda: identify.allan_figure(noise), out)}", flush=True)


def _score(
    logs: list[Any],
    guess: str | VehicleParameters,
    names: list[str] | None,
    groups: list[str] | None,
    threads: int,
    out: Path,
) -> list[Any]:
    """Prints and plots prediction errors on data that was not fitted, and returns them."""
    from propwash import identify

    if len(logs) > 1:
        print("\neach flight, predicted by a fit of the others:", flush=True)
        scores = identify.leave_one_out(
            logs,
            guess,
            threads,
            parameters=names,
            groups=groups,
            progress=lambda text: print(text, flush=True),
        )
        file = out.with_name(f"{out.stem}_left_out.png")
    else:
        print("\nthe last 40 % of the flight, predicted by a fit of the first 60 %:", flush=True)
        scores = identify.hold_out(logs, guess, threads=threads, parameters=names)
        file = out.with_name(f"{out.stem}_held_out.png")
    print(identify.score_table(scores))
    print(f"plot: {saved(lambda: identify.errors_figure(scores), file)}", flush=True)
    return scores
