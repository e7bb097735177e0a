"""Moving items: laws of motion, equality with static scenes, fleets that see each other, files."""

from __future__ import annotations

import math
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import world
from propwash._checks import ParameterError
from propwash.world import Box, Capsule, Gate, Item, Mesh, Plane, Scene, Skeleton, Sphere, Waypoints
from scene_helpers import box_mesh, rays

LEVEL = (1.0, 0.0, 0.0, 0.0)
SHAPES: list[dict[str, Any]] = [
    {"kind": Box, "size": (1.0, 0.5, 0.7)},
    {"kind": Sphere, "radius": 0.6},
    {"kind": Capsule, "radius": 0.3, "length": 1.0},
    {"kind": world.Cylinder, "radius": 0.4, "height": 0.9},
    {"kind": Gate, "width": 1.2, "height": 1.0},
    {"kind": Mesh, **box_mesh((0.5, 0.9, 1.3))},
]


def unit(rng: np.random.Generator, n: int) -> NDArray[Any]:
    q = rng.normal(size=(n, 4))
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def tumbling(rng: np.random.Generator) -> Waypoints:
    return Waypoints(np.arange(5.0), rng.uniform(-5, 5, (5, 3)), unit(rng, 5))


def moving_scene(seed: int) -> Scene:
    """Items of all shapes, every second one moving, with poses relative to their bodies."""
    rng = np.random.default_rng(seed)
    items: list[Item] = [Plane(name="ground", position=(0, 0, -6))]
    for i in range(24):
        shape = dict(SHAPES[i % len(SHAPES)])
        kind = shape.pop("kind")
        place = rng.uniform(-5, 5, 3) if i % 4 else (0.1 * i, 0.0, 0.0)
        motion = None if i % 4 else tumbling(rng)
        attitude = tuple(unit(rng, 1)[0].tolist())
        items.append(kind(name=f"{i}", position=place, attitude=attitude, motion=motion, **shape))
    return Scene(items)


@pytest.mark.parametrize("time", [-1.0, 0.0, 0.4, 2.7, 9.0])
def test_a_moving_scene_equals_the_static_scene_of_its_items_bit_for_bit(time: float) -> None:
    now = moving_scene(3).at(time)
    rest = Scene(now.items)
    assert not rest.has_motion
    for dtype in (np.float32, np.float64):
        origins, directions = (x.astype(dtype) for x in rays(3000, 4))
        hits = now.raycast(origins, directions), rest.raycast(origins, directions)
        for a, b in zip(*hits, strict=True):
            np.testing.assert_array_equal(a, b)
        free = now.visible(origins, directions)
        np.testing.assert_array_equal(free, rest.visible(origins, directions))
        threaded = now.raycast(origins, directions, threads=2)
        np.testing.assert_array_equal(threaded.id, now.raycast(origins, directions).id)
    for mine, other in (
        (now.collides(origins, radius=0.4), rest.collides(origins, radius=0.4)),
        (now.collides(origins, size=(0.3, 0.5, 0.2)), rest.collides(origins, size=(0.3, 0.5, 0.2))),
        (now.spherecast(origins, directions, 0.3), rest.spherecast(origins, directions, 0.3)),
    ):
        np.testing.assert_array_equal(mine.id, other.id)
        np.testing.assert_array_equal(mine[0], other[0])
    np.testing.assert_array_equal(now.markers.positions, rest.markers.positions)


def test_a_static_scene_does_not_change_with_time() -> None:
    scene = Scene.load("room")
    assert scene.at(3.0) is scene
    assert not scene.has_motion
    assert scene.moving == ()


def test_the_range_to_a_body_that_moves_with_the_vehicle_is_constant() -> None:
    velocity = np.array([1.3, -0.4, 0.7])
    ahead = Waypoints([0.0, 10.0], np.array([4, 0, 0]) + np.outer([0, 10], velocity))
    scene = Scene([Box(name="other", size=(1, 1, 1), motion=ahead)])
    finder = pw.RangeFinder(scene, [1, 0, 0], variance=0.0)
    times = np.linspace(0.0, 10.0, 23)
    ranges = [finder.measure(velocity * t, LEVEL, time=t).range for t in times]
    np.testing.assert_allclose(ranges, 3.5, rtol=1e-12)


