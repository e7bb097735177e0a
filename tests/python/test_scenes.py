"""Scene files: the shipped ones, reading, writing, and refused values."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import propwash as pw
import pytest
from propwash import world
from propwash.world import Box, Cylinder, Marker, Mesh, Scene, Sphere, Start
from scene_helpers import box_mesh, rays

SCENES = Path(world.__file__).parent / "scenes"
NAMES = world.scene_names()

# FlightGoggles (MIT licence): markers 1 to 4 of each gate, north-west-up, m
# fmt: off
PUBLISHED = {
    "Gate10": [[18.15111, 3.631447, 7.229498], [16.35111, 3.63155, 7.229498],
               [18.15111, 3.631447, 5.383497], [16.35111, 3.63155, 5.383497]],
    "Gate21": [[15.15353, 37.63426, 8.376249], [18.43008, 41.25023, 8.376249],
               [18.43008, 41.25023, 5.14875], [15.15353, 37.63426, 5.14875]],
    "Gate2": [[-0.2551794, 27.86797, 4.16025], [4.433571, 27.86797, 4.16025],
              [4.433571, 27.86797, 0.9327497], [-0.2551794, 27.86797, 0.9327497]],
    "Gate13": [[1.237332, 9.001728, 2.9625], [3.162332, 9.001728, 2.9625],
               [3.162332, 9.001728, 1.025], [1.237332, 9.001728, 1.025]],
    "Gate9": [[-6.40867, -12.13678, 4.152941], [-8.208672, -12.13678, 4.152941],
              [-6.408669, -12.13678, 2.306941], [-8.208672, -12.13678, 2.306941]],
    "Gate14": [[-10.4501, -31.31195, 4.25625], [-6.545984, -27.40784, 4.25625],
               [-6.545984, -27.40784, 1.02875], [-10.4501, -31.31195, 1.02875]],
    "Gate1": [[-0.009000421, -32.9505, 3.071861], [-0.009000659, -34.8755, 3.071861],
              [-0.009000659, -34.8755, 1.134362], [-0.009000421, -32.9505, 1.134362]],
    "Gate22": [[4.798321, -27.37053, 4.18125], [8.70332, -31.27553, 4.18125],
               [8.70332, -31.27553, 0.9537499], [4.798321, -27.37053, 0.9537499]],
    "Gate15": [[5.744822, -11.79203, 4.16025], [8.75482, -11.79203, 4.16025],
               [8.75482, -11.79203, 0.9327497], [5.744822, -11.79203, 0.9327497]],
    "Gate23": [[-9.328671, 7.773174, 2.942941], [-11.12867, 7.773277, 2.942941],
               [-9.328669, 7.773174, 1.096941], [-11.12867, 7.773277, 1.096941]],
    "Gate6": [[-9.14867, 30.62316, 3.820941], [-10.94867, 30.62329, 3.820941],
              [-9.148668, 30.62316, 1.974941], [-10.94867, 30.62329, 1.974941]],
}
BOUNDS = {  # m, m, degrees
    "Gate10": (1.0, 1.0, 5.0), "Gate21": (0.0, 0.0, 2.0), "Gate2": (0.0, 1.0, 5.0),
    "Gate13": (2.5, 2.5, 5.0), "Gate9": (0.0, 0.0, 2.0), "Gate14": (1.0, 1.0, 5.0),
    "Gate1": (2.5, 2.5, 5.0), "Gate22": (1.0, 1.0, 5.0), "Gate15": (0.0, 2.5, 5.0),
    "Gate23": (2.5, 2.5, 5.0), "Gate6": (0.0, 0.0, 2.0),
}
# fmt: on

TEXT = """
name = "yard"

[start]
position = [0, 0, 1]

[[items]]
shape = "plane"
name = "ground"

[[items]]
shape = "box"
name = "crate"
position = [3, 0, 0.5]
yaw = 0.3
size = [1, 2, 1]
perturbation = [0.5, 0, 0.1]

