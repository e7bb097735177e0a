"""The game of the arcade: take-off, gates, the end of a flight, and its log."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from arcade_helpers import Pilot, fly
from helpers import MULTICOPTERS, slow_if
from numpy.typing import NDArray
from propwash import _rotation, race, vehicles
from propwash.arcade import MODES, TICK, FlightSnapshot, Game, Mode, Sticks
from propwash.arcade._rule import TIME_LIMIT, Rule
from propwash.race import Course, courses
from propwash.world import Box, Gate, Item, Plane, Scene, Start

Array = NDArray[np.float64]

UP = Sticks(throttle=0.9)
CENTRED = Sticks(throttle=0.5)
GROUND = Plane(name="ground")
ABOVE = Start(position=(0.0, 0.0, 1.0))


def gate(name: str, x: float, y: float = 0.0, yaw: float = 0.0) -> Gate:
    attitude = _rotation.about_z(yaw)
    return Gate(name=name, position=(x, y, 2.0), attitude=attitude, width=2.0, height=1.5)


@dataclass(frozen=True)
class Fixed(Course):
    """A course of items."""

    items: tuple[Item, ...] = ()
    start: Start | None = None

    def scene(self, seed: int | None) -> Scene:
        return Scene(self.items, name=self.name, start=self.start)


def course(*items: Item, start: Start | None = ABOVE) -> Course:
    return Fixed("test", "Test", "", items, start)


STRAIGHT = course(GROUND, gate("A", 4.0), gate("B", 8.0))


def ticks(game: Game, sticks: Sticks, seconds: float, mode: Mode = "assisted") -> FlightSnapshot:
    for _ in range(round(seconds / TICK)):
        game.tick(sticks, mode)
    return game.snapshot


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vehicle", MULTICOPTERS)
def test_the_vehicle_stands_until_it_takes_off(vehicle: str, mode: Mode) -> None:
    game = Game(STRAIGHT, vehicle)
    at_rest = game.snapshot.position
    idle = CENTRED if mode == "assisted" else Sticks()
    snapshot = ticks(game, idle, 2.0, mode)
    assert (snapshot.phase, snapshot.race_time, game.has_flown) == ("ready", 0.0, False)
    assert snapshot.time == pytest.approx(2.0)
    np.testing.assert_allclose(snapshot.position, at_rest, atol=5e-3)
    assert 0.0 < at_rest[2] < 0.15
    while game.phase == "ready" and game.snapshot.time < 8.0:
        game.tick(Sticks(throttle=0.75), mode)
    assert game.phase == "flying"
    assert game.snapshot.position[2] == pytest.approx(0.2, abs=0.02)
    assert game.snapshot.race_time == 0.0
    assert np.hypot(*game.snapshot.position[:2]) < 0.1
    assert ticks(game, UP, 0.25, mode).race_time == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, marks=slow_if((name, mode) != ("eight", "assisted")))
        for name in ("eight", "tower")
        for mode in MODES
    ],
)
def test_a_course_is_flown_in_every_mode(name: str, mode: Mode) -> None:
    game = Game(courses()[name], seed=2)
    snapshot = fly(game, Pilot(game, mode))
    result = game.result()
    assert (snapshot.phase, result.finished) == ("finished", True)
    assert [gate for gate, _ in snapshot.passed] == list(result.course)
    assert result.score == pytest.approx(10.0 * len(result.course) - snapshot.passed[-1][1])


def test_the_rows_are_judged_as_the_whole_flight() -> None:
    """The rule, row by row, gives the passages, the collision and the score of `race.judge`."""
    ends = set()
    for seed in range(120):
        rule, flight = random_flight(np.random.default_rng(seed))
        judged = race.judge(rule.scene, flight, time_limit=TIME_LIMIT)
        assert [p.gate for p in rule.passages] == [p.gate for p in judged.passages], seed
        for mine, theirs in zip(rule.passages, judged.passages, strict=True):
            assert mine.time == pytest.approx(theirs.time, abs=1e-9)
            assert mine.speed == pytest.approx(theirs.speed)
        assert rule.collision == (None if judged.collision is None else judged.collision.item)
        assert judged.finished == (rule.phase == "finished")
        ends.add((rule.phase, len(rule.passages)))
    # all kinds of ends are among them
    assert {phase for phase, _ in ends} == {"finished", "collided", "timeout"}
    assert {count for _, count in ends} == {0, 1, 2, 3}


def random_flight(rng: np.random.Generator) -> tuple[Rule, race.RaceFlight]:
    """A rule that has judged a flight along lines near the gates, and the flight so far."""
    gates = [gate("A", 4.0), gate("B", 8.0, 1.0, 0.5), gate("C", 8.5, 1.5, 0.6)]
    scene = Scene(
        [GROUND, *gates, Box(name="box", position=(5.0, -3.0, 1.0), size=(1.0, 1.0, 2.0))]
    )
    rule = Rule(scene, "ground", np.array([0.0, 0.0, 0.1]))
    centres = [np.asarray(each.position) for each in gates]
    spread = rng.choice([0.2, 0.8])
    ahead = np.array([[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]])
    targets = [c + d + rng.normal(0.0, spread, 3) for c in centres for d in ahead]
    corners = np.array(
        [[0.0, 0.0, 2.0], *targets, targets[-1] + [0.0, 0.0, -4.0 * rng.integers(2)]]
    )
    # few rows, so that lines between rows pass several gates; the slowest exceed the limit
    rows = int(rng.integers(8, 400))
    period = 10.0 ** rng.uniform(-2.0, 0.5)
    along = np.linspace(0.0, len(corners) - 1.0, rows)
    path = np.stack([np.interp(along, range(len(corners)), axis) for axis in corners.T], axis=1)
    time = np.arange(rows) * period
    rule.wait(path[0], path[0], True)
    row = 0
    while row + 1 < rows and not rule.has_ended:
        row += 1
        rule.advance((time[row - 1], time[row]), path[row - 1], path[row])
    if not rule.has_ended:  # it hovers after its last gate
        time, path = np.append(time, TIME_LIMIT), np.append(path, path[-1:], axis=0)
        rule.advance((time[row], time[row + 1]), path[row], path[row])
        row += 1
    attitude = np.tile([1.0, 0.0, 0.0, 0.0], (row + 1, 1))
    return rule, race.RaceFlight(time[: row + 1], path[: row + 1], attitude, path[: row + 1] * 0.0)


def test_a_vehicle_on_long_legs_stands_until_it_takes_off() -> None:
    tall = vehicles.load("blackbird").replace(contact={"frequency": 5.0, "leg": 0.25})
    game = Game(STRAIGHT, tall)
    assert ticks(game, Sticks(), 0.5).phase == "ready"
    assert ticks(game, Sticks(throttle=0.8), 1.0).phase == "flying"
    assert game.snapshot.race_time < 1.0


def test_a_fall_to_the_ground_ends_the_flight() -> None:
    game = Game(STRAIGHT)
    ticks(game, UP, 1.5)
    end = ticks(game, Sticks(), 3.0, "angle")
    assert (end.phase, end.collision) == ("collided", "ground")
    assert end.position[2] == pytest.approx(0.15, abs=0.05)
    result = game.result()
    assert result.collision is not None
    assert result.collision.item == "ground"
    assert result.score == 0.0
    # the vehicle has stopped
    assert ticks(game, UP, 0.5) is end


def test_an_obstacle_on_the_ground_ends_the_attempt_without_a_flight() -> None:
    for upright, after, item in (
        (True, [1.0, 0.0, 0.1], "box"),
        (False, [0.0, 0.0, 0.1], "ground"),
    ):
        box = Box(name="box", position=(1.0, 0.0, 0.5), size=(0.5, 0.5, 1.0))
        rule = Rule(Scene([GROUND, box, gate("A", 4.0)]), "ground", np.array([0.0, 0.0, 0.1]))
        rule.wait(np.array([0.0, 0.0, 0.1]), np.array([0.01, 0.0, 0.1]), True)
        assert rule.phase == "ready"
        rule.wait(np.array([0.01, 0.0, 0.1]), np.array(after), upright)
        assert (rule.phase, rule.collision) == ("collided", item)


def test_turning_over_on_the_ground_ends_the_attempt() -> None:
    game = Game(STRAIGHT)
    end = ticks(game, Sticks(roll=1.0, throttle=0.3), 3.0, "acro")
    assert (end.phase, end.collision, game.has_flown) == ("collided", "ground", False)
    with pytest.raises(ValueError, match="expected a vehicle that has taken off"):
        game.record()
    game.reset()
    assert game.phase == "ready"


def test_equal_inputs_give_equal_flights() -> None:
    """Also after a reset; another seed gives another flight."""

    def flight(game: Game) -> Iterator[Array]:
        for k in range(480):
            sticks = Sticks(0.3 * math.sin(0.05 * k), 0.2, 0.1, 0.8 if k < 200 else 0.55)
            yield game.tick(sticks, "assisted" if k < 300 else "angle").position

    games = [Game(STRAIGHT, seed=3), Game(STRAIGHT, seed=3), Game(STRAIGHT, seed=4)]
    first, second, other = (np.array(list(flight(game))) for game in games)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-4
    games[0].reset()
    np.testing.assert_array_equal(first, np.array(list(flight(games[0]))))


@pytest.mark.parametrize(
    "vehicle", [pytest.param(name, marks=slow_if(name != "flightgoggles")) for name in MULTICOPTERS]
)
def test_random_sticks_give_finite_flights_that_are_judged_as_races(vehicle: str) -> None:
    rng = np.random.default_rng(7)
    game, ends = Game(courses()["eight"], vehicle), []
    for _ in range(240):  # inputs, held for 0.1 s: full deflections, all modes
        mode = MODES[rng.integers(3)]
        roll, pitch, yaw = np.clip(rng.normal(0.0, 0.7, 3), -1.0, 1.0).tolist()
        sticks = Sticks(roll, pitch, yaw, throttle=float(rng.uniform(0.3, 1.0)))
        snapshot = ticks(game, sticks, 0.1, mode)
        for part in ("position", "attitude", "velocity", "body_rates"):
            assert np.isfinite(getattr(snapshot, part)).all()
        if not game.has_ended:
            continue
        if game.has_flown:
            result = game.result()
            assert result.collision is not None
            assert result.collision.item == snapshot.collision
            ends.append(game.record().info["phase"])
        game.reset()
    assert len(ends) >= 3


def test_the_log_has_the_flight_since_half_a_second_before_take_off() -> None:
    game = Game(STRAIGHT, "blackbird", seed=5)
    ticks(game, CENTRED, 3.0)
    snapshots = [game.tick(UP, "assisted") for _ in range(240)]
    record = game.record("reset")
    info = record.info
    assert (info["vehicle"], info["course"], info["seed"]) == ("blackbird", "test", 5)
    assert (info["phase"], info["collision"], info["passed"]) == ("reset", None, [])
    assert record.time[0] == pytest.approx(info["take_off"] - 0.5)
    np.testing.assert_allclose(np.diff(record.time), TICK)
    assert record.time[-1] == snapshots[-1].time
    assert snapshots[-1].race_time == pytest.approx(record.time[-1] - info["take_off"])
    flown = record.time > 3.0 + 0.5 * TICK
    np.testing.assert_array_equal(record.position[flown], [s.position for s in snapshots])
    assert record.sticks is not None
    assert record.mode is not None
    np.testing.assert_array_equal(record.sticks[flown], [[0.0, 0.0, 0.0, 0.9]] * 240)
    assert set(record.mode) == {"assisted"}
    assert record.command_velocity is not None
    np.testing.assert_allclose(record.command_velocity[flown][-1], [0.0, 0.0, 2.4], atol=0.3)


def test_the_log_of_a_flight_scores_the_same() -> None:
    game = Game(STRAIGHT)
    fly(game, Pilot(game, "angle"))
    record, result = game.record(), game.result()
    since = record.time >= record.info["take_off"] - 0.5 * TICK
    time = record.time[since] - record.info["take_off"]
    parts = (record.position[since], record.attitude[since], record.velocity[since])
    judged = race.judge(game.scene, race.RaceFlight(time, *parts))
    assert judged.finished
    assert judged.score == pytest.approx(result.score)
    assert record.info["score"] == pytest.approx(result.score)
    assert record.gates is not None
    first = record.time[np.searchsorted(record.gates, 1.0)] - record.info["take_off"]
    assert 0.0 <= first - result.passages[0].time <= TICK


def test_a_platform_is_the_ground_below_the_start() -> None:
    platform = Box(name="platform", position=(0.0, 0.0, 1.0), size=(2.0, 2.0, 2.0))
    start = Start(position=(0.0, 0.0, 3.0), yaw=1.0)
    game = Game(course(GROUND, platform, gate("A", 4.0), start=start))
    end = ticks(game, CENTRED, 1.0)
    assert end.phase == "ready"
    assert 2.0 < end.position[2] < 2.1
    np.testing.assert_allclose(end.attitude, _rotation.about_z(1.0), atol=1e-3)


@pytest.mark.parametrize(
    ("items", "start", "message"),
    [
        ([GROUND, gate("A", 4.0)], None, "expected a start"),
        ([gate("A", 4.0)], ABOVE, "expected ground below the start"),
        ([GROUND], ABOVE, "expected names of gates"),
        (
            [
                GROUND,
                gate("A", 4.0),
                Box(name="box", position=(0.3, 0.0, 0.5), size=(0.4, 1.0, 1.0)),
            ],
            ABOVE,
            "expected a start on free ground, item 'box' is within 0.15 m",
        ),
    ],
)
def test_scenes_without_a_course_are_refused(
    items: Sequence[Item], start: Start | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Game(course(*items, start=start))
