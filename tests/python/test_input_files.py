"""Invalid paths, encodings and sizes in files: refused at once, with the name in the message."""

from __future__ import annotations

import math
import os
import signal
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_files import seeds
from propwash import identify, logs
from propwash.vehicle import files as vehicles
from propwash.vehicle.flightgoggles import import_flightgoggles
from propwash.vehicle.parameters import ParameterError
from propwash.world import Forest, Gate, Marker, Scene, Start, Warehouse

Read = Callable[[Path], Any]
Reader = tuple[str, Read, type[Exception]]


def _mesh(path: Path) -> object:
    scene = path.parent / "scene_of_mesh.toml"
    text = f'name = "s"\n[[items]]\nshape = "mesh"\nname = "m"\nfile = "{path.name}"\n'
    scene.write_text(text, encoding="utf-8")
    return Scene.load(scene)


def _policy(path: Path) -> object:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("gymnasium")
    from propwash.gym.policy import Policy

    return Policy.load(path)


def _goggles(path: Path) -> object:
    pytest.importorskip("yaml")
    return import_flightgoggles(path)


READERS: dict[str, Reader] = {
    "vehicle": ("vehicle.toml", vehicles.load, ParameterError),
    "scene": ("scene.toml", Scene.load, ParameterError),
    "obj": ("statue.obj", _mesh, ParameterError),
    "stl": ("statue.stl", _mesh, ParameterError),
    "flightgoggles": ("drone.yaml", _goggles, ParameterError),
    "flight": ("log.csv", logs.read_flight, ValueError),
    "csv": ("log.csv", identify.read_log, ValueError),
    "columns": ("columns.toml", identify.Columns.from_toml, ValueError),
    "ulog": ("log.ulg", identify.read_log, ValueError),
    "bag": ("log.bag", identify.read_log, ValueError),
    "mcap": ("log.mcap", identify.read_log, ValueError),
    "db3": ("log.db3", identify.read_log, ValueError),
    "policy": ("policy.onnx", _policy, ValueError),
}


@pytest.fixture(autouse=True)
def _no_reader_waits() -> Iterator[None]:
    """Fails a reader that waits for a pipe, or reads an endless device."""

    def on_alarm(*_: object) -> None:
        raise AssertionError("a reader waits for more than 20 s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _dangling(path: Path) -> None:
    path.symlink_to("not_there")


def _empty(path: Path) -> None:
    path.touch()


NO_FILES: list[Callable[[Path], None]] = [_folder, _loop, _device, _dangling, _empty, os.mkfifo]


@pytest.mark.parametrize("make", NO_FILES)
@pytest.mark.parametrize("reader", READERS)
def test_errors_name_paths_that_are_not_files(
    reader: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    name, read, error = READERS[reader]
    path = tmp_path / name
    make(path)
    with pytest.raises((error, FileNotFoundError)) as caught:
        read(path)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "a\0b"])
@pytest.mark.parametrize("reader", READERS)
def test_invalid_file_names_are_refused(reader: str, name: str, tmp_path: Path) -> None:
    suffix = Path(READERS[reader][0]).suffix
    if reader in ("obj", "stl") and "\0" in name:
        suffix = "\\u0000" + suffix  # as TOML writes it
        name = "x"
    with pytest.raises((READERS[reader][2], FileNotFoundError)) as caught:
        READERS[reader][1](tmp_path / (name + suffix))
    assert len(str(caught.value)) < 12000


TEXTS = {"vehicle": "vehicle", "scene": "scene", "csv": "csv", "columns": "columns"}
TEXTS |= {"flightgoggles": "flightgoggles", "obj": "obj", "stl": "stl_text"}


def _written(reader: str, folder: Path, change: Callable[[str], bytes]) -> Path:
    name = READERS[reader][0]
    (folder / name).write_bytes(change(seeds(TEXTS[reader])[0][name].decode()))
    return folder / name


@pytest.mark.parametrize("reader", TEXTS)
def test_all_line_ends_and_byte_order_marks_are_accepted(reader: str, tmp_path: Path) -> None:
    changes: list[Callable[[str], bytes]] = [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.rstrip("\n").encode(),
    ]
    for change in changes:
        READERS[reader][1](_written(reader, tmp_path, change))


