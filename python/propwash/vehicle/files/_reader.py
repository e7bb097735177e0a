"""Reads vehicle files: TOML with the tables of the parameter classes and additional keys.

The additional keys: `[rotor]` holds defaults of every `[[rotors]]` entry, `motor.time_constant`
sets both up and down, `[[rotors]]` may hold parameters of the motor of that rotor, and
`rate_controller.filter_cutoff` [Hz] sets a Butterworth `rate_controller.filter`.
`docs/vehicles.md` describes the format.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import fields

from propwash import _files
from propwash._checks import ParameterError, nearest, refusal, shown
from propwash.vehicle import fields as values
from propwash.vehicle import parameters as p
from propwash.vehicle import tables as files
from propwash.vehicle.tables import SetT

TABLES: dict[str, type[p.ParameterSet]] = {
    field.name: field.type for field in fields(p.VehicleParameters) if values.is_group(field.type)
}
ROTOR_DEFAULTS = ("axis", "thrust_coefficient", "torque_coefficient", "inertia")
LAGS = ("time_constant_up", "time_constant_down")
MOTOR_KEYS = (*LAGS, "speed_min", "speed_max")  # motor parameters that [[rotors]] may hold
_NEEDED = ", which every vehicle needs"
_HEAD = ("name", "kind", "posterior", "sources")

# suffix: the corresponding SI unit and the factor
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


def read(path: Path) -> p.VehicleParameters | p.CarParameters:
    """Reads a vehicle file; every error names the file."""
    return made(_files.read_toml(path, ParameterError), str(path))


def made(tables: dict[str, Any], file: str) -> p.VehicleParameters | p.CarParameters:
    """The vehicle of the tables of a file, which every error names."""
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
        raise ParameterError(f"{file}: {error}") from None


def read_sources(path: Path) -> dict[str, str]:
    """Reads the table [sources] of a vehicle file."""
    try:
        return _read_sources(_files.read_toml(path, ParameterError))
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def _read_sources(tables: dict[str, Any]) -> dict[str, str]:
    table = _table(tables.get("sources", {}), "sources")
    return {key: values.text(text, f"sources.{shown(key)}") for key, text in table.items()}


def _multicopter(tables: dict[str, Any]) -> p.VehicleParameters:
    files.refuse_unknown(tables, (*_HEAD, "rotor", "rotors", *TABLES), "", _hint)
    files.refuse_missing(tables, ("name", "body", "rotors", "motor"), "", _NEEDED)
    rotors, motors = _rotors(tables)
    if "posterior" in tables:
        files.PosteriorTable.of(tables["posterior"])
    resolve: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "motor": lambda table: _motor(table, motors),
        "rate_controller": _rate_controller,
    }
    groups: dict[str, Any] = {}
    for name, kind in TABLES.items():
        if name in tables:
            table = _table(tables[name], name)
            groups[name] = _set(kind, resolve.get(name, dict)(table), name)
    return p.VehicleParameters(name=values.text(tables["name"], "name"), rotors=rotors, **groups)


def _rotors(
    tables: dict[str, Any],
) -> tuple[tuple[p.RotorParameters, ...], list[dict[str, float]]]:
    """The rotors, and for each the motor parameters in its table."""
    defaults = _table(tables.get("rotor", {}), "rotor")
    files.refuse_unknown(defaults, ROTOR_DEFAULTS, "rotor", _hint)
    entries = tables["rotors"]
    if not isinstance(entries, list) or not entries:
        raise refusal("rotors", entries, "one [[rotors]] table for each rotor")
    rotors, motors = [], []
    known = (*p.RotorParameters.__struct_fields__, *MOTOR_KEYS, "time_constant")
    for i, entry in enumerate(entries):
        key = f"rotors[{i}]"
        table = _lags({**defaults, **_table(entry, key)}, key)
        files.refuse_unknown(table, known, key, _hint)
        motor = {name: table.pop(name) for name in MOTOR_KEYS if name in table}
        motors.append(
            {
                name: values.number(value, f"{key}.{name}", p.MotorParameters.field(name).unit)
                for name, value in motor.items()
            }
        )
        rotors.append(_set(p.RotorParameters, table, key))
    return tuple(rotors), motors


def _motor(table: dict[str, Any], motors: list[dict[str, float]]) -> dict[str, Any]:
    """The table [motor], with one number per rotor for keys that occur in [[rotors]]."""
    known = (*p.MotorParameters.__struct_fields__, "time_constant")
    files.refuse_unknown(table, known, "motor", _hint)
    table = _lags(table, "motor")
    for name in MOTOR_KEYS:
        if not any(name in motor for motor in motors):
            continue
        common = table.get(name, 0.0 if name == "speed_min" else None)
        if isinstance(common, list):
            raise ParameterError(
                f"motor.{name} has a number for each rotor, and so has [[rotors]]: expected one"
            )
        each = [motor.get(name, common) for motor in motors]
        if None in each:
            raise ParameterError(
                f"rotors[{each.index(None)}].{name} is missing: expected it there, or "
                f"motor.{name} for the rotors without one"
            )
        table[name] = each
    if not set(LAGS) & set(table):
        raise ParameterError(
            "motor.time_constant is missing: expected a number in s, or one each for "
            "motor.time_constant_up and motor.time_constant_down"
        )
    return table


def _lags(table: dict[str, Any], key: str) -> dict[str, Any]:
    """A copy of a table with time_constant replaced by up and down."""
    both = [name for name in LAGS if name in table]
    if "time_constant" not in table:
        return dict(table)
    if both:
        raise ParameterError(
            f"{key}.time_constant and {key}.{both[0]} are both given: expected either "
            "time_constant, or time_constant_up and time_constant_down"
        )
    value = values.number_or_each(table["time_constant"], f"{key}.time_constant", "s")
    rest = {name: table[name] for name in table if name != "time_constant"}
    return rest | dict.fromkeys(LAGS, list(value) if isinstance(value, tuple) else value)


def _rate_controller(table: dict[str, Any]) -> dict[str, Any]:
    known = (*p.RateControllerParameters.__struct_fields__, "filter_cutoff")
    files.refuse_unknown(table, known, "rate_controller", _hint)
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
    return files.table(value, key, f"a table [{key}]")


def _set(kind: type[SetT], table: dict[str, Any], key: str, required: tuple[str, ...] = ()) -> SetT:
    return files.made(kind, table, key, _hint, required=required, reason=_NEEDED)


def _hint(name: str, known: Sequence[str]) -> str:
    return _unit_hint(name, known) or nearest(name, known)


def _unit_hint(name: str, known: Sequence[str]) -> str:
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
