"""`python -m propwash arcade`: people fly the simulated vehicles in a browser."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from propwash._checks import available_threads
from propwash._files import check_file
from propwash.cli._options import add_command, option
from propwash.cli._shared import VEHICLE, image_size, progress

_MAX_THREADS = 4


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "fly in a browser, and record every flight (docs/arcade.md)"
    add_command(commands, "arcade", about, ArcadeOptions, run)


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


@dataclass
class ArcadeOptions:
    """Options of the command."""

    vehicle: str = option(VEHICLE, "flightgoggles")
    course: str | None = option(
        "a course or a scene file with gates (default: lesson; of --film that of the log)",
        metavar="NAME|FILE",
    )
    seed: int = option("seed of gate positions and noise", 0)
    folder: Path = option("folder of the flight logs and the leader board", Path("arcade"))
    name: str = option("of the pilot, on the leader board (default: the login)", "")
    format: Literal["csv", "mcap"] = option("of the logs", "csv")
    host: str = option("IP address", "127.0.0.1")
    port: int | None = option("0: any free one (default: 8765, or one of the next 19)", type=_port)
    size: tuple[int, int] = option(
        "WxH of the images (default: 640x360)", (640, 360), type=image_size((64, 64), (1920, 1080))
    )
    threads: int = option(
        "for rendering (default: those of the machine, at most 4)",
        min(available_threads(), _MAX_THREADS),
        low=1,
        high=256,
    )
    antialias: int = option("rays along each edge of a pixel; 1: faster images", 2, low=1, high=8)
    rates: Any = option(
        "of acro mode, as in Betaflight (default: 1,0.7,0)", type=_rates, metavar="RC,SUPER,EXPO"
    )
    no_browser: bool = option("print the address, open no browser", False)
    film: Path | None = option(
        "make a video of a flight log, and serve no page", metavar="LOG", group="film"
    )
    out: Path = option(".mp4 or .gif", Path("film.mp4"), group="film")
    view: Literal["chase", "onboard"] = option("of the camera", "chase", group="film")
    rate: float = option("images a second", 30.0, low=1.0, high=240.0, group="film")
    ghosts: list[Literal["best", "pilot", "policy"]] = option(
        "show the best flight of the folder of the log, the built-in pilot or the policy, too",
        [],
        nargs="+",
        group="film",
    )


def run(options: ArcadeOptions) -> None:
    """Serves until Ctrl-C, or makes a film."""
    from propwash.arcade import ArcadeSettings, serve

    if options.film is not None:
        return _film(options, options.film)
    serve(
        ArcadeSettings(
            course=options.course or ArcadeSettings.course,
            vehicle=options.vehicle,
            seed=options.seed,
            folder=options.folder,
            name=options.name,
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


def _film(options: ArcadeOptions, log: Path) -> None:
    from propwash.arcade import film

    check_file(options.out)
    shown = film(
        log,
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
