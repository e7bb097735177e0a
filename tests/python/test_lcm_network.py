"""The command `python -m propwash lcm`: logs, networks in memory and over UDP multicast."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import restore_signals
from lcm_helpers import multicast
from propwash import lcm, logs
from propwash.__main__ import main
from propwash.lcm import message_types

TYPES = message_types()
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "lcm_takeoff.py"


def encoded(kind: str, **values: Any) -> bytes:
    return TYPES[kind].encode({"utime": 0, **values})


ARM = ("arm", encoded("time_t"))
HOVER = ("rateThrust", encoded("rateThrust_t", rates=[0.1, -0.2, 0.3], thrust=9.5))


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The event log of a flight along a path."""
    pytest.importorskip("scipy")
    path = tmp_path_factory.mktemp("flown") / "oval"
    options = ["--offline", "--fly", "oval", "--speed", "3", "--duration", "13"]
    assert main(["lcm", *options, "--rate", "imuRaw=200", "--record", str(path)]) == 0
    return path


# Event logs


def test_a_recorded_flight_is_read(flown: Path) -> None:
    flight = logs.read_log(flown)
    poses = [TYPES["state_t"].decode(e.data) for e in lcm.read_events(flown) if e[1] == "poseMoCap"]
    north, east, down = np.array([pose["position"] for pose in poses]).T
    times = 1e-6 * np.array([pose["utime"] for pose in poses])
    first = flight.time + 1e-6 * 2500  # of the first mean of readings
    for column, values in zip(np.asarray(flight.position).T, (east, north, -down), strict=True):
        assert column == pytest.approx(np.interp(first, times, values), abs=2e-3)
    assert flight.duty.shape[1] == 4
    assert 0.0 < flight.duty.min() < flight.duty.max() < 1.0
    assert flight.synchronous
    assert flight.specific_force[:, 2].mean() == pytest.approx(9.9, abs=0.3)
    assert np.linalg.norm(np.asarray(flight.velocity), axis=1).max() == pytest.approx(3.0, abs=0.3)


@pytest.mark.slow
def test_a_recorded_flight_is_replayed(
    flown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"{flown}@4:12", "--vehicle", "blackbird", "--horizons", "0.1,0.25"]
    assert main(["replay", *arguments, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    found = re.search(r"position \[m\] +([\d.]+) / [\d.]+ +([\d.]+) /", text)
    assert found is not None
    assert float(found[1]) < 2e-3
    assert float(found[2]) < 1e-2


def test_a_vehicle_is_identified(flown: Path) -> None:
    pytest.importorskip("scipy")
    from propwash import identify, vehicles

    truth = vehicles.load("blackbird")
    rotors = [
        rotor.replace(thrust_coefficient=1.2 * rotor.thrust_coefficient) for rotor in truth.rotors
    ]
    log = identify.read_log(flown, start=4.0, stop=12.0)
    found = identify.fit_vehicle(log, truth.replace(rotors=rotors), parameters=["thrust"])
    fitted = found.vehicle.rotors[0].thrust_coefficient
    assert fitted == pytest.approx(truth.rotors[0].thrust_coefficient, rel=0.05)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("imuRaw", b"12345678"), r"event 0, channel imuRaw: expected imuRaw_t .*another type"),
        (("imuRaw", b""), r"event 0, channel imuRaw: expected imuRaw_t .*wrong length"),
        (("gyro", b""), r"expected a channel imuRaw, found gyro, arm; pass a mapping"),
    ],
)
def test_logs_of_other_programs_are_refused(
    change: tuple[str, bytes], match: str, tmp_path: Path
) -> None:
    with lcm.EventWriter(tmp_path / "log") as log:
        log.write(0, *change)
        log.write(0, "arm", b"invalid messages on other channels do not matter")
    with pytest.raises(ValueError, match=match):
        logs.read_log(tmp_path / "log")


def test_a_mapping_selects_channels(flown: Path) -> None:
    columns = logs.Columns(
        body_rates=[f"imuRaw:gyro[{axis}]" for axis in range(3)],
        specific_force=[f"imuRaw:accel[{axis}]" for axis in range(3)],
        down=True,
    )
    flight = logs.read_log(flown, columns)
    assert flight.position is None
    expected = logs.read_log(flown)
    assert flight.body_rates[:1000] == pytest.approx(expected.body_rates[:1000])
    wrong = logs.Columns(body_rates=["imuRaw:rates[0]"] * 3, specific_force=["imu:x"] * 3)
    with pytest.raises(ValueError, match=r"missing imuRaw:rates\[0\].* in imuRaw_t: utime, gyro"):
        logs.read_log(flown, wrong)


