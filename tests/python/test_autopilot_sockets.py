"""PX4 and ArduPilot through sockets: restarts, silence, packets of others, the command."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import restore_signals
from propwash import logs
from propwash.autopilot import ArduPilot, Loop, TcpLink, UdpLink
from propwash.cli.main import main

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_loops import ardupilot_loop, px4_loop
from autopilot_peers import ArduPilotPeer, Px4Peer


class Background:
    """A loop on a thread."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.going = loop, True
        self.thread = threading.Thread(target=loop.run, args=(lambda sample: self.going,))
        self.thread.start()

    def stop(self) -> None:
        self.going = False
        self.thread.join(10.0)
        assert not self.thread.is_alive()
        self.loop.link.close()


@pytest.fixture
def background() -> Iterator[list[Background]]:
    """Loops that end with the test."""
    running: list[Background] = []
    yield running
    for one in running:
        one.stop()


def serve_px4(port: int, steps: int) -> Px4Peer:
    """A PX4 that lives for some steps; its death closes the connection."""
    peer = Px4Peer()
    with socket.create_connection(("127.0.0.1", port), 5.0) as link:
        link.sendall(peer.hello())
        while peer.seen["HIL_SENSOR"] < steps:
            data = link.recv(65536)
            assert data
            if answers := peer.feed(data):
                link.sendall(answers)
    return peer


def serve_ardupilot(port: int, steps: int) -> ArduPilotPeer:
    """An ArduPilot that lives for some steps, then stops without a word."""
    peer = ArduPilotPeer()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(5.0)
        packet = peer.frame()
        while peer.count < steps:
            link.sendto(packet, ("127.0.0.1", port))
            packet = peer.feed(link.recv(65536))
    return peer


@pytest.mark.parametrize("program", ["px4", "ardupilot"])
def test_program_may_be_killed_and_started_again(
    program: str, background: list[Background]
) -> None:
    """Each start finds the vehicle on the ground at time 0: a strict peer sees no wrong step."""
    if program == "px4":
        link: Any = TcpLink(0)
        loop, serve = px4_loop(link), serve_px4
    else:
        link = UdpLink(0, is_peer=ArduPilot.is_servo_packet)
        loop, serve = ardupilot_loop(link, patience=0.2), serve_ardupilot  # type: ignore[assignment]
    background.append(Background(loop))
    for start in range(3):
        peer = serve(link.port, 300)
        assert not peer.errors, start
        assert peer.path[-1][0] < 4.0
        first_place = peer.path[0][1]
        assert np.abs(first_place).max() < 0.01
    assert loop.statistics.restarts == 2


def test_silent_ardupilot_stops_time(background: list[Background]) -> None:
    link = UdpLink(0, is_peer=ArduPilot.is_servo_packet)
    loop = ardupilot_loop(link, patience=0.02)
    background.append(Background(loop))
    serve_ardupilot(link.port, 200)
    time.sleep(0.1)
    before = loop.simulation.sample.time
    time.sleep(0.2)
    assert loop.simulation.sample.time == before == pytest.approx(0.2, abs=2e-3)


def test_foreign_datagrams_do_not_take_the_answers_away(background: list[Background]) -> None:
    link = UdpLink(0, is_peer=ArduPilot.is_servo_packet)
    loop = ardupilot_loop(link)
    background.append(Background(loop))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for _ in range(50):
            other.sendto(b"hello", ("127.0.0.1", link.port))
        peer = serve_ardupilot(link.port, 300)
    assert not peer.errors
    assert loop.codec.refused.counts.total() == 50


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["px4", "--patience", "nan"], "--patience: expected from 0.001"),
        (["ardupilot", "--patience", "-1"], "--patience: expected from 0.001"),
        (["px4", "--speed", "1e-300"], "--speed: expected from 0.001 to 1000"),
        (["px4", "--home", "91", "0", "0"], "--home, latitude: expected from -90 to 90"),
        (["px4", "--host", "no such host"], "TCP no such host:4560: expected a free port of an"),
        (["ardupilot", "--port", "65536"], "UDP 127.0.0.1:65536: expected a free port"),
        (["ardupilot", "--vehicle", "hexacopter"], "vehicle 'hexacopter': expected rotors"),
    ],
)
def test_invalid_options_are_refused_in_one_line(
    options: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["autopilot", *options]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"propwash: {match}")


@pytest.mark.parametrize("program", ["px4", "ardupilot"])
def test_command_reports_counts_and_reasons(program: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "propwash", "autopilot", program, "--port", str(port)]
    command += ["--speed", "0"] if program == "px4" else []
    command += ["--log", str(tmp_path / "flight.csv"), "--folder", str(tmp_path / program)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=restore_signals
    ) as child:
        assert child.stderr is not None
        assert "with the parameters of the vehicle" in child.stderr.readline()
        waiting = child.stderr.readline()
        assert f"port {port}" in waiting
        assert ("start it anew" in waiting) == (program == "px4")  # it connects only once
        if program == "px4":
            with socket.create_connection(("127.0.0.1", port), 5.0) as link:
                peer = Px4Peer()
                link.sendall(b"garbage" + peer.hello())
                for _ in range(200):
                    link.sendall(peer.feed(link.recv(65536)))
        else:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.sendto(b"garbage", ("127.0.0.1", port))
            serve_ardupilot(port, 390)
        child.send_signal(signal.SIGINT)
        text = child.stderr.read()
    assert child.returncode == 130
    assert text.endswith("propwash: stopped\n")
    assert "answers at" in text
    assert "started anew" not in text.partition("answers at")[0]
    assert "refused" in text
    assert "1 MAVLink: bytes before a start marker" in text or "1 servo packet" in text
    record = logs.read_record(tmp_path / "flight.csv")
    assert len(record) > 50
    assert record.info["seed"] == 0


@pytest.mark.parametrize("program", [("px4", "--speed", "0"), ("ardupilot",)])
def test_the_command_ends_after_its_duration(program: tuple[str, ...], tmp_path: Path) -> None:
    log = tmp_path / "flight.csv"
    options = ["--port", "0", "--duration", "0.4", "--log", str(log), "--folder", str(tmp_path)]
    assert main(["autopilot", *program, *options]) == 0
    assert logs.read_record(log).time[-1] == pytest.approx(0.4, abs=0.01)
