"""The JSON Schema of vehicle files, from the parameter classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from propwash.vehicle import parameters as p
from propwash.vehicle.fields import number_or_each
from propwash.vehicle.files._reader import LAGS, MOTOR_KEYS, ROTOR_DEFAULTS, TABLES
from propwash.vehicle.tables import SOURCES, PosteriorTable, file_struct


def _file_structs() -> tuple[type[msgspec.Struct], type[msgspec.Struct]]:
    """The types of a multicopter file and of a car file."""
    extras: dict[str, tuple[tuple[str, Any, str], ...]] = {
        "motor": (("time_constant", number_or_each.schema, "sets time_constant_up and _down, s"),),
        "rate_controller": (
            ("filter_cutoff", float, "-3 dB point of a Butterworth filter, Hz"),
            ("filter", file_struct(p.LowPassParameters, "filter"), "in place of filter_cutoff"),
        ),
    }
    tables: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, kind in TABLES.items():
        optional = (*LAGS, "speed_max") if name == "motor" else ()
        table = file_struct(kind, name, extra=extras.get(name, ()), optional=optional)
        if name in ("body", "motor"):
            tables.append((name, table))
        else:
            tables.append((name, table | msgspec.UnsetType, msgspec.UNSET))
    defaults = file_struct(p.RotorParameters, "rotor", optional=ROTOR_DEFAULTS, only=ROTOR_DEFAULTS)
    motor_keys = [(name, float, f"of its motor, overrides motor.{name}") for name in MOTOR_KEYS]
    motor_keys.append(("time_constant", float, "sets time_constant_up and _down, s"))
    rotor = file_struct(p.RotorParameters, "rotors", extra=motor_keys, optional=ROTOR_DEFAULTS)
    multicopter = msgspec.defstruct(
        "multicopter",
        [
            ("name", str),
            ("kind", Literal["multicopter"] | msgspec.UnsetType, msgspec.UNSET),
            ("rotor", defaults | msgspec.UnsetType, msgspec.UNSET),
            ("rotors", Annotated[list[rotor], msgspec.Meta(min_length=1)]),  # type: ignore[valid-type]
            *tables,
            ("posterior", PosteriorTable | msgspec.UnsetType, msgspec.UNSET),
            ("sources", SOURCES | msgspec.UnsetType, msgspec.UNSET),
        ],
        kw_only=True,
        forbid_unknown_fields=True,
    )
    car = file_struct(p.CarParameters, "car", extra=(("sources", SOURCES, "see multicopters"),))
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
