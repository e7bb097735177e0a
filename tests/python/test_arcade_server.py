"""The arcade's server on real sockets: pages, images, refusals and disturbances."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("websockets")

from arcade_client import PageClient, opened
from propwash._bridge import Refused
from propwash.arcade import _messages as messages
from propwash.arcade._pages import MAX_UNSHOWN, Page, Pages
from propwash.arcade._server import MAX_PAGES, PageServer, address_of, listen
from propwash.arcade._site import Site
from test_arcade_pages import Recorder
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

HUD = messages.Hud(
    frame=0,
    input=0,
    time=0.0,
    race_time=0.0,
    phase="ready",
    passed=[],
    next=None,
    guide="",
    wrong=None,
    task=None,
    progress=0.0,
    gates=1,
    speed=0.0,
    height=0.0,
    mode="assisted",
    sticks=(0.0, 0.0, 0.0, 0.0),
    scale=1.0,
    paused=False,
    collision=None,
    position=(0.0, 0.0, 0.0),
    velocity=(0.0, 0.0, 0.0),
    attitude=(1.0, 0.0, 0.0, 0.0),
    target=None,
    outline=[],
    ghosts=[],
)


class Running:
    """A server with recorded commands, which draws empty images at once."""

    def __init__(self, message_rate: float) -> None:
        self.controls = Recorder()
        self.pages = Pages(self.controls, Refused(), message_rate)
        self.listening = listen(port=0)
        self.site = Site(address_of(self.listening), "token")
        self.server = PageServer(self.site, self.pages, self.greeting, self.draw)
        self.frame = 0

    def greeting(self, page: Page) -> list[str]:
        """One text."""
        return [messages.encode(messages.Notice(page.role))]

    def draw(self) -> None:
        """Delivers an image in the next round of the loop, as the thread of images does."""
        self.frame += 1
        data = messages.pack_image(numbers_of(self.frame), b"jpeg" * 5000)
        frame = self.frame
        asyncio.get_running_loop().call_later(0.002, self.server.deliver, frame, data)


def numbers_of(frame: int) -> messages.Hud:
    """The numbers of an image with this number."""
    return msgspec.structs.replace(HUD, frame=frame)


@asynccontextmanager
async def running(message_rate: float = 1e9) -> AsyncIterator[Running]:
    """A server on a free port, which is expected to end without open pages."""
    parts = Running(message_rate)
    with parts.listening:
        async with parts.server.serving(parts.listening):
            yield parts
        for _ in range(100):
            if not parts.pages.all:
                break
            await asyncio.sleep(0.02)
        assert parts.pages.all == []


async def settled(condition: Any) -> None:
    """Waits until a condition is true."""
    async with asyncio.timeout(20.0):
        while not condition():
            await asyncio.sleep(0.01)


async def closing_code(connection: ClientConnection, data: list[bytes]) -> int:
    """The code with which the server closes after these messages."""
    with suppress(ConnectionClosed):
        for each in data:
            await connection.send(each)
        while True:
            await asyncio.wait_for(connection.recv(), 20.0)
    return connection.close_code or 0


async def request(url: str, text: str) -> bytes:
    """The answer to a raw request."""
    port = int(url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode("latin-1"))
    answer = await asyncio.wait_for(reader.read(), 20.0)
    writer.close()
    return answer


def test_images_are_streamed_and_a_page_that_stops_does_not_delay_others() -> None:
    async def check() -> None:
        async with running() as parts:  # noqa: SIM117
            async with opened(parts.site.url) as one, opened(parts.site.url) as two:
                fast, slow = PageClient(one), PageClient(two)
                slow.acknowledges = False
                unshown = parts.pages.all[1].unshown
                newest = await slow.image()
                await settled(lambda: len(unshown) == MAX_UNSHOWN)
                frames = [(await fast.image()).frame for _ in range(50)]
                assert frames == sorted(set(frames))
                assert fast.jpeg == b"jpeg" * 5000
                assert len(unshown) == MAX_UNSHOWN
                while newest.frame < unshown[-1]:  # a late image may have replaced one before it
                    newest = await slow.image()
                await slow.send(type="shown", frame=newest.frame)
                assert (await slow.image()).frame >= frames[-1]  # none between: it would be older

    asyncio.run(check())


def test_too_long_and_too_many_messages_disconnect_the_page_only() -> None:
    async def check() -> None:
        async with running(message_rate=50.0) as parts:
            async with opened(parts.site.url) as one:
                assert await closing_code(one, [b"x" * (messages.MAX_MESSAGE + 1)]) == 1009
            async with opened(parts.site.url) as two:
                assert await closing_code(two, [b'{"type":"reset"}'] * 500) == 1008
            async with opened(parts.site.url) as three:
                await PageClient(three).image()
            assert parts.pages.refused.counts["message too long"] == 1
            assert parts.pages.refused.counts["too many messages"] == 1

    asyncio.run(check())


@pytest.mark.parametrize(
    ("path", "options", "status"),
    [
        ("wrong/", {}, 404),
        ("token/other/", {}, 404),
        ("token/", {"origin": "http://evil.example"}, 403),
        ("token/", {"origin": None}, 403),
        ("token/", {"origin": "null"}, 403),
        ("token/", {"additional_headers": {"Host": "evil.example"}}, 403),
    ],
)
def test_sockets_of_others_are_refused(path: str, options: dict[str, Any], status: int) -> None:
    async def check() -> None:
        async with running() as parts:
            url = f"{parts.site.origin}/{path}"
            with pytest.raises(InvalidStatus) as refused:
                async with opened(url, **options):
                    pass
            assert refused.value.response.status_code == status
            assert not parts.pages.all

    asyncio.run(check())


def test_number_of_pages_is_limited() -> None:
    async def check() -> None:
        async with running() as parts:
            connections = [await opened(parts.site.url) for _ in range(MAX_PAGES)]
            with pytest.raises(InvalidStatus) as refused:
                await opened(parts.site.url)
            assert refused.value.response.status_code == 503
            for each in connections:
                await each.close()

    asyncio.run(check())


def test_connections_beyond_the_limit_of_the_system_are_counted(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def check() -> None:
        async with running() as parts, opened(parts.site.url) as pilot:
            others = [socket.socket() for _ in range(5)]
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            free = os.dup(0)
            os.close(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
            try:
                for each in others:
                    each.connect(parts.listening.getsockname())
                await settled(lambda: parts.pages.refused.counts["connection"])
                await PageClient(pilot).image()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                for each in others:
                    each.close()

    asyncio.run(check())
    assert "Traceback" not in "".join(capfd.readouterr())


def test_requests_over_http() -> None:
    async def check() -> None:
        async with running() as parts:
            url, host = parts.site.url, parts.site.origin.removeprefix("http://")
            page = await request(url, f"GET /token/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
            head, _, body = page.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert b"Content-Security-Policy: default-src 'none'" in head
            assert head.count(b"Content-Length") == 1
            assert b"Server:" not in head
            assert b"<html" in body
            for text, status in (
                (f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n", b"404"),
                (f"GET /token/../token/ HTTP/1.1\r\nHost: {host}\r\n\r\n", b"404"),
                ("GET /token/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403"),
                ("GET /token/ HTTP/1.1\r\n\r\n", b"403"),
                (f"POST /token/ HTTP/1.1\r\nHost: {host}\r\n\r\n", b"405"),
            ):
                answer = await request(url, text)
                assert answer.split(b" ")[1] == status, text
            assert b"200" not in await request(url, "\x00\xff\r\n\r\n")
            assert not parts.pages.all

    asyncio.run(check())


def test_server_listens_on_loopback_only() -> None:
    with listen(port=0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_default_port_gives_way_to_the_next() -> None:
    with listen() as one, listen() as two:
        assert one.getsockname()[1] < two.getsockname()[1]
        with pytest.raises(OSError, match=f"--port {one.getsockname()[1]}: expected a free port"):
            listen(port=one.getsockname()[1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "224.0.0.1", "example.org", "", "127.0.0.1/8"])
def test_host_is_an_address(host: str) -> None:
    with pytest.raises(ValueError, match="--host"):
        listen(host, 0)


def test_addresses_of_both_families() -> None:
    with listen("127.0.0.1", 0) as four:
        assert address_of(four) == f"127.0.0.1:{four.getsockname()[1]}"
    try:
        six = listen("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with six:
        assert six.family == socket.AF_INET6
        assert address_of(six) == f"[::1]:{six.getsockname()[1]}"


def test_page_folder_has_no_external_sources() -> None:
    folder = Path(messages.__file__).parent / "page"
    for file in folder.iterdir():
        if file.suffix in (".html", ".js", ".css"):
            text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text, file
            assert "https://" not in text, file