@pytest.mark.parametrize("reader", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_errors_name_the_encoding(reader: str, encoding: str, tmp_path: Path) -> None:
    path = _written(reader, tmp_path, lambda text: text.encode(encoding))
    with pytest.raises(READERS[reader][2], match=r"in UTF-8, got UTF-(16|32); save it as UTF-8"):
        READERS[reader][1](path)
    path = _written(reader, tmp_path, lambda text: text.encode().replace(b"\n", b"\n\xff", 1))
    with pytest.raises(READERS[reader][2], match=r"in UTF-8, line 2 has the byte 0xff"):
        READERS[reader][1](path)


DEEP = {
    "lists": "x = " + 100_000 * "[",
    "tables": "x = " + 100_000 * "{a = ",
    "keys": ".".join(100_000 * ["a"]) + " = 1",
    "headers": "[" + ".".join(100_000 * ["a"]) + "]",
    "inline keys": "x = {" + " . ".join(100_000 * ["a"]) + " = 1}",
    "digits": "x = 1" + 100_000 * "0",
    "hexadecimal digits": "x = 0x" + 100_000 * "f",
}


@pytest.mark.parametrize("reader", ["vehicle", "scene", "columns"])
@pytest.mark.parametrize("text", DEEP)
def test_deep_and_long_toml_is_refused_at_once(reader: str, text: str, tmp_path: Path) -> None:
    name, read, error = READERS[reader]
    path = tmp_path / name
    path.write_text(DEEP[text], encoding="utf-8")
    start = time.perf_counter()
    with pytest.raises(error) as caught:
        read(path)
    assert time.perf_counter() - start < 10.0
    assert name in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_numbers_with_many_dots_are_not_long_keys(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    rows = ", ".join(200 * ["[0.5, 1.25, -0.125]"])
    text = f"""name = "s"
[[items]]
shape = "mesh"
name = "{100 * "v1.2 "}{200 * "."}"
vertices = [{rows}]
triangles = [[0, 1, 2]]
"""
    path.write_text(text, encoding="utf-8")
    assert len(Scene.load(path)) == 1


def test_yaml_of_many_aliases_is_refused_at_once(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "drone.yaml"
    aliases = ["a0: &a0 [lol, lol]"]
    aliases += [f"a{i}: &a{i} [{', '.join(9 * [f'*a{i - 1}'])}]" for i in range(1, 30)]
    for text in ("\n".join(aliases), "flightgoggles_pid:\n  " + "\n  ".join(aliases)):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(
            ParameterError, match=r"drone\.yaml: unknown (section|key) .*a0"
        ) as caught:
            import_flightgoggles(path)
        assert len(str(caught.value)) < 500
    path.write_text("a: " + 100_000 * "[", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"drone\.yaml: .* nested too deeply"):
        import_flightgoggles(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("v 0 0 0\nf 1 2 99999999999999999999", "line 2: 'f 1 2 99999999999999999999': expected"),
        ("f 1 2 -99999999999999999999", "line 1: 'f 1 2 -99999999999999999999': expected f and"),
        (
            "v 0 0 0\nv 0 1 0\nv 1 0 0\nf 1 2 4",
            "line 4: 'f 1 2 4': expected indices of the 3 vertices",
        ),
        ("v 0 0\nf 1 2 3", "line 1: 'v 0 0': expected v and 3 numbers"),
        ("v 0 0 1e400", "line 1: 'v 0 0 1e400': expected v and 3 numbers, at most 1e"),
        ("v 0 0 nan", "line 1: 'v 0 0 nan': expected"),
        ("v 0 0 0\nf 1 1", "line 2: 'f 1 1': expected f and at least 3 indices"),
        ("v 0 0 0\nf 0 1 1", "line 2: 'f 0 1 1': expected f and at least 3 indices"),
    ],
)
def test_errors_name_the_line_of_an_obj_file(lines: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "statue.obj"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        _mesh(path)
    assert f"statue.obj, {message}" in str(caught.value)


def test_a_truncated_stl_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "statue.stl"
    for count in (2**32 - 1, 4, 0x80000000):
        path.write_bytes(bytes(80) + struct.pack("<I", count) + bytes(150))
        with pytest.raises(ParameterError, match=rf"statue\.stl: .* {count} triangles, got 234"):
            _mesh(path)
    record = struct.pack("<12fH", *[0.0] * 11, math.nan, 0)
    path.write_bytes(bytes(80) + struct.pack("<I", 2) + bytes(50) + record)
    with pytest.raises(ParameterError, match=r"statue\.stl, triangle 2 of 2: .*nan.*: expected"):
        _mesh(path)
    path.write_text("solid x\nfacet\nvertex 0 0 0\nvertex 0 1 0\nendfacet\n", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"statue\.stl, line 5: 'endfacet': expected 3 vert"):
        _mesh(path)


@pytest.mark.parametrize("corners", [[1, 10**400, 2, 3], [1.5, 0, 2, 3], [1, 2, 3], 7, ["0"] * 4])
def test_marker_corners_are_a_permutation_of_four(corners: object) -> None:
    with pytest.raises(ParameterError, match=r"marker_corners = .*: expected each of 0, 1, 2, 3"):
        Gate(name="Gate1", width=2.0, height=1.5, marker_corners=corners)  # type: ignore[arg-type]


def test_infinite_marker_corners_of_a_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    text = seeds("scene")[0]["scene.toml"].decode()
    path.write_text(text.replace("[1, 0, 2, 3]", "[1, 1e400, 2, 3]"), encoding="utf-8")
    with pytest.raises(ParameterError, match=r"scene\.toml: items\[1\]\.marker_corners = \[1, inf"):
        Scene.load(path)


HALL: dict[str, Any] = {
    **{"size": (40.0, 24.0, 9.0), "aisle": 3.2, "rack_depth": 1.1, "bay": 2.7, "level": 2.0},
    **{"levels": 4, "crate": (0.5, 1.1), "fill": 0.6},
}
WOOD: dict[str, Any] = {
    **{"size": (60.0, 60.0), "density": 0.05, "spacing": 2.5, "clearing": 3.0},
    **{"trunk_radius": (0.1, 0.3), "trunk_height": (3.5, 7.0), "crown_radius": (1.0, 2.0)},
}


@pytest.mark.parametrize("number", [1e308, 1e400, 99999999999999999999, 1e9, math.nan, -1.0])
@pytest.mark.parametrize(
    ("kind", "valid", "field"),
    [
        *((Warehouse, HALL, field) for field in HALL),
        *((Forest, WOOD, field) for field in WOOD),
    ],
)
def test_generators_check_their_numbers_first(
    kind: Any, valid: dict[str, Any], field: str, number: float
) -> None:
    value = valid[field]
    wrong = (number, *value[1:]) if isinstance(value, tuple) else number
    with pytest.raises(ParameterError, match=rf"generator\.{field} = "):
        kind(**{**valid, field: wrong})


def test_generators_require_the_minimum_first() -> None:
    with pytest.raises(ParameterError, match=r"generator\.trunk_radius = .*: expected the minimum"):
        Forest(**{**WOOD, "trunk_radius": (0.4, 0.1)})
    with pytest.raises(ParameterError, match=r"generator\.crate = .*: expected the minimum first"):
        Warehouse(**{**HALL, "crate": (1.0, 0.5)})


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (Warehouse, {**HALL, "size": (1e4, 1e4, 9.0)}),
        (Warehouse, {**HALL, "levels": 1e5}),
        (Warehouse, {**HALL, "bay": 1e-3}),
        (Warehouse, {**HALL, "aisle": 0.0, "rack_depth": 1e-3}),
        (Forest, {**WOOD, "density": 1e4}),
        (Forest, {**WOOD, "size": (1e5, 1e5)}),
    ],
)
def test_generators_create_a_bounded_number_of_items(kind: Any, numbers: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"generator: expected at most 20000 items, got .*"):
        kind(**numbers)


@pytest.mark.parametrize(
    "generator",
    [
        Warehouse(**{**HALL, "size": (150.0, 160.0, 9.0), "fill": 1.0}),
        Forest(**{**WOOD, "size": (400.0, 400.0), "density": 0.06, "spacing": 3.0}),
        Forest(**{**WOOD, "size": (400.0, 400.0), "density": 0.06, "spacing": 0.0}),
        Warehouse(**{**HALL, "size": (1.0, 1.0, 1.0)}),
    ],
)
def test_generators_predict_their_number_of_items(generator: Any) -> None:
    items = generator.items(3)
    assert len(items) <= generator.max_items() <= 20000
    if isinstance(generator, Warehouse):
        assert len(items) == generator.max_items()
    Scene(items)


def test_starts_and_markers_have_finite_positions() -> None:
    with pytest.raises(ParameterError, match=r"start\.position = .*inf.*: expected numbers of at"):
        Start(position=(0.0, math.inf, 0.0))
    with pytest.raises(ParameterError, match=r"start\.yaw = nan: expected a finite number"):
        Start(position=(0.0, 0.0, 0.0), yaw=math.nan)
    with pytest.raises(ParameterError, match=r"marker 'lamp': position = 1e\+07: expected finite"):
        Scene(markers=[Marker(name="lamp", position=(0.0, 0.0, 1e7))])
