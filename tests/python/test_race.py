"""The race: flights through the course, and the rules of judging."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import _rotation, race
from propwash.__main__ import main
from propwash.race import _plan
from propwash.race import _video as _race_video
from propwash.trajectories import Limits, flatness
from propwash.world import Box, Gate, Plane, Scene, Start

Array = NDArray[np.float64]

LEVEL = (1.0, 0.0, 0.0, 0.0)


def attitude_of(yaw: float) -> tuple[float, float, float, float]:
    return (math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw))


def gate(name: str, x: float, y: float = 0.0, yaw: float = 0.0) -> Gate:
    return Gate(name=name, position=(x, y, 2.0), attitude=attitude_of(yaw), width=2.0, height=1.5)


THREE = Scene(
    [Plane(name="ground"), gate("A", 5.0), gate("B", 10.0), gate("C", 15.0)],
    start=Start(position=(0.0, 0.0, 2.0)),
)


def along(*points: tuple[float, float, float], speed: float = 5.0) -> race.RaceFlight:
    """A flight at a constant speed along straight lines, with a row every 4.3 cm."""
    corners = np.array(points)
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    s = np.concatenate([[0.0], np.cumsum(lengths)])
    distance = np.linspace(0.0, s[-1], max(2, round(s[-1] / 0.043)))
    position = np.stack([np.interp(distance, s, c) for c in corners.T], axis=1)
    rows = len(distance)
    attitude = np.tile(LEVEL, (rows, 1))
    return race.RaceFlight(distance / speed, position, attitude, np.zeros((rows, 3)))


def names(result: race.Result) -> list[str]:
    return [passage.gate for passage in result.passages]


@pytest.mark.parametrize("seed", [0, 1, 7, 2**40])
def test_the_course_is_flown_through_every_gate(seed: int) -> None:
    result = race.fly(seed)
    scene = Scene.load("alphapilot", seed=seed)
    assert names(result) == [g.name for g in scene.gates] == [g.name for g in result.scene.gates]
    assert len(result.passages) == 11
    assert result.collision is None
    assert result.finished
    times = [p.time for p in result.passages]
    assert times == sorted(times)
    assert result.score == pytest.approx(110.0 - times[-1])
    # the best of twenty teams reached 91.39, with a camera
    assert result.score > 85.0


@pytest.mark.parametrize("vehicle", ["blackbird", "penguin", "crazyflie", "hexacopter"])
def test_other_vehicles_fly_the_course(vehicle: str) -> None:
    result = race.fly(3, vehicle)
    assert result.finished
    assert result.vehicle == vehicle


def test_a_seed_determines_the_flight() -> None:
    flights = [race.fly(seed, time_limit=2.0).flight.position for seed in (4, 4, 5)]
    assert np.array_equal(flights[0], flights[1])
    assert not np.array_equal(flights[0], flights[2])


def test_single_precision_flies_the_same_course() -> None:
    double, single = (race.fly(2, dtype=dtype) for dtype in ("float64", "float32"))
    assert names(double) == names(single)
    assert abs(double.score - single.score) < 0.2


def test_gates_passed_in_order_count() -> None:
    result = race.judge(THREE, along((0, 0, 2), (20, 0, 2)))
    assert names(result) == ["A", "B", "C"]
    assert [p.time for p in result.passages] == pytest.approx([1.0, 2.0, 3.0], abs=1e-9)
    assert [p.speed for p in result.passages] == pytest.approx([5.0] * 3)
    assert result.score == pytest.approx(30.0 - 3.0)


@pytest.mark.parametrize("yaw", [0.0, 0.4, 2.0, -2.9])
def test_only_crossings_within_the_opening_count(yaw: float) -> None:
    """For paths perpendicular to the plane of the gate."""
    one = gate("A", 3.0, -1.0, yaw)
    matrix = _rotation.rotation(np.array(one.attitude))
    rng = np.random.default_rng(5)
    for left, up in rng.uniform(-2.0, 2.0, (200, 2)):
        ends = np.array([[-0.7, left, up], [0.9, left, up]]) @ matrix.T + one.position
        found = race.passages(one, np.array([1.0, 2.0]), ends)
        assert len(found) == (abs(left) <= 1.0 and abs(up) <= 0.75)
        for passage in found:
            assert passage.offset == pytest.approx((left, up))
            assert passage.time == pytest.approx(1.0 + 0.7 / 1.6)
            assert passage.speed == pytest.approx(1.6)


def test_passing_a_gate_backwards_does_not_count() -> None:
    backwards = along((20, 0, 2), (0, 0, 2))
    assert names(race.judge(THREE, backwards)) == []
    assert race.judge(THREE, backwards).score == 0.0
    # forwards, backwards and forwards again: passed twice in the right direction
    both = along((4, 0, 2), (6, 0, 2), (4, 0, 2), (6, 0, 2))
    assert len(race.passages(THREE.gates[0], both.time, both.position)) == 2


def test_gates_count_only_in_order() -> None:
    # through A, past B, through C, then back and through B
    flight = along(
        (0, 0, 2), (7, 0, 2), (10, 4, 2), (13, 0, 2), (17, 0, 2), (17, 4, 2), (8, 4, 2), (8, 0, 2),
        (12, 0, 2),
    )  # fmt: skip
    result = race.judge(THREE, flight)
    assert names(result) == ["A", "B"]
    assert result.score == pytest.approx(20.0 - result.passages[-1].time)
    assert names(race.judge(THREE, flight, course=["A", "C", "B"])) == ["A", "C", "B"]
    assert names(race.judge(THREE, flight, course=["B"])) == ["B"]


def test_a_row_in_the_plane_of_a_gate_counts_once() -> None:
    position = np.array([[4.0, 0.0, 2.0], [5.0, 0.0, 2.0], [6.0, 0.0, 2.0]])
    time = np.arange(3.0)
    assert len(race.passages(THREE.gates[0], time, position)) == 1
    assert race.passages(THREE.gates[0], time, position)[0].time == 1.0
    assert race.passages(THREE.gates[0], time[1:], position[1:]) == []


def test_a_collision_ends_the_race_with_zero_points() -> None:
    # a crate behind the second gate; the vehicle's sphere meets its near face
    scene = Scene([*THREE.items, Box(name="crate", size=(1, 1, 1), position=(12.5, 0.0, 2.0))])
    result = race.judge(scene, along((0, 0, 2), (20, 0, 2)))
    assert result.collision is not None
    assert result.collision.item == "crate"
    assert 5.0 * result.collision.time == pytest.approx(12.0 - race.COLLISION_RADIUS, abs=0.05)
    assert names(result) == ["A", "B"]
    assert result.score == 0.0
    assert not result.finished


def test_flying_too_close_to_a_gate_is_a_collision() -> None:
    for y, hits in [(0.8, False), (0.9, True), (1.1, True)]:
        result = race.judge(THREE, along((0, y, 2), (20, y, 2)))
        assert (result.collision is not None) == hits
        assert not hits or result.collision is None or result.collision.item == "A"


def test_collisions_are_detected_between_rows() -> None:
    """Rows 0.94 m apart (1/32 s at 30 m/s) against rows 1 cm apart; a gate is 0.1 m deep."""
    rng = np.random.default_rng(6)
    collisions = 0
    for _ in range(100):
        start = np.array([-rng.uniform(0.0, 0.94), rng.uniform(-1.5, 1.5), rng.uniform(0.7, 3.3)])
        judged = []
        for step in (30.0 / 32.0, 0.01):
            x = np.arange(0.0, 8.0, step)[:, None] * [1.0, 0.0, 0.0]
            rows = len(x)
            level = np.tile(LEVEL, (rows, 1))
            flight = race.RaceFlight(x[:, 0] / 30.0, start + x, level, np.zeros((rows, 3)))
            judged.append(race.judge(THREE, flight))
        coarse, fine = judged
        assert (coarse.collision is None) == (fine.collision is None)
        assert names(coarse) == names(fine)
        if coarse.collision is not None and fine.collision is not None:
            assert coarse.collision.item == fine.collision.item
            assert coarse.collision.time == pytest.approx(fine.collision.time, abs=0.01 / 30.0)
            collisions += 1
    assert 20 < collisions < 80


def test_collisions_after_the_last_gate_are_ignored() -> None:
    into_the_ground = along((0, 0, 2), (17, 0, 2), (17, 0, 0))
    assert race.judge(THREE, into_the_ground).score == pytest.approx(27.0)
    assert race.judge(THREE, into_the_ground).collision is None
    missed_one = race.judge(THREE, into_the_ground, course=["C", "A"])
    assert missed_one.collision is not None
    assert missed_one.collision.item == "ground"


def test_the_score_has_the_published_values() -> None:
    assert race.score(11, 18.61) == pytest.approx(91.39)
    assert race.score(3, 12.5) == 17.5
    assert race.score(0, math.nan) == 0.0
    assert race.score(11, 18.61, collided=True) == 0.0
    assert race.score(11, 60.0, time_limit=60.0) == 50.0
    assert race.score(11, 60.001, time_limit=60.0) == 0.0
    assert race.score(1, 14.0) == -4.0
    # one more gate is worth ten seconds
    assert race.score(8, 31.0) == race.score(7, 21.0)
    assert race.team_score([0.0, 90.0, 80.0, 0.0, 70.0, 60.0, 50.0, 10.0]) == 70.0
    for gates, time, limit in [
        (-1, 1.0, 60.0),
        (1, -1.0, 60.0),
        (1, math.nan, 60.0),
        (1, 1.0, 0.0),
    ]:
        with pytest.raises(ValueError, match="expected gates >= 0"):
            race.score(gates, time, time_limit=limit)
    with pytest.raises(ValueError, match="best: expected from 1 to 2"):
        race.team_score([1.0, 2.0])


def test_gates_after_the_time_limit_do_not_count() -> None:
    result = race.judge(THREE, along((0, 0, 2), (20, 0, 2)), time_limit=2.5)
    assert names(result) == ["A", "B"]
    assert result.score == pytest.approx(20.0 - 2.0)


def test_the_clock_starts_with_the_flight() -> None:
    flown = along((0, 0, 2), (20, 0, 2))
    later = race.RaceFlight(flown.time + 100.0, flown.position, flown.attitude, flown.velocity)
    assert race.judge(THREE, later).score == pytest.approx(27.0)


def test_custom_courses_can_be_flown() -> None:
    corners = [(6.0, 0.0, 0.3), (10.0, 6.0, 1.6), (5.0, 12.0, -3.0), (0.0, 6.0, -1.6)]
    gates = [gate(f"G{i}", x, y, yaw) for i, (x, y, yaw) in enumerate(corners)]
    scene = Scene([Plane(name="ground"), *gates])
    result = race.fly(1, scene=scene, start=(0.0, 0.0, 1.0), yaw=0.3)
    assert result.finished
    assert np.allclose(result.flight.position[0], (0.0, 0.0, 1.0))
    twice = race.fly(1, scene=scene, start=(0.0, 0.0, 1.0), course=["G1", "G3", "G0"])
    assert names(twice) == ["G1", "G3", "G0"]


def test_plan_pilot_and_controllers_assume_the_control_vehicle() -> None:
    true = pw.vehicles.load("flightgoggles").replace(body={"mass": 1.2})
    assumed = []

    def pilot(briefing: race.Briefing) -> race.Pilot:
        assumed.append(briefing.vehicle.body.mass)
        return lambda readings: (pw.RateThrust([0.0, 0.0, 0.0], 9.81), None)

    scene = Scene([Plane(name="ground"), gate("A", 6.0, 0.0, 0.0)])
    options: Any = {"scene": scene, "start": (0.0, 0.0, 2.0), "yaw": 0.0}
    reached = {}
    for control in (None, "flightgoggles"):
        options["control_vehicle"] = control
        reached[control] = race.fly(1, true, **options).flight.position[-1, 0]
        race.fly(1, true, pilot=pilot, time_limit=0.1, **options)
    assert (
        reached["flightgoggles"] > reached[None] + 0.1
    )  # a lighter vehicle is planned to be faster
    assert assumed == [1.2, 1.0]


def test_the_speed_profile_keeps_the_acceleration_within_its_bound() -> None:
    """On a straight line v^2 = 2 a s from both ends; on a circle v^2 = a r."""
    steps, bound = np.full(400, 0.05), 5.0
    s = np.concatenate([[0.0], np.cumsum(steps)])
    fastest = np.full(len(s), 12.0)
    straight = _plan._speeds(np.zeros(len(s)), steps, fastest, bound)
    expected = np.sqrt(2.0 * bound * np.minimum(s, s[-1] - s))
    assert np.allclose(straight, np.minimum(expected, 12.0))
    circle = _plan._speeds(np.full(len(s), 1.0 / 3.0), steps, fastest, bound)
    assert circle[200] == pytest.approx(np.sqrt(bound * 3.0))
    along_path = 0.5 * np.diff(circle**2) / steps
    across = circle**2 / 3.0
    both = np.hypot(along_path, np.minimum(across[1:], across[:-1]))
    assert both.max() < bound * 1.001


def test_drag_limits_the_speed_profile() -> None:
    """On a straight line the speed tends to that at which the drag equals the bound."""
    steps, bound, drag = np.full(4000, 0.05), 20.0, (0.5, 0.1)
    fastest = np.full(len(steps) + 1, 100.0)
    speed = _plan._speeds(np.zeros(len(fastest)), steps, fastest, bound, drag)
    terminal = (-drag[0] + math.sqrt(drag[0] ** 2 + 4.0 * drag[1] * bound)) / (2.0 * drag[1])
    assert speed[2000] == pytest.approx(terminal, rel=1e-3)
    assert speed.max() < terminal * (1.0 + 1e-9)


def test_plans_stay_within_the_limits_of_the_vehicle() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    gates = Scene.load("alphapilot", seed=1).gates
    points = race.route((18.5, 6.5, 1.0), gates).points(gates)
    path = _plan.Planner(vehicle).plan(points, 0.5 * np.pi)
    reference = path.sample(period=0.005)
    for at in (0.0, path.duration):
        rest = path.sample([at])
        assert np.abs(np.stack([rest.velocity, rest.acceleration, rest.jerk])).max() < 1e-6
    assert np.allclose(reference.position[0], points[0])
    assert path.sample([path.duration]).position[0] == pytest.approx(points[-1])
    nearest = [np.linalg.norm(reference.position - point, axis=1).min() for point in points]
    assert max(nearest) < 0.6
    assert np.linalg.norm(reference.velocity, axis=1).max() < 1.05 * _plan.LIMITS.speed
    required = flatness(reference, vehicle)
    beyond = required.rotor_thrusts > 1.02 * np.array(vehicle.max_rotor_thrust)
    assert beyond.any(axis=1).mean() < 0.03
    reduced = replace(_plan.LIMITS, thrust=0.6)
    assert _plan.Planner(vehicle, reduced).plan(points).duration > 1.05 * path.duration


def test_a_heading_changes_only_towards_the_path() -> None:
    angle = np.array([3.0, 2.0, 0.1, 0.2, 0.0, 2.9, -2.9])
    direction = np.stack([np.cos(angle), np.sin(angle), np.zeros(7)], axis=1)
    direction[4] = (0.0, 0.0, 1.0)
    expected = [0.0, 0.0, 0.1, 0.2, 1.55, 2.9, 2.0 * np.pi - 2.9]
    assert _plan._headings(direction, 0.0) == pytest.approx(expected)
    assert np.array_equal(_plan._headings(direction[4:5], None), [0.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed: expected a whole number"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"vehicle": "blackbrid"}, "did you mean 'blackbird'"),
        ({"course": ["Gate10", "Gate99"]}, "course: expected names of gates.*got Gate99"),
        ({"course": []}, "course: expected names of gates"),
        ({"wind": (5.0, 0.0)}, "wind: expected"),
        ({"wind": (5.0, 0.0, math.nan)}, "wind: expected"),
        ({"wind": (0.0, 101.0, 0.0)}, r"wind: expected at most 100 m/s"),
        ({"wind": (0.0, 25.0, 0.0)}, r"wind: expected less than 17.8 m/s, at which drag"),
        ({"limits": Limits(thrust=0.2)}, r"limits.thrust = 0.2: expected more than 0.265"),
        ({"limits": 0.5}, "limits: expected Limits or None, got 0.5"),
        ({"turbulence": 5.0}, "turbulence: expected a Dryden or None, got 5.0"),
        ({"start": (1.0, 2.0)}, "start, yaw: expected 3 and 1 finite numbers"),
        ({"start": (1.0, 2.0, math.nan)}, "start, yaw: expected"),
        ({"scene": Scene([gate("A", 5.0)])}, "start: expected a point"),
        ({"scene": Scene([Plane(name="g")], start=Start(position=(0, 0, 1)))}, "it has none"),
        (
            {
                "vehicle": pw.vehicles.load("flightgoggles").replace(
                    rotors=[
                        r.replace(position=(r.position[0], 0.0, 0.0))
                        for r in pw.vehicles.load("flightgoggles").rotors
                    ]
                )
            },
            "torque on three axes",
        ),
    ],
)
def test_invalid_flight_options_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        race.fly(**arguments)


def test_invalid_flights_are_refused() -> None:
    good = along((0, 0, 2), (1, 0, 2))
    for field, value in [
        ("time", good.time[::-1]),
        ("time", good.time[:-1]),
        ("position", good.position[:, :2]),
        ("position", np.full_like(good.position, math.nan)),
        ("attitude", good.attitude[:-1]),
    ]:
        with pytest.raises(ValueError, match=r"flight\."):
            race.judge(THREE, race.RaceFlight(**{**vars(good), field: value}))


def test_the_report_lists_each_gate() -> None:
    text = race.report(race.judge(THREE, along((0, 0, 2), (12, 0, 2))))
    assert "2 of 3 gates, score 18.00" in text
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["A", "B", "C"]
    crashed = race.report(race.judge(THREE, along((0, 0, 2), (3, 0, 0))))
    assert "collision with ground" in crashed


def test_a_gimbal_is_level_and_keeps_the_heading() -> None:
    flight = along((0, 0, 2), (20, 0, 2))
    yaw, tilt = attitude_of(0.7), math.radians(70.0)
    # leaning forward by 70 degrees at a heading of 0.7 rad
    pitch = (math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0)
    c, s = yaw[0], yaw[3]
    attitude = (c * pitch[0], -s * pitch[2], c * pitch[2], s * pitch[0])
    attitudes = np.tile(attitude, (len(flight.time), 1))
    leaning = race.RaceFlight(flight.time, flight.position, attitudes, flight.velocity)
    matrix = _rotation.rotation(_race_video.gimbal(leaning, flight.time[:1])[0])
    assert matrix[:, 0] == pytest.approx([math.cos(0.7), math.sin(0.7), 0.0], abs=1e-12)
    assert matrix[:, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("arguments", [[], ["--camera"]])
@pytest.mark.parametrize("suffix", [".png", ".gif"])
def test_the_command_shows_the_flight(
    arguments: list[str], suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / f"flight{suffix}"
    options = ["--seed", "2", "--size", "64x48", "--rate", "2", "--out", str(out)]
    assert main(["race", *arguments, *options]) == 0
    text = capsys.readouterr().out
    assert "11 of 11 gates, score 9" in text
    with image.open(out) as shown:
        assert shown.width >= 64
        if suffix == ".gif":
            assert shown.n_frames > 20


def test_the_command_prints_a_table_of_several_courses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "--seeds", "2"]) == 0
    head, first, second, finished, team = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "seed"
    scores = [float(line.split()[-1]) for line in (first, second)]
    # scores and their means are printed to two decimals
    for line, before in [(finished, "mean score "), (team, "best 2: ")]:
        shown = float(line.partition(before)[2].split()[0])
        assert shown == pytest.approx(np.mean(scores), abs=0.011)


def test_the_command_flies_other_courses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nbase = "room"\n[[items]]\nshape = "gate"\nname = "Gate1"\n'
        "width = 1.5\nheight = 1.2\nposition = [2, 0, 1.5]\n"
    )
    for course in ("tower", str(file)):
        assert main(["race", "--course", course, "--seeds", "2"]) == 0
        out = capsys.readouterr().out
        assert "2 of 2 courses finished" in out
        assert "published teams" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--course", "towr"], "no course 'towr'; did you mean 'tower'"),
        (["--out", "film.avi"], r"expected a name that ends in \.mp4, \.gif, \.rrd or \.png"),
        (["--out", "no/such/folder.png"], "--out no/such/folder.png"),
        (["--rate", "0.5"], "--rate: expected from 1 to 240"),
        (["--seed", "-3"], "seed: expected a whole number"),
        (["--vehicle", "car"], "expected a multicopter, this is a car"),
        (["--wind", "5", "nan"], "wind: expected finite numbers"),
        (["--gusts", "-1"], "--gusts: expected from 0 to 100"),
        (["--seeds", "0"], "--seeds: expected from 1 to 10000"),
    ],
)
def test_the_command_refuses_invalid_arguments(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["race", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(message, captured.err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["640", "8x8", "1x1", "axb", "640x480x3", "99999x1"])
def test_invalid_sizes_are_refused(size: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["race", "--size", size])
    assert stop.value.code == 2


def test_a_missing_viewer_is_reported_before_the_flight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without rerun nothing is written, and the error names the extra."""
    out = tmp_path / "race.rrd"
    code = main(["race", "--out", str(out)])
    if find_spec("rerun") is None:
        assert code == 2
        assert 'pip install "propwash[rerun]"' in capsys.readouterr().err
        assert not out.exists()
    else:
        assert code == 0
        assert out.stat().st_size > 10_000
