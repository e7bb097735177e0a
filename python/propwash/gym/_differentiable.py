"""Observations and rewards of tasks as differentiable functions of tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from propwash import _core
from propwash.gym._actions import thrust_range
from propwash.gym._engine import Engine
from propwash.gym._hover import Hover
from propwash.gym._race import Race
from propwash.gym._track import Track
from propwash.torch import FlightState, TensorFlight


class StateWindow(NamedTuple):
    """The states before and after T steps, tensors (T + 1, n, …)."""

    position: Tensor
    velocity: Tensor
    attitude: Tensor
    body_rates: Tensor
    action: Tensor
    """The last action, in [-1, 1]."""
    target: Tensor
    """m, the task's target; 0 for the origin."""
    target_velocity: Tensor
    """m/s, of the target."""


_REQUIRED = {"action": "rate_thrust", "observation": "state", "privileged": False, "noise": False}
"""Settings of environments with gradients."""


class DifferentiableTask:
    """A task in the environments of an engine; the engine's noise must be off.

    Observations are equal to Task.observation. Rewards are those of the task without the parts that
    have no derivative, such as the reward of a gate.
    """

    def __init__(self, engine: Engine) -> None:
        chosen = engine.settings
        for name, required in _REQUIRED.items():
            if (value := getattr(chosen, name)) != required:
                raise ValueError(f"{name}: expected {required!r} for gradients, got {value!r}")
        self.task: Any = engine.task
        self.engine, self.state = engine, engine.state
        self.flight = TensorFlight(engine.fleet, kind=_core.RateThrust, substeps=chosen.substeps)
        weight, reserve = thrust_range(engine.fleet)
        self._scale = torch.tensor([*chosen.max_rates, weight]), torch.tensor(reserve)
        self._origin = torch.zeros(1, 3).expand(engine.size, 3)

    def observe(self, state: FlightState, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns observations (n, k) after the last `action`, and target and its velocity (n, 3).

        The task must have been updated to `state`.
        """
        target, velocity, vectors, scalars = self._seen(state.position)
        stacked = torch.stack([state.position - target, state.velocity, *vectors], 1)
        rotated, rotation = _Rotated.apply(  # type: ignore[no-untyped-call]
            state.attitude, stacked, self.task.frame == "body"
        )
        flat = rotated.flatten(1)
        columns = [flat[:, :6], rotation, state.body_rates, action, flat[:, 6:], *scalars]
        return torch.cat(columns, 1), target, velocity

    def step(self, state: FlightState, action: Tensor) -> tuple[FlightState, Any, Any]:
        """Steps all environments with actions (n, 4) in [-1, 1].

        Returns the state, the exact rewards (n,), and whether the task ends the episodes (n,).
        """
        rates, thrust = _RatesAndThrust.apply(action, *self._scale)  # type: ignore[no-untyped-call]
        state = self.flight.step(state, {"rates": rates, "thrust": thrust})
        self.state.steps += 1
        self.engine.update(action.detach().numpy())
        return state, self.task.reward(self.state), self.task.terminated(self.state)

    def _seen(self, position: Tensor) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
        """Target and its velocity (n, 3); extras: vectors (n, 3) in the world frame, and others."""
        return self._origin, self._origin, [], []

    def reward(self, window: StateWindow) -> Any:
        """Returns the rewards (T, n)."""
        raise NotImplementedError


class _Rotated(torch.autograd.Function):
    """Vectors (n, k, 3) in the world or body frame, and rotation matrices (n, 9), body to world.

    Of attitudes (n, 4) and vectors (n, k, 3) in the world frame; in_body: the frame of the result.
    """

    @staticmethod
    def forward(
        ctx: Any, attitude: Tensor, vectors: Tensor, in_body: bool
    ) -> tuple[Tensor, Tensor]:
        products = (attitude[:, :, None] * attitude[:, None, :]).flatten(1)
        rotation = torch.addmm(_OFFSET, products, _PRODUCTS)
        ctx.save_for_backward(attitude, vectors, rotation)
        ctx.in_body = in_body
        return vectors @ rotation.view(-1, 3, 3) if in_body else vectors.clone(), rotation

    @staticmethod
    def backward(ctx: Any, of_vectors: Tensor, of_rotation: Tensor) -> tuple[Tensor | None, ...]:
        attitude, vectors, rotation = ctx.saved_tensors
        if ctx.in_body:
            of_rotation = of_rotation + (vectors.mT @ of_vectors).flatten(1)
            of_vectors = of_vectors @ rotation.view(-1, 3, 3).mT
        of_products = (of_rotation @ _PRODUCTS.T).view(-1, 4, 4)
        return ((of_products + of_products.mT) @ attitude[:, :, None])[:, :, 0], of_vectors, None


def _products() -> Tensor:
    """A (16, 9): a rotation matrix, row by row, is 1 + vec(q q') A."""
    matrix = torch.zeros(4, 4, 3, 3)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[j + 1, j + 1, i, i] = matrix[k + 1, k + 1, i, i] = -2.0
        matrix[i + 1, j + 1, i, j] = matrix[i + 1, j + 1, j, i] = 2.0
        matrix[0, k + 1, i, j], matrix[0, k + 1, j, i] = -2.0, 2.0
    return matrix.view(16, 9)


_PRODUCTS, _OFFSET = _products(), torch.eye(3).flatten()


class _RatesAndThrust(torch.autograd.Function):
    """Body rates (n, 3) and thrust (n,) of actions (n, 4), as RateThrustActions."""

    @staticmethod
    def forward(ctx: Any, action: Tensor, scale: Tensor, reserve: Tensor) -> tuple[Tensor, Tensor]:
        lever, weight = action[:, 3], scale[3]
        ctx.save_for_backward(scale, slope := torch.where(lever > 0.0, reserve, weight))
        return action[:, :3] * scale[:3], weight + lever * slope

    @staticmethod
    def backward(ctx: Any, rates: Tensor, thrust: Tensor) -> tuple[Tensor | None, ...]:
        scale, slope = ctx.saved_tensors
        return torch.cat([rates * scale[:3], (thrust * slope)[:, None]], 1), None, None


def _norm(vector: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(vector, dim=-1)
    return norm


def _effort(window: StateWindow, weights: Any) -> Any:
    """The costs of body rates and of changes of action."""
    change = window.action[1:] - window.action[:-1]
    rates = window.body_rates[1:].square().sum(-1)
    return weights.body_rates * rates + weights.action_change * change.square().sum(-1)


class DifferentiableHover(DifferentiableTask):
    """Hover."""

    def reward(self, window: StateWindow) -> Any:
        """Returns HoverReward."""
        w = self.task.weights
        upright = 1.0 - 2.0 * window.attitude[1:, :, 1:3].square().sum(-1)
        near = w.position / (_norm(window.position[1:]) / w.position_scale + 1.0)
        return near + w.upright * upright - _effort(window, w)


class DifferentiableTrack(DifferentiableTask):
    """Track."""

    def _seen(self, position: Tensor) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
        task, state = self.task, self.state
        target, velocity = (torch.from_numpy(each) for each in task.reference(state))
        preview = torch.from_numpy(task.look_ahead(state, np.zeros_like(state.position)))
        ahead = [preview[:, k : k + 3] - position for k in (3, 6, 9)]
        return target, velocity, [velocity, *ahead], []

    def reward(self, window: StateWindow) -> Any:
        """Returns TrackReward."""
        w, (position, velocity, *_, target, pace) = self.task.weights, (each[1:] for each in window)
        near = w.position / (_norm(position - target) / w.position_scale + 1.0)
        return near - w.velocity * _norm(velocity - pace) - _effort(window, w)


class DifferentiableRace(DifferentiableTask):
    """Race. Its rewards do not contain those of gates and failures."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        rotation = np.stack([each.rotation for each in self.task.courses]).astype(np.float32)
        self._axes = torch.from_numpy(rotation)

    def _seen(self, position: Tensor) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
        task = self.task
        target, seen, _ = map(torch.from_numpy, task.look(np.zeros_like(self.state.position)))
        along, following, along_it = seen[:, :3], seen[:, 3:6], seen[:, 6:9]
        number = torch.from_numpy(np.minimum(task.next, task.count - 1))
        away = position - target
        distance = _norm(away)[:, None]
        at_gate = (away[:, None] @ self._axes[torch.from_numpy(task.course), number])[:, 0]
        vectors = [along, following - position, along_it, away / (distance + 1e-3)]
        return target, self._origin, vectors, [torch.asinh(at_gate), torch.log(distance + 0.1)]

    def reward(self, window: StateWindow) -> Any:
        """Returns the progress and the cost of body rates of RaceReward."""
        w, gate = self.task.weights, window.target[:-1]
        progress = _norm(window.position[:-1] - gate) - _norm(window.position[1:] - gate)
        return w.progress * progress - w.body_rates * window.body_rates[1:].square().sum(-1)


_TASKS = {Hover: DifferentiableHover, Track: DifferentiableTrack, Race: DifferentiableRace}


def differentiable(engine: Engine) -> DifferentiableTask:
    """Returns the task of an engine with gradients. Raises ValueError for other tasks."""
    kind = _TASKS.get(type(engine.task))
    if kind is None:
        raise ValueError(
            f"task: expected {', '.join(each.__name__ for each in _TASKS)} for gradients, got "
            f"{type(engine.task).__name__}"
        )
    return kind(engine)
