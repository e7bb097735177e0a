"""Runs the arcade: threads, server and files, until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import signal
import sys
import webbrowser
from dataclasses import dataclass
from typing import Any

from propwash._bridge import Refused
from propwash.arcade import _messages as messages
from propwash.arcade._arcade import Arcade, Settings
from propwash.arcade._images import Artist, Images
from propwash.arcade._pages import Pages
from propwash.arcade._server import Server, address_of, listen, require_websockets
from propwash.arcade._site import Site
from propwash.arcade._stand_in import StandIn
from propwash.world import Scene


@dataclass(frozen=True)
class _Course:
    name: str
    title: str

    def scene(self, seed: int) -> Scene:
        return Scene.load(self.name, seed=seed)


def serve(options: argparse.Namespace) -> None:
    """Serves until Ctrl-C or SIGTERM."""
    require_websockets()
    asyncio.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    courses = {"alphapilot": _Course("alphapilot", "AlphaPilot")}
    settings = Settings(options.course, options.vehicle, options.seed)
    physics = StandIn(courses[options.course], options.vehicle, options.seed)
    parts: dict[str, Any] = {}

    def post(call: Any) -> None:
        loop.call_soon_threadsafe(call)

    def tell(text: str) -> None:
        if "server" in parts:
            parts["server"].pages.tell(text)
            parts["server"].flush()

    arcade = Arcade(
        physics,
        courses,
        settings,
        size=options.size,
        board=lambda s: messages.BoardMessage(s.course, s.seed, []),
        make_ghosts=lambda s, scene: (),
        post=post,
        tell=tell,
    )
    refused = Refused(lambda line: print(f"propwash arcade: {line}", file=sys.stderr))
    pages = Pages(arcade, refused)
    listening = listen(options.host, options.port)
    site = Site(address_of(listening), secrets.token_urlsafe(16))

    def failed(error: BaseException) -> None:
        parts["error"] = error
        post(ended.set)

    images = Images(
        Artist(options.size, options.threads),
        lambda: arcade.scenery,
        lambda frame, data: post(lambda: server.deliver(frame, data)),
        failed,
    )
    server = Server(site, pages, arcade.greeting, lambda: arcade.flying, images.request)
    parts["server"] = server
    images.start()
    async with server.serving(listening):
        print(site.url, flush=True)
        if not options.no_browser:
            webbrowser.open(site.url)
        await ended.wait()
    images.stop()
    arcade.close()
    physics.stop()
    if "error" in parts:
        raise parts["error"]
