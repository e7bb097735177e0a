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
