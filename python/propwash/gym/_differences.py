"""Compares the options of environments with those for which a policy was trained."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from propwash.gym import _options
from propwash.gym._options import Settings
from propwash.gym._snapshot import is_same
from propwash.gym._task import Task
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

MEANINGS = (
    *("frame", "action", "observation", "history", "max_rates", "max_tilt", "max_speed"),
    *("depth_size", "depth_fov", "depth_range", "depth_dtype"),
)
"""Options that define the numbers which a policy receives and returns."""
_WITHOUT_EFFECT = {
    *("autoreset_mode", "copy", "index", "privileged", "threads"),
    *("render_mode", "render_camera", "render_size", "render_envs"),
}
"""Options that change neither the flight nor the policy's observations."""


def differences(
    task: type[Task], trained: Mapping[str, Any], changes: Mapping[str, Any]
) -> list[str]:
    """Returns a line for each difference of `changes` from the options `trained`.

    Raises ValueError for one of MEANINGS.
    """
    before = {**vars(Settings()), **_options.arguments(task), **trained}
    after = {**before, **changes}
    altered = [
        name
        for name in changes
        if name not in _WITHOUT_EFFECT and not is_same(before[name], after[name])
    ]
    for name in altered:
        if name in MEANINGS:
            raise ValueError(
                f"{name} = {after[name]!r:.100}: expected {before[name]!r:.100}, that of the "
                "policy, because the meaning of its observations or actions depends on it; leave "
                f"{name} out, or train another policy"
            )
    found = [(name, _shown(before[name]), _shown(after[name])) for name in altered]
    with suppress(OSError, ValueError):  # the vehicle file of the training may be elsewhere
        found.append(("mass", _mass(before["vehicle"]), _mass(after["vehicle"])))
    found.append(("rate", _rate(before), _rate(after)))
    return [f"{name} = {new}: the policy's is {old}" for name, old, new in found if old != new]


def _mass(vehicle: Any) -> str:
    return f"{vehicles.load(vehicle).body.mass:g} kg"


def _rate(options: Mapping[str, Any]) -> str:
    return f"{1.0 / (options['substeps'] * options['dt']):g} Hz"


def _shown(value: Any) -> str:
    if isinstance(value, VehicleParameters):
        return value.name
    return "the default" if value is None else f"{value!s:.100}"
