"""Separate sensors: geometry against closed forms, noise statistics, and refused arguments.

Statistics are tested at four sigma, with fixed seeds.
"""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import axis_angle
from numpy.typing import NDArray
from propwash import _core
from propwash.sensors import isa_altitude, isa_pressure
from propwash.world import Box, Plane, Scene

LEVEL = [1.0, 0.0, 0.0, 0.0]
GROUND = Scene([Plane(name="ground")])
ANYTHING: Any = (1.0,)


def unit_quaternions(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    q = rng.normal(size=(*shape, 4))
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def test_camera_matrix_and_rays_match_a_pinhole_camera() -> None:
    camera = pw.Camera()
    f = 384.0 / np.tan(np.radians(35.0))
    np.testing.assert_allclose(camera.matrix, [[f, 0, 512], [0, f, 384], [0, 0, 1]], rtol=1e-14)
    small = pw.Camera(8, 6, 50.0)
    rays = small.rays
    assert rays.shape == (6, 8, 3)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), 1.0)
    assert rays[0, 0, 1] > 0.0 > rays[0, -1, 1]  # the first column looks left
    assert rays[0, 0, 2] > 0.0 > rays[-1, 0, 2]  # the first row looks up
    projected = small.project(rays.reshape(-1, 3) * 7.0)
    columns, rows = np.meshgrid(np.arange(8) + 0.5, np.arange(6) + 0.5)
    np.testing.assert_allclose(projected.u, columns.reshape(-1), atol=1e-12)
    np.testing.assert_allclose(projected.v, rows.reshape(-1), atol=1e-12)
    assert projected.in_view.all()


def test_a_gimbal_rotates_the_view() -> None:
    camera = pw.Camera(640, 480)
    ahead = camera.project([5.0, 0.0, 0.0])
    up = camera.mounted(attitude=axis_angle([0, 1, 0], -0.2)).project([5.0, 0.0, 0.0])
    assert ahead.v == 240.0
    assert up.v > 240.0
    each = pw.Camera(640, 480, attitude=[axis_angle([0, 1, 0], a) for a in (0.0, -0.2)])
    both = each.project([5.0, 0.0, 0.0], np.zeros((2, 3)), LEVEL)
    np.testing.assert_allclose(both.v, [240.0, float(up.v)])
    with pytest.raises(ValueError, match="expected poses of 2 bodies"):
        each.project([5.0, 0.0, 0.0], np.zeros((3, 3)), LEVEL)


def test_rays_may_have_any_direction_length_and_batch_shape() -> None:
    directions = np.array([[0, 0, -2.0], [1, 0, -1], [0, 0, 1]])
    finder = pw.RangeFinder(GROUND, directions, variance=0.0, position=[0, 0, -0.5])
    position = np.zeros((2, 3, 3), dtype=np.float32)
    position[..., 2] = 2.5
    reading = finder.measure(position, LEVEL)
    assert reading.range.shape == (2, 3, 3)
    assert reading.range.dtype == np.float32
    np.testing.assert_allclose(reading.range[1, 2], [2.0, 2.0 * np.sqrt(2.0), 21.0], rtol=1e-6)
    for length in (1e-200, 1e200, 1e-320):
        far = pw.RangeFinder(GROUND, length * np.array([0, 0, -1.0]), variance=0.0)
        assert far.measure([0, 0, 3.0], LEVEL).range == 3.0


def test_range_noise_has_the_published_variance() -> None:
    # the variance of n readings has a relative standard deviation of sqrt(2 / n)
    n = 40_000
    readings = pw.RangeFinder(GROUND, seed=3).measure(np.tile([0, 0, 5.0], (n, 1)), LEVEL).range
    assert abs(np.mean((readings - 5.0) ** 2) / 0.009 - 1.0) < 4.0 * np.sqrt(2.0 / n)


def test_samples_are_counted_and_a_seed_restarts_the_noise() -> None:
    finder = pw.RangeFinder(GROUND, seed=3)
    readings = [finder.measure([0, 0, 5.0], LEVEL).range for _ in range(4)]
    assert len(set(readings)) == 4
    assert finder.samples == 4
    copy = pickle.loads(pickle.dumps(finder))
    assert copy.measure([0, 0, 5.0], LEVEL).range == finder.measure([0, 0, 5.0], LEVEL).range
    finder.reset()
    assert finder.samples == 5
    assert finder.measure([0, 0, 5.0], LEVEL).range not in readings
    finder.reset(seed=3)
    assert [finder.measure([0, 0, 5.0], LEVEL).range for _ in range(4)] == readings
    finder.reset(seed=4)
    assert finder.measure([0, 0, 5.0], LEVEL).range != readings[0]