def test_a_played_log_repeats_the_flight_exactly(tmp_path: Path) -> None:
    """Commands at any time: the log of the repeated flight has the same bytes."""

    class Script(lcm.Offline):
        """Sends commands after some calls."""

        def __init__(self) -> None:
            self.calls = 0

        def receive(self, seconds: float) -> lcm.Event | None:
            self.calls += 1
            sent = {3: ARM, 700: HOVER, 1400: ("reset", b"?"), 2000: ("reset", ARM[1]), 2500: ARM}
            return lcm.Event(0, *sent[self.calls]) if self.calls in sent else None

    first, second = tmp_path / "first", tmp_path / "second"
    with lcm.EventWriter(first) as log:
        run = lcm.Run(lcm.LcmVehicle(seed=8), Script(), float("inf"), log)
        run.run(2.0)
    assert run.received == {"arm": 2, "rateThrust": 1, "reset": 2}
    assert run.simulation.refused.counts == {"wrong length": 1}
    options = ["--offline", "--seed", "8", "--duration", "2"]
    assert main(["lcm", *options, "--play", str(first), "--record", str(second)]) == 0
    assert second.read_bytes() == first.read_bytes()


# Networks


def test_a_network_in_memory_passes_messages() -> None:
    pytest.importorskip("lcm")
    network = lcm.connect("memq://")
    network.publish(*ARM)
    network.publish(*HOVER)
    run = lcm.Run(lcm.LcmVehicle(rates={"imuRaw": 0}), network, float("inf"))
    run.run(0.2)
    assert run.simulation.armed
    assert run.received == {"arm": 1, "rateThrust": 1}
    assert run.published == {"poseMoCap": 73, "rpmFeedback": 39, "motorsPwms": 39}


def test_real_time_is_kept() -> None:
    """Half a second at five times real time takes a tenth of a second, and not less."""
    import time

    started = time.monotonic()
    run = lcm.Run(lcm.LcmVehicle(), lcm.Offline(), clock_scale=5.0)
    run.run(0.5)
    assert time.monotonic() - started >= 0.0999


