"""Minutes of lock step with PX4's and ArduPilot's protocol, through sockets, counted on both sides.

Runs `python -m propwash autopilot` and the strict peers of tests/python/autopilot_peers.py, which
check every message and fly. Prints counts; exit status 1 for any error.

    python bench/autopilot_lockstep.py px4 --minutes 10
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from autopilot_peers import ArduPilotPeer, Px4Peer

LOCAL = "127.0.0.1"


def connected(port: int) -> socket.socket:
    """A connection, as soon as the command listens."""
    for _ in range(600):
        try:
            return socket.create_connection((LOCAL, port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError(f"expected a simulator at port {port} within a minute")


def fly_px4(port: int, seconds: float) -> tuple[Px4Peer, int, float]:
    """The peer, the samples it received and the last time [s]."""
    peer = Px4Peer()
    with connected(port) as link:
        link.sendall(peer.hello())
        while (peer.time or 0) < seconds * 1e6 and (data := link.recv(65536)):
            link.sendall(peer.feed(data))
    return peer, peer.seen["HIL_SENSOR"], (peer.time or 0) * 1e-6


def fly_ardupilot(port: int, seconds: float, rate: int) -> tuple[ArduPilotPeer, int, float]:
    """The peer, the samples it received and the last time [s]."""
    peer = ArduPilotPeer(rate)
    packet = peer.frame()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(1.0)
        waited = 0
        while peer.time < seconds:
            link.sendto(packet, (LOCAL, port))
            try:
                packet = peer.feed(link.recv(65536))
            except (TimeoutError, ConnectionRefusedError):
                waited += 1  # the frame is sent again
                if waited > 600:
                    raise
    return peer, peer.count, peer.time


def main() -> int:
    """Runs one program; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=("px4", "ardupilot"))
    parser.add_argument("--minutes", type=float, default=10.0, help="simulated (default: 10)")
    parser.add_argument("--rate", type=int, default=400, help="Hz, of ArduPilot (default: 400)")
    parser.add_argument("--port", type=int, help="default: that of the program")
    options = parser.parse_args()
    port = options.port or {"px4": 4560, "ardupilot": 9002}[options.program]
    command = [sys.executable, "-m", "propwash", "autopilot", options.program, "--port", str(port)]
    command += ["--speed", "0"] if options.program == "px4" else []
    start = time.monotonic()
    interruptible = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # in the background too
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible, cwd=folder
        ) as child,
    ):
        try:
            peer: Any
            if options.program == "px4":
                peer, samples, end = fly_px4(port, 60.0 * options.minutes)
            else:
                peer, samples, end = fly_ardupilot(port, 60.0 * options.minutes, options.rate)
        finally:
            child.send_signal(signal.SIGINT)
            text = child.communicate()[1]
    wall = time.monotonic() - start
    errors = peer.errors + peer.pilot.verdicts()
    height = -peer.path[-1][1][2]
    print(f"{options.program}: {samples} samples, {end:.3f} s simulated in {wall:.0f} s")
    print(f"errors that the peer counted: {dict(errors) or 'none'}; height {height:.2f} m")
    print(text)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
