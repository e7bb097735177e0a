"""Pilots in processes of their own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import struct
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import race
from propwash.__main__ import main
from propwash.race import _isolated

PILOT = """
from __future__ import annotations

from dataclasses import dataclass

import propwash as pw

number = 3

@dataclass
class Hover:
    briefing: object

    def __call__(self, readings):
        print("a pilot may print")
        return pw.RateThrust([0.0, 0.0, 0.0], self.briefing.vehicle.weight), None
"""


class Late:
    """Answers nothing, and computes on."""

    def __init__(self, briefing: race.Briefing) -> None:
        self.briefing = briefing

    def __call__(self, readings: race.Readings) -> Any:
        while True:
            pass


class Partial(Late):
    """Sends the length of an answer and no answer."""

    def __call__(self, readings: race.Readings) -> Any:
        (pipe,) = (each for each in gc.get_objects() if isinstance(each, Connection))
        os.write(pipe.fileno(), struct.pack("!i", 100))
        return super().__call__(readings)


class Ending(Late):
    """Ends its process."""

    def __call__(self, readings: race.Readings) -> Any:
        os._exit(3)


class Wrong(Late):
    """Answers with an object that is no command."""

    def __call__(self, readings: race.Readings) -> Any:
        return 3, None


class Single(Late):
    """Answers without an estimate, not even None."""

    def __call__(self, readings: race.Readings) -> Any:
        return 3


class Failing(Late):
    """Raises an exception."""

    def __call__(self, readings: race.Readings) -> Any:
        raise KeyError("wind")


class Unestimated(Late):
    """Answers with an object that is no estimate."""

    def __call__(self, readings: race.Readings) -> Any:
        return pw.RateThrust([0.0, 0.0, 0.0], 1.0), 7


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
    for name, got in (("number", "3"), ("Nothing", "none")):
        with pytest.raises(ValueError, match=f"a class or a function {name} in .*, got {got}"):
            race.fly(3, pilot=race.load_pilot(f"{file}:{name}"))
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
        pytest.param(
            *(race.isolated(Partial, timeout=0.5), TimeoutError, "within 0.5 s"),
            marks=pytest.mark.skipif(
                os.name == "nt", reason="pipes of Windows have other messages"
            ),
        ),
        (race.isolated(Ending), ValueError, "its process has ended"),
        (race.isolated(Wrong), ValueError, "expected one of RateThrust"),
        (race.isolated(Single), ValueError, "expected a command and an estimate"),
        (race.isolated(Failing), ValueError, "pilot: KeyError: 'wind'"),
        (race.isolated(Unestimated), ValueError, "no attribute 'position'"),
    ],
)
def test_faults_of_an_isolated_pilot_are_reported_and_end_its_process(
    maker: Any, error: type[Exception], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = multiprocessing.active_children()
    with pytest.raises(error, match=message):
        race.fly(3, pilot=maker, time_limit=0.1)
    assert set(multiprocessing.active_children()) <= set(before)
    if maker.maker is Failing:
        assert 'raise KeyError("wind")' in capfd.readouterr().err


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
    answer = _isolated._encoded(commands[0], None)
    for wrong in (
        *(3, {}, answer | {"kind": "Popen"}, answer | {"kind": []}, answer | {"command": {}}),
        *(answer | {"command": {"force": [1.0]}}, answer | {"estimate": {"wind": 1.0}}),
    ):
        with pytest.raises(ValueError, match="pilot: expected a command, one of"):
            _isolated._decoded(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--isolate"], "--isolate: expected with --sensors"),
        (["--fastest", "--reach", "5"], "--reach: expected with --sensors"),
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
