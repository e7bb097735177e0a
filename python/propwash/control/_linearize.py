"""Linear models of a vehicle, from derivatives of its equations of motion or of its step.

Dual numbers compute the derivatives to rounding; see docs/linearize.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks, _derivatives
from propwash._core import RateThrust, RotorSpeeds
from propwash.fleet import Fleet, FleetState
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import (
    DEFAULT_DT,
    Array,
    Integrator,
    Multicopter,
    MulticopterState,
)
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

if TYPE_CHECKING:
    import control

__all__ = ["LinearModel", "linearize"]

Kind = Literal["continuous", "discrete"]
CommandLevel = Literal["rotor_speeds", "rate_thrust"]

_BODY = ("position", "velocity", "attitude", "body_rates")
_CONTROLLER = ("filtered_rates", "filtered_rates_derivative", "integral")
_READINGS = ("specific_force", "angular_rate")


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A model of perturbations: dx/dt = A x + B u, or x_next = A x + B u; y = C x + D u.

    k states, m inputs, p outputs. For a fleet, every array has a leading axis of vehicles. The
    perturbation of the attitude is a small rotation vector in body axes.
    """

    A: Array
    """(k, k)."""
    B: Array
    """(k, m)."""
    C: Array
    """(p, k)."""
    D: Array
    """(p, m)."""
    states: tuple[str, ...]
    """The names of the k states."""
    inputs: tuple[str, ...]
    """The names of the m inputs."""
    outputs: tuple[str, ...]
    """The names of the p outputs."""
    dt: float | None
    """s, of a discrete model; None for a continuous one."""
    drift: Array
    """(k,) time derivative of the state, or next state minus state; 0 for an equilibrium."""

    def to_control(self, index: int | None = None) -> control.StateSpace:
        """Converts to a control.StateSpace of python-control; `index` selects a vehicle of a fleet.

        Names become "body_rates[x]", as python-control does not allow dots.

        Raises ImportError without python-control, ValueError for a fleet's models without index.
        """
        try:
            import control
        except ImportError:
            raise ImportError(
                'LinearModel.to_control needs python-control: pip install "propwash[tune]"'
            ) from None
        if (index is None) != (self.A.ndim == 2):
            expected = "None for one model" if self.A.ndim == 2 else "the number of a vehicle"
            raise ValueError(f"index: expected {expected}, got {index!r}")
        pick: Any = () if index is None else index
        return control.StateSpace(
            self.A[pick],
            self.B[pick],
            self.C[pick],
            self.D[pick],
            0 if self.dt is None else self.dt,
            states=_signals(self.states),
            inputs=_signals(self.inputs),
            outputs=_signals(self.outputs),
            remove_useless_states=False,
        )

    def index(self, name: str) -> int:
        """The index of a state or else of an output, by name. Raises KeyError."""
        for names in (self.states, self.outputs):
            if name in names:
                return names.index(name)
        raise KeyError(f"{name!r}: expected a state or output; states are {self.states}")


def linearize(
    vehicle: str | PathLike[str] | VehicleParameters | Multicopter | Fleet,
    state: MulticopterState | FleetState | None = None,
    input: RotorSpeeds | RateThrust | None = None,
    *,
    kind: Kind = "continuous",
    integrator: Integrator | None = None,
    dt: float | None = None,
    command: CommandLevel | None = None,
    outputs: Iterable[str] | None = None,
    controller: ArrayLike | None = None,
) -> LinearModel:
    """Linearises a vehicle about a state and a command.

    vehicle: a name, the path of a TOML file, VehicleParameters, or a Multicopter. For a Fleet, each
        vehicle is linearised with its parameters. The rate controller of a Multicopter or Fleet
        assumes its `control_vehicle`.
    state: with arrays (3,), (4,), (N,), or (n, …) for n models, such as a FleetState; None: hover
        trim at the origin, or the present state of a Fleet.
    input: the command, one for all or n rows; None: the present rotor speeds, or zero rates and the
        weight of each vehicle.
    kind: "continuous", or "discrete": a step of dt [s] by `integrator`, with the command delay of
        the motors and, for rate_thrust, the filter and integrals of the rate controller.
    integrator, dt: None: those of a Fleet; the integrator of a Multicopter; else "rk4" and 1/960 s.
    command: "rotor_speeds" or "rate_thrust"; None: the kind of `input`, else rotor_speeds.
    outputs: names of states, of groups such as "angular_rate" or "rotor_command", or of components
        such as "body_rates.x"; None: all states.
    controller: (9,) or (n, 9), the state of the rate controller: filtered rates [rad/s], their
        derivative [rad/s^2] and integrals [rad], the concatenated parts of
        RateController.snapshot(); None: the filter is at rest at the rates of the state.

    Noise and biases are zero, resolution and range of the IMU ideal, the battery voltage nominal.
    Raises ParameterError for a vehicle that is invalid or not controllable, ValueError or TypeError
    for other arguments.

    >>> model = linearize("flightgoggles", kind="discrete", command="rate_thrust")
    >>> model.A.shape, model.inputs[0]
    ((25, 25), 'rates.x')
    """
    parameters, individual, present = _subject(vehicle)
    level = _level(command, input)
    _check_kind(kind, level)
    integrator, dt = _method(vehicle, integrator, dt)
    state = present if state is None else state
    points, single = _points(parameters, state, input, level, _weight(parameters, individual))
    points["controller"] = _controller_state(controller, points["body_rates"])
    if isinstance(vehicle, Fleet):
        single = False
        _check_rows(len(points["position"]), vehicle.size)
    with located(parameters if isinstance(vehicle, Multicopter | Fleet) else vehicle):
        a, b, c, d, drift = _derivatives.linearize(
            parameters,
            individual,
            points,
            kind == "discrete",
            integrator,
            dt,
            level == "rate_thrust",
            vehicle.control_vehicle if isinstance(vehicle, Multicopter | Fleet) else None,
        )
    names = _names(parameters, level, a.shape[1])
    rows = _rows(outputs, *names[::2])
    c = np.concatenate([np.broadcast_to(np.eye(len(names[0])), a.shape), c], axis=1)[:, rows]
    d = np.concatenate([np.zeros_like(b), d], axis=1)[:, rows]
    chosen = tuple((names[0] + names[2])[row] for row in rows)
    a, b, c, d, rest = (x[0] if single else x for x in (a, b, c, d, drift[..., 0]))
    step = dt if kind == "discrete" else None
    return LinearModel(a, b, c, d, names[0], names[1], chosen, step, rest)


