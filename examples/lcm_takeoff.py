"""A controller in another process: takes off and hovers by LCM messages (docs/lcm.md).

pip install "propwash[lcm]"

    python -m propwash lcm --start 0 0 0 90 &        # in real time
    python examples/lcm_takeoff.py

    python -m propwash lcm --start 0 0 0 90 --lock-step &
    python examples/lcm_takeoff.py --lock-step       # as fast as both programs can

With --simulate it starts the simulation itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import lcm
import numpy as np
from propwash.lcm import message_types

MASS, GRAVITY = 0.915, 9.81  # kg of the vehicle blackbird, m/s^2
PERIOD = 10_000  # us, between commands


class Hover:
    """Height and attitude control on poseMoCap, which is north-east-down."""

    def __init__(self, link: lcm.LCM, height: float) -> None:
        self._link, self._height = link, height
        self._last: dict[str, Any] | None = None
        self._sent = -PERIOD
        self.heights: list[float] = []

    def send(self, kind: str, channel: str, **values: Any) -> None:
        """Publishes a message."""
        self._link.publish(channel, message_types()[kind].encode(values))

    def on_pose(self, channel: str, data: bytes) -> None:
        """Sends a command for a pose, every PERIOD."""
        pose = message_types()["state_t"].decode(data)
        if pose["utime"] == 0:  # before the first step; came only if this program listened in time
            return
        self.heights.append(-pose["position"][2])
        if self._last is not None and pose["utime"] >= self._sent + PERIOD:
            elapsed = 1e-6 * (pose["utime"] - self._last["utime"])
            self._command(pose, self._last, elapsed)
            self._sent = pose["utime"]
        self._last = pose

    def _command(self, pose: dict[str, Any], last: dict[str, Any], elapsed: float) -> None:
        climb = (last["position"][2] - pose["position"][2]) / elapsed
        thrust = MASS * (GRAVITY + 4.0 * (self._height - self.heights[-1]) - 4.0 * climb)
        w, *vector = pose["orient"]
        rates = -8.0 * np.sign(w) * np.array(vector)  # towards level, facing north
        self.send(
            "rateThrust_t",
            "rateThrust",
            utime=pose["utime"],
            rates=rates.tolist(),
            thrust=max(thrust, 0.0),
        )


def lock_step(link: lcm.LCM, hover: Hover, duration: float) -> None:
    """Asks for one period after another; asks again if an answer is lost."""
    reached = [0]

    def on_clock(channel: str, data: bytes) -> None:
        reached[0] = message_types()["time_t"].decode(data)["utime"]

    link.subscribe("clock", on_clock)
    goal = 0
    while goal < 1e6 * duration:
        goal += PERIOD
        while reached[0] < goal:
            hover.send("time_t", "step", utime=goal)
            wait(link, lambda: reached[0] >= goal, 1.0)  # noqa: B023


def wait(link: lcm.LCM, done: Callable[[], bool], seconds: float) -> None:
    """Handles messages until `done`, or until none has come for some seconds."""
    while not done() and link.handle_timeout(round(1000 * seconds)):
        pass


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="", help="LCM network (default: LCM's)")
    parser.add_argument("--height", type=float, default=1.5, help="m (default: %(default)s)")
    parser.add_argument("--duration", type=float, default=5.0, help="s, simulated (default: 5)")
    parser.add_argument("--lock-step", action="store_true", help="the simulation has --lock-step")
    parser.add_argument("--simulate", action="store_true", help="start the simulation")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        if options.simulate:
            stack.callback(started(options.url, options.lock_step).terminate)
        fly(options.url, options.height, options.duration, options.lock_step)


def started(url: str, in_lock_step: bool) -> subprocess.Popen[str]:
    """Starts the simulation, and returns when it waits for commands."""
    command = [
        sys.executable,
        "-m",
        "propwash",
        "lcm",
        "--url",
        url,
        "--start",
        *["0", "0", "0", "90"],
    ]
    command += ["--lock-step"] if in_lock_step else []
    simulation = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if simulation.stdout is None or not simulation.stdout.readline():
        raise SystemExit("the simulation did not start")
    return simulation


def fly(url: str, height: float, duration: float, in_lock_step: bool) -> None:
    """Arms, takes off and hovers for a simulated time [s]."""
    link = lcm.LCM(url)
    hover = Hover(link, height)
    link.subscribe("poseMoCap", hover.on_pose).set_queue_capacity(1000)
    hover.send("time_t", "reset", utime=0)
    hover.send("time_t", "arm", utime=0)
    if in_lock_step:
        lock_step(link, hover, duration)
    else:
        wait(link, lambda: len(hover.heights) >= 360 * duration, 5.0)
    if not hover.heights:
        raise SystemExit("no poses received: start `python -m propwash lcm` first (docs/lcm.md)")
    print(f"{len(hover.heights)} poses, height at the end {hover.heights[-1]:.2f} m")


if __name__ == "__main__":
    main()
