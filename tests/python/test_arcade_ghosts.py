"""Ghosts: poses between rows, and where they come from."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from propwash import arcade, logs, race
from propwash.arcade import Board, Entry, Game, Ghost, Sticks
from propwash.arcade import _ghosts as ghosts
from propwash.arcade import _messages as messages
from propwash.arcade._arcade import Arcade, Choices

COURSES = race.courses()


def turning(rate: float = 2.0, period: float = 0.01) -> Ghost:
    """A vehicle that turns about z and moves along x, both at constant rates."""
    time = period * np.arange(-50.0, 301.0)
    half = 0.5 * rate * time
    attitude = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1).astype(np.float64)
    attitude[::2] *= -1.0  # the same attitudes
    position = np.stack([3.0 * time, 0 * time, 1 + 0 * time], axis=1)
    return Ghost("turning", time, position, attitude, (0.5, 1.25))


def test_poses_between_rows_are_on_the_way() -> None:
    ghost = turning()
    for race_time in np.random.default_rng(1).uniform(-0.5, 3.0, 200):
        pose = ghost.at(float(race_time))
        assert pose is not None
        position, attitude = pose
        np.testing.assert_allclose(position, [3.0 * race_time, 0.0, 1.0], atol=1e-12)
        exact = np.array([np.cos(race_time), 0.0, 0.0, np.sin(race_time)])
        assert np.linalg.norm(attitude) == pytest.approx(1.0)
        assert abs(attitude @ exact) == pytest.approx(1.0, abs=1e-9)


def test_rows_are_met_exactly_and_the_ghost_is_absent_after_its_last_row() -> None:
    ghost = turning()
    for k in (0, 17, len(ghost.time) - 1):
        pose = ghost.at(float(ghost.time[k]))
        assert pose is not None
        np.testing.assert_allclose(pose[0], ghost.position[k], atol=1e-12)
    first = ghost.at(-100.0)
    assert first is not None
    assert np.array_equal(first[0], ghost.position[0])
    assert ghost.at(float(ghost.time[-1]) + 1e-9) is None


def test_times_of_gates() -> None:
    ghost = turning()
    assert [ghost.passed(gates) for gates in (0, 1, 2, 3)] == [None, 0.5, 1.25, None]


def test_the_difference_to_a_faster_ghost_is_positive() -> None:
    ghost = turning()
    passed = [("first", 0.7), ("second", 1.0), ("third", 2.0)]
    differences = [ghost.difference(passed[:gates]) for gates in range(4)]
    assert differences == [None, pytest.approx(0.2), pytest.approx(-0.25), None]


def test_the_built_in_pilot_is_at_each_gate_at_its_time() -> None:
    course = COURSES["slalom"]
    ghost = ghosts.of_pilot(course, 5, "flightgoggles")
    gates = course.scene(5).gates
    assert len(ghost.gate_times) == len(gates)
    for k, gate in enumerate(gates, 1):
        passed = ghost.passed(k)
        assert passed is not None
        pose = ghost.at(passed)
        assert pose is not None
        forward = np.array([np.cos(gate.yaw), np.sin(gate.yaw), 0.0])
        assert abs((pose[0] - gate.position) @ forward) < 1e-3
    assert ghost.time[-1] == pytest.approx(ghost.gate_times[-1] + 0.5, abs=race.PERIOD)
    assert {type(time) for time in ghost.gate_times} == {float}  # messages refuse other types


def test_a_ghost_that_collides_ends_there() -> None:
    scene = COURSES["slalom"].scene(0)
    time = np.linspace(0.0, 10.0, 1001)
    position = np.array([0.0, 0.0, 2.0]) + np.outer(4.0 * time, [0.0, 1.0, 0.0])
    level = np.tile([1.0, 0.0, 0.0, 0.0], (len(time), 1))
    result = race.judge(scene, race.RaceFlight(time, position, level, 0.0 * position))
    assert result.collision is not None
    ghost = ghosts.of_result(result, "straight on")
    assert ghost.time[-1] == pytest.approx(result.collision.time, abs=0.02)
    assert ghost.passed(1) is None


def test_the_policy_flies_the_course_it_was_trained_for(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    board = Board(tmp_path)
    ghost = arcade.ghost("policy", COURSES["alphapilot"], 0, "flightgoggles", board)
    assert ghost is not None
    assert len(ghost.gate_times) == 11
    assert arcade.ghost("policy", COURSES["slalom"], 0, "flightgoggles", board) is None


def test_without_a_flight_on_the_board_there_is_no_best_one(tmp_path: Path) -> None:
    board = Board(tmp_path)
    assert arcade.ghost("best", COURSES["slalom"], 0, "flightgoggles", board) is None


def test_the_best_flight_with_a_log_is_shown(tmp_path: Path) -> None:
    """Entries of the leader board may lack one."""
    board, ended = Board(tmp_path), flown()
    logs.write_record(tmp_path / "flight.csv", ended.record())
    entry: dict[str, Any] = {
        "course": "eight", "seed": 0, "vehicle": "blackbird", "mode": "angle", "gates": 1,
        "score": 1.0,
    }  # fmt: skip
    board.add(Entry(name="first", race_time=1.0, **entry))
    assert arcade.ghost("best", COURSES["eight"], 0, "blackbird", board) is None
    board.add(Entry(name="second", race_time=2.0, log="flight.csv", **entry))
    ghost = arcade.ghost("best", COURSES["eight"], 0, "blackbird", board)
    assert ghost is not None
    assert ghost.name == "second, 2.00 s"


def flown() -> Game:
    """A short flight without a gate."""
    game = Game(COURSES["eight"], "blackbird")
    for _ in range(120):
        game.tick(Sticks(throttle=1.0), "angle")
    assert game.has_flown
    return game


def test_rows_that_are_no_motion_are_refused() -> None:
    record = flown().record()
    late = np.append(record.time[:-1], 1e12)
    for changes, message in (
        ({"time": late}, "time: expected rows at most 0.1 s apart"),
        ({"attitude": 0.0 * record.attitude}, "attitude: expected unit quaternions"),
        ({"info": {**record.info, "take_off": -1e17}}, "times.*: expected .*increasing"),
    ):
        with pytest.raises(ValueError, match=message):
            ghosts.of_record(replace(record, **changes), "")


def test_a_ghost_that_cannot_be_made_is_reported_and_the_others_fly() -> None:
    sent: list[Any] = []

    def make(kind: arcade.GhostKind, game: Game) -> Ghost | None:
        if kind == "best":
            raise FileNotFoundError("no log 'flight.csv'")
        return turning() if kind == "pilot" else None

    runner = arcade.Runner(flown())
    shown = Arcade(
        runner,
        Choices.of(COURSES, runner.game, "blackbird"),
        size=(64, 64),
        board=lambda course, seed: messages.BoardMessage(course, seed, []),
        prepare=lambda game: None,
        make_ghost=make,
        send=sent.append,
    )
    shown.select(messages.Select("eight", "blackbird", ghosts=("best", "policy", "pilot")))
    end = time.monotonic() + 30.0
    while not shown.frame_state.lineup.ghosts and time.monotonic() < end:
        runner.step()
        shown.poll()
    shown.close()
    assert [ghost.name for ghost in shown.frame_state.lineup.ghosts] == ["turning"]
    notices = [each.text for each in sent if isinstance(each, messages.Notice)]
    assert notices == ["no log 'flight.csv'", "no ghost 'policy' on eight with seed 0"]
