"""Networks for tests of the LCM bridge."""

from __future__ import annotations

import socket

import pytest
from propwash import lcm


def multicast() -> str:
    """A network of UDP multicast on this machine alone; skips the test where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"udpm://239.255.76.67:{port}?ttl=0"
    try:
        link = lcm.connect(url)
        link.publish("arm", b"")
        received = link.receive(5.0)
        link.close()
    except OSError:
        received = None
    if received is None:
        pytest.skip("UDP multicast is not available")
    return url
