"""The two ZeroMQ sockets of a renderer: poses out, images in, non-blocking and without copies.

The client binds both sockets, like the published clients; renderers connect to it.
"""

from __future__ import annotations

import errno
import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zmq

POSE_PORT = 10253
IMAGE_PORT = 10254
HIGH_WATER_MARK = 6
LOOPBACK = "127.0.0.1"

Ports = tuple[int, int]


class PortInUseError(OSError):
    """Another program or another client uses the port."""


class RenderTimeoutError(TimeoutError):
    """No image arrived in time. The message names the ports and what to check."""


class RendererError(RuntimeError):
    """The renderer that the client started has ended or did not connect."""


def require_zeromq() -> Any:
    """The module zmq. Raises ImportError that names the extra to install."""
    try:
        import zmq
    except ImportError as error:
        message = 'rendering over ZeroMQ needs pyzmq: pip install "propwash[render]"'
        raise ImportError(message) from error
    return zmq


def checked_ports(ports: object) -> list[Ports]:
    """Pairs of pose port and image port, from one pair or several. Raises ValueError."""
    expected = (
        "ports: expected a pair (pose port, image port) of numbers from 1 to 65535, or a list of "
        f"such pairs, one for each renderer, no port twice; got {ports!r:.200}"
    )
    pairs: list[Any] = []
    if isinstance(ports, Iterable) and not isinstance(ports, str | bytes):
        pairs = list(ports)
    if len(pairs) == 2 and all(isinstance(port, int) for port in pairs):
        pairs = [tuple(pairs)]
    checked: list[Ports] = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(expected)
        if any(type(port) is not int or not 1 <= port <= 65535 for port in pair):
            raise ValueError(expected)
        checked.append((pair[0], pair[1]))
    flat = [port for pair in checked for port in pair]
    if not checked or len(set(flat)) != len(flat):
        raise ValueError(expected)
    return checked


def checked_address(name: str, address: object, expected: str) -> str:
    """An IPv4 address. Raises ValueError with a description of what was expected."""
    try:
        return str(ipaddress.IPv4Address(str(address)))
    except ValueError:
        raise ValueError(f"{name}: expected {expected}, got {address!r:.100}") from None


class SocketPair:
    """The pair of sockets of one renderer.

    The pose socket is an XPUB: a PUB that also receives subscriptions.
    """

    def __init__(self, context: zmq.Context[Any], bind: str, ports: Ports, high_water: int) -> None:
        self._zmq = require_zeromq()
        self.ports = ports
        self.bind = bind
        self.subscribers = 0
        """The number of renderers that are subscribed to poses."""
        self.joined = 0
        """The number of subscriptions so far."""
        self._poses = context.socket(self._zmq.XPUB)
        self.images = context.socket(self._zmq.SUB)
        self._poses.setsockopt(self._zmq.XPUB_VERBOSER, 1)
        self.images.setsockopt(self._zmq.SUBSCRIBE, b"")
        try:
            for socket, port in ((self._poses, ports[0]), (self.images, ports[1])):
                socket.setsockopt(self._zmq.LINGER, 0)
                socket.setsockopt(self._zmq.SNDHWM, high_water)
                socket.setsockopt(self._zmq.RCVHWM, high_water)
                self._bind(socket, port)
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return f"{self.bind}, pose port {self.ports[0]}, image port {self.ports[1]}"

    def send(self, message: Iterable[bytes]) -> None:
        """Sends without blocking; a renderer with a full queue misses the message."""
        # XPUB_NODROP is off: a blocked renderer must not delay the poses of others
        self._poses.send_multipart(list(message), flags=self._zmq.NOBLOCK)

    def receive(self) -> list[zmq.Frame] | None:
        """The next message, as frames that share the socket's memory; None if there is none."""
        try:
            frames: list[zmq.Frame] = self.images.recv_multipart(self._zmq.NOBLOCK, copy=False)
        except self._zmq.Again:
            return None
        return frames

    def listen(self) -> None:
        """Counts renderers that subscribed and unsubscribed."""
        while True:
            try:
                note = self._poses.recv(self._zmq.NOBLOCK)
            except self._zmq.Again:
                return
            if not isinstance(note, bytes) or not note or not b"Pose".startswith(note[1:5]):
                continue
            if note[0] == 1:
                self.subscribers += 1
                self.joined += 1
            elif note[0] == 0:
                self.subscribers = max(self.subscribers - 1, 0)

    def descriptors(self) -> list[int]:
        """File descriptors that become readable with a message or subscription (see ZMQ_FD)."""
        return [int(socket.getsockopt(self._zmq.FD)) for socket in (self._poses, self.images)]

    def close(self) -> None:
        """Frees both ports."""
        self._poses.close(linger=0)
        self.images.close(linger=0)

    def _bind(self, socket: Any, port: int) -> None:
        try:
            socket.bind(f"tcp://{self.bind}:{port}")
        except self._zmq.ZMQError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortInUseError(
                    errno.EADDRINUSE,
                    f"port {port} of {self.bind} is in use by another client, of this or another "
                    f"program. Close it, or use other ports for the client, "
                    f"ports=({port + 10}, {port + 11}), and for its renderer, --port "
                    f"{port + 10} {port + 11} (published: -input-port, -output-port)",
                ) from None
            raise OSError(
                error.errno,
                f"cannot bind tcp://{self.bind}:{port}: {error.strerror}; bind= expects the "
                f"address of an interface of this machine, '127.0.0.1' or '*'",
            ) from None
