"""Derivatives of a fleet's flight with respect to commands, start and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _derivatives
from propwash.fleet._device import require_cpu
from propwash.fleet._fields import FleetFields
from propwash.fleet._parameters import FleetParameters
from propwash.fleet._sensors import FleetSensors
from propwash.fleet._types import FleetState, FleetTrajectory
from propwash.vehicle.commands import Command, CommandSource, as_command

Array = NDArray[np.float64]

STATE = tuple(FleetState.__dataclass_fields__)
"""The names of the parts of the physical state."""


@dataclass(frozen=True, eq=False)
class FlightGradient:
    """The result of a pullback: derivatives of a scalar function of the states, in float64."""

    commands: dict[str, Array]
    """By name of the part of the command, in the shape that was passed."""
    start: FleetState
    """With respect to the physical state before the first command: arrays (n, …)."""
    motor_commands: Array
    """(n, N) with respect to the motor commands before the start, constant in time."""
    parameters: dict[str, Array]
    """By the name that was passed: arrays (n, …)."""


def _split(rows: Array, widths: Iterable[int]) -> list[Array]:
    """Splits the last axis into parts of the given widths."""
    return np.split(rows, np.cumsum([*widths])[:-1], axis=-1)


def _state_parts(rows: Array) -> list[Array]:
    """Splits rows (n, …) of the physical state into its parts."""
    return _split(rows, (3, 3, 4, 3, rows.shape[-1] - 13))


def _command_parts(rows: Array, columns: Mapping[str, int]) -> dict[str, Array]:
    """Splits rows of commands by name; `columns` is 0 for a part without an axis of columns."""
    parts = _split(rows, (max(width, 1) for width in columns.values()))
    return dict(zip(columns, parts, strict=True))


class Requested:
    """The parameters of a fleet with respect to which derivatives are computed."""

    def __init__(self, fleet: FleetGradients, names: Iterable[str]) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise TypeError(f"parameters: expected a list of names, got {names!r:.100}")
        self.entries = {name: fleet._parameter_map.entry(name) for name in names}
        self.numbers = [entry.number for entry in self.entries.values()]
        if len(set(self.numbers)) < len(self.numbers):
            raise ValueError(f"parameters: expected unique names, got {list(names)!r:.100}")

    def split(self, rows: Array) -> dict[str, Array]:
        """Derivatives (n, k), by name in the shapes of the parameters."""
        if not self.entries:
            return {}
        widths = [int(np.prod(entry.shape, dtype=int)) for entry in self.entries.values()]
        parts = _split(rows, widths)
        return {
            name: part.reshape(len(rows), *entry.shape)
            for (name, entry), part in zip(self.entries.items(), parts, strict=True)
        }


class RecordedFlight:
    """A flight recorded for differentiation."""

    def __init__(
        self,
        fleet: FleetGradients,
        commands: Command | CommandSource,
        parameters: Sequence[str],
        steps: int | None,
        substeps: int,
    ) -> None:
        require_cpu(fleet, "gradients")
        fleet._check_sensors()
        self._command = as_command(commands)
        self._table = fleet._parameter_map
        self._parameters = Requested(fleet, parameters)
        self._size, self._rotors = len(fleet), fleet.rotors
        self._attitude = fleet.attitude.astype(np.float64)
        kind: Any = (
            _derivatives.GradientFloat32
            if fleet.dtype == np.float32
            else _derivatives.GradientFloat64
        )
        self._core = kind(fleet._core, self._command, steps, substeps, self._parameters.numbers)
        self._columns: dict[str, int] = self._core.parts()
        self.states = FleetTrajectory(**self._core.states())

    def pull(self, cotangents: Mapping[str, object], window: int | None) -> FlightGradient:
        """The vector-Jacobian product."""
        arrays = {
            name: _checks.broadcast(
                f"cotangent of {name}", value, (len(self.states), *self._shape(name)), finite=True
            )
            for name, value in cotangents.items()
            if value is not None
        }
        every = 0 if window is None else _checks.whole_number("window", window, 1, 2**62)
        found = self._core.pull(arrays, every)
        parts = _state_parts(found["start"])
        parts[2] = self._tangential(parts[2])
        return FlightGradient(
            self._by_part(found["commands"]),
            FleetState(*parts),
            found["motor_commands"],
            self._parameters.split(found["parameters"]),
        )

    def push(
        self,
        tangents: Mapping[str, object],
        start: Mapping[str, object],
        parameters: Mapping[str, object],
    ) -> FleetTrajectory:
        """The Jacobian-vector product."""
        count = len(self.states)
        arguments = {"tangents": tangents, "start": start, "parameters": parameters}
        entries = self._parameters.entries
        known = {"tangents": self._passed(), "start": STATE, "parameters": entries}
        for name, values in arguments.items():
            for key in values:
                if key not in known[name]:
                    raise ValueError(f"{name}: expected some of {list(known[name])}, got {key!r}")
        commands = [
            self._broadcast(name, tangents.get(name, 0.0), columns).reshape(count, self._size, -1)
            for name, columns in self._columns.items()
        ]
        parts = [
            _checks.broadcast(f"start.{k}", start.get(k, 0.0), self._shape(k), finite=True)
            for k in STATE
        ]
        parts[2] = self._tangential(parts[2])
        numbers = [
            self._table._checked(name, parameters[name], self._size, True).reshape(self._size, -1)
            for name in entries
        ]
        arrays = {
            "commands": np.concatenate(commands, axis=2),
            "start": np.concatenate(parts, axis=1),
            "parameters": np.concatenate([*numbers, np.empty((self._size, 0))], axis=1),
        }
        return FleetTrajectory(**self._core.push(arrays))

    def _shape(self, name: str) -> tuple[int, int]:
        if name not in STATE:
            raise ValueError(f"cotangents: expected some of {', '.join(STATE)}, got {name!r}")
        width = {"attitude": 4, "rotor_speeds": self._rotors}.get(name, 3)
        return self._size, width

    def _passed(self) -> list[str]:
        return [name for name in self._columns if getattr(self._command, name) is not None]

    def _tangential(self, rows: Array) -> Array:
        """Rows orthogonal to the attitudes at the start, which are normalised."""
        q = self._attitude
        radial: Array = q * (rows * q).sum(axis=1, keepdims=True)
        return rows - radial

    def _lead(self, name: str, columns: int) -> tuple[int, ...]:
        """The shape of a part as (T or 1, n or 1, columns or 1)."""
        shape = np.shape(getattr(self._command, name))
        tail = shape[len(shape) - 1 :] if columns else (1,)
        lead = shape[: len(shape) - 1] if columns else shape
        return (*(1,) * (2 - len(lead)), *lead, *tail)

    def _by_part(self, rows: Array) -> dict[str, Array]:
        """Sums the columns of each part to the shape that was passed."""
        result = {}
        for name, part in _command_parts(rows, self._columns).items():
            value = getattr(self._command, name)
            if value is None:
                continue
            shape = self._lead(name, self._columns[name])
            axes = tuple(k for k in (0, 1) if shape[k] == 1 and part.shape[k] != 1)
            result[name] = part.sum(axis=axes, keepdims=True).reshape(np.shape(value))
        return result

    def _broadcast(self, name: str, value: object, columns: int) -> Array:
        """A tangent, in a shape that the part may have, as (T, n, columns)."""
        full = (len(self.states), self._size, max(columns, 1))
        array = np.asarray(_checks.numeric(f"tangent of {name}", value, "numbers"))
        if columns == 0:
            array = array[..., None]
        return _checks.broadcast(f"tangent of {name}", array, full, finite=True)


class ClosedLoop:
    """A flight whose commands depend on its states: each step is recorded alone."""

    def __init__(self, fleet: FleetGradients, parameters: Iterable[str], substeps: int) -> None:
        require_cpu(fleet, "gradients")
        fleet._check_sensors()
        self._rotors = fleet.rotors
        self._parameters = Requested(fleet, parameters)
        kind: Any = (
            _derivatives.FlightFloat32 if fleet.dtype == np.float32 else _derivatives.FlightFloat64
        )
        self._core = kind(fleet._core, substeps, self._parameters.numbers)

    def step(self, command: Command) -> tuple[Any, list[NDArray[Any]], int]:
        """Flies one command.

        Returns the step, the parts of the state, and the width of the memory after it.
        """
        step, *states = self._core.step(command)
        return step, states, self._core.widths()[0]

    def pull(
        self, step: Any, cotangents: Sequence[Array | None], *, begins: bool
    ) -> tuple[list[Array], Array, dict[str, Array], dict[str, Array]]:
        """The vector-Jacobian product of one step.

        cotangents: of the parts of the state and the memory after the step. begins: whether the
        state before it is a start, where past motor commands are equal to the rotor speeds.

        Returns the cotangents (n, …) before it: of the state, the memory, the parts of the command
        and the parameters.
        """
        *parts, memory = cotangents
        state, before, commands, parameters = self._core.pull(step, parts, memory)
        found, columns = _state_parts(state), self._core.parts()
        if begins:
            history = before[:, : self._core.widths()[1]].reshape(len(state), -1, self._rotors)
            found[4] += history.sum(axis=1)
            before = before[:, :0]
        named = {
            name: rows if columns[name] else rows[:, 0]
            for name, rows in _command_parts(commands, columns).items()
        }
        return found, before, named, self._parameters.split(parameters)


class FleetGradients(FleetFields, FleetSensors):
    """The methods of a fleet for derivatives of a flight."""

    _parameter_map: FleetParameters

    @contextmanager
    def _unchanged_on_error(self, parameters: Iterable[str] = ()) -> Iterator[None]:
        """Restores the state and the named parameters if the block raises."""
        snapshot, before = self.snapshot(), {name: self._parameter_map[name] for name in parameters}
        try:
            yield
        except Exception:
            self._parameter_map._set(before, None)
            self.restore(snapshot)
            raise

    def _closed_loop(self, parameters: Iterable[str], substeps: int) -> ClosedLoop:
        """For propwash.torch.TensorFlight."""
        return ClosedLoop(self, parameters, substeps)

    def vjp(
        self,
        commands: Command | CommandSource,
        *,
        steps: int | None = None,
        substeps: int = 1,
        parameters: Sequence[str] = (),
    ) -> tuple[FleetTrajectory, Callable[..., FlightGradient]]:
        """Flies as rollout() does, and returns the states and a function for their derivatives.

        commands, steps, substeps: those of rollout().
        parameters: names of the parameters with respect to which derivatives are computed.

        The function takes, by name, the derivatives of a scalar with respect to position, velocity,
        attitude, body_rates and rotor_speeds of the states, arrays that broadcast to (T, n, …),
        and returns its gradient, a FlightGradient. With `window`, the states before every
        window-th command are constants. It may be called several times.

        Requires a fleet without noise and turbulence. Raises ValueError or TypeError for invalid
        arguments.

        >>> states, pullback = fleet.vjp(RotorSpeeds(speeds), substeps=10)
        >>> gradient = pullback(position=states.position - target)
        >>> speeds -= 0.1 * gradient.commands["speeds"]
        """
        flight = RecordedFlight(self, commands, parameters, steps, substeps)

        def pullback(
            *unnamed: Any, window: int | None = None, **cotangents: ArrayLike
        ) -> FlightGradient:
            if unnamed:
                raise TypeError(
                    "pullback: expected derivatives by name, as in pullback(position=...), got "
                    f"{type(unnamed[0]).__name__}; write pullback(**derivatives) for a dict"
                )
            return flight.pull(cotangents, window)

        return flight.states, pullback

    def jvp(
        self,
        commands: Command | CommandSource,
        tangents: Mapping[str, ArrayLike] | None = None,
        *,
        start: Mapping[str, ArrayLike] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        steps: int | None = None,
        substeps: int = 1,
    ) -> tuple[FleetTrajectory, FleetTrajectory]:
        """Flies as rollout() does, and returns the states and their directional derivatives.

        tangents: by name of a part of the command, its direction, in a shape that broadcasts to
            (T, n, …); start: by name of a part of the state, (n, …); parameters: by name, (n, …).
            Omitted parts have the direction zero.

        Requires a fleet without noise and turbulence. Raises ValueError or TypeError for invalid
        arguments.
        """
        directions = {"tangents": tangents, "start": start, "parameters": parameters}
        for name, values in directions.items():
            if values is not None and not isinstance(values, Mapping):
                raise TypeError(f"{name}: expected arrays by name, got {values!r:.100}")
        named = parameters or {}
        with self._unchanged_on_error():
            flight = RecordedFlight(self, commands, tuple(named), steps, substeps)
            return flight.states, flight.push(tangents or {}, start or {}, named)
