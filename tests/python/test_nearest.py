"""Signed distances to the items of scenes, against collisions, differences and single items."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash.world import (
    Box,
    Capsule,
    Cylinder,
    Gate,
    Item,
    Mesh,
    Plane,
    Scene,
    Sphere,
    Waypoints,
    nearest_items,
)

Array = NDArray[np.float64]


def attitude(rng: np.random.Generator) -> tuple[float, ...]:
    q = rng.normal(size=4)
    return tuple((q / np.linalg.norm(q)).tolist())


def shapes(rng: np.random.Generator) -> list[Item]:
    """One of each shape, turned, about different places."""
    pose: list[dict[str, Any]] = [
        {"position": tuple(rng.uniform(-3, 3, 3).tolist()), "attitude": attitude(rng)}
        for _ in range(7)
    ]
    corners = rng.uniform(-1, 1, (12, 3))
    faces = rng.permuted(np.tile(np.arange(12), (20, 1)), axis=1)[:, :3]
    return [
        Box(name="box", size=(1.0, 2.0, 0.5), **pose[0]),
        Sphere(name="sphere", radius=0.7, **pose[1]),
        Cylinder(name="cylinder", radius=0.5, height=1.4, **pose[2]),
        Capsule(name="capsule", radius=0.4, length=1.1, **pose[3]),
        Gate(name="gate", width=1.2, height=0.9, border=0.3, depth=0.2, **pose[4]),
        Mesh(name="mesh", vertices=corners.tolist(), triangles=faces.tolist(), **pose[5]),
        Plane(name="plane", position=(0.0, 0.0, -2.5), attitude=pose[6]["attitude"]),
    ]


KINDS = [item.name for item in shapes(np.random.default_rng(1))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sphere_of_the_distance_touches_and_a_smaller_one_does_not(kind: str) -> None:
    rng = np.random.default_rng(1)
    scene = Scene([item for item in shapes(rng) if item.name == kind])
    points = rng.uniform(-5, 5, (2000, 3))
    found = scene.nearest(points)
    outside = np.flatnonzero(found.distance > 1e-6)
    assert len(outside) > 400
    for i in outside[:300]:
        assert scene.collides(points[i], radius=found.distance[i] * (1 + 1e-9) + 1e-9).collided
        assert not scene.collides(points[i], radius=found.distance[i] * (1 - 1e-9)).collided
    inside = scene.collides(points, radius=1e-9).collided
    np.testing.assert_array_equal(found.distance < 0.0, inside & (found.distance < 0.0))
    assert (found.distance[inside] <= 1e-9).all()
    assert (found.id == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_normal_is_the_derivative_and_leads_to_the_surface(kind: str) -> None:
    """From inside too: |grad d| = 1, and a step of -d along it ends on the surface."""
    rng = np.random.default_rng(2)
    item = next(item for item in shapes(rng) if item.name == kind)
    scene = Scene([item])
    centre = np.array(item.position)
    points = centre + rng.uniform(-1.5, 1.5, (4000, 3))
    found = scene.nearest(points)
    if kind not in ("mesh",):
        assert (found.distance < -0.01).any()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, rtol=1e-12)
    step = 1e-6
    gradient = np.stack(
        [
            (scene.nearest(points + move).distance - scene.nearest(points - move).distance)
            / (2 * step)
            for move in step * np.eye(3)
        ],
        axis=1,
    )
    wrong = np.abs(gradient - found.normal).max(axis=1) > 1e-6
    assert wrong.mean() < 0.005  # points within a step of an edge of the derivative
    surface = points - found.distance[:, None] * found.normal
    left = np.abs(scene.nearest(surface).distance)
    assert left.max() < 1e-9


def test_a_scene_gives_the_nearest_of_its_items() -> None:
    rng = np.random.default_rng(3)
    items = [
        item.replace(name=f"{item.name}{k}", position=tuple(rng.uniform(-9, 9, 3).tolist()))
        for k in range(30)
        for item in shapes(rng)[:6]
    ]
    points = rng.uniform(-10, 10, (500, 3))
    found = Scene(items).nearest(points, threads=2)
    alone = np.stack([Scene([item]).nearest(points).distance for item in items])
    np.testing.assert_array_equal(found.distance, alone.min(axis=0))
    np.testing.assert_array_equal(alone[found.id, np.arange(500)], found.distance)
    assert (found.distance < 0.0).any()
    near = Scene(items).nearest(points, reach=0.5)
    is_near = found.distance < 0.5
    np.testing.assert_array_equal(near.distance, np.where(is_near, found.distance, np.inf))
    np.testing.assert_array_equal(near.id, np.where(is_near, found.id, -1))
    assert not near.normal[~is_near].any()


def test_items_that_move_have_the_distance_of_their_time() -> None:
    path = Waypoints([0.0, 4.0], [[5.0, -2.0, 1.0], [5.0, 2.0, 1.0]])
    scene = Scene([Sphere(name="ball", radius=0.5, motion=path), Plane(name="ground")])
    distance, ids, normal = scene.at(2.0).nearest([3.0, 0.0, 1.0], reach=10.0)
    assert (float(distance), int(ids)) == (1.0, 1)  # the ground is nearer than the ball
    distance, ids, normal = scene.at(2.0).nearest([[4.0, 0.0, 1.0]])
    assert distance[0] == pytest.approx(0.5, abs=1e-12)
    assert ids[0] == 0
    np.testing.assert_allclose(normal, [[-1.0, 0.0, 0.0]], atol=1e-12)


def test_the_normal_near_moving_items_is_the_derivative_at_their_time() -> None:
    rng = np.random.default_rng(5)
    path = Waypoints([0.0, 4.0], [[-2.0, 0.0, 0.0], [2.0, 1.0, 0.5]], yaws=[0.0, 2.0])
    moving = [item.replace(motion=path) for item in shapes(rng)[:4]]
    scenes = [Scene([*moving, Plane(name="ground", position=(0, 0, -4))]).at(t) for t in (1.0, 3.0)]
    points, times = rng.uniform(-4, 4, (2000, 3)), rng.integers(0, 2, 2000)
    found = nearest_items(scenes, points, times)
    assert len(np.unique(found.id)) == 5
    gradient = np.empty_like(points)
    for axis, move in enumerate(1e-6 * np.eye(3)):
        ends = [nearest_items(scenes, points + sign * move, times).distance for sign in (1, -1)]
        gradient[:, axis] = (ends[0] - ends[1]) / 2e-6
    wrong = np.abs(gradient - found.normal).max(axis=1) > 1e-6
    assert wrong.mean() < 0.005  # points within a step of an edge of the derivative


def test_points_of_several_scenes_have_the_items_of_their_own() -> None:
    rng = np.random.default_rng(6)
    scenes = [Scene.load("forest", seed) for seed in range(3)]
    points, scene_of = rng.uniform(-20, 20, (4, 50, 3)), rng.integers(0, 3, (4, 50))
    found = nearest_items(scenes, points, scene_of, reach=3.0)
    for k, scene in enumerate(scenes):
        alone = scene.nearest(points[scene_of == k], reach=3.0)
        for name in ("distance", "id", "normal"):
            batched = getattr(found, name)[scene_of == k]
            np.testing.assert_array_equal(batched, getattr(alone, name))
    each = nearest_items(scenes, points[0, :3])
    assert (each.distance.shape, each.id.shape, each.normal.shape) == ((3,), (3,), (3, 3))
    with pytest.raises(ValueError, match=r"scene_of: expected 200 indices, one for each point, "):
        nearest_items(scenes, points)
    with pytest.raises(ValueError, match=r"scene_of: expected indices of 3 scenes"):
        nearest_items(scenes, points[0, :1], [3])


def test_distances_of_tensors_have_the_gradient_of_differences() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import distance

    rng = np.random.default_rng(7)
    scene = Scene(shapes(rng))
    points = torch.tensor(rng.uniform(-4, 4, (6, 50, 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda p: distance(scene.nearest, p), points, eps=1e-7)
    single = points.detach().float()
    found = distance(scene.nearest, single)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, scene.nearest(single.numpy()).distance, rtol=1e-6)
    with pytest.raises(TypeError, match=r"distance\['points'\]: expected a floating-point tensor"):
        distance(scene.nearest, torch.zeros(2, 3, dtype=torch.int64))


def test_leading_axes_and_points_without_an_item() -> None:
    scene = Scene([Sphere(name="ball", radius=1.0), Plane(name="ground", position=(0, 0, -9))])
    found = scene.nearest(
        [[[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]], [[3.0, 0.0, 0.0], [0, 0, -np.inf]]]
    )
    np.testing.assert_array_equal(found.distance, [[-1.0, np.inf], [2.0, np.inf]])
    np.testing.assert_array_equal(found.id, [[0, -1], [0, -1]])
    assert found.normal.shape == (2, 2, 3)
    assert Scene([]).nearest([0.0, 0.0, 0.0]).id == -1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0],), "points: expected"),
        (("abc",), "points"),
        (([0.0, 0.0, 0.0], 0.0), "reach"),
        (([0.0, 0.0, 0.0], np.nan), "reach"),
    ],
)
def test_invalid_arguments_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Scene([Plane(name="ground")]).nearest(*arguments)  # type: ignore[arg-type]


def test_the_thread_pool_of_a_fleet_is_accepted() -> None:
    points = np.random.default_rng(4).uniform(-20, 20, (20_000, 3))
    scene = Scene.load("alphapilot")
    pool = pw.ThreadPool(2)
    np.testing.assert_array_equal(
        scene.nearest(points, threads=pool).distance, scene.nearest(points).distance
    )