def test_the_range_decreases_by_the_closing_speed() -> None:
    scene = Scene(
        [Sphere(name="ball", radius=0.5, motion=lambda t: ((9.0 - 2.0 * t, 0, 0), LEVEL))]
    )
    finder = pw.RangeFinder(scene, [1, 0, 0], variance=0.0)
    times = np.linspace(0.0, 2.0, 9)
    ranges = np.array([finder.measure((1.5 * t, 0, 0), LEVEL, time=t).range for t in times])
    np.testing.assert_allclose(np.diff(ranges), -3.5 * 0.25, rtol=1e-12)
    with pytest.raises(ValueError, match=r"time: expected the time of the reading"):
        finder.measure((0, 0, 0), LEVEL)
    with pytest.raises(ValueError, match=r"time: expected a finite number"):
        finder.measure((0, 0, 0), LEVEL, time=math.nan)


def test_all_sensors_of_a_vehicle_measure_the_scene_of_their_time() -> None:
    scene = moving_scene(8)
    camera = pw.Camera(12, 9)
    markers = {"a": [3.0, 2.0, 1.0], "b": [-2.0, 3.0, 0.5]}
    rng = np.random.default_rng(1)
    position, attitude = rng.uniform(-4, 4, (9, 3)), unit(rng, 9)
    makers: list[Any] = [
        lambda s: pw.RangeFinder(s, [[1, 0, 0], [0, 1, 0], [0, 0, -1]], seed=3),
        lambda s: pw.Beacons(s, camera, markers, deviation=1.0),
        lambda s: pw.Beacons(s, camera),
        lambda s: pw.DepthCamera(s, camera, max_depth=30.0),
        lambda s: pw.CollisionSensor(s, radius=1.0),
    ]
    for make in makers:
        for time in (0.3, 2.2):
            moving = make(scene).measure(position, attitude, time=time)
            static = make(Scene(scene.at(time).items)).measure(position, attitude)
            for name, array in vars(moving).items():
                np.testing.assert_array_equal(array, getattr(static, name), err_msg=name)


def test_a_beacon_is_hidden_while_a_body_passes() -> None:
    passing = Waypoints([0.0, 4.0], [[3, -4, 0], [3, 4, 0]])  # in the line between 1.8 and 2.2 s
    scene = Scene([Capsule(name="person", radius=0.4, length=1.0, motion=passing)])
    beacons = pw.Beacons(scene, pw.Camera(), {"lamp": [6.0, 0.0, 0.0]})
    seen = {t: bool(beacons.measure((0, 0, 0), LEVEL, t).visible[0]) for t in (1.7, 1.9, 2.1, 2.3)}
    assert seen == {1.7: True, 1.9: False, 2.1: False, 2.3: True}


def test_the_markers_of_a_moving_gate_move_with_it() -> None:
    gate = Gate(name="G", width=1.0, height=1.0, motion=Waypoints([0, 1], [[5, 0, 0], [5, 1, 0]]))
    scene = Scene([gate])
    shift = scene.at(1.0).markers.positions - scene.at(0.0).markers.positions
    np.testing.assert_allclose(shift, [[0, 1, 0]] * 4, atol=1e-12)
    beacons = pw.Beacons(scene, pw.Camera())
    u = [beacons.measure((0, 0, 0), LEVEL, t).u for t in (0.0, 1.0)]
    assert (u[1] < u[0]).all()  # to the left
    assert scene.at(1.0).gates[0].position == (5.0, 1.0, 0.0)


def test_a_fleet_measures_at_the_time_of_its_clock() -> None:
    closing = Waypoints([0.0, 10.0], [[0, 0, 30], [0, 0, 10]])
    scene = Scene([Box(name="lid", size=(50, 50, 1), motion=closing)])
    fleet = pw.Fleet("flightgoggles", 3, dtype="float64", seed=2)
    handle = fleet.attach(pw.RangeFinder(scene, [0, 0, 1], max_range=100.0, variance=0.0), 30.0)
    fleet.step(pw.RateThrust([0, 0, 0], 9.81), substeps=320)
    expected = 29.5 - 2.0 * handle.time - fleet.position[:, 2]
    assert handle.time[0] == pytest.approx(0.3, abs=0.034)
    np.testing.assert_allclose(handle.reading.range, expected, atol=0.05)
    fleet.reset(seed=2)
    assert handle.samples == 1
    again = pickle.loads(pickle.dumps(fleet))
    for each in (fleet, again):
        each.step(pw.RateThrust([0, 0, 0], 9.81), substeps=100)
    np.testing.assert_array_equal(
        fleet.sensors["range_finder"].reading.range, again.sensors["range_finder"].reading.range
    )