def test_beacons_left_right_and_hidden() -> None:
    screen = Box(name="screen", position=(5.0, 0.0, 0.0), size=(0.1, 1.0, 1.0))
    markers = {"left": [9, 2, 0], "above": [9, 0, 3], "hidden": [9, 0, 0], "behind": [-3, 0, 0]}
    beacons = pw.Beacons(Scene([screen]), markers=markers)
    assert beacons.ids == ("left", "above", "hidden", "behind")
    projected = beacons.measure([0, 0, 0], LEVEL)
    assert projected.visible.tolist() == [True, True, False, False]
    assert projected.u[0] < 512.0
    assert projected.v[1] < 384.0
    assert np.isnan(projected.u[2:]).all()
    beacons.camera = beacons.camera.mounted(attitude=axis_angle([0, 0, 1], np.pi))  # looks back
    assert beacons.measure([0, 0, 0], LEVEL).visible.tolist() == [False, False, False, True]


def test_beacons_of_a_scene_are_at_their_projections() -> None:
    scene = Scene.load("alphapilot")
    beacons = pw.Beacons(scene)
    gate = scene.gates[0]
    position, attitude = np.asarray(gate.position), np.asarray(gate.attitude)
    # the x axis of the gate in the world
    w, v, x = attitude[0], attitude[1:], np.array([1.0, 0.0, 0.0])
    forward = x + 2.0 * w * np.cross(v, x) + 2.0 * np.cross(v, np.cross(v, x))
    before = position - 6.0 * forward
    projected = beacons.measure(before, attitude)
    corners = [i for i, name in enumerate(beacons.gates) if name == gate.name]
    assert [beacons.ids[i] for i in corners] == [f"{gate.name}_{k}" for k in (1, 2, 3, 4)]
    assert beacons.corners[corners].tolist() == list(gate.marker_corners)
    assert projected.visible[corners].all()
    expected = beacons.camera.project(beacons.positions, before, attitude)
    np.testing.assert_allclose(projected.u[corners], expected.u[corners], atol=1e-9)
    np.testing.assert_allclose(projected.v[corners], expected.v[corners], atol=1e-9)
    assert abs(np.mean(projected.u[corners]) - 512.0) < 1e-6


def test_beacons_of_no_gate() -> None:
    beacons = pw.Beacons(GROUND, markers={"a": [2.0, 0.0, 1.5], "b": [3.0, 0.0, 1.5]})
    assert beacons.gates == ("", "")
    assert beacons.corners.tolist() == [-1, -1]


def test_beacons_beyond_the_reach_and_missed_ones_are_absent() -> None:
    markers = {"near": [14.9, 0, 0], "far": [15.1, 0, 0]}
    beacons = pw.Beacons(Scene(), markers=markers, reach=15.0, miss_rate=0.7, seed=4)
    bodies = np.zeros((4000, 3))
    reading = beacons.measure(bodies, np.tile(LEVEL, (4000, 1)))
    assert not reading.visible[:, 1].any()
    # binomial, at four standard deviations
    assert abs(np.mean(reading.visible[:, 0]) - 0.3) < 4.0 * np.sqrt(0.3 * 0.7 / 4000)
    assert np.array_equal(np.isnan(reading.u), ~reading.visible)
    again = beacons.measure(bodies, np.tile(LEVEL, (4000, 1)))
    both = np.mean(reading.visible[:, 0] & again.visible[:, 0])
    assert abs(both - 0.09) < 4.0 * np.sqrt(0.09 * 0.91 / 4000)  # readings are independent


def test_depth_image_of_a_wall_and_of_free_space() -> None:
    wall = Scene([Box(name="wall", position=(6.0, 0.0, 0.0), size=(2.0, 90.0, 90.0))])
    camera = pw.DepthCamera(wall, max_depth=20.0)
    images = camera.measure(np.array([[0.0, 0, 0], [2.0, 0, 0]], dtype=np.float32), LEVEL).depth
    assert images.shape == (2, 48, 64)
    np.testing.assert_allclose(images[0], 5.0, rtol=1e-5)
    np.testing.assert_allclose(images[1], 3.0, rtol=1e-5)
    assert (camera.measure([0, 0, 0], axis_angle([0, 0, 1], np.pi)).depth == 20.0).all()
    noisy = pw.DepthCamera(wall, max_depth=20.0, deviation=0.1).measure([0, 0, 0], LEVEL).depth
    assert abs(np.var(noisy - 5.0) / 0.01 - 1.0) < 4.0 * np.sqrt(2.0 / noisy.size)


def test_collision_of_a_sphere_on_the_body() -> None:
    sensor = pw.CollisionSensor(GROUND, radius=0.2, position=[0.0, 0.0, -0.1])
    reading = sensor.measure([[0, 0, 0.31], [0, 0, 0.29], [0, 0, -5.0]], LEVEL)
    assert reading.collision.tolist() == [False, True, True]
    assert reading.id.tolist() == [-1, 0, 0]
    assert not sensor.measure([0, 0, 0.29], axis_angle([1, 0, 0], np.pi)).collision


