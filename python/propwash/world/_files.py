"""Scene files: TOML with the fields of the item classes and additional keys.

The additional keys are `yaw` [rad] in place of an attitude, `file` for the triangles of a mesh,
`[generator]` for random items, `[items.motion]` with the fields of Waypoints, and `base`, another
scene whose items come first.
`docs/world.md` describes the format.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from propwash import _files
from propwash._checks import ParameterError, nearest, refusal, shown
from propwash._rotation import about_z
from propwash.vehicle import fields as values
from propwash.vehicle import tables as files
from propwash.vehicle.fields import ParameterSet, Quaternion, Vector3
from propwash.vehicle.tables import SetT
from propwash.vehicle.toml import toml_line, toml_value
from propwash.world import _generators as generators
from propwash.world import _items as parts
from propwash.world import _mesh_files
from propwash.world import _textures as textures
from propwash.world._motion import Waypoints

_FOLDER = Path(__file__).parent / "scenes"
_HEAD = ("name", "base", "items", "markers", "start", "generator", "sources")
_EXTRA = ("shape", "yaw")


class MotionTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The motion of an item through poses at times, as Waypoints."""

    times: list[float]
    """s, increasing."""
    positions: list[Vector3]
    """Positions [m]."""
    attitudes: list[Quaternion] | msgspec.UnsetType = msgspec.UNSET
    """(w, x, y, z)."""
    yaws: list[float] | msgspec.UnsetType = msgspec.UNSET
    """rad, in place of attitudes."""
    repeat: bool = False
    """Whether the motion starts again after the last time."""


class SceneFile(NamedTuple):
    """The contents of a scene file for one seed."""

    name: str
    items: list[parts.Item]
    markers: list[parts.Marker]
    start: parts.Start | None


def names() -> list[str]:
    """The names of the shipped scenes."""
    return _files.shipped_names(_FOLDER)


def find(scene: str | PathLike[str]) -> Path:
    """The file of a shipped scene, by name, or the path of a file."""
    return _files.find_shipped("scene", _FOLDER, scene)


def read(path: Path, seed: int | None, changes: Mapping[str, Any] | None = None) -> SceneFile:
    """Reads a scene file and the files that it is based on; every error names the file.

    changes: fields that replace those of the generator, that of `path` or, if it has none, of the
        nearest of its bases with one.
    """
    scene: SceneFile | None = None
    found = _with_bases(path)
    if changes:
        with _named(path):
            _change_generator([tables for _, tables in found], changes)
    for file, tables in reversed(found):
        with _named(file):
            above = _scene(tables, file.parent, seed)
        scene = above if scene is None else _joined(scene, above)
    assert scene is not None
    return scene


def _change_generator(files_read: Iterable[dict[str, Any]], changes: Mapping[str, Any]) -> None:
    """Changes the generator of the first file that has one."""
    for tables in files_read:
        if "generator" in tables:
            tables["generator"] = {**files.table(tables["generator"], "generator"), **changes}
            return
    raise ParameterError(f"{', '.join(changes)}: expected none for a scene without a generator")


