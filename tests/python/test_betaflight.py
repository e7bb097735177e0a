"""Betaflight: packets, scripted flights with a strict peer, settings, start of the program."""

from __future__ import annotations

import itertools
import math
import os
import socket
import stat
import struct
import sys
import time
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from betaflight_peer import GRAVITY, StrictBetaflight
from numpy.typing import NDArray
from propwash.autopilot import QUAD_X, Loop, Sample, Simulation, UdpLink, _betaflight_program
from propwash.autopilot._betaflight import Betaflight, Transmitter
from propwash.autopilot._betaflight_program import Program, configuration
from propwash.autopilot._script import ScriptedFlight, StickPositions
from propwash.cli import _autopilot_betaflight
from propwash.cli.main import main

Array = NDArray[np.float64]


def product(a: Array, b: Array) -> Array:
    """The product of two quaternions."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.array([w, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def rotated(q: Array, v: Array) -> Array:
    """A vector of the body in the world."""
    return product(product(q, np.array([0.0, *v])), q * (1, -1, -1, -1))[1:]


def sample_with(attitude: Array, rates: Array, position: Array) -> Sample:
    """A sample at rest but for its rotation."""
    force = rotated(attitude * (1, -1, -1, -1), np.array([0.0, 0.0, GRAVITY]))
    zero = np.zeros(3)
    motors = np.zeros(4)
    return Sample(1.0, position, zero, attitude, rates, force, rates, motors, motors)


def as_firmware(packet: bytes, polarity: str) -> tuple[Array, Array, Array]:
    """Rates and force (forward, left, up) and attitude (to north, west, up) as published."""
    values = np.array(struct.unpack("<18d", packet))
    is_gazebo = polarity == "gazebo"
    gyro = values[1:4] * (1, -1, 1 if is_gazebo else -1)
    if is_gazebo:
        quarter = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
        attitude = product(quarter, values[7:11] * (1, 1, -1, -1))
    else:
        attitude = values[7:11]
    return gyro, -values[4:7], attitude


@pytest.mark.parametrize("polarity", ["gazebo", "legacy"])
def test_rates_force_and_attitude_of_a_packet_agree(polarity: str) -> None:
    rng = np.random.default_rng(1)
    codec = Betaflight(polarity)  # type: ignore[arg-type]
    for _ in range(50):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        rates = rng.normal(size=3)
        dt = 1e-5
        spun = q + 0.5 * dt * product(q, np.array([0.0, *rates]))
        spun /= np.linalg.norm(spun)
        packets = [codec.sensors(sample_with(a, rates, np.zeros(3))) for a in (q, spun)]
        gyro, force, attitude = as_firmware(packets[0], polarity)
        after = as_firmware(packets[1], polarity)[2]
        turn = 2.0 * product(attitude * (1, -1, -1, -1), after)[1:] / dt
        np.testing.assert_allclose(turn, gyro, atol=1e-4)
        np.testing.assert_allclose(rotated(attitude, force), [0.0, 0.0, GRAVITY], atol=1e-9)


@pytest.mark.parametrize("polarity", ["gazebo", "legacy"])
def test_the_world_is_east_north_up(polarity: str) -> None:
    codec = Betaflight(polarity, home=(60.0, 10.0))  # type: ignore[arg-type]
    level = np.array([1.0, 0.0, 0.0, 0.0])
    packets = [
        codec.sensors(sample_with(level, np.zeros(3), np.array(position)))
        for position in [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (0.0, 0.0, 100.0)]
    ]
    # a vehicle with the attitude of the world looks along x, east
    forward = rotated(as_firmware(packets[0], polarity)[2], np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(forward, [0.0, -1.0, 0.0], atol=1e-12)
    start, east, north, up = (np.array(struct.unpack("<18d", p))[14:18] for p in packets)
    mirror = -1.0 if polarity == "gazebo" else 1.0  # the default build mirrors the place
    degree = 6378137.0 * math.pi / 180.0
    assert mirror * (east - start)[0] == pytest.approx(100.0 / degree / 0.5, rel=1e-3)
    assert mirror * (north - start)[1] == pytest.approx(100.0 / degree, rel=1e-3)
    assert (up - start)[2] == 100.0
    # hydrostatic law: density 1.2 to 1.225 kg/m^3 near the ground
    assert (start - up)[3] / (GRAVITY * 100.0) == pytest.approx(1.22, abs=0.02)


def test_motor_packets() -> None:
    codec = Betaflight()
    good = codec.motors(struct.pack("<4f", 0.0, 0.25, 1.0, 1.01))
    assert good is not None
    np.testing.assert_allclose(good, [0.0, 0.25, 1.0, 1.0])
    for bad in (b"", bytes(15), bytes(17), struct.pack("<4f", 0, 0, 0, math.nan)):
        assert codec.motors(bad) is None
    assert codec.motors(struct.pack("<4f", -0.5, 0, 0, 0)) is None
    assert codec.refused.counts == {
        "motor packet of a wrong length": 3,
        "motor output that is not finite": 1,
        "motor output outside 0 to 1": 1,
    }


@pytest.mark.slow
def test_fuzzed_motor_packets_are_counted_or_valid() -> None:
    rng = np.random.default_rng(2)
    codec = Betaflight()
    valid = 0
    noise = rng.bytes(100_064)
    sizes = np.where(rng.random(100_000) < 0.7, 16, rng.integers(0, 64, 100_000)).tolist()
    for start, size in enumerate(sizes):
        outputs = codec.motors(noise[start : start + size])
        if outputs is not None:
            valid += 1
            assert outputs.shape == (4,)
            assert 0.0 <= outputs.min() <= outputs.max() <= 1.0
    assert valid + codec.refused.counts.total() == 100_000
    assert len(codec.refused.counts) == 3


def flown(
    peer: StrictBetaflight,
    polarity: str = "gazebo",
    *,
    own_spins: bool = False,
    script: str = "sticks",
    vehicle: str = "flightgoggles",
) -> ScriptedFlight:
    """A scripted flight in lock step with the peer, without waiting."""
    simulation = Simulation(
        vehicle, QUAD_X["betaflight"], own_spins=own_spins, dt=1e-3, substeps=2, seed=5
    )
    codec = Betaflight(polarity)  # type: ignore[arg-type]
    loop = Loop(
        simulation,
        codec,
        peer,
        lockstep=True,
        clock=lambda: peer.now,
        sleep=lambda seconds: setattr(peer, "now", peer.now + seconds),
    )
    channels: list[tuple[int, ...]] = [(1500, 1500, 1000, 1500)]
    flight = ScriptedFlight(
        simulation.parameters,
        lambda new: channels.__setitem__(0, new),
        lambda: loop.connected,
        script,  # type: ignore[arg-type]
        hold=4.0,
    )

    def pilot(sample: Sample) -> bool:
        going = flight(sample)
        if loop.statistics.steps % 5 == 0:
            peer.radio(codec.sticks(sample.time, channels[0]))
        return going

    loop.run(pilot)
    assert loop.statistics.steps == loop.statistics.answered
    assert not codec.refused.counts
    return flight


@pytest.mark.parametrize("polarity", ["gazebo", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_scripted_flight_passes(polarity: str) -> None:
    peer = StrictBetaflight(polarity)
    flight = flown(peer, polarity)
    assert flight.passed, flight.checks
    names = [check.name for check in flight.checks]
    sticks = ["roll stick", "pitch stick", "yaw stick"]
    assert names == ["answers", "armed", "took off", "held", *sticks, "landed"]
    assert peer.violations == []
    assert peer.disarmed_because == ""


@pytest.mark.slow
def test_own_spins_need_reversed_yaw_motors() -> None:
    flight = flown(StrictBetaflight(yaw_motors_reversed=True), own_spins=True)
    assert flight.passed, flight.checks
    peer = StrictBetaflight()
    flight = flown(peer, own_spins=True)
    assert not flight.passed
    assert peer.disarmed_because == "RUNAWAY"


def test_a_wrong_polarity_does_not_pass() -> None:
    peer = StrictBetaflight("legacy")
    flight = flown(peer, "gazebo")
    assert not flight.passed
    assert peer.disarmed_because == "RUNAWAY"


def test_a_flight_that_is_not_armed_says_so() -> None:
    peer = StrictBetaflight()
    peer.started = math.inf  # its grace time does not end
    flight = flown(peer, script="hold")
    assert (flight.phase, flight.passed) == ("arm", False)
    assert flight.checks[-1].measured == "motors off after 3 attempts"


def test_a_program_that_falls_silent_is_not_armed() -> None:
    simulation = Simulation("flightgoggles", QUAD_X["betaflight"])
    flight = ScriptedFlight(
        simulation.parameters,
        lambda channels: None,
        lambda: simulation.sample.time < 0.01,
        warm_up=0.1,
    )
    while flight(simulation.sample):
        simulation.step(np.zeros(4))
    (check,) = flight.checks
    assert (check.name, check.passed) == ("answers", False)
    assert check.measured == "0.0 s, then silent"
    assert simulation.sample.time == pytest.approx(0.1, abs=0.01)


def test_invalid_sticks_are_refused_where_they_are_set() -> None:
    transmitter = Transmitter()
    for channels in ([70000], [-1], [1500] * 17):
        with pytest.raises(ValueError, match="expected up to 16 widths"):
            transmitter.set(channels)
    transmitter.close()


def test_sticks_are_pulse_widths() -> None:
    assert StickPositions().channels() == (1500, 1500, 1000, 1500, 1000, 2000)
    sticks = StickPositions(roll=1.0, pitch=-0.5, throttle=0.5, yaw=-2.0, arm=True, angle=False)
    assert sticks.channels() == (2000, 1250, 1500, 1000, 2000, 1000)


def test_the_transmitter_is_steady_while_the_program_is_busy() -> None:
    with UdpLink(0) as receiver:
        transmitter = Transmitter(port=receiver.port)
        arrivals: list[float] = []
        last, begin = b"", time.monotonic()
        transmitter.start()
        while len(arrivals) < 80 and time.monotonic() < begin + 30.0:
            sum(range(20_000))  # a busy simulation, whose pilot sets the sticks in each period
            transmitter.set((1100, 1200, 1300, 1400, 2000))
            while (packet := receiver.receive(0.0)) is not None:
                arrivals.append(time.monotonic())
                last = packet
        duration = time.monotonic() - begin
        transmitter.close()
    assert struct.unpack("<d16H", last)[1:7] == (1100, 1200, 1300, 1400, 2000, 1000)
    assert 80 <= len(arrivals) <= 100.0 * duration + 5
    gaps = [b - a for a, b in itertools.pairwise(arrivals)]
    assert np.median(gaps) < 0.05  # Betaflight's limit is 0.15


@pytest.mark.parametrize(("option", "setting"), [([], "OFF"), (["--own-spins"], "ON")])
def test_the_settings_follow_the_spins(
    option: list[str], setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["autopilot", "betaflight", "--config", *option]) == 0
    text = capsys.readouterr().out
    assert f"set yaw_motors_reversed = {setting}\n" in text
    assert "set motor_pwm_protocol = PWM\n" in text


def test_a_synchronous_build_runs_one_control_step_for_each_packet() -> None:
    vehicle = pw.vehicles.load("blackbird")
    assert "set pid_process_denom = 1\n" in configuration(vehicle)
    assert "set pid_process_denom = 2\n" in configuration(vehicle, sync=500)


_FAKE = """#!{python}
import pathlib, socket, sys, time
if "--config" in sys.argv:
    text = pathlib.Path(sys.argv[-1]).read_text()
    if "no_such_setting" in text:
        print("###ERROR IN set: INVALID NAME: no_such_setting###")
    pathlib.Path("eeprom.bin").write_bytes(b"settings")
    sys.exit(0)
