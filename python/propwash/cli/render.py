"""`python -m propwash render`: the reference renderer for a client on the wire."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from propwash.render.server import Server

EVERY = 0.5
"""Time between status lines on a terminal [s]."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "render", help="render images of a scene for a client (docs/render-reference.md)"
    )
    parser.add_argument(
        "--scene",
        metavar="NAME|FILE",
        help="scene instead of the client's (default: the client's; without one, alphapilot)",
    )
    parser.add_argument(
        "--port",
        nargs=2,
        type=int,
        metavar=("POSE", "IMAGE"),
        default=(10253, 10254),
        help="the client's ports (default: 10253 10254)",
    )
    parser.add_argument(
        "--client-ip",
        metavar="A.B.C.D",
        default="127.0.0.1",
        help="the client's address (default: %(default)s)",
    )
    parser.add_argument("--look", default="auto", help="the light: auto, morning, noon, sunset, …")
    parser.add_argument("--threads", type=int, default=1, help="for rendering (default: 1)")
    parser.add_argument(
        "--antialias",
        type=int,
        default=2,
        help="rays along each edge of a pixel where colours change; 1: one ray (default: 2)",
    )
    parser.add_argument("--seed", type=int, help="seed of the scene and its textures")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serves clients until Ctrl-C."""
    from propwash.render.server import Server, require_zeromq

    require_zeromq()
    server = Server(
        options.scene,
        ports=tuple(options.port),
        client_ip=options.client_ip,
        look=options.look,
        antialias=options.antialias,
        threads=options.threads,
        seed=options.seed,
        log=_log,
    )
    poses, images = server.ports
    shown = options.scene or "the scene that the client names"
    _log(
        f"{shown}, poses from {server.client_ip}:{poses}, images to {server.client_ip}:{images}; "
        f"Ctrl-C stops"
    )
    try:
        server.run(status=_status_line() if sys.stderr.isatty() else None)
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)
        _log(summary(server))


def summary(server: Server) -> str:
    """Counts of the received poses, as text."""
    counts = server.counts
    parts = [f"{counts['answered']} poses answered"]
    for what, text in (
        ("repeated", "again with the same images"),
        ("skipped", "skipped for newer ones"),
        ("malformed", "could not be read"),
        ("refused", "could not be rendered"),
        ("unsent", "answers not received by the client"),
    ):
        if counts[what]:
            parts.append(f"{counts[what]} {text}")
    return ", ".join(parts)


def _log(line: str) -> None:
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{start}propwash render: {line}", file=sys.stderr, flush=True)


def _status_line() -> Callable[[Server], None]:
    """Returns a function that overwrites a status line with the rate and the counts."""
    last = time.monotonic()
    answered = 0

    def show(server: Server) -> None:
        nonlocal last, answered
        now = time.monotonic()
        if now - last < EVERY:
            return
        fresh = server.counts["answered"] - answered
        rate = fresh / (now - last)
        last, answered = now, server.counts["answered"]
        if fresh:
            text = f"{rate:.1f} answers/s, {summary(server)}"
        elif answered:
            text = f"no new poses, {summary(server)}"
        else:
            text = f"waiting for a client to send poses from {server.client_ip}:{server.ports[0]}"
        print(f"\r\x1b[Kpropwash render: {text}"[:200], end="", file=sys.stderr, flush=True)

    return show