def _with_bases(path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The file and its tables, then those of its base, and so on."""
    files_read: list[tuple[Path, dict[str, Any]]] = []
    while True:
        tables = _files.read_toml(path, ParameterError)
        files_read.append((path, tables))
        if "base" not in tables:
            return files_read
        with _named(path):
            base = _base(values.text(tables["base"], "base"), path.parent)
        if any(base.resolve() == file.resolve() for file, _ in files_read):
            raise ParameterError(
                f"{path}: base = {shown(tables['base'])}: expected a scene that is not based on "
                "this one"
            )
        path = base


def _base(scene: str, folder: Path) -> Path:
    """The file of a base: a shipped scene, or a path relative to the scene file."""
    try:
        return find(scene if scene in names() else folder / scene)
    except ParameterError:
        expected = "a shipped scene or a TOML file, relative to the scene file"
        hint = nearest(scene, names())
        raise ParameterError(f"base = {shown(scene)}: expected {expected}{hint}") from None


def _joined(base: SceneFile, scene: SceneFile) -> SceneFile:
    """The scene with the contents of its base before its own; its start takes precedence."""
    return SceneFile(
        scene.name,
        base.items + scene.items,
        base.markers + scene.markers,
        base.start if scene.start is None else scene.start,
    )


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Adds the name of the file to errors."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from None


def _scene(tables: dict[str, Any], folder: Path, seed: int | None) -> SceneFile:
    """The contents of one file, without those of its base."""
    files.refuse_unknown(tables, _HEAD, "", _hint)
    files.refuse_missing(tables, ("name",), "")
    for key, source in files.table(tables.get("sources", {}), "sources").items():
        values.text(source, f"sources.{shown(key)}")
    items = [
        _item(files.table(entry, f"items[{i}]"), f"items[{i}]", folder, seed)
        for i, entry in enumerate(_list(tables, "items"))
    ]
    if "generator" in tables:
        items += _generator(files.table(tables["generator"], "generator")).items(seed or 0)
    markers = [
        _set(parts.Marker, files.table(entry, f"markers[{i}]"), f"markers[{i}]")
        for i, entry in enumerate(_list(tables, "markers"))
    ]
    start = None
    if "start" in tables:
        start = _set(parts.Start, files.table(tables["start"], "start"), "start")
    return SceneFile(values.text(tables["name"], "name"), items, markers, start)


def _item(table: dict[str, Any], key: str, folder: Path, seed: int | None) -> parts.Item:
    files.refuse_missing(table, ("shape",), key)
    shape = values.text(table["shape"], f"{key}.shape")
    if shape not in parts.KINDS:
        hint = nearest(shape, parts.KINDS) or f"; known: {', '.join(parts.KINDS)}"
        raise ParameterError(f"{key}.shape = {shown(shape)}: there is no such shape{hint}")
    fields = {name: value for name, value in table.items() if name not in _EXTRA}
    if "yaw" in table:
        if "attitude" in table:
            raise ParameterError(f"{key}.yaw and {key}.attitude are both given: expected one")
        fields["attitude"] = about_z(_yaw(table["yaw"], f"{key}.yaw"))
    if shape == "mesh" and "file" in fields:
        for name in ("vertices", "triangles"):
            if name in fields:
                raise ParameterError(f"{key}.file and {key}.{name} are both given: expected one")
        name = values.text(fields.pop("file"), f"{key}.file")
        fields["vertices"], fields["triangles"] = _mesh_files.read(folder / name)
    if fields.get("texture"):
        fields["texture"] = _texture(fields["texture"], f"{key}.texture", folder)
    item = _set(parts.KINDS[shape], fields, key, extra=_EXTRA)
    return item if seed is None else _perturbed(item, seed)


def _texture(value: object, key: str, folder: Path) -> str:
    """A texture whose file is relative to the scene file."""
    texture = values.text(value, key)
    if not texture.lower().endswith(textures.SUFFIXES):
        return texture
    path = folder / texture
    if not _files.is_file(path):
        raise refusal(key, texture, "an image file, relative to the scene file")
    return str(path)


def _yaw(value: object, key: str) -> float:
    yaw = values.number(value, key, "rad")
    if not math.isfinite(yaw):
        raise refusal(key, value, "a finite number in rad")
    return yaw


def _perturbed(item: parts.Item, seed: int) -> parts.Item:
    """The item moved along x and y and rotated about z, uniformly within its bounds."""
    if not any(item.perturbation):
        return item
    generator = random.Random(f"{item.name}/{seed}")  # independent of the other items
    x, y, yaw = (generator.uniform(-bound, bound) for bound in item.perturbation)
    return item.moved((x, y, 0.0), yaw)


def _generator(table: dict[str, Any]) -> generators.Generator:
    files.refuse_missing(table, ("kind",), "generator")
    kind = values.text(table["kind"], "generator.kind")
    if kind not in generators.KINDS:
        hint = nearest(kind, generators.KINDS) or f"; known: {', '.join(generators.KINDS)}"
        raise ParameterError(f"generator.kind = {shown(kind)}: there is no such generator{hint}")
    fields = {name: value for name, value in table.items() if name != "kind"}
    return _set(generators.KINDS[kind], fields, "generator", extra=("kind",))


def _list(tables: dict[str, Any], key: str) -> list[Any]:
    entries = tables.get(key, [])
    if not isinstance(entries, list):
        raise refusal(key, entries, f"one [[{key}]] table for each")
    return entries


def _set(kind: type[SetT], table: dict[str, Any], key: str, extra: Iterable[str] = ()) -> SetT:
    shown = (*extra, "file") if kind is parts.Mesh else tuple(extra)
    return files.made(kind, table, key, _hint, extra=shown)


def _hint(name: str, known: Sequence[str]) -> str:
    hint = nearest(name, known) or f"; known here: {', '.join(known)}"
    if name.endswith(("_deg", "_degrees")):
        hint += ". Scene files are in SI units: angles in rad"
    return hint


def _toml_fields(group: ParameterSet) -> list[str]:
    """The lines of a table: required fields and fields that differ from their defaults."""
    lines = []
    for field in msgspec.structs.fields(group):
        value = getattr(group, field.name)
        if field.name == "motion":
            continue  # a table, after the fields
        if field.required or value != field.default:
            lines.append(toml_line(group, field.name, value))
    return lines


def _toml_motion(item: parts.Item) -> list[str]:
    """The lines of the table of a motion. Raises ParameterError for a function."""
    motion = item.motion
    if motion is None:
        return []
    if not isinstance(motion, Waypoints):
        raise ParameterError(
            f"motion of {item.name!r}: expected Waypoints, as a file has no functions, got "
            f"{motion!r:.100}; Waypoints.recorded(motion, times) samples it"
        )
    rows = {"times": motion.times, "positions": motion.positions, "attitudes": motion.attitudes}
    lines = [f"{name} = {toml_value(values.tolist())}" for name, values in rows.items()]
    return ["[items.motion]", *lines, *(["repeat = true"] if motion.repeat else [])]


def to_toml(scene: SceneFile) -> str:
    """The text of a scene file for the drawn items."""
    lines = [f"name = {toml_value(scene.name)}", ""]
    if scene.start is not None:
        lines += ["[start]", *_toml_fields(scene.start), ""]
    for item in scene.items:
        lines += [
            "[[items]]",
            f'shape = "{item.shape}"',
            *_toml_fields(item),
            *_toml_motion(item),
            "",
        ]
    for marker in scene.markers:
        lines += ["[[markers]]", *_toml_fields(marker), ""]
    return "\n".join(lines)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scene file."""
    extra = (
        ("yaw", float, "in place of attitude: heading of its x axis, rad"),
        ("motion", MotionTable, "poses of the body at times"),
    )
    mesh = (("file", str, "an .obj or .stl file beside this one, in place of the triangles"),)
    kinds = [
        files.file_struct(
            kind,
            shape,
            head=[("shape", Literal[shape])],
            only=[name for name in kind.__struct_fields__ if name != "motion"],
            extra=extra + (mesh if kind is parts.Mesh else ()),
            optional=("vertices", "triangles"),
            forms={"vertices": list[Vector3], "triangles": list[tuple[int, int, int]]},
        )
        for shape, kind in parts.KINDS.items()
    ]
    made = [
        files.file_struct(kind, name, head=[("kind", Literal[name])])
        for name, kind in generators.KINDS.items()
    ]
    tables = [files.file_struct(parts.Marker, "marker"), files.file_struct(parts.Start, "start")]
    every = [*kinds, *made, *tables]
    schemas, defs = msgspec.json.schema_components(every, ref_template="#/$defs/{name}")
    forms = list(schemas)
    of_kinds, of_made = forms[: len(kinds)], forms[len(kinds) : len(kinds) + len(made)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "propwash scene file",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "base": {
                "type": "string",
                "description": "a scene whose items come first: a shipped one, or a path relative "
                "to this file",
            },
            "start": forms[-1],
            "items": {"type": "array", "items": {"oneOf": of_kinds}},
            "markers": {"type": "array", "items": forms[-2]},
            "generator": {"oneOf": of_made},
            "sources": msgspec.json.schema(files.SOURCES),
        },
        "required": ["name"],
        "additionalProperties": False,
        "$defs": defs,
    }
