"""`python -m propwash tune`: output, files, and refused options."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import tune
from propwash.cli import tune as _tune_command


def command(*arguments: str) -> argparse.Namespace:
    """The options of `python -m propwash tune`."""
    parser = argparse.ArgumentParser()
    _tune_command.add_parser(parser.add_subparsers())
    return parser.parse_args(["tune", *arguments])


def test_the_command_prints_margins_and_writes_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "plots"
    options = command(
        "flightgoggles", "--bandwidth", "12", "--phase-margin", "50", "--sweep", "40",
        "--threads", "1", "--out", str(out),
    )  # fmt: skip
    options.run(options)
    text = capsys.readouterr().out
    for word in ("K_P", "phase margin", "rise time", "Pareto", "wrote"):
        assert word in text
    written = {path.name for path in out.iterdir()}
    figures = {"bode_x.png", "bode_y.png", "bode_z.png", "nyquist.png", "filter.png", "step.png"}
    assert written == figures | {"pareto.png", "flightgoggles.toml", "swept.toml"}
    assert all(path.stat().st_size > 1000 for path in out.iterdir())
    margins = tune.RateLoop(out / "flightgoggles.toml").margins(0)
    assert margins.phase >= 50.0
    found = pw.vehicles.load(out / "flightgoggles.toml").rate_controller
    best = pw.vehicles.load(out / "swept.toml").rate_controller
    ratio = np.divide(best.proportional, found.proportional)
    assert np.all((ratio >= 0.25) & (ratio <= 4.0))


def test_the_command_refuses_an_unreachable_bandwidth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = command("blackbird", "--present", "--no-plots", "--out", str(tmp_path / "no"))
    options.run(options)
    assert "present gains" in capsys.readouterr().out
    assert not (tmp_path / "no").exists()
    options = command("flightgoggles", "--bandwidth", "80", "--out", str(tmp_path / "no"))
    with pytest.raises(tune.TuneError, match="cannot be reached"):
        options.run(options)
    assert not (tmp_path / "no").exists()
    options = command("--rate", "0")
    with pytest.raises(ValueError, match="--rate"):
        options.run(options)


@pytest.mark.slow
def test_a_step_that_never_settles_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Air forces of the Crazyflie in its own motion end the step below the command."""
    options = command("crazyflie", "--no-plots")
    options.run(options)
    last = [line.split() for line in capsys.readouterr().out.splitlines()[-3:]]
    for axis, row in zip("xyz", last, strict=True):
        response = tune.step_response(tune.autotune("crazyflie").vehicle, "xyz".index(axis))
        assert np.isnan(response.figures.settling_time)
        assert row[0] == axis
        assert row[-6:-2] == ["not", "in", "1000", "ms"]
        assert float(row[-2]) == pytest.approx(100.0 * response.figures.final, abs=0.06)


@pytest.mark.slow
def test_the_command_writes_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    odd = tmp_path / "odd.toml"
    odd.write_text(pw.vehicles.load("flightgoggles").replace(name="../odd one").to_toml())
    options = command(str(odd), "--out", str(tmp_path / "new" / "plots"))
    for figure in ("bode_figure", "nyquist_figure", "filter_figure", "step_figure"):
        monkeypatch.setattr(tune, figure, lambda *_: None)
    saved: list[Path] = []

    def interrupted(figure: Any, path: Path) -> None:
        saved.append(path)
        if len(saved) == 3:
            raise KeyboardInterrupt
        path.write_text("a figure")

    monkeypatch.setattr(tune, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        options.run(options)
    assert {path.name for path in tmp_path.iterdir()} == {"odd.toml"}
    monkeypatch.setattr(tune, "save", lambda figure, path: path.write_text("a figure"))
    options.run(options)
    # the name of a vehicle cannot lead out of the folder
    assert {path.name for path in tmp_path.iterdir()} == {"odd.toml", "new"}
    assert len(list((tmp_path / "new" / "plots").glob("*.toml"))) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "{file}"], "expected a folder"),
        (["--out", "{file}/plots"], "expected a folder"),
        (["--threads", "2"], "--threads: expected with --sweep"),
        (["--present", "--bandwidth", "3"], "--bandwidth: expected without --present"),
        (["--present", "--gain-margin", "3"], "--gain-margin: expected without --present"),
    ],
)
def test_invalid_options_are_refused_before_any_output(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "file"
    file.write_text("mine")
    options = command("flightgoggles", *(word.format(file=file) for word in arguments))
    with pytest.raises(ValueError, match=message):
        options.run(options)
    assert capsys.readouterr().out == ""
    assert file.read_text() == "mine"


@pytest.mark.slow
def test_shipped_multicopters_can_be_tuned_without_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also a Crazyflie, whose motors are too slow for the bandwidth of the others."""
    for name in ("crazyflie", "flightgoggles"):
        options = command(name, "--no-plots")
        options.run(options)
        lines = capsys.readouterr().out.splitlines()
        assert re.match(rf"{name}: bandwidth [\d.]+ Hz, phase margin at least 50 deg", lines[0])
        assert "  delay margin  " in lines[1]
        phases = [float(line.split()[6]) for line in lines[2:5]]
        assert min(phases) >= 50.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bandwidth", "80"], r"lower --bandwidth\. Omit --bandwidth"),
        (["--bandwidth", "0"], r"--bandwidth: expected above 0 and below a quarter of --rate"),
        (["--bandwidth", "300"], r"--bandwidth: expected .* a quarter of --rate, 240 Hz, got 300"),
        (["--phase-margin", "120"], r"--phase-margin: expected above 0 and below 90, got 120"),
        (["--gain-margin", "-3"], r"--gain-margin: expected above 0 and below 60, got -3"),
        (["--phase-margin", "89"], r"lower --phase-margin or --gain-margin"),
        (["--rate", "1"], r"--rate: expected from 20 to 1e6 Hz, got 1"),
        (["--rate", "100", "--sweep", "3"], r"--rate: expected from 240 to 1e6 Hz with --sweep"),
        (["--sweep", "0"], r"--sweep: expected from 1"),
        (["--sweep", "3", "--threads", "-1"], r"--threads: expected a number of threads"),
    ],
)
def test_messages_name_the_options_of_the_command(arguments: list[str], message: str) -> None:
    options = command("crazyflie", "--no-plots", *arguments)
    with pytest.raises(ValueError, match=message) as caught:
        options.run(options)
    for name in ("phase_margin", "gain_margin", "bandwidth_limit", "dt", "integral"):
        assert not re.search(rf"\b{name}\b", str(caught.value))