def test_two_processes_over_multicast(tmp_path: Path) -> None:
    """Another program takes off in lock step; a killed one is followed by a new one."""
    pytest.importorskip("lcm")
    url = multicast()
    log = tmp_path / "log"
    options = ["--lock-step", "--url", url, "--duration", "5", "--record", str(log)]
    simulation = subprocess.Popen(
        [sys.executable, "-m", "propwash", "lcm", *options, "--start", "0", "0", "0", "90"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert simulation.stdout is not None
        assert "waits for arm" in simulation.stdout.readline()
        program = [sys.executable, str(EXAMPLE), "--lock-step", "--url", url, "--duration"]
        peer = subprocess.Popen([*program, "2"])  # s of 5, in case it lives on
        while not log.stat().st_size:
            assert peer.poll() is None
        peer.kill()
        peer.wait()
        printed = subprocess.run(
            [*program, "5"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        text, _ = simulation.communicate(timeout=60)
    finally:
        simulation.kill()
    assert re.search(r"height at the end 1\.\d\d m", printed)
    assert "simulated     5.000 s" in text
    assert "refused       none" in text
    utimes = [
        TYPES["state_t"].decode(e.data)["utime"]
        for e in lcm.read_events(log)
        if e[1] == "poseMoCap"
    ]
    assert len(utimes) == 1801
    assert np.all(np.diff(utimes) > 0)


@pytest.mark.skipif(os.name != "posix", reason="SIGTERM ends a program of Windows at once")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_an_ended_program_completes_its_log(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-m", "propwash", "lcm", "--url", multicast(), "--record", str(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_signals,
    ) as simulation:
        assert simulation.stdout is not None
        simulation.stdout.readline()
        while not log.stat().st_size:
            assert simulation.poll() is None
        simulation.send_signal(getattr(signal, name))
        text, errors = simulation.communicate(timeout=30)
    assert simulation.returncode == 130
    assert errors == "propwash: stopped\n"
    printed = re.search(r"(\d+) poseMoCap", text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events = [event for event in lcm.read_events(log) if event.channel == "poseMoCap"]
    assert printed is not None
    assert 0 <= int(printed[1]) - len(events) <= 1  # stopped between the network and the log


def test_packets_of_other_machines_are_refused_with_ttl_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = multicast()
    packet = struct.pack(">II", 0x4C433032, 1) + b"arm\0" + ARM[1]
    senders = {"127.0.0.1": (True, True), "192.0.2.1": (False, True)}  # of RFC 5737: of no machine
    for ttl in (0, 1):
        simulation = lcm.LcmVehicle()
        link = lcm.connect(url.replace("ttl=0", f"ttl={ttl}"), simulation.refused)
        for sender, is_taken in senders.items():
            with monkeypatch.context() as patch:
                taken = FromSender(packet, sender)
                patch.setattr(link, "_socket", taken)
                patch.setattr("select.select", lambda *arguments: arguments)
                assert (link.receive(0.01) is not None) is is_taken[ttl]
        assert sum(simulation.refused.counts.values()) == (0 if ttl else 1000)
        link.close()


class FromSender:
    """A socket with one packet, again and again."""

    def __init__(self, packet: bytes, sender: str) -> None:
        self._received = packet, (sender, 7667)

    def recvfrom(self, size: int) -> tuple[bytes, tuple[str, int]]:
        return self._received


def test_malformed_packets_are_counted(capfd: pytest.CaptureFixture[str]) -> None:
    """Truncated, mutated and random packets of UDP; valid commands among them are executed."""
    url = multicast()
    group, port = url[len("udpm://") :].partition("?")[0].split(":")
    rng = random.Random(6)
    simulation = lcm.LcmVehicle()
    link = lcm.connect(url, simulation.refused)
    valid = struct.pack(">II", 0x4C433032, 1) + b"arm\0" + ARM[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        for number in range(1000):
            packet = bytearray(valid[: rng.randrange(len(valid) + 1)])
            if number % 3 == 0:
                packet = bytearray(rng.randbytes(rng.randrange(60)))
            if packet and rng.random() < 0.3:
                packet[rng.randrange(len(packet))] = rng.getrandbits(8)
            sender.sendto(packet, (group, int(port)))
            assert link.receive(0.001) is None or packet[8:12] == b"arm\0"
        while link.receive(0.1):
            pass
        sender.sendto(valid, (group, int(port)))
        assert link.receive(1.0) == lcm.Event(0, *ARM)
    link.close()
    counts = simulation.refused.counts
    assert {*counts} == {"a packet without a header", "no channel", "a packet that is not LCM's"}
    assert min(counts.values()) > 50


# The command


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--offline"], "--offline: expected --duration, --fly or --play"),
        (["--offline", "--lock-step", "--duration", "1"], "--lock-step: expected a network"),
        (["--offline", "--duration", "1", "--rate", "imuRaw"], "--rate: expected CHANNEL=HZ"),
        (["--offline", "--duration", "1", "--rate", "imu=5"], "rates: expected 'imuRaw'"),
        (["--offline", "--duration", "1", "--start", "0", "0", "nan", "0"], "position"),
        (["--offline", "--play", "missing"], "missing: expected an event log of LCM"),
        (["--url", "tcpq://127.0.0.1:1"], "LCM network tcpq://127.0.0.1:1: .*When it does not"),
        (["--url", "udpm://1.2.3.4:1"], "url: expected udpm://GROUP:PORT.*got 'udpm://1.2.3.4:1'"),
        (["--url", "udpm://239.1.1.1:77777"], "url: expected udpm://GROUP:PORT"),
        (["--url", "udpm://239.1.1.1:7?ttl=-1"], "url: expected udpm://GROUP:PORT"),
        (["--url", "udpm://239.1.1.1:7?tll=1"], "url: expected udpm://GROUP:PORT"),
        (["--clock-scale", "0"], "--clock-scale: expected from 0.001 to 1000"),
        (
            ["--offline", "--fly", "oval", "--start", "1", "0", "0", "0"],
            "--start: expected no --fly",
        ),
        (["--offline", "--fly", "oval", "--duration", "5"], "--duration: expected at least 10 s"),
        (["--offline", "--duration", "1", "--speed", "3"], "--speed: expected with --fly"),
        (["--offline", "--duration", "1", "--yaw", "forward"], "--yaw: expected with --fly"),
    ],
)
def test_invalid_options_are_refused(
    options: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "tcpq" in options[-1]:
        pytest.importorskip("lcm")
    assert main(["lcm", *options]) == 2
    assert re.search(match, capsys.readouterr().err)


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lcm", None)
    assert main(["lcm", "--duration", "1", "--url", "tcpq://"]) == 2
    assert 'pip install "propwash[lcm]"' in capsys.readouterr().err


def test_the_path_of_the_types_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lcm", "--types"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_text("utf-8").count("struct") == len(TYPES)


def test_an_event_log_without_messages_is_not_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log").write_bytes(b"")
    assert main(["lcm", "--offline", "--play", str(tmp_path / "log")]) == 2
    assert "expected an event log with messages" in capsys.readouterr().err
