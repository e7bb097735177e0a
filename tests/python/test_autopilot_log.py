"""The flight logs of a vehicle that a flight controller flies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from propwash import identify, logs
from propwash.autopilot import QUAD_X, Loop, Px4, RecordingPilot, Simulation
from propwash.cli.main import main

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_peers import Px4Peer, Wire


def simulation_of(rate: float) -> Simulation:
    simulation = Simulation("flightgoggles", QUAD_X["px4"], seed=1, noise=False)
    simulation.period = 1.0 / rate
    return simulation


Flown = tuple[RecordingPilot, Path]


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Flown:
    """A flight that stands for 2 s, climbs, moves north and turns, and its log."""
    simulation = simulation_of(250.0)
    peer = Px4Peer()
    wire = Wire(peer, b"", peer.hello())
    loop = Loop(simulation, Px4(noise=False), wire, lockstep=True, rate=None, unanswered="step")
    file = tmp_path_factory.mktemp("flight") / "flight.csv"
    with RecordingPilot(simulation, lambda sample: sample.time < 11.5, file, seed=1) as pilot:
        loop.run(pilot)
    assert not peer.errors
    assert pilot.files == [file]
    return pilot, file


@pytest.mark.slow
def test_the_vehicle_that_flew_predicts_its_log(flown: Flown) -> None:
    """The rotors of this vehicle spin as PX4 expects, which its file does not say."""
    recording, file = flown
    record = logs.read_record(file)
    assert (record.info["vehicle"], record.info["seed"]) == ("flightgoggles", 1)
    assert record.duty[:250].max() == 0.0
    np.testing.assert_allclose(np.diff(record.time), 0.004, atol=1e-9)
    log = logs.read_log(file)
    assert log.vehicle == recording.simulation.parameters
    flew = identify.predict(log.vehicle, log, None, [0.5])
    for quantity, bound in (("position", 5e-3), ("velocity", 0.02), ("attitude", 0.5)):
        assert np.percentile(flew.error(quantity, 0.5), 90) < bound
    other = identify.predict("flightgoggles", log, None, [0.5])
    assert other.error("attitude", 0.5).max() > 5.0 * flew.error("attitude", 0.5).max()


@pytest.mark.parametrize(("rate", "rows"), [(250.0, 250), (400.0, 200), (1000.0, 250)])
def test_rows_have_at_most_250_hz(rate: float, rows: int, tmp_path: Path) -> None:
    simulation = simulation_of(rate)
    with RecordingPilot(simulation, lambda sample: True, tmp_path / "flight.csv") as recording:
        for _ in range(round(2.0 * rate)):
            recording(simulation.sample)
            recording(simulation.sample)  # the loop waits
            simulation.step(np.full(4, 0.3))
    record = logs.read_record(tmp_path / "flight.csv")
    np.testing.assert_allclose(np.diff(record.time), 1.0 / rows, atol=1e-9)
    assert np.all(record.duty[2:] == pytest.approx(np.sqrt(0.3)))


def climb(recording: RecordingPilot, seconds: float, output: float = 0.5) -> None:
    """Flies upwards from the start; lets the last sample unseen."""
    simulation = recording.simulation
    simulation.reset()
    for _ in range(round(seconds / simulation.period)):
        recording(simulation.sample)
        simulation.step(np.full(4, output))


@pytest.mark.parametrize("suffix", [".csv", ".mcap"])
def test_all_flights_are_kept_and_numbered(suffix: str, tmp_path: Path) -> None:
    if suffix == ".mcap":
        pytest.importorskip("mcap")
    file = tmp_path / f"flight{suffix}"
    with RecordingPilot(simulation_of(250.0), lambda sample: True, file) as recording:
        for seconds, output in ((0.4, 0.5), (0.3, 0.0), (1.0, 0.5), (0.6, 0.5)):
            climb(recording, seconds, output)  # the second one does not take off
    assert recording.files == [file, tmp_path / f"flight-2{suffix}", tmp_path / f"flight-3{suffix}"]
    assert sorted(tmp_path.iterdir()) == sorted(recording.files)
    for name, rows in zip(recording.files, (100, 250, 150), strict=True):
        assert len(logs.read_record(name)) == rows


def test_log_is_written_as_the_flight_goes(tmp_path: Path) -> None:
    """At each time the file has all rows but those of the last fifth of a second, bit for bit."""
    simulation = Simulation("crazyflie", QUAD_X["px4"], seed=1)  # its motors have a delay
    simulation.period = 0.004
    with RecordingPilot(simulation, lambda sample: True, tmp_path / "flight.csv") as recording:
        climb(recording, 3.0, 0.6)
        part = logs.read_record(tmp_path / "flight.csv")
    whole = logs.read_record(tmp_path / "flight.csv")
    assert whole.time[-1] - part.time[-1] < 0.25
    assert len(whole) == 750
    np.testing.assert_array_equal(part.duty, whole.duty[: len(part)])
    np.testing.assert_array_equal(part.position, whole.position[: len(part)])


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_killed_process_leaves_a_log(tmp_path: Path) -> None:
    file = tmp_path / "flight.csv"
    program = (
        "import os, signal, sys, numpy, pathlib\n"
        "from propwash.autopilot import QUAD_X, RecordingPilot, Simulation\n"
        "simulation = Simulation('flightgoggles', QUAD_X['px4'])\n"
        "simulation.period = 0.004\n"
        "recording = RecordingPilot(simulation, lambda s: True, pathlib.Path(sys.argv[1]))\n"
        "while simulation.sample.time < 2.0:\n"
        "    recording(simulation.step(numpy.full(4, 0.5)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert logs.read_record(file).time[-1] > 1.7


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Files of this process cannot grow beyond 60 kB."""
    resource = pytest.importorskip("resource", reason="Windows has no limit of the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_disk")
