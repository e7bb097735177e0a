"""Integrators for any system with a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _models

__all__ = ["System", "step"]

Array = NDArray[np.float64]


@runtime_checkable
class System(Protocol):
    """An object with a derivative.

    It may also have `project(state) -> state`, which is applied after each step, such as to
    normalise an attitude or to limit an actuator.
    """

    def derivative(self, state: Array, command: Any) -> ArrayLike:
        """Time derivative of a state (n,) under a command that is held during the step."""
        ...


def step(
    system: System,
    state: ArrayLike,
    command: Any,
    dt: float,
    steps: int = 1,
    method: Literal["euler", "rk4"] = "rk4",
) -> Array:
    """Returns the state (n,) of a system after `steps` steps of dt [s] under a held command.

    Raises ValueError or TypeError for a state, derivative or dt that is not finite or of a wrong
    shape.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps: expected a whole number >= 0, got {steps!r}")
    if isinstance(system, type) or not isinstance(system, System):
        raise TypeError(
            f"system: expected an object with derivative(state, command), got {system!r:.100}"
        )
    if method not in ("euler", "rk4"):
        raise ValueError(
            f"method: expected 'euler' or 'rk4', got {method!r:.100}; 'symplectic_euler' "
            "requires positions and velocities, which an array does not distinguish"
        )
    project: Callable[[Array], ArrayLike] | None = getattr(system, "project", None)

    def derivative(x: Array) -> ArrayLike:
        return system.derivative(x, command)

    x = _checks.shaped("state", state, ("n",))
    for _ in range(steps):
        x = _models.integrate_step(derivative, x, dt, method)
        if project is not None:
            x = _checks.shaped("project's result", project(x), x.shape)
    return x
