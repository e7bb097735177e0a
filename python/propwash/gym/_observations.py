"""Observations of environments: an array with a row for each, or a dict of such arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from propwash.gym._depth import DepthObservation
from propwash.gym._images import ImageObservation
from propwash.gym._options import Settings
from propwash.gym._privileged import PrivilegedObservation
from propwash.gym._randomize import Randomizer
from propwash.gym._state import InertialObservation, Observation, SensedObservation, State
from propwash.gym._task import Task

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Observed = Array | dict[str, Array]

PRIVILEGED = "privileged"
"""Key of the privileged columns in observations."""


def arrays_of(observed: Observed) -> list[Array]:
    """Returns the arrays (n, …) of observations."""
    return list(observed.values()) if isinstance(observed, dict) else [observed]


def row_of(observed: Any, row: Any) -> Any:
    """Returns a copy of the observation of one environment."""
    if isinstance(observed, dict):
        return {name: array[row].copy() for name, array in observed.items()}
    return observed[row].copy()


def flat(observed: Any) -> Any:
    """Returns all numbers of observations as rows (n, k) of float32, without a copy if possible."""
    parts = [np.asarray(array).reshape(len(array), -1) for array in arrays_of(observed)]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1, dtype=np.float32)
    return np.ascontiguousarray(whole, dtype=np.float32)


class Observer:
    """Computes the observations that the options `observation` and `privileged` select."""

    def __init__(self, task: Task, state: State, chosen: Settings, randomizer: Randomizer) -> None:
        self._state = state
        self._is_dict = not isinstance(chosen.observation, str) or bool(chosen.privileged_groups)
        self.parts: dict[str, Observation] = {}
        """By name, the privileged columns last."""
        for name in chosen.observations:
            if name == "sensors":
                self.parts[name] = SensedObservation(state, task.scene, chosen.history)
            elif name == "imu":
                self.parts[name] = InertialObservation(state, chosen.history)
            elif name in ("grey", "rgb"):
                kind: Literal["grey", "rgb"] = "grey" if name == "grey" else "rgb"
                self.parts[name] = ImageObservation(task, state, chosen, kind)
            elif name == "depth":
                self.parts[name] = DepthObservation(task, state, chosen)
            else:
                self.parts[name] = TaskObservation(task)
        if chosen.privileged_groups:
            self.parts[PRIVILEGED] = PrivilegedObservation(task, state, chosen, randomizer)

    def observe(self, fresh: Flags | None) -> Observed:
        """Returns the observations.

        fresh: (n,) environments whose episode has just begun; None after a step.
        """
        if not self._is_dict:
            (part,) = self.parts.values()
            observed: Observed = part.observe(self._state, fresh)
            return observed
        return {name: array for _, name, array in self._all(fresh)}

    def _all(self, fresh: Flags | None) -> Iterator[tuple[Observation, str, Array]]:
        for name, part in self.parts.items():
            found = part.observe(self._state, fresh)
            for key, array in found.items() if isinstance(found, dict) else [(name, found)]:
                yield part, key, array

    def try_out(self, task: Task) -> spaces.Space[Any]:
        """Returns the space of one environment's observations, from those of a trial episode."""
        boxes: dict[str, spaces.Space[Any]] = {}
        is_dict = self._is_dict
        for part, name, array in self._all(np.ones(self._state.size, dtype=np.bool_)):
            if name in boxes:
                raise ValueError(
                    f"{type(task).__name__}.observation: expected names other than those of the "
                    f"options, {', '.join(self.parts)}, got {name!r:.100}"
                )
            is_dict |= name not in self.parts
            low, high = (0, 255) if array.dtype == np.uint8 else part.limits
            boxes[name] = spaces.Box(low, high, array.shape[1:], array.dtype.type)
        return spaces.Dict(boxes) if is_dict else next(iter(boxes.values()))


class TaskObservation(Observation):
    """The task's own function of the true state; later results must be like the first one."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._where = f"{type(task).__name__}.observation"
        # the default observation is written to a new buffer already
        self._is_default = type(task).observation is Task.observation
        self._layout: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def observe(self, state: State, fresh: Flags | None) -> Observed:
        """Returns copies of the task's arrays, in float32 or uint8."""
        observed: Any = self._task.observation(state)
        if self._is_default:
            return np.asarray(observed)
        is_dict = isinstance(observed, Mapping)
        parts = dict(observed) if is_dict else {"": observed}
        found = {name: self._numbers(name, value, state.size) for name, value in parts.items()}
        if is_dict and not (found and all(isinstance(name, str) and name for name in found)):
            raise ValueError(f"{self._where}: expected arrays by name, got {list(found)!r:.100}")
        layout = {name: (array.shape, _dtype(array)) for name, array in found.items()}
        if layout != (self._layout or layout):
            raise ValueError(
                f"{self._where}: expected {_described(self._layout)}, as in the first one, got "
                f"{_described(layout)}"
            )
        self._layout = layout
        # not in the buffer of the default observation, which `privileged` may overwrite
        copies = {name: state.buffer(*layout[name], name or "task") for name in found}
        for name, array in found.items():
            np.copyto(copies[name], array)
        return copies if is_dict else copies[""]

    def _numbers(self, name: Any, value: Any, size: int) -> Array:
        where = f"{self._where}[{name!r:.50}]" if name else self._where
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: expected an array of numbers, got {error}") from None
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{where}: expected numbers, got {array.dtype} from {value!r:.100}")
        if array.ndim < 2 or len(array) != size:
            raise ValueError(
                f"{where}: expected shape ({size}, k), or ({size}, height, width, channels) for "
                f"images, got {array.shape}"
            )
        return array


def _dtype(array: Array) -> np.dtype[Any]:
    return np.dtype(np.uint8 if array.dtype == np.uint8 else np.float32)


def _described(layout: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> str:
    texts = [
        f"{name + ' of ' if name else ''}shape {shape} and {dtype}"
        for name, (shape, dtype) in layout.items()
    ]
    return "; ".join(texts)