BALLS = Scene([Plane(name="ground", position=(0, 0, -9))], vehicles=Sphere(name="v", radius=0.3))


def test_vehicles_see_each_other_and_never_themselves() -> None:
    position = np.array([[0.0, 0, 0], [2.0, 0, 0], [7.0, 0, 0]])
    finder = pw.RangeFinder(BALLS, [[1, 0, 0], [-1, 0, 0]], variance=0.0)
    ranges = finder.measure(position, LEVEL).range
    np.testing.assert_allclose(ranges, [[1.7, 21.0], [4.7, 1.7], [21.0, 4.7]], rtol=1e-12)
    assert finder.measure(position[0], LEVEL).range.tolist() == [21.0, 21.0]
    depth = pw.DepthCamera(BALLS, pw.Camera(9, 9), max_depth=50.0).measure(position, LEVEL).depth
    np.testing.assert_allclose(depth[:, 4, 4], [1.7, 4.7, 50.0])
    seen = pw.Beacons(BALLS, pw.Camera(), {"lamp": [9, 0, 0]}).measure(position, LEVEL).visible
    assert seen[:, 0].tolist() == [False, False, True]
    hits = BALLS.at(0.0, position, LEVEL).raycast([[1.0, 0, 5]], [[0.9, 0, -5]])
    assert hits.id.tolist() == [len(BALLS) + 1]


def test_contact_between_vehicles_is_symmetric() -> None:
    rng = np.random.default_rng(6)
    position = rng.uniform(-2.0, 2.0, (200, 3)).astype(np.float32)
    reading = pw.CollisionSensor(BALLS, radius=0.3).measure(position, LEVEL)
    apart = np.linalg.norm(position[:, None].astype(float) - position, axis=2)
    np.fill_diagonal(apart, np.inf)
    touches = apart < 0.6
    np.testing.assert_array_equal(reading.collision, touches.any(axis=1))
    first = np.where(touches.any(axis=1), touches.argmax(axis=1) + len(BALLS), -1)
    np.testing.assert_array_equal(reading.id, first)
    assert 20 < reading.collision.sum() < 180
    for i, j in np.argwhere(touches)[:40]:
        pair = pw.CollisionSensor(BALLS, radius=0.3).measure(position[[i, j]], LEVEL)
        assert pair.collision.all()
        assert pair.id.tolist() == [len(BALLS) + 1, len(BALLS)]


def test_a_vehicle_that_has_diverged_is_absent() -> None:
    position = np.array([[0.0, 0, 0], [np.nan, 0, 0], [4.0, 0, 0]])
    ranges = pw.RangeFinder(BALLS, [1, 0, 0], variance=0.0).measure(position, LEVEL).range
    np.testing.assert_array_equal(ranges[[0, 2]], [3.7, 21.0])
    assert np.isnan(ranges[1])
    at_the_origin = np.array([[0.1, 0, 0], [np.nan, 0, 0]])
    reading = pw.CollisionSensor(BALLS).measure(at_the_origin, LEVEL)
    assert reading.collision.tolist() == [False, False]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fleet_in_one_scene_is_measured_as_bodies_are(threads: int) -> None:
    n = 70
    rng = np.random.default_rng(3)
    start = rng.uniform(-3.0, 3.0, (n, 3))
    fleet = pw.Fleet("flightgoggles", n, seed=4, threads=threads)
    fleet.reset(position=start)
    finder = pw.RangeFinder(BALLS, [[1, 0, 0], [0, 0, -1]], variance=0.0)
    contact = fleet.attach(pw.CollisionSensor(BALLS, radius=0.3), 960.0)
    handle = fleet.attach(finder, 960.0)
    fleet.step(pw.RateThrust([0.3, 0.1, 0], 9.5), substeps=40)
    pose = fleet.position, fleet.attitude
    expected = pw.RangeFinder(BALLS, [[1, 0, 0], [0, 0, -1]], variance=0.0).measure(*pose)
    np.testing.assert_array_equal(handle.reading.range, expected.range)
    touched = pw.CollisionSensor(BALLS, radius=0.3).measure(*pose)
    np.testing.assert_array_equal(contact.reading.id, touched.id)
    assert touched.collision.any()


