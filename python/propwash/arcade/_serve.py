"""Runs the arcade: threads, server and files, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from propwash import race
from propwash._bridge import Refused
from propwash._files import check_folder
from propwash.arcade import _ghosts
from propwash.arcade import _messages as messages
from propwash.arcade._arcade import Arcade, Choices
from propwash.arcade._board import default_name
from propwash.arcade._game import Game
from propwash.arcade._images import ImageRenderer, Images
from propwash.arcade._pages import Pages
from propwash.arcade._runner import Runner
from propwash.arcade._server import PageServer, address_of, listen, require_websockets
from propwash.arcade._site import Site
from propwash.arcade._sticks import StickRates
from propwash.arcade._store import FlightStore

SWITCH_INTERVAL = 0.001
"""s, after which a thread of Python lets others run, so that steps are not late."""

_CHECK_PERIOD = 0.1
"""s, between tests whether the pilot sees images."""


@dataclass(frozen=True)
class ArcadeSettings:
    """Settings of `serve` (docs/arcade.md)."""

    course: str = race.LESSON
    """A name, or a scene file with gates."""
    vehicle: str = "flightgoggles"
    """A name or a TOML file."""
    seed: int = 0
    """Seed of the gates' positions and of the noise."""
    folder: Path = Path("arcade")
    """Folder of the flight logs and the leader board; created at the first flight."""
    name: str = ""
    """Name of the pilot; empty: the login."""
    suffix: str = ".csv"
    """Suffix of the flight logs, or ".mcap"."""
    host: str = "127.0.0.1"
    """IP address of this machine on which pages are served."""
    port: int | None = None
    """0: any free one; None: 8765 or one of the next 19."""
    size: tuple[int, int] = (640, 360)
    """px, width and height of the images."""
    threads: int = 1
    """For rendering."""
    antialias: int = 2
    """As of `render.Offscreen`."""
    rates: StickRates | None = None
    """Stick rates of acro mode."""
    browser: bool = True
    """Whether to open a browser."""


def report(line: str) -> None:
    """Prints a line for the person at the terminal."""
    print(f"propwash arcade: {line}", file=sys.stderr, flush=True)


def serve(settings: ArcadeSettings, started: Callable[[str], None] = print) -> None:
    """Serves until Ctrl-C, SIGTERM or the end of the terminal; writes a flight in the air.

    started: called with the address.
    """
    require_websockets()
    check_folder(settings.folder, "--folder")
    course = race.find_course(settings.course)
    game = Game(course, settings.vehicle, seed=settings.seed, rates=settings.rates)
    courses = {**race.courses(), course.name: course}
    choices = Choices.of(courses, game, settings.vehicle)
    renderer = ImageRenderer(settings.size, settings.threads, settings.antialias)
    with listen(settings.host, settings.port) as listening:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            asyncio.run(_Session(settings, game, choices, renderer).run(listening, started))
        finally:
            sys.setswitchinterval(before)


class _Session:
    """The parts of a running arcade."""

    def __init__(
        self, settings: ArcadeSettings, game: Game, choices: Choices, renderer: ImageRenderer
    ) -> None:
        self._browser, self._renderer = settings.browser, renderer
        name = settings.name or default_name()
        self._store = FlightStore(settings.folder, name, settings.suffix, self._send)
        self._runner = Runner(game, finished=self._store.keep, report=self._notice)
        self._arcade = Arcade(
            self._runner,
            choices,
            size=settings.size,
            board=self._store.newest_board,
            prepare=lambda game: renderer.prepare(game.scene),
            make_ghost=self._ghost,
            send=self._send,
        )
        self._pages = Pages(self._arcade, Refused(report))
        self._images = Images(
            renderer, lambda: self._arcade.frame_state, self._deliver, self._failed
        )
        self._error: BaseException | None = None

    async def run(self, listening: socket.socket, started: Callable[[str], None]) -> None:
        """Serves until the process receives a signal to end, or a thread fails."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        site = Site(address_of(listening), secrets.token_urlsafe(16))
        self._server = PageServer(site, self._pages, self._arcade.greeting, self._images.request)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # nohup
            self._loop.add_signal_handler(number, self._ended.set)
        self._renderer.prepare(self._runner.game.scene)  # before other threads compete for the lock
        self._runner.start()
        self._images.start()
        try:
            async with self._server.serving(listening):
                started(site.url)
                if self._browser:
                    # some browsers run in the terminal, and return at their end
                    threading.Thread(target=webbrowser.open, args=(site.url,), daemon=True).start()
                while not self._ended.is_set():
                    self._check()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._ended.wait(), _CHECK_PERIOD)
        finally:
            self._runner.stop()
            self._images.stop()
            self._arcade.close()
        if self._error is not None:
            raise self._error
        self._store.write_waiting()
        report(self._summary())

    def _check(self) -> None:
        """What is done several times a second."""
        if self._runner.error is not None:
            raise self._runner.error
        self._arcade.poll()
        self._pages.check(time.monotonic(), self._arcade.flying)
        self._server.flush()

    def _summary(self) -> str:
        written = len(self._store.files)
        parts = [f"{written} flight log{'s' * (written != 1)} written"]
        if written:
            parts[0] += f" in {self._store.board.folder}"
        if self._pages.refused.counts:
            parts.append(f"refused: {self._pages.refused}")
        return "; ".join(parts)

    def _post(self, call: Callable[[], None]) -> None:
        """Calls a function in the thread of the server, if that runs."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call)

    def _send(self, message: messages.ToPage) -> None:
        text = messages.encode(message)

        def send() -> None:
            self._pages.send(text)
            self._server.flush()

        self._post(send)

    def _notice(self, text: str) -> None:
        report(text)
        self._send(messages.Notice(text[:500]))

    def _deliver(self, frame: int, image: bytes) -> None:
        self._post(lambda: self._server.deliver(frame, image))

    def _failed(self, error: BaseException) -> None:
        self._error = error
        self._post(self._ended.set)

    def _ghost(self, kind: _ghosts.GhostKind, game: Game) -> _ghosts.Ghost | None:
        return _ghosts.ghost(kind, game.course, game.seed, game.vehicle, self._store.board)
