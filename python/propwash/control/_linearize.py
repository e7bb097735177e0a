"""Linear models of a vehicle: derivatives of its equations and of its step, exact but for rounding.

They come from dual numbers through the equations that fly; see docs/linearize.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from propwash import _core
from propwash._core import RateThrust, RotorSpeeds
from propwash.fleet import Fleet
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
_MEMORY = ("filtered_rates", "filtered_rates_derivative", "integral")
_READINGS = ("specific_force", "angular_rate")


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Perturbations about a point: dx/dt = A x + B u, or x_next = A x + B u; y = C x + D u.

    k states, m inputs, p outputs. Of a fleet, every array has an axis of vehicles in front.
    The attitude is perturbed by a small rotation vector in body axes.
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
    """(k,) d/dt of the state at the point, or the next state less this one: 0 of an equilibrium."""

    def to_control(self, index: int | None = None) -> control.StateSpace:
        """The model as a control.StateSpace of python-control; `index` takes one of a fleet's.

        Names are "body_rates[x]" there, because python-control allows no dots.

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
        """The place of a state, else of an output, by its name; KeyError where there is none."""
        for names in (self.states, self.outputs):
            if name in names:
                return names.index(name)
        raise KeyError(f"{name!r}: there is no such state or output; states are {self.states}")


