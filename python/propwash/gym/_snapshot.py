"""Snapshots of environments: everything that affects their future, as one value."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.fleet import Fleet, FleetSensor
from propwash.gym._options import Settings
from propwash.gym._task import Task

_FREE = ("threads", "render_mode", "render_camera", "render_size", "render_envs")
"""Options that need not agree between the environments that save and restore a snapshot."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Result of `snapshot()` and argument of `restore()`; it can be copied and pickled.

    It contains copies and may be restored any number of times, also in other environments that were
    made with the same arguments. Unpickle only files that you trust.
    """

    _kind: str
    """Kind of environment: single, or vector with the autoreset mode."""
    _task: type[Task]
    _size: int
    _settings: Settings
    _arguments: dict[str, Any]
    """Attributes of the task after construction."""
    _constants: dict[str, Any]
    """Attributes of the task that do not change, such as courses."""
    _fleet: bytes
    _parameters: dict[str, NDArray[Any]]
    """Parameters of the fleet that were assigned."""
    _values: dict[str, Any]
    """All other values, by name."""
    _places: dict[str, _Place]
    """Placeholders for the fleet and its sensors among the values."""

    def check(
        self, kind: str, task: Task, arguments: Mapping[str, Any], size: int, chosen: Settings
    ) -> None:
        """Raises ValueError for a snapshot of different environments."""
        task_name = type(task).__name__
        if kind != self._kind:
            raise ValueError(f"snapshot: expected one of a {kind}, got one of a {self._kind}")
        if type(task) is not self._task or size != self._size:
            raise ValueError(
                f"snapshot: expected one of {size} x {task_name}, got one of "
                f"{self._size} x {self._task.__name__}"
            )
        names = [each.name for each in fields(Settings) if each.name not in _FREE]
        pairs = [
            ("environments", name, getattr(chosen, name), getattr(self._settings, name))
            for name in names
        ] + [
            (f"a {task_name}", name, arguments.get(name), self._arguments.get(name))
            for name in arguments.keys() | self._arguments.keys()
        ]
        for owner, name, expected, got in pairs:
            if not is_same(expected, got):
                raise ValueError(
                    f"snapshot: expected one of {owner} with {name} = {expected!r:.100}, got "
                    f"{got!r:.100}"
                )
        for name, got in self._constants.items():
            if not is_same(getattr(task, name, None), got):
                raise ValueError(f"snapshot: expected one of a {task_name} with the same {name}")


@dataclass(frozen=True, eq=False)
class _Place:
    """Placeholder for the fleet, or for the sensor with this name."""

    name: str


def capture(
    kind: str,
    task: Task,
    arguments: Mapping[str, Any],
    fleet: Fleet,
    chosen: Settings,
    values: Mapping[str, Any],
) -> Snapshot:
    """Makes a snapshot with copies of `values`; "task" holds the attributes of the task."""
    objects = _objects(fleet)
    places = {name: _Place(name) for name in objects}
    memo = {id(objects[name]): place for name, place in places.items()}
    constants = {
        name: vars(task)[name]
        for name in task.constants
        if name in vars(task)
        and not type(vars(task)[name]).__module__.startswith("propwash._learn")
    }
    return Snapshot(
        kind,
        type(task),
        fleet.size,
        replace(chosen, threads=1),  # a pool of threads can be neither copied nor pickled
        dict(arguments),
        constants,
        fleet.snapshot(),
        {name: array.copy() for name, array in fleet.parameters.own().items()},
        copy.deepcopy(dict(values), memo),
        places,
    )


def restored(snapshot: Snapshot, fleet: Fleet) -> dict[str, Any]:
    """Restores the fleet from a checked snapshot, and returns copies of the other values.

    Raises ValueError for a fleet with another vehicle or other sensors; nothing changes then.
    """
    present = {name: array.copy() for name, array in fleet.parameters.own().items()}
    _assign(fleet, snapshot._parameters)
    try:
        fleet.restore(snapshot._fleet)
    except ValueError:
        _assign(fleet, present)
        raise
    # placeholders become this fleet and its sensors
    objects = _objects(fleet)
    memo = {id(place): objects[name] for name, place in snapshot._places.items()}
    return copy.deepcopy(snapshot._values, memo)


def memory_of(task: Task) -> dict[str, Any]:
    """The attributes of a task except its constants."""
    return {name: value for name, value in vars(task).items() if name not in task.constants}


def arguments_of(task: Task) -> dict[str, Any]:
    """A copy of memory_of() of a task before begin(): its arguments."""
    return copy.deepcopy(memory_of(task))


def _objects(fleet: Fleet) -> dict[str, Fleet | FleetSensor[Any]]:
    sensors = {f"sensor {name}": sensor for name, sensor in fleet.sensors.items()}
    return {"fleet": fleet, **sensors}


def _assign(fleet: Fleet, parameters: Mapping[str, NDArray[Any]]) -> None:
    """Assigns `parameters`, and nominal values to others that were assigned."""
    present = fleet.parameters.own()
    changed = {
        name: array
        for name, array in parameters.items()
        if name not in present or not np.array_equal(array, present[name])
    }
    since = present.keys() - parameters.keys()
    if since:
        nominal = Fleet(fleet.vehicle, 1, threads=1).parameters
        changed |= {name: np.array(nominal[name][0]) for name in since}
    if changed:
        fleet.set_parameters(changed)


def is_same(one: Any, other: Any) -> bool:
    """Whether two arguments are equal; lists and tuples of equal elements are."""
    if one is other:
        return True
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    try:
        if bool(one == other):
            return True
    except ValueError:  # arrays
        pass
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except (pickle.PicklingError, AttributeError, TypeError):  # functions without a name
        return False
