"""Visual-inertial odometry of the examples: geometry, tracks, flights, errors."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.render import Offscreen, RenderCamera, depth_in_metres
from propwash.trajectories import Line

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

if not EXAMPLES.is_dir():
    pytest.skip("examples are missing", allow_module_level=True)
sys.path.insert(0, str(EXAMPLES))
pytest.importorskip("cv2", reason="OpenCV is not installed: pip install propwash[vio]")
pytest.importorskip("gtsam", reason="gtsam is not installed: pip install propwash[vio]")
vio = importlib.import_module("vio")
paths = importlib.import_module("vio.paths")
report = importlib.import_module("vio.report")
program = importlib.import_module("vio_in_the_loop")

STRAIGHT = Line((-2.5, 0.0, 2.0), (2.5, 1.0, 2.2), 2.0, ramp=1.5, yaw=0.2)


@pytest.fixture(scope="module")
def flight() -> Any:
    return vio.fly("room", STRAIGHT, seed=3)


def test_measurements_and_points_are_inverse() -> None:
    rig = vio.Rig(400, 300, 80.0, baseline=0.11)
    points = np.random.default_rng(1).uniform([-3, -2, 0.5], [3, 2, 9], (50, 3))
    measured = rig.measurements(points)
    np.testing.assert_allclose(rig.points(measured), points, rtol=1e-9)
    camera = pw.Camera(400, 300, 80.0)
    # the library's camera: x forward, y left, z up
    seen = camera.project(points[:, [2, 0, 1]] * [1.0, -1.0, -1.0], (0, 0, 0), (1, 0, 0, 0))
    np.testing.assert_allclose(measured[:, 0], seen.u, rtol=1e-9)
    np.testing.assert_allclose(measured[:, 2], seen.v, rtol=1e-9)


def test_tracks_agree_with_the_geometry_of_the_scene() -> None:
    """Stereo depth and motion of tracks equal those of the renderer's depth image."""
    rig = vio.Rig(baseline=0.2)
    tracker = vio.StereoTracker(rig, 60)
    renderer = Offscreen("room", width=rig.width, height=rig.height, vertical_fov_deg=rig.fov)
    depth = RenderCamera("depth", "depth", position=rig.cameras[0].position)
    step = np.array([0.06, 0.02, 0.01])
    found, depths = [], []
    for k in range(2):
        frame = renderer.render(
            [*rig.cameras, depth], position=np.array([1.0, 0.0, 1.6]) + k * step
        )
        left, right = frame.images["left"], frame.images["right"]
        motion = vio.rig.BODY_FROM_CAMERA.T @ step
        found.append(tracker.track(0.05 * k, left, right, np.eye(3), 0.0 * motion))
        depths.append(depth_in_metres(frame.images["depth"]))
    assert len(found[0].ids) >= 30
    common, before, after = np.intersect1d(found[0].ids, found[1].ids, return_indices=True)
    assert len(common) >= 0.8 * len(found[0].ids)
    measured = found[0].measured[before]
    true = depths[0][measured[:, 2].astype(int), measured[:, 0].astype(int)]
    rays = rig.points(measured) / rig.points(measured)[:, 2:]
    expected = rig.measurements(rays * true[:, None] - motion)
    error = np.abs(found[1].measured[after] - expected)
    assert np.median(error) < 0.3
    assert np.mean(np.max(error, axis=1) < 1.5) > 0.9


@pytest.mark.slow
def test_tracks_drift_by_the_same_amount_in_both_images() -> None:
    """The noise of the smoother: disparities are much more accurate than tracks after 2 s."""
    rig = vio.Rig()
    tracker = vio.StereoTracker(rig, 60)
    renderer = Offscreen("room", width=rig.width, height=rig.height, vertical_fov_deg=rig.fov)
    mount = RenderCamera("depth", "depth", position=rig.cameras[0].position)
    step = np.array([0.02, 0.05, 0.0])
    motion = vio.rig.BODY_FROM_CAMERA.T @ step
    for k in range(41):
        at = np.array([-1.0, -1.5, 1.6]) + k * step
        images = renderer.render([*rig.cameras, mount], position=at).images
        last = tracker.track(0.05 * k, images["left"], images["right"], np.eye(3), -motion)
        if k == 0:
            first, depth = last, depth_in_metres(images["depth"])
    common, before, after = np.intersect1d(first.ids, last.ids, return_indices=True)
    assert len(common) >= 10
    u, _, v = first.measured[before].T
    points = rig.points(first.measured[before])
    points *= (depth[v.astype(int), u.astype(int)] / points[:, 2])[:, None]
    error = last.measured[after] - rig.measurements(points - 40 * motion)
    disparity = np.abs(error[:, 0] - error[:, 1])
    tuning = vio.Tuning()
    assert np.quantile(disparity, 0.68) < tuning.disparity
    assert np.mean(np.abs(error[:, 0])) > 2.0 * np.mean(disparity)


@pytest.mark.slow
def test_the_estimate_follows_the_truth(flight: Any) -> None:
    assert flight.end == ""
    assert flight.distance == pytest.approx(5.1, abs=0.4)
    assert flight.error.max() < 0.15
    assert flight.error[-1] < 0.02 * flight.distance
    # one estimate for each image, at its time
    np.testing.assert_allclose(np.diff(flight.time), 0.05, atol=0.006)
    assert flight.tracked.min() >= 8


