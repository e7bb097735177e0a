"""Networks for tests of the LCM bridge."""

from __future__ import annotations

import socket

import pytest


def multicast() -> str:
    """A network of UDP multicast on this machine alone; skips the test where there is none."""
    library = pytest.importorskip("lcm")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"udpm://239.255.76.67:{port}?ttl=0"
    try:
        library.LCM(url).publish("probe", b"")
    except (RuntimeError, OSError):
        pytest.skip("UDP multicast is not available")
    return url
