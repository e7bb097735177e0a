"""Vehicle dynamics, sensors, rate control and render client of the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, substeps=960)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from propwash import (
    control,
    fleet,
    frames,
    integrate,
    render,
    sensors,
    trajectories,
    vehicle,
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
)
from propwash.vehicle import files as vehicles
from propwash.vehicle import parameters
from propwash.vehicle.car import Car, CarState, CarTrajectory
from propwash.vehicle.imu import Imu
from propwash.vehicle.multicopter import (
    DEFAULT_DT,
    ImuReading,
    Multicopter,
    MulticopterState,
    Trajectory,
)
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import (
    BatteryParameters,
    BodyParameters,
    CarParameters,
    DragParameters,
    ImuParameters,
    LowPassParameters,
    MotorParameters,
    ProcessNoiseParameters,
    RateControllerParameters,
    RotorDragParameters,
    RotorParameters,
    VehicleParameters,
)
from propwash.vehicle.validation import validate
from propwash.world import Scene, scene_json_schema, scene_names

if TYPE_CHECKING:
    from propwash import identify, logs, race, tune, viz
else:

    def __getattr__(name: str) -> Any:
        """Packages that few programs need, imported where they are first used."""
        if name in ("identify", "logs", "race", "tune", "viz"):
            return import_module(f"propwash.{name}")
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
    "control",
    "fleet",
    "frames",
    "identify",
    "integrate",
    "linearize",
    "logs",
    "parameters",
    "race",
    "render",
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
