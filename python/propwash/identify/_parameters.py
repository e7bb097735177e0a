"""The numbers of a vehicle that a fit may change, each with the prior that it starts from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from propwash.parameters import VehicleParameters

Array = NDArray[np.float64]

Change = Callable[[VehicleParameters, float], VehicleParameters]


@dataclass(frozen=True)
class FreeParameter:
    """A number that the fit moves by `value` times `spread` from what the guess says.

    Factors move as exp(value * spread), so that they stay positive; everything else is added.
    """

    name: str
    unit: str
    spread: float
    """Standard deviation of the prior: of the factor's logarithm, or in the unit of what is added.
    """
    change: Change
    """Applies a factor's logarithm, or an addition."""
    read: Callable[[VehicleParameters], float]
    """What the parameter is in a vehicle, in its unit."""
    is_factor: bool


def _factor_on_rotors(field: str) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        factor = math.exp(value)
        rotors = tuple(r.replace(**{field: getattr(r, field) * factor}) for r in vehicle.rotors)
        return vehicle.replace(rotors=rotors)

    return change


def _mean_of_rotors(field: str) -> Callable[[VehicleParameters], float]:
    return lambda vehicle: float(np.mean([getattr(r, field) for r in vehicle.rotors]))


def _balance_signs(vehicle: VehicleParameters, axis: str) -> Array:
    """How much stronger a rotor is for a torque about the axis; of zero sum."""
    places = np.array([r.position for r in vehicle.rotors])
    pattern = {
        "roll": places[:, 1],
        "pitch": -places[:, 0],
        "yaw": -np.array([r.spin for r in vehicle.rotors]),
    }[axis]
    pattern = pattern - pattern.mean()
    return np.asarray(pattern / np.abs(pattern).max())


def _balance(axis: str) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        signs = _balance_signs(vehicle, axis)
        rotors = tuple(
            r.replace(
                thrust_coefficient=r.thrust_coefficient * (1.0 + value * sign),
                torque_coefficient=r.torque_coefficient * (1.0 + value * sign),
            )
            for r, sign in zip(vehicle.rotors, signs, strict=True)
        )
        return vehicle.replace(rotors=rotors)

    return change


def _read_balance(axis: str) -> Callable[[VehicleParameters], float]:
    def read(vehicle: VehicleParameters) -> float:
        signs = _balance_signs(vehicle, axis)
        thrust = np.array([r.thrust_coefficient for r in vehicle.rotors])
        return float(signs @ (thrust / thrust.mean()) / (signs @ signs))

    return read


def _inertia(axis: int) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        factor = np.ones(3)
        factor[axis] = math.exp(0.5 * value)
        inertia = np.array(vehicle.body.inertia) * np.outer(factor, factor)
        return vehicle.replace(body={"inertia": inertia.tolist()})

    return change


def _motor(field: str, is_factor: bool) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        present: float = getattr(vehicle.motor, field)
        moved = present * math.exp(value) if is_factor else max(present + value, 0.0)
        return vehicle.replace(motor={field: moved})

    return change


def _drag(axis: int) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        linear = list(vehicle.rotor_drag.linear)
        linear[axis] += value
        return vehicle.replace(rotor_drag={"linear": linear})

    return change


def _blow_back(vehicle: VehicleParameters, value: float) -> VehicleParameters:
    return vehicle.replace(rotor_drag={"blow_back": vehicle.rotor_drag.blow_back + value})


def _tilt(axis: int) -> Change:
    def change(vehicle: VehicleParameters, value: float) -> VehicleParameters:
        rotors = []
        for rotor in vehicle.rotors:
            direction = np.array(rotor.axis)
            direction[axis] += value
            direction /= np.linalg.norm(direction)
            rotors.append(rotor.replace(axis=direction.tolist()))
        return vehicle.replace(rotors=tuple(rotors))

    return change


def _read_tilt(axis: int) -> Callable[[VehicleParameters], float]:
    return lambda vehicle: float(np.mean([r.axis[axis] / r.axis[2] for r in vehicle.rotors]))


FORCES = ("thrust", "tilt_x", "tilt_y", "drag_x", "drag_y", "drag_z")
"""What the motion under a given attitude tells."""
THRUST = ("thrust",)
LAG = ("time_constant_up", "time_constant_down", "delay")
ROTATION = (
    "balance_roll",
    "balance_pitch",
    "balance_yaw",
    "inertia_x",
    "inertia_y",
    "torque",
    "rotor_inertia",
    "blow_back",
)
"""What body rates tell that are recorded by the same clock as the commands."""


def catalogue(vehicle: VehicleParameters) -> dict[str, FreeParameter]:
    """Every parameter that can be free, by name.

    The mass, the moment of inertia about z, the rotors' places, `speed_max` and the nominal voltage
    are not among them: motion tells ratios, and these are what the ratios are of.
    """
    table = [*_of_rotors(), *_of_motors(), *_of_axes()]
    twist = 30.0 * vehicle.body.inertia[0][0]  # 30 rad/s^2 per m/s
    table.append(
        FreeParameter(
            "blow_back",
            "N m/(m/s)",
            twist,
            _blow_back,
            lambda v: v.rotor_drag.blow_back,
            False,
        )
    )
    return {parameter.name: parameter for parameter in table}


def _of_rotors() -> Iterator[FreeParameter]:
    for name, field, unit in (
        ("thrust", "thrust_coefficient", "N/(rad/s)^2"),
        ("torque", "torque_coefficient", "N m/(rad/s)^2"),
        ("rotor_inertia", "inertia", "kg m^2"),
    ):
        change, read = _factor_on_rotors(field), _mean_of_rotors(field)
        yield FreeParameter(name, unit, 0.5, change, read, True)
    for axis in ("roll", "pitch", "yaw"):
        yield FreeParameter(f"balance_{axis}", "", 0.2, _balance(axis), _read_balance(axis), False)
    for k, axis in enumerate("xy"):
        yield FreeParameter(f"tilt_{axis}", "rad", 0.05, _tilt(k), _read_tilt(k), False)


def _of_motors() -> Iterator[FreeParameter]:
    for name, field, spread, is_factor in (
        ("time_constant_up", "time_constant_up", 0.5, True),
        ("time_constant_down", "time_constant_down", 0.5, True),
        ("delay", "command_delay", 0.02, False),
    ):
        read = partial(_read_motor, field)
        yield FreeParameter(name, "s", spread, _motor(field, is_factor), read, is_factor)


def _of_axes() -> Iterator[FreeParameter]:
    for k, axis in enumerate("xyz"):
        if axis != "z":
            read = partial(_read_inertia, k)
            yield FreeParameter(f"inertia_{axis}", "kg m^2", 0.5, _inertia(k), read, True)
        yield FreeParameter(f"drag_{axis}", "1/s", 0.3, _drag(k), partial(_read_drag, k), False)


def _read_motor(field: str, vehicle: VehicleParameters) -> float:
    return float(getattr(vehicle.motor, field))


def _read_inertia(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.body.inertia[axis][axis]


def _read_drag(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.rotor_drag.linear[axis]


def changed(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> VehicleParameters:
    """The vehicle with each parameter moved by its value, in spreads of the prior."""
    for parameter, value in zip(free, values, strict=True):
        vehicle = parameter.change(vehicle, float(value) * parameter.spread)
    return vehicle
