"""Flights of a fleet as differentiable functions of PyTorch.

    from propwash.torch import rollout

Requires the extra `torch`. `docs/gradients.md` has an example.
"""

from __future__ import annotations

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

from propwash import _core
from propwash.fleet import Fleet
from propwash.vehicle.commands import Command

_STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")


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
    start: arguments of Fleet.reset(), which is called with them; None: no reset.
    commands: the parts of a command of class `kind`, by name, in the shapes that Fleet.rollout()
        takes: {"speeds": (T, n, N)}, or {"rates": (T, n, 3), "thrust": (T, n)} with RateThrust.
    parameters: arguments of Fleet.set_parameters(), which is called with them.
    kind: the class of the commands, or a function that takes their parts.
    steps, substeps: those of Fleet.rollout().
    window: number of commands after which gradients of the state are cut; None: never.

    The tensors may be on any device and of any floating-point type; the states have the type of
    the first command. Second derivatives are not available. Raises ValueError or TypeError for
    invalid arguments.
    """
    groups = {"start": start or {}, "commands": commands, "parameters": parameters or {}}
    names = [(group, name) for group, values in groups.items() for name in values]
    tensors = [value for values in groups.values() for value in values.values()]
    if not commands:
        raise ValueError("commands: expected the parts of a command, got none")
    for (group, name), value in zip(names, tensors, strict=True):
        if not isinstance(value, Tensor):
            raise TypeError(f"{group}[{name!r}]: expected a tensor, got {value!r:.100}")
    call = _Call(fleet, names, start is not None, kind, steps, substeps, window)
    return States(*_Flight.apply(call, *tensors))  # type: ignore[no-untyped-call]


class _Call(NamedTuple):
    fleet: Fleet
    names: list[tuple[str, str]]
    resets: bool
    kind: Callable[..., Command]
    steps: int | None
    substeps: int
    window: int | None


class _Flight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        fleet = call.fleet
        values: dict[str, dict[str, Any]] = {"start": {}, "commands": {}, "parameters": {}}
        for (group, name), tensor in zip(call.names, tensors, strict=True):
            values[group][name] = tensor.detach().cpu().numpy()
        if values["parameters"]:
            fleet.set_parameters(values["parameters"])
        if call.resets:
            fleet.reset(**values["start"])
        states, ctx.pullback = fleet.vjp(
            call.kind(**values["commands"]),
            steps=call.steps,
            substeps=call.substeps,
            parameters=tuple(values["parameters"]),
        )
        ctx.call = call
        ctx.like = [(tensor.shape, tensor.dtype, tensor.device) for tensor in tensors]
        model = next(
            t for (group, _), t in zip(call.names, tensors, strict=True) if group == "commands"
        )
        return tuple(torch.as_tensor(getattr(states, name)).to(model) for name in _STATE)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        arrays = {
            name: cotangent.detach().double().cpu().numpy()
            for name, cotangent in zip(_STATE, cotangents, strict=True)
            if cotangent is not None
        }
        gradient = ctx.pullback(window=ctx.call.window, **arrays)
        # after a reset, past motor commands are equal to the rotor speeds
        start = {name: getattr(gradient.start, name) for name in _STATE}
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
