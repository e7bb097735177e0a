"""Items and scenes: rays, lines of sight and collisions."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import threading
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import world
from propwash.world import Box, Gate, Item, Mesh, Plane, Scene, Sphere
from scene_helpers import box_mesh, rays

NAMES = world.scene_names()

# --- items and scenes ------------------------------------------------------------------------


def test_items_are_frozen_and_converted() -> None:
    box = Box(name="b", size=np.array([1, 2, 3]), position=[1, 2, 3])  # type: ignore[arg-type]
    assert box.size == (1.0, 2.0, 3.0)
    assert box.position == (1.0, 2.0, 3.0)
    with pytest.raises(AttributeError):
        box.size = (1.0, 1.0, 1.0)  # type: ignore[misc]
    mesh = Mesh(name="m", **box_mesh((1, 1, 1)))
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0, 0] = 2.0
    assert mesh == copy.deepcopy(mesh)
    assert mesh != mesh.replace(name="other")
    with pytest.raises(pw.ParameterError, match="rows of 3 indices"):
        Mesh(name="m", vertices=np.zeros((3, 3)), triangles=[[0, 1, 2.5]])  # type: ignore[arg-type]
    with pytest.raises(pw.ParameterError, match="rows of 3 numbers"):
        Mesh(name="m", vertices=np.zeros((3, 2)), triangles=[[0, 1, 2]])  # type: ignore[arg-type]
    moved = Box(name="b", size=(1, 1, 1)).moved((1, 2, 3), math.pi / 2)
    assert moved.position == (1.0, 2.0, 3.0)
    assert moved.yaw == pytest.approx(math.pi / 2)


def test_a_scene_refuses_invalid_items() -> None:
    with pytest.raises(pw.ParameterError, match="shapes of"):
        Scene(["box"])  # type: ignore[list-item]
    with pytest.raises(pw.ParameterError, match="shapes of"):
        Scene([Item(name="x")])
    with pytest.raises(pw.ParameterError, match="Marker"):
        Scene([], markers=["m"])  # type: ignore[list-item]
    with pytest.raises(pw.ParameterError, match="Start"):
        Scene([], start=(0, 0, 1))  # type: ignore[arg-type]
    with pytest.raises(pw.ParameterError, match="name = 'a': expected a unique name"):
        Scene([Plane(name="a"), Sphere(name="a", radius=1)])
    with pytest.raises(pw.ParameterError, match="radius = -1"):
        Scene([Sphere(name="a", radius=-1)])


def test_a_scene_is_a_container_of_items() -> None:
    scene = Scene([Plane(name="ground"), Gate(name="Gate1", width=1, height=1)], name="two")
    assert len(scene) == 2
    assert scene[1] is scene["Gate1"]
    assert "ground" in scene
    assert "gravel" not in scene
    assert [item.name for item in scene] == ["ground", "Gate1"]
    assert scene.gates == (scene[1],)
    with pytest.raises(KeyError, match="did you mean 'ground'"):
        scene["grund"]
    assert "two" in repr(scene)
    again = pickle.loads(pickle.dumps(scene))
    assert again.items == scene.items
    assert again.name == "two"


# --- rays ------------------------------------------------------------------------------------


def test_shapes_and_types_of_rays() -> None:
    scene = Scene([Plane(name="ground")])
    one = scene.raycast([0, 0, 2], [0, 0, -1])
    assert one.distance.shape == ()
    assert one.distance == 2.0
    assert one.id == 0
    assert one.normal is not None
    assert one.normal == pytest.approx([0, 0, 1])
    many = scene.raycast(np.ones((4, 1, 3)), [[0, 0, -1], [0, 0, 1], [1, 0, 0]], normals=False)
    assert many.normal is None
    assert many.distance.shape == (4, 3)
    assert many.id.dtype == np.int32
    assert many.id.tolist() == [[0, -1, -1]] * 4
    assert many.distance.dtype == np.float64
    ones = np.ones((2, 3), dtype=np.float32)
    assert scene.raycast(ones, -ones).distance.dtype == np.float32
    assert scene.raycast(ones, -ones.astype(float)).distance.dtype == np.float64
    assert scene.raycast(np.zeros((0, 3)), np.zeros((0, 3))).distance.shape == (0,)
    assert scene.raycast([0, 0, 2], [0, 0, -9]).distance == 2.0  # directions may have any length
    assert scene.raycast([0, 0, 2], [0, 0, -1], max_range=1.9).id == -1


@pytest.mark.parametrize(
    ("origins", "directions", "message"),
    [
        ([0, 0], [0, 0, 1], r"origins: expected numbers of shape \(…, 3\)"),
        ([0, 0, 0], "up", "directions: expected numbers"),
        ([[0, 0, 0], [0]], [0, 0, 1], "origins: expected numbers"),
        (np.zeros((2, 3)), np.zeros((3, 3)), "shapes that broadcast"),
    ],
)
def test_invalid_rays_are_refused(origins: Any, directions: Any, message: str) -> None:
    scene = Scene([Plane(name="ground")])
    with pytest.raises((ValueError, TypeError), match=message):
        scene.raycast(origins, directions)
    with pytest.raises((ValueError, TypeError), match=r"start|end"):
        scene.visible(origins, directions)


def test_other_invalid_arguments_are_refused() -> None:
    scene = Scene([Plane(name="ground")])
    wrong: Any
    for wrong in (0.0, -1.0, math.nan, "far", None, True, [1.0]):
        with pytest.raises((ValueError, TypeError), match="max_range: expected a number > 0"):
            scene.raycast([0, 0, 1], [0, 0, 1], max_range=wrong)
    with pytest.raises(TypeError, match="threads"):
        scene.raycast([0, 0, 1], [0, 0, 1], threads=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one of the two"):
        scene.collides([0, 0, 1])
    with pytest.raises(ValueError, match="one of the two"):
        scene.collides([0, 0, 1], radius=1.0, size=(1, 1, 1))
    with pytest.raises(ValueError, match="radius"):
        scene.collides([0, 0, 1], radius=0.0)
    with pytest.raises(ValueError, match="size"):
        scene.collides([0, 0, 1], size=(1, 1, -1))
    with pytest.raises(ValueError, match="unit quaternions"):
        scene.collides([0, 0, 1], [1, 1, 0, 0], size=(1, 1, 1))
    with pytest.raises(ValueError, match="attitude"):
        scene.collides(np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (2, 1)), size=(1, 1, 1))


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_precision_do_not_change_the_hits(name: str) -> None:
    scene = Scene.load(name, seed=1)
    o, d = rays(20_000, 7)
    o[:, 2] = np.abs(o[:, 2])
    alone, shared = scene.raycast(o, d), scene.raycast(o, d, threads=2)
    assert np.array_equal(alone.distance, shared.distance)
    assert np.array_equal(alone.id, shared.id)
    small = scene.raycast(o.astype(np.float32), d.astype(np.float32))
    # except at edges; ids may differ because touching bodies share surfaces
    different = (small.id < 0) != (alone.id < 0)
    both = (small.id >= 0) & (alone.id >= 0)
    error = np.abs(small.distance[both] - alone.distance[both])
    assert np.mean(different) < 1e-3
    assert np.mean(error > 1e-3 * (1.0 + alone.distance[both])) < 1e-3
    assert np.median(error) < 1e-5
    forward = scene.visible(o[:-1], o[1:])
    assert np.array_equal(forward, scene.visible(o[1:], o[:-1], threads=2))


def test_python_threads_can_share_a_scene() -> None:
    scene = Scene.load("forest", seed=2)
    o, d = rays(3000, 8)
    expected = scene.raycast(o, d)
    found: list[world.RayHits] = []
    workers = [threading.Thread(target=lambda: found.append(scene.raycast(o, d))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(hits.distance, expected.distance) for hits in found)
    assert len(found) == 4


def test_rays_that_are_not_finite_hit_nothing() -> None:
    scene = Scene.load("room")
    origins: Any = [[0, 0, 1], [math.nan, 0, 1], [0, 0, math.inf]]
    hits = scene.raycast(origins, [0, 0, -1.0])
    assert hits.id.tolist() == [0, -1, -1]
    assert not scene.visible([0, 0, math.nan], [0, 0, 1])


def test_hits_are_on_the_surfaces_of_their_items() -> None:
    scene = Scene.load("warehouse", seed=3)
    o, d = rays(4000, 9)
    o[:, 2] = 1.5
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    hits = scene.raycast(o, d)
    assert (hits.id >= 0).all()  # walls all around
    assert hits.normal is not None
    assert np.linalg.norm(hits.normal, axis=1) == pytest.approx(1.0)
    assert (np.sum(hits.normal * d, axis=1) < 0.0).all()
    at = o + d * hits.distance[:, None]
    # a tiny sphere at the hit touches the item; in front of it the way is free
    for k in range(0, 4000, 40):
        assert scene.collides(at[k], radius=1e-6).collided
    before = o + d * (hits.distance - 1e-3)[:, None]
    free = scene.visible(o, before)
    assert free[hits.distance > 2e-3].all()


def test_collisions_of_spheres_and_boxes() -> None:
    scene = Scene([Plane(name="ground"), Box(name="crate", size=(1, 1, 1), position=(3, 0, 0.5))])
    positions: Any = [[0, 0, 1], [0, 0, 0.1], [2.4, 0, 1], [math.nan, 0, 0]]
    touched = scene.collides(positions, radius=0.2)
    assert touched.collided.tolist() == [False, True, True, False]
    assert touched.id.tolist() == [-1, 0, 1, -1]
    position = [2.2, 0.0, 0.9]
    eighth = [math.cos(math.pi / 8), 0, 0, math.sin(math.pi / 8)]
    assert not scene.collides(position, size=(0.5, 0.5, 0.1)).collided
    assert scene.collides(position, eighth, size=(0.5, 0.5, 0.1)).collided  # with its corner
    assert scene.collides(np.zeros((2, 5, 3)), size=(1, 1, 1)).id.shape == (2, 5)


# --- meshes through Embree ---------------------------------------------------------------------


def globe(rows: int, radius: float) -> dict[str, Any]:
    """A sphere of triangles with bumps."""
    polar, azimuth = np.meshgrid(
        np.linspace(0.02, math.pi - 0.02, rows), np.linspace(0, math.tau, 2 * rows), indexing="ij"
    )
    r = radius * (1.0 + 0.05 * np.sin(9 * azimuth) * np.sin(7 * polar))
    unit = np.stack(
        [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], -1
    )
    a = np.arange((rows - 1) * 2 * rows).reshape(rows - 1, -1)[:, :-1].ravel()
    b, c, d = a + 1, a + 2 * rows, a + 2 * rows + 1
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])
    return {"vertices": (r[..., None] * unit).reshape(-1, 3), "triangles": triangles}


def test_embree_and_built_in_meshes_agree() -> None:
    pytest.importorskip("embreex", reason='embreex is missing (pip install "propwash[mesh]")')
    items = [
        Plane(name="ground", position=(0, 0, -2)),
        Mesh(name="ball", attitude=(0.5, 0.5, 0.5, 0.5), **globe(40, 3.0)),
        Box(name="crate", size=(1, 1, 1), position=(5, 0, 0)),
        Mesh(name="moon", position=(0, 0, 5), **globe(20, 0.9)),
        Mesh(name="small", position=(0, 5, 0), **box_mesh((1, 2, 1))),
    ]
    builtin, embree = Scene(items, meshes="builtin"), Scene(items, meshes="embree")
    o, d = rays(20_000, 11)
    o[5, 0], d[7] = math.nan, 0.0
    a, b = builtin.raycast(o, d, max_range=9.0), embree.raycast(o, d, max_range=9.0)
    assert np.mean(a.id != b.id) < 1e-3  # rays that graze an edge
    same = (a.id == b.id) & (a.id >= 0)
    assert set(a.id[same]) == {0, 1, 2, 3, 4}
    assert np.abs(a.distance[same] - b.distance[same]).max() < 1e-3
    assert a.normal is not None
    assert b.normal is not None
    assert np.mean(np.abs(a.normal - b.normal)[same] > 1e-3) < 1e-3
    assert np.mean(builtin.visible(o[1:], o[:-1]) != embree.visible(o[1:], o[:-1])) < 1e-3
    none = embree.raycast(np.zeros((0, 3)), np.zeros((0, 3)))
    assert none.distance.shape == (0,)


@pytest.mark.parametrize(("meshes", "bound"), [("builtin", 0.0), ("embree", 0.01)])
def test_rays_do_not_pass_through_edges_of_triangles(meshes: Any, bound: float) -> None:
    if meshes == "embree":
        pytest.importorskip("embreex", reason='embreex is missing (pip install "propwash[mesh]")')
    shape = globe(40, 1.0)
    scene = Scene([Mesh(name="ball", **shape)], meshes=meshes)
    rng = np.random.default_rng(3)
    corners = shape["vertices"][shape["triangles"]]
    closed = (np.abs(corners[..., 2]) < 0.9).all(axis=1) & (corners[..., 0] < 0.0).all(axis=1)
    corner, other, _ = rng.choice(corners[closed], 50_000).swapaxes(0, 1)
    part = rng.uniform(0.0, 1.0, (50_000, 1)) * (rng.random((50_000, 1)) < 0.5)
    target = corner + part * (other - corner)
    origin = target + 9.0 * (corner + rng.uniform(-0.3, 0.3, target.shape))
    far = np.linalg.norm(target - origin, axis=1)
    passes = scene.raycast(origin, target - origin).distance > far + 0.05
    assert np.mean(passes) <= bound


def test_points_of_a_distant_mesh_are_visible_from_outside() -> None:
    pytest.importorskip("embreex", reason='embreex is missing (pip install "propwash[mesh]")')
    for far in (0.0, 300.0, 3000.0):
        ball = Mesh(name="ball", position=(far, -far, 0.5 * far), **globe(40, 1.0))
        scene = Scene([ball], meshes="embree")
        points = np.array(ball.vertices)
        centre = np.array(ball.position)
        assert scene.visible(centre + 4.0 * points, centre + points).mean() > 0.99


def test_without_embree_built_in_meshes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embreex", None)
    mesh = Mesh(name="ball", **globe(20, 1.0))
    assert Scene([mesh]).raycast([-3, 0, 0], [1, 0, 0]).id == 0
    with pytest.raises(ImportError, match=r"propwash\[mesh\]"):
        Scene([mesh], meshes="embree")
    with pytest.raises(ValueError, match="meshes"):
        Scene([mesh], meshes="other")  # type: ignore[arg-type]
    assert (
        len(Scene([Plane(name="p")], meshes="embree")) == 1
    )  # without meshes Embree is not needed
