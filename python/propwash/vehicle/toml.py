"""Writes TOML: vehicle files, and single fields and values of other files."""

from __future__ import annotations

from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from propwash.vehicle import fields as values
from propwash.vehicle.fields import ParameterSet


def to_toml(parameters: ParameterSet, name: str, kind: str) -> str:
    """The text of a vehicle file: required fields and fields that differ from their defaults."""
    head = [f"name = {toml_value(name)}", f'kind = "{kind}"']
    tables: list[str] = []
    for field in fields(parameters):
        value = getattr(parameters, field.name)
        if _is_group(value):
            tables += _toml_table(value, f"[{value.table}]")
        elif isinstance(value, tuple) and value and _is_group(value[0]):
            for entry in value:
                tables += _toml_table(entry, f"[[{field.name}]]")
        elif field.name != "name" and _is_written(field, value):
            head.append(_toml_field(parameters, field.name))
    return "\n".join([*head, "", *tables])


def _toml_table(group: ParameterSet, header: str) -> list[str]:
    lines, below = [], []
    for field in fields(group):
        value = getattr(group, field.name)
        if _is_group(value):
            below = _toml_table(value, f"[{value.table}]")
        elif _is_written(field, value):
            lines.append(_toml_field(group, field.name))
    return ([header, *lines, ""] if lines else []) + below


def _is_group(value: object) -> TypeGuard[ParameterSet]:
    return isinstance(value, Struct)


def _is_written(field: FieldInfo, value: object) -> bool:
    default = tuple(map(float, field.default)) if field.name == "axis" else field.default
    return field.required or repr(value) != repr(default)


def _toml_field(group: ParameterSet, name: str) -> str:
    value = getattr(group, name)
    convert = group.conversions.get(name)
    if convert is values.spin:
        value = "ccw" if value > 0.0 else "cw"
    elif convert in (values.matrix3, values.matrix3_or_number) and values.is_diagonal(value):
        value = tuple(value[i][i] for i in range(3))
    return toml_line(group, name, value)


def toml_line(group: ParameterSet, name: str, value: object) -> str:
    """The line of a field, with its unit as a comment."""
    unit = group.field(name).unit
    return f"{name} = {toml_value(value)}" + (f"  # {unit}" if unit else "")


def toml_value(value: object) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return repr(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
