"""The web server of the arcade: the shell around Site and Pages, on one port."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from propwash.arcade._messages import MAX_MESSAGE
from propwash.arcade._pages import Page, Pages
from propwash.arcade._site import Answer, Site

DEFAULT_PORT = 8765
MAX_PAGES = 8
_SILENT = logging.Logger("propwash.arcade", logging.CRITICAL + 1)
"""Refused requests are counted, and not logged with their stack."""
_TRIED_PORTS = 20


def require_websockets() -> Any:
    """The package websockets. Raises ImportError that names the extra."""
    try:
        import websockets.asyncio.server
        import websockets.exceptions
    except ImportError as error:
        raise ImportError('the arcade needs websockets: pip install "propwash[arcade]"') from error
    return websockets


def listen(host: str = "127.0.0.1", port: int | None = None) -> socket.socket:
    """A listening socket. port: 0: any free one; None: 8765, or one of the next 19.

    Raises ValueError for an invalid host, and OSError for a port in use.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or address.is_unspecified or address.is_multicast:
        raise ValueError(
            f"--host {host:.100}: expected the IP address of this machine under which pages reach "
            "it, such as 127.0.0.1"
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    ports = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + _TRIED_PORTS))
    for each in ports:
        try:
            return socket.create_server((str(address), each), family=family)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and each != ports[-1]:
                continue
            reason = error.strerror or str(error)
            raise OSError(
                error.errno, f"--port {each}: expected a free port of {address}: {reason}"
            ) from None
    raise AssertionError  # the last port returns or raises


def address_of(listening: socket.socket) -> str:
    """Host and port, as in a URL."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PageServer:
    """Serves the page and its web socket.

    greeting: returns the texts for a new page. wanted: called when a page can show another image.
    All runs in the thread of the event loop.
    """

    def __init__(
        self,
        site: Site,
        pages: Pages,
        greeting: Callable[[Page], list[str]],
        wanted: Callable[[], None],
    ) -> None:
        self._websockets = require_websockets()
        self._site, self.pages = site, pages
        self._greeting, self._wanted = greeting, wanted
        self._wake: dict[Page, asyncio.Event] = {}
        self._images: dict[Page, bytes] = {}

    @asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Serves while the context is open."""
        asyncio.get_running_loop().set_exception_handler(self._loop_error)
        serve = self._websockets.asyncio.server.serve
        async with serve(
            self._connection,
            sock=listening,
            process_request=self._process_request,
            max_size=MAX_MESSAGE,
            max_queue=16,
            compression=None,
            server_header=None,
            logger=_SILENT,
            ping_interval=2.0,
            ping_timeout=4.0,
            close_timeout=1.0,
        ):
            yield

    def deliver(self, frame: int, image: bytes) -> None:
        """Sends an image to the pages that can show it."""
        for page in self.pages.receivers(frame):
            self._images[page] = image
            self._wake[page].set()
        if self.pages.wants_image():
            self._wanted()

    def flush(self) -> None:
        """Sends the waiting texts of all pages."""
        for page in self.pages.all:
            if page.texts:
                self._wake[page].set()

    def _loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Counts connections that the system cannot accept; the loop tries again each second."""
        error = context.get("exception")
        if isinstance(error, OSError) and "accept" in context["message"]:
            self.pages.refused.add("connection", error.strerror or "")
        else:
            loop.default_exception_handler(context)

    def _process_request(self, connection: Any, request: Any) -> Any:
        answer = self._site.answer(request.path, request.headers.get_all)
        if getattr(request, "method", "GET") != "GET":  # older versions refuse it themselves
            answer = Answer(405, b"expected a GET request\n")
        if answer is None and len(self.pages.all) >= MAX_PAGES:
            answer = Answer(503, f"expected at most {MAX_PAGES} pages at once\n".encode())
        if answer is None:
            return None
        if answer.status != HTTPStatus.OK and request.path != "/favicon.ico":
            self.pages.refused.add(
                f"request with status {answer.status}", ascii(request.path[:100])
            )
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        status = HTTPStatus(answer.status)
        return Response(
            status.value, status.phrase, Headers(self._site.headers(answer)), answer.body
        )

    async def _connection(self, connection: Any) -> None:
        page = self.pages.join(time.monotonic())
        self._wake[page] = asyncio.Event()
        writer = asyncio.create_task(self._write(connection, page))
        try:
            page.texts.extendleft(reversed(self._greeting(page)))
            self.flush()
            self._wanted()
            await self._read(connection, page)
        except self._websockets.exceptions.ConnectionClosed as closed:
            if closed.sent is not None and closed.sent.code == 1009:
                self.pages.refused.add("message too long", f"expected {MAX_MESSAGE} bytes")
        finally:
            writer.cancel()
            self.pages.leave(page)
            self._images.pop(page, None)
            del self._wake[page]
            self.flush()

    async def _read(self, connection: Any, page: Page) -> None:
        while True:
            data = await connection.recv(decode=False)
            could = self.pages.wants_image()
            if not self.pages.receive(page, data, time.monotonic()):
                await connection.close(1008, "too many messages")
                return
            if self.pages.wants_image() and not could:
                self._wanted()
            self.flush()

    async def _write(self, connection: Any, page: Page) -> None:
        wake = self._wake[page]
        try:
            while True:
                await wake.wait()
                wake.clear()
                while page.texts:
                    await connection.send(page.texts.popleft())
                image = self._images.pop(page, None)
                if image is not None:
                    await connection.send(image)
        except self._websockets.exceptions.ConnectionClosed:
            return
