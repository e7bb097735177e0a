"""Identifiable vehicle parameters, as factors and offsets of the initial guess.

A change acts on arrays that may be complex: the derivatives of the changed numbers come by a
complex step (Squire and Trapp 1998), exact but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Fields = dict[str, NDArray[Any]]
"""Numbers of a vehicle, real or complex, by the names of `Fleet.parameters`."""

Change = Callable[[Fields, complex], None]

_FIELDS: dict[str, Callable[[VehicleParameters], Any]] = {
    "body.inertia": lambda v: v.body.inertia,
    "rotors.axis": lambda v: [r.axis for r in v.rotors],
    "rotors.thrust_coefficient": lambda v: [r.thrust_coefficient for r in v.rotors],
    "rotors.torque_coefficient": lambda v: [r.torque_coefficient for r in v.rotors],
    "rotors.inertia": lambda v: [r.inertia for r in v.rotors],
    "motor.time_constant_up": lambda v: v.motor.time_constant_up,
    "motor.time_constant_down": lambda v: v.motor.time_constant_down,
    "motor.command_delay": lambda v: v.motor.command_delay,
    "rotor_drag.linear": lambda v: v.rotor_drag.linear,
    "rotor_drag.blow_back": lambda v: v.rotor_drag.blow_back,
}
_IMAGINARY = 1e-30


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
    lowest: float | None = None
    """The least that it can be, in its unit; None where nothing bounds it, or it is a factor."""


def _not_below(values: NDArray[Any], lowest: float) -> NDArray[Any]:
    """What rounding put below is put back; the derivative stays that of the side above."""
    return np.asarray(values + np.maximum(lowest - values.real, 0.0))


def _factor(field: str) -> Change:
    def change(fields: Fields, value: complex) -> None:
        fields[field] = fields[field] * np.exp(value)

    return change


def _addition(field: str) -> Change:
    def change(fields: Fields, value: complex) -> None:
        fields[field] = _not_below(fields[field] + value, 0.0)

    return change


def _mean_of_rotors(field: str) -> Callable[[VehicleParameters], float]:
    return lambda vehicle: float(np.mean([getattr(r, field) for r in vehicle.rotors]))


def balance_signs(vehicle: VehicleParameters, axis: str) -> Array:
    """How much stronger a rotor is for a torque about the axis; of zero sum.

    All zero where no rotor does more about it than the others.
    """
    places = np.array([r.position for r in vehicle.rotors])
    pattern = {
        "roll": places[:, 1],
        "pitch": -places[:, 0],
        "yaw": -np.array([r.spin for r in vehicle.rotors]),
    }[axis]
    pattern = pattern - pattern.mean()
    greatest = float(np.abs(pattern).max())
    return pattern / greatest if greatest > 0.0 else np.zeros_like(pattern)


def _balance(signs: Array) -> Change:
    def change(fields: Fields, value: complex) -> None:
        for field in ("rotors.thrust_coefficient", "rotors.torque_coefficient"):
            fields[field] = fields[field] * (1.0 + value * signs)

    return change


def _read_balance(axis: str) -> Callable[[VehicleParameters], float]:
    def read(vehicle: VehicleParameters) -> float:
        signs = balance_signs(vehicle, axis)
        thrust = np.array([r.thrust_coefficient for r in vehicle.rotors])
        return float(signs @ (thrust / thrust.mean()) / max(signs @ signs, 1.0))

    return read


def _inertia(axis: int) -> Change:
    def change(fields: Fields, value: complex) -> None:
        factor = np.where(np.arange(3) == axis, np.exp(0.5 * value), 1.0)
        fields["body.inertia"] = fields["body.inertia"] * np.outer(factor, factor)

    return change


def _drag(axis: int) -> Change:
    def change(fields: Fields, value: complex) -> None:
        moved = fields["rotor_drag.linear"] + value * (np.arange(3) == axis)
        fields["rotor_drag.linear"] = _not_below(moved, 0.0)

    return change


def _tilt(axis: int) -> Change:
    def change(fields: Fields, value: complex) -> None:
        direction = fields["rotors.axis"] + value * (np.arange(3) == axis)
        length = np.sqrt(np.sum(direction**2, axis=1, keepdims=True))
        fields["rotors.axis"] = direction / length

    return change


def _read_tilt(axis: int) -> Callable[[VehicleParameters], float]:
    return lambda vehicle: float(np.mean([r.axis[axis] / r.axis[2] for r in vehicle.rotors]))


FORCES = ("thrust", "tilt_x", "tilt_y", "drag_x", "drag_y", "drag_z")
"""Parameters identifiable from translation with measured attitude."""
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
"""Parameters identifiable from body rates that are synchronous with the commands."""


def catalogue(vehicle: VehicleParameters) -> dict[str, FreeParameter]:
    """Every parameter that can be free, by name.

    The mass, the moment of inertia about z, the rotors' places, `speed_max` and the nominal voltage
    are not among them: motion tells ratios, and these are what the ratios are of.
    """
    table = [*_of_rotors(vehicle), *_of_motors(), *_of_axes()]
    twist = 30.0 * vehicle.body.inertia[0][0]  # 30 rad/s^2 per m/s
    change = _addition("rotor_drag.blow_back")
    table.append(
        FreeParameter("blow_back", "N m/(m/s)", twist, change, _read_blow_back, False, 0.0)
    )
    return {parameter.name: parameter for parameter in table}


def _of_rotors(vehicle: VehicleParameters) -> Iterator[FreeParameter]:
    for name, field, unit in (
        ("thrust", "thrust_coefficient", "N/(rad/s)^2"),
        ("torque", "torque_coefficient", "N m/(rad/s)^2"),
        ("rotor_inertia", "inertia", "kg m^2"),
    ):
        change, read = _factor(f"rotors.{field}"), _mean_of_rotors(field)
        yield FreeParameter(name, unit, 0.5, change, read, True)
    for axis in ("roll", "pitch", "yaw"):
        change = _balance(balance_signs(vehicle, axis))
        yield FreeParameter(f"balance_{axis}", "", 0.2, change, _read_balance(axis), False)
    for k, axis in enumerate("xy"):
        yield FreeParameter(f"tilt_{axis}", "rad", 0.05, _tilt(k), _read_tilt(k), False)


def _of_motors() -> Iterator[FreeParameter]:
    for way in ("up", "down"):
        field = f"time_constant_{way}"
        read = partial(_read_motor, field)
        yield FreeParameter(field, "s", 0.5, _factor(f"motor.{field}"), read, True)
    change, read = _addition("motor.command_delay"), partial(_read_motor, "command_delay")
    yield FreeParameter("delay", "s", 0.02, change, read, False, 0.0)


def _of_axes() -> Iterator[FreeParameter]:
    for k, axis in enumerate("xyz"):
        if axis != "z":
            read = partial(_read_inertia, k)
            yield FreeParameter(f"inertia_{axis}", "kg m^2", 0.5, _inertia(k), read, True)
        read = partial(_read_drag, k)
        yield FreeParameter(f"drag_{axis}", "1/s", 0.3, _drag(k), read, False, 0.0)


def _read_motor(field: str, vehicle: VehicleParameters) -> float:
    return float(np.mean(getattr(vehicle.motor, field)))


def _read_inertia(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.body.inertia[axis][axis]


def _read_drag(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.rotor_drag.linear[axis]


def _read_blow_back(vehicle: VehicleParameters) -> float:
    return vehicle.rotor_drag.blow_back


def _fields_of(vehicle: VehicleParameters) -> Fields:
    return {name: np.array(get(vehicle), dtype=np.float64) for name, get in _FIELDS.items()}


def changed(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> VehicleParameters:
    """The vehicle with each parameter moved by its value, in spreads of the prior."""
    fields = _fields_of(vehicle)
    for parameter, value in zip(free, values, strict=True):
        parameter.change(fields, float(value) * parameter.spread)
    parts: dict[str, dict[str, Any]] = {}
    for name, numbers in fields.items():
        part, _, field = name.partition(".")
        parts.setdefault(part, {})[field] = numbers.tolist()
    own = parts.pop("rotors")
    rotors = tuple(
        rotor.replace(**{field: numbers[k] for field, numbers in own.items()})
        for k, rotor in enumerate(vehicle.rotors)
    )
    return vehicle.replace(rotors=rotors, **parts)


def slopes(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> Fields:
    """(V, ...) derivatives of the fields of the changed vehicle with respect to each value."""
    start = _fields_of(vehicle)
    found = {name: np.zeros((len(free), *numbers.shape)) for name, numbers in start.items()}
    for k in range(len(free)):
        fields = dict(start)
        for j, (parameter, value) in enumerate(zip(free, values, strict=True)):
            step = 1j * _IMAGINARY if j == k else 0.0
            parameter.change(fields, (float(value) + step) * parameter.spread)
        for name, numbers in fields.items():
            found[name][k] = numbers.imag / _IMAGINARY
    return found
