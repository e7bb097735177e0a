"""Range checks of parameters, by the C++ function `validate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from propwash import _core
from propwash._checks import ParameterError
from propwash.vehicle import files
from propwash.vehicle.parameters import CarParameters, VehicleParameters


@contextmanager
def located(vehicle: str | PathLike[str] | VehicleParameters | CarParameters) -> Iterator[None]:
    """Prefixes a ParameterError with the name of the vehicle, unless `vehicle` is parameters."""
    try:
        yield
    except ParameterError as error:
        if isinstance(vehicle, VehicleParameters | CarParameters):
            raise
        raise ParameterError(f"{vehicle}: {error}") from None


def validate(parameters: VehicleParameters | CarParameters) -> None:
    """Checks ranges; raises ParameterError that lists every invalid field.

    The checks cover mass, inertia (symmetric, positive definite, triangle inequality), rotors,
    motors, thrust-to-weight ratio, drag, noise, IMU and gains.
    """
    if isinstance(parameters, CarParameters):
        _core.validate_car(parameters)
    elif isinstance(parameters, VehicleParameters):
        _core.validate_vehicle(parameters)
    else:
        raise ParameterError(
            f"parameters: expected VehicleParameters or CarParameters, got {parameters!r:.100}"
        )


def load_control_vehicle(
    control_vehicle: str | PathLike[str] | VehicleParameters | None,
) -> VehicleParameters | None:
    """Loads and checks the argument `control_vehicle`, which messages name; None stays None."""
    if control_vehicle is None:
        return None
    with located("control_vehicle"):
        parameters = files.load(control_vehicle)
        validate(parameters)
    return parameters
