"""`python -m propwash identify`: a vehicle file from flights, and the noise of an IMU."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from propwash import plots


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    found = commands.add_parser(
        "identify", help="identify a vehicle from logs of its flights (docs/identify.md)"
    )
    found.add_argument(
        "flight",
        nargs="+",
        help="logs: CSV, PX4 ULog, ROS bags; LOG@FROM:TO takes a piece, s from the first row",
    )
    found.add_argument(
        "--vehicle",
        default="crazyflie",
        help="the guess to start from, a name or a TOML file (default: %(default)s)",
    )
    found.add_argument("--columns", type=Path, help="a TOML file that says which columns hold what")
    found.add_argument(
        "--parameters", help="names of what is free, separated by commas (default: what is told)"
    )
    found.add_argument(
        "--imu",
        action="store_true",
        help="the IMU's noise at rest instead of the vehicle, with a plot of Allan deviations",
    )
    found.add_argument(
        "--judge",
        action="store_true",
        help="also predict what was not fitted: each flight from the others where there are poses, "
        "the last 40 %% of each flight from the first 60 %% otherwise",
    )
    found.add_argument(
        "--threads", type=int, default=0, help="0 for all processors (default: %(default)s)"
    )
    found.add_argument(
        "--out",
        type=Path,
        help="the vehicle file to write (default: identified.toml), or the plot (allan.png)",
    )
    found.set_defaults(run=run)


def _read(name: str, columns: Any) -> Any:
    """A log, or the piece of it that FROM:TO after an @ tells."""
    from propwash import identify

    piece = re.fullmatch(r"(.+)@(\d*\.?\d*):(\d*\.?\d*)", name)
    if piece is None:
        return identify.read_log(name, columns)
    path, start, stop = piece.groups()
    log = identify.read_log(path, columns)
    return log.cut(float(start or "-inf"), float(stop or "inf"))


def run(options: argparse.Namespace) -> None:
    """Reads, identifies, tells, writes."""
    from propwash import identify

    out: Path = options.out or Path("allan.png" if options.imu else "identified.toml")
    if out.is_dir() or not out.resolve().parent.is_dir():
        raise ValueError(f"--out {out}: expected a file in a folder that exists")
    columns = None if options.columns is None else identify.Columns.from_toml(options.columns)
    logs = [_read(name, columns) for name in options.flight]
    if options.imu:
        _imu(logs, out)
        return
    if out.suffix != ".toml":
        raise ValueError(f"--out {out}: expected the name of a vehicle file, .toml")
    if options.judge:
        plots.require_matplotlib()
    names = None if options.parameters is None else options.parameters.split(",")
    found = identify.vehicle(logs, options.vehicle, parameters=names, threads=options.threads)
    print(found.table())
    found.save(out)
    print(f"\nvehicle: {out}", flush=True)
    if options.judge:
        _judge(logs, options, out)


def _imu(logs: list[Any], out: Path) -> None:
    from propwash import identify

    if len(logs) != 1:
        raise ValueError(f"--imu: expected one log, got {len(logs)}")
    plots.require_matplotlib()
    noise = identify.imu(logs[0])
    print(noise.table())
    for name, value in noise.parameters().items():
        print(f"imu.{name} = {value:.3g}")
    plots.save(identify.allan_figure(noise), out)
    print(f"plot: {out}")


def _judge(logs: list[Any], options: argparse.Namespace, out: Path) -> None:
    from propwash import identify

    posed = [log for log in logs if log.position is not None]
    others = [log for log in logs if log.position is None]
    if len(posed) > 1:
        print("\neach flight predicted by a vehicle that was fitted to the others:")
        scores = identify.leave_one_out(posed, options.vehicle, options.threads)
        _show(scores, posed, out.with_name(f"{out.stem}_left_out.png"))
    if others:
        print("\nthe last 40 % of each flight, predicted by a vehicle fitted to the first 60 %:")
        scores = identify.hold_out(others, options.vehicle, threads=options.threads)
        _show(scores, others, out.with_name(f"{out.stem}_held_out.png"))


def _show(scores: Any, logs: list[Any], file: Path) -> None:
    from propwash import identify

    print(identify.score_table(scores))
    plots.save(identify.errors_figure(scores, [log.path.stem for log in logs]), file)
    print(f"plot: {file}", flush=True)
