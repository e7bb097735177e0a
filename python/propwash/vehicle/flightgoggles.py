"""Imports parameter files of FlightGoggles, such as drone.yaml and car.yaml.

FlightGoggles specifies the variance of a measurement at 960 Hz; the noise density is the root of
variance / 960 Hz. Bias walks are specified as intensities, whose root is the density. The rotors
are at (+l, +l), (-l, +l), (-l, -l), (+l, -l) and turn counter-clockwise and clockwise, alternately.
Missing keys have the published defaults, those of `vehicles.load("flightgoggles")`.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from propwash import _files
from propwash._checks import ParameterError, nearest, refusal, shown
from propwash.vehicle import fields as values
from propwash.vehicle import parameters as p
from propwash.vehicle.validation import validate

__all__ = ["PUBLISHED_CONTROLLER", "import_flightgoggles"]

RATE = 960.0
"""Hz, sample rate of the IMU noise in FlightGoggles."""

PUBLISHED_CONTROLLER: dict[str, Any] = {
    "discretisation": "backward_euler",
    "gyroscopic_term": False,
}
"""Changes for `replace(rate_controller=...)` that reproduce the published controller."""

_AXES = ("roll", "pitch", "yaw")
_CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))

# section, key: published default
_DRONE: dict[str, dict[str, float]] = {
    "flightgoggles_uav_dynamics": {
        "vehicle_mass": 1.0,
        "vehicle_inertia_xx": 0.0049,
        "vehicle_inertia_yy": 0.0049,
        "vehicle_inertia_zz": 0.0069,
        "max_prop_speed": 2200.0,
        "moment_arm": 0.08,
        "motor_time_constant": 0.02,
        "motor_rotational_inertia": 6.62e-6,
        "thrust_coefficient": 1.91e-6,
        "torque_coefficient": 2.6e-7,
        "drag_coefficient": 0.1,
        "aeromoment_coefficient_xx": 0.003,
        "aeromoment_coefficient_yy": 0.003,
        "aeromoment_coefficient_zz": 0.003,
        "moment_process_noise": 1.25e-7,
        "force_process_noise": 5e-4,
    },
    "flightgoggles_imu": {
        "accelerometer_variance": 0.005,
        "gyroscope_variance": 0.003,
        "accelerometer_biasprocess": 1e-7,
        "gyroscope_biasprocess": 1e-7,
        "accelerometer_biasinitvar": 0.0,
        "gyroscope_biasinitvar": 0.0,
    },
    "flightgoggles_lpf": {"gain_p": math.nan, "gain_q": math.nan},
    "flightgoggles_pid": {
        f"{name}_{axis}": value
        for axis in _AXES
        for name, value in (("gain_p", 9.0), ("gain_i", 3.0), ("gain_d", 0.3), ("int_bound", 1e3))
    },
}
_CAR: dict[str, dict[str, float]] = {
    "flightgoggles_car_dynamics": {"max_steering_angle": 1.0, "max_speed": 5.0, "min_speed": 0.0},
}
_CAR_NOISE = ("velocity_process_noise", "vel_process_noise")

# keys that are not parameters of the vehicle: start, clock, switches, sensors, outer loops
_IGNORED = {
    "flightgoggles_uav_dynamics": (
        "init_pose clockscale ignore_collisions use_ratethrust_controller "
        "use_rungekutta4integrator reset_timeout min_arming_thrust noise_seed"
    ),
    "flightgoggles_car_dynamics": (
        "init_position init_heading clockscale ignore_collisions noise_seed"
    ),
    "flightgoggles_pid": (
        "gain_position_x gain_position_y gain_position_z gain_velocity_x gain_velocity_y "
        "gain_velocity_z gain_integrator_x gain_integrator_y gain_integrator_z gain_attitude_x "
        "gain_attitude_y gain_attitude_z thrust_direction max_acceleration max_angrate max_speed"
    ),
}
_OTHER_SECTIONS = ("flightgoggles_laser", "flightgoggles_ros_bridge", "sim_freq")
_COPIES = (
    "vehicle_inertia_xx",
    "vehicle_inertia_yy",
    "vehicle_inertia_zz",
    "moment_arm",
    "thrust_coefficient",
    "torque_coefficient",
)


def import_flightgoggles(
    path: str | PathLike[str], name: str | None = None
) -> p.VehicleParameters | p.CarParameters:
    """Imports the vehicle of a FlightGoggles parameter file; its default name is that of the file.

    A file with `flightgoggles_car_dynamics` is a car, any other a multicopter. Requires pyyaml, the
    extra `propwash[yaml]`. Raises ParameterError for unknown keys and invalid values. Warns if the
    controller section differs from the vehicle: the controller of propwash uses the parameters of
    the vehicle.

    The rate controller has an exact filter and the gyroscopic term. The published node has neither;
    `vehicle.replace(rate_controller=PUBLISHED_CONTROLLER)` reproduces it.
    """
    file = Path(path)
    sections = read_sections(file)
    try:
        is_car = "flightgoggles_car_dynamics" in sections
        known = _CAR if is_car else _DRONE
        for section in sections:
            if section not in known and section not in _OTHER_SECTIONS:
                title = _title(section)
                raise ParameterError(f"unknown section {title}{nearest(title, known)}")
        return vehicle_of(sections, name or file.stem)
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from None


def vehicle_of(sections: dict[str, Any], name: str) -> p.VehicleParameters | p.CarParameters:
    """The vehicle of the sections of a parameter file, which are nested dicts."""
    is_car = "flightgoggles_car_dynamics" in sections
    vehicle = (_car if is_car else _multicopter)(sections, name)
    validate(vehicle)
    return vehicle


def known_keys(section: str) -> tuple[str, ...]:
    """The keys of a section, also those that are not parameters of the vehicle."""
    known = _DRONE.get(section, _CAR.get(section, {}))
    more = _CAR_NOISE if section in _CAR else _COPIES if section == "flightgoggles_pid" else ()
    return (*known, *more, *_IGNORED.get(section, "").split())


def read_sections(file: Path) -> dict[str, Any]:
    """Reads a YAML file of sections, without checking their names."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'FlightGoggles files need pyyaml: pip install "propwash[yaml]"', name="yaml"
        ) from error

    class Loader(yaml.SafeLoader):
        """Adds the position in the file to errors of dates and integers."""

        def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except ValueError as error:
                where = node.start_mark
                raise yaml.constructor.ConstructorError(None, None, str(error), where) from None

    expected = "a YAML file"
    text = _files.read_text(file, expected, ParameterError)
    try:
        sections = yaml.load(text, Loader=Loader)
    except RecursionError:
        raise ParameterError(f"{file}: expected {expected}, got values nested too deeply") from None
    except yaml.YAMLError as error:
        raise ParameterError(f"{file}: expected {expected}, {error!s:.500}") from None
    if not isinstance(sections, dict):
        raise ParameterError(f"{file}: expected sections such as flightgoggles_uav_dynamics")
    return sections


