"""The connection to an LCM network."""

from __future__ import annotations

import select
from collections import deque

from propwash.lcm._events import Event
from propwash.lcm._simulation import COMMANDS

_QUEUE = 1000
"""Received messages of a channel that wait; LCM drops older ones."""


class Network:
    """Subscribes to the channels of commands.

    url: of the LCM network; "" for that of the environment variable LCM_DEFAULT_URL, or else UDP
    multicast that does not leave this machine. Raises ImportError without the package lcm and
    OSError if the network is not available.
    """

    def __init__(self, url: str = "") -> None:
        try:
            import lcm
        except ImportError as error:
            raise ImportError('LCM needs lcm: pip install "propwash[lcm]"') from error
        try:
            self._lcm = lcm.LCM(url)
        except RuntimeError as error:
            raise OSError(
                f"LCM network {url or 'by default'!r}: {error}; docs/lcm.md, When it does not work"
            ) from None
        self._waiting: deque[Event] = deque()
        for channel in COMMANDS:
            self._lcm.subscribe(channel, self._queue).set_queue_capacity(_QUEUE)

    def publish(self, channel: str, data: bytes) -> None:
        """Sends a message."""
        self._lcm.publish(channel, data)

    def receive(self, seconds: float) -> Event | None:
        """The next message, for which it waits up to `seconds`, or None."""
        if not self._waiting and select.select([self._lcm.fileno()], [], [], seconds)[0]:
            self._lcm.handle_timeout(0)
        return self._waiting.popleft() if self._waiting else None

    def _queue(self, channel: str, data: bytes) -> None:
        self._waiting.append(Event(0, channel, data))
