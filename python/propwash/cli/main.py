"""`python -m propwash`: demonstration, race, renderer, replays, benchmark, path of the headers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from propwash import _core, viz
from propwash._files import check_file
from propwash.cli import bench, demo
from propwash.cli import fly as _fly_command
from propwash.cli import identify as _identify_command
from propwash.cli import race as _race_command
from propwash.cli import render as _render_command
from propwash.cli import replay as _replay_command
from propwash.cli import train as _train_command
from propwash.cli import tune as _tune_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status.

    0, 2 where the input cannot be used, or 130 where Ctrl-C ended the command.
    """
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.path is not None:
        # beside the extension, not this file: an editable install keeps the two apart
        print(Path(_core.__file__).resolve().parent / options.path)
        return 0
    if options.run is None:
        parser.print_help()
        return 2
    try:
        options.run(options)
    except (OSError, ValueError, ImportError) as error:
        print(f"propwash: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("propwash: stopped", file=sys.stderr)
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m propwash",
        description="Vehicle dynamics, sensors, rate control and render client.",
    )
    parser.set_defaults(run=None, path=None)
    parser.add_argument("--version", action="version", version=_core.__version__)
    for name, folder, what in [
        ("--cmakedir", "share/cmake/propwash", "the folder of propwashConfig.cmake"),
        ("--includedir", "include", "the folder of the C++ headers"),
        ("--pkgconfigdir", "share/pkgconfig", "the folder of propwash.pc"),
    ]:
        parser.add_argument(
            name, dest="path", action="store_const", const=folder, help=f"print {what}"
        )
    commands = parser.add_subparsers(title="commands")

    flown = commands.add_parser("demo", help="fly 10 s under rate control and plot it")
    flown.add_argument(
        "--vehicle", default="flightgoggles", help="a name or a TOML file (default: %(default)s)"
    )
    flown.add_argument("--seed", type=int, default=1, help="of the noise (default: 1)")
    flown.add_argument(
        "--out", type=Path, default=Path("demo.png"), help="the plot's file (default: %(default)s)"
    )
    flown.set_defaults(run=_demo)

    for each in (
        _race_command,
        _train_command,
        _fly_command,
        _tune_command,
        _identify_command,
        _replay_command,
        _render_command,
    ):
        each.add_parser(commands)

    timed = commands.add_parser(
        "bench", help="how many vehicle-steps a second a fleet makes here (docs/performance.md)"
    )
    timed.add_argument(
        "--quick", action="store_true", help="RK4 of 4096 vehicles on one thread, some ten seconds"
    )
    timed.add_argument(
        "--threads", type=_threads, help="numbers separated by commas (default: 1,2; quick: 1)"
    )
    form = timed.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="rows as JSON instead of the table")
    form.add_argument("--markdown", action="store_true", help="the table as Markdown")
    timed.add_argument("--out", type=Path, help="a file to write to (default: standard output)")
    timed.set_defaults(run=_bench)
    return parser


def _threads(text: str) -> tuple[int, ...]:
    try:
        return bench.checked_threads([int(part) for part in text.split(",")])
    except ValueError:
        raise argparse.ArgumentTypeError(f"{bench.THREADS_EXPECTED}, got {text!r}") from None


def _save(make: Callable[[], Any], file: Path) -> str:
    """Writes a figure; tells where, or what is missing for it."""
    try:
        viz.save(make(), file)
    except ImportError as error:
        return f"none: {error}"
    return str(file)


def _demo(options: argparse.Namespace) -> None:
    check_file(options.out)
    flown = demo.fly(options.vehicle, options.seed)
    print(demo.report(flown))
    print(f"  plot          {_save(lambda: demo.figure(flown), options.out)}")


def _bench(options: argparse.Namespace) -> None:
    if options.out is not None:
        check_file(options.out)
    make = bench.quick if options.quick else bench.full
    cases = make(options.threads) if options.threads else make()
    rows: list[bench.Row] = []
    stopped = False
    try:
        for row in bench.measure(cases, progress=_counter(len(cases))):
            rows.append(row)
    except KeyboardInterrupt:  # what is there is worth having
        stopped = True
    text = bench.as_json(rows) if options.json else bench.table(rows, options.markdown)
    if options.out is None:
        print(text, flush=True)
    else:
        options.out.write_text(text + "\n", encoding="utf-8")
    if stopped:
        print(f"{len(rows)} of {len(cases)} rows", file=sys.stderr)
        raise KeyboardInterrupt


def _counter(rows: int) -> Callable[[int], None]:
    """A line that counts, where somebody can see it."""
    if not sys.stderr.isatty():
        return lambda done: None

    def show(done: int) -> None:
        end = "\r" if done < rows else "\n"
        print(f"bench: {done} of {rows} rows", end=end, file=sys.stderr, flush=True)

    return show
