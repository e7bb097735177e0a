"""Measures `python -m propwash lcm` from another process: losses, delays and steps per second.

    python bench/lcm_loop.py                      # 10 s of imuRaw at 960 Hz in real time
    python bench/lcm_loop.py --lock-step --duration 600

In real time: messages that are lost, the time between them, and the time that all took. In lock
step, one step of 1/960 s at a time: the time of a round trip, and steps lost or doubled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import lcm
import numpy as np
from propwash.lcm import message_types

TYPES = message_types()
RATE = 960
CHANNELS = ("poseMoCap", "poseRef", "rpmFeedback", "motorsPwms")


class Peer:
    """Receives imuRaw, with the times of reception."""

    def __init__(self, url: str) -> None:
        self.link = lcm.LCM(url)
        self.utimes: list[int] = []
        self.times: list[float] = []
        self.reached = 0
        self.link.subscribe("imuRaw", self._on_imu).set_queue_capacity(100_000)
        self.link.subscribe("clock", self._on_clock)

    def send(self, kind: str, channel: str, **values: object) -> None:
        """Publishes a message."""
        self.link.publish(channel, TYPES[kind].encode({"utime": 0, **values}))

    def handle(self, until: Callable[[], bool], patience: float) -> None:
        """Handles messages until a condition holds, or nothing comes for `patience` [s]."""
        while not until() and self.link.handle_timeout(round(1000 * patience)):
            pass

    def _on_imu(self, channel: str, data: bytes) -> None:
        self.times.append(time.monotonic())
        self.utimes.append(TYPES["imuRaw_t"].decode(data)["utime"])

    def _on_clock(self, channel: str, data: bytes) -> None:
        self.reached = TYPES["time_t"].decode(data)["utime"]


def real_time(peer: Peer, duration: float) -> str:
    """Receives for a duration [s]."""
    peer.handle(lambda: len(peer.utimes) >= RATE * duration, 5.0)
    utimes = np.array(peer.utimes)
    if len(utimes) < 2:
        return "imuRaw: nothing received; docs/lcm.md, When it does not work"
    expected = round((utimes[-1] - utimes[0]) * 1e-6 * RATE) + 1
    between = 1e3 * np.diff(peer.times)
    return (
        f"imuRaw: {len(utimes)} of {expected} received in {peer.times[-1] - peer.times[0]:.3f} s; "
        f"ms between two: median {np.median(between):.3f}, 99 % {np.quantile(between, 0.99):.3f}, "
        f"maximum {between.max():.1f}"
    )


def lock_step(peer: Peer, duration: float) -> str:
    """Asks for one step after another, and again if an answer does not come within a second."""
    round_trips, repeated = [], 0
    for number in range(1, round(duration * RATE) + 1):
        goal = round(number * 1e6 / RATE)
        started = time.monotonic()
        while peer.reached < goal:
            repeated += time.monotonic() - started > 0.5
            peer.send("time_t", "step", utime=goal)
            peer.handle(lambda: peer.reached >= goal, 1.0)  # noqa: B023
        round_trips.append(time.monotonic() - started)
    peer.handle(lambda: False, 0.1)
    steps = np.round(np.array(peer.utimes) * 1e-6 * RATE).astype(int)
    lost = len(round_trips) - len(np.unique(steps))
    doubled = len(steps) - len(np.unique(steps))
    trips = 1e3 * np.array(round_trips)
    return (
        f"{len(trips)} steps, {lost} lost, {doubled} doubled, {repeated} requests repeated, "
        f"{len(trips) / sum(round_trips):.0f} steps/s, round trip median "
        f"{np.median(trips):.3f} ms, 99 % {np.quantile(trips, 0.99):.3f} ms"
    )


def main() -> None:
    """Runs the command and measures it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=10.0, help="s (default: %(default)s)")
    parser.add_argument("--lock-step", action="store_true")
    parser.add_argument("--url", default="udpm://239.255.76.67:7669?ttl=0")
    options = parser.parse_args()
    rates = [f"--rate={channel}=0" for channel in CHANNELS] if options.lock_step else []
    command = [sys.executable, "-m", "propwash", "lcm", "--url", options.url, *rates]
    command += ["--step-rate", str(RATE), "--rate", f"imuRaw={RATE}"]
    if options.lock_step:
        command.append("--lock-step")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulation:
        try:
            print(simulation.stdout.readline() if simulation.stdout else "", end="")
            peer = Peer(options.url)
            speeds = [1000.0] * 4
            peer.send("rotorSpeeds_t", "rotorSpeeds", num=4, speeds=speeds)
            peer.send("time_t", "arm")
            print((lock_step if options.lock_step else real_time)(peer, options.duration))
        finally:
            simulation.terminate()


if __name__ == "__main__":
    main()