def _check_kind(kind: str, level: CommandLevel) -> None:
    _checks.choice("kind", kind, ("continuous", "discrete"))
    if kind == "continuous" and level == "rate_thrust":
        raise ValueError(
            "command: expected 'rotor_speeds' for a continuous model, because the rate controller "
            "is discrete; use kind='discrete' and its dt"
        )


def _check_rows(rows: int, size: int) -> None:
    if rows != size:
        raise ValueError(
            f"state: expected a row for each of the fleet's {size} vehicles, got {rows}"
        )


def _subject(
    vehicle: str | PathLike[str] | VehicleParameters | Multicopter | Fleet,
) -> tuple[VehicleParameters, dict[str, Array], MulticopterState | None]:
    """Parameters, those of individual vehicles, and the present state."""
    if isinstance(vehicle, Multicopter):
        return vehicle.parameters, {}, None
    if not isinstance(vehicle, Fleet):
        return vehicles.load(vehicle), {}, None
    state = MulticopterState(**vars(vehicle.state))
    individual = {name: np.asarray(values) for name, values in vehicle.parameters.own().items()}
    return vehicle.vehicle, individual, state


def _method(
    vehicle: object, integrator: Integrator | None, dt: float | None
) -> tuple[Integrator, float]:
    """The arguments integrator and dt, or those of the vehicle."""
    default: Integrator = "rk4"
    if isinstance(vehicle, Fleet):
        default = cast("Integrator", vehicle._options["integrator"])
    elif isinstance(vehicle, Multicopter):
        default = vehicle._options[0]
    step = vehicle.dt if isinstance(vehicle, Fleet) else DEFAULT_DT
    return default if integrator is None else integrator, step if dt is None else dt


def _weight(parameters: VehicleParameters, individual: dict[str, Array]) -> Array:
    """N, of the vehicle, or of each vehicle."""
    mass = np.asarray(individual.get("body.mass", parameters.body.mass), dtype=np.float64)
    gravity = np.asarray(individual.get("body.gravity", parameters.body.gravity), dtype=np.float64)
    size = np.linalg.norm(gravity, axis=-1)
    return np.asarray((mass.reshape(-1) if mass.ndim else mass) * size, dtype=np.float64)


def _level(command: str | None, input: object) -> CommandLevel:
    if input is not None and not isinstance(input, RotorSpeeds | RateThrust):
        raise TypeError(f"input: expected RotorSpeeds, RateThrust or None, got {input!r:.100}")
    level: CommandLevel = "rate_thrust" if isinstance(input, RateThrust) else "rotor_speeds"
    if command is None:
        return level
    _checks.choice("command", command, ("rotor_speeds", "rate_thrust"))
    if input is not None and command != level:
        raise ValueError(f"command: expected {level!r}, the kind of input, got {command!r}")
    return "rate_thrust" if command == "rate_thrust" else "rotor_speeds"


