"""Films of recorded flights, and the numbers that are drawn over their images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arcade_helpers import Pilot
from helpers import slow_if
from numpy.typing import NDArray
from propwash import arcade, logs, race, vehicles
from propwash.__main__ import main
from propwash.arcade import FlightSnapshot, Game
from propwash.arcade._film import snapshots
from propwash.arcade._ghosts import of_log
from propwash.arcade._overlay import Overlay, clock
from propwash.arcade._view import FlightView

pytest.importorskip("PIL", reason="Pillow is not installed")

SIZE = (320, 180)


@pytest.fixture(scope="module")
def flown() -> tuple[Game, list[FlightSnapshot]]:
    """A flight through a course, and the snapshots of all its ticks."""
    game = Game(race.find_course("tower"), seed=2)
    pilot = Pilot(game, "assisted", 4.0)
    taken = [game.snapshot]
    while not game.has_ended:
        sticks = pilot(game.snapshot)
        taken += [game.tick(sticks, pilot.mode) for _ in range(4)]
    assert game.phase == "finished"
    return game, taken


@pytest.fixture(scope="module")
def game(flown: tuple[Game, list[FlightSnapshot]]) -> Game:
    return flown[0]


@pytest.fixture(scope="module")
def log(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logs.write_record(tmp_path_factory.mktemp("film") / "flight.csv", game.record())


@pytest.mark.parametrize("rate", [30.0, 7.0])
def test_the_snapshots_of_a_log_are_those_of_the_flight(
    flown: tuple[Game, list[FlightSnapshot]], rate: float
) -> None:
    game, taken = flown
    by_time = {each.time: each for each in taken}
    shown = list(snapshots(game.record(), rate))
    assert np.diff([each.time for each in shown[:-1]]) == pytest.approx(1.0 / rate, abs=0.005)
    for each in shown:
        original = by_time[each.time]
        assert each.race_time == pytest.approx(original.race_time, abs=1e-9)
        assert [name for name, _ in each.passed] == [name for name, _ in original.passed]
        assert (each.phase, each.collision) == (original.phase, original.collision)
        assert (each.sticks, each.mode) == (original.sticks, original.mode)
        for part in ("position", "attitude", "velocity", "body_rates"):
            np.testing.assert_array_equal(getattr(each, part), getattr(original, part))
    assert shown[0].phase == "ready"
    assert shown[-1].phase == "finished"


def test_the_ghost_of_a_log_is_at_the_poses_of_the_flight(game: Game, log: Path) -> None:
    ghost = of_log(log, "before")
    passed = game.snapshot.passed
    assert ghost.gate_times == tuple(time for _, time in passed)
    gates = {gate.name: gate for gate in game.scene.gates}
    for name, time in passed:
        pose = ghost.at(time)
        assert pose is not None
        forward = np.array([np.cos(gates[name].yaw), np.sin(gates[name].yaw), 0.0])
        assert abs((pose[0] - gates[name].position) @ forward) < 1e-6


@pytest.mark.slow
def test_a_film_is_a_video_of_the_flight(log: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "film.gif"
    assert main(
        ["arcade", "--film", str(log), "--out", str(out), "--size", "320x180", "--rate", "1",
         "--ghosts", "pilot"]
    ) == 0  # fmt: skip
    record = logs.read_record(log)
    seconds = record.time[-1] - record.time[0]
    with image.open(out) as video:
        assert video.size == SIZE
        assert video.n_frames == pytest.approx(seconds + 3.0, abs=2)


def test_the_pilot_beside_a_flight_has_its_vehicle(tmp_path: Path) -> None:
    own = vehicles.load("blackbird").replace(name="of a file")
    game = Game(race.find_course("tower"), own)
    for _ in range(120):
        game.tick(arcade.Sticks(throttle=1.0), "angle")
    log = logs.write_record(tmp_path / "flight.csv", game.record())
    out = tmp_path / "film.gif"
    shown = arcade.film(
        log, out, ghosts=["pilot", "best", "policy"], size=SIZE, rate=1.0, antialias=1
    )
    assert shown.endswith(" a second; without ghosts: best, policy")
    assert out.is_file()


def test_numbers_cover_little_of_the_image_and_follow_the_flight(game: Game) -> None:
    view = FlightView(game.scene, (640, 360))
    overlay = Overlay((640, 360), "tower", game.scene.gates)
    changed: list[NDArray[np.bool_]] = []
    shown = list(snapshots(game.record(), 1.0))
    for each in (shown[1], shown[-1]):
        rgb = view.render(each)
        drawn = overlay.draw(rgb, each, view)
        assert drawn.shape == rgb.shape
        assert drawn.dtype == np.uint8
        changed.append(np.any(drawn != rgb, axis=2))
        assert 0.03 < changed[-1].mean() < 0.35
    assert np.any(changed[0] != changed[1])
    result = overlay.draw(rgb, shown[-1], view, ended=True)
    middle = (slice(140, 190), slice(260, 380))
    assert np.any(result[middle] != drawn[middle])


def test_the_arrow_to_a_gate_behind_the_camera_is_drawn(game: Game) -> None:
    view = FlightView(game.scene, (640, 360))
    gate = game.scene.gates[0]
    snapshot = next(snapshots(game.record(), 1.0))
    behind = np.array([np.cos(gate.yaw), np.sin(gate.yaw), 0.0])
    moved = replace(snapshot, position=gate.position + 2.5 * behind)
    rgb = view.render(moved, view="onboard")
    target = view.target(gate.name)
    assert target is not None
    assert not target[2]
    drawn = Overlay((640, 360), "", game.scene.gates).draw(rgb, moved, view)
    amber = np.all(drawn == [255, 183, 3], axis=2)
    amber[:60] = False  # the name of the gate
    assert 50 < amber.sum() < 1000


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0:00.00"), (59.994, "0:59.99"), (59.996, "1:00.00"), (3601.5, "60:01.50")],
)
def test_times(seconds: float, text: str) -> None:
    assert clock(seconds) == text


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"course": None}, "course: expected its name, got None"),
    ({"seed": -1}, "seed: expected a whole number"),
    ({"seed": "x"}, "seed: expected a whole number"),
    ({"take_off": None}, "take_off: expected the time"),
    ({"take_off": 10**400}, "take_off: expected the time"),
    ({"passed": [["Gate1", "x"]]}, "passed: expected pairs"),
    ({"passed": [["Gate1", 5.0], ["Gate2", 4.0]]}, "passed: expected pairs"),
    ({"passed": 3}, "passed: expected pairs"),
    ({"passed": [["Gate1", 10**400]]}, "passed: expected pairs"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [pytest.param(*row, marks=slow_if(k > 1)) for k, row in enumerate(INVALID)],
)
def test_logs_that_are_no_flights_of_the_arcade_are_named(
    game: Game, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    record = game.record()
    record = replace(record, info={**record.info, **changes})
    log = logs.write_record(tmp_path / "flight.csv", record)
    with pytest.raises(ValueError, match="expected a flight of the arcade") as error:
        arcade.film(log, tmp_path / "film.gif")
    assert str(log) in str(error.value)
    assert message in str(error.value)
    assert not (tmp_path / "film.gif").exists()


def test_invalid_arguments_are_refused(log: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rate: expected a number from 1 to 240 \[Hz\]"):
        arcade.film(log, tmp_path / "film.gif", rate=0.0)
    for name in ("film.avi", "film.png"):
        with pytest.raises(ValueError, match=r"\.mp4(,| or) \.gif"):
            arcade.film(log, tmp_path / name)
    with pytest.raises(ValueError, match="no course 'towr'; did you mean 'tower'"):
        arcade.film(log, tmp_path / "film.gif", course="towr")
    with pytest.raises(ValueError, match=r"flight\.csv: expected .* course 'slalom', got 'tower'"):
        arcade.film(log, tmp_path / "film.gif", course="slalom")
    with pytest.raises(FileNotFoundError):
        arcade.film(tmp_path / "none.csv", tmp_path / "film.gif")
