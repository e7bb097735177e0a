"""The camera of the arcade and what its images show; the store of flights."""

from __future__ import annotations

import io
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from propwash import _rotation, arcade, logs, race
from propwash.arcade import Sticks, _images, _store
from propwash.arcade import _messages as messages
from propwash.arcade._images import FrameState, ImageRenderer, Images, Lineup
from propwash.arcade._interface import FlightSnapshot
from propwash.arcade._store import FlightStore
from propwash.arcade._view import CLEARANCE, DISTANCE, RISE, Chase, FlightView
from propwash.world import Box, Gate, Plane, Scene, Start

GROUND = Plane(name="ground", category="ground")


def snapshot(
    time: float = 0.0,
    position: tuple[float, float, float] = (0.0, 0.0, 1.5),
    yaw: float = 0.0,
    tilt: float = 0.0,
) -> FlightSnapshot:
    """A vehicle with a heading, tilted forwards."""
    about_y = (math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0)
    return FlightSnapshot(
        time=time,
        race_time=time,
        phase="flying",
        position=np.array(position),
        attitude=np.array(_rotation.product(_rotation.about_z(yaw), about_y)),
        velocity=np.zeros(3),
        body_rates=np.zeros(3),
        passed=(),
        collision=None,
        mode="assisted",
        sticks=Sticks(),
        number=5,
    )


def test_camera_is_behind_and_above_the_vehicle_whatever_its_tilt() -> None:
    for yaw in (0.0, 1.0, -3.0):
        for tilt in (0.0, 0.5, -1.0):
            at, attitude = Chase(Scene([GROUND])).follow(snapshot(yaw=yaw, tilt=tilt))
            behind = [-DISTANCE * math.cos(yaw), -DISTANCE * math.sin(yaw), 1.5 + RISE]
            np.testing.assert_allclose(at, behind, atol=1e-9)
            assert math.isclose(_rotation.heading(attitude), yaw, abs_tol=1e-9)


def yaw_at(time: float) -> float:
    """A heading that turns through more than a full circle, and back."""
    return 4.0 * math.sin(1.3 * time)


def headings(rate: float) -> list[float]:
    """Headings of the camera at each fifth of a second."""
    chase, found = Chase(Scene([GROUND])), []
    count = round(4.0 * rate)
    for k in range(count + 1):
        time = k / rate
        _, attitude = chase.follow(snapshot(time, yaw=yaw_at(time)))
        if k % round(rate / 5.0) == 0:
            found.append(_rotation.heading(attitude))
    return found


def test_camera_depends_on_simulated_time_and_little_on_the_rate_of_images() -> None:
    finest = np.unwrap(headings(240.0))
    errors = [float(np.max(np.abs(np.unwrap(headings(rate)) - finest))) for rate in (15.0, 30.0)]
    assert errors[1] < 0.01
    assert errors[1] < 0.35 * errors[0]  # second order: a quarter
    assert headings(30.0) == headings(30.0)


def test_camera_of_a_new_flight_does_not_swing() -> None:
    chase = Chase(Scene([GROUND]))
    for k in range(10):
        chase.follow(snapshot(10.0 + 0.02 * k, yaw=0.0))
    at, _ = chase.follow(snapshot(0.0, yaw=2.0))
    np.testing.assert_allclose(at[:2], [-DISTANCE * math.cos(2.0), -DISTANCE * math.sin(2.0)])


def test_camera_is_never_behind_a_wall_and_returns_slowly() -> None:
    wall = Box(name="wall", size=(0.2, 6.0, 6.0), position=(-1.0, 0.0, 3.0))
    scene = Scene([GROUND, wall])
    chase, distances = Chase(scene), []
    for k in range(100):
        point = (0.04 * k - 0.5, 0.0, 1.5)
        at, _ = chase.follow(snapshot(k / 60.0, point))
        if at[0] > -0.9 or point[0] < -0.9:
            pass
        length = np.linalg.norm(at - np.array(point))
        distances.append(float(length))
        assert at[0] > -0.9 + 0.5 * CLEARANCE or at[0] < -1.1
        (visible,) = np.atleast_1d(chase._scene.visible(np.array(point), at))
        assert visible
    assert max(np.diff(distances)) < 0.2
    assert distances[-1] > 0.9 * math.hypot(DISTANCE, RISE)


