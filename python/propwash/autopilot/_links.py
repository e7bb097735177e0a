"""Sockets between the loop and a flight controller: the thin shell around the codecs."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, Self

LOOPBACK = "127.0.0.1"
_MAX_PACKET = 65536
_SEND_TIMEOUT = 5.0  # s


class Link(Protocol):
    """A connection to one flight controller."""

    @property
    def port(self) -> int | str:
        """Port on which it listens, or the device."""

    def send(self, data: bytes) -> None:
        """Sends a packet; nothing happens without a peer."""

    def receive(self, timeout: float) -> bytes | None:
        """Returns the next packet, or None if none arrives within `timeout` [s].

        b"" means that a connection has begun or ended.
        """

    def close(self) -> None:
        """Closes the sockets."""


class UdpLink:
    """UDP: receives on `port`, sends to `peer`, or else to the sender of the last packet.

    is_peer: whether a packet is that of a peer; the senders of other packets get nothing.

    Raises OSError, with the port, if it is in use.
    """

    def __init__(
        self,
        port: int,
        peer: tuple[str, int] | None = None,
        host: str = LOOPBACK,
        is_peer: Callable[[bytes], bool] = lambda packet: True,
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise _in_use("UDP", host, port, error) from error
        self.port = int(self._socket.getsockname()[1])
        self._peer, self._learns, self._is_peer = peer, peer is None, is_peer

    def send(self, data: bytes) -> None:
        """Sends a packet to the peer, if there is one."""
        if self._peer is None:
            return
        try:
            self._socket.sendto(data, self._peer)
        except OSError:  # the peer is not there (yet): the loop notices that it does not answer
            return

    def receive(self, timeout: float) -> bytes | None:
        """Returns the next packet, or None if none arrives within `timeout` [s]."""
        self._socket.settimeout(timeout if timeout > 0.0 else 0.0)
        try:
            data, sender = self._socket.recvfrom(_MAX_PACKET)
        except OSError:  # nothing there, or an ICMP refusal of what was sent
            return None
        if self._learns and self._is_peer(data):
            self._peer = (str(sender[0]), int(sender[1]))
        return data

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class TcpLink:
    """TCP: listens on `port` and serves one connection at a time.

    Raises OSError, with the port, if it is in use.
    """

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        if not 0 <= port < 65536:  # create_server would not close its socket
            raise _in_use("TCP", host, port, OverflowError("ports are from 0 to 65535"))
        try:
            self._server = socket.create_server((host, port), backlog=1)
        except OSError as error:
            raise _in_use("TCP", host, port, error) from error
        self.port = int(self._server.getsockname()[1])
        self._peer: socket.socket | None = None

    def send(self, data: bytes) -> None:
        """Sends bytes to the peer, if there is one."""
        if self._peer is None:
            return
        try:
            self._peer.settimeout(_SEND_TIMEOUT)
            self._peer.sendall(data)
        except OSError:  # receive() then finds the connection closed
            with suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)

    def receive(self, timeout: float) -> bytes | None:
        """Returns what has arrived; None if nothing does within `timeout` [s].

        b"" means that a connection has begun or ended.
        """
        if self._peer is None:
            return self._accept(timeout)
        self._peer.settimeout(max(timeout, 0.0))
        try:
            data = self._peer.recv(_MAX_PACKET)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError:
            data = b""
        if not data:
            self._peer.close()
            self._peer = None
        return data

    def _accept(self, timeout: float) -> bytes | None:
        self._server.settimeout(max(timeout, 0.0))
        try:
            self._peer, _ = self._server.accept()
        except OSError:
            return None
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return b""

    def close(self) -> None:
        """Closes the connection and the port."""
        if self._peer is not None:
            self._peer.close()
        self._server.close()


def _in_use(protocol: str, host: str, port: int, error: OSError | OverflowError) -> OSError:
    reason = error.strerror if isinstance(error, OSError) else error
    return OSError(
        f"{protocol} {host}:{port}: expected a free port of an address of this machine, got: "
        f"{reason}; end the other program that uses it, or choose another"
    )
