"""Single vehicles: parameters and vehicle files, multicopter, car and inertial sensor."""

from __future__ import annotations

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
from propwash.vehicle import files as vehicles
from propwash.vehicle._sensors import VehicleSensor
from propwash.vehicle.car import Car, CarState, CarTrajectory
from propwash.vehicle.imu import Imu
from propwash.vehicle.multicopter import (
    DEFAULT_DT,
    ImuReading,
    Integrator,
    MotionEstimate,
    Multicopter,
    MulticopterState,
    Trajectory,
)
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import (
    BatteryParameters,
    BodyParameters,
    CarParameters,
    ContactParameters,
    DragParameters,
    GroundEffectParameters,
    ImuParameters,
    InflowParameters,
    LowPassParameters,
    MotorParameters,
    ProcessNoiseParameters,
    RateControllerParameters,
    ResidualParameters,
    RotorDragParameters,
    RotorParameters,
    VehicleParameters,
)
from propwash.vehicle.turbulence import Dryden
from propwash.vehicle.validation import validate

__all__ = [
    "DEFAULT_DT",
    "AttitudeThrust",
    "BatteryParameters",
    "BodyParameters",
    "Car",
    "CarParameters",
    "CarState",
    "CarTrajectory",
    "ContactParameters",
    "DragParameters",
    "Dryden",
    "GroundEffectParameters",
    "Imu",
    "ImuParameters",
    "ImuReading",
    "InflowParameters",
    "Integrator",
    "LowPassParameters",
    "MotionEstimate",
    "MotorParameters",
    "Multicopter",
    "MulticopterState",
    "OuterLoops",
    "ParameterError",
    "PositionCommand",
    "ProcessNoiseParameters",
    "RateControllerParameters",
    "RateThrust",
    "ResidualParameters",
    "RotorDragParameters",
    "RotorParameters",
    "RotorSpeeds",
    "SpeedYawRate",
    "Trajectory",
    "TrajectoryCommand",
    "VehicleParameters",
    "VehicleSensor",
    "VelocityCommand",
    "__version__",
    "validate",
    "vehicles",
]