def linearize(
    vehicle: str | PathLike[str] | VehicleParameters | Multicopter | Fleet,
    state: MulticopterState | None = None,
    input: RotorSpeeds | RateThrust | None = None,
    *,
    kind: Kind = "continuous",
    integrator: Integrator | None = None,
    dt: float | None = None,
    command: CommandLevel | None = None,
    outputs: Iterable[str] | None = None,
    controller: ArrayLike | None = None,
) -> LinearModel:
    """The linear model of a vehicle about a state and a command.

    vehicle: a name, the path of a TOML file, VehicleParameters, or a Multicopter. Of a Fleet, all
        vehicles are linearised, each with its own parameters.
    state: with arrays (3,), (4,), (N,), or (n, …) for n models; None for hover trim at the origin,
        or for where a Fleet is.
    input: the command, one for all or n rows; None for the rotors' present speeds, or for no rates
        and the weight of each vehicle.
    kind: "continuous", or "discrete": the step of dt [s] as `integrator` computes it, with the
        motors' command delay and, under rate_thrust, the rate controller's filter and integrals.
        None: a Fleet's own, of a Multicopter its integrator; else "rk4" and 1/960 s.
    command: "rotor_speeds" or "rate_thrust"; None for what `input` is, else rotor_speeds.
    outputs: names of states, of rows such as "angular_rate" (three at once) or "rotor_command", or
        of components such as "body_rates.x"; None for all states.
    controller: (9,) or (n, 9), filtered rates [rad/s], their derivative [rad/s^2] and integrals
        [rad] about which the rate controller is linearised, as np.concatenate puts together what
        RateController.snapshot() gives; None: the filter is at rest at the state's rates.

    Noise and biases are zero, the IMU's resolution and range ideal, the battery at its nominal
    voltage. Raises ParameterError for a vehicle that cannot be or cannot be controlled, ValueError
    or TypeError for other arguments.

    >>> model = linearize("flightgoggles", kind="discrete", command="rate_thrust")
    >>> model.A.shape, model.inputs[0]
    ((25, 25), 'rates.x')
    """
    parameters, own, where = _subject(vehicle)
    level = _level(command, input)
    _check_kind(kind, level)
    integrator, dt = _method(vehicle, integrator, dt)
    where = where if state is None else state
    points, single = _points(parameters, where, input, level, _weight(parameters, own))
    points["controller"] = _memory(controller, points["body_rates"])
    if isinstance(vehicle, Fleet):
        single = False
        _check_rows(len(points["position"]), vehicle.size)
    with located(parameters if isinstance(vehicle, Multicopter | Fleet) else vehicle):
        a, b, c, d, drift = _core.linearize(
            parameters, own, points, kind == "discrete", integrator, dt, level == "rate_thrust"
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
    if kind not in ("continuous", "discrete"):
        raise ValueError(f"kind: expected 'continuous' or 'discrete', got {kind!r:.100}")
    if kind == "continuous" and level == "rate_thrust":
        raise ValueError(
            "command: expected 'rotor_speeds' for a continuous model, because the rate controller "
            "is a discrete one; take kind='discrete' and its dt"
        )


def _check_rows(rows: int, size: int) -> None:
    if rows != size:
        raise ValueError(
            f"state: expected a row for each of the fleet's {size} vehicles, got {rows}"
        )


def _subject(
    vehicle: str | PathLike[str] | VehicleParameters | Multicopter | Fleet,
) -> tuple[VehicleParameters, dict[str, Array], MulticopterState | None]:
    """Parameters, those that differ per vehicle, and where the vehicles are."""
    if isinstance(vehicle, Multicopter):
        return vehicle.parameters, {}, None
    if not isinstance(vehicle, Fleet):
        return vehicles.load(vehicle), {}, None
    where = MulticopterState(
        vehicle.position,
        vehicle.velocity,
        vehicle.attitude,
        vehicle.body_rates,
        vehicle.rotor_speeds,
    )
    own = {name: np.asarray(values) for name, values in vehicle.parameters.own().items()}
    return vehicle._parameters, own, where


def _method(
    vehicle: object, integrator: Integrator | None, dt: float | None
) -> tuple[Integrator, float]:
    """What is asked for, or what the vehicle flies with."""
    own: Integrator = "rk4"
    if isinstance(vehicle, Fleet):
        own = cast("Integrator", vehicle._options["integrator"])
    elif isinstance(vehicle, Multicopter):
        own = vehicle._options[0]
    step = vehicle.dt if isinstance(vehicle, Fleet) else DEFAULT_DT
    return own if integrator is None else integrator, step if dt is None else dt


def _weight(parameters: VehicleParameters, own: dict[str, Array]) -> Array:
    """N, of the vehicle, or of each."""
    mass = np.asarray(own.get("body.mass", parameters.body.mass), dtype=np.float64)
    gravity = np.asarray(own.get("body.gravity", parameters.body.gravity), dtype=np.float64)
    size = np.linalg.norm(gravity, axis=-1)
    return np.asarray((mass.reshape(-1) if mass.ndim else mass) * size, dtype=np.float64)


def _level(command: str | None, input: object) -> CommandLevel:
    if input is not None and not isinstance(input, RotorSpeeds | RateThrust):
        raise TypeError(f"input: expected RotorSpeeds, RateThrust or None, got {input!r:.100}")
    given: CommandLevel = "rate_thrust" if isinstance(input, RateThrust) else "rotor_speeds"
    if command is None:
        return given
    if command not in ("rotor_speeds", "rate_thrust"):
        raise ValueError(f"command: expected 'rotor_speeds' or 'rate_thrust', got {command!r:.100}")
    if input is not None and command != given:
        raise ValueError(f"command: expected {given!r}, which is what input is, got {command!r}")
    return "rate_thrust" if command == "rate_thrust" else "rotor_speeds"


def _points(
    parameters: VehicleParameters,
    state: MulticopterState | None,
    input: RotorSpeeds | RateThrust | None,
    level: CommandLevel,
    weight: Array,
) -> tuple[dict[str, Array], bool]:
    """Rows of numbers about which to linearise, and whether the caller gave none."""
    if state is None:
        with located(parameters):
            state = Multicopter(parameters, noise=False).trim()
    elif not isinstance(state, MulticopterState):
        raise TypeError(f"state: expected a MulticopterState or None, got {state!r:.100}")
    rotors = len(parameters.rotors)
    widths = {**dict.fromkeys(_BODY, 3), "attitude": 4, "rotor_speeds": rotors}
    given = {name: (np.asarray(getattr(state, name)), width) for name, width in widths.items()}
    if level == "rate_thrust":
        rates, thrust = np.zeros((*weight.shape, 3)), weight[..., np.newaxis]
        if isinstance(input, RateThrust):
            rates = np.asarray(input.rates, dtype=np.float64)
            thrust = np.asarray(input.thrust, dtype=np.float64)[..., np.newaxis]
        rates = np.broadcast_to(rates, np.broadcast_shapes(rates.shape, (*thrust.shape[:-1], 3)))
        thrust = np.broadcast_to(thrust, (*rates.shape[:-1], 1))
        given["input"] = (np.concatenate([rates, thrust], axis=-1), 4)
    else:
        speeds = state.rotor_speeds if input is None else input.speeds  # type: ignore[union-attr]
        given["input"] = (np.asarray(speeds), rotors)
    counts = {len(array) for array, _ in given.values() if array.ndim == 2}
    if len(counts) > 1:
        raise ValueError(
            f"state, input: expected rows of one number n, got {', '.join(map(str, counts))}"
        )
    n = counts.pop() if counts else None
    if n == 0:
        raise ValueError("state: expected at least one row, got none")
    points = {name: _checked(name, *value, n or 1) for name, value in given.items()}
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
    label = "input" if name == "input" else f"state.{name}"
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or array.shape[-1] != width:
        raise ValueError(
            f"{label}: expected numbers of shape ({width},) or (n, {width}), got "
            f"{array.dtype} of shape {array.shape}"
        )
    numbers = np.asarray(array, dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise ValueError(f"{label}: expected finite numbers, got {numbers[place]} at {place}")
    return np.ascontiguousarray(np.broadcast_to(numbers, (n, width)))


def _memory(controller: ArrayLike | None, rates: Array) -> Array:
    if controller is None:
        return np.concatenate([rates, np.zeros((len(rates), 6))], axis=1)
    return _checked("controller", np.asarray(controller), 9, len(rates))


def _names(
    parameters: VehicleParameters, level: CommandLevel, states: int
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Names of the states, of the inputs, and of the outputs beside the states."""

    def vectors(groups: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{group}.{axis}" for group in groups for axis in "xyz")

    motors = range(len(parameters.rotors))
    speeds = tuple(f"rotor_speeds.{i}" for i in motors)
    names = vectors(_BODY) + speeds
    if level == "rate_thrust":
        names += vectors(_MEMORY)
    late = (states - len(names)) // len(motors)
    names += tuple(f"command_{j + 1}_ago.{i}" for j in range(late) for i in motors)
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
    for wanted in outputs:
        found = [i for i, name in enumerate(names) if wanted in (name, name.partition(".")[0])]
        if not found:
            groups = dict.fromkeys(name.partition(".")[0] for name in names)
            raise ValueError(
                f"outputs: expected names of {', '.join(groups)} or of their components, got "
                f"{wanted!r:.100}"
            )
        rows += found
    return rows


def _signals(names: tuple[str, ...]) -> list[str]:
    return [name.replace(".", "[") + "]" * ("." in name) for name in names]
