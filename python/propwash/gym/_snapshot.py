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
"""Options that may differ between the environments that give a snapshot and take it."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What `snapshot()` gives and `restore()` takes: a value to keep, copy or pickle.

    It holds copies, and may be restored any number of times, in other environments too that are
    made alike. Pickles of it are as safe as pickles are: load those that you trust.
    """

    _kind: str
    """Of environments: single or vector, with the mode of autoreset."""
    _task: type[Task]
    _size: int
    _settings: Settings
    _arguments: dict[str, Any]
    """Attributes of the task as it was made."""
    _constants: dict[str, Any]
    """Attributes of the task that do not change, such as courses."""
    _fleet: bytes
    _parameters: dict[str, NDArray[Any]]
    """Those of the fleet that were assigned."""
    _values: dict[str, Any]
    """The rest, by name."""
    _places: dict[str, _Place]
    """Placeholders of the fleet and its sensors among the values."""

    def check(
        self, kind: str, task: Task, arguments: Mapping[str, Any], size: int, chosen: Settings
    ) -> None:
        """Raises ValueError where it is one of other environments."""
        if kind != self._kind:
            raise ValueError(f"snapshot: expected one of a {kind}, got one of a {self._kind}")
        if type(task) is not self._task or size != self._size:
            raise ValueError(
                f"snapshot: expected one of {size} x {type(task).__name__}, got one of "
                f"{self._size} x {self._task.__name__}"
            )
        for name in (each.name for each in fields(Settings) if each.name not in _FREE):
            ours, theirs = getattr(chosen, name), getattr(self._settings, name)
            if not _is_same(ours, theirs):
                raise ValueError(
                    f"snapshot: expected one of environments with {name} = {ours!r:.100}, got "
                    f"{theirs!r:.100}"
                )
        for name in arguments.keys() | self._arguments.keys():
            ours, theirs = arguments.get(name), self._arguments.get(name)
            if not _is_same(ours, theirs):
                raise ValueError(
                    f"snapshot: expected one of a {type(task).__name__} with {name} = "
                    f"{ours!r:.100}, got {theirs!r:.100}"
                )
        for name, theirs in self._constants.items():
            if not _is_same(getattr(task, name, None), theirs):
                raise ValueError(
                    f"snapshot: expected one of a {type(task).__name__} with the same {name}"
                )


@dataclass(frozen=True, eq=False)
class _Place:
    """Of the fleet, or of the sensor of this name."""

    name: str


def taken(
    kind: str,
    task: Task,
    arguments: Mapping[str, Any],
    fleet: Fleet,
    chosen: Settings,
    values: Mapping[str, Any],
) -> Snapshot:
    """A snapshot with copies of values, among which the task's attributes are "task"."""
    owned = _owned(fleet)
    places = {name: _Place(name) for name in owned}
    memo = {id(owned[name]): place for name, place in places.items()}
    constants = {
        name: vars(task)[name]
        for name in task.constants
        if name in vars(task) and not type(vars(task)[name]).__module__.startswith("propwash._core")
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


def given_back(snapshot: Snapshot, fleet: Fleet) -> dict[str, Any]:
    """Takes up the fleet's part of a snapshot that was checked, and copies of the values.

    Raises ValueError for a fleet with another vehicle or other sensors; nothing changes then.
    """
    present = {name: array.copy() for name, array in fleet.parameters.own().items()}
    _assign(fleet, snapshot._parameters)
    try:
        fleet.restore(snapshot._fleet)
    except ValueError:
        _assign(fleet, present)
        raise
    # the placeholder of a sensor becomes the sensor of this fleet
    owned = _owned(fleet)
    memo = {id(place): owned[name] for name, place in snapshot._places.items()}
    return copy.deepcopy(snapshot._values, memo)


def memory_of(task: Task) -> dict[str, Any]:
    """The attributes of a task that may change."""
    return {name: value for name, value in vars(task).items() if name not in task.constants}


def arguments_of(task: Task) -> dict[str, Any]:
    """The attributes of a task that has not begun: what it was made with, but its constants."""
    return copy.deepcopy(memory_of(task))


def _owned(fleet: Fleet) -> dict[str, Fleet | FleetSensor[Any]]:
    sensors = {f"sensor {name}": sensor for name, sensor in fleet.sensors.items()}
    return {"fleet": fleet, **sensors}


def _assign(fleet: Fleet, wanted: Mapping[str, NDArray[Any]]) -> None:
    """Parameters as they were: those that were assigned since are nominal again."""
    present = fleet.parameters.own()
    changed = {
        name: array
        for name, array in wanted.items()
        if name not in present or not np.array_equal(array, present[name])
    }
    since = present.keys() - wanted.keys()
    if since:
        nominal = Fleet(fleet.vehicle, 1, threads=1).parameters
        changed |= {name: np.array(nominal[name][0]) for name in since}
    if changed:
        fleet.set_parameters(changed)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    try:
        if bool(one == other):
            return True
    except ValueError:  # arrays
        pass
    try:
        return pickle.dumps(one) == pickle.dumps(other)
    except (pickle.PicklingError, AttributeError, TypeError):  # functions without a name
        return False