GATE = Gate(name="gate", position=(6.0, 1.0, 2.0), width=2.0, height=1.0, category="gate")
COURSE = Scene([GROUND, GATE], start=Start(position=(0.0, 0.0, 1.0)))


def test_outline_is_that_of_the_gate_in_the_image() -> None:
    view = FlightView(COURSE, (320, 180))
    without = FlightView(Scene([GROUND]), (320, 180))
    images = [np.asarray(each.render(snapshot(), view="onboard")) for each in (view, without)]
    differs = np.argwhere(np.any(images[0] != images[1], axis=2))
    outline = np.array(view.outline("gate"))
    centre = view.target("gate")
    assert centre is not None
    assert centre[2]
    low, high = outline.min(axis=0), outline.max(axis=0)
    assert np.all(low < centre[:2])
    assert np.all(centre[:2] < high)
    # the bars, 0.2 m wide, are around the opening; the shadow of the gate is below it
    above = differs[differs[:, 0] < high[1]]
    bar = 0.2 / 6.0 * 90.0 / math.tan(math.radians(37.5))
    assert abs(above[:, 1].min() - (low[0] - bar)) < 3.0
    assert abs(above[:, 1].max() - (high[0] + bar)) < 3.0
    assert abs(above[:, 0].min() - (low[1] - bar)) < 3.0


@pytest.mark.parametrize(("yaw", "side"), [(2.6, 1), (-2.2, -1)])
def test_target_behind_the_camera_is_outside_on_the_side_to_turn_to(yaw: float, side: int) -> None:
    view = FlightView(Scene([GROUND, GATE.replace(position=(6.0, 0.0, 1.8))]), (320, 180))
    view.render(snapshot(yaw=yaw), view="onboard")
    target = view.target("gate")
    assert target is not None
    assert not target[2]
    # at a positive yaw the gate ahead is to the right
    assert (target[0] > 320.0) if side > 0 else (target[0] < 0.0)


def test_outline_of_a_gate_around_the_camera_is_finite() -> None:
    view = FlightView(COURSE, (320, 180))
    for x in np.linspace(4.0, 8.0, 41):
        view.render(snapshot(position=(float(x), 1.0, 2.0)), view="onboard")
        outline = np.array(view.outline("gate")).reshape(-1, 2)
        assert np.isfinite(outline).all()
        assert len(outline) in (0, 3, 4, 5, 6)


def test_vehicle_and_ghosts_are_drawn_in_the_view_from_behind() -> None:
    view = FlightView(COURSE, (320, 180))
    onboard = np.asarray(view.render(snapshot(), view="onboard")).copy()
    chase = np.asarray(view.render(snapshot())).copy()
    ghost = (np.array([1.0, 0.5, 1.5]), np.array([1.0, 0.0, 0.0, 0.0]))
    both = np.asarray(view.render(snapshot(), [ghost])).copy()
    inside = (view.camera[0], ghost[1])
    assert np.array_equal(np.asarray(view.render(snapshot(), [inside])), chase)
    assert not np.array_equal(onboard, chase)
    assert not np.array_equal(chase, both)


def test_message_of_an_image_has_its_numbers_and_a_jpeg() -> None:
    image = pytest.importorskip("PIL.Image")
    game = arcade.Game(race.find_course("alphapilot"), seed=1)
    for _ in range(100):
        game.tick(Sticks(throttle=1.0), "assisted", 9)
    renderer = ImageRenderer((160, 90))
    hud, jpeg = messages.unpack_image(renderer.draw(4, FrameState(Lineup(game), game.snapshot)))
    assert (hud.frame, hud.input, hud.gates, hud.next) == (4, 9, 11, "Gate10")
    assert hud.time == game.snapshot.time
    assert hud.height == pytest.approx(game.snapshot.position[2])
    assert image.open(io.BytesIO(jpeg)).size == (160, 90)


