"""`python -m propwash tune`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import _tune_command, tune


def command(*words: str) -> argparse.Namespace:
    """The options of `python -m propwash tune`."""
    parser = argparse.ArgumentParser()
    _tune_command.add_parser(parser.add_subparsers())
    return parser.parse_args(["tune", *words])


def test_the_command_prints_gains_margins_and_steps_and_writes_plots(
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
    found = pw.load_vehicle(out / "flightgoggles.toml").rate_controller
    best = pw.load_vehicle(out / "swept.toml").rate_controller
    ratio = np.divide(best.proportional, found.proportional)
    assert np.all((ratio >= 0.25) & (ratio <= 4.0))


def test_the_command_shows_present_gains_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = command("blackbird", "--present", "--no-plots", "--out", str(tmp_path / "no"))
    options.run(options)
    assert "gains that it has" in capsys.readouterr().out
    assert not (tmp_path / "no").exists()
    options = command("flightgoggles", "--bandwidth", "80", "--out", str(tmp_path / "no"))
    with pytest.raises(tune.TuneError, match="cannot be reached"):
        options.run(options)
    assert not (tmp_path / "no").exists()
    options = command("--rate", "0")
    with pytest.raises(ValueError, match="--rate"):
        options.run(options)


def test_the_command_writes_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    odd = tmp_path / "odd.toml"
    odd.write_text(pw.load_vehicle("flightgoggles").replace(name="../odd one").to_toml())
    options = command(str(odd), "--out", str(tmp_path / "new" / "plots"))
    for figure in ("bode_figure", "nyquist_figure", "filter_figure", "step_figure"):
        monkeypatch.setattr(tune, figure, lambda *_: None)
    saved: list[Path] = []

    def interrupted(figure: Any, path: Path) -> None:
        saved.append(path)
        if len(saved) == 3:
            raise KeyboardInterrupt
        path.write_text("a picture")

    monkeypatch.setattr(tune, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        options.run(options)
    assert {path.name for path in tmp_path.iterdir()} == {"odd.toml"}
    monkeypatch.setattr(tune, "save", lambda figure, path: path.write_text("a picture"))
    options.run(options)
    # a name is no way out of the folder
    assert {path.name for path in tmp_path.iterdir()} == {"odd.toml", "new"}
    assert len(list((tmp_path / "new" / "plots").glob("*.toml"))) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "{file}"], "expected a folder"),
        (["--out", "{file}/plots"], "expected a folder"),
        (["--threads", "2"], "--threads: expected with --sweep"),
        (["--present", "--bandwidth", "3"], "--bandwidth: expected without --present"),
        (["--present", "--gain-margin", "3"], "--gain-margin: expected without --present"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_done(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "file"
    file.write_text("mine")
    options = command("flightgoggles", *(word.format(file=file) for word in words))
    with pytest.raises(ValueError, match=message):
        options.run(options)
    assert capsys.readouterr().out == ""
    assert file.read_text() == "mine"