@pytest.mark.slow
def test_the_estimate_is_flown_instead_of_the_truth(flight: Any) -> None:
    """An estimate with an offset d at the start flies the path moved by -d."""
    offset = (0.4, -0.3, 0.2)
    moved = vio.fly("room", STRAIGHT, 3, options=vio.Options(start_error=offset))
    rest = moved.time > 2.5
    difference = (moved.position - flight.position)[rest]
    np.testing.assert_allclose(
        difference, np.broadcast_to(-np.array(offset), difference.shape), atol=0.15
    )
    beside = vio.Options(start_error=offset, closed_loop=False)
    true = vio.fly("room", STRAIGHT, 3, options=beside, duration=2.0)
    same = true.time < 1.99
    np.testing.assert_allclose(true.position[same], true.reference[same], atol=0.1)


def test_the_window_is_the_only_way_through_its_wall() -> None:
    scene = paths.window_scene()
    width, height = paths.OPENING
    y = np.array([0.0, 0.49 * width, 0.51 * width, -0.51 * width, 0.0, 0.0])
    z = 1.5 + np.array([0.0, 0.0, 0.0, 0.0, 0.49 * height, 0.51 * height])
    start = np.stack([np.full(6, -1.0), y, z], axis=1)
    hits = scene.raycast(start, np.broadcast_to([1.0, 0.0, 0.0], start.shape))
    assert (hits.distance > 2.0).tolist() == [True, True, False, False, True, False]


@pytest.mark.parametrize("seed", range(20))
def test_paths_are_free_of_contact(seed: int) -> None:
    cases = [("window", paths.window_scene(), paths.approach(seed, 2.5))]
    if seed == 0:
        for name in ("room", "warehouse"):
            cases.append((name, pw.Scene.load(name, seed=0), paths.figure(name, 60.0, 2.8)))
    for name, scene, path in cases:
        reference = path.sample(period=0.02)
        sensor = pw.CollisionSensor(scene, 0.25)
        attitude = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(reference), 4))
        assert not sensor.measure(reference.position, attitude).collision.any(), name
        speed = np.linalg.norm(reference.velocity, axis=1)
        assert speed.max() < 3.4, name


def test_results_continue(tmp_path: Path, flight: Any) -> None:
    file = tmp_path / "results.csv"
    case = report.Case("room", 3, 0.0, 2.123456789, 320, 240, 70.0, 20.0, 0.2)
    results = report.Results(file)
    assert results.get(case) is None
    row = report.Row.of(flight)
    results.add(case, row)
    read = report.Results(file)
    found = read.get(case)
    assert found.end == "completed"
    assert found.final_error == pytest.approx(row.final_error, rel=1e-5)
    assert read.get(replace(case, seed=4)) is None
    file.write_text("seed,scene\n1,room\n")
    with pytest.raises(ValueError, match=r"line 2: expected the columns scene, seed.*remove"):
        report.Results(file)


def run(*arguments: str) -> int:
    return int(program.main(list(arguments)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rate", "1"), "rate = 1 Hz: expected 5 to 120 Hz"),
        (("--size", "320"), "size = '320': expected WIDTHxHEIGHT"),
        (("--fov", "190"), "fov = 190 degrees: expected 20 to 150"),
        (("--seeds", "0"), "seeds = 0: expected at least 1"),
        (("--duration", "-1"), "duration = -1 s: expected a time > 0"),
        (("--speed", "0"), "speed = 0 m/s: expected 0 to 100"),
        (("--results", "no/x.csv"), "results = no/x.csv: expected a file in an existing folder"),
        (("--plot", "no/x.png"), "plot = no/x.png: expected a file in an existing folder"),
        (("--plot", "x.txt"), "plot = x.txt: expected a name that ends in .png"),
    ],
)
def test_wrong_input_is_reported(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 1
    assert message in capsys.readouterr().out


def test_a_scene_without_features_is_refused() -> None:
    with pytest.raises(vio.VioError, match=r"expected at least 8 features in the first image.*0"):
        vio.fly(pw.Scene([]), STRAIGHT)


def test_a_missing_package_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gtsam" else name)
    assert run() == 1
    assert "gtsam not found; pip install 'propwash[vio]'" in capsys.readouterr().out


def test_time_stamps_out_of_order_are_refused() -> None:
    rig = vio.Rig()
    start = pw.MotionEstimate(np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    imu = pw.vehicles.load("blackbird").imu
    smoother = vio.Smoother(rig, imu, 9.81, start, vio.Tuning())
    smoother.add_imu(0.01, np.array([0.0, 0.0, 9.81]), np.zeros(3))
    with pytest.raises(vio.VioError, match=r"0\.005000 s: expected a time after the previous"):
        smoother.add_imu(0.005, np.array([0.0, 0.0, 9.81]), np.zeros(3))
    tracker = vio.StereoTracker(rig)
    image = np.zeros((rig.height, rig.width), dtype=np.uint8)
    features = tracker.track(0.05, image, image, np.eye(3), np.zeros(3))
    with pytest.raises(vio.VioError, match="expected the time of the last IMU reading"):
        smoother.add_keyframe(features)
    with pytest.raises(vio.VioError, match="expected a time after the previous image"):
        tracker.track(0.05, image, image, np.eye(3), np.zeros(3))
