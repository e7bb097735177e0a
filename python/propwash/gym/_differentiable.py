"""Observations and rewards of tasks as differentiable functions of tensors."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from propwash.gym._engine import Engine
from propwash.gym._hover import Hover
from propwash.gym._land import Land
from propwash.gym._observations import flat
from propwash.gym._race import Race
from propwash.gym._task import Task
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


class DifferentiableTask:
    """A task in the environments of an engine; the engine's noise must be off.

    The default observation of the state has gradients, and equals Task.observation. Every other one
    is a constant, followed by the state for a critic: position − target, velocity, rotation matrix
    and body rates. The rewards of this class are minus `task.loss`; those of its subclasses are
    those of the task without the parts that have no derivative, such as the reward of a gate.
    """

    is_exact: ClassVar[bool] = False
    """Whether a critic learns the rewards of the task, otherwise those of `reward`."""

    def __init__(self, engine: Engine, gradient_decay: float = 1.0) -> None:
        check_gradients(engine)
        self.task: Any = engine.task
        self.engine, self.state = engine, engine.state
        idle = engine.actions.command(np.zeros(engine.action_shape, dtype=np.float32))
        self.flight = TensorFlight(
            engine.fleet,
            kind=type(idle),
            substeps=engine.settings.substeps,
            gradient_decay=gradient_decay,
        )
        self._origin = torch.zeros(1, 3).expand(engine.size, 3)
        is_default = type(self.task).observation is Task.observation
        self._is_constant = engine.settings.observations != ("state",) or not is_default
        self._latest = torch.zeros(engine.size, 0)
        self.for_critic = 18 if self._is_constant else 0
        """Number of the last columns of observations, which only a critic uses."""

    def restart(self, mask: NDArray[np.bool_]) -> None:
        """Begins episodes where `mask` is set."""
        seen = self.engine.restart(mask)
        if self._is_constant:
            self._latest = torch.from_numpy(flat(seen).copy())

    def observe(self, state: FlightState, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns observations (n, k) after the last `action`, and target and its velocity (n, 3).

        The task must have been updated to `state`.
        """
        target, velocity, vectors, scalars = self._seen(state.position)
        stacked = torch.stack([state.position - target, state.velocity, *vectors], 1)
        rotated, rotation = _Rotated.apply(  # type: ignore[no-untyped-call]
            state.attitude, stacked, self.task.frame == "body"
        )
        seen = rotated.flatten(1)
        columns = [seen[:, :6], rotation, state.body_rates]
        if self._is_constant:
            columns = [self._latest, *columns]
        else:
            columns += [action, seen[:, 6:], *scalars]
        return torch.cat(columns, 1), target, velocity

    def step(self, state: FlightState, action: Tensor) -> tuple[FlightState, Any, Any]:
        """Steps all environments with actions (n, A) in [-1, 1].

        Returns the state, the exact rewards (n,), and whether the task ends the episodes (n,).
        """
        actions = self.engine.actions
        parts = _Commanded.apply(action, actions)  # type: ignore[no-untyped-call]
        state = self.flight.step(state, dict(zip(actions.parts, parts, strict=True)))
        self.state.steps += 1
        self.engine.update(action.detach().numpy())
        if self._is_constant:
            self._latest = torch.from_numpy(flat(self.engine.observer.observe(None)).copy())
        return state, self.task.reward(self.state), self.task.terminated(self.state)

    def _seen(self, position: Tensor) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
        """Target and its velocity (n, 3); extras: vectors (n, 3) in the world frame, and others."""
        goal, extras = self.task.target(self.state), self.task.extras(self.state)
        target = self._origin
        if goal is not None:
            target = torch.tensor(np.asarray(goal, dtype=np.float32)).expand_as(target)
        parts = extras if isinstance(extras, list | tuple) else [extras]
        columns = [np.asarray(part, dtype=np.float32) for part in parts if part is not None]
        return target, self._origin, [], [torch.tensor(each) for each in columns]

    def reward(self, window: StateWindow) -> Any:
        """Returns the rewards (T, n)."""
        return -loss_of(self.task, window)


def check_gradients(engine: Engine) -> None:
    """Raises ValueError for environments whose flights have no gradients."""
    if engine.settings.noise:
        raise ValueError("noise: expected False for gradients, got True")
    if engine.settings.privileged_groups:
        raise ValueError(
            f"privileged: expected False for gradients, got {engine.settings.privileged!r}"
        )


def loss_of(task: Any, window: StateWindow) -> Tensor:
    """Returns the loss (T, n) of a task. Raises ValueError for one of another form."""
    loss: object = task.loss(window)
    steps, size = len(window.position) - 1, window.position.shape[1]
    if isinstance(loss, Tensor) and loss.shape == (steps, size) and loss.requires_grad:
        return loss
    got = type(loss).__name__
    if isinstance(loss, Tensor):
        got = f"{tuple(loss.shape)}{'' if loss.requires_grad else ' without one'}"
    raise ValueError(
        f"{type(task).__name__}.loss: expected a tensor (T, n) = {(steps, size)} with a gradient, "
        f"got {got}"
    )


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


class _Commanded(torch.autograd.Function):
    """Parts of the command of actions (n, A), by the map of the environments."""

    @staticmethod
    def forward(ctx: Any, action: Tensor, actions: Any) -> tuple[Tensor, ...]:
        command, ctx.pull = actions.vjp(action.numpy())
        ctx.parts = actions.parts
        return tuple(torch.tensor(getattr(command, part)) for part in ctx.parts)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        by_part = {part: each.numpy() for part, each in zip(ctx.parts, slopes, strict=True)}
        return torch.from_numpy(ctx.pull(by_part).astype(np.float32)), None


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

    is_exact = True

    def reward(self, window: StateWindow) -> Any:
        """Returns HoverReward."""
        w = self.task.weights
        upright = 1.0 - 2.0 * window.attitude[1:, :, 1:3].square().sum(-1)
        near = w.position / (_norm(window.position[1:]) / w.position_scale + 1.0)
        return near + w.upright * upright - _effort(window, w)


class DifferentiableLand(DifferentiableTask):
    """Land. Its rewards do not contain those of the end."""

    is_exact = True

    def reward(self, window: StateWindow) -> Any:
        """Returns the progress and the costs of speed and body rates of LandReward."""
        w, far = self.task.weights, _norm(window.position)
        ratio = _norm(window.velocity[1:]) / (far[1:] + w.speed_margin)
        rates = window.body_rates[1:].square().sum(-1)
        costs = w.speed * ratio.square() + w.body_rates * rates
        return w.progress * (far[:-1] - far[1:]) - costs


class DifferentiableTrack(DifferentiableTask):
    """Track."""

    is_exact = True

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

    is_exact = True

    def __init__(self, engine: Engine, gradient_decay: float = 1.0) -> None:
        super().__init__(engine, gradient_decay)
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


_TASKS = {
    Hover: DifferentiableHover,
    Land: DifferentiableLand,
    Track: DifferentiableTrack,
    Race: DifferentiableRace,
}


def differentiable(engine: Engine, gradient_decay: float = 1.0) -> DifferentiableTask:
    """Returns the task of an engine with gradients. Raises ValueError for a task without.

    gradient_decay: That of TensorFlight.
    """
    kind = _TASKS.get(type(engine.task))
    if kind is None and not hasattr(engine.task, "loss"):
        raise ValueError(
            f"task: expected {', '.join(each.__name__ for each in _TASKS)} or one with a method "
            f"`loss` for gradients, got {type(engine.task).__name__}; define loss(window), or use "
            "--method ppo"
        )
    return (kind or DifferentiableTask)(engine, gradient_decay)
