"""Observations, commands and rewards of tasks as differentiable functions of tensors."""

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
from propwash.torch import Flight, FlightState


class Window(NamedTuple):
    """The states after T steps, tensors (T, n, …), and the task's numbers that rewards use."""

    position: Tensor
    velocity: Tensor
    attitude: Tensor
    body_rates: Tensor
    action: Tensor
    previous_action: Tensor
    context: tuple[Tensor, ...]


class DifferentiableTask:
    """A task in the environments of an engine.

    Observations are those of Task.observation. Rewards are those of the task without the parts that
    have no derivative, such as the reward of a gate.
    """

    def __init__(self, engine: Engine) -> None:
        chosen = engine.settings
        self.engine, self.task, self.state = engine, engine.task, engine.state
        for name, expected in (("action", "rate_thrust"), ("observation", "state")):
            if getattr(chosen, name) != expected:
                raise ValueError(
                    f"{name}: expected {expected!r} for gradients, got {getattr(chosen, name)!r}"
                )
        if chosen.noise:
            raise ValueError("noise: expected False for gradients, got True")
        self.flight = Flight(engine.fleet, kind=_core.RateThrust, substeps=chosen.substeps)
        self._max_rates = torch.tensor(chosen.max_rates)
        self._weight, self._reserve = thrust_range(engine.fleet)
        self._rotation, self._offset = _quadratic_rotation()

    def command(self, action: Tensor) -> dict[str, Tensor]:
        """The command of actions (n, 4) in [-1, 1], as RateThrustActions."""
        lever = action[:, 3]
        thrust = self._weight + self._weight * lever + (self._reserve - self._weight) * lever.relu()
        return {"rates": action[:, :3] * self._max_rates, "thrust": thrust}

    def observe(self, state: FlightState, action: Tensor) -> Tensor:
        """The observations (n, k) after the last `action` (n, 4)."""
        rotation = self.rotation(state.attitude)
        target, extras = self.seen(state)
        error = state.position if target is None else state.position - target
        vectors = [error, state.velocity, *extras]
        if self.task.frame == "body":
            vectors = (torch.stack(vectors, 1) @ rotation).unbind(1)
        first, more = vectors[:2], vectors[2:]
        columns = [*first, rotation.flatten(1), state.body_rates, action, *more]
        return torch.cat([*columns, *self.scaled(state)], 1)

    def rotation(self, attitude: Tensor) -> Tensor:
        """Rotation matrices (n, 3, 3) of attitudes (n, 4), body to world."""
        products = (attitude[:, :, None] * attitude[:, None, :]).flatten(1)
        return torch.addmm(self._offset, products, self._rotation).view(-1, 3, 3)

    def step(self, state: FlightState, action: Tensor) -> tuple[FlightState, Tensor, Tensor]:
        """Steps all environments. Returns the state, the exact rewards (n,) and whether the task
        terminates the episodes (n,).
        """
        state = self.flight.step(state, self.command(action))
        self.engine.state.steps += 1
        self.engine.update(action.detach().numpy())
        reward, ended = (each(self.engine.state) for each in (self.task.reward, self.task.terminated))
        return state, torch.from_numpy(np.array(reward)), torch.from_numpy(np.array(ended))

    def seen(self, state: FlightState) -> tuple[Tensor | None, list[Tensor]]:
        """The target (n, 3), or None for the origin, and vectors (n, 3) in the world frame."""
        return None, []

    def scaled(self, state: FlightState) -> list[Tensor]:
        """Further columns of the observation."""
        return []

    def context(self) -> tuple[Any, ...]:
        """Arrays of the task, before a step, that rewards of the step use."""
        return ()

    def reward(self, window: Window) -> Tensor:
        """The rewards (T, n)."""
        raise NotImplementedError


def _quadratic_rotation() -> tuple[Tensor, Tensor]:
    """A (16, 9) and b (9) with which A' vec(q q') + b is a rotation matrix, row by row."""
    matrix, (w, x, y, z) = torch.zeros(4, 4, 3, 3), range(4)
    for row, column, one, other, sign in (
        (0, 1, x, y, -1), (0, 2, x, z, 1), (1, 2, y, z, -1),
    ):  # fmt: skip
        scalar = ({x, y, z} - {one, other}).pop()
        matrix[one, other, row, column] = matrix[one, other, column, row] = 2.0
        matrix[w, scalar, row, column], matrix[w, scalar, column, row] = 2.0 * sign, -2.0 * sign
    for k in range(3):
        for axis in (x, y, z):
            if axis != k + 1:
                matrix[axis, axis, k, k] = -2.0
    return matrix.view(16, 9), torch.eye(3).view(9)


def _distance(vector: Tensor) -> Tensor:
    return torch.linalg.vector_norm(vector, dim=-1)


def _change(window: Window) -> Tensor:
    return (window.action - window.previous_action).square().sum(-1)


class DifferentiableHover(DifferentiableTask):
    """Hover."""

    def reward(self, window: Window) -> Tensor:
        """As in HoverReward."""
        w = self.task.weights
        upright = 1.0 - 2.0 * window.attitude[..., 1:3].square().sum(-1)
        return (
            w.position / (_distance(window.position) / w.position_scale + 1.0)
            + w.upright * upright
            - w.body_rates * window.body_rates.square().sum(-1)
            - w.action_change * _change(window)
        )
