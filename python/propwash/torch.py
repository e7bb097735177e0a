"""Flights of a fleet as differentiable functions of PyTorch.

    from propwash.torch import TensorFlight, distance, rollout

`rollout` flies commands that are known beforehand, `TensorFlight` those of a policy; `distance` is
that of obstacles, for losses. Requires the extra `torch`. `docs/gradients.md` has examples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise ImportError(
        'propwash.torch needs torch; install it with: pip install "propwash[torch]"'
    ) from error

from propwash import _checks, _core
from propwash.fleet import Fleet
from propwash.vehicle.commands import Command


class States(NamedTuple):
    """The states after each command, tensors (T, n, …)."""

    position: Tensor
    """(T, n, 3) m, world frame."""
    velocity: Tensor
    """(T, n, 3) m/s, world frame."""
    attitude: Tensor
    """(T, n, 4) unit quaternions, scalar first."""
    body_rates: Tensor
    """(T, n, 3) rad/s, body frame."""
    rotor_speeds: Tensor
    """(T, n, N) rad/s."""


def rollout(
    fleet: Fleet,
    start: Mapping[str, Tensor] | None,
    commands: Mapping[str, Tensor],
    parameters: Mapping[str, Tensor] | None = None,
    *,
    kind: Callable[..., Command] = _core.RotorSpeeds,
    steps: int | None = None,
    substeps: int = 1,
    window: int | None = None,
) -> States:
    """Flies a fleet and returns the states after each command, with gradients.

        fleet: without noise and turbulence. Without `start` it continues from its state.
    start: parts of the physical state, by name, for Fleet.reset(), which also restarts the steps of
        the outer loops. None: no reset. With parameters, rotor_speeds is required, because its
        default depends on the parameters.
    commands: the parts of a command of class `kind`, by name, in the shapes that Fleet.rollout()
        takes: {"speeds": (T, n, N)}, or {"rates": (T, n, 3), "thrust": (T, n)} with RateThrust.
    parameters: arguments of Fleet.set_parameters(), which is called with them.
    kind: the class of the commands, or a function that takes their parts.
    steps, substeps: those of Fleet.rollout().
    window: number of commands after which gradients of the state are cut; None: never.

    The tensors may be on any device and of any floating-point type; the states have the type to
    which those of the commands are promoted. Second derivatives are not available. Raises
    ValueError or TypeError for invalid arguments, which change nothing.
    """
    groups = {"start": start or {}, "commands": commands, "parameters": parameters or {}}
    for group, values in groups.items():
        _check(group, values)
    if parameters and start is not None and "rotor_speeds" not in start:
        raise _missing_speeds(start)
    if window is not None:
        _checks.whole_number("window", window, 1, 2**62)
    names = [(group, name) for group, values in groups.items() for name in values]
    tensors = [value for values in groups.values() for value in values.values()]
    call = _Call(fleet, names, start is not None, kind, steps, substeps, window)
    return States(*_FlightFunction.apply(call, *tensors))  # type: ignore[no-untyped-call]


class FlightState(NamedTuple):
    """The state of a `TensorFlight`, tensors (n, …)."""

    position: Tensor
    """(n, 3) m, world frame."""
    velocity: Tensor
    """(n, 3) m/s, world frame."""
    attitude: Tensor
    """(n, 4) unit quaternions, scalar first."""
    body_rates: Tensor
    """(n, 3) rad/s, body frame."""
    rotor_speeds: Tensor
    """(n, N) rad/s."""
    memory: Tensor
    """(n, k): carries the gradients of the memory of controllers and delays; its values are 0."""


class TensorFlight:
    """A flight in closed loop: each command may depend on the state before it.

    >>> flight = TensorFlight(fleet, kind=RateThrust, substeps=10)
    >>> state = flight.begin()
    >>> for _ in range(50):
    ...     state = flight.step(state, policy(state))
    >>> loss(state).backward()

    fleet: without noise and turbulence; only the flight may step it between begin() and the last
        step.
    parameters: arguments of Fleet.set_parameters(), which is called with them.
    kind: the class of the commands, or a function that takes their parts.
    substeps: steps of the fleet for each command.
    gradient_decay: in (0, 1], factor of the gradients that pass from a state through a step to the
        state before it, so that late losses count less for early commands (Y. Zhang et al.,
        "Learning vision-based agile flight via differentiable physics", 2025). 1: exact gradients.

    The gradients are those of the whole loop, state -> policy -> command -> state, through the
    memory of controllers and delays too. The states have the type to which those of the parts of
    the command are promoted. Second derivatives are not available.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        parameters: Mapping[str, Tensor] | None = None,
        kind: Callable[..., Command] = _core.RotorSpeeds,
        substeps: int = 1,
        gradient_decay: float = 1.0,
    ) -> None:
        self._decay = _checks.number(
            "gradient_decay", gradient_decay, "a number in (0, 1]", lambda x: 0.0 < x <= 1.0
        )
        values = parameters or {}
        _check("parameters", values)
        self.fleet, self._kind, self._parameters = fleet, kind, values
        self._loop = fleet._closed_loop(values, substeps)
        if values:
            fleet.set_parameters({name: _array(value) for name, value in values.items()})
        self._last: FlightState | None = None

    def begin(self, start: Mapping[str, Tensor] | None = None) -> FlightState:
        """Returns the state before the first step.

        start: parts of the physical state, by name, for Fleet.reset(), with gradients. None: the
            state of the fleet, a constant; this also cuts the gradients between two windows.
        """
        _check("start", start or {})
        if start is not None:
            if self._parameters and "rotor_speeds" not in start:
                raise _missing_speeds(start)
            self.fleet.reset(
                **{name: _array(value) for name, value in start.items()}, seed=self.fleet.seed
            )
        parts = dict(start or {})
        if "attitude" in parts:
            parts["attitude"] = torch.nn.functional.normalize(parts["attitude"], dim=-1)
        for name in States._fields:
            value = torch.as_tensor(getattr(self.fleet, name))
            parts[name] = parts[name].expand_as(value) if name in parts else value
        self._last = FlightState(**parts, memory=torch.zeros(len(self.fleet), 0))
        self._time = self.fleet.time
        return self._last

    def step(self, state: FlightState, commands: Mapping[str, Tensor]) -> FlightState:
        """Flies one command for `substeps` steps and returns the state after it.

        state: the result of the last step() or begin(). Its tensors may be replaced by others of
            the same values, to change their gradients.
        commands: the parts of a command of class `kind`, by name, in the shapes that Fleet.step()
            takes.
        """
        _check("commands", commands)
        last = self._last
        if last is None or not all(
            mine is yours or torch.equal(mine, yours)
            for mine, yours in zip(last, state, strict=True)
        ):
            raise ValueError(
                "state: expected the result of the last step() or begin(); call begin() after a "
                "change of the fleet's state"
            )
        if not np.array_equal(self._time, self.fleet.time):
            raise ValueError(
                "fleet: expected no other step or reset since the last step() or begin(), got one; "
                "call begin() after it"
            )
        self._last = FlightState(
            *_Step.apply(  # type: ignore[no-untyped-call]
                self, tuple(commands), *state, *commands.values(), *self._parameters.values()
            )
        )
        self._time = self.fleet.time
        return self._last


