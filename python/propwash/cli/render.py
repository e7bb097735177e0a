"""`python -m propwash render`: the reference renderer for a client on the wire."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from propwash.cli._options import add_command, option

if TYPE_CHECKING:
    from propwash.render.server import Server

EVERY = 0.5
"""Time between status lines on a terminal [s]."""


@dataclass
class RenderOptions:
    """Options of the command."""

    scene: str | None = option(
        "scene instead of the client's (default: the client's; without one, alphapilot)",
        metavar="NAME|FILE",
    )
    port: tuple[int, int] = option("the client's ports", (10253, 10254), metavar=("POSE", "IMAGE"))
    client_ip: str = option("the client's address", "127.0.0.1", metavar="A.B.C.D")
    look: str = option("the light: auto, morning, noon, sunset, …", "auto")
    threads: int = option("for rendering", 1)
    antialias: int = option("rays along each edge of a pixel where colours change; 1: one ray", 2)
    seed: int | None = option("seed of the scene and its textures")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "render images of a scene for a client (docs/render-reference.md)"
    add_command(commands, "render", about, RenderOptions, run)


def run(options: RenderOptions) -> None:
    """Serves clients until Ctrl-C."""
    from propwash.render.server import Server, require_zeromq

    require_zeromq()
    server = Server(
        options.scene,
        ports=options.port,
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
