"""What guides a pilot: directions to the next gate, gates out of order, and the lesson."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from arcade_helpers import Pilot
from propwash import _rotation, race
from propwash.arcade import TICK, FlightSnapshot, Game, Sticks
from propwash.arcade._guide import AHEAD, HOVER_TIME, Openings, directions, guidance, next_gate
from propwash.arcade._interface import WrongGate
from propwash.arcade._view import NEXT_COLOUR, OTHER_COLOUR, FlightView
from propwash.race import courses
from propwash.world import Box, Gate, Plane, Scene

GATE = Gate(name="A", position=(0.0, 0.0, 2.0), width=2.0, height=1.0)


def snapshot(
    position: tuple[float, float, float], yaw: float = 0.0, passed: tuple[str, ...] = ()
) -> FlightSnapshot:
    """A vehicle at rest."""
    return FlightSnapshot(
        time=0.0,
        race_time=0.0,
        phase="flying",
        position=np.array(position),
        attitude=np.array(_rotation.about_z(yaw)),
        velocity=np.zeros(3),
        body_rates=np.zeros(3),
        passed=tuple((name, 1.0) for name in passed),
        collision=None,
        mode="assisted",
        sticks=Sticks(),
        number=0,
    )


@pytest.mark.parametrize(
    ("position", "yaw", "expected"),
    [
        ((-5.0, 0.0, 2.0), 0.0, ""),
        ((-5.0, 3.0, 1.0), 0.0, ""),
        ((-5.0, 0.0, 2.0), 0.9, "turn right"),
        ((-5.0, 0.0, 2.0), -0.9, "turn left"),
        ((-5.0, 0.0, 2.0), math.pi, "turn around"),
        ((-5.0, 0.0, 2.0), -2.5, "turn around"),
        ((5.0, 0.0, 2.0), 0.0, "turn around, enter from the other side"),
        ((5.0, 0.0, 2.0), 3.0, "enter from the other side"),
        ((0.5, -5.0, 2.0), 0.0, "turn left, enter from the other side"),
    ],
)
def test_directions_to_a_gate(
    position: tuple[float, float, float], yaw: float, expected: str
) -> None:
    assert directions(GATE, snapshot(position, yaw)) == expected


def test_turning_as_directed_ends_with_the_gate_ahead() -> None:
    rng = np.random.default_rng(16)
    for _ in range(100):
        place = (-5.0, rng.uniform(-3.0, 3.0), 2.0)
        yaw, turns = rng.uniform(-math.pi, math.pi), 0
        while said := directions(GATE, snapshot(place, yaw)):
            yaw += math.radians(-1.0 if "right" in said else 1.0)
            turns += 1
            assert turns < 360
        toward = math.atan2(-place[1], -place[0])
        assert abs(math.remainder(toward - yaw, math.tau)) <= AHEAD


def test_guidance_is_one_line_about_the_next_gate() -> None:
    gates = [GATE, GATE.replace(name="B", position=(9.0, 0.0, 2.0))]
    at = snapshot((-4.0, 3.0, 2.0), math.pi)
    assert next_gate(gates, at) is gates[0]
    assert guidance(gates[0], at) == "A · 5 m · turn around"
    passed = snapshot((1.0, 0.0, 2.0), passed=("A",))
    assert guidance(gates[1], passed) == "B · 8 m"
    assert next_gate(gates, snapshot((10.0, 0.0, 2.0), passed=("A", "B"))) is None


def test_first_gate_of_alphapilot_behind_the_start_is_pointed_at_sideways() -> None:
    """The arrow pointed up, beside a gate that is not the next one."""
    game = Game(courses()["alphapilot"])
    gate = game.scene.gates[0]
    assert directions(gate, game.snapshot) == "turn around, enter from the other side"
    view = FlightView(game.scene, (320, 180))
    view.render(game.snapshot)
    target = view.target(gate.name)
    assert target is not None
    u, v, is_in_front = target
    assert (v, is_in_front) == (90.0, False)
    assert u < 0.0  # the gate is to the left of the axis


def test_only_the_next_gate_has_its_colour_in_the_image() -> None:
    places = [(6.0, 2.0, 1.5), (6.0, -2.0, 1.5)]
    ahead = [Gate(name=f"Gate{k}", position=at, width=1.5, height=1.5, border=0.3)
             for k, at in enumerate(places)]  # fmt: skip
    view = FlightView(Scene([Plane(name="ground"), *ahead]), (160, 90))
    found = []
    for passed in ((), ("Gate0",), ("Gate0", "Gate1")):
        shot = view.render(snapshot((0.0, 0.0, 1.5), passed=passed), view="onboard")
        image = np.asarray(shot).astype(int)
        is_orange = image[..., 0] > image[..., 2] + 60
        found.append([bool(half.sum() > 20) for half in (is_orange[:, :80], is_orange[:, 80:])])
    assert found == [[True, False], [False, True], [False, False]]
    assert max(OTHER_COLOUR) < max(NEXT_COLOUR)


def test_a_scene_that_is_slow_to_load_keeps_the_colours_of_its_gates(tmp_path: Path) -> None:
    """Else each gate would stall the images."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (8, 8)).save(tmp_path / "wall.png")
    place, file = (9.0, 0.0, 1.0), str(tmp_path / "wall.png")
    wall = Box(name="wall", position=place, size=(1.0, 1.0, 1.0), texture=file)
    view = FlightView(Scene([Plane(name="ground"), GATE, wall]), (32, 18))
    renderer = view._offscreen
    assert renderer.scene is view.scene
    view.render(snapshot((-3.0, 0.0, 2.0), passed=("A",)))
    assert view._offscreen is renderer


