"""Parameters of the nodes, from a parameter server or YAML files, with the published defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from propwash import _rotation
from propwash._checks import ParameterError, nearest, refusal
from propwash.ros._node import CLOCK_SCALES
from propwash.vehicle import Integrator
from propwash.vehicle import files as vehicles
from propwash.vehicle.flightgoggles import (
    PUBLISHED_CONTROLLER,
    known_keys,
    read_sections,
    vehicle_of,
)
from propwash.vehicle.parameters import CarParameters, VehicleParameters

Tree = Mapping[str, Any]
"""Parameters as nested dicts: {"uav": {"flightgoggles_imu": {...}}, "use_sim_time": True}."""

UAV = "flightgoggles_uav_dynamics"
"""The section of the parameters of the multicopter."""
CAR = "flightgoggles_car_dynamics"
"""The section of the parameters of the car."""
_START = (-10.5, -18.5, -1.5, 0.0, 0.0, 0.0, 1.0)
_IMU_DEFAULTS = {"accelerometer_biasinitvar": 0.005, "gyroscope_biasinitvar": 0.003}
"""Defaults of the node that differ from the shipped parameter file."""
_ARMING = {"min_arming_thrust": 9.9, "reset_timeout": 0.1}
"""Parameters of FlightGoggles 2, which version 3 does not have, with their defaults: N, s."""
_COPIES = {
    "vehicle_inertia_xx": 0.0049,
    "vehicle_inertia_yy": 0.0049,
    "vehicle_inertia_zz": 0.0069,
    "moment_arm": 0.08,
    "thrust_coefficient": 1.91e-6,
    "torque_coefficient": 2.6e-7,
}
"""The controller's own parameters of the vehicle, with its defaults."""


@dataclass(frozen=True)
class UavSettings:
    """Settings of the node of a multicopter."""

    vehicle: VehicleParameters
    """The vehicle, with its rate controller and IMU."""
    integrator: Integrator = "euler"
    """Integrator of the equations of motion."""
    ignore_collisions: bool = False
    """Whether a collision changes nothing."""
    use_rate_thrust: bool = True
    """Whether commands are body rates and thrust; otherwise they are rotor speeds."""
    position: tuple[float, float, float] = (-10.5, -18.5, -1.5)
    """m, world frame, at the start."""
    attitude: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion, scalar first, at the start."""
    thrust_scale: float = 1.0
    """Executed thrust for each newton of the command."""
    clock_scale: float | None = None
    """Simulated seconds a second; None: by the frame rate of the renderer."""
    arming_thrust: float | None = None
    """N, commanded thrust that arms, as in FlightGoggles 2; None: only /uav/input/arm does."""
    arming_delay: float = 0.1
    """s after the start or a reset, before which no thrust arms."""


@dataclass(frozen=True)
class CarSettings:
    """Settings of the node of a car."""

    vehicle: CarParameters
    """The car."""
    ignore_collisions: bool = False
    """Whether a collision changes nothing."""
    position: tuple[float, float] = (0.0, 0.0)
    """m, world frame, at the start."""
    heading: float = 0.0
    """rad, counter-clockwise from the world's x axis, at the start."""
    seed: int | None = None
    """Seed of the noise; None: that of the node."""
    clock_scale: float | None = None
    """Simulated seconds a second; None: by the frame rate of the renderer."""


def get(tree: Tree, path: str, default: Any = None) -> Any:
    """The parameter at a path such as /uav/timeout, or the default."""
    found: Any = tree
    for part in path.strip("/").split("/"):
        if not isinstance(found, Mapping) or part not in found:
            return default
        found = found[part]
    return found


def flag(tree: Tree, path: str, default: bool) -> bool:
    """A truth value. Raises ParameterError for another type."""
    value = get(tree, path, default)
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise refusal(path, value, "true or false")


def number(tree: Tree, path: str, default: float) -> float:
    """A finite number. Raises ParameterError for another value."""
    return numbers(tree, path, (default,))[0]


