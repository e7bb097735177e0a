"""The dynamics of a multicopter as expressions of CasADi, recorded from the C++ equations.

See docs/casadi.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _core, _derivatives
from propwash.vehicle import files as vehicles
from propwash.vehicle.fields import each
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

if TYPE_CHECKING:
    import casadi

__all__ = ["CasadiModel", "casadi_model"]

Array = NDArray[np.float64]

_TABLES = (
    "body", "rotors", "motor", "drag", "rotor_drag", "inflow", "ground_effect", "contact",
    "residual",
)  # fmt: skip
"""Tables of the vehicle file that determine the motion."""
_WITHOUT_EFFECT = (
    "motor.speed_min",
    "motor.speed_max",
    "motor.speed_offset",
    "motor.command_delay",
)
"""Fields of these tables that the continuous dynamics do not contain."""


@dataclass(frozen=True, eq=False)
class CasadiModel:
    """Continuous dynamics dx/dt = f(x, u, wind, force, torque, p) of a multicopter with N rotors.

    x: position 3 [m], velocity 3 [m/s], attitude q_WB 4 (w, x, y, z), body rates 3 [rad/s], rotor
    speeds N [rad/s]. u: commanded rotor speeds N [rad/s], which must be within the limits. Frames
    and units are those of MulticopterState.
    """

    function: casadi.Function
    """From "x", "u", "wind" (3) [m/s, world], "force" (3) [N, world], "torque" (3) [N m, body] and
    "p" to "xdot"."""
    states: tuple[str, ...]
    """The names of the 13 + N states."""
    inputs: tuple[str, ...]
    """The names of the N inputs."""
    parameters: tuple[str, ...]
    """The names of the numbers in p, row by row for a field with several."""
    p: Array
    """The parameters of the vehicle, in SI units."""
    input_min: Array
    """(N,) rad/s, the lowest rotor speeds."""
    input_max: Array
    """(N,) rad/s, the highest rotor speeds."""

    def __call__(
        self, x: Any, u: Any, *, wind: Any = 0, force: Any = 0, torque: Any = 0, p: Any = None
    ) -> Any:
        """The time derivative of x, of the type of the arguments: SX, MX or DM.

        p: None: the parameters of the vehicle.
        """
        return self.function(x, u, wind, force, torque, self.p if p is None else p)


def casadi_model(
    vehicle: str | PathLike[str] | VehicleParameters, parameters: Iterable[str] = ()
) -> CasadiModel:
    """The dynamics of a vehicle for CasADi, from the equations that the simulation steps.

    vehicle: a name, the path of a TOML file, or VehicleParameters.
    parameters: names of fields, such as "body.mass", that become symbols; all others are constants.
        Inflow, ground effect, contact and residual are part of the model if the vehicle has them
        or one of their fields is a symbol.

    Excluded are the limits of rotor speeds, command delay, battery and noise. Derivatives exist
    everywhere: the slope of |v| at 0 is 0.

    Raises ImportError without casadi, ParameterError for an invalid vehicle, ValueError or
    TypeError for other names.

    >>> model = casadi_model("flightgoggles", parameters=["body.mass"])
    >>> model.function.size1_in("x"), model.inputs[0], model.parameters
    (17, 'rotor_speeds.0', ('body.mass',))
    """
    _checks.require_casadi("casadi_model")
    import casadi

    loaded = vehicles.load(vehicle)
    known = [
        name
        for name, *_ in _core.parameter_table(loaded)
        if name.partition(".")[0] in _TABLES and name not in _WITHOUT_EFFECT
    ]
    symbols = _checks.names("parameters", parameters, known)
    with located(vehicle):
        nodes, derivative, values = _derivatives.trace_dynamics(loaded, symbols)
    rotors = len(loaded.rotors)
    numbers = [number for _, field in values for number in field]
    sizes = {"x": 13 + rotors, "u": rotors, "wind": 3, "force": 3, "torque": 3, "p": len(numbers)}
    inputs = {name: casadi.SX.sym(name, size) for name, size in sizes.items()}
    xdot = _replayed(casadi, nodes, casadi.vertsplit(casadi.vertcat(*inputs.values())), derivative)
    speeds = tuple(f"rotor_speeds.{i}" for i in range(rotors))
    return CasadiModel(
        casadi.Function("dynamics", [*inputs.values()], [xdot], [*inputs], ["xdot"]),
        _components("position", "xyz") + _components("velocity", "xyz")
        + _components("attitude", "wxyz") + _components("body_rates", "xyz") + speeds,
        speeds,
        tuple(
            name if len(field) == 1 else f"{name}.{i}" for name, field in values
            for i in range(len(field))
        ),
        np.array(numbers, dtype=np.float64),
        np.array(each(loaded.motor.speed_min, rotors)),
        np.array(each(loaded.motor.speed_max, rotors)),
    )  # fmt: skip


def _components(name: str, axes: str) -> tuple[str, ...]:
    return tuple(f"{name}.{axis}" for axis in axes)


def _replayed(
    casadi: Any, nodes: Sequence[Any], symbols: Iterable[Any], outputs: Iterable[int]
) -> Any:
    """The outputs of a record of operations (trace_dynamics.hpp) on `symbols`."""

    def sqrt(x: Any) -> Any:
        # neither branch has an infinite slope, which would make the derivative at 0 NaN
        return casadi.if_else(x > 0, casadi.sqrt(casadi.if_else(x > 0, x, 1)), 0)

    operations: dict[str, Callable[[Any, Any, Any], Any]] = {
        "add": lambda a, b, _: a + b,
        "subtract": lambda a, b, _: a - b,
        "multiply": lambda a, b, _: a * b,
        "negate": lambda a, *_: -a,
        "reciprocal": lambda a, *_: 1 / a,
        "sqrt": lambda a, *_: sqrt(a),
        "abs": lambda a, *_: casadi.fabs(a),
        "signed_square": lambda a, *_: a * casadi.fabs(a),
        "less": lambda a, b, _: a < b,
        "select": lambda a, b, c: casadi.if_else(a, b, c),
        "sin": lambda a, *_: casadi.sin(a),
        "cos": lambda a, *_: casadi.cos(a),
        "exp": lambda a, *_: casadi.exp(a),
        "log": lambda a, *_: casadi.log(a),
    }
    remaining = iter(symbols)
    values: list[Any] = []
    for operation, a, b, c, number in nodes:
        if operation == "input":
            values.append(next(remaining))
        elif operation == "constant":
            values.append(casadi.SX(number))
        else:
            values.append(operations[operation](values[a], values[b], values[c]))
    return casadi.vertcat(*(values[node] for node in outputs))