def test_gates_out_of_order_and_backwards_are_found() -> None:
    places = {"A": 0.0, "B": 4.0, "C": 8.0}
    gates = [GATE.replace(name=name, position=(x, 0.0, 2.0)) for name, x in places.items()]
    openings = Openings(gates)

    def wrong(right: range, x0: float, x1: float, y: float = 0.0) -> WrongGate | None:
        return openings.wrong(right, 1.5, np.array([x0, y, 2.0]), np.array([x1, y, 2.1]))

    assert wrong(range(1), -0.1, 0.1) is None
    assert wrong(range(3), -1.0, 9.0) is None
    assert wrong(range(1), 3.9, 4.1) == WrongGate("B", 1.5, False)
    assert wrong(range(1, 1), -0.1, 0.1) == WrongGate("A", 1.5, False)  # for the second time
    assert wrong(range(1), 0.1, -0.1) == WrongGate("A", 1.5, True)
    assert wrong(range(1), 3.9, 4.1, y=1.1) is None  # beside its opening
    assert wrong(range(1), 3.9, 3.95) is None


def test_random_lines_agree_with_the_passages_of_a_race() -> None:
    rng = np.random.default_rng(3)
    gates = [
        Gate(
            name=f"{k}",
            position=tuple(rng.uniform(-3.0, 3.0, 3).tolist()),
            attitude=_rotation.about_z(rng.uniform(-3.0, 3.0)),
            width=2.0,
            height=1.5,
        )
        for k in range(4)
    ]
    openings, found = Openings(gates), 0
    for _ in range(2000):
        line = rng.uniform(-4.0, 4.0, (2, 3))
        time = np.array([0.0, 1.0])
        forward = {g.name for g in gates if race.passages(g, time, line)}
        backward = {g.name for g in gates if race.passages(g, time, line[::-1])}
        wrong = openings.wrong(range(0), 1.0, *line)
        assert (wrong is None) == (not forward | backward)
        if wrong is not None:
            assert wrong.gate in (backward if wrong.backwards else forward)
            found += 1
    assert found > 200


@pytest.mark.slow
def test_flights_in_order_pass_no_wrong_gate() -> None:
    for name in ("lesson", "eight", "tower"):
        game = Game(courses()[name], seed=1)
        pilot = Pilot(game, "assisted", 4.0)
        while not game.has_ended:
            sticks = pilot(game.snapshot)
            for _ in range(4):
                game.tick(sticks, pilot.mode)
            assert game.snapshot.wrong is None
        assert game.phase == "finished"


def until(game: Game, sticks: Sticks, task: str, limit: float = 20.0) -> float:
    """Holds sticks until a task; returns the seconds."""
    start = game.snapshot.time
    while game.snapshot.task != task:
        assert game.snapshot.time < start + limit, game.snapshot
        game.tick(sticks, "assisted")
    return game.snapshot.time - start


def test_lesson_advances_by_states_and_takes_less_than_a_minute() -> None:
    game = Game(courses()["lesson"])
    centred = Sticks(throttle=0.5)
    for _ in range(240):
        game.tick(centred, "assisted")
    assert (game.snapshot.task, game.snapshot.progress) == ("take_off", 0.0)
    until(game, Sticks(throttle=0.8), "hover")
    assert game.snapshot.position[2] > 1.0
    for _ in range(480):
        game.tick(Sticks(pitch=-0.5, throttle=0.5), "assisted")
    assert game.snapshot.task == "hover"  # it moves
    until(game, Sticks(pitch=0.5, throttle=0.5), "hover")
    assert until(game, centred, "yaw") > HOVER_TIME
    before = _rotation.heading(game.snapshot.attitude)
    until(game, Sticks(yaw=0.5, throttle=0.5), "gate")
    turned = _rotation.heading(game.snapshot.attitude) - before
    assert abs(math.remainder(turned, math.tau)) == pytest.approx(math.pi / 2.0, abs=0.05)
    pilot = Pilot(game, "assisted", 3.0)
    while not game.has_ended:
        game.tick(pilot(game.snapshot), pilot.mode)
    assert (game.phase, game.snapshot.task) == ("finished", "gates")
    assert game.snapshot.time < 60.0
    game.reset()
    assert (game.snapshot.task, game.snapshot.progress) == ("take_off", 0.0)


def test_a_gate_completes_the_tasks_before_it_and_other_courses_have_none() -> None:
    game = Game(courses()["lesson"])
    pilot = Pilot(game, "angle", 4.0)
    tasks = set()
    while not game.has_ended:
        tasks.add(game.tick(pilot(game.snapshot), pilot.mode).task)
    assert "gates" in tasks
    assert Game(courses()["eight"]).tick(Sticks(), "assisted").task is None


def test_a_wrong_gate_is_in_the_snapshot_until_the_next_one() -> None:
    """Backwards through the gate that was just passed."""
    game = Game(courses()["lesson"])
    pilot = Pilot(game, "assisted", 3.0)
    while not game.snapshot.passed:
        game.tick(pilot(game.snapshot), pilot.mode)
    assert game.snapshot.wrong is None
    while game.snapshot.wrong is None:
        assert game.phase == "flying"
        game.tick(Sticks(pitch=-0.4, throttle=0.5), "assisted")
    wrong = game.snapshot.wrong
    assert (wrong.gate, wrong.backwards) == ("Gate1", True)
    assert wrong.time == pytest.approx(game.snapshot.race_time, abs=TICK)
    game.reset()
    assert game.snapshot.wrong is None
