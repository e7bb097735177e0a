"""Identifiable vehicle parameters, as factors and offsets of the initial guess.

They apply to real and complex arrays; derivatives are by complex steps (Squire and Trapp 1998),
exact except for rounding.
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
"""Vehicle parameters, real or complex, by their names in `Fleet.parameters`."""

Change = Callable[[Fields, complex], None]

_FIELDS: dict[str, Callable[[VehicleParameters], Any]] = {
    "body.inertia": lambda v: v.body.inertia,
    "rotors.axis": lambda v: [r.axis for r in v.rotors],
    "rotors.thrust_coefficient": lambda v: [r.thrust_coefficient for r in v.rotors],
    "rotors.torque_coefficient": lambda v: [r.torque_coefficient for r in v.rotors],
    "rotors.inertia": lambda v: [r.inertia for r in v.rotors],
    "motor.time_constant_up": lambda v: v.motor.time_constant_up,
    "motor.time_constant_down": lambda v: v.motor.time_constant_down,
    "motor.speed_offset": lambda v: v.motor.speed_offset,
    "motor.command_delay": lambda v: v.motor.command_delay,
    "rotor_drag.linear": lambda v: v.rotor_drag.linear,
    "rotor_drag.blow_back": lambda v: v.rotor_drag.blow_back,
    "inflow.axial": lambda v: v.inflow.axial,
    "inflow.translational": lambda v: v.inflow.translational,
    "inflow.drag": lambda v: v.inflow.drag,
    "inflow.axial_drag": lambda v: v.inflow.axial_drag,
    "inflow.flapping": lambda v: v.inflow.flapping,
    "ground_effect.coefficient": lambda v: v.ground_effect.coefficient,
}
_COMPLEX_STEP = 1e-30
_DRAG = 0.3
"""Prior standard deviation of linear drag, 1/s."""
_BLOW_BACK = 30.0
"""Prior standard deviation of blow-back over the moment of inertia, rad/s^2 per m/s."""


@dataclass(frozen=True)
class FreeParameter:
    """A parameter that the fit moves from the guess by `value`, in prior standard deviations.

    A factor is exp(value * spread), which is positive; an offset is value * spread.
    """

    name: str
    unit: str
    spread: float
    """Prior standard deviation of the factor's logarithm, or of the offset in its unit."""
    change: Change
    """Applies the factor's logarithm or the offset."""
    read: Callable[[VehicleParameters], float]
    """Returns the parameter of a vehicle in its unit."""
    is_factor: bool
    minimum: float | None = None
    """In its unit; None for a factor and for an unbounded parameter."""


def _not_below(values: NDArray[Any], minimum: float) -> NDArray[Any]:
    """Clips real parts, which rounding may put below the minimum; keeps the derivatives."""
    return np.asarray(values + np.maximum(minimum - values.real, 0.0))


def _factor(field: str) -> Change:
    def change(fields: Fields, value: complex) -> None:
        fields[field] = fields[field] * np.exp(value)

    return change


def _offset(field: str) -> Change:
    def change(fields: Fields, value: complex) -> None:
        fields[field] = _not_below(fields[field] + value, 0.0)

    return change


def _mean_of_rotors(field: str) -> Callable[[VehicleParameters], float]:
    return lambda vehicle: float(np.mean([getattr(r, field) for r in vehicle.rotors]))


def balance_signs(vehicle: VehicleParameters, axis: str) -> Array:
    """Returns relative changes of the rotors' coefficients that produce a torque about the axis.

    Their sum is 0. All are 0 if the rotors do not differ in their torque about the axis.
    """
    positions = np.array([r.position for r in vehicle.rotors])
    pattern = {
        "roll": positions[:, 1],
        "pitch": -positions[:, 0],
        "yaw": -np.array([r.spin for r in vehicle.rotors]),
    }[axis]
    pattern = pattern - pattern.mean()
    peak = float(np.abs(pattern).max())
    return pattern / peak if peak > 0.0 else np.zeros_like(pattern)


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


THRUST = ("thrust", "speed_offset")
FORCES = (*THRUST, "tilt_x", "tilt_y", "drag_x", "drag_y", "drag_z")
"""Parameters identifiable from translation with measured attitude."""
FLOW = (
    "inflow_axial",
    "inflow_translational",
    "inflow_drag",
    "inflow_axial_drag",
    "inflow_flapping",
    "ground_effect",
)
"""Parameters of terms that are fitted on request only, identifiable with measured attitude."""
LAG = ("time_constant_up", "time_constant_down", "delay")
BALANCES = ("balance_roll", "balance_pitch", "balance_yaw")
ROTATION = (
    *BALANCES,
    "inertia_x",
    "inertia_y",
    "torque",
    "rotor_inertia",
    "blow_back",
)
"""Parameters identifiable from body rates that are synchronous with the commands."""


def catalogue(vehicle: VehicleParameters) -> dict[str, FreeParameter]:
    """Returns all identifiable parameters by name.

    Mass, moment of inertia about z, rotor positions, `speed_max` and nominal voltage are excluded:
    only the ratios of other parameters to these are identifiable from motion.
    """
    table = [*_of_rotors(vehicle), *_of_motors(), *_of_axes()]
    change, read = _offset("rotor_drag.blow_back"), partial(_read, "rotor_drag", "blow_back")
    spread = _BLOW_BACK * vehicle.body.inertia[0][0]
    table.append(FreeParameter("blow_back", "N m/(m/s)", spread, change, read, False, 0.0))
    table += _of_flow(vehicle)
    return {parameter.name: parameter for parameter in table}


