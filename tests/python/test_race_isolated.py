"""Pilots in processes of their own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import race
from propwash.__main__ import main
from propwash.race import _isolated

PILOT = """
import os
import propwash as pw

class Hover:
    def __init__(self, briefing):
        self.weight = briefing.vehicle.weight

    def __call__(self, readings):
        print("a pilot may print")
        return pw.RateThrust([0.0, 0.0, 0.0], self.weight), None
"""


class Late:
    """Answers nothing."""

    def __init__(self, briefing: race.Briefing) -> None:
        self.briefing = briefing

    def __call__(self, readings: race.Readings) -> Any:
        time.sleep(60.0)


class Ending(Late):
    """Ends its process."""

    def __call__(self, readings: race.Readings) -> Any:
        os._exit(3)


class Wrong(Late):
    """Answers with an object that is no command."""

    def __call__(self, readings: race.Readings) -> Any:
        return 3, None


def test_an_isolated_pilot_flies_as_in_the_same_process() -> None:
    flights = [
        race.fly(3, pilot=maker, time_limit=0.2).flight
        for maker in (race.SensorPilot, race.isolated(race.SensorPilot))
    ]
    assert np.array_equal(flights[0].position, flights[1].position)
    assert np.array_equal(flights[0].attitude, flights[1].attitude)


def test_a_pilot_of_a_file_is_flown_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PILOT)
    result = race.fly(3, pilot=race.load_pilot(f"{file}:Hover"), time_limit=0.1)
    assert len(result.flight.time) == 13
    makers = []

    def fly(*_arguments: Any, pilot: Any, **_options: Any) -> race.Result:
        makers.append(pilot)
        return result

    monkeypatch.setattr(race, "fly", fly)
    options = ["--sensors", "--pilot", f"{file}:Hover", "--isolate", "--seeds", "1"]
    assert main(["race", *options]) == 0
    assert makers == [race.isolated(race.load_pilot(f"{file}:Hover"))]


@pytest.mark.parametrize(
    ("maker", "error", "message"),
    [
        (race.isolated(Late, timeout=0.5), TimeoutError, "within 0.5 s"),
        (race.isolated(Ending), RuntimeError, "its process has ended"),
        (race.isolated(Wrong), RuntimeError, "expected one of RateThrust"),
    ],
)
def test_faults_of_an_isolated_pilot_are_reported(
    maker: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        race.fly(3, pilot=maker, time_limit=0.1)


def test_an_answer_is_data_and_not_executed() -> None:
    """Every command arrives with its numbers; another name is refused."""
    commands = [
        pw.RotorSpeeds([1.0, 2.0, 3.0, 4.0]),
        pw.AttitudeThrust([1.0, 0.0, 0.0, 0.0], 5.0, 0.1),
        pw.VelocityCommand([1.0, 2.0, 3.0], yaw_rate=0.2),
        pw.PositionCommand([1.0, 2.0, 3.0], 0.3),
        pw.TrajectoryCommand([1.0, 2.0, 3.0], yaw=0.1, controller="indi"),
    ]
    for command in commands:
        received, estimate = _isolated._decoded(_isolated._encoded(command, None))
        assert repr(received) == repr(command)
        assert estimate is None
    with pytest.raises(TypeError, match="expected a command"):
        _isolated._decoded({"kind": "Popen", "command": {}, "estimate": None})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--isolate"], "--isolate: expected with --sensors"),
        (["--sensors", "--pilot", "none.py:A"], "pilot: expected an existing FILE.py:NAME"),
        (["--mass", "0"], "--mass"),
    ],
)
def test_wrong_options(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["race", *options])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err