def test_first_readings_of_some_vehicles_include_the_others() -> None:
    fleet = pw.Fleet("flightgoggles", 40, seed=4)
    fleet.reset(position=np.arange(40.0)[:, None] * [1.0, 0, 0])
    handle = fleet.attach(pw.RangeFinder(BALLS, [1, 0, 0], variance=0.0), 10.0)
    handle.prime(np.arange(40) == 7)
    assert handle.reading.range[7] == pytest.approx(0.7, abs=1e-5)


def test_motions_may_be_functions_and_are_checked() -> None:
    def scene(motion: Any) -> Scene:
        return Scene([Sphere(name="ball", radius=0.5, motion=motion)])

    rising = scene(lambda t: (np.array([0, 0, t]), [1, 0, 0, 0]))
    assert rising.at(2.5)["ball"].position == (0.0, 0.0, 2.5)
    absent = scene(lambda t: ([math.nan] * 3, [1, 0, 0, 0]))
    assert absent.at(1.0).raycast([[0, 0, 5]], [[0, 0, -1]]).id.tolist() == [-1]
    with pytest.raises(ValueError, match=r"motion of 'ball' at 0 s: expected a position"):
        scene(lambda t: (1.0, 2.0))
    with pytest.raises(ValueError, match=r"motion of 'ball' .* norm 1, got 2"):
        scene(lambda t: ((0, 0, 0), (2, 0, 0, 0)))
    with pytest.raises(ParameterError, match="motion = 3: expected a function of time"):
        scene(3)
    with pytest.raises(ParameterError, match=r"motion\.times\[1\]: expected finite, increasing"):
        scene({"times": [1.0, 1.0], "positions": [[0, 0, 0]] * 2})
    with pytest.raises(ParameterError, match=r"motion\.attitudes: expected unit quaternions"):
        scene({"times": [0.0], "positions": [[0, 0, 0]], "attitudes": [[2, 0, 0, 0]]})
    with pytest.raises(ValueError, match="position: expected None for a scene without vehicles"):
        rising.at(0.0, [[0, 0, 0]])
    with pytest.raises(ValueError, match="attitude: expected None without the positions"):
        rising.at(0.0, attitude=[LEVEL])
    with pytest.raises(ParameterError, match=r"vehicles: .*expected a shape"):
        Scene(vehicles=Plane(name="p"))


def test_scene_files_declare_motions(tmp_path: Path) -> None:
    text = """
name = "yard"
[[items]]
shape = "capsule"
name = "walker"
radius = 0.3
length = 1.2
position = [0, 0, 0.9]
[items.motion]
times = [0.0, 4.0, 8.0]
positions = [[5, -3, 0], [5, 3, 0], [5, -3, 0]]
yaws = [1.5, 1.5, 1.5]
repeat = true
[[items]]
shape = "sphere"
name = "ball"
radius = 0.2
"""
    path = tmp_path / "yard.toml"
    path.write_text(text)
    scene = Scene.load(path)
    assert scene.has_motion
    assert scene.at(2.0)["walker"].position == pytest.approx((5.0, 0.0, 0.9))
    assert scene.at(10.0)["walker"].position == pytest.approx((5.0, 0.0, 0.9))
    scene.save(tmp_path / "again.toml")
    again = Scene.load(tmp_path / "again.toml")
    assert again.items == scene.items
    copied = pickle.loads(pickle.dumps(scene.at(3.0)))
    assert copied.items == scene.at(3.0).items
    function = Scene([Sphere(name="s", radius=1.0, motion=lambda t: ((t, 0, 0), LEVEL))])
    with pytest.raises(ParameterError, match=r"motion of 's': expected Waypoints"):
        function.save(tmp_path / "never.toml")
    absent = Scene(Skeleton([Sphere(name="s", radius=1.0)]).items)
    with pytest.raises(ParameterError, match="item 's': expected a pose, it is absent at 2 s"):
        absent.at(2.0).save(tmp_path / "never.toml")
    assert not (tmp_path / "never.toml").exists()
    sampled = Waypoints.recorded(function.items[0].motion, [0.0, 1.0])  # type: ignore[arg-type]
    assert sampled(0.5).position.tolist() == [0.5, 0.0, 0.0]
    path.write_text(text.replace("yaws", "jaws"))
    with pytest.raises(ParameterError, match=r"yard\.toml: items\[0\]\.motion"):
        Scene.load(path)


