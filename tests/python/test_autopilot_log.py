"""The flight log of a vehicle that a flight controller flies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from propwash import identify, logs
from propwash.autopilot import QUAD_X, Loop, Px4, Recording, Sample, Simulation
from propwash.cli.main import main

pytest.importorskip("pymavlink", reason="pymavlink is not installed: pip install 'propwash[px4]'")
pytest.importorskip("pygeomag", reason="pygeomag is not installed: pip install 'propwash[px4]'")

from autopilot_peers import Px4Peer, Wire


def simulation_of(rate: float) -> Simulation:
    simulation = Simulation("flightgoggles", QUAD_X["px4"], seed=1, noise=False)
    simulation.period = 1.0 / rate
    return simulation


@pytest.fixture(scope="module")
def recording() -> Recording:
    """A flight that stands for 2 s, climbs, moves north and turns."""
    simulation = simulation_of(250.0)
    peer = Px4Peer()
    wire = Wire(peer, b"", peer.hello())
    loop = Loop(simulation, Px4(noise=False), wire, lockstep=True, rate=None, unanswered="step")
    pilot = Recording(simulation, lambda sample: sample.time < 11.5)
    loop.run(pilot)
    assert not peer.errors
    return pilot


def test_the_vehicle_that_flew_predicts_its_log(recording: Recording, tmp_path: Path) -> None:
    """The rotors of this vehicle spin as PX4 expects, which its file does not say."""
    record = recording.record(seed=1)
    assert record is not None
    assert (record.info["vehicle"], record.info["seed"]) == ("flightgoggles", 1)
    assert record.duty[:250].max() == 0.0
    np.testing.assert_allclose(np.diff(record.time), 0.004, atol=1e-9)
    log = logs.read_log(logs.write_record(tmp_path / "flight.csv", record))
    assert log.vehicle == recording.simulation.parameters
    flew = identify.predict(log.vehicle, log, None, [0.5])
    for quantity, bound in (("position", 5e-3), ("velocity", 0.02), ("attitude", 0.5)):
        assert np.percentile(flew.error(quantity, 0.5), 90) < bound
    other = identify.predict("flightgoggles", log, None, [0.5])
    assert other.error("attitude", 0.5).max() > 5.0 * flew.error("attitude", 0.5).max()


@pytest.mark.parametrize(("rate", "rows"), [(250.0, 250), (400.0, 200), (1000.0, 250)])
def test_rows_have_at_most_250_hz(rate: float, rows: int) -> None:
    simulation = simulation_of(rate)
    recording = Recording(simulation, lambda sample: True)
    for _ in range(round(2.0 * rate)):
        recording(simulation.sample)
        recording(simulation.sample)  # the loop waits
        simulation.step(np.full(4, 0.3))
    record = recording.record()
    assert record is not None
    np.testing.assert_allclose(np.diff(record.time), 1.0 / rows, atol=1e-9)
    assert np.all(record.duty[2:] == pytest.approx(np.sqrt(0.3)))


def test_a_new_start_begins_a_new_flight_and_the_longest_counts() -> None:
    simulation = simulation_of(250.0)
    recording = Recording(simulation, lambda sample: True)

    def fly(seconds: float) -> Sample:
        simulation.reset()
        for _ in range(round(250 * seconds)):
            recording(simulation.sample)
            simulation.step(np.full(4, 0.5))
        return simulation.sample

    assert recording.record() is None
    for seconds in (0.2, 1.0, 0.4):
        fly(seconds)
    record = recording.record()
    assert record is not None
    assert len(record) == 250
    assert record.position[-1, 2] > 1.0


@pytest.mark.parametrize("rate", [250.0, 400.0])
def test_a_vehicle_that_waits_keeps_ten_seconds(rate: float) -> None:
    simulation = simulation_of(rate)
    recording = Recording(simulation, lambda sample: True)
    for _ in range(round(15.0 * rate)):
        recording(simulation.sample)
        simulation.step(np.zeros(4))
    record = recording.record()
    assert record is not None
    assert record.time[-1] - record.time[0] == pytest.approx(10.0, abs=0.01)


def test_the_target_is_checked_before_the_flight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, message in (("flight.txt", "expected a flight log"), ("no/a.csv", "a folder that")):
        assert main(["autopilot", "px4", "--log", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
