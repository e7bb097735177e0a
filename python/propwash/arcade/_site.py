"""Answers to HTTP requests: the static files of the page, and which requests are refused."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE_FOLDER = Path(__file__).parent / "page"
SOCKET = "socket"
"""Path of the web socket, below the token."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}

Headers = Callable[[str], Sequence[str]]
"""All values of a header of the request, by its name."""


@dataclass(frozen=True)
class Answer:
    """An answer to a request."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class Site:
    """Which requests get which answer.

    address: host and port as in a URL. token: the first part of each path. A request with another
    token, host or origin is refused, whatever it asks for; nothing is read from the disk.
    """

    def __init__(self, address: str, token: str, folder: Path = PAGE_FOLDER) -> None:
        self.origin = f"http://{address}"
        self.url = f"{self.origin}/{token}/"
        self._hosts = {address, address.removesuffix(":80")}
        self._token = token.encode()
        self._files = {
            file.name: Answer(200, file.read_bytes(), _TYPES[file.suffix])
            for file in folder.iterdir()
            if file.suffix in _TYPES
        }
        self._files[""] = self._files["index.html"]

    def answer(self, path: str, headers: Headers) -> Answer | None:
        """The answer; None: the connection may become a web socket."""
        hosts, origins = headers("Host"), headers("Origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Answer(403, b"refused: expected the host of the printed address\n")
        token, slash, name = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return Answer(404, b"not found: expected the printed address with its token\n")
        if not slash:  # relative addresses of the page would have no token
            return Answer(404, b"not found: expected the address with its last slash\n")
        if any(origin != self.origin for origin in origins):
            return Answer(403, b"refused: expected a request of the arcade's own page\n")
        if name == SOCKET:
            if len(origins) != 1:
                return Answer(403, b"refused: expected a request of the arcade's own page\n")
            return None
        return self._files.get(name) or Answer(404, b"not found\n")

    def headers(self, answer: Answer) -> dict[str, str]:
        """The headers of an answer."""
        sockets = self.origin.replace("http", "ws", 1)
        return {
            "Content-Type": answer.content_type,
            "Content-Length": str(len(answer.body)),
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
                f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
                "frame-ancestors 'none'"
            ),
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Connection": "close",
        }
