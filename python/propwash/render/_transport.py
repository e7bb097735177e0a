"""The two sockets of a renderer, on pyzmq: poses out, images in, without a wait and without a copy.

The client's side binds both, as the published clients do: renderers connect to it.
"""

from __future__ import annotations

import errno
import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from propwash.render.errors import PortInUseError

if TYPE_CHECKING:
    import zmq

POSE_PORT = 10253
IMAGE_PORT = 10254
HIGH_WATER_MARK = 6
LOOPBACK = "127.0.0.1"

Ports = tuple[int, int]


def zeromq() -> Any:
    """The module zmq; ImportError says which extra brings it."""
    try:
        import zmq
    except ImportError as error:
        raise ImportError(
            'the render client speaks ZeroMQ and needs pyzmq: pip install "propwash[render]"'
        ) from error
    return zmq


def checked_ports(ports: object) -> list[Ports]:
    """Pairs of pose port and image port, from one pair or several; ValueError for others."""
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


def checked_address(bind: object) -> str:
    """An address to bind: "127.0.0.1", that of another interface, or "*" for all of them."""
    if bind == "*":
        return "*"
    try:
        return str(ipaddress.IPv4Address(str(bind)))
    except ValueError:
        raise ValueError(
            f"bind: expected an IPv4 address of this machine, '127.0.0.1' for renderers on it, "
            f"or '*' for all interfaces (there is no authentication), got {bind!r:.100}"
        ) from None


class Link:
    """One renderer's pair of sockets.

    The pose socket is an XPUB: on the wire a PUB that also hears who subscribes.
    """

    def __init__(self, context: zmq.Context[Any], bind: str, ports: Ports, high_water: int) -> None:
        self._zmq = zeromq()
        self.ports = ports
        self.bind = bind
        self.subscribers = 0
        """Renderers that listen for poses at present."""
        self.joined = 0
        """How often a renderer began to listen."""
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
        """Sends without waiting; where a renderer's queue is full, that renderer misses it."""
        # XPUB_NODROP stays off: a renderer that hangs must not keep poses from one that lives
        self._poses.send_multipart(list(message), flags=self._zmq.NOBLOCK)

    def receive(self) -> list[zmq.Frame] | None:
        """The next message that waits, as frames that hold the socket's own memory; or None."""
        try:
            frames: list[zmq.Frame] = self.images.recv_multipart(self._zmq.NOBLOCK, copy=False)
        except self._zmq.Again:
            return None
        return frames

    def listen(self) -> None:
        """Takes note of renderers that came and went."""
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
        """Files that become readable when a message or a renderer comes (see ZMQ_FD)."""
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
                    f"port {port} of {self.bind} is in use: another client (of this program, or "
                    f"of one that has not ended) holds it. Close it, or give other ports to the "
                    f"client, ports=({port + 10}, {port + 11}), and to its renderer, --port "
                    f"{port + 10} {port + 11} (published: -input-port, -output-port)",
                ) from None
            raise OSError(
                error.errno,
                f"cannot bind tcp://{self.bind}:{port}: {error.strerror}; bind= takes the address "
                f"of one of this machine's interfaces, '127.0.0.1' or '*'",
            ) from None