def test_a_recorded_and_a_streamed_skeleton_agree() -> None:
    rng = np.random.default_rng(2)
    bones = [Capsule(name="arm", radius=0.1, length=0.5), Box(name="trunk", size=(0.3, 0.4, 0.6))]
    times = np.cumsum(rng.uniform(0.05, 0.2, 30))
    joints = rng.uniform(-2, 2, (30, 2, 3))
    positions, attitudes = world.poses_between(joints, joints + np.array([0.1, 0.2, 0.5]))
    recorded = Skeleton(bones, times, positions, attitudes)
    streamed = Skeleton(bones, history=1000)
    scene = Scene(streamed.items)
    assert scene.raycast([[0, 0, 9]], [[0, 0, -1]]).id.tolist() == [-1]
    for time, at, q in zip(times, positions, attitudes, strict=True):
        streamed.append(time, at, q)
    other = Scene(recorded.items)
    for t in (times[0], 0.5 * (times[3] + times[4]), times[-1] + 1.0):
        assert scene.at(t).items == other.at(t).items
    walk = Waypoints(times, positions[:, 1], attitudes[:, 1])
    t = 0.3 * times[7] + 0.7 * times[8]
    np.testing.assert_allclose(other.at(t)["trunk"].position, walk(t).position, atol=1e-12)
    with pytest.raises(ParameterError, match=r"time = .*: expected more than that of the last"):
        streamed.append(times[-1], positions[0], attitudes[0])
    with pytest.raises(ParameterError, match="positions: expected"):
        streamed.append(times[-1] + 1.0, positions[0][:1], attitudes[0])
    for wrong in (["arm"], [bones[0].replace(motion=walk)]):
        with pytest.raises(ParameterError, match="bones: expected items without motions"):
            Skeleton(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"times: expected .* of shape \(T,\)"):
        Skeleton(bones, 3.0, positions, attitudes)


def test_capsules_between_joints_reach_both_of_them() -> None:
    rng = np.random.default_rng(9)
    starts, ends = rng.normal(size=(2, 50, 3))
    ends[0] = starts[0] - [0, 0, 1.0]
    positions, attitudes = world.poses_between(starts, ends)
    half = 0.5 * np.linalg.norm(ends - starts, axis=1)
    w, x, y, z = attitudes.T
    axis = np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=1)
    np.testing.assert_allclose(positions + half[:, None] * axis, ends, atol=1e-12)
    with pytest.raises(ValueError, match="differ from starts"):
        world.poses_between(starts, starts)


def test_a_stream_may_be_fed_from_another_thread_and_keeps_its_history() -> None:
    bone = Sphere(name="head", radius=0.1)
    stream = Skeleton([bone], history=50)
    scene = Scene(stream.items)
    stream.append(0.0, [[0, 0, 0]], [LEVEL])

    def feed() -> None:
        for i in range(1, 2000):
            stream.append(float(i), [[float(i), 0, 0]], [LEVEL])

    thread = threading.Thread(target=feed)
    thread.start()
    while thread.is_alive():
        time = stream.last_time
        found = scene.at(time)["head"].position[0]
        assert found == time or math.isnan(found)  # dropped meanwhile
    thread.join()
    assert scene.at(1990.5)["head"].position[0] == pytest.approx(1990.5)
    assert stream.last_time == 1999.0


def test_a_person_stands_on_the_ground_with_the_given_height() -> None:
    walk = Waypoints([0, 1], [[0, 0, 0], [2, 0, 0]])
    scene = Scene([Plane(name="ground"), *world.person(motion=walk, height=1.9)])
    now = scene.at(0.5)
    top = now.raycast([[1.0, 0.0, 5.0]], [[0.0, 0.0, -1.0]])
    assert top.distance[0] == pytest.approx(5.0 - 1.9)
    assert now.items[top.id[0]].category == "person"
    assert now.collides([1.0, 0.0, 1.0], radius=0.1).collided
    assert not now.collides([0.0, 0.0, 1.0], radius=0.1).collided


def test_courses_and_environments_refuse_moving_scenes() -> None:
    gate = Gate(name="G", width=1.0, height=1.0, motion=Waypoints([0, 1], [[5, 0, 0], [5, 1, 0]]))
    scene = Scene([gate], start=world.Start(position=(0, 0, 1)))
    with pytest.raises(ValueError, match="course: expected a scene whose items do not move"):
        pw.race.course_gates(scene)
    assert pw.race.course_gates(scene.at(1.0))[0].position == (5.0, 1.0, 0.0)
    gym = pytest.importorskip("propwash.gym")
    with pytest.raises(ValueError, match="scene: expected one whose items do not move"):
        gym.Hover(scene=scene)