def numbers(tree: Tree, path: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """As many finite numbers as the default has. Raises ParameterError for another value."""
    value = get(tree, path, default)
    expected = "a finite number" if len(default) == 1 else f"{len(default)} finite numbers"
    try:
        found = tuple(float(part) for part in np.atleast_1d(value))
    except (TypeError, ValueError):
        raise refusal(path, value, expected) from None
    if len(found) != len(default) or not np.isfinite(found).all():
        raise refusal(path, value, expected)
    return found


def merged(tree: Tree, files: Iterable[Path]) -> dict[str, Any]:
    """The tree with the sections of YAML files under /uav, as the published launch files load them.

    A file with a key `uav` or `use_sim_time` at its top is the whole tree.
    """
    result: dict[str, Any] = _joined({}, tree)
    for file in files:
        sections = read_sections(file)
        whole = {"uav", "use_sim_time", "sensors"} & {*sections}
        result = _joined(result, sections if whole else {"uav": sections})
    return result


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(first)
    for key, value in second.items():
        before = result.get(key)
        if isinstance(value, Mapping):
            value = _joined(before if isinstance(before, Mapping) else {}, value)
        result[key] = value
    return result


def uav_settings(
    tree: Tree, vehicle: str | None = None, notes: list[str] | None = None
) -> UavSettings:
    """Settings of the multicopter's node.

    vehicle: a name or TOML file, instead of the vehicle of the parameters.
    notes: a list to which notes on ignored and unusual parameters are added.
    """
    notes = [] if notes is None else notes
    sections = _sections(tree)
    dynamics = f"/uav/{UAV}"
    pose = numbers(tree, f"{dynamics}/init_pose", _START)
    east, north, up = pose[:3]
    quaternion = np.array([pose[6], *pose[3:6]])
    length = float(np.linalg.norm(quaternion))
    if length < 1e-6:
        raise refusal(f"{dynamics}/init_pose", pose, "x y z and a quaternion x y z w, not zero")
    w, x, y, z = (quaternion / length).tolist()
    if vehicle is None:
        parameters, thrust_scale = _published(sections, notes)
    else:
        parameters, thrust_scale = vehicles.load(vehicle), 1.0
    rk4 = flag(tree, f"{dynamics}/use_rungekutta4integrator", False)
    arming = {key: number(tree, f"{dynamics}/{key}", value) for key, value in _ARMING.items()}
    use_rate_thrust = flag(tree, f"{dynamics}/use_ratethrust_controller", True)
    arms = use_rate_thrust and any(get(tree, f"{dynamics}/{key}") is not None for key in _ARMING)
    return UavSettings(
        vehicle=parameters,
        integrator="rk4" if rk4 else "euler",
        ignore_collisions=flag(tree, f"{dynamics}/ignore_collisions", False),
        use_rate_thrust=use_rate_thrust,
        position=(east, north, up),
        attitude=(w, x, y, z),
        thrust_scale=thrust_scale,
        clock_scale=_clock_scale(tree, dynamics),
        arming_thrust=arming["min_arming_thrust"] if arms else None,
        arming_delay=arming["reset_timeout"],
    )


def car_settings(
    tree: Tree, vehicle: str | None = None, notes: list[str] | None = None
) -> CarSettings:
    """Settings of the car's node; arguments as for uav_settings."""
    notes = [] if notes is None else notes
    root = f"/uav/{CAR}"
    if vehicle is None:
        # the node has no noise by default, the importer that of the shipped file
        published = {"velocity_process_noise": [0.0, 0.0]}
        section = _known({CAR: published | _sections(tree).get(CAR, {})}, CAR, notes)
        parameters = vehicle_of({CAR: section}, "car")
        assert isinstance(parameters, CarParameters)
    else:
        parameters = vehicles.load(vehicle, CarParameters)
    x, y = numbers(tree, f"{root}/init_position", (0.0, 0.0))
    seed = get(tree, f"{root}/noise_seed")
    return CarSettings(
        vehicle=parameters,
        ignore_collisions=flag(tree, f"{root}/ignore_collisions", False),
        position=(x, y),
        heading=number(tree, f"{root}/init_heading", 0.0),
        seed=None if seed is None else int(number(tree, f"{root}/noise_seed", 0.0)),
        clock_scale=_clock_scale(tree, root),
    )


def _clock_scale(tree: Tree, root: str) -> float | None:
    if get(tree, f"{root}/clockscale") is None:
        return None
    scale = number(tree, f"{root}/clockscale", 1.0)
    low, high = CLOCK_SCALES
    if not low <= scale <= high:
        raise refusal(f"{root}/clockscale", scale, f"a number from {low:g} to {high:g}")
    return scale


def _sections(tree: Tree) -> dict[str, Any]:
    """The sections under /uav, those of nodes as dicts."""
    sections = get(tree, "/uav", {})
    if not isinstance(sections, Mapping):
        raise refusal("/uav", sections, "sections such as flightgoggles_uav_dynamics")
    for name, section in sections.items():
        if name.startswith("flightgoggles_") and not isinstance(section, Mapping):
            raise refusal(f"/uav/{name}", section, "a section with keys")
    return dict(sections)


def _known(sections: dict[str, Any], section: str, notes: list[str]) -> dict[str, Any]:
    """The keys of a section that the node has; notes the others."""
    known = known_keys(section)
    table = sections.get(section, {})
    for key in table:
        if key not in known:
            notes.append(f"/uav/{section}/{key} is ignored{nearest(str(key), known)}")
    return {key: value for key, value in table.items() if key in known}


def _published(sections: dict[str, Any], notes: list[str]) -> tuple[VehicleParameters, float]:
    """The vehicle of the parameters, and the executed thrust for each newton of a command.

    The published controller has parameters of the vehicle of its own, whose errors scale its gains
    and its thrust.
    """
    names = (UAV, "flightgoggles_imu", "flightgoggles_lpf", "flightgoggles_pid")
    dynamics, imu, low_pass, pid = (_known(sections, name, notes) for name in names)
    if len(low_pass) < 2:  # the node uses both or neither
        low_pass = {}
    copies = {
        key: number(pid, key, value) if key in pid else value for key, value in _COPIES.items()
    }
    gains = {key: value for key, value in pid.items() if key not in _COPIES}
    tables = (dynamics, _IMU_DEFAULTS | imu, low_pass, gains)
    try:
        vehicle = vehicle_of(dict(zip(names, tables, strict=True)), "uav")
    except ParameterError as error:
        raise ParameterError(f"/uav: {error}") from None
    assert isinstance(vehicle, VehicleParameters)
    wrong = [key for key, value in copies.items() if not value > 0.0]
    if wrong:
        raise refusal(f"/uav/flightgoggles_pid/{wrong[0]}", copies[wrong[0]], "a number > 0")
    true = {key: number(dynamics, key, value) for key, value in _COPIES.items()}
    different = [key for key in _COPIES if true[key] != copies[key]]
    if different:
        notes.append(
            f"flightgoggles_pid has other values than {UAV}, which scales the gains: "
            + ", ".join(f"{key} {copies[key]:g} (vehicle: {true[key]:g})" for key in different)
        )
    controller, thrust_scale = _scaled(vehicle, copies, true)
    return vehicle.replace(rate_controller=controller), thrust_scale


def _scaled(
    vehicle: VehicleParameters, copies: dict[str, float], true: dict[str, float]
) -> tuple[dict[str, Any], float]:
    """The gains of a controller that has the vehicle's parameters and acts as the published one."""
    ratio = {key: copies[key] / true[key] for key in _COPIES}
    lever = ratio["moment_arm"] * ratio["thrust_coefficient"]
    scales = (
        ratio["vehicle_inertia_xx"] / lever,
        ratio["vehicle_inertia_yy"] / lever,
        ratio["vehicle_inertia_zz"] / ratio["torque_coefficient"],
    )
    changes: dict[str, Any] = dict(PUBLISHED_CONTROLLER)
    for name in ("proportional", "integral", "derivative"):
        gains = getattr(vehicle.rate_controller, name)
        changes[name] = tuple(g * s for g, s in zip(gains, scales, strict=True))
    return changes, 1.0 / ratio["thrust_coefficient"]


Settings = TypeVar("Settings", UavSettings, CarSettings)


def started(settings: Settings, start: Sequence[float] | None) -> Settings:
    """The settings with a start at x, y, z [m] and yaw [rad]; a car has no z."""
    if start is None:
        return settings
    x, y, z, yaw = numbers({"start": start}, "start", (0.0,) * 4)
    if isinstance(settings, CarSettings):
        return replace(settings, position=(x, y), heading=yaw)
    return replace(settings, position=(x, y, z), attitude=_rotation.about_z(yaw))