def distance(nearest: Callable[[Any], Any], points: Tensor) -> Tensor:
    """Returns the signed distances (…) [m] of points (…, 3) m to obstacles, with gradients.

    nearest: Scene.nearest, or a function like it, such as nearest_items with its scenes: of an
        array of points, with the results `distance` and `normal`.

    Second derivatives are not available.
    """
    _check("distance", {"points": points})
    distances: Tensor = _Distance.apply(points, nearest)  # type: ignore[no-untyped-call]
    return distances


class _Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, nearest: Callable[[Any], Any]) -> Tensor:
        found = nearest(_array(points))
        ctx.save_for_backward(torch.from_numpy(found.normal).to(points))
        return torch.from_numpy(np.asarray(found.distance)).to(points)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        (normal,) = ctx.saved_tensors
        return slopes.unsqueeze(-1) * normal, None


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, flight: TensorFlight, names: tuple[str, ...], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        parts = tensors[len(FlightState._fields) :][: len(names)]
        command = _command(
            flight._kind, {name: _array(part) for name, part in zip(names, parts, strict=True)}
        )
        ctx.taken, states, width = flight._loop.step(command)
        ctx.loop, ctx.names, ctx.decay = flight._loop, names, flight._decay
        ctx.begins = tensors[5].shape[1] == 0
        ctx.like = [(tensor.shape, tensor.dtype, tensor.device) for tensor in tensors]
        ctx.set_materialize_grads(False)
        dtype = functools.reduce(torch.promote_types, [part.dtype for part in parts])
        memory = torch.zeros(len(states[0]), width, dtype=torch.float64)
        return *(torch.from_numpy(part).to(parts[0].device, dtype) for part in states), memory

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        arrays = [None if each is None else _array(each) for each in cotangents]
        state, memory, named, parameters = ctx.loop.pull(ctx.taken, arrays, begins=ctx.begins)
        before = [ctx.decay * part for part in (*state, memory)]
        found = [*before, *(named[name] for name in ctx.names), *parameters.values()]
        return (
            None,
            None,
            *(
                torch.from_numpy(_summed(rows, tuple(shape))).to(dtype=dtype, device=device)
                for rows, (shape, dtype, device) in zip(found, ctx.like, strict=True)
            ),
        )


