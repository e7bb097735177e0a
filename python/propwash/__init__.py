"""Vehicle dynamics, inertial sensors and rate control of the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, steps=960)
"""

from propwash import frames
from propwash._core import RateThrust, RotorSpeeds, SpeedYawRate, __version__
from propwash._fleet_parameters import FleetParameters
from propwash._fleet_types import Dryden, FleetImuReading, FleetTrajectory, ThreadPool
from propwash.car import Car, CarState, CarTrajectory
from propwash.car_fleet import CarFleet, CarFleetTrajectory
from propwash.control import Allocation, LowPass, Pid, RateController, RotorCommand, Wrench
from propwash.fleet import Fleet, build_info
from propwash.integrate import Vehicle, step
from propwash.multicopter import (
    DEFAULT_DT,
    ImuReading,
    Multicopter,
    MulticopterState,
    Trajectory,
)
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
    diagonal,
    json_schema,
    load,
    load_car,
    load_vehicle,
    names,
)
from propwash.validation import validate

__all__ = [
    "DEFAULT_DT",
    "Allocation",
    "BatteryParameters",
    "BodyParameters",
    "Car",
    "CarFleet",
    "CarFleetTrajectory",
    "CarParameters",
    "CarState",
    "CarTrajectory",
    "DragParameters",
    "Dryden",
    "Fleet",
    "FleetImuReading",
    "FleetParameters",
    "FleetTrajectory",
    "ImuParameters",
    "ImuReading",
    "LowPass",
    "LowPassParameters",
    "MotorParameters",
    "Multicopter",
    "MulticopterState",
    "ParameterError",
    "Pid",
    "ProcessNoiseParameters",
    "RateController",
    "RateControllerParameters",
    "RateThrust",
    "RotorCommand",
    "RotorDragParameters",
    "RotorParameters",
    "RotorSpeeds",
    "SpeedYawRate",
    "ThreadPool",
    "Trajectory",
    "Vehicle",
    "VehicleParameters",
    "Wrench",
    "__version__",
    "build_info",
    "diagonal",
    "frames",
    "json_schema",
    "load",
    "load_car",
    "load_vehicle",
    "names",
    "step",
    "validate",
]
