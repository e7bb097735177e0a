"""The integrators, for any system with a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core

__all__ = ["System", "step"]

Array = NDArray[np.float64]


@runtime_checkable
class System(Protocol):
    """Anything with a derivative.

    It may also have `project(state) -> state`, which is applied once after each step: to bring an
    attitude back to unit length, to limit an actuator.
    """

    def derivative(self, state: Array, command: Any) -> ArrayLike:
        """d/dt of a state (n,) under a command that is held over the step."""
        ...


def step(
    system: System,
    state: ArrayLike,
    command: Any,
    dt: float,
    steps: int = 1,
    method: Literal["euler", "rk4"] = "rk4",
) -> Array:
    """The state (n,) of a system after `steps` steps of dt [s] under a held command.

    Raises ValueError for a state, derivative or dt that is not finite or of a wrong shape.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps: expected a whole number >= 0, got {steps!r}")
    if isinstance(system, type) or not isinstance(system, System):
        raise TypeError(
            f"system: expected an object with derivative(state, command), got {system!r:.100}"
        )
    if method not in ("euler", "rk4"):
        raise ValueError(
            f"method: expected 'euler' or 'rk4', got {method!r:.100}; an array does not say which "
            "of its elements are velocities, as 'symplectic_euler' would ask"
        )
    project: Callable[[Array], ArrayLike] | None = getattr(system, "project", None)

    def derivative(x: Array) -> ArrayLike:
        return system.derivative(x, command)

    x = _numbers(state, "state")
    for _ in range(steps):
        x = _core.integrate_step(derivative, x, dt, method)
        if project is not None:
            x = _numbers(project(x), "project's result", x.shape)
    return x


def _numbers(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """A copy of a vector; raises ValueError for what is not finite or of another shape."""
    expected = "(n,)" if shape is None else f"{shape} like the state"
    try:
        array = np.array(values)
        fits = array.dtype.kind in "fiu" and (
            array.ndim == 1 if shape is None else array.shape == shape
        )
        array = array.astype(np.float64) if fits else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name}: expected finite numbers of shape {expected}, got {values!r:.100}"
        )
    return array