def _check(group: str, values: Mapping[str, Tensor]) -> None:
    """Raises TypeError or ValueError unless these are floating-point tensors by name."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{group}: expected tensors by name, got {values!r:.100}")
    for name, value in values.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            got = value.dtype if isinstance(value, Tensor) else f"{value!r:.100}"
            raise TypeError(f"{group}[{name!r}]: expected a floating-point tensor, got {got}")
        if group == "start" and name not in States._fields:
            raise ValueError(f"start: expected some of {', '.join(States._fields)}, got {name!r}")
    if group == "commands" and not values:
        raise ValueError("commands: expected the parts of a command, got none")


def _command(kind: Callable[..., Command], parts: Mapping[str, Any]) -> Command:
    """Makes a command. Raises TypeError that names the parts of its class if these are others."""
    try:
        return kind(**parts)
    except TypeError as error:
        if not isinstance(kind, type):
            raise
        names = [name for name in dir(kind) if not name.startswith("_")]
        raise TypeError(
            f"commands: expected the parts of {kind.__name__}, {', '.join(names)}, got "
            f"{', '.join(parts)}; name another class of commands with kind=, such as "
            "kind=RateThrust"
        ) from error


def _missing_speeds(start: Mapping[str, Tensor]) -> ValueError:
    return ValueError(
        "start: expected rotor_speeds among the names, because their default depends on the "
        f"parameters; got {list(start)}"
    )


def _array(tensor: Tensor) -> Any:
    tensor = tensor.detach().cpu()
    return (tensor if tensor.dtype == torch.float32 else tensor.double()).numpy()


class _Call(NamedTuple):
    fleet: Fleet
    names: list[tuple[str, str]]
    resets: bool
    kind: Callable[..., Command]
    steps: int | None
    substeps: int
    window: int | None


class _FlightFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        fleet = call.fleet
        values: dict[str, dict[str, Any]] = {"start": {}, "commands": {}, "parameters": {}}
        for (group, name), tensor in zip(call.names, tensors, strict=True):
            values[group][name] = _array(tensor)
        command = _command(call.kind, values["commands"])
        with fleet._unchanged_on_error(values["parameters"]):
            if values["parameters"]:
                fleet.set_parameters(values["parameters"])
            if call.resets:
                fleet.reset(**values["start"], seed=fleet.seed)
            states, ctx.pullback = fleet.vjp(
                command,
                steps=call.steps,
                substeps=call.substeps,
                parameters=tuple(values["parameters"]),
            )
        ctx.call = call
        ctx.like = [(tensor.shape, tensor.dtype, tensor.device) for tensor in tensors]
        parts = [tensors[k] for k, (group, _) in enumerate(call.names) if group == "commands"]
        dtype = functools.reduce(torch.promote_types, [part.dtype for part in parts])
        return tuple(
            torch.as_tensor(getattr(states, name)).to(parts[0].device, dtype)
            for name in States._fields
        )

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        arrays = {
            name: _array(cotangent)
            for name, cotangent in zip(States._fields, cotangents, strict=True)
            if cotangent is not None
        }
        gradient = ctx.pullback(window=ctx.call.window, **arrays)
        # after a reset, past motor commands are equal to the rotor speeds
        start = {name: getattr(gradient.start, name) for name in States._fields}
        start["rotor_speeds"] = start["rotor_speeds"] + gradient.motor_commands
        found = {"start": start, "commands": gradient.commands, "parameters": gradient.parameters}
        result: list[Tensor | None] = [None]
        for (group, name), (shape, dtype, device) in zip(ctx.call.names, ctx.like, strict=True):
            rows = _summed(found[group][name], tuple(shape))
            result.append(torch.as_tensor(rows).to(dtype=dtype, device=device))
        return tuple(result)


def _summed(rows: Any, shape: tuple[int, ...]) -> Any:
    """Sums `rows` over the axes along which numbers of `shape` were broadcast."""
    if rows.shape == shape:
        return rows
    missing = (1,) * (rows.ndim - len(shape))
    # a parameter may be one number for each vehicle
    is_per_vehicle = len(shape) == 1 and shape != rows.shape[-1:]
    padded = shape + missing if is_per_vehicle else missing + shape
    axes = tuple(k for k in range(rows.ndim) if padded[k] == 1 and rows.shape[k] != 1)
    return np.sum(rows, axis=axes, keepdims=True).reshape(shape)
