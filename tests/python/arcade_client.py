"""A page of the arcade for tests: a web socket, without a browser."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import numpy as np
from propwash.arcade import FlightSnapshot, Sticks
from propwash.arcade._messages import Hud, unpack_image
from websockets.asyncio.client import ClientConnection, connect

PATIENCE = 60.0
"""s, for a message on a loaded machine."""
SILENT = ("hello", "course", "board", "status", "flight")
"""Types of messages that may arrive at any time."""


class PageClient:
    """Receives everything, acknowledges each image, and keeps the newest of each kind."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.texts: list[dict[str, Any]] = []
        self.hud: Hud | None = None
        self.jpeg = b""
        self.images = 0
        self.acknowledges = True
        self._number = 0

    async def send(self, **message: Any) -> None:
        """Sends a message."""
        await self.socket.send(json.dumps(message))

    async def input(self, sticks: Sticks, mode: str = "assisted") -> int:
        """Sends positions of the sticks; returns their number."""
        self._number += 1
        values = [sticks.roll, sticks.pitch, sticks.yaw, sticks.throttle]
        await self.send(type="input", number=self._number, sticks=values, mode=mode)
        return self._number

    async def receive(self, limit: float = PATIENCE) -> dict[str, Any] | Hud:
        """The next message or the numbers of the next image."""
        data = await asyncio.wait_for(self.socket.recv(), limit)
        if isinstance(data, str):
            message: dict[str, Any] = json.loads(data)
            self.texts.append(message)
            return message
        self.hud, self.jpeg = unpack_image(data)
        self.images += 1
        if self.acknowledges:
            await self.send(type="shown", frame=self.hud.frame)
        return self.hud

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The next message of a type with these fields; a notice is an error unless awaited."""
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await self.receive(PATIENCE)
                if not isinstance(message, dict):
                    continue
                assert message["type"] in (kind, *SILENT), message
                if message["type"] == kind and fields.items() <= message.items():
                    return message

    async def image(self) -> Hud:
        """The numbers of the next image."""
        while True:
            message = await self.receive()
            if isinstance(message, Hud):
                return message

    def newest(self, kind: str) -> dict[str, Any]:
        """The newest message of a type."""
        return next(each for each in reversed(self.texts) if each["type"] == kind)


def opened(url: str, **options: Any) -> connect:
    """A connection to the socket of the page at `url`."""
    match = re.match(r"http://[^/]+", url)
    assert match is not None
    options = {
        "origin": match[0],
        "compression": None,
        "max_size": None,
        "close_timeout": 2.0,
        **options,
    }
    return connect(url.replace("http", "ws", 1) + "socket", **options)


def snapshot_of(hud: Hud) -> FlightSnapshot:
    """What a pilot sees of the numbers of an image."""
    return FlightSnapshot(
        time=hud.time,
        race_time=hud.race_time,
        phase=hud.phase,  # type: ignore[arg-type]
        position=np.array(hud.position),
        attitude=np.array(hud.attitude),
        velocity=np.array(hud.velocity),
        body_rates=np.zeros(3),
        passed=tuple(hud.passed),
        collision=hud.collision,
        mode=hud.mode,
        sticks=Sticks(*hud.sticks),
        number=hud.input,
    )
