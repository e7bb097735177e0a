"""Ranges of parameters, checked by the C++ function of the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from propwash import _core
from propwash._checks import ParameterError
from propwash.vehicle.parameters import CarParameters, VehicleParameters


@contextmanager
def located(vehicle: str | PathLike[str] | VehicleParameters | CarParameters) -> Iterator[None]:
    """Puts the name of the file in front of a ParameterError, where the vehicle came from one."""
    try:
        yield
    except ParameterError as error:
        if isinstance(vehicle, VehicleParameters | CarParameters):
            raise
        raise ParameterError(f"{vehicle}: {error}") from None


def validate(parameters: VehicleParameters | CarParameters) -> None:
    """Raises ParameterError that lists every field out of its range.

    Mass, inertia (symmetric, positive definite, triangle inequality), rotors, motors, thrust
    against weight, drag, noise, IMU, gains.
    """
    if isinstance(parameters, CarParameters):
        _core.validate_car(parameters)
    elif isinstance(parameters, VehicleParameters):
        _core.validate_vehicle(parameters)
    else:
        raise ParameterError(
            f"parameters: expected VehicleParameters or CarParameters, got {parameters!r:.100}"
        )
