"""Vehicle files: TOML with the tables of the parameter classes and a few conveniences.

Conveniences, resolved here: `[rotor]` gives defaults to every `[[rotors]]` entry,
`motor.time_constant` stands for up and down, `[[rotors]]` may hold what its motor has for itself,
`rate_controller.filter_cutoff` [Hz] for a Butterworth
`rate_controller.filter`. `docs/vehicles.md` describes the format.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from . import _input_files, _shipped_files
from . import _parameter_values as values
from . import parameters as p
from ._parameter_values import ParameterError, Vector3, refusal

SetT = TypeVar("SetT", bound=p.ParameterSet)

_FOLDER = Path(__file__).parent / "vehicles"
_TABLES: dict[str, type[p.ParameterSet]] = {
    "body": p.BodyParameters,
    "motor": p.MotorParameters,
    "drag": p.DragParameters,
    "rotor_drag": p.RotorDragParameters,
    "battery": p.BatteryParameters,
    "process_noise": p.ProcessNoiseParameters,
    "imu": p.ImuParameters,
    "rate_controller": p.RateControllerParameters,
}
_ROTOR_DEFAULTS = ("axis", "thrust_coefficient", "torque_coefficient", "inertia")
_LAGS = ("time_constant_up", "time_constant_down")
_OF_MOTOR = (*_LAGS, "speed_min", "speed_max")  # what [[rotors]] may hold of its motor
_HEAD = ("name", "kind", "sources")

# suffix: the SI unit that is meant, and what to multiply by
_SUFFIXES: dict[str, tuple[str, float]] = {
    "g": ("kg", 1e-3),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "rpm": ("rad/s", math.pi / 30.0),
    "deg": ("rad", math.pi / 180.0),
    "dps": ("rad/s", math.pi / 180.0),
    "khz": ("Hz", 1e3),
    "mv": ("V", 1e-3),
    "kmh": ("m/s", 1.0 / 3.6),
}
_SI_SUFFIXES = ("kg", "m", "s", "rad", "hz", "v", "n", "nm", "si", "mps", "radps", "rads")


def names() -> list[str]:
    """The names of the shipped vehicles."""
    return _shipped_files.names(_FOLDER)


def find(vehicle: str | PathLike[str]) -> Path:
    """The file that a name or a path means."""
    if not isinstance(vehicle, str | PathLike):
        raise ParameterError(
            f"vehicle = {vehicle!r}: expected a name, the path of a TOML file, or parameters"
        )
    return _shipped_files.find("vehicle", _FOLDER, vehicle)


def read(path: Path) -> p.VehicleParameters | p.CarParameters:
    """Reads a vehicle file; every error names the file."""
    tables = _input_files.read_toml(path, ParameterError)
    try:
        _read_sources(tables)
        kind = tables.get("kind", "multicopter")
        if kind == "multicopter":
            return _multicopter(tables)
        if kind == "car":
            fields = {key: tables[key] for key in tables if key not in ("kind", "sources")}
            return _set(p.CarParameters, fields, "", required=("name",))
        raise refusal("kind", kind, '"multicopter" or "car"')
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def read_sources(path: Path) -> dict[str, str]:
    """The table [sources] of a vehicle file."""
    try:
        return _read_sources(_input_files.read_toml(path, ParameterError))
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def _read_sources(tables: dict[str, Any]) -> dict[str, str]:
    table = _table(tables.get("sources", {}), "sources")
    return {key: values.text(text, f"sources.{values.shown(key)}") for key, text in table.items()}


def _multicopter(tables: dict[str, Any]) -> p.VehicleParameters:
    _refuse_unknown(tables, (*_HEAD, "rotor", "rotors", *_TABLES), "")
    _refuse_missing(tables, ("name", "body", "rotors", "motor"), "")
    rotors, motors = _rotors(tables)
    resolve: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "motor": lambda table: _motor(table, motors),
        "rate_controller": _rate_controller,
    }
    groups: dict[str, Any] = {}
    for name, kind in _TABLES.items():
        if name in tables:
            table = _table(tables[name], name)
            groups[name] = _set(kind, resolve.get(name, dict)(table), name)
    return p.VehicleParameters(name=values.text(tables["name"], "name"), rotors=rotors, **groups)


def _rotors(
    tables: dict[str, Any],
) -> tuple[tuple[p.RotorParameters, ...], list[dict[str, float]]]:
    """The rotors, and for each what its table holds of its motor."""
    defaults = _table(tables.get("rotor", {}), "rotor")
    _refuse_unknown(defaults, _ROTOR_DEFAULTS, "rotor")
    entries = tables["rotors"]
    if not isinstance(entries, list) or not entries:
        raise refusal("rotors", entries, "one [[rotors]] table for each rotor")
    rotors, motors = [], []
    known = (*p.RotorParameters.__struct_fields__, *_OF_MOTOR, "time_constant")
    for i, entry in enumerate(entries):
        key = f"rotors[{i}]"
        table = _lags({**defaults, **_table(entry, key)}, key)
        _refuse_unknown(table, known, key)
        own = {name: table.pop(name) for name in _OF_MOTOR if name in table}
        motors.append(
            {
                name: values.number(value, f"{key}.{name}", p.MotorParameters.field(name).unit)
                for name, value in own.items()
            }
        )
        rotors.append(_set(p.RotorParameters, table, key))
    return tuple(rotors), motors


def _motor(table: dict[str, Any], motors: list[dict[str, float]]) -> dict[str, Any]:
    """The table [motor], with a number for each rotor of what [[rotors]] holds of it."""
    known = (*p.MotorParameters.__struct_fields__, "time_constant")
    _refuse_unknown(table, known, "motor")
    table = _lags(table, "motor")
    for name in _OF_MOTOR:
        if not any(name in own for own in motors):
            continue
        common = table.get(name, 0.0 if name == "speed_min" else None)
        if isinstance(common, list):
            raise ParameterError(
                f"motor.{name} has a number for each rotor, and [[rotors]] too: expected one of "
                "them"
            )
        each = [own.get(name, common) for own in motors]
        if None in each:
            raise ParameterError(
                f"rotors[{each.index(None)}].{name} is missing: expected it there, or "
                f"motor.{name} for the rotors without one"
            )
        table[name] = each
    if not set(_LAGS) & set(table):
        raise ParameterError(
            "motor.time_constant is missing: expected a number in s, or one each for "
            "motor.time_constant_up and motor.time_constant_down"
        )
    return table


def _lags(table: dict[str, Any], key: str) -> dict[str, Any]:
    """A copy of a table in which time_constant stands for up and down."""
    given = [name for name in _LAGS if name in table]
    if "time_constant" not in table:
        return dict(table)
    if given:
        raise ParameterError(
            f"{key}.time_constant and {key}.{given[0]} are both given: expected either "
            "time_constant, or time_constant_up and time_constant_down"
        )
    value = values.number_or_each(table["time_constant"], f"{key}.time_constant", "s")
    rest = {name: table[name] for name in table if name != "time_constant"}
    return rest | dict.fromkeys(_LAGS, list(value) if isinstance(value, tuple) else value)


def _rate_controller(table: dict[str, Any]) -> dict[str, Any]:
    known = (*p.RateControllerParameters.__struct_fields__, "filter_cutoff")
    _refuse_unknown(table, known, "rate_controller")
    rest = {key: table[key] for key in table if key != "filter_cutoff"}
    if "filter_cutoff" in table:
        if "filter" in table:
            raise ParameterError(
                "rate_controller.filter_cutoff and rate_controller.filter are both given: "
                "expected one of them"
            )
        cutoff = values.number(table["filter_cutoff"], "rate_controller.filter_cutoff", "Hz")
        rest["filter"] = p.LowPassParameters.butterworth(cutoff)
    elif "filter" in table:
        key = "rate_controller.filter"
        rest["filter"] = _set(p.LowPassParameters, _table(table["filter"], key), key)
    return rest


def _table(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refusal(key, value, f"a table [{key}]")
    return value


def _set(kind: type[SetT], table: dict[str, Any], key: str, required: tuple[str, ...] = ()) -> SetT:
    """Makes a parameter set, so that errors name the keys of the file."""
    _refuse_unknown(table, kind.__struct_fields__, key)
    needed = [field.name for field in msgspec.structs.fields(kind) if field.required]
    _refuse_missing(table, (*required, *needed), key)
    prefix = f"{key}." if key else ""
    fields = {
        name: kind.conversions.get(name, values.number)(value, prefix + name, kind.field(name).unit)
        for name, value in table.items()
    }
    return kind(**fields)


def _refuse_missing(table: dict[str, Any], needed: Iterable[str], key: str) -> None:
    missing = [name for name in needed if name not in table]
    if missing:
        prefix = f"{key}." if key else ""
        keys = ", ".join(prefix + name for name in missing)
        raise ParameterError(f"missing {keys}, which every vehicle needs")


def _refuse_unknown(table: dict[str, Any], known: Iterable[str], key: str) -> None:
    known = list(known)
    prefix = f"{key}." if key else ""
    for name, value in table.items():
        if name not in known:
            hint = _unit_hint(name, known) or values.nearest(name, known)
            if not hint:
                hint = f"; known here: {', '.join(known)}"
            if isinstance(value, dict):
                raise ParameterError(f"unknown table [{prefix}{name:.80}]{hint}")
            raise ParameterError(f"unknown key {prefix}{name:.80} = {values.shown(value)}{hint}")


def _unit_hint(name: str, known: list[str]) -> str:
    stem, _, suffix = name.rpartition("_")
    suffix = suffix.lower()
    if not stem or suffix not in (*_SUFFIXES, *_SI_SUFFIXES):
        return ""
    found = difflib.get_close_matches(stem, known, n=1, cutoff=0.6)
    if not found:
        return f"; known here: {', '.join(known)}. Vehicle files are in SI units"
    field = f"expected {found[0]}"
    if suffix in _SI_SUFFIXES:
        return f"; {field}, without a suffix: vehicle files are in SI units"
    unit, factor = _SUFFIXES[suffix]
    return f"; {field} in {unit}: multiply by {factor:.10g}. Vehicle files are in SI units"


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _toml_field(group: p.ParameterSet, name: str) -> str:
    value = getattr(group, name)
    convert = group.conversions.get(name)
    if convert is values.spin:
        value = "ccw" if value > 0.0 else "cw"
    elif convert in (values.matrix3, values.matrix3_or_number) and values.is_diagonal(value):
        value = tuple(value[i][i] for i in range(3))
    line = f"{name} = {_toml_value(value)}"
    unit = group.field(name).unit
    return f"{line}  # {unit}" if unit else line


def _toml_table(group: p.ParameterSet, header: str) -> list[str]:
    """The lines of a table: required fields, and those that differ from their defaults."""
    lines, below = [], []
    for field in msgspec.structs.fields(group):
        value = getattr(group, field.name)
        if isinstance(value, p.ParameterSet):
            below = _toml_table(value, f"[{value.table}]")
        elif field.required or field.name == "name" or repr(value) != repr(_default(field)):
            lines.append(_toml_field(group, field.name))
    return ([header, *lines, ""] if header and lines else lines) + below


def _default(field: msgspec.structs.FieldInfo) -> object:
    value = field.default
    return tuple(map(float, value)) if field.name == "axis" else value


def to_toml(vehicle: p.VehicleParameters | p.CarParameters) -> str:
    """The text of a vehicle file."""
    name = f"name = {_toml_value(vehicle.name)}"
    if isinstance(vehicle, p.CarParameters):
        return "\n".join(['kind = "car"', *_toml_table(vehicle, ""), ""])
    lines = [name, 'kind = "multicopter"', ""]
    for table in ("body", "rotors", *list(_TABLES)[1:]):
        if table == "rotors":
            for rotor in vehicle.rotors:
                lines += _toml_table(rotor, "[[rotors]]")
        else:
            lines += _toml_table(getattr(vehicle, table), f"[{table}]")
    return "\n".join(lines)


_MatrixFile = tuple[float | Vector3, float | Vector3, float | Vector3]
_FILE_TYPES: dict[Any, Any] = {
    values.number: float,
    values.number_or_each: float | Annotated[list[float], msgspec.Meta(min_length=1)],
    values.vector2: values.Vector2,
    values.vector3: Vector3,
    values.vector3_or_number: float | Vector3,
    values.quaternion: values.Quaternion,
    values.matrix3: _MatrixFile,
    values.matrix3_or_number: float | _MatrixFile,
    values.spin: Literal["ccw", "cw"],
    values.boolean: bool,
    values.text: str,
    values.discretisation: Literal["exact", "backward_euler"],
}


def _file_struct(
    kind: type[p.ParameterSet],
    name: str,
    *,
    extra: Iterable[tuple[str, Any, str]] = (),
    optional: Iterable[str] = (),
    only: Iterable[str] | None = None,
) -> type[msgspec.Struct]:
    """The form that a table has in a file: conveniences allowed, defaults left to the class."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for field in msgspec.structs.fields(kind):
        convert = kind.conversions.get(field.name, values.number)
        if convert not in _FILE_TYPES or (only is not None and field.name not in only):
            continue
        meaning = ", ".join(text for text in reversed(kind.field(field.name)) if text)
        described: Any = _FILE_TYPES[convert]
        if meaning:
            described = Annotated[described, msgspec.Meta(description=meaning)]
        if field.required and field.name not in optional:
            fields.append((field.name, described))
        else:
            fields.append((field.name, described | msgspec.UnsetType, msgspec.UNSET))
    for key, form, meaning in extra:
        described = Annotated[form, msgspec.Meta(description=meaning)]
        fields.append((key, described | msgspec.UnsetType, msgspec.UNSET))
    struct = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    struct.__doc__ = (kind.__doc__ or "").split("\n")[0]
    return struct


