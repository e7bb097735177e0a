"""Compares the options of environments with those for which a policy was trained."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from propwash import _checks as checks
from propwash.gym import _options
from propwash.gym._options import Settings
from propwash.gym._snapshot import is_same
from propwash.gym._task import Task
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

MEANINGS = (
    *("frame", "action", "observation", "history", "max_rates", "max_tilt", "max_speed"),
    *("image_size", "image_fov", "image_tilt"),
    *("depth_size", "depth_fov", "depth_range", "depth_dtype"),
    *("yaw_mode", "depth_tilt", "depth_pool", "depth_near", "past"),
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

    Raises TypeError for an unknown option, and ValueError for an invalid one or one of MEANINGS.
    """
    _options.split(task, changes, ("autoreset_mode", "copy"))
    before = {**vars(Settings()), **_options.arguments(task), **trained}
    after = {**before, **changes}
    Settings(**{name: after[name] for name in _options.option_names()})  # refuses invalid ones
    checks.positive("dt", after["dt"], "s")
    with suppress(OSError, ValueError):  # the file of the policy's vehicle may be elsewhere
        vehicle = [vehicles.load(each["vehicle"]) for each in (before, after)]
        before["vehicle"], after["vehicle"] = vehicle
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
    pairs = {name: (_shown(before[name]), _shown(after[name])) for name in altered}
    old, new = _derived(before), _derived(after)
    pairs |= {name: (old[name], new[name]) for name in old if old[name] != new.get(name, old[name])}
    return [
        f"{name} = {new}: the policy's " + (f"is {old}" if old != new else "has other values")
        for name, (old, new) in pairs.items()
    ]


def _derived(options: Mapping[str, Any]) -> dict[str, str]:
    """Quantities that depend on several options, or on parameters of the vehicle."""
    rate = f"{1.0 / (options['substeps'] * options['dt']):g} Hz"
    if not isinstance(options["vehicle"], VehicleParameters):
        return {"rate": rate}
    return {"mass": f"{options['vehicle'].body.mass:g} kg", "rate": rate}


def _shown(value: Any) -> str:
    if isinstance(value, VehicleParameters):
        return value.name
    return "the default" if value is None else f"{value!s:.100}"
