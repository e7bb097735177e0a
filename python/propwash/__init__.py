"""Vehicle dynamics, sensors, control and rendering, after the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)

Subpackages are imported on first use of one of their names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from propwash import (
        control,
        datasets,
        fleet,
        frames,
        identify,
        integrate,
        lcm,
        logs,
        race,
        render,
        ros,
        sensors,
        trajectories,
        tune,
        vehicle,
        viz,
        world,
    )
    from propwash._checks import ParameterError
    from propwash._core import (
        AttitudeThrust,
        PositionCommand,
        RateThrust,
        RotorSpeeds,
        SpeedYawRate,
        TrajectoryCommand,
        VelocityCommand,
        __version__,
    )
    from propwash.control import (
        Allocation,
        LinearModel,
        LowPass,
        Pid,
        RateController,
        RotorCommand,
        Wrench,
        linearize,
    )
    from propwash.fleet import (
        Dryden,
        Fleet,
        FleetImuReading,
        FleetParameters,
        FleetSensor,
        FleetState,
        FleetTrajectory,
        SensorRecord,
        ThreadPool,
        build_info,
    )
    from propwash.sensors import (
        Barometer,
        BarometerReading,
        BeaconReading,
        Beacons,
        Camera,
        CollisionReading,
        CollisionSensor,
        DepthCamera,
        DepthReading,
        Gnss,
        GnssReading,
        Magnetometer,
        MagnetometerReading,
        Pixels,
        RangeFinder,
        RangeReading,
        Sensor,
        StereoError,
    )
    from propwash.vehicle import (
        DEFAULT_DT,
        BatteryParameters,
        BodyParameters,
        Car,
        CarParameters,
        CarState,
        CarTrajectory,
        ContactParameters,
        DragParameters,
        GroundEffectParameters,
        Imu,
        ImuParameters,
        ImuReading,
        InflowParameters,
        LowPassParameters,
        MotionEstimate,
        MotorParameters,
        Multicopter,
        MulticopterState,
        OuterLoops,
        ProcessNoiseParameters,
        RateControllerParameters,
        RotorDragParameters,
        RotorParameters,
        Trajectory,
        VehicleParameters,
        parameters,
        validate,
    )
    from propwash.vehicle import files as vehicles
    from propwash.world import Scene, scene_json_schema, scene_names

__all__ = [
    "DEFAULT_DT",
    "Allocation",
    "AttitudeThrust",
    "Barometer",
    "BarometerReading",
    "BatteryParameters",
    "BeaconReading",
    "Beacons",
    "BodyParameters",
    "Camera",
    "Car",
    "CarParameters",
    "CarState",
    "CarTrajectory",
    "CollisionReading",
    "CollisionSensor",
    "ContactParameters",
    "DepthCamera",
    "DepthReading",
    "DragParameters",
    "Dryden",
    "Fleet",
    "FleetImuReading",
    "FleetParameters",
    "FleetSensor",
    "FleetState",
    "FleetTrajectory",
    "Gnss",
    "GnssReading",
    "GroundEffectParameters",
    "Imu",
    "ImuParameters",
    "ImuReading",
    "InflowParameters",
    "LinearModel",
    "LowPass",
    "LowPassParameters",
    "Magnetometer",
    "MagnetometerReading",
    "MotionEstimate",
    "MotorParameters",
    "Multicopter",
    "MulticopterState",
    "OuterLoops",
    "ParameterError",
    "Pid",
    "Pixels",
    "PositionCommand",
    "ProcessNoiseParameters",
    "RangeFinder",
    "RangeReading",
    "RateController",
    "RateControllerParameters",
    "RateThrust",
    "RotorCommand",
    "RotorDragParameters",
    "RotorParameters",
    "RotorSpeeds",
    "Scene",
    "Sensor",
    "SensorRecord",
    "SpeedYawRate",
    "StereoError",
    "ThreadPool",
    "Trajectory",
    "TrajectoryCommand",
    "VehicleParameters",
    "VelocityCommand",
    "Wrench",
    "__version__",
    "build_info",
    "control",
    "datasets",
    "fleet",
    "frames",
    "identify",
    "integrate",
    "lcm",
    "linearize",
    "logs",
    "parameters",
    "race",
    "render",
    "ros",
    "scene_json_schema",
    "scene_names",
    "sensors",
    "trajectories",
    "tune",
    "validate",
    "vehicle",
    "vehicles",
    "viz",
    "world",
]

_MODULES = {
    "datasets": "datasets",
    "frames": "frames",
    "identify": "identify",
    "integrate": "integrate",
    "lcm": "lcm",
    "logs": "logs",
    "parameters": "vehicle.parameters",
    "race": "race",
    "render": "render",
    "ros": "ros",
    "trajectories": "trajectories",
    "tune": "tune",
    "vehicles": "vehicle.files",
    "viz": "viz",
}
_PACKAGES = ("vehicle", "fleet", "world", "control", "sensors")
"""Subpackages whose names are also names of propwash, in import order."""


def __getattr__(name: str) -> Any:
    """Imports a module, or a name of one of the subpackages."""
    if name in _MODULES or name in _PACKAGES:
        value: Any = import_module(f"propwash.{_MODULES.get(name, name)}")
    elif name in __all__:
        packages = (import_module(f"propwash.{package}") for package in _PACKAGES)
        value = next(vars(each)[name] for each in packages if name in each.__all__)
    else:
        raise AttributeError(f"module 'propwash' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