def _points(
    parameters: VehicleParameters,
    state: MulticopterState | FleetState | None,
    input: RotorSpeeds | RateThrust | None,
    level: CommandLevel,
    weight: Array,
) -> tuple[dict[str, Array], bool]:
    """The points of linearisation, as rows, and whether they are a single point without rows."""
    if state is None:
        with located(parameters):
            state = Multicopter(parameters, noise=False).trim()
    elif not isinstance(state, MulticopterState | FleetState):
        raise TypeError(
            f"state: expected a MulticopterState, a FleetState or None, got {state!r:.100}"
        )
    rotors = len(parameters.rotors)
    widths = {**dict.fromkeys(_BODY, 3), "attitude": 4, "rotor_speeds": rotors}
    arrays = {name: (np.asarray(getattr(state, name)), width) for name, width in widths.items()}
    if level == "rate_thrust":
        rates, thrust = np.zeros((*weight.shape, 3)), weight[..., np.newaxis]
        if isinstance(input, RateThrust):
            rates = np.asarray(input.rates, dtype=np.float64)
            thrust = np.asarray(input.thrust, dtype=np.float64)[..., np.newaxis]
        rates = np.broadcast_to(rates, np.broadcast_shapes(rates.shape, (*thrust.shape[:-1], 3)))
        thrust = np.broadcast_to(thrust, (*rates.shape[:-1], 1))
        arrays["input"] = (np.concatenate([rates, thrust], axis=-1), 4)
    else:
        speeds = state.rotor_speeds if input is None else input.speeds  # type: ignore[union-attr]
        arrays["input"] = (np.asarray(speeds), rotors)
    counts = {len(array) for array, _ in arrays.values() if array.ndim == 2}
    if len(counts) > 1:
        raise ValueError(
            f"state, input: expected equal numbers of rows, got {', '.join(map(str, counts))}"
        )
    n = counts.pop() if counts else None
    if n == 0:
        raise ValueError("state: expected at least one row, got none")
    points = {name: _checked(name, *value, n or 1) for name, value in arrays.items()}
    lengths = np.linalg.norm(points["attitude"], axis=1, keepdims=True)
    if np.any(np.abs(lengths - 1.0) > 1e-3):
        worst = int(np.argmax(np.abs(lengths - 1.0)))
        raise ValueError(
            f"state.attitude: expected unit quaternions, row {worst} has length "
            f"{lengths[worst, 0]:.6g}"
        )
    near = np.abs(lengths - 1.0) <= 4.0 * np.finfo(np.float64).eps
    points["attitude"] = np.where(near, points["attitude"], points["attitude"] / lengths)
    return points, n is None


def _checked(name: str, array: Array, width: int, n: int) -> Array:
    label = name if name in ("input", "controller") else f"state.{name}"
    numbers = _checks.shaped(label, array, (width,), ("n", width))
    if numbers.ndim == 2 and len(numbers) not in (1, n):
        raise ValueError(f"{label}: expected {n} rows, got {len(numbers)}")
    return np.ascontiguousarray(np.broadcast_to(numbers, (n, width)))


def _controller_state(controller: ArrayLike | None, rates: Array) -> Array:
    if controller is None:
        return np.concatenate([rates, np.zeros((len(rates), 6))], axis=1)
    return _checked("controller", np.asarray(controller), 9, len(rates))


def _names(
    parameters: VehicleParameters, level: CommandLevel, states: int
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Names of the states, of the inputs, and of the outputs that are not states."""

    def vectors(groups: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{group}.{axis}" for group in groups for axis in "xyz")

    motors = range(len(parameters.rotors))
    speeds = tuple(f"rotor_speeds.{i}" for i in motors)
    names = vectors(_BODY) + speeds
    if level == "rate_thrust":
        names += vectors(_CONTROLLER)
    delay = (states - len(names)) // len(motors)
    names += tuple(f"command_{j + 1}_ago.{i}" for j in range(delay) for i in motors)
    inputs = (*vectors(("rates",)), "thrust") if level == "rate_thrust" else speeds
    return names, inputs, vectors(_READINGS) + tuple(f"rotor_command.{i}" for i in motors)


def _rows(
    outputs: Iterable[str] | None, states: tuple[str, ...], others: tuple[str, ...]
) -> list[int]:
    names = states + others
    if outputs is None:
        return list(range(len(states)))
    if isinstance(outputs, str):
        outputs = (outputs,)
    rows: list[int] = []
    for output in outputs:
        found = [i for i, name in enumerate(names) if output in (name, name.partition(".")[0])]
        if not found:
            groups = dict.fromkeys(name.partition(".")[0] for name in names)
            raise ValueError(
                f"outputs: expected names of {', '.join(groups)} or of their components, got "
                f"{output!r:.100}"
            )
        rows += found
    return rows


def _signals(names: tuple[str, ...]) -> list[str]:
    return [name.replace(".", "[") + "]" * ("." in name) for name in names]