def _file_structs() -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    """The whole file of a multicopter, and of a car."""
    sources = Annotated[
        dict[str, str], msgspec.Meta(description="where numbers come from: key or table to text")
    ]
    extras: dict[str, tuple[tuple[str, Any, str], ...]] = {
        "motor": (
            (
                "time_constant",
                _FILE_TYPES[values.number_or_each],
                "stands for time_constant_up and _down, s",
            ),
        ),
        "rate_controller": (
            ("filter_cutoff", float, "-3 dB point of a Butterworth filter, Hz"),
            ("filter", _file_struct(p.LowPassParameters, "filter"), "in place of filter_cutoff"),
        ),
    }
    tables: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, kind in _TABLES.items():
        optional = (*_LAGS, "speed_max") if name == "motor" else ()
        table = _file_struct(kind, name, extra=extras.get(name, ()), optional=optional)
        if name in ("body", "motor"):
            tables.append((name, table))
        else:
            tables.append((name, table | msgspec.UnsetType, msgspec.UNSET))
    defaults = _file_struct(
        p.RotorParameters, "rotor", optional=_ROTOR_DEFAULTS, only=_ROTOR_DEFAULTS
    )
    of_motor = [(name, float, f"of its motor, in place of motor.{name}") for name in _OF_MOTOR]
    of_motor.append(("time_constant", float, "stands for time_constant_up and _down, s"))
    rotor = _file_struct(p.RotorParameters, "rotors", extra=of_motor, optional=_ROTOR_DEFAULTS)
    multicopter = msgspec.defstruct(
        "multicopter",
        [
            ("name", str),
            ("kind", Literal["multicopter"] | msgspec.UnsetType, msgspec.UNSET),
            ("rotor", defaults | msgspec.UnsetType, msgspec.UNSET),
            ("rotors", Annotated[list[rotor], msgspec.Meta(min_length=1)]),  # type: ignore[valid-type]
            *tables,
            ("sources", sources | msgspec.UnsetType, msgspec.UNSET),
        ],
        kw_only=True,
        forbid_unknown_fields=True,
    )
    car = _file_struct(p.CarParameters, "car", extra=(("sources", sources, "as for multicopters"),))
    car = msgspec.defstruct(
        "car", [("kind", Literal["car"])], bases=(car,), kw_only=True, forbid_unknown_fields=True
    )
    return multicopter, car


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a vehicle file."""
    kinds, parts = msgspec.json.schema_components(_file_structs(), ref_template="#/$defs/{name}")
    parts["car"]["required"] = sorted({"name", *parts["car"]["required"]})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "propwash vehicle file",
        "oneOf": list(kinds),
        "$defs": parts,
    }
