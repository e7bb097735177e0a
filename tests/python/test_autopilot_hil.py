"""PX4 with hardware in the loop: serial ports and UDP, latencies, the parameters and refusals.

The peer is a PX4 that runs by its own clock, at the other end of a pseudo-terminal or a socket.
"""

from __future__ import annotations

import os
import pty
import select
import socket
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from propwash.autopilot import QUAD_X, Latencies, Loop, Px4Hil, SerialLink, Simulation, UdpLink
from propwash.cli.main import main

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from pymavlink.dialects.v20 import common as mavlink

HOVER = 0.2653
BOOTED = 1000.0
"""s, by which PX4's clock is ahead of ours."""


class Board:
    """A PX4 in its HIL mode: reads sensors, and sends outputs at its own rate."""

    def __init__(self, write: Callable[[bytes], Any], mode: int = 32, clock: Any = None) -> None:
        self.write, self.mode = write, mode
        self.clock = clock or time.monotonic
        self.link, self.reader = mavlink.MAVLink(None, 1, 1), mavlink.MAVLink(None)
        self.reader.robust_parsing = True
        self.sensors: list[Any] = []
        self.output = HOVER
        self.booted = BOOTED

    def send(self, message: Any) -> None:
        self.write(message.pack(self.link))

    def beat(self) -> None:
        self.send(mavlink.MAVLink_heartbeat_message(2, 12, self.mode, 0, 3, 3))

    def command(self) -> None:
        usec = round(1e6 * (self.clock() + self.booted))
        controls = [self.output] * 4 + [0.0] * 12
        self.send(mavlink.MAVLink_attitude_message(0, 0, 0, 0, 0, 0, 0))  # for a ground station
        self.send(mavlink.MAVLink_hil_actuator_controls_message(usec, controls, 128 | 32, 0))

    def feed(self, data: bytes) -> None:
        for message in self.reader.parse_buffer(data) or ():
            if message.get_type() == "HIL_SENSOR":
                self.sensors.append(message)
            elif message.get_type() == "TIMESYNC" and message.tc1 == 0:
                now = round(1e9 * (self.clock() + self.booted))
                self.send(mavlink.MAVLink_timesync_message(now, message.ts1))


class Terminal:
    """A pseudo-terminal with a board at its other end, in a thread; a context manager."""

    def __init__(self, **options: Any) -> None:
        self.file, self.own = pty.openpty()
        tty.setraw(self.own)
        self.device = os.ttyname(self.own)
        self.board = Board(lambda data: os.write(self.file, data), **options)
        self._going = True
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._going = False
        self._thread.join()
        for file in (self.file, self.own):
            os.close(file)

    def _run(self) -> None:
        due = 0.0
        while self._going:
            if select.select([self.file], [], [], 0.002)[0]:
                self.board.feed(os.read(self.file, 65536))
            if time.monotonic() >= due:
                due = time.monotonic() + 0.005
                self.board.beat()
                self.board.command()


class Clock:
    """A clock that advances when one sleeps."""

    now = 50.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Delayed:
    """A link to a board whose messages take `delay` s each way, by a simulated clock."""

    port = 0

    def __init__(self, clock: Clock, delay: float, period: float = 0.005) -> None:
        self.clock, self.delay, self.period = clock, delay, period
        self.board = Board(self._answer, clock=clock)
        self.due = clock.now
        self.out: list[tuple[float, bytes]] = []
        self.back: list[tuple[float, bytes]] = []

    def _answer(self, data: bytes) -> None:
        self.back.append((self.clock.now + self.delay, data))

    def send(self, data: bytes) -> None:
        self.out.append((self.clock.now + self.delay, data))

    def receive(self, timeout: float) -> bytes | None:
        end = self.clock.now + timeout
        while True:
            times = [self.due, *(t for t, _ in self.out[:1]), *(t for t, _ in self.back[:1])]
            if min(times) > end:
                self.clock.now = max(self.clock.now, end)
                return None
            self.clock.now = max(self.clock.now, min(times))
            if self.back and self.back[0][0] <= self.clock.now:
                return self.back.pop(0)[1]
            if self.out and self.out[0][0] <= self.clock.now:
                self.board.feed(self.out.pop(0)[1])
            else:
                self.due += self.period
                self.board.command()

    def close(self) -> None: ...


