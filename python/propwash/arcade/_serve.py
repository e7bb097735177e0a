"""Runs the arcade: threads, server and files, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from propwash._bridge import Refused
from propwash._files import check_folder
from propwash.arcade import _courses, _ghosts
from propwash.arcade import _messages as messages
from propwash.arcade._arcade import Arcade, Library
from propwash.arcade._board import default_name
from propwash.arcade._game import Game
from propwash.arcade._images import Artist, Images
from propwash.arcade._keeper import Keeper
from propwash.arcade._pages import Pages
from propwash.arcade._runner import Runner
from propwash.arcade._server import Server, address_of, listen, require_websockets
from propwash.arcade._site import Site

SWITCH_INTERVAL = 0.001
"""s, after which a thread of Python lets others run, so that steps are not late."""


@dataclass(frozen=True)
class Options:
    """Options of the command (docs/arcade.md)."""

    course: str = "alphapilot"
    vehicle: str = "flightgoggles"
    seed: int = 0
    folder: Path = Path("arcade")
    name: str = ""
    suffix: str = ".csv"
    host: str = "127.0.0.1"
    port: int | None = None
    size: tuple[int, int] = (640, 360)
    threads: int = 1
    browser: bool = True


def report(line: str) -> None:
    """Prints a line for the person at the terminal."""
    print(f"propwash arcade: {line}", file=sys.stderr, flush=True)


def serve(options: Options, started: Callable[[str], None] = print) -> None:
    """Serves until Ctrl-C or SIGTERM; writes a flight in the air.

    started: called with the address.
    """
    require_websockets()
    check_folder(options.folder)
    course = _courses.find(options.course)
    game = Game(course, options.vehicle, seed=options.seed)
    courses = {**_courses.courses(), course.name: course}
    library = Library.of(courses, game, options.vehicle)
    artist = Artist(options.size, options.threads)
    with listen(options.host, options.port) as listening:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            asyncio.run(_Session(options, game, library, artist).run(listening, started))
        finally:
            sys.setswitchinterval(before)


class _Session:
    """The parts of a running arcade."""

    def __init__(self, options: Options, game: Game, library: Library, artist: Artist) -> None:
        self._browser = options.browser
        name = options.name or default_name()
        self._keeper = Keeper(options.folder, name, options.suffix, self._tell)
        self._runner = Runner(game, finished=self._keeper.keep, report=self._notice)
        self._arcade = Arcade(
            self._runner,
            library,
            size=options.size,
            board=self._keeper.newest_board,
            make_ghost=self._ghost,
            tell=self._tell,
        )
        self._pages = Pages(self._arcade, Refused(report))
        self._images = Images(artist, lambda: self._arcade.scenery, self._deliver, self._failed)
        self._error: BaseException | None = None

    async def run(self, listening: socket.socket, started: Callable[[str], None]) -> None:
        """Serves until the process receives SIGINT or SIGTERM, or a thread fails."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        site = Site(address_of(listening), secrets.token_urlsafe(16))
        self._server = Server(site, self._pages, self._arcade, self._images.request)
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._ended.set)
        self._runner.start()
        self._images.start()
        try:
            async with self._server.serving(listening):
                started(site.url)
                if self._browser:
                    webbrowser.open(site.url)
                await self._ended.wait()
        finally:
            self._images.stop()
            self._arcade.close()
            self._runner.stop()
        if self._error is not None:
            raise self._error
        self._keeper.write_waiting()
        report(self._summary())

    def _summary(self) -> str:
        written = len(self._keeper.files)
        parts = [f"{written} flight log{'s' * (written != 1)} written"]
        if written:
            parts[0] += f" in {self._keeper.board.folder}"
        if self._pages.refused.counts:
            parts.append(f"refused: {self._pages.refused}")
        return "; ".join(parts)

    def _post(self, call: Callable[[], None]) -> None:
        """Calls a function in the thread of the server, if that runs."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call)

    def _tell(self, message: messages.ToPage) -> None:
        text = messages.encode(message)

        def tell() -> None:
            self._pages.tell(text)
            self._server.flush()

        self._post(tell)

    def _notice(self, text: str) -> None:
        report(text)
        self._tell(messages.Notice(text[:500]))

    def _deliver(self, frame: int, image: bytes) -> None:
        self._post(lambda: self._server.deliver(frame, image))

    def _failed(self, error: BaseException) -> None:
        self._error = error
        self._post(self._ended.set)

    def _ghost(self, kind: _ghosts.GhostKind, game: Game) -> _ghosts.Ghost | None:
        course = _courses.find(game.course.name)
        return _ghosts.ghost(kind, course, game.seed, game.vehicle.name, self._keeper.board)
