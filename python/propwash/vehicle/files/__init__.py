"""Vehicle files: those that are shipped, by name, and your own, by path.

    vehicles.names()                             # the shipped multicopters
    vehicles.load("blackbird")                   # their parameters
    vehicles.load("mine.toml")
    vehicles.load("car", kind=pw.CarParameters)

`docs/vehicles.md` describes the format. Classes that fly a vehicle take a name or a path directly.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, overload

from propwash import _files
from propwash._checks import ParameterError
from propwash.vehicle.files import _reader, _schema
from propwash.vehicle.parameters import CarParameters, VehicleParameters

__all__ = ["json_schema", "load", "names", "path", "sources"]

_FOLDER = Path(__file__).parent
_WORDS: dict[Any, str] = {VehicleParameters: "multicopter", CarParameters: "car"}
_USERS: dict[Any, str] = {
    VehicleParameters: "pw.Multicopter or pw.Fleet",
    CarParameters: "pw.Car",
}

Kind = type[VehicleParameters] | type[CarParameters] | None


def names(kind: Kind = VehicleParameters) -> list[str]:
    """The names of the shipped vehicles.

    kind: VehicleParameters for multicopters, CarParameters for cars, None for all.
    """
    _check(kind)
    shipped = _files.shipped_names(_FOLDER)
    return [name for name in shipped if kind is None or isinstance(load(name, None), kind)]


@overload
def load(
    vehicle: str | PathLike[str] | VehicleParameters, kind: type[VehicleParameters] = ...
) -> VehicleParameters: ...
@overload
def load(
    vehicle: str | PathLike[str] | CarParameters, kind: type[CarParameters]
) -> CarParameters: ...
@overload
def load(
    vehicle: str | PathLike[str] | VehicleParameters | CarParameters, kind: None
) -> VehicleParameters | CarParameters: ...
def load(
    vehicle: str | PathLike[str] | VehicleParameters | CarParameters,
    kind: Kind = VehicleParameters,
) -> VehicleParameters | CarParameters:
    """The parameters of a shipped vehicle, by name, or of a vehicle file, by path.

    vehicle: a text that ends in `.toml` or holds a path separator is a path. Parameters are
        returned as they are.
    kind: VehicleParameters for a multicopter, CarParameters for a car, None for either.

    Raises ParameterError, which names file, key, value and what was expected, or for a vehicle of
    the other kind. Ranges are checked by the class that flies the vehicle, or by `pw.validate`.
    """
    _check(kind)
    if isinstance(vehicle, VehicleParameters | CarParameters):
        found, shown = vehicle, vehicle.name
    else:
        found, shown = _reader.read(path(vehicle)), str(vehicle)
    if kind is not None and not isinstance(found, kind):
        raise ParameterError(
            f"{shown}: expected a {_WORDS[kind]}, this is a {_WORDS[type(found)]}; use "
            f"{_USERS[type(found)]}, or load it with kind=pw.{type(found).__name__}"
        )
    return found


def path(vehicle: str | PathLike[str]) -> Path:
    """The file of a shipped vehicle, by name, or the path of a file that exists.

    Raises ParameterError, with the nearest name, where there is none.
    """
    if not isinstance(vehicle, str | PathLike):
        raise ParameterError(
            f"vehicle = {vehicle!r}: expected a name, the path of a TOML file, or parameters"
        )
    return _files.find_shipped("vehicle", _FOLDER, vehicle)


def sources(vehicle: str | PathLike[str]) -> dict[str, str]:
    """Where the numbers of a vehicle file come from: dotted key, or table, to text."""
    return _reader.read_sources(path(vehicle))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a vehicle file, for editors and other tools."""
    return _schema.json_schema()


def _check(kind: object) -> None:
    if not any(kind is known for known in (None, *_WORDS)):
        raise TypeError(
            f"kind: expected pw.VehicleParameters, pw.CarParameters or None, got {kind!r:.100}"
        )
