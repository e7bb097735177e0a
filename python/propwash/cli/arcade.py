"""`python -m propwash arcade`: people fly the simulated vehicles in a browser."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from propwash.cli._shared import add_vehicle, check_range


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "arcade", help="fly in a browser, and record every flight (docs/arcade.md)"
    )
    add_vehicle(parser)
    parser.add_argument(
        "--course",
        default="alphapilot",
        metavar="NAME|FILE",
        help="a course or a scene file with gates (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of gate positions and noise (default: 0)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("arcade"),
        help="folder of the flight logs and the leader board (default: %(default)s)",
    )
    parser.add_argument("--name", help="of the pilot, on the leader board (default: the login)")
    parser.add_argument(
        "--format", choices=("csv", "mcap"), default="csv", help="of the logs (default: csv)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="IP address (default: %(default)s)")
    parser.add_argument(
        "--port", type=_port, help="0: any free one (default: 8765, or one of the next 19)"
    )
    parser.add_argument(
        "--size", type=_size, default=(640, 360), help="WxH of the images (default: 640x360)"
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="for rendering (default: %(default)s)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, open no browser"
    )
    parser.set_defaults(run=run)


def _port(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected from 0 to 65535, got {text!r}")
    return int(text)


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    width, height = (int(part) for part in match.groups()) if match else (0, 0)
    if not (64 <= width <= 1920 and 64 <= height <= 1080):
        raise argparse.ArgumentTypeError(
            f"expected WIDTHxHEIGHT, from 64x64 to 1920x1080 pixels, got {text!r}"
        )
    return width, height


def run(options: argparse.Namespace) -> None:
    """Serves until Ctrl-C."""
    from propwash.arcade._serve import Options, serve

    check_range("threads", options.threads, 1, 256)
    serve(
        Options(
            course=options.course,
            vehicle=options.vehicle,
            seed=options.seed,
            folder=options.folder,
            name=options.name or "",
            suffix=f".{options.format}",
            host=options.host,
            port=options.port,
            size=options.size,
            threads=options.threads,
            browser=not options.no_browser,
        ),
        started=lambda url: print(url, flush=True),
    )