starts = pathlib.Path("starts")
count = int(starts.read_text()) + 1 if starts.exists() else 1
starts.write_text(str(count))
if count >= {alive_from}:
    port = int(pathlib.Path("port").read_text())
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(16), ("127.0.0.1", port))
elif {ends}:
    sys.exit(3)
time.sleep(60)
"""


_SHORT = """#!{python}
import pathlib, socket, sys, time
port = int(pathlib.Path("port").read_text())
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(16), ("127.0.0.1", port))
while not pathlib.Path("end").exists():
    time.sleep(0.01)
sys.exit(4)
"""


def fake_program(folder: Path, alive_from: int, ends: bool = False) -> Path:
    """A program whose main loop runs from a certain start on."""
    path = folder / "fake.elf"
    path.write_text(_FAKE.format(python=sys.executable, alive_from=alive_from, ends=ends))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a script with #! needs a POSIX system")
def test_a_program_whose_main_loop_does_not_run_is_started_again(tmp_path: Path) -> None:
    reports: list[str] = []
    program = Program(fake_program(tmp_path, 2), tmp_path, "set motor_idle = 550\n")
    assert (tmp_path / "eeprom.bin").exists()
    with UdpLink(0) as link:
        (tmp_path / "port").write_text(str(link.port))
        program.start(link, report=reports.append)
        program.close()
    assert program.starts == 2
    assert reports == ["Betaflight's main loop did not start, attempt 1; starting it again"]


@pytest.mark.skipif(os.name != "posix", reason="a script with #! needs a POSIX system")
def test_a_program_that_ends_and_settings_that_it_rejects(tmp_path: Path) -> None:
    path = fake_program(tmp_path, 9, ends=True)
    with UdpLink(0) as link, pytest.raises(OSError, match="it ended with code 3"):
        Program(path, tmp_path).start(link)
    with pytest.raises(ValueError, match=r"settings that fake\.elf accepts, got ###ERROR"):
        Program(path, tmp_path, "set no_such_setting = 1\n")
    with pytest.raises(FileNotFoundError, match=r"expected Betaflight's program"):
        Program(tmp_path / "none.elf", tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="a script with #! needs a POSIX system")
def test_a_program_that_does_not_know_config_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_betaflight_program, "_CONFIGURATION_TIME", 0.2)
    path = tmp_path / "old.elf"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(PermissionError, match=r"old\.elf: .* cannot be executed"):
        Program(path, tmp_path / "new")
    path.chmod(0o755)
    with pytest.raises(ValueError, match=r"does not end within .*--keep-settings"):
        Program(path, tmp_path / "new", "set motor_idle = 550\n")
    path.write_text("#!/bin/sh\n")
    monkeypatch.setattr(_betaflight_program, "_CONFIGURATION_TIME", 60.0)
    with pytest.raises(ValueError, match=r"got no eeprom\.bin, code 0; .*--keep-settings"):
        Program(path, tmp_path / "new", "set motor_idle = 550\n")


@pytest.mark.skipif(os.name != "posix", reason="a script with #! needs a POSIX system")
def test_a_program_that_ends_later_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "short.elf"
    path.write_text(_SHORT.format(python=sys.executable))
    path.chmod(0o755)
    with UdpLink(0) as link:
        (tmp_path / "port").write_text(str(link.port))
        program = Program(path, tmp_path)
        program.check()
        program.start(link)
        program.check()
        (tmp_path / "end").touch()
        assert program._process is not None
        program._process.wait(30.0)
        with pytest.raises(OSError, match=r"it ended with code 4; read .*betaflight\.log"):
            program.check()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--program", "/none.elf"], "--program /none.elf: expected"),
        (["--speed", "1e-300"], "--speed: expected from 0.001 to 1000"),
        (["--rate", "300", "--sync", "--config"], "--rate: expected a divisor of 1000"),
        (["--keep-settings"], "--keep-settings: expected with --program"),
        (["--sync"], "--sync: expected with --program"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1: expected an address"),  # RFC 5737
    ],
)
def test_invalid_options_leave_nothing_behind(
    options: list[str],
    match: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["autopilot", "betaflight", *options]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"propwash: {match}")
    assert not list(tmp_path.iterdir())


def test_no_step_is_longer_than_a_millisecond() -> None:
    for rate in ("250", "333", "700", "1000"):
        options = _autopilot_betaflight.BetaflightOptions(rate=int(rate))
        simulation = _autopilot_betaflight._simulation(options)
        assert simulation.period == pytest.approx(1.0 / int(rate))
        assert simulation.dt <= 1e-3 + 1e-12


def test_missing_answer_costs_one_period_of_the_wall_clock() -> None:
    """Betaflight's clock runs on while the simulated vehicle waits for a lost packet."""
    options = _autopilot_betaflight.BetaflightOptions()
    simulation, peer = _autopilot_betaflight._simulation(options), StrictBetaflight()
    wall = {
        "clock": lambda: peer.now,
        "sleep": lambda seconds: setattr(peer, "now", peer.now + seconds),
    }
    loop = _autopilot_betaflight._loop(simulation, Betaflight(), peer, None, options, **wall)
    for number in range(1000):
        peer.drop_next = number % 10 == 3
        loop.tick()
    counts = loop.statistics
    assert (counts.steps, counts.answered, counts.repeated) == (1000, 1000, 100)
    assert peer.now - simulation.sample.time < 101 * simulation.period


def test_a_missing_program_is_an_error_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        try:
            taken.bind(("127.0.0.1", 9002))
        except OSError:
            pytest.skip("UDP port 9002 is in use")
        assert main(["autopilot", "betaflight"]) == 2
    assert "UDP 127.0.0.1:9002: expected a free port" in capsys.readouterr().err
