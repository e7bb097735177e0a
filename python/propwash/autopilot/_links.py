"""Sockets between the loop and a flight controller: the thin shell around the codecs."""

from __future__ import annotations

import socket
from typing import Protocol

LOOPBACK = "127.0.0.1"
_MAX_PACKET = 65536


class Link(Protocol):
    """A connection to one flight controller."""

    def send(self, data: bytes) -> None:
        """Sends a packet; nothing happens without a peer."""

    def receive(self, timeout: float) -> bytes | None:
        """Returns the next packet, or None if none arrives within `timeout` [s]."""

    def close(self) -> None:
        """Closes the sockets."""


class UdpLink:
    """UDP: receives on `port`, sends to `peer`, or else to the sender of the last packet.

    Raises OSError, with the port, if it is in use.
    """

    def __init__(
        self, port: int, peer: tuple[str, int] | None = None, host: str = LOOPBACK
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise OSError(
                f"UDP {host}:{port}: expected a free port, got {error.strerror}; end the other "
                "program that uses it"
            ) from error
        self.port = int(self._socket.getsockname()[1])
        self._peer, self._learns = peer, peer is None

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
        if self._learns:
            self._peer = (str(sender[0]), int(sender[1]))
        return data

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()
