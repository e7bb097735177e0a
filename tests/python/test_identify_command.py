"""The command `python -m propwash identify`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, simulated_flight, true_vehicle
from propwash import identify
from propwash.cli import identify as _identify_command
from propwash.identify._parameters import catalogue

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def simulated() -> identify.FlightLog:
    return simulated_flight(8.0)


@pytest.fixture(scope="module")
def found(simulated: identify.FlightLog) -> identify.Identified:
    return identify.fit_vehicle(simulated, "crazyflie", noise=NOISE, threads=1)


def _run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _identify_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["identify", *arguments])
    options.run(options)


def test_the_command_identifies_a_segment_of_a_log(
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
    read = pw.vehicles.load(out).rotors[0].thrust_coefficient
    assert read == pytest.approx(truth, rel=0.1)


def test_the_command_writes_a_file_for_each_vehicle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _write_log(tmp_path, simulated_flight(10.0))
    mapping = ["--columns", str(tmp_path / "columns.toml"), "--out", str(tmp_path / "mine.toml")]
    names = ["--parameters", "thrust, speed_offset", "--threads", "1"]
    _run([f"{log}@:5", f"{log}@5:", *mapping, *names, "--groups", "a, b"])
    offsets = [
        pw.vehicles.load(tmp_path / f"mine{name}.toml").motor.speed_offset
        for name in ("", "_a", "_b")
    ]
    assert len(set(offsets)) == 3
    assert "\na: speed_offset" in capsys.readouterr().out
    with pytest.raises(
        ValueError, match=r"--groups: expected names of letters, digits, _ and -, got '\.\./x'"
    ):
        _run([f"{log}@:5", f"{log}@5:", *mapping, *names, "--groups", "a,../x"])


def test_an_unusable_log_leaves_no_output_file(
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such.csv@1:2"], r"no flight log 'no_such\.csv'"),
        (["LOG@5"], r"expected LOG@FROM:TO, seconds from the first row of the log, got '5'"),
        (["LOG@.:3"], r"expected LOG@FROM:TO"),
        (["LOG@-1:3"], r"expected LOG@FROM:TO"),
        (["LOG@5:3"], r"LOG@FROM:TO with FROM below TO, got 5 and 3 s"),
        (["LOG@5:5"], r"LOG@FROM:TO with FROM below TO, got 5 and 5 s"),
        (["LOG@90:"], r"expected rows between 90 and inf s"),
        (["LOG", "--parameters", "thrust, thurst"], r"'thurst' is none of thrust"),
        (["LOG", "--out", "FOLDER/none/mine.toml"], r"expected a file in a folder that exists"),
        (["LOG", "--out", "FOLDER"], r"expected a file in a folder that exists"),
        (["LOG", "--imu", "--validate"], r"--imu: expected no --validate"),
        (["LOG", "--imu", "--parameters", "thrust"], r"--imu: expected no --para"),
        (["LOG", "--imu", "--vehicle", "hexacopter"], r"--imu: expected no --vehi"),
        (["LOG", "LOG", "--imu"], r"--imu: expected one log, got 2"),
        (["LOG", "--imu", "--out", "FOLDER/mine.toml"], r"expected the name of a plot, \.png"),
        (["LOG", "--columns", "FOLDER/none.toml"], r"none\.toml"),
    ],
)
def test_the_command_checks_arguments_before_the_fit(
    log_file: Path, arguments: list[str], message: str
) -> None:
    folder = log_file.parent
    before = sorted(folder.iterdir())
    known = [] if "--columns" in arguments else ["--columns", str(folder / "columns.toml")]
    named = [a.replace("LOG", str(log_file)).replace("FOLDER", str(folder)) for a in arguments]
    with pytest.raises((ValueError, OSError), match=message):
        _run([*named, *known])
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(("logs", "fits"), [(["one.csv"], 2), (["one.csv", "two.csv"], 5)])
def test_validation_uses_the_selected_parameters(
    simulated: identify.FlightLog,
    found: identify.Identified,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    logs: list[str],
    fits: int,
) -> None:
    fitted: list[list[str]] = []

    def fit(*_: Any, parameters: list[str], **__: Any) -> identify.Identified:
        fitted.append(parameters)
        return found

    def read(path: str, *_: Any, **__: Any) -> identify.FlightLog:
        rates = simulated.body_rates + 1e-9 * (path == "two.csv")
        return replace(simulated, body_rates=rates)

    monkeypatch.setattr("propwash.logs.read_log", read)
    monkeypatch.setattr(identify, "fit_vehicle", fit)
    monkeypatch.setattr(identify._fit, "fit_vehicle", fit)
    monkeypatch.setattr(_identify_command, "saved", lambda make, file: str(file))
    out = ["--out", str(tmp_path / "mine.toml")]
    _run([*logs, "--validate", "--parameters", "thrust,delay", "--threads", "1", *out])
    assert len(fitted) == fits
    papers = [names for names in fitted if "torque" in names]
    assert len(papers) == (2 if len(logs) > 1 else 0)
    assert [names for names in fitted if names not in papers] == [["thrust", "delay"]] * (
        fits - len(papers)
    )


@pytest.fixture(scope="module")
def log_file(simulated: identify.FlightLog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_log(tmp_path_factory.mktemp("logs"), simulated)


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
