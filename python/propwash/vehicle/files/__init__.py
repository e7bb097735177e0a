"""Vehicle files: shipped ones by name, others by path.

    vehicles.names()                             # the shipped multicopters
    vehicles.load("blackbird")                   # parameters of a vehicle
    vehicles.load("mine.toml")
    vehicles.load("car", kind=pw.CarParameters)

`docs/vehicles.md` describes the format. Classes of vehicles also accept a name or a path.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, overload

from propwash import _files
from propwash._checks import ParameterError
from propwash.vehicle.files import _reader, _schema
from propwash.vehicle.parameters import CarParameters, VehicleParameters

__all__ = ["from_toml", "json_schema", "load", "names", "path", "sources"]

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
    """Loads the parameters of a shipped vehicle, by name, or of a vehicle file, by path.

    vehicle: a string that ends in `.toml` or contains a path separator is a path. Parameters are
        returned unchanged.
    kind: VehicleParameters for a multicopter, CarParameters for a car, None for either.

    Raises ParameterError that names file, key, value and what was expected, also for a vehicle of
    the other kind. The class that uses the vehicle checks ranges, as does `pw.validate`.
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


def from_toml(text: str, file: str = "vehicle") -> VehicleParameters:
    """The multicopter of a text in the format of a vehicle file, such as `to_toml()` returns.

    file: name for messages. Raises ParameterError as `load`.
    """
    tables = _files.parse_toml(text, file, ParameterError)
    vehicle = _reader.made(tables, file)
    if not isinstance(vehicle, VehicleParameters):
        raise ParameterError(f"{file}: expected a multicopter, this is a car")
    return vehicle


def path(vehicle: str | PathLike[str]) -> Path:
    """The file of a shipped vehicle, by name, or the path of a file that exists.

    Raises ParameterError with the most similar name if there is none.
    """
    if not isinstance(vehicle, str | PathLike):
        raise ParameterError(
            f"vehicle = {vehicle!r:.100}: expected a name, the path of a TOML file, or parameters"
        )
    return _files.find_shipped("vehicle", _FOLDER, vehicle)


def sources(vehicle: str | PathLike[str]) -> dict[str, str]:
    """The sources of the numbers in a vehicle file: dotted key or table to text."""
    return _reader.read_sources(path(vehicle))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a vehicle file, for editors and other tools."""
    return _schema.json_schema()


def _check(kind: object) -> None:
    if not any(kind is known for known in (None, *_WORDS)):
        raise TypeError(
            f"kind: expected pw.VehicleParameters, pw.CarParameters or None, got {kind!r:.100}"
        )
