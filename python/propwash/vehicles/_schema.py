"""The JSON Schema of vehicle files, from the parameter classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec

from .. import _parameter_values as values
from .. import parameters as p
from .._parameter_values import Vector3
from ._files import LAGS, OF_MOTOR, ROTOR_DEFAULTS, TABLES

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
        convert = kind.conversions[field.name]
        if convert not in _FILE_TYPES or (only is not None and field.name not in only):
            continue
        meaning = kind.field(field.name).description
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
    for name, kind in TABLES.items():
        optional = (*LAGS, "speed_max") if name == "motor" else ()
        table = _file_struct(kind, name, extra=extras.get(name, ()), optional=optional)
        if name in ("body", "motor"):
            tables.append((name, table))
        else:
            tables.append((name, table | msgspec.UnsetType, msgspec.UNSET))
    defaults = _file_struct(
        p.RotorParameters, "rotor", optional=ROTOR_DEFAULTS, only=ROTOR_DEFAULTS
    )
    of_motor = [(name, float, f"of its motor, in place of motor.{name}") for name in OF_MOTOR]
    of_motor.append(("time_constant", float, "stands for time_constant_up and _down, s"))
    rotor = _file_struct(p.RotorParameters, "rotors", extra=of_motor, optional=ROTOR_DEFAULTS)
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
