"""`python -m propwash`: the commands, and the paths of the installed C++ files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from propwash import _core
from propwash._bridge import uninterrupted
from propwash._files import check_file
from propwash.cli import bench, bench_device, demo
from propwash.cli._options import add_command, option
from propwash.cli._shared import VEHICLE, progress, saved

_COMMANDS = (
    "race", "train", "fly", "export", "tune", "identify", "replay", "render", "dataset",
    "ros", "lcm", "autopilot", "arcade",
)  # fmt: skip


def _threads(text: str) -> tuple[int, ...]:
    try:
        return bench.checked_threads([int(part) for part in text.split(",")])
    except ValueError:
        raise argparse.ArgumentTypeError(f"{bench.THREADS_EXPECTED}, got {text!r}") from None


@dataclass
class DemoOptions:
    """Options of `demo`."""

    vehicle: str = option(VEHICLE, "flightgoggles")
    seed: int = option("seed of the noise", 1)
    out: Path = option("file of the plot", Path("demo.png"))


@dataclass
class BenchOptions:
    """Options of `bench`."""

    quick: bool = option("RK4 of 4096 vehicles on one thread, ten seconds", False)
    device: str = option("cpu, or cuda: RK4 of 2^10 to 2^22 vehicles on a GPU", "cpu")
    threads: Any = option("numbers separated by commas (default: 1,2; quick: 1)", type=_threads)
    json: bool = option("rows as JSON instead of the table", False)
    markdown: bool = option("the table as Markdown", False)
    out: Path | None = option("a file to write to (default: standard output)")


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

    add_command(commands, "demo", "fly 10 s under rate control and plot it", DemoOptions, _demo)
    for name in _COMMANDS:
        import_module(f"propwash.cli.{name}").add_parser(commands)
    about = "measure vehicle-steps per second of a fleet (docs/performance.md)"
    add_command(commands, "bench", about, BenchOptions, _bench)
    return parser


def _demo(options: DemoOptions) -> None:
    check_file(options.out)
    recorded = demo.fly(options.vehicle, options.seed)
    print(demo.report(recorded))
    print(f"  plot          {saved(lambda: demo.figure(recorded), options.out)}")


def _bench_device(options: BenchOptions) -> None:
    if options.json or options.threads:
        raise ValueError("--device: expected no --json and no --threads; remove them")
    show = progress("bench:")
    text = bench_device.table(options.device, options.quick, show)
    if options.out is None:
        print(text, flush=True)
    else:
        options.out.write_text(text + "\n", encoding="utf-8")


def _bench(options: BenchOptions) -> None:
    if options.json and options.markdown:
        raise ValueError("--markdown: expected no --json, which has another format; remove one")
    if options.out is not None:
        check_file(options.out)
    if options.device != "cpu":
        return _bench_device(options)
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
