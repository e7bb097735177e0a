"""`python -m propwash`: the commands, and the paths of the installed C++ files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from propwash import _core
from propwash._bridge import uninterrupted
from propwash._files import check_file
from propwash.cli import bench, demo
from propwash.cli._shared import add_vehicle, progress, saved

_COMMANDS = (
    "race", "train", "fly", "export", "tune", "identify", "replay", "render", "dataset",
    "ros", "lcm", "autopilot", "arcade",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 0, or 2 for invalid input.

    KeyboardInterrupt is left to `propwash.__main__`.
    """
    with uninterrupted():  # it imports the commands
        parser = make_parser()
    options = parser.parse_args(arguments)
    if options.path is not None:
        # relative to the extension: an editable install keeps this file elsewhere
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
    except MemoryError as error:
        print(f"propwash: out of memory: {error}", file=sys.stderr)
        return 2
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

    demo_parser = commands.add_parser("demo", help="fly 10 s under rate control and plot it")
    add_vehicle(demo_parser)
    demo_parser.add_argument("--seed", type=int, default=1, help="seed of the noise (default: 1)")
    demo_parser.add_argument(
        "--out", type=Path, default=Path("demo.png"), help="file of the plot (default: %(default)s)"
    )
    demo_parser.set_defaults(run=_demo)

    for name in _COMMANDS:
        import_module(f"propwash.cli.{name}").add_parser(commands)

    timed = commands.add_parser(
        "bench", help="measure vehicle-steps per second of a fleet (docs/performance.md)"
    )
    timed.add_argument(
        "--quick", action="store_true", help="RK4 of 4096 vehicles on one thread, ten seconds"
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


def _demo(options: argparse.Namespace) -> None:
    check_file(options.out)
    recorded = demo.fly(options.vehicle, options.seed)
    print(demo.report(recorded))
    print(f"  plot          {saved(lambda: demo.figure(recorded), options.out)}")


def _bench(options: argparse.Namespace) -> None:
    if options.out is not None:
        check_file(options.out)
    make = bench.quick if options.quick else bench.full
    cases = make(options.threads) if options.threads else make()
    rows: list[bench.Row] = []
    stopped = False
    show = progress("bench:")
    try:
        for row in bench.measure(cases, progress=lambda done: show(done / len(cases))):
            rows.append(row)
    except KeyboardInterrupt:  # the rows so far are printed
        stopped = True
    text = bench.as_json(rows) if options.json else bench.table(rows, options.markdown)
    if options.out is None:
        print(text, flush=True)
    else:
        options.out.write_text(text + "\n", encoding="utf-8")
    if stopped:
        print(f"{len(rows)} of {len(cases)} rows", file=sys.stderr)
        raise KeyboardInterrupt
