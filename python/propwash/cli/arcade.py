"""`python -m propwash arcade`: people fly the simulated vehicles in a browser."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from propwash._checks import available_threads
from propwash._files import check_file
from propwash.cli._shared import add_vehicle, check_range, image_size, progress

_MAX_THREADS = 4


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "arcade", help="fly in a browser, and record every flight (docs/arcade.md)"
    )
    add_vehicle(parser)
    parser.add_argument(
        "--course",
        metavar="NAME|FILE",
        help="a course or a scene file with gates (default: lesson; of --film that of the log)",
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
        "--size",
        type=image_size((64, 64), (1920, 1080)),
        default=(640, 360),
        help="WxH of the images (default: 640x360)",
    )
    parser.add_argument(
        "--threads", type=int, help="for rendering (default: those of the machine, at most 4)"
    )
    parser.add_argument(
        "--antialias",
        type=int,
        default=2,
        help="rays along each edge of a pixel; 1: faster images (default: %(default)s)",
    )
    parser.add_argument(
        "--rates",
        type=_rates,
        metavar="RC,SUPER,EXPO",
        help="of acro mode, as in Betaflight (default: 1,0.7,0)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, open no browser"
    )
    _add_film(parser)
    parser.set_defaults(run=run)


def _add_film(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("film")
    group.add_argument(
        "--film", type=Path, metavar="LOG", help="make a video of a flight log, and serve no page"
    )
    group.add_argument(
        "--out", type=Path, default=Path("film.mp4"), help=".mp4 or .gif (default: %(default)s)"
    )
    group.add_argument(
        "--view", choices=("chase", "onboard"), default="chase", help="(default: %(default)s)"
    )
    group.add_argument(
        "--rate", type=float, default=30.0, help="images a second (default: %(default)g)"
    )
    group.add_argument(
        "--ghosts",
        nargs="+",
        default=[],
        choices=("best", "pilot", "policy"),
        help="show the best flight of the folder of the log, the built-in pilot or the policy, too",
    )


def _port(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected from 0 to 65535, got {text!r}")
    return int(text)


def _rates(text: str) -> Any:
    from propwash.arcade import StickRates

    try:
        rc_rate, super_rate, expo = (float(part) for part in text.split(","))
        return StickRates((rc_rate,) * 3, (super_rate,) * 3, (expo,) * 3)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected three numbers such as 1,0.7,0.2, got {text!r} ({error})"
        ) from None


def run(options: argparse.Namespace) -> None:
    """Serves until Ctrl-C, or makes a film."""
    from propwash.arcade import Settings, serve

    check_range("threads", options.threads, 1, 256)
    check_range("antialias", options.antialias, 1, 8)
    if options.threads is None:
        options.threads = min(available_threads(), _MAX_THREADS)
    if options.film is not None:
        return _film(options)
    serve(
        Settings(
            course=options.course or Settings.course,
            vehicle=options.vehicle,
            seed=options.seed,
            folder=options.folder,
            name=options.name or "",
            suffix=f".{options.format}",
            host=options.host,
            port=options.port,
            size=options.size,
            threads=options.threads,
            antialias=options.antialias,
            rates=options.rates,
            browser=not options.no_browser,
        ),
        started=lambda url: print(url, flush=True),
    )
    raise KeyboardInterrupt  # a signal ended it


def _film(options: argparse.Namespace) -> None:
    from propwash.arcade import film

    check_file(options.out)
    check_range("rate", options.rate, 1.0, 240.0)
    shown = film(
        options.film,
        options.out,
        course=options.course,
        ghosts=options.ghosts,
        view=options.view,
        size=options.size,
        rate=options.rate,
        threads=options.threads,
        antialias=options.antialias,
        progress=progress("arcade: film"),
    )
    print(shown)
