"""Reads the published parameter files of FlightGoggles: drone.yaml, car.yaml and their kin.

FlightGoggles gives the variance of a measurement at 960 Hz; here noise is a density, so a variance
is multiplied by 1/960 s and the root taken. Bias walks are intensities there: the root is taken.
Its rotors stand at (+l, +l), (-l, +l), (-l, -l), (+l, -l) and turn counter-clockwise, clockwise and
so on. Keys that a file leaves out have the published defaults, those of
`vehicles.load("flightgoggles")`.
"""

from __future__ import annotations

import math
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from propwash import _core, _files
from propwash._checks import ParameterError, nearest, refusal, shown
from propwash.vehicle import fields as values
from propwash.vehicle import parameters as p

__all__ = ["PUBLISHED_CONTROLLER", "import_flightgoggles"]

RATE = 960.0
"""Hz, at which FlightGoggles samples its IMU noise."""

PUBLISHED_CONTROLLER: dict[str, Any] = {
    "discretisation": "backward_euler",
    "gyroscopic_term": False,
}
"""What `replace(rate_controller=...)` takes to make the controller that of the published node."""

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

# keys that are no parameters of the vehicle: start, clock, switches, sensors, outer loops
_ELSEWHERE = {
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
    """The vehicle of a FlightGoggles parameter file; `name` is the file's own by default.

    A file with `flightgoggles_car_dynamics` is a car, any other a multicopter. Needs pyyaml, the
    extra `propwash[yaml]`. Raises ParameterError for an unknown key or a wrong value. Warns where
    the file gives the controller a model of the vehicle that is not the vehicle: the controller
    here always knows the vehicle.

    The rate controller has an exact filter and the gyroscopic term. The published node has neither;
    `vehicle.replace(rate_controller=PUBLISHED_CONTROLLER)` is as published.
    """
    file = Path(path)
    sections = _read(file)
    try:
        is_car = "flightgoggles_car_dynamics" in sections
        known = _CAR if is_car else _DRONE
        for section in sections:
            if section not in known and section not in _OTHER_SECTIONS:
                title = _title(section)
                raise ParameterError(f"unknown section {title}{nearest(title, known)}")
        if is_car:
            car = _car(sections, name or file.stem)
            _core.validate_car(car)
            return car
        vehicle = _multicopter(sections, name or file.stem)
        _core.validate_vehicle(vehicle)
        return vehicle
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'FlightGoggles files need pyyaml: pip install "propwash[yaml]"', name="yaml"
        ) from error

    class Loader(yaml.SafeLoader):
        """Gives errors of dates and integers the place that other errors have."""

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
    """The numbers of a section, with defaults; refuses keys that FlightGoggles does not have."""
    given = sections.get(section, {})
    if not isinstance(given, dict):
        raise refusal(section, given, "a section with keys")
    ignored = (*more, *_ELSEWHERE.get(section, "").split())
    found = dict(known)
    for key, value in given.items():
        if key in known:
            found[key] = values.number(_yaml_number(value), f"{section}.{key}")
        elif key not in ignored:
            title = _title(key)
            hint = nearest(title, known) or "; FlightGoggles has no such parameter"
            raise ParameterError(f"unknown key {section}.{title} = {shown(value)}{hint}")
    return found


def _title(key: object) -> str:
    """A key for a message: those of YAML need not be texts."""
    return key[:80] if isinstance(key, str) else shown(key)


def _yaml_number(value: object) -> object:
    """YAML 1.1 takes 1e-7, without a point, for a text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _variance_to_density(variance: float, key: str) -> float:
    if variance < 0.0:
        raise refusal(key, variance, "a variance >= 0")
    return math.sqrt(variance / RATE)


def _root(intensity: float, key: str) -> float:
    if intensity < 0.0:
        raise refusal(key, intensity, "an intensity or variance >= 0")
    return math.sqrt(intensity)


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
    given = _section(sections, section, _DRONE[section])
    fields: dict[str, Any] = {}
    for sensor in ("accelerometer", "gyroscope"):
        for key, field, convert in (
            ("variance", "noise_density", _variance_to_density),
            ("biasprocess", "bias_walk", _root),
            ("biasinitvar", "bias_initial", _root),
        ):
            name = f"{sensor}_{key}"
            fields[f"{sensor}_{field}"] = convert(given[name], f"{section}.{name}")
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
    """The published controller has its own copy of some parameters of the vehicle."""
    if not isinstance(pid, dict):
        return
    for key in _COPIES:
        if key in pid and _yaml_number(pid[key]) != dynamics[key]:
            warnings.warn(
                f"flightgoggles_pid.{key} = {shown(pid[key])} is ignored: the controller "
                f"takes {dynamics[key]!r}, that of flightgoggles_uav_dynamics",
                stacklevel=4,
            )


def _car(sections: dict[str, Any], name: str) -> p.CarParameters:
    section = "flightgoggles_car_dynamics"
    given = _section(sections, section, _CAR[section], more=_CAR_NOISE)
    noise: object = (0.001, 0.001)
    for key in _CAR_NOISE:
        noise = sections[section].get(key, noise)
    return p.CarParameters(
        name=name,
        speed_min=given["min_speed"],
        speed_max=given["max_speed"],
        yaw_rate_limit=given["max_steering_angle"],
        process_noise=values.vector2(noise, f"{section}.{_CAR_NOISE[0]}"),
    )
