"""Vehicle dynamics, sensors, rate control and render client of the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)
"""

from typing import TYPE_CHECKING, Any

from propwash import frames, integrate, parameters, render, trajectories, vehicles, world
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
from propwash._fleet_parameters import FleetParameters
from propwash._fleet_sensors import FleetSensor
from propwash._fleet_types import (
    Dryden,
    FleetImuReading,
    FleetState,
    FleetTrajectory,
    SensorRecord,
    ThreadPool,
)
from propwash.car import Car, CarState, CarTrajectory
from propwash.control import Allocation, LowPass, Pid, RateController, RotorCommand, Wrench
from propwash.fleet import Fleet, build_info
from propwash.imu import Imu
from propwash.linearize import LinearModel, linearize
from propwash.multicopter import (
    DEFAULT_DT,
    ImuReading,
    Multicopter,
    MulticopterState,
    Trajectory,
)
from propwash.outer_loops import OuterLoops
from propwash.parameters import (
    BatteryParameters,
    BodyParameters,
    CarParameters,
    DragParameters,
    ImuParameters,
    LowPassParameters,
    MotorParameters,
    ParameterError,
    ProcessNoiseParameters,
    RateControllerParameters,
    RotorDragParameters,
    RotorParameters,
    VehicleParameters,
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
)
from propwash.validation import validate
from propwash.world import Scene, scene_json_schema, scene_names

if TYPE_CHECKING:
    from propwash import identify
else:

    def __getattr__(name: str) -> Any:
        """What would take a third of the time to import propwash, for those who ask for it."""
        if name == "identify":
            from importlib import import_module

            return import_module("propwash.identify")
        raise AttributeError(f"module 'propwash' has no attribute {name!r}")


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
    "Imu",
    "ImuParameters",
    "ImuReading",
    "LinearModel",
    "LowPass",
    "LowPassParameters",
    "Magnetometer",
    "MagnetometerReading",
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
    "ThreadPool",
    "Trajectory",
    "TrajectoryCommand",
    "VehicleParameters",
    "VelocityCommand",
    "Wrench",
    "__version__",
    "build_info",
    "frames",
    "identify",
    "integrate",
    "linearize",
    "parameters",
    "render",
    "scene_json_schema",
    "scene_names",
    "trajectories",
    "validate",
    "vehicles",
    "world",
]
