"""`python -m propwash identify`: identifies vehicle parameters and IMU noise from logs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from propwash import viz
from propwash._files import check_file
from propwash.cli._shared import IMAGE_SUFFIXES, add_logs, read_logs, saved

_GUESS = "crazyflie"


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    found = commands.add_parser(
        "identify", help="identify a vehicle from logs of its flights (docs/identify.md)"
    )
    add_logs(found)
    found.add_argument(
        "--vehicle",
        help=f"initial guess, a name or a TOML file (default: {_GUESS})",
    )
    found.add_argument(
        "--parameters",
        help="names of free parameters, separated by commas (default: all identifiable ones)",
    )
    found.add_argument(
        "--imu",
        action="store_true",
        help="identify IMU noise from a stationary log instead, with a plot of Allan deviations",
    )
    found.add_argument(
        "--validate",
        action="store_true",
        help="also validate: predict each flight with poses from the others, and the rates of the "
        "last 40 %% of each synchronous flight from the first 60 %%",
    )
    found.add_argument(
        "--threads", type=int, default=0, help="0 for all processors (default: %(default)s)"
    )
    found.add_argument(
        "--out",
        type=Path,
        help="vehicle file to write (default: identified.toml), or the plot (allan.png)",
    )
    found.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    from propwash import identify

    out: Path = options.out or Path("allan.png" if options.imu else "identified.toml")
    check_file(out)
    if options.imu:
        _imu(options, out)
        return
    if out.suffix != ".toml":
        raise ValueError(f"--out {out}: expected the name of a vehicle file, .toml")
    guess = options.vehicle or _GUESS
    logs = read_logs(options, guess)
    names = None
    if options.parameters is not None:
        names = [name.strip() for name in options.parameters.split(",")]
    if options.validate:
        viz.require_matplotlib()
        _predictable(logs)
    found = identify.fit_vehicle(logs, guess, parameters=names, threads=options.threads)
    print(found.table())
    found.save(out)
    print(f"\nvehicle: {out}", flush=True)
    if options.validate:
        _score(logs, guess, names, options.threads, out)


def _imu(options: argparse.Namespace, out: Path) -> None:
    from propwash import identify

    others = {"--vehicle": options.vehicle, "--parameters": options.parameters}
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


def _predictable(logs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Returns the logs whose forces, and those whose rotation, can be predicted."""
    from propwash.identify import usable

    posed = [log for log in logs if usable(log)[0]]
    synchronous = [log for log in logs if usable(log)[1]]
    if len(posed) < 2 and not synchronous:
        raise ValueError(
            "--validate: expected two logs with poses, or one with synchronous commands at 80 Hz "
            f"or more, got {len(posed)} and none"
        )
    return posed, synchronous


def _score(logs: list[Any], guess: str, names: list[str] | None, threads: int, out: Path) -> None:
    from propwash import identify

    posed, synchronous = _predictable(logs)
    if len(posed) > 1:
        print("\neach flight, predicted by a vehicle fitted to the others:")
        scores = identify.leave_one_out(posed, guess, threads, parameters=names)
        _show(scores, posed, out.with_name(f"{out.stem}_left_out.png"))
    if synchronous:
        print("\nthe last 40 % of each flight, predicted by a vehicle fitted to the first 60 %:")
        scores = identify.hold_out(synchronous, guess, threads=threads, parameters=names)
        _show(scores, synchronous, out.with_name(f"{out.stem}_held_out.png"))


def _show(scores: Any, logs: list[Any], file: Path) -> None:
    from propwash import identify

    print(identify.score_table(scores))
    names = [log.path.stem for log in logs]
    print(f"plot: {saved(lambda: identify.errors_figure(scores, names), file)}", flush=True)