def _section(
    sections: dict[str, Any], section: str, known: dict[str, float], more: tuple[str, ...] = ()
) -> dict[str, float]:
    """The numbers of a section, with defaults. Raises ParameterError for unknown keys."""
    table = sections.get(section, {})
    if not isinstance(table, dict):
        raise refusal(section, table, "a section with keys")
    ignored = (*more, *_IGNORED.get(section, "").split())
    found = dict(known)
    for key, value in table.items():
        if key in known:
            found[key] = values.number(_yaml_number(value), f"{section}.{key}")
        elif key not in ignored:
            title = _title(key)
            hint = nearest(title, known) or "; FlightGoggles has no such parameter"
            raise ParameterError(f"unknown key {section}.{title} = {shown(value)}{hint}")
    return found


def _title(key: object) -> str:
    """A key for a message; keys in YAML may have any type."""
    return key[:80] if isinstance(key, str) else shown(key)


def _yaml_number(value: object) -> object:
    """Converts numbers such as 1e-7, which are strings in YAML 1.1."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def _multicopter(sections: dict[str, Any], name: str) -> p.VehicleParameters:
    dynamics = "flightgoggles_uav_dynamics"
    d = _section(sections, dynamics, _DRONE[dynamics])
    _warn_of_copies(sections.get("flightgoggles_pid", {}), d)
    arm = d["moment_arm"]
    rotors = tuple(
        p.RotorParameters(
            position=(x * arm, y * arm, 0.0),
            spin=x * y,
            thrust_coefficient=d["thrust_coefficient"],
            torque_coefficient=d["torque_coefficient"],
            inertia=d["motor_rotational_inertia"],
        )
        for x, y in _CORNERS
    )
    return p.VehicleParameters(
        name=name,
        body=p.BodyParameters(
            mass=d["vehicle_mass"],
            inertia=p.diagonal(*(d[f"vehicle_inertia_{axis}"] for axis in ("xx", "yy", "zz"))),
        ),
        rotors=rotors,
        motor=p.MotorParameters(
            time_constant_up=d["motor_time_constant"],
            time_constant_down=d["motor_time_constant"],
            speed_max=d["max_prop_speed"],
        ),
        drag=p.DragParameters(
            translational=d["drag_coefficient"],
            rotational=p.diagonal(
                *(d[f"aeromoment_coefficient_{axis}"] for axis in ("xx", "yy", "zz"))
            ),
        ),
        process_noise=p.ProcessNoiseParameters(
            force=d["force_process_noise"], torque=d["moment_process_noise"]
        ),
        imu=_imu(sections),
        rate_controller=_rate_controller(sections),
    )


def _imu(sections: dict[str, Any]) -> p.ImuParameters:
    section = "flightgoggles_imu"
    numbers = _section(sections, section, _DRONE[section])
    fields: dict[str, Any] = {}
    for sensor in ("accelerometer", "gyroscope"):
        for key, field, rate in (
            ("variance", "noise_density", RATE),
            ("biasprocess", "bias_walk", 1.0),
            ("biasinitvar", "bias_initial", 1.0),
        ):
            name = f"{sensor}_{key}"
            if numbers[name] < 0.0:
                raise refusal(f"{section}.{name}", numbers[name], "an intensity or variance >= 0")
            fields[f"{sensor}_{field}"] = math.sqrt(numbers[name] / rate)
    return p.ImuParameters(**fields)


def _rate_controller(sections: dict[str, Any]) -> p.RateControllerParameters:
    low_pass = _section(sections, "flightgoggles_lpf", _DRONE["flightgoggles_lpf"])
    pid = _section(sections, "flightgoggles_pid", _DRONE["flightgoggles_pid"], more=_COPIES)
    published = p.LowPassParameters.butterworth(30.0)
    stiffness, damping = low_pass["gain_p"], low_pass["gain_q"]

    def gains(key: str) -> values.Vector3:
        return (pid[f"{key}_roll"], pid[f"{key}_pitch"], pid[f"{key}_yaw"])

    return p.RateControllerParameters(
        proportional=gains("gain_p"),
        integral=gains("gain_i"),
        derivative=gains("gain_d"),
        integral_bound=gains("int_bound"),
        filter=p.LowPassParameters(
            stiffness=published.stiffness if math.isnan(stiffness) else stiffness,
            damping=published.damping if math.isnan(damping) else damping,
        ),
    )


def _warn_of_copies(pid: object, dynamics: dict[str, float]) -> None:
    """Warns of parameters of the vehicle that the controller section duplicates and changes."""
    if not isinstance(pid, dict):
        return
    for key in _COPIES:
        if key in pid and _yaml_number(pid[key]) != dynamics[key]:
            warnings.warn(
                f"flightgoggles_pid.{key} = {shown(pid[key])} is ignored: the controller "
                f"uses {dynamics[key]!r} of flightgoggles_uav_dynamics",
                stacklevel=4,
            )


def _car(sections: dict[str, Any], name: str) -> p.CarParameters:
    section = "flightgoggles_car_dynamics"
    numbers = _section(sections, section, _CAR[section], more=_CAR_NOISE)
    noise: object = (0.001, 0.001)
    for key in _CAR_NOISE:
        noise = sections[section].get(key, noise)
    return p.CarParameters(
        name=name,
        speed_min=numbers["min_speed"],
        speed_max=numbers["max_speed"],
        yaw_rate_limit=numbers["max_steering_angle"],
        process_noise=values.vector2(noise, f"{section}.{_CAR_NOISE[0]}"),
    )