def test_gnss_without_errors_is_exact() -> None:
    exact = pw.Gnss((0, 0), (0, 0), (0, 0), position=[0.0, 0.0, 0.1])
    fix = exact.measure([1, 2, 3], axis_angle([1, 0, 0], np.pi / 2), [4, 5, 6], [0, 2, 0])
    np.testing.assert_allclose(fix.position, [1, 1.9, 3], atol=1e-12)
    # rates about body y move the antenna along body x
    np.testing.assert_allclose(fix.velocity, [4.2, 5, 6], atol=1e-12)
    np.testing.assert_allclose(
        exact.local([fix.latitude_deg, fix.longitude_deg, fix.altitude]), fix.position, atol=1e-6
    )


def test_gnss_noise_is_white_and_its_bias_a_gauss_markov_process() -> None:
    # relative standard deviations for n runs: sqrt(2 / n) of a variance, and
    # sqrt((1 + rho^2) / n) of a correlation
    n, bodies = 20_000, np.zeros((20_000, 3))
    for dt in (1.0, 0.25):
        white = pw.Gnss(bias=(0, 0), seed=8).measure(bodies, dt=dt)
        expected = np.array([0.16, 0.16, 0.49]) / dt
        ratio = np.mean(white.position**2, axis=0) / expected
        assert np.all(np.abs(ratio - 1.0) < 4.0 * np.sqrt(2.0 / n))
        speed = np.mean(white.velocity**2) * dt / 0.05**2
        assert abs(speed - 1.0) < 4.0 * np.sqrt(2.0 / (3 * n))
    slow = pw.Gnss((0, 0), (0, 0), bias=(3.0, 5.0), bias_time=10.0, seed=9)
    first = slow.measure(bodies, dt=1.0).position
    for _ in range(8):
        last = slow.measure(bodies, dt=1.0).position
    variance, rho = np.array([9.0, 9.0, 25.0]), np.exp(-0.8)
    for sample in (first, last):
        ratio = np.mean(sample**2, axis=0) / variance
        assert np.all(np.abs(ratio - 1.0) < 4.0 * np.sqrt(2.0 / n))
    found = np.mean(first * last, axis=0) / variance
    assert np.all(np.abs(found - rho) < 4.0 * np.sqrt((1.0 + rho**2) / n))


def test_barometer_inverts_its_atmosphere() -> None:
    exact = pw.Barometer(0.0, 0.0, altitude=500.0)
    heights = np.linspace(-100.0, 3000.0, 50)
    reading = exact.measure(np.stack([0 * heights, 0 * heights, heights], axis=-1))
    np.testing.assert_allclose(reading.altitude, heights + 500.0, atol=1e-8)
    for pressure, height in zip(reading.pressure, heights, strict=True):
        assert abs(isa_pressure(height + 500.0) - pressure) < 1e-6
        assert abs(isa_altitude(pressure) - height - 500.0) < 1e-8
    noisy = pw.Barometer(drift=0.0, seed=1).measure(np.zeros((40_000, 3)), dt=0.02).pressure
    variance = np.mean((noisy - 101325.0) ** 2) / (0.11**2 * 50.0)
    assert abs(variance - 1.0) < 4.0 * np.sqrt(2.0 / 40_000)


def test_magnetometer_measures_in_body_axes_with_iron_errors() -> None:
    rng = np.random.default_rng(11)
    q = unit_quaternions(rng, 30)
    plain = pw.Magnetometer(noise_density=0.0).measure(q).field
    np.testing.assert_allclose(np.linalg.norm(plain, axis=-1), 51.32e-6, rtol=1e-3)
    hard, soft = np.array([1e-5, -2e-5, 0.0]), np.array([[1.1, 0.1, 0], [0.1, 0.9, 0], [0, 0, 1]])
    iron = pw.Magnetometer(hard_iron=hard, soft_iron=soft, noise_density=0.0).measure(q).field
    np.testing.assert_allclose(iron, plain @ soft.T + hard, atol=1e-18)
    single = pw.Magnetometer(noise_density=0.0).measure(q.astype(np.float32)).field
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, plain, atol=1e-6 * 51e-6)
    lost = pw.Magnetometer().measure([[np.nan, 0, 0, 0], LEVEL]).field
    assert np.isnan(lost[0]).all()
    assert np.isfinite(lost[1]).all()


