"""Perception-aware yaw: optimality, symmetry, limits, and refused arguments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import Camera, Scene
from propwash import trajectories as tj
from propwash.trajectories._perception import _cost, _views
from propwash.trajectories._yaw_search import YawLimits, best_control_points
from propwash.world import Box, Plane, surface_points

Array = NDArray[np.float64]

CAMERA = Camera(160, 120, 60.0, position=(0.1, 0.0, 0.05), attitude=(0.998, 0.0, -0.0632, 0.0))
WAYPOINTS = np.array([(-2, -3, 1), (2, -2, 2), (3, 1, 1), (-1, 2, 1.5), (-3, 0, 1)])


def winding(factor: float = 1.0) -> tj.Path:
    """A path with turns, yaw along it."""
    return tj.minimum_snap(WAYPOINTS, duration=7.0 * factor, yaw="along")


def some_landmarks(seed: int, count: int = 60) -> Array:
    """Landmarks in three groups at random places."""
    random = np.random.default_rng(seed)
    centres = random.uniform(-8.0, 8.0, (3, 3)) * (1, 1, 0.3)
    return np.asarray(centres[random.integers(3, size=count)] + random.normal(size=(count, 3)))


class Transformed(tj.Path):
    """A path in the world rotated about z and, with sign -1, mirrored in y."""

    def __init__(self, path: tj.Path, angle: float, sign: float) -> None:
        self.path, self.angle, self.sign = path, angle, sign

    @property
    def duration(self) -> float:
        return self.path.duration

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        position, yaw = self.path.evaluate(time)
        yaw = self.sign * yaw
        yaw[0] += self.angle
        return self.points(position), yaw

    def points(self, points: Array) -> Array:
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.asarray((points * (1.0, self.sign, 1.0)) @ [(c, s, 0), (-s, c, 0), (0, 0, 1)])


def wrapped(angle: Array) -> Array:
    return np.asarray(np.abs((angle + np.pi) % (2.0 * np.pi) - np.pi))


def test_a_single_landmark_stays_in_the_image() -> None:
    path, landmark = winding(2.0), np.array([[0.5, -0.2, 1.2]])
    planned = tj.perception_aware_yaw(path, landmark, CAMERA, max_rate=4.0, max_acceleration=20.0)
    assert tj.covisibility(path, landmark, CAMERA).mean() < 0.5
    assert tj.covisibility(planned, landmark, CAMERA).min() == 1
    reference = planned.sample(period=0.05)
    seen = CAMERA.project(
        landmark, reference.position, tj.flatness(reference, "flightgoggles").attitude
    )
    assert seen.in_view.mean() > 0.98


@pytest.mark.parametrize(("angle", "sign"), [(0.0, -1.0), (np.pi / 2.0, 1.0), (np.pi, -1.0)])
def test_a_mirrored_or_rotated_problem_has_the_mirrored_or_rotated_yaw(
    angle: float, sign: float
) -> None:
    path, landmarks = winding(), some_landmarks(3)
    other = Transformed(path, angle, sign)
    planned = tj.perception_aware_yaw(path, landmarks, CAMERA).sample(period=0.1)
    twin = tj.perception_aware_yaw(other, other.points(landmarks), CAMERA).sample(period=0.1)
    assert np.array_equal(twin.position, other.points(planned.position))
    assert wrapped(twin.yaw - sign * planned.yaw - angle).max() < 1e-3
    assert np.abs(twin.yaw_rate - sign * planned.yaw_rate).max() < 1e-2


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_never_above_that_of_the_given_yaw(seed: int) -> None:
    path, landmarks, smoothness = winding(), some_landmarks(seed), 0.05
    planned = tj.perception_aware_yaw(path, landmarks, CAMERA, smoothness=smoothness)
    views = _views(path, landmarks, CAMERA, "flightgoggles", None, np.inf, 0.25)
    assert _cost(planned, views, smoothness) <= _cost(path, views, smoothness)
    counts = [tj.covisibility(each, landmarks, CAMERA).mean() for each in (path, planned)]
    assert counts[1] > counts[0]


def test_a_yaw_that_cannot_be_improved_is_kept() -> None:
    path = tj.minimum_snap([(0, 0, 1), (4, 0, 1)], duration=8.0, yaw=0.0)
    landmarks = np.array([(30.0, 0.5, 1.0), (30.0, -0.5, 1.0)])
    planned = tj.perception_aware_yaw(path, landmarks, CAMERA)
    assert np.abs(planned.sample(period=0.1).yaw).max() < 1e-2


@pytest.mark.parametrize(("rate", "acceleration"), [(0.4, 0.8), (1.0, 20.0), (3.0, 3.0)])
def test_limits_hold_at_all_times(rate: float, acceleration: float) -> None:
    path, landmarks = winding(), some_landmarks(1)
    planned = tj.perception_aware_yaw(
        path, landmarks, CAMERA, max_rate=rate, max_acceleration=acceleration, smoothness=0.0
    )
    rows = planned.sample(period=0.001)
    assert 0.1 * rate < np.abs(rows.yaw_rate).max() < rate
    assert np.abs(rows.yaw_acceleration).max() < acceleration


def test_yaw_is_twice_differentiable_and_at_rest_at_the_ends() -> None:
    path = winding()
    planned = tj.perception_aware_yaw(path, some_landmarks(2), CAMERA)
    time = np.linspace(-0.5, path.duration + 0.5, 4000)
    step = 1e-4
    after, before, now = (planned.sample(time + shift) for shift in (step, -step, 0.0))
    for value, rate in (("yaw", "yaw_rate"), ("yaw_rate", "yaw_acceleration")):
        slope = (getattr(after, value) - getattr(before, value)) / (2.0 * step)
        assert np.abs(slope - getattr(now, rate)).max() < 1e-2
    assert np.abs(after.yaw_acceleration - before.yaw_acceleration).max() < 0.02
    ends = planned.sample([-1.0, 0.0, path.duration, path.duration + 1.0])
    assert np.abs(ends.yaw_rate).max() < 1e-12
    assert np.abs(ends.yaw_acceleration).max() < 1e-9
    assert np.array_equal(now.position, path.sample(time).position)


def test_near_landmarks_count_more_with_a_half_distance() -> None:
    path = tj.minimum_snap([(0, 0, 1), (1, 0, 1)], duration=5.0)
    random = np.random.default_rng(0)
    near = random.normal(size=(20, 3)) * 0.3 + np.array([0.0, 3.0, 1.0])
    far = random.normal(size=(30, 3)) + np.array([0.0, -20.0, 1.0])
    landmarks = np.concatenate([near, far])
    headings = [
        tj.perception_aware_yaw(path, landmarks, CAMERA, half_distance=half).sample([2.5]).yaw[0]
        for half in (np.inf, 2.0)
    ]
    assert np.abs(np.array(headings) - (-np.pi / 2.0, np.pi / 2.0)).max() < 0.4


def test_covisibility_is_that_of_projected_and_unoccluded_landmarks() -> None:
    path, landmarks = winding(), some_landmarks(4, 200)
    wall = Box(name="wall", size=(0.1, 6.0, 6.0), position=(4.5, 0.0, 1.0))
    scene = Scene([wall])
    count = tj.covisibility(path, landmarks, CAMERA, scene=scene, max_range=9.0, interval=0.5)
    assert count.shape == (14,)
    reference = path.sample(np.linspace(0.0, path.duration, 15))
    attitude = tj.flatness(reference, "flightgoggles").attitude
    seen = CAMERA.project(landmarks, reference.position, attitude).in_view
    offsets = landmarks - reference.position[:, None]
    seen &= np.linalg.norm(offsets, axis=-1) <= 9.0
    seen &= scene.visible(reference.position[:, None], landmarks[None])
    assert np.array_equal(count, np.count_nonzero(seen[:-1] & seen[1:], axis=1))
    assert count.sum() < tj.covisibility(path, landmarks, CAMERA, interval=0.5).sum()


@dataclass(frozen=True)
class RandomViews:
    """A visibility for each yaw of the grid, at random."""

    time: Array
    table: Array

    def visibility(self, rows: int | slice, yaw: Array) -> Array:
        return np.asarray(self.table[rows, : len(yaw)])


def test_the_search_finds_the_best_yaws_of_the_grid() -> None:
    random = np.random.default_rng(8)
    step, limits, smoothness = 0.25, YawLimits(0.8, 2.0), 0.02
    bins, width = 120, np.radians(3.0)
    views = RandomViews(step * np.arange(6.0), random.uniform(size=(6, bins, 4)))
    found = best_control_points(views, limits, smoothness)
    first, last = int(0.98 * limits.rate * step / width), 0.98 * limits.acceleration * step**2
    best = -np.inf
    for start, a, b, c in product(range(bins), *(range(-first, first + 1) for _ in range(3))):
        changes = np.array([0, 0, a, b, c, 0, 0])
        bends = np.diff(changes)
        if np.abs(bends).max() * width > last:
            continue
        places = (start + np.cumsum(changes[1:-1])) % bins
        rows = [start % bins, *places.tolist()]
        seen = views.table[np.arange(6), rows]
        price = smoothness * np.sum((bends * width / step**2) ** 2)
        best = max(best, float(np.sum(seen[:-1] * seen[1:])) - price)
    rows = np.round(found[1:-1] / width).astype(int) % bins
    seen = views.table[np.arange(6), rows]
    bends = np.diff(found, 2) / step**2
    score = np.sum(seen[:-1] * seen[1:]) - smoothness * np.sum(bends**2)
    assert score == pytest.approx(best)


def test_no_visible_landmark_gives_a_yaw_at_rest() -> None:
    scene = Scene([Box(name="cover", size=(0.5, 0.5, 0.5), position=(0, 0, 9))])
    path = tj.minimum_snap([(0, 0, 1), (4, 0, 1)], duration=5.0)
    planned = tj.perception_aware_yaw(path, [(0.0, 0.0, 9.0)], CAMERA, scene=scene)
    assert np.ptp(planned.sample(period=0.1).yaw) == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"landmarks": np.zeros((0, 3))}, "landmarks: expected at least one"),
        ({"landmarks": [(0.0, 1.0)]}, r"landmarks: expected .*\(J, 3\)"),
        ({"landmarks": [(0.0, 1.0, np.nan)]}, "landmarks: expected finite"),
        ({"camera": "front"}, "camera: expected a Camera"),
        ({"camera": Camera(position=np.zeros((2, 3)))}, "camera: expected a Camera with one"),
        ({"scene": "room"}, "scene: expected a Scene or None"),
        ({"path": [(0, 0, 1)]}, "path: expected a Path"),
        ({"max_rate": 0.0}, "max_rate: expected a finite number > 0"),
        ({"max_acceleration": -1.0}, "max_acceleration: expected"),
        ({"half_distance": 0.0}, "half_distance: expected a number > 0"),
        ({"interval": 1e-9}, "interval: expected a whole number from 4"),
        ({"smoothness": -1.0}, "smoothness: expected a finite number >= 0"),
    ],
)
def test_invalid_arguments_are_refused(changes: dict[str, Any], message: str) -> None:
    arguments = {"path": winding(), "landmarks": [(5.0, 0.0, 1.0)], "camera": CAMERA}
    with pytest.raises(ValueError, match=message):
        tj.perception_aware_yaw(**{**arguments, **changes})


# landmarks of a scene


def test_surface_points_are_uniform_by_area() -> None:
    size = np.array([2.0, 4.0, 1.0])
    points = surface_points(Scene([Box(name="crate", size=tuple(size))]), 6000, radius=4.0, seed=3)
    distance = np.abs(np.abs(points) - 0.5 * size)
    assert distance.min(axis=1).max() < 1e-9
    assert (np.abs(points) <= 0.5 * size + 1e-9).all()
    areas = np.array([4.0 * 1.0, 2.0 * 1.0, 2.0 * 4.0])
    counts = np.bincount(distance.argmin(axis=1), minlength=3)
    expected = len(points) * areas / areas.sum()
    # chi-square with 2 degrees of freedom, 0.1 %; points of one line are nearly independent
    assert np.sum((counts - expected) ** 2 / expected) < 13.8
    halves = np.count_nonzero(points > 0.0, axis=0)
    assert np.abs(halves - 3000).max() < 4.0 * np.sqrt(1500.0)


def test_surface_points_lie_within_the_sphere_and_depend_on_the_seed() -> None:
    scene = Scene([Plane(name="ground")])
    points = surface_points(scene, 500, centre=(3.0, 0.0, 2.0), radius=3.0)
    assert points.shape == (500, 3)
    assert np.abs(points[:, 2]).max() < 1e-9
    radius = np.linalg.norm(points[:, :2] - (3.0, 0.0), axis=1)
    assert radius.max() <= np.sqrt(5.0) + 1e-9
    # uniform in the disc: the squared radius is uniform
    assert abs(np.mean(radius**2) - 2.5) < 4.0 * 5.0 / np.sqrt(12.0 * 500.0)
    assert np.array_equal(points, surface_points(scene, 500, (3.0, 0.0, 2.0), 3.0))
    assert not np.array_equal(points, surface_points(scene, 500, (3.0, 0.0, 2.0), 3.0, seed=1))


def test_a_sphere_without_surfaces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("propwash.world._surface._MAX_BATCHES", 2)
    scene = Scene([Plane(name="ground")])
    with pytest.raises(ValueError, match="radius = 2: expected surfaces within this distance"):
        surface_points(scene, 10, centre=(0.0, 0.0, 5.0), radius=2.0)
