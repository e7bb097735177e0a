"""The integrators, for vehicles of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core

Array = NDArray[np.float64]


@runtime_checkable
class Vehicle(Protocol):
    """Anything with a derivative.

    It may also have `project(state) -> state`, which is applied once after each step: to bring an
    attitude back to unit length, to limit an actuator.
    """

    def derivative(self, state: Array, command: Any) -> ArrayLike:
        """d/dt of a state (n,) under a command that is held over the step."""
        ...


def step(
    vehicle: Vehicle,
    state: ArrayLike,
    command: Any,
    dt: float,
    steps: int = 1,
    method: Literal["euler", "rk4"] = "rk4",
) -> Array:
    """The state (n,) of a vehicle after `steps` steps of dt [s] under a held command.

    Raises ValueError for a state, derivative or dt that is not finite or of a wrong shape.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps: expected a whole number >= 0, got {steps!r}")
    project: Callable[[Array], ArrayLike] | None = getattr(vehicle, "project", None)

    def derivative(x: Array) -> ArrayLike:
        return vehicle.derivative(x, command)

    x = np.array(state, dtype=np.float64)
    for _ in range(steps):
        x = _core.integrate_step(derivative, x, dt, method)
        if project is not None:
            x = np.asarray(project(x), dtype=np.float64)
    return x