def test_a_prepared_scene_is_drawn_without_further_work(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    game, other = (arcade.Game(race.find_course(name)) for name in ("alphapilot", "eight"))
    renderer = ImageRenderer((64, 36))
    renderer.draw(1, FrameState(Lineup(game), game.snapshot))
    renderer.prepare(other.scene)
    monkeypatch.setattr(
        _images, "FlightView", lambda *arguments: pytest.fail("it makes another view")
    )
    renderer.draw(2, FrameState(Lineup(game), game.snapshot))  # the flight before
    for frame in (3, 4):
        renderer.draw(frame, FrameState(Lineup(other), other.snapshot))


def test_thread_of_images_draws_when_asked_and_reports_errors() -> None:
    pytest.importorskip("PIL")
    import threading

    game = arcade.Game(race.find_course("alphapilot"))
    drawn: list[int] = []
    one, failed = threading.Event(), threading.Event()

    def publish(frame: int, data: bytes) -> None:
        drawn.append(frame)
        one.set()
        if frame == 2:
            raise ValueError("for the test")

    images = Images(
        ImageRenderer((64, 36)),
        lambda: FrameState(Lineup(game), game.snapshot),
        publish,
        lambda error: failed.set(),
    )
    images.start()
    assert not one.wait(0.1)
    images.request()
    assert one.wait(20.0)
    images.request()
    assert failed.wait(20.0)
    images.stop()
    assert drawn == [1, 2]


def flown(game: arcade.Game, ticks: int = 200) -> None:
    """Takes off, straight up."""
    game.reset()
    for _ in range(ticks):
        game.tick(Sticks(throttle=1.0), "assisted")


def test_store_writes_logs_and_keeps_those_that_it_cannot_write(tmp_path: Path) -> None:
    sent: list[messages.ToPage] = []
    folder = tmp_path / "new" / "flights"
    store = FlightStore(folder, "tester", ".csv", sent.append)
    game = arcade.Game(race.find_course("alphapilot"))
    flown(game)
    (tmp_path / "new").write_text("a file in place of the folder")
    with pytest.raises(OSError, match="new"):
        store.keep(*game.flown("reset"), 1.0)
    failed = [each for each in sent if isinstance(each, messages.FlightMessage)]
    assert [each.log for each in failed] == [None]
    (tmp_path / "new").unlink()
    flown(game)
    store.keep(*game.flown("reset"), 0.5)
    assert len(store.files) == 2
    records = [logs.read_record(file) for file in store.files]
    assert [record.info["scale"] for record in records] == [1.0, 0.5]
    assert {record.info["pilot"] for record in records} == {"tester"}
    assert len(set(store.files)) == 2
    (message,) = [each for each in sent if isinstance(each, messages.FlightMessage)][1:]
    assert message.log == str(store.files[1])
    assert not message.ranked
    assert [each.log for each in store.board.entries()] == [file.name for file in store.files]


def test_two_programs_write_no_log_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flights that end in the same second, with writing that takes time."""

    def slow(file: Path, record: logs.FlightRecord) -> None:
        time.sleep(0.05)
        logs.write_record(file, record)

    monkeypatch.setattr(_store, "write_record", slow)
    stores = [FlightStore(tmp_path, name, ".csv", lambda message: None) for name in "abcd"]
    game = arcade.Game(race.find_course("alphapilot"))
    flown(game)
    record, result = game.record("reset"), game.result()
    with ThreadPoolExecutor(len(stores)) as threads:
        list(threads.map(lambda store: store.keep(record, result, 1.0), stores))
    pilots = {logs.read_record(store.files[0]).info["pilot"] for store in stores}
    assert pilots == set("abcd")
    assert len(list(tmp_path.glob("*.csv"))) == len(stores)


def test_log_is_written_beside_an_invalid_leader_board(tmp_path: Path) -> None:
    sent: list[messages.ToPage] = []
    store = FlightStore(tmp_path, "tester", ".csv", sent.append)
    (tmp_path / "board.json").write_text("not a board")
    game = arcade.Game(race.find_course("alphapilot"))
    flown(game)
    with pytest.raises(ValueError, match=r"board\.json"):
        store.keep(*game.flown("reset"), 1.0)
    (log,) = tmp_path.glob("*.csv")
    (message,) = [each for each in sent if isinstance(each, messages.FlightMessage)]
    assert (message.log, message.place) == (str(log), None)
    assert any(isinstance(each, messages.Notice) for each in sent)
    assert (tmp_path / "board.json").read_text() == "not a board"