def loop_of(link: Any, reports: list[str] | None = None, **options: Any) -> Loop:
    simulation = Simulation("flightgoggles", QUAD_X["px4"], seed=1, noise=False)
    simulation.period = 1.0 / 250.0
    report = (reports if reports is not None else []).append
    clock = {"clock": options["clock"]} if "clock" in options else {}
    codec = Px4Hil(noise=False, report=report, **clock)
    return Loop(simulation, codec, link, report=report, **options)


def run_until(loop: Loop, condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether a condition comes true; the vehicle flies on."""
    end = time.monotonic() + seconds
    loop.run(lambda sample: not condition() and time.monotonic() < end)
    return condition()


def test_latencies_are_those_of_the_link_and_the_clocks() -> None:
    clock = Clock()
    link = Delayed(clock, 0.003)
    loop = loop_of(link, clock=clock, sleep=clock.sleep)
    loop.run(lambda sample: sample.time < 4.0)
    codec = loop.codec
    assert isinstance(codec, Px4Hil)
    assert codec.round_trip.count == pytest.approx(40, abs=1)
    assert codec.round_trip.mean == pytest.approx(0.006, abs=1e-5)
    assert codec.age.mean == pytest.approx(0.003, abs=1e-5)
    assert codec.interval.mean == pytest.approx(0.005, abs=1e-5)
    assert codec.jitter.maximum < 1e-6
    assert len(link.board.sensors) == pytest.approx(1000, abs=2)
    assert "round trip: mean 6, " in codec.statistics()


def test_outputs_fly_the_vehicle_and_sensors_have_the_bits_of_the_simulator_build() -> None:
    clock = Clock()
    link = Delayed(clock, 0.001)
    loop = loop_of(link, clock=clock, sleep=clock.sleep)
    link.board.output = 0.0
    loop.run(lambda sample: sample.time < 1.5)
    link.board.output = 1.2 * HOVER
    loop.run(lambda sample: sample.time < 2.5)
    assert 0.5 < loop.simulation.sample.position[2] < 1.2  # a fifth of gravity for a second
    times = np.diff([message.time_usec for message in link.board.sensors[1:]])
    assert (times == 4000).all()
    assert {m.fields_updated & 0x3F for m in link.board.sensors} == {0x3F}


def test_a_board_that_stops_stops_the_motors_and_one_that_boots_puts_the_vehicle_back() -> None:
    clock, reports = Clock(), list[str]()
    link = Delayed(clock, 0.001)
    loop = loop_of(link, reports, clock=clock, sleep=clock.sleep)
    link.board.output = 0.0
    loop.run(lambda sample: sample.time < 1.5)
    link.board.output = 1.2 * HOVER
    loop.run(lambda sample: sample.time < 2.5)
    link.period, before = 10.0, link.due
    loop.run(lambda sample: sample.time < 3.2)
    assert loop.statistics.lost == 1
    assert not loop.simulation.sample.motors.any()
    link.period, link.due = 0.005, clock.now
    link.board.booted = -40.0  # its clock is back near zero
    link.board.output = 0.0
    assert before < link.due
    loop.run(lambda sample: not any("started anew" in text for text in reports))
    loop.tick()
    assert loop.simulation.sample.time < 0.1
    assert abs(loop.simulation.sample.position[2]) < 0.01


def test_outputs_in_another_order_are_no_restart() -> None:
    """Packets of UDP may overtake each other."""
    codec, packets = Px4Hil(noise=False), list[bytes]()
    clock = Clock()
    board = Board(packets.append, clock=clock)
    for now in (50.0, 50.01, 50.005):
        clock.now = now
        board.command()
    assert [codec.motors(packet) is not None for packet in packets].count(True) == 3
    assert not codec.restarted
    clock.now = 40.0
    board.command()
    for packet in packets[-2:]:
        codec.motors(packet)
    assert codec.restarted


def test_a_serial_port_whose_bytes_another_program_reads_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def taken(file: int, count: int) -> bytes:
        raise BlockingIOError

    file, own = pty.openpty()
    with SerialLink(os.ttyname(own)) as link:
        os.write(file, b"sensors")
        with monkeypatch.context() as patch:
            patch.setattr(os, "read", taken)
            assert link.receive(5.0) is None
        assert link.receive(5.0) == b"sensors"
    for each in (file, own):
        os.close(each)


def test_a_board_that_is_not_in_its_hil_mode_is_reported_once() -> None:
    reports: list[str] = []
    codec = Px4Hil(noise=False, report=reports.append)
    packets: list[bytes] = []
    board = Board(packets.append, mode=0)
    for _ in range(3):
        board.beat()
    for packet in packets:
        codec.motors(packet)
    (text,) = reports
    assert "set SYS_HITL to 1" in text
    assert not codec.refused.counts


def test_a_serial_port_carries_sensors_and_outputs() -> None:
    with Terminal() as terminal, SerialLink(terminal.device) as link:
        loop = loop_of(link)
        codec = loop.codec
        assert isinstance(codec, Px4Hil)
        assert run_until(loop, lambda: codec.age.count > 50 and len(terminal.board.sensors) > 50)
        assert codec.armed
        assert not codec.refused.counts
        assert loop.statistics.restarts == 0


def test_a_serial_port_that_ends_is_opened_again(tmp_path: Path) -> None:
    device = tmp_path / "board"
    with Terminal() as terminal:
        device.symlink_to(terminal.device)
        link = SerialLink(str(device))
        loop = loop_of(link)
        assert run_until(loop, lambda: loop.statistics.answered > 20)
    assert run_until(loop, lambda: not loop.connected)
    device.unlink()
    with Terminal() as terminal:
        device.symlink_to(terminal.device)
        assert run_until(loop, lambda: loop.connected)
        assert loop.statistics.restarts == 1
        link.close()


def test_udp_answers_the_sender_of_mavlink_only() -> None:
    with (
        UdpLink(0, is_peer=Px4Hil.is_mavlink) as link,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        address = ("127.0.0.1", link.port)
        board = Board(lambda data: peer.sendto(data, address))
        board.beat()
        assert link.receive(5.0)
        other.sendto(b"hello", address)
        assert link.receive(5.0) == b"hello"
        link.send(b"sensors")
        peer.settimeout(5.0)
        assert peer.recv(100) == b"sensors"


def test_quantiles_are_those_of_the_times() -> None:
    latency, times = Latencies(), np.random.default_rng(1).exponential(0.01, 20_000)
    for each in times:
        latency.add(each)
    assert latency.mean == pytest.approx(times.mean())
    assert latency.maximum == times.max()
    for probability in (0.5, 0.99, 0.999):
        expected = np.quantile(times, probability)
        assert latency.quantile(probability) == pytest.approx(expected, rel=0.06)
    assert str(Latencies()) == "none"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["/dev/none"], "[Errno 2] No such file or directory: '/dev/none'"),
        (["/dev/null"], "/dev/null"),
        (["/dev/null", "--baud", "57600"], "--rate: expected at most 48 Hz at --baud 57600"),
        (["/dev/null", "--baud", "1000000", "--speed", "0"], "--speed: expected 1 with --device"),
        (["/dev/null", "--baud", "921601"], "baud = 921601: expected one of 50, 75"),
        (["udp:x"], "--device udp:x: expected a serial device or udp:PORT"),
    ],
)
def test_invalid_options_are_refused_in_one_line(
    options: list[str], match: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["autopilot", "px4", "--folder", str(tmp_path / "px4"), "--device", *options]
    assert main(command) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("propwash: ")
    assert match in error
    assert not (tmp_path / "px4").exists()


def test_parameters_are_those_of_the_vehicle_and_of_the_mode(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["autopilot", "px4", "--device", "udp:0", "--config"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    found = {name: (float(value), int(kind)) for _, _, name, value, kind in rows}
    assert found["SYS_HITL"] == (1.0, 6)
    assert [found[f"HIL_ACT_FUNC{k}"] for k in (1, 2, 3, 4)] == [
        (100.0 + k, 6) for k in range(1, 5)
    ]
    assert found["MPC_THR_HOVER"][0] == pytest.approx(HOVER, abs=1e-3)


def test_command_prints_latencies(tmp_path: Path) -> None:
    with Terminal() as terminal:
        command = [sys.executable, "-m", "propwash", "autopilot", "px4", "--duration", "1"]
        command += ["--device", terminal.device, "--folder", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "flight controller answers" in done.stderr
    for name in ("interval of HIL_SENSOR", "interval of outputs", "round trip", "age of outputs"):
        line = next(line for line in done.stderr.splitlines() if line.startswith(name))
        assert "99 %" in line
    assert "SYS_HITL" in (tmp_path / "vehicle.params").read_text()