[[items]]
shape = "gate"
name = "Gate1"
position = [6, 0, 2]
width = 2
height = 1

[[markers]]
name = "lamp"
position = [1, 2, 3]
"""


def read(tmp_path: Path, text: str, seed: int | None = None) -> Scene:
    path = tmp_path / "yard.toml"
    path.write_text(text, encoding="utf-8")
    return Scene.load(path, seed=seed)


@pytest.mark.parametrize("name", NAMES)
def test_shipped_scenes_load_and_fit_the_schema(name: str) -> None:
    scene = Scene.load(name)
    assert scene.name == name
    text = (SCENES / f"{name}.toml").read_text(encoding="utf-8")
    jsonschema.validate(tomllib.loads(text), world.scene_json_schema())
    assert tomllib.loads(text)["sources"]
    for item in scene.items:
        assert item.category
        assert max(map(abs, item.position)) < 100.0


def test_the_shipped_scenes_are_listed() -> None:
    assert NAMES == [
        "aisles",
        "alphapilot",
        "beacons",
        "empty",
        "forest",
        "room",
        "walls",
        "warehouse",
    ]


def test_the_room_is_11_by_11_by_5_5_m() -> None:
    scene = Scene.load("room")
    out = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    hits = scene.raycast([0.0, 0.0, 2.0], out)
    assert hits.distance == pytest.approx([5.5, 5.5, 5.5, 5.5, 3.5, 2.0])
    assert scene.items[hits.id[4]].category == "ceiling"
    directions = np.random.default_rng(1).normal(size=(5000, 3))
    assert np.isfinite(scene.raycast([0.0, 0.0, 2.0], directions).distance).all()


def test_the_course_has_the_published_gates_and_markers() -> None:
    scene = Scene.load("alphapilot")
    assert [gate.name for gate in scene.gates] == list(PUBLISHED)
    positions = dict(zip(scene.markers.names, scene.markers.positions, strict=True))
    for name, corners in PUBLISHED.items():
        for k, corner in enumerate(corners):
            assert positions[f"{name}_{k + 1}"] == pytest.approx(corner, abs=2e-4)


def test_the_x_axes_of_the_gates_point_along_the_course() -> None:
    scene = Scene.load("alphapilot")
    assert scene.start is not None
    assert scene.start.position == (18.5, 6.5, 1.0)
    route = [np.array(p) for p in (scene.start.position, *(g.position for g in scene.gates))]
    for k, gate in enumerate(scene.gates):
        forward = np.array([math.cos(gate.yaw), math.sin(gate.yaw), 0.0])
        after = route[min(k + 2, len(route) - 1)]
        assert np.dot(after - route[k], forward) > 0.0
        # the opening is free
        a, b = np.array(gate.position) - 0.5 * forward, np.array(gate.position) + 0.5 * forward
        assert scene.visible(a, b)
        side = np.array([-forward[1], forward[0], 0.0]) * 0.5 * (gate.width + gate.border)
        assert not scene.visible(a + side, b + side)


def test_a_seed_moves_the_gates_within_the_published_bounds() -> None:
    nominal = Scene.load("alphapilot")
    moves: dict[str, list[tuple[float, ...]]] = {name: [] for name in BOUNDS}
    for seed in range(200):
        for gate, reference in zip(
            Scene.load("alphapilot", seed=seed).gates, nominal.gates, strict=True
        ):
            x, y, z = np.subtract(gate.position, reference.position)
            yaw = math.remainder(gate.yaw - reference.yaw, math.tau)
            moves[gate.name].append((x, y, math.degrees(yaw)))
            assert z == 0.0
    for name, bounds in BOUNDS.items():
        steps = np.abs(moves[name])
        assert (steps <= np.array(bounds) + 1e-4).all()
        for axis, bound in enumerate(bounds):
            if bound > 0.0:  # 200 uniform numbers are all below 0.9 of it with probability 1e-9
                assert steps[:, axis].max() > 0.9 * bound
                mean = np.mean(np.array(moves[name])[:, axis])
                assert abs(mean) < 5.0 * bound / math.sqrt(3.0 * 200)  # five sigma


@pytest.mark.parametrize("name", ["aisles", "alphapilot", "forest", "walls", "warehouse"])
def test_a_seed_determines_the_scene(name: str) -> None:
    one, again, other = (Scene.load(name, seed=seed) for seed in (5, 5, 6))
    assert one.items == again.items
    assert one.items != other.items


def test_scenes_of_a_seed_are_portable() -> None:
    # recorded once: the scene of a seed must not change
    gate = Scene.load("alphapilot", seed=1)["Gate10"]
    assert gate.position == pytest.approx((16.669238, 3.584682, 6.306498), abs=2e-6)
    trunk = Scene.load("forest", seed=1)["trunk0"]
    assert trunk.position[:2] == pytest.approx((-0.065460, -27.226156), abs=2e-6)


def test_trees_of_the_forest_keep_their_distance() -> None:
    scene = Scene.load("forest", seed=3)
    trunks = [item for item in scene.items if isinstance(item, Cylinder)]
    assert len(trunks) > 100
    positions = np.array([trunk.position[:2] for trunk in trunks])
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2) + 100.0 * np.eye(
        len(positions)
    )
    assert apart.min() >= 2.5
    assert np.linalg.norm(positions, axis=1).min() > 3.0
    for trunk in trunks:  # on the ground
        assert trunk.position[2] == pytest.approx(0.5 * trunk.height)


def test_each_wall_has_gaps_of_the_drawn_widths() -> None:
    options: dict[str, Any] = {"gap": (1.0, 3.0), "pitch": 5.0, "size": (40.0, 40.0)}
    scene = Scene.load("walls", seed=3, **options)
    walls = [item for item in scene.items if isinstance(item, Box)]
    assert {item.position[0] for item in walls} == {-15.0, -5.0, 5.0, 15.0}
    for x in (-15.0, -5.0, 5.0, 15.0):
        parts = [item for item in walls if item.position[0] == x]
        begins = [item.position[1] - 0.5 * item.size[1] for item in parts]
        ends = [item.position[1] + 0.5 * item.size[1] for item in parts]
        gaps = np.subtract(begins[1:], ends[:-1])
        assert (gaps >= 1.0 - 1e-9).all()
        assert begins[0] == pytest.approx(-20.0)
        assert ends[-1] == pytest.approx(20.0)
        middles = 0.5 * np.add(begins[1:], ends[:-1])
        # a gap at the end of its length of wall may have no wall beyond it
        assert set(np.floor(middles / 5.0).astype(int)) <= set(range(-4, 4))
        assert len(gaps) >= 7


def test_aisles_are_the_warehouse_with_stacks() -> None:
    hall, aisles = Scene.load("warehouse", seed=4), Scene.load("aisles", seed=4)
    stacks = [item for item in aisles.items if "_stack" in item.name]
    assert [item for item in aisles.items if item not in stacks] == list(hall.items)
    assert 10 < len(stacks) < 50  # of 60 places
    for item in stacks:  # a passage of at least 0.96 m beside it
        aisle = round(item.position[1] / 4.4) * 4.4
        assert abs(item.position[1] - aisle) + 0.5 * 1.28 <= 1.6 + 1e-9
        assert abs(item.position[1] - aisle) + 1.6 - 0.64 >= 0.96


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("walls", {"gap": (1.0, 7.0)}, r"gap = .*: expected less than generator.pitch = 6 m"),
        ("walls", {"pitch": 70.0}, r"pitch = 70.0: expected at most generator.size\[1\] = 60 m"),
        (
            "walls",
            {"spacing": 50.0},
            r"spacing = 50.0: expected at most generator.size\[0\] = 40 m",
        ),
        ("walls", {"thickness": 20.0}, "expected less than generator.spacing = 10 m"),
        ("walls", {"pitch": 0.1, "gap": (0.01, 0.02), "size": (1e3, 1e3)}, "at most 20000 items"),
        ("aisles", {"stacks": 1.5}, "generator.stacks = 1.5: expected a number from 0 to 1"),
        ("room", {"gap": (1.0, 2.0)}, "expected none for a scene without a generator"),
    ],
)
def test_wrong_parameters_of_generators_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(pw.ParameterError, match=message):
        Scene.load(name, **options)


def test_starts_of_scenes_are_free_of_collisions() -> None:
    for name in NAMES:
        scene = Scene.load(name, seed=2)
        assert scene.start is not None
        assert not scene.collides(scene.start.position, radius=0.5).collided


def test_a_scene_file_is_read(tmp_path: Path) -> None:
    scene = read(tmp_path, TEXT)
    assert scene.names == ("ground", "crate", "Gate1")
    crate = scene["crate"]
    assert isinstance(crate, Box)
    assert crate.size == (1.0, 2.0, 1.0)
    assert crate.yaw == pytest.approx(0.3)
    assert crate.position == (3.0, 0.0, 0.5)
    assert scene.start == Start(position=(0.0, 0.0, 1.0))
    assert scene.markers.names == ("Gate1_1", "Gate1_2", "Gate1_3", "Gate1_4", "lamp")
    assert scene.markers.positions[-1] == pytest.approx([1.0, 2.0, 3.0])
    assert scene.markers.gates == ("Gate1",) * 4 + ("",)
    assert scene.markers.corners.tolist() == [*scene.gates[0].marker_corners, -1]
    assert crate.perturbation == (0.5, 0.0, 0.1)
    moved = read(tmp_path, TEXT, seed=0)["crate"]
    assert moved != crate
    assert moved.perturbation == crate.perturbation
    assert moved.position[1:] == crate.position[1:]
    assert abs(moved.position[0] - crate.position[0]) <= 0.5
    assert abs(moved.yaw - crate.yaw) <= 0.1


def test_gates_are_moved_uniformly_within_their_bounds() -> None:
    nominal = Scene.load("alphapilot").gates
    bounds = np.array([gate.perturbation for gate in nominal])
    moved = [Scene.load("alphapilot", seed=seed).gates for seed in range(100)]
    assert [gate.perturbation for gate in moved[0]] == [gate.perturbation for gate in nominal]
    poses = np.array([[(*gate.position, gate.yaw) for gate in gates] for gates in moved])
    offset = poses - [(*gate.position, gate.yaw) for gate in nominal]
    assert np.all(offset[..., 2] == 0.0)
    offset = np.delete(offset, 2, axis=-1)
    offset[..., 2] = (offset[..., 2] + np.pi) % (2.0 * np.pi) - np.pi
    is_free = bounds > 0.0
    np.testing.assert_allclose(offset[:, ~is_free], 0.0, atol=1e-12)
    part = offset[:, is_free] / bounds[is_free]
    assert np.abs(part).max() < 1.0 + 1e-9
    # the variance of a uniform number of [-1, 1] is 1/3, that of its square 4/45
    assert abs(np.mean(part**2) - 1.0 / 3.0) < 4.0 * np.sqrt(4.0 / 45.0 / part.size)


@pytest.mark.parametrize("bounds", [(-0.1, 0, 0), (0, np.inf, 0), (0, 0, np.nan), (1, 1), "wide"])
def test_bounds_of_a_perturbation_are_checked(bounds: Any) -> None:
    with pytest.raises(pw.ParameterError, match="perturbation"):
        Sphere(name="ball", radius=1.0, perturbation=bounds)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_scene_equals_the_original(name: str, tmp_path: Path) -> None:
    scene = Scene.load(name, seed=4)
    path = tmp_path / "saved.toml"
    scene.save(path)
    again = Scene.load(path)
    assert again.items == scene.items
    assert again.start == scene.start
    assert np.array_equal(again.markers.positions, scene.markers.positions)
    jsonschema.validate(tomllib.loads(path.read_text("utf-8")), world.scene_json_schema())


def test_meshes_and_unusual_names_can_be_saved(tmp_path: Path) -> None:
    items = [
        Mesh(name='a "mesh" \\ of\ttriangles', **box_mesh((1, 2, 3))),
        Sphere(name="ball", radius=0.1, attitude=(0.5, 0.5, 0.5, 0.5), colour=(0.1, 0.2, 0.3)),
    ]
    scene = Scene(items, name="strange", markers=[Marker(name="é", position=(1, 2, 3))])
    scene.save(tmp_path / "strange.toml")
    again = Scene.load(tmp_path / "strange.toml")
    assert list(again.items) == items
    assert again.markers.names == ("é",)


def test_the_committed_schema_is_up_to_date() -> None:
    committed = json.loads((SCENES / "schema.json").read_text(encoding="utf-8"))
    assert committed == world.scene_json_schema()
    jsonschema.Draft202012Validator.check_schema(committed)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('shape = "box"', 'shape = "bx"', "did you mean 'box'"),
        ('shape = "box"', "", "missing items[1].shape"),
        ("size = [1, 2, 1]", "", "missing items[1].size"),
        ("size = [1, 2, 1]", "sise = [1, 2, 1]", "did you mean 'size'"),
        ("size = [1, 2, 1]", "size = [1, 2]", "items[1].size = [1, 2]: expected 3 numbers in m"),
        ("width = 2", "width = '2'", "items[2].width = '2': expected a number in m"),
        ("yaw = 0.3", "yaw_deg = 17", "angles in rad"),
        ("[start]", "[star]", "did you mean 'start'"),
        ('name = "yard"', "", "missing name"),
        ('name = "lamp"', "", "missing markers[0].name"),
    ],
)
def test_schema_and_loader_refuse_the_same_files(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    text = TEXT.replace(right, wrong, 1)
    assert text != TEXT
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), world.scene_json_schema())
    with pytest.raises(pw.ParameterError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert "yard.toml" in str(error.value)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("size = [1, 2, 1]", "size = [1, -2, 1]", "'crate': size[1] = -2"),
        ('name = "crate"', 'name = "ground"', "name = 'ground': expected a unique name"),
        ("yaw = 0.3", "attitude = [1, 1, 0, 0]", "unit quaternion"),
        ("yaw = 0.3", "attitude = [1, 0, 0, 0]\nyaw = 0.0", "both given"),
        ("width = 2", "width = inf", "'Gate1': width = inf"),
        ("yaw = 0.3", "yaw = inf", "items[1].yaw = inf: expected a finite number"),
        ("yaw = 0.3", "yaw = 1" + "0" * 400, "items[1].yaw"),
        ("width = 2", "width = 1" + "0" * 400, "items[2].width"),
        ("bation = [0.5,", "bation = [-1,", "items[1].perturbation"),
        ("bation = [0.5,", "bation = [inf,", "items[1].perturbation"),
        ("height = 1", "height = 1\nmarker_corners = [0, 1, 1, 2]", "marker_corners"),
        ('name = "lamp"', 'name = "Gate1_2"', "name = 'Gate1_2': expected a unique name"),
        ('name = "yard"', 'name = "yard" x', "expected a TOML file"),
    ],
)
def test_errors_name_the_file_and_the_invalid_value(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    text = TEXT.replace(right, wrong, 1)
    assert text != TEXT
    with pytest.raises(pw.ParameterError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert "yard.toml" in str(error.value)


def test_parameters_of_the_generator_replace_those_of_the_file() -> None:
    usual, sparse = Scene.load("forest", seed=3), Scene.load("forest", seed=3, density=0.01)
    assert len(usual) == 1 + 2 * 180
    assert len(sparse) == 1 + 2 * 36
    bare = Scene.load("forest", seed=3, crown_radius=(0.0, 0.0), spacing=0.0, clearing=0.0)
    assert {item.category for item in bare} == {"ground", "trunk"}
    assert len(bare) == 1 + 180
    places = np.array([item.position[:2] for item in bare.items[1:]])
    apart = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(180, 1)]
    # for independent places, the expected number of pairs closer than 1 m is 180² / 2 π / 3600
    assert 4 <= (apart < 1.0).sum() <= 30
    with pytest.raises(pw.ParameterError, match="densty"):
        Scene.load("forest", densty=0.1)
    with pytest.raises(pw.ParameterError, match="density: expected none for a scene without a gen"):
        Scene.load("room", density=0.1)


def test_a_forest_of_excessive_density_is_refused(tmp_path: Path) -> None:
    text = (SCENES / "forest.toml").read_text(encoding="utf-8").replace("0.05 ", "1e9 ", 1)
    with pytest.raises(pw.ParameterError, match=r"generator.density = 1000000000.0: expected numb"):
        read(tmp_path, text)


def test_unknown_scenes_are_refused() -> None:
    with pytest.raises(pw.ParameterError, match="did you mean 'alphapilot'"):
        Scene.load("alphaplot")
    with pytest.raises(pw.ParameterError, match="expected the path of a TOML file"):
        Scene.load("nowhere/yard.toml")
    with pytest.raises(pw.ParameterError, match="expected a name"):
        Scene.load(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        Scene.load("forest", seed=-1)


@pytest.mark.parametrize("kind", ["obj", "binary stl", "text stl"])
def test_meshes_are_read_from_files(tmp_path: Path, kind: str) -> None:
    mesh = box_mesh((1.0, 2.0, 3.0))
    corners = mesh["vertices"][mesh["triangles"]].astype("<f4")
    name = "box.obj" if kind == "obj" else "box.stl"
    if kind == "obj":
        quads = "f 1//1 3//1 4//1 2//1\nf -4 -3 -1 -2\n"  # two faces of four corners
        lines = [f"v {x} {y} {z}" for x, y, z in mesh["vertices"]]
        faces = [f"f {a + 1}/9 {b + 1} {c + 1}" for a, b, c in mesh["triangles"][4:]]
        (tmp_path / name).write_text("# a box\n" + "\n".join([*lines, *faces]) + "\n" + quads)
    elif kind == "binary stl":
        record = np.zeros(12, dtype=[("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
        record["c"] = corners
        (tmp_path / name).write_bytes(b" " * 80 + np.uint32(12).tobytes() + record.tobytes())
    else:
        facets = [
            "facet normal 0 0 0\nouter loop\n"
            + "".join(f"vertex {x} {y} {z}\n" for x, y, z in facet)
            + "endloop\nendfacet\n"
            for facet in corners
        ]
        (tmp_path / name).write_text("solid box\n" + "".join(facets) + "endsolid\n")
    text = f'name = "m"\n[[items]]\nshape = "mesh"\nname = "box"\nfile = "{name}"\n'
    scene, solid = read(tmp_path, text), Scene([Box(name="box", size=(1, 2, 3))])
    o, d = rays(500, 3, 3.0)
    assert scene.raycast(o, d).distance == pytest.approx(solid.raycast(o, d).distance)


def test_invalid_mesh_files_are_refused(tmp_path: Path) -> None:
    text = 'name = "m"\n[[items]]\nshape = "mesh"\nname = "box"\nfile = "box.obj"\n'
    with pytest.raises(pw.ParameterError, match="No such file"):
        read(tmp_path, text)
    (tmp_path / "box.obj").write_text("v 1 2 x\n")
    with pytest.raises(pw.ParameterError, match=r"box\.obj, line 1: 'v 1 2 x': expected v"):
        read(tmp_path, text)
    (tmp_path / "box.obj").write_text("v 1 2 3\nf 1 2 3\n")
    with pytest.raises(pw.ParameterError, match=r"line 2: .* indices of the 1 vertices"):
        read(tmp_path, text)
    (tmp_path / "box.obj").write_text("v 1 2 3\n")
    with pytest.raises(pw.ParameterError, match="no triangles"):
        read(tmp_path, text)
    with pytest.raises(pw.ParameterError, match=r"\.obj or \.stl"):
        read(tmp_path, text.replace("box.obj", "box.ply"))
