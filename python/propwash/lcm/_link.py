"""Connections to LCM networks: UDP multicast, and others by the package lcm."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections import deque
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from propwash._bridge import Refused
from propwash.lcm._events import Event
from propwash.lcm._simulation import COMMANDS

DEFAULT_URL = "udpm://239.255.76.67:7667?ttl=0"
"""LCM's default network, which stays on this machine."""
_HEADER = struct.Struct(">II")
_MESSAGE, _FRAGMENT = 0x4C433032, 0x4C433033
_MAX_PACKET = 65535
_MAX_OTHERS = 1000
"""Packets of other channels that are skipped at once."""
_MAX_SENDERS = 1000
"""Addresses of which is remembered whether they are those of this machine."""
_BUFFER = 2**21
"""Bytes of received packets that wait; the system may allow less."""
_QUEUE = 1000
"""Received messages of a channel that wait in the package lcm, which drops older ones."""


class LcmLink(Protocol):
    """A connection to other programs."""

    def publish(self, channel: str, data: bytes) -> None:
        """Sends a message."""

    def receive(self, seconds: float) -> Event | None:
        """The next message on a channel of commands, for which it waits up to `seconds`."""

    def close(self) -> None:
        """Ends the connection."""


class Offline:
    """No connection."""

    def publish(self, channel: str, data: bytes) -> None:
        """Does nothing."""

    def receive(self, seconds: float) -> Event | None:
        """Returns None at once."""
        return None

    def close(self) -> None:
        """Does nothing."""


def connect(url: str = "", refused: Refused | None = None) -> LcmLink:
    """A connection to the channels of commands of an LCM network.

    url: "" for that of the environment variable LCM_DEFAULT_URL, or else `DEFAULT_URL`. refused:
    counts packets that are not LCM's. Raises ValueError for an invalid url, OSError if the network
    is not available, ImportError without the package lcm, which only `udpm://` does not need.
    """
    url = url or os.environ.get("LCM_DEFAULT_URL", "") or DEFAULT_URL
    try:
        if url.startswith("udpm://"):
            return Multicast(url, Refused() if refused is None else refused)
        return Library(url)
    except OSError as error:
        raise OSError(f"LCM network {url}: {error}; docs/lcm.md, When it does not work") from None


class Multicast:
    """LCM's UDP multicast, for messages of one packet.

    Unlike the package lcm 1.5, it checks received packets: there, one that ends within the name of
    its channel may end the program. With ttl 0, packets of other machines are refused.
    """

    def __init__(self, url: str, refused: Refused) -> None:
        self._group, self._ttl, buffer = _parsed(url)
        self._refused = refused
        self._local: dict[str, bool] = {}
        """Whether senders are addresses of this machine."""
        self._count = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            for option in ("SO_REUSEADDR", "SO_REUSEPORT"):
                if hasattr(socket, option):
                    self._socket.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            self._socket.bind(("", self._group[1]))
            member = struct.pack("4s4s", socket.inet_aton(self._group[0]), bytes(4))
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self._ttl)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        except OSError:
            self._socket.close()
            raise

    def publish(self, channel: str, data: bytes) -> None:
        """Sends a message."""
        header = _HEADER.pack(_MESSAGE, self._count & 0xFFFFFFFF)
        self._count += 1
        self._socket.sendto(header + channel.encode() + b"\0" + data, self._group)

    def receive(self, seconds: float) -> Event | None:
        """The next message for the vehicle, for which it waits up to `seconds`, or None."""
        end = time.monotonic() + seconds
        for _ in range(_MAX_OTHERS):
            left = max(0.0, end - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                break
            packet, sender = self._socket.recvfrom(_MAX_PACKET)
            event = self._event(packet, sender[0])
            if event is not None:
                return event
        return None

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def _event(self, packet: bytes, sender: str) -> Event | None:
        """The message of a packet; None for other channels, which include those published here."""
        if self._ttl == 0 and not self._is_local(sender):
            self._refused.add("a packet of another machine, without ttl=1 in the url", sender)
            return None
        if len(packet) < _HEADER.size:
            self._refused.add("a packet without a header")
            return None
        magic = _HEADER.unpack_from(packet)[0]
        name, end, data = packet[_HEADER.size :].partition(b"\0")
        if magic == _MESSAGE and end:
            channel = name.decode("utf-8", "replace")
            return Event(0, channel, data) if channel in COMMANDS else None
        if magic != _FRAGMENT:  # of large messages, which no channel of commands has
            self._refused.add("a packet that is not LCM's" if magic != _MESSAGE else "no channel")
        return None

    def _is_local(self, host: str) -> bool:
        """Whether an address is one of this machine: sockets can be bound to no other."""
        if host not in self._local:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind((host, 0))
                    is_local = True
                except OSError:
                    is_local = False
            if len(self._local) >= _MAX_SENDERS:
                self._local.clear()
            self._local[host] = is_local
        return self._local[host]


class Library:
    """A network of the package lcm, as `memq://` or `tcpq://`."""

    def __init__(self, url: str) -> None:
        try:
            import lcm
        except ImportError as error:
            raise ImportError(f'{url} needs lcm: pip install "propwash[lcm]"') from error
        try:
            self._lcm = lcm.LCM(url)
        except RuntimeError as error:
            raise OSError(str(error)) from None
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

    def close(self) -> None:
        """Ends the connection, as far as the package lcm does."""
        self._waiting.clear()

    def _queue(self, channel: str, data: bytes) -> None:
        self._waiting.append(Event(0, channel, data))


def _parsed(url: str) -> tuple[tuple[str, int], int, int]:
    """Group and port, ttl and size of the buffer [bytes]. Raises ValueError."""
    try:
        parts = urlsplit(url)
        default = urlsplit(DEFAULT_URL)
        group = parts.hostname or default.hostname or ""
        port = parts.port or default.port or 0
        query = {"ttl": "0", "recv_buf_size": str(_BUFFER), **dict(parse_qsl(parts.query))}
        ttl, buffer = int(query.pop("ttl")), int(query.pop("recv_buf_size"))
        first = socket.inet_aton(group)[0]
    except (ValueError, OSError):
        first, ttl, buffer, query = 0, 0, 0, {}
    if not 224 <= first < 240 or not 0 <= ttl < 256 or not 0 < buffer < 2**31 or query:
        raise ValueError(
            f"url: expected udpm://GROUP:PORT?ttl=0 to 255, with a group from 224.0.0.0 to "
            f"239.255.255.255, got {url!r:.200}"
        )
    return (group, port), ttl, buffer