def test_bodies_without_a_position_have_no_readings() -> None:
    scene = Scene.load("room")
    position, attitude = np.tile([0.0, 0.0, 1.5], (3, 1)), np.tile(LEVEL, (3, 1))
    sensors: list[Any] = [
        pw.RangeFinder(scene),
        pw.Beacons(scene, markers={"a": [2.0, 0.0, 1.5]}),
        pw.DepthCamera(scene, pw.Camera(4, 3)),
        pw.CollisionSensor(scene),
        pw.Gnss(),
        pw.Barometer(),
    ]
    for sensor in sensors:
        valid = sensor.measure(position, attitude)
        sensor.reset(seed=sensor.seed)
        lost = position.copy()
        lost[1, 0] = np.nan
        reading = sensor.measure(lost, attitude)
        for name, array in vars(reading).items():
            expected = vars(valid)[name]
            assert np.array_equal(array[[0, 2]], expected[[0, 2]], equal_nan=True)
            if array.dtype.kind == "f":
                assert np.isnan(array[1]).all()
            else:
                assert not (array[1] > 0).any()


def test_sensors_survive_pickling() -> None:
    scene = Scene.load("room")
    sensors: list[Any] = [
        pw.RangeFinder(scene),
        pw.Beacons(scene),
        pw.DepthCamera(scene, pw.Camera(4, 3)),
        pw.CollisionSensor(scene),
        pw.Gnss(),
        pw.Barometer(),
    ]
    for sensor in sensors:
        sensor.measure([0, 0, 1.5], LEVEL)
        copy = pickle.loads(pickle.dumps(sensor))
        found, expected = (each.measure([0, 0, 1.5], LEVEL) for each in (sensor, copy))
        for name, array in vars(found).items():
            assert np.array_equal(array, vars(expected)[name], equal_nan=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pw.RangeFinder(ANYTHING), "scene: expected a Scene"),
        (lambda: pw.RangeFinder(GROUND, [0, 0, 0]), "directions: expected non-zero"),
        (lambda: pw.RangeFinder(GROUND, max_range=0.0), "max_range: expected a finite number > 0"),
        (lambda: pw.RangeFinder(GROUND, variance=-1.0), "variance: expected a finite number >= 0"),
        (
            lambda: pw.RangeFinder(GROUND, position=[1, 2]),
            r"position: expected finite numbers \[m\] of shape \(3,\)",
        ),
        (lambda: pw.RangeFinder(GROUND, seed=-1), "seed: expected a whole number"),
        (lambda: pw.Camera(0, 48), "width: expected a whole number"),
        (lambda: pw.Camera(vertical_fov_deg=180.0), "vertical_fov_deg: expected degrees"),
        (lambda: pw.Camera(attitude=[1, 1, 0, 0]), "attitude: expected unit quaternions"),
        (lambda: pw.Camera(position=np.zeros((2, 3)), attitude=[LEVEL] * 3), "as many rows"),
        (lambda: pw.Beacons(GROUND, camera=ANYTHING), "camera: expected a Camera"),
        (lambda: pw.Beacons(GROUND, reach=0.0), r"reach: expected a number > 0 \[m\]"),
        (lambda: pw.Beacons(GROUND, miss_rate=1.1), r"miss_rate: expected a number in \[0, 1\]"),
        (lambda: pw.Beacons(GROUND, markers={"a": [1, 2]}), r"markers\['a'\]: expected finite"),
        (lambda: pw.Gnss(latitude_deg=91.0), "latitude_deg: expected degrees"),
        (lambda: pw.Gnss(bias=ANYTHING), "bias: expected"),
        (lambda: pw.Gnss(bias_time=0.0), "bias_time: expected a number > 0"),
        (lambda: pw.Magnetometer(soft_iron=[1, 2, 3]), "soft_iron: expected finite numbers"),
        (lambda: pw.Barometer(np.nan), "noise_density: expected a finite number"),
        (lambda: pw.RangeFinder(GROUND).measure([0, 0], LEVEL), "position: expected numbers"),
        (lambda: pw.RangeFinder(GROUND).measure([0, 0, 1], [2, 0, 0, 0]), "attitude: expected"),
        (lambda: pw.RangeFinder(GROUND).measure("here", LEVEL), "position: expected numbers"),
        (lambda: pw.RangeFinder(GROUND).measure(np.zeros((3, 3)), [LEVEL] * 2), "attitude: exp"),
        (lambda: pw.Gnss().measure([0, 0, 0], dt=0.0), "dt: expected a finite number > 0"),
    ],
)
def test_invalid_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_default_parameters_are_those_of_the_models() -> None:
    """The constants of the sensors' data sheets are in C++ only."""
    for sensor, kind in (
        (pw.Gnss, "gnss"),
        (pw.Barometer, "barometer"),
        (pw.Magnetometer, "magnetometer"),
        (pw.RangeFinder, "range_finder"),
    ):
        arguments = inspect.signature(sensor).parameters
        defaults = _core.sensor_defaults(kind)
        for name, value in defaults.items():
            assert name in arguments, (kind, name)
            if name != "soft_iron":  # None: the identity
                assert arguments[name].default == value, (kind, name)