@pytest.mark.parametrize("suffix", [".csv", ".mcap"])
def test_a_full_disk_ends_the_log_but_not_the_flight(suffix: str, tmp_path: Path) -> None:
    if suffix == ".mcap":
        pytest.importorskip("mcap")
    file, part = tmp_path / f"flight{suffix}", tmp_path / "flight.csv"
    if suffix == ".mcap":
        part = tmp_path / "flight.part.csv"
    reported: list[str] = []
    recording = RecordingPilot(simulation_of(250.0), lambda sample: True, file, reported.append)

    def fly() -> None:
        with recording:
            climb(recording, 3.0)
            assert recording.simulation.sample.time == pytest.approx(3.0)
            climb(recording, 0.2)  # the next flight has a log

    with pytest.raises(OSError, match=re.escape(str(part))):
        fly()
    assert len(reported) == 1
    assert str(part) in reported[0]
    assert recording.files == [part, tmp_path / f"flight-2{suffix}"]
    assert 0.3 < logs.read_record(part).time[-1] < 2.0  # whole rows
    assert len(logs.read_record(recording.files[1])) == 50


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_within_a_write_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, calls = logs.RecordStream.add, iter(range(9))

    def interrupted(*arguments: Any) -> None:
        if next(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        add(*arguments)

    monkeypatch.setattr(logs.RecordStream, "add", interrupted)
    file = tmp_path / "flight.csv"
    recording = RecordingPilot(simulation_of(250.0), lambda sample: True, file)

    def fly() -> None:
        with recording:
            climb(recording, 1.0)

    with pytest.raises(KeyboardInterrupt):
        fly()
    time, seen = logs.read_record(file).time, recording.simulation.sample.time
    assert 0.2 < seen < 0.6
    assert time == pytest.approx(np.arange(len(time)) * 0.004)
    assert time[-1] == pytest.approx(seen)


@pytest.mark.parametrize("rate", [250.0, 400.0])
def test_a_vehicle_that_waits_keeps_ten_seconds(rate: float, tmp_path: Path) -> None:
    with RecordingPilot(
        simulation_of(rate), lambda sample: True, tmp_path / "flight.csv"
    ) as recording:
        climb(recording, 15.0, 0.0)
    record = logs.read_record(tmp_path / "flight.csv")
    assert record.time[-1] - record.time[0] == pytest.approx(10.0, abs=0.01)


def test_outputs_of_a_log_follow_from_duty_cycles(tmp_path: Path) -> None:
    """The output of hover is weight / maximum thrust; the duty cycle has the motor's offset."""
    simulation = Simulation("crazyflie", QUAD_X["px4"], noise=False)
    vehicle = simulation.parameters
    hover = vehicle.weight / vehicle.max_thrust
    assert hover == pytest.approx(0.44, abs=0.005)
    with RecordingPilot(simulation, lambda sample: True, tmp_path / "hover.csv") as recording:
        speeds = np.sqrt(hover) * np.array(vehicle.motor_values("speed_max"))
        simulation.uav.reset(position=(0.0, 0.0, 10.0), rotor_speeds=speeds)
        for _ in range(1000):
            recording(simulation.step(np.full(4, hover)))
    assert abs(simulation.sample.velocity[2]) < 0.01
    duty = logs.read_record(tmp_path / "hover.csv").duty[-1]
    assert duty == pytest.approx(0.616, abs=0.001)
    offset = vehicle.motor.speed_offset
    assert (offset + (1.0 - offset) * duty) ** 2 == pytest.approx(hover, rel=1e-6)


def test_the_target_is_checked_before_the_flight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, message in (("flight.txt", "expected a flight log"), ("no/a.csv", "a folder that")):
        assert main(["autopilot", "px4", "--log", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