def _of_rotors(vehicle: VehicleParameters) -> Iterator[FreeParameter]:
    for name, field, unit, spread in (
        ("thrust", "thrust_coefficient", "N/(rad/s)^2", 0.5),
        ("torque", "torque_coefficient", "N m/(rad/s)^2", 0.3),
        ("rotor_inertia", "inertia", "kg m^2", 0.3),
    ):
        change, read = _factor(f"rotors.{field}"), _mean_of_rotors(field)
        yield FreeParameter(name, unit, spread, change, read, True)
    for axis in ("roll", "pitch", "yaw"):
        change = _balance(balance_signs(vehicle, axis))
        yield FreeParameter(f"balance_{axis}", "", 0.2, change, _read_balance(axis), False)
    for k, axis in enumerate("xy"):
        yield FreeParameter(f"tilt_{axis}", "rad", 0.05, _tilt(k), _read_tilt(k), False)


def _of_motors() -> Iterator[FreeParameter]:
    for direction in ("up", "down"):
        field = f"time_constant_{direction}"
        read = partial(_read_motor, field)
        yield FreeParameter(field, "s", 0.5, _factor(f"motor.{field}"), read, True)
    change, read = _offset("motor.speed_offset"), partial(_read_motor, "speed_offset")
    yield FreeParameter("speed_offset", "", 0.05, change, read, False, 0.0)
    change, read = _offset("motor.command_delay"), partial(_read_motor, "command_delay")
    yield FreeParameter("delay", "s", 0.02, change, read, False, 0.0)


def _of_axes() -> Iterator[FreeParameter]:
    for k, axis in enumerate("xyz"):
        if axis != "z":
            read = partial(_read_inertia, k)
            yield FreeParameter(f"inertia_{axis}", "kg m^2", 0.15, _inertia(k), read, True)
        read = partial(_read_drag, k)
        yield FreeParameter(f"drag_{axis}", "1/s", _DRAG, _drag(k), read, False, 0.0)


def _of_flow(vehicle: VehicleParameters) -> Iterator[FreeParameter]:
    rotors = len(vehicle.rotors)
    thrust, mass = vehicle.weight / rotors, vehicle.body.mass / rotors
    inertia = vehicle.body.inertia[0][0] / rotors
    speed = float(np.sqrt(thrust / np.mean([r.thrust_coefficient for r in vehicle.rotors])))
    for name, field, unit, spread in (
        ("inflow_axial", "inflow.axial", "N/(rad/s)/(m/s)", 0.1 * thrust / speed),
        ("inflow_translational", "inflow.translational", "N/(m/s)^2", 0.02 * thrust),
        ("inflow_drag", "inflow.drag", "N/(rad/s)/(m/s)", _DRAG * mass / speed),
        ("inflow_axial_drag", "inflow.axial_drag", "N/(m/s)^2", 0.1 * mass),
        ("inflow_flapping", "inflow.flapping", "N m/(rad/s)/(m/s)", _BLOW_BACK * inertia / speed),
        ("ground_effect", "ground_effect.coefficient", "", 1.0),
    ):
        group, _, attribute = field.partition(".")
        read = partial(_read, group, attribute)
        yield FreeParameter(name, unit, spread, _offset(field), read, False, 0.0)


def _read(group: str, field: str, vehicle: VehicleParameters) -> float:
    return float(getattr(getattr(vehicle, group), field))


def _read_motor(field: str, vehicle: VehicleParameters) -> float:
    return float(np.mean(getattr(vehicle.motor, field)))


def _read_inertia(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.body.inertia[axis][axis]


def _read_drag(axis: int, vehicle: VehicleParameters) -> float:
    return vehicle.rotor_drag.linear[axis]


def _fields_of(vehicle: VehicleParameters) -> Fields:
    return {name: np.array(get(vehicle), dtype=np.float64) for name, get in _FIELDS.items()}


def changed_fields(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> Fields:
    """Returns the vehicle's fields with each parameter moved by its value, in prior deviations."""
    fields = _fields_of(vehicle)
    for parameter, value in zip(free, values, strict=True):
        parameter.change(fields, float(value) * parameter.spread)
    return fields


def changed(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> VehicleParameters:
    """Returns the vehicle with each parameter moved by its value, in prior deviations."""
    parts: dict[str, dict[str, Any]] = {}
    for name, numbers in changed_fields(vehicle, free, values).items():
        part, _, field = name.partition(".")
        parts.setdefault(part, {})[field] = numbers.tolist()
    of_rotors = parts.pop("rotors")
    rotors = tuple(
        rotor.replace(**{field: numbers[k] for field, numbers in of_rotors.items()})
        for k, rotor in enumerate(vehicle.rotors)
    )
    return vehicle.replace(rotors=rotors, **parts)


def slopes(
    vehicle: VehicleParameters, free: Sequence[FreeParameter], values: Sequence[float] | Array
) -> Fields:
    """Returns (V, ...) derivatives of the changed vehicle's fields for each value."""
    start = _fields_of(vehicle)
    derivatives = {name: np.zeros((len(free), *numbers.shape)) for name, numbers in start.items()}
    for k in range(len(free)):
        fields = dict(start)
        for j, (parameter, value) in enumerate(zip(free, values, strict=True)):
            step = 1j * _COMPLEX_STEP if j == k else 0.0
            parameter.change(fields, (float(value) + step) * parameter.spread)
        for name, numbers in fields.items():
            derivatives[name][k] = numbers.imag / _COMPLEX_STEP
    return derivatives
