"""The errors of depth from stereo: closed forms, and statistics at four sigma with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import propwash.gym as pg
import pytest
from numpy.typing import NDArray
from propwash.world import Box, Scene

LEVEL = [1.0, 0.0, 0.0, 0.0]
ORIGIN = [0.0, 0.0, 0.0]
PLAIN: dict[str, Any] = {"disparity_deviation": 0.0, "disparity_step": 0.0, "shadow": False}


def wall(distance: float) -> Scene:
    """A wall at a depth along x."""
    return Scene([Box(name="wall", position=(distance + 0.5, 0, 0), size=(1.0, 999.0, 999.0))])


def image(
    scene: Scene, camera: pw.Camera | None = None, error: pw.StereoError | None = None, **more: Any
) -> NDArray[np.float64]:
    depth = pw.DepthCamera(scene, camera, stereo=error, **more).measure(ORIGIN, LEVEL).depth
    return np.asarray(depth)


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0, 8.0])
def test_the_deviation_grows_with_the_square_of_the_depth(distance: float) -> None:
    error = pw.StereoError(0.07, 600.0, 0.2, disparity_step=0.0, shadow=False)
    depth = image(wall(distance), pw.Camera(160, 120), error)
    scale = 0.07 * 600.0
    disparity = (scale / depth - scale / distance) / 0.2  # standard normal, exactly
    count = depth.size
    assert abs(disparity.mean()) < 4.0 / np.sqrt(count)
    assert abs(disparity.var() - 1.0) < 4.0 * np.sqrt(2.0 / count)
    assert abs(np.mean(disparity**4) - 3.0) < 4.0 * np.sqrt(96.0 / count)
    # of the depth: z^2 / (f b), with terms of higher order for large deviations
    expected = 0.2 * distance**2 / scale
    assert depth.std() / expected == pytest.approx(1.0, abs=4.0 / np.sqrt(2.0 * count) + 0.02)


def test_the_disparity_is_rounded_to_steps() -> None:
    slope = Scene([Box(name="floor", position=(0, 0, -1.0), size=(99.0, 99.0, 1.0))])
    camera = pw.Camera(40, 300, 60.0)
    exact = image(slope, camera)
    error = pw.StereoError(0.05, 400.0, 0.0, 0.25, shadow=False)
    rounded = image(slope, camera, error)
    below = (exact < 40.0) & (rounded < 100.0)
    steps = 0.05 * 400.0 / rounded[below] / 0.25
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    assert len(set(np.rint(steps).astype(int))) > 40
    change = np.abs(20.0 / rounded[below] - 20.0 / exact[below])
    assert 0.12 < change.max() <= 0.125 + 1e-9
    # a disparity below half a step is zero: nothing is nearer than the largest depth
    assert (image(wall(161.0), camera, error, max_depth=500.0) == 500.0).all()
    assert (image(wall(159.0), camera, error, max_depth=500.0) == 80.0).all()


def test_pixels_drop_out_independently() -> None:
    error = pw.StereoError(dropout_rate=0.3, **PLAIN)
    camera = pw.DepthCamera(wall(3.0), pw.Camera(160, 120), stereo=error)
    first, second = (camera.measure(ORIGIN, LEVEL).depth == 0.0 for _ in range(2))
    count = first.size
    for rate, found in ((0.3, first), (0.09, first & second), (0.09, first[:, 1:] & first[:, :-1])):
        assert abs(found.mean() - rate) < 4.0 * np.sqrt(rate * (1.0 - rate) / count) + 1e-3
    depth = camera.measure(ORIGIN, LEVEL).depth
    np.testing.assert_allclose(depth[depth > 0.0], 3.0, rtol=1e-12)
    assert (image(wall(3.0), error=pw.StereoError(dropout_rate=1.0, **PLAIN)) == 0.0).all()
    # the noise of the others does not depend on the dropout
    noisy, some = (image(wall(3.0), error=pw.StereoError(dropout_rate=r)) for r in (0.0, 0.5))
    np.testing.assert_array_equal(some[some > 0.0], noisy[some > 0.0])


def test_pixels_that_the_right_view_does_not_show_are_missing() -> None:
    """The shadow left of a near item has the width f b (1 / near - 1 / far)."""
    near, far, baseline = 2.0, 5.0, 0.2
    plate = Box(name="plate", position=(near + 0.005, 0, 0), size=(0.01, 0.6, 99.0))
    scene = Scene([*wall(far).items, plate])
    camera = pw.Camera(320, 64, 20.0)
    f = camera.focal_length
    error = pw.StereoError(baseline, **{**PLAIN, "shadow": True})
    depth = image(scene, camera, error)
    u = np.arange(320) + 0.5
    edge = 160.0 - f * 0.3 / near  # of the plate in the left view
    border = f * baseline / far  # the wall to the left of the right view
    shadow = (u < edge) & (u > edge - f * baseline * (1.0 / near - 1.0 / far))
    missing = (u < border) | shadow
    assert 5 < shadow.sum() < (u < edge).sum()
    sure = np.abs(u[:, None] - [edge, border, u[shadow].min() - 0.5]).min(axis=1) > 0.6
    for row in depth:
        np.testing.assert_array_equal(row[sure] == 0.0, missing[sure])
    plain = image(scene, camera)
    np.testing.assert_allclose(depth[depth > 0.0], plain[depth > 0.0], rtol=1e-12)


def test_surfaces_have_no_shadow_on_themselves() -> None:
    """On a floor at grazing angles only pixels outside the right view are missing."""
    floor = Scene([Box(name="floor", position=(0, 0, -0.7), size=(400.0, 400.0, 1.0))])
    camera = pw.Camera(96, 72)
    error = pw.StereoError(0.05, **{**PLAIN, "shadow": True})
    for dtype in (np.float32, np.float64):
        sensor = pw.DepthCamera(floor, camera, 150.0, stereo=error)
        depth = sensor.measure(np.zeros(3, dtype), np.array(LEVEL, dtype)).depth
        exact = pw.DepthCamera(floor, camera, 150.0).measure(ORIGIN, LEVEL).depth
        outside = np.arange(96) + 0.5 < camera.focal_length * 0.05 / exact
        np.testing.assert_array_equal(depth == 0.0, outside)


def test_vehicles_of_a_fleet_have_the_errors_of_single_ones() -> None:
    error = pw.StereoError(dropout_rate=0.1)
    poses = np.array([[0.0, 0, 0], [0.5, 0.1, 0], [1.0, 0.2, 0.3], [-1.0, 0, 0]])
    readings = []
    for threads in (1, 2):
        fleet = pw.Fleet("flightgoggles", 4, seed=3, threads=threads)
        fleet.reset(position=poses)
        sensor = pw.DepthCamera(wall(4.0), pw.Camera(16, 12), stereo=error, seed=5)
        readings.append(fleet.attach(sensor, rate=20.0).reading.depth)
    np.testing.assert_array_equal(readings[0], readings[1])
    # the same errors as in a call without a fleet: of the seeds 0 and 5
    alone = pw.Fleet("flightgoggles", 4, seed=0)
    alone.reset(position=poses)
    sensor = pw.DepthCamera(wall(4.0), pw.Camera(16, 12), stereo=error, seed=5)
    attached = alone.attach(sensor, rate=20.0).reading.depth
    called = pw.DepthCamera(wall(4.0), pw.Camera(16, 12), stereo=error, seed=5)
    single = called.measure(poses.astype(attached.dtype), np.array(LEVEL, attached.dtype)).depth
    np.testing.assert_array_equal(attached, single)
    assert not np.array_equal(attached, readings[0])


class Ahead(pg.Hover):
    """Hover before a wall."""

    scene = wall(6.0)


OPTIONS: Any = {
    "observation": "depth",
    "depth_error": {"dropout_rate": 0.2, "focal_length": 100.0},
}


def test_environments_see_the_errors() -> None:
    clean, noisy = (
        pg.make_vec(Ahead, 4, observation="depth"),
        pg.make_vec(Ahead, 4, **OPTIONS),
    )
    exact, _ = clean.reset(seed=1)
    seen, _ = noisy.reset(seed=1)
    assert seen.shape == exact.shape
    rate = np.mean(seen == 0.0)
    assert abs(rate - 0.2) < 4.0 * np.sqrt(0.16 / seen.size) + 0.02  # and the left border
    assert seen.min() >= 0.0
    assert seen.max() <= 1.0
    assert np.abs(seen - exact)[seen > 0.0].max() > 0.01


def test_the_errors_depend_on_the_seed_the_environment_and_the_step() -> None:
    def run(seed: int, count: int, **more: Any) -> NDArray[np.float32]:
        env = pg.make_vec(Ahead, count, **OPTIONS, **more)
        rows = [env.reset(seed=seed)[0].copy()]
        for _ in range(3):
            rows.append(env.step(np.zeros((count, 4), np.float32))[0].copy())
        return np.array(rows)

    whole = run(1, 4)
    np.testing.assert_array_equal(whole, run(1, 4, threads=2))
    np.testing.assert_array_equal(whole[:, 2:], run(1, 2, index=2))
    assert not np.array_equal(whole, run(2, 4))
    missing = whole == 0.0
    for a, b in ((missing[0], missing[1]), (missing[:, 0], missing[:, 1])):
        assert np.mean(a != b) > 0.2


def test_a_snapshot_repeats_the_errors() -> None:
    env = pg.make_vec(Ahead, 3, **OPTIONS)
    env.reset(seed=1)
    second = env.step(np.zeros((3, 4), np.float32))[0].copy()
    moment = env.snapshot()
    third = env.step(np.zeros((3, 4), np.float32))[0].copy()
    env.restore(moment)
    np.testing.assert_array_equal(env.observe(), second)
    np.testing.assert_array_equal(env.step(np.zeros((3, 4), np.float32))[0], third)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"baseline": 0.0}, "baseline: expected a finite number > 0 \\[m\\], got 0"),
        ({"focal_length": -1.0}, "focal_length: expected"),
        ({"disparity_deviation": -0.1}, "disparity_deviation: expected"),
        ({"disparity_step": np.nan}, "disparity_step: expected"),
        ({"dropout_rate": 1.1}, "dropout_rate: expected"),
        ({"shadow": 2}, "shadow: expected"),
    ],
)
def test_invalid_errors_are_refused(values: Any, message: str) -> None:
    with pytest.raises(pw.ParameterError, match=message):
        pw.StereoError(**values)
    with pytest.raises(ValueError, match=message):
        pg.make_vec(Ahead, 2, observation="depth", depth_error=values)


def test_errors_of_other_cameras_are_refused() -> None:
    lens = pw.Camera(8, 6, distortion=(-0.1, 0.0, 0.0, 0.0))
    with pytest.raises(pw.ParameterError, match="camera: expected no distortion with stereo"):
        pw.DepthCamera(wall(2.0), lens, stereo=pw.StereoError())
    sensor = pw.DepthCamera(wall(2.0), pw.Camera(8, 6), stereo=pw.StereoError())
    with pytest.raises(ValueError, match="camera: expected no distortion with stereo"):
        sensor.camera = lens
    wrong: Any = 0.05
    with pytest.raises(pw.ParameterError, match=r"stereo: expected a StereoError or None, got 0"):
        pw.DepthCamera(wall(2.0), stereo=wrong)
    with pytest.raises(TypeError, match="depth_error: there is no 'basline'; did you mean"):
        pg.make_vec(Ahead, 2, observation="depth", depth_error={"basline": 0.1})
    with pytest.raises(ValueError, match="expected observation='depth'"):
        pg.make_vec(Ahead, 2, depth_error={"baseline": 0.1})
