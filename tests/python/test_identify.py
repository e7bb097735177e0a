"""Vehicles identified from flights: one that the library makes, and real ones."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, simulated_flight, true_vehicle
from propwash import _identify_command, flights, identify
from propwash.identify._parameters import FORCES, catalogue

SIGMAS = 4.0
"""A normal estimate of 17 parameters is further out in one of a thousand flights."""


def _real(pattern: str) -> list[Path]:
    folders = [folder for folder in flights.flight_folders() if folder.is_dir()]
    files = sorted(file for folder in folders[:1] for file in folder.glob(pattern))
    if not files:
        pytest.skip("real flights: neither $PROPWASH_FLIGHTS nor ../shared/flights has any")
    return files


@pytest.fixture(scope="module")
def simulated() -> identify.FlightLog:
    return simulated_flight(8.0)


@pytest.fixture(scope="module")
def found(simulated: identify.FlightLog) -> identify.Identified:
    return identify.vehicle(simulated, "crazyflie", noise=NOISE, threads=1)


def test_the_parameters_of_a_simulated_flight_come_back(found: identify.Identified) -> None:
    truth = true_vehicle()
    known = catalogue(pw.load_vehicle("crazyflie"))
    assert {e.name for e in found.estimates} == set(known)
    for estimate in found.estimates:
        expected = known[estimate.name].read(truth)
        assert abs(estimate.value - expected) < SIGMAS * estimate.standard_error, estimate
        assert estimate.told, estimate
        if abs(estimate.guess - expected) > 1e-3 * abs(expected):
            # the flight says more than the guess did
            assert abs(estimate.value - expected) < 0.3 * abs(estimate.guess - expected), estimate


def test_its_residuals_are_white_and_as_large_as_the_noise(found: identify.Identified) -> None:
    assert {w.kind for w in found.whiteness} == {"forces", "rates"}
    for white in found.whiteness:
        assert white.rms == pytest.approx(1.0, abs=0.1)
        assert abs(white.autocorrelation) < SIGMAS / 1.96 * white.bound


def test_a_wrong_model_leaves_residuals_that_are_not_white(simulated: identify.FlightLog) -> None:
    short = simulated.cut(stop=5.0)
    few = identify.vehicle(
        short, "crazyflie", noise=NOISE, parameters=["thrust", "delay"], threads=1
    )
    for white in few.whiteness:
        assert not white.is_white
        assert white.autocorrelation > 10.0 * white.bound


def test_the_vehicle_file_reads_back_and_says_how_sure_it_is(
    found: identify.Identified, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    found.save(file)
    assert pw.load_vehicle(file) == found.vehicle
    assert "+-" in pw.parameters.sources(file)["identified thrust"]
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]
    table = found.table()
    assert all(e.name in table for e in found.estimates)


def test_what_a_log_does_not_tell_stays_as_guessed(simulated: identify.FlightLog) -> None:
    """With the attitude alone by another clock, nothing is said of torques."""
    by_radio = replace(simulated, synchronous=False)
    few = identify.vehicle(by_radio, "crazyflie", noise=NOISE, threads=1)
    assert {e.name for e in few.estimates} == set(FORCES)
    guess = pw.load_vehicle("crazyflie")
    assert few.vehicle.body == guess.body
    assert few.vehicle.motor == guess.motor


def test_one_real_flight_predicts_another() -> None:
    logs = [identify.read_log(path) for path in _real("nanobench_B2_*.csv") + _real("*_B8_*.csv")]
    scores = identify.leave_one_out([log.cut(4.0, 18.0) for log in logs], "crazyflie", threads=1)
    at = {(s.quantity.partition(",")[0], s.horizon): s.median for s in scores}
    assert at["position", 0.5] < 0.030
    assert at["position", 1.0] < 0.10
    assert at["velocity", 1.0] < 0.19
    assert at["vertical specific force", 0.5] < 0.36


def test_the_rest_of_a_real_flight_is_predicted_from_its_beginning() -> None:
    """A log without voltage or pose: battery and velocity are estimated from it."""
    log = identify.read_log(_real("onboard_log15a.csv")[0]).cut(10.5, 25.5)
    scores = identify.hold_out([log], "crazyflie", threads=1)
    at = {(s.quantity, s.horizon): s.median for s in scores}
    assert at["body rates", 0.05] < 0.60
    assert at["body rates", 0.1] < 1.05
    assert at["vertical specific force", 0.1] < 0.36


def test_the_noise_of_a_real_imu_is_told() -> None:
    noise = identify.imu(identify.read_log(_real("onboard_log16a.csv")[0])).parameters()
    assert noise["gyroscope_noise_density"] == pytest.approx(1.5e-4, rel=0.2)
    assert noise["accelerometer_noise_density"] == pytest.approx(1.3e-3, rel=0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duty": np.zeros((2000, 0))}, r"the log has no duty, .* map its columns"),
        ({"duty": np.full((2000, 6), 0.7)}, r"the log has 6 motors, .* has 4 rotors"),
        ({"duty": np.full((2000, 4), 0.0)}, r"at least 2 s in the air .* a longer flight would do"),
        ({"position": None, "synchronous": False}, r"expected position, velocity and attitude, or"),
    ],
)
def test_logs_that_cannot_be_used_say_why(
    simulated: identify.FlightLog, change: dict[str, object], message: str
) -> None:
    log = replace(simulated, **change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        identify.vehicle(log, "crazyflie")


def test_arguments_that_cannot_be_are_refused(simulated: identify.FlightLog) -> None:
    with pytest.raises(ValueError, match="at least one"):
        identify.vehicle([])
    with pytest.raises(TypeError, match=r"what identify\.read_log gives"):
        identify.vehicle(["flight.csv"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'thurst' is none of thrust"):
        identify.vehicle(simulated, parameters=["thurst"])
    with pytest.raises(ValueError, match="share"):
        identify.vehicle(simulated, share=0.0)
    with pytest.raises(ValueError, match="at least two"):
        identify.leave_one_out([simulated])


def test_the_figures_are_drawn(found: identify.Identified) -> None:
    pytest.importorskip("matplotlib")
    errors = (np.linspace(0.0, 1.0, 20),)
    score = identify.Score("body rates", "rad/s", 0.1, errors)
    assert len(identify.errors_figure([score], ["one"]).axes) == 1
    assert "body rates" in identify.score_table([score])
    assert score.median == pytest.approx(0.5)


def _run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _identify_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["identify", *arguments])
    options.run(options)


def test_the_command_identifies_a_piece_of_a_log(
    simulated: identify.FlightLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _write_log(tmp_path, simulated)
    out = tmp_path / "mine.toml"
    mapping = ["--columns", str(tmp_path / "columns.toml")]
    _run([f"{log}@:6", "--out", str(out), *mapping, "--parameters", "thrust", "--threads", "1"])
    text = capsys.readouterr().out
    assert "thrust" in text
    assert "std. error" in text
    truth = catalogue(true_vehicle())["thrust"].read(true_vehicle())
    read = pw.load_vehicle(out).rotors[0].thrust_coefficient
    assert read == pytest.approx(truth, rel=0.1)


def test_a_log_that_cannot_be_used_leaves_no_file(
    simulated: identify.FlightLog, tmp_path: Path
) -> None:
    log = _write_log(tmp_path, simulated.cut(stop=1.5))
    out = tmp_path / "mine.toml"
    out.write_text("kept")
    mapping = ["--columns", str(tmp_path / "columns.toml")]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="at least 2 s in the air"):
        _run([str(log), "--out", str(out), *mapping])
    with pytest.raises(ValueError, match=r"\.toml"):
        _run([str(log), "--out", str(tmp_path / "mine.png"), *mapping])
    assert sorted(tmp_path.iterdir()) == before
    assert out.read_text() == "kept"


def _write_log(folder: Path, log: identify.FlightLog) -> Path:
    names = {
        "body_rates": ["p", "q", "r"],
        "specific_force": ["ax", "ay", "az"],
        "motors": ["m1", "m2", "m3", "m4"],
    }
    lines = ['time = "t"', *(f"{key} = {list(value)}" for key, value in names.items())]
    (folder / "columns.toml").write_text("\n".join(lines).replace("'", '"'))
    table = np.column_stack([log.time, log.body_rates, log.specific_force, log.duty])
    header = ",".join(["t", *(name for value in names.values() for name in value)])
    path = folder / "log.csv"
    np.savetxt(path, table, "%.9g", ",", header=header, comments="")
    return path
