"""The example of imitation learning: what it learns from a flight log, and that it learns."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arcade_helpers import EXAMPLES, Pilot, fly
from propwash import arcade, logs, race, vehicles

for package in ("gymnasium", "torch", "onnx", "onnxruntime"):
    pytest.importorskip(package)
from propwash.gym.policy import Policy  # noqa: E402

pytestmark = pytest.mark.slow

program = importlib.import_module("imitate_flights")

COURSE = "eight"


def flight(mode: arcade.Mode, seed: int = 0, human: int | None = None) -> logs.FlightRecord:
    game = arcade.Game(race.find_course(COURSE), seed=seed)
    fly(game, Pilot(game, mode, human=human))
    return game.record()


@pytest.fixture(scope="module")
def flights() -> dict[str, logs.FlightRecord]:
    return {mode: flight(mode) for mode in arcade.MODES}


def test_examples_are_the_rows_between_take_off_and_the_last_gate(
    flights: dict[str, logs.FlightRecord],
) -> None:
    record = flights["assisted"]
    observations, actions = program.Task.of([record]).examples(record)
    start, end = record.info["take_off"], record.info["take_off"] + record.info["passed"][-1][1]
    rows = np.flatnonzero((record.time >= start) & (record.time < end))[:: program.ROWS]
    assert len(observations) == len(actions) == len(rows)
    # the first columns are the position at the next gate of the course with the seed of the flight
    gates = race.course_gates(race.find_course(COURSE).scene(record.info["seed"]))
    assert record.gates is not None
    centres = np.array([gates[int(number)].position for number in record.gates[rows]])
    np.testing.assert_allclose(observations[:, :3], record.position[rows] - centres, atol=1e-4)
    np.testing.assert_allclose(observations[:, 3:6], record.velocity[rows], atol=1e-5)


def test_actions_are_the_commands_of_assisted_mode(flights: dict[str, logs.FlightRecord]) -> None:
    record = flights["assisted"]
    task = program.Task.of([record])
    _, actions = task.examples(record)
    assert record.command_velocity is not None
    assert record.gates is not None
    is_flying = (record.time >= record.info["take_off"]) & (record.gates < len(task.gates))
    velocity = record.command_velocity[is_flying][:: program.ROWS]
    speed = task.options["max_speed"]
    np.testing.assert_allclose(speed * actions[:, :3], velocity, atol=1e-5)
    assert np.abs(record.command_velocity).max() <= speed


@pytest.mark.parametrize("mode", ["angle", "acro"])
def test_actions_of_other_modes_are_later_velocities(
    mode: str, flights: dict[str, logs.FlightRecord]
) -> None:
    record = flights[mode]
    assert record.command_velocity is None
    desired = program.commanded(record)
    for row in range(0, len(record) - 100, 140):
        later = int(np.argmin(np.abs(record.time - record.time[row] - program.LEAD)))
        np.testing.assert_array_equal(desired[row], record.velocity[later])
    np.testing.assert_array_equal(desired[-1], record.velocity[-1])


def test_later_velocities_are_close_to_the_commanded_ones(
    flights: dict[str, logs.FlightRecord],
) -> None:
    """The lead compensates the response of the vehicle: no lead is a worse estimate."""
    record = flights["assisted"]
    assert record.command_velocity is not None
    flying = record.time > record.info["take_off"] + 1.0
    later = program.later(record.velocity, record.time)
    errors = [
        np.sqrt(np.mean((record.command_velocity - velocity)[flying] ** 2))
        for velocity in (later, record.velocity)
    ]
    assert errors[0] < 0.6 * errors[1]


def test_logs_of_both_formats_give_equal_examples(
    flights: dict[str, logs.FlightRecord], tmp_path: Path
) -> None:
    pytest.importorskip("mcap")
    record = flights["acro"]
    for name in ("a.csv", "b.mcap"):
        logs.write_record(tmp_path / name, record)
    task = program.Task.of([record])
    expected = task.examples(record)
    read = program.read_flights(tmp_path)
    assert len(read) == 2
    for each in read:
        for found, of in zip(task.examples(each), expected, strict=True):
            np.testing.assert_array_equal(found, of)


def test_the_task_has_the_gates_that_half_of_the_flights_passed(
    flights: dict[str, logs.FlightRecord],
) -> None:
    whole = flights["assisted"]
    assert whole.gates is not None
    names = [name for name, _ in whole.info["passed"]]

    def cut(gates: int) -> logs.FlightRecord:
        rows = np.flatnonzero(whole.gates <= gates)  # type: ignore[operator]
        arrays = {
            name: value[rows]
            for name, value in vars(whole).items()
            if isinstance(value, np.ndarray)
        }
        return logs.FlightRecord(**arrays, info=whole.info)

    assert program.Task.of([whole]).gates == names
    assert program.Task.of([cut(2), cut(5), cut(7), whole]).gates == names[:7]
    assert program.Task.of([cut(2), cut(5), whole]).gates == names[:5]


def test_a_policy_flies_courses_that_it_has_not_seen(tmp_path: Path) -> None:
    """Logs of five flights of a pilot with errors in, a policy file out."""
    records = [flight("assisted", seed, human=seed) for seed in range(5)]
    for number, record in enumerate(records):
        logs.write_record(tmp_path / f"{number}.csv", record)
    out = tmp_path / "imitated.onnx"
    ran = run("--flights", str(tmp_path), "--steps", "1500", "--episodes", "30", "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    description = Policy.load(out).description
    assert description.options["course_seed"] == list(range(1000, 1030))
    assert description.training["flights"] == 5
    finished = re.search(r"finished \[%\] +([\d.]+)", ran.stdout)
    assert finished is not None
    # of 30 flights of a policy that finishes 85 % of courses, fewer than 18: probability 0.0002
    assert float(finished[1]) >= 60.0


def run(*arguments: str) -> Any:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "imitate_flights.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_wrong_folders_are_reported_in_one_line(
    flights: dict[str, logs.FlightRecord], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="expected a folder of logs, found none"):
        program.read_flights(tmp_path / "none")
    with pytest.raises(SystemExit, match="expected logs of flights that passed a gate, got 0"):
        program.read_flights(tmp_path)
    game = arcade.Game(race.find_course("tower"))
    fly(game, Pilot(game))
    with pytest.raises(SystemExit, match=r"one course and vehicle, got eight .*, tower "):
        program.Task.of([game.record(), flights["acro"]])
    for options, message in (
        (("--count", "0"), "error: --count: expected at least 1"),
        (("--course", "ate"), "error: no course 'ate'"),
        (("--out", "none/imitated.onnx"), "error: none/imitated.onnx: expected a file in a folder"),
    ):
        ran = run(*options)
        assert ran.returncode == 1
        assert ran.stderr.startswith(message)
        assert ran.stderr.count("\n") == 1
    (tmp_path / "0.csv").write_text("a\n1\n2\n")
    ran = run("--flights", str(tmp_path))
    assert ran.stderr.startswith(f"error: {tmp_path / '0.csv'}: expected a flight log")


def test_logs_of_a_vehicle_of_a_file_need_its_file(tmp_path: Path) -> None:
    own = vehicles.load("blackbird").replace(name="of a file")
    file = tmp_path / "own.toml"
    file.write_text(own.to_toml())
    game = arcade.Game(race.find_course(COURSE), file)
    fly(game, Pilot(game))
    record = game.record()
    task = program.Task.of([record], vehicle=str(file))
    observations, _ = task.examples(record)
    assert len(observations) > 100
    with pytest.raises(ValueError, match="no vehicle 'of a file'"):
        program.Task.of([record]).examples(record)
