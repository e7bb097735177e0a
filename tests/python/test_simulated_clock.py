"""The clock that Betaflight is given: it follows the simulated time and waits for packets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from propwash.autopilot._simulated_clock import SimulatedClock, compiler

if not sys.platform.startswith("linux") or not compiler():
    pytest.skip("the simulated clock needs Linux and a C compiler", allow_module_level=True)

CHILD = """
import ctypes, select, socket, sys, threading, time
class Interval(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]
libc = ctypes.CDLL(None)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.settimeout(None)
def receive():
    while True:
        files = ctypes.create_string_buffer(128)  # an fd_set
        number = receiver.fileno()
        files[number // 8] = 1 << number % 8
        libc.select(number + 1, files, None, None, None)
        libc.recvfrom(number, ctypes.create_string_buffer(512), 512, 0, None, None)
threading.Thread(target=receive, daemon=True).start()
print(receiver.getsockname()[1], flush=True)
for line in sys.stdin:
    seconds = float(line)
    whole = int(seconds)
    libc.nanosleep(ctypes.byref(Interval(whole, round((seconds - whole) * 1e9))), None)
    print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
"""


def test_the_compiler_may_have_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, expected in [
        ("sh -c cc", ["sh", "-c", "cc"]),
        ("no_such_compiler -O2", []),
        (" ", []),
    ]:
        monkeypatch.setenv("CC", value)
        assert compiler() == expected


class Child:
    """A program that sleeps as long as it is told, by the clock."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **clock.environment},
        )
        self.port = int(self.read())

    def read(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def sleep(self, seconds: float) -> None:
        """Lets it sleep and then print its time."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()


@pytest.fixture
def clock(tmp_path: Path) -> SimulatedClock:
    """A clock whose program has not started."""
    return SimulatedClock(tmp_path)


@pytest.fixture
def child(clock: SimulatedClock) -> Iterator[Child]:
    """A program with the clock."""
    program = Child(clock)
    yield program
    with program.process:
        program.process.kill()


def send_state(child: Child) -> None:
    """Sends a packet of the length of a state packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(144), ("127.0.0.1", child.port))


def test_sleeps_take_no_time_up_to_the_limit(clock: SimulatedClock, child: Child) -> None:
    # the time before the simulation starts is 1 s: most of it at once
    child.sleep(0.5)
    first = float(child.read())
    child.sleep(0.25)
    second = float(child.read())
    assert second - first == pytest.approx(0.25, abs=0.001)
    assert -1.0 < clock.now < 0.0


def test_time_waits_for_the_limit_and_for_the_packet(clock: SimulatedClock, child: Child) -> None:
    child.sleep(5.0)  # beyond the limit
    end = time.monotonic() + 20.0
    while clock.now < 0.0 and time.monotonic() < end:
        time.sleep(0.01)
    assert clock.now == 0.0
    clock.allow(2.0)
    time.sleep(0.1)
    assert clock.now == 0.0  # the state packet has not come yet
    send_state(child)
    while clock.now < 2.0 - 1e-9 and time.monotonic() < end:
        time.sleep(0.01)
    assert clock.now == pytest.approx(2.0, abs=1e-9)
    clock.allow(6.0)
    send_state(child)
    reached = float(child.read())  # the sleep has ended
    assert clock.now <= 6.0
    assert reached == pytest.approx(1000.0 + 1.0 + clock.now, abs=1e-3)


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ImportError, match="the simulated clock needs a C compiler"):
        SimulatedClock(tmp_path)
