"""Vehicle dynamics, inertial sensors and rate control of the FlightGoggles papers.

>>> import propwash as pw
>>> uav = pw.Multicopter("blackbird", integrator="rk4", seed=1)
>>> uav.step(pw.RateThrust([0, 0, 1], thrust=9.0), dt=1 / 960, steps=960)
"""

from propwash import frames
from propwash._core import RateThrust, RotorSpeeds, SpeedYawRate, __version__
from propwash.car import Car, CarState, CarTrajectory
from propwash.control import Allocation, LowPass, Pid, RateController, RotorCommand, Wrench
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
    "CarParameters",
    "CarState",
    "CarTrajectory",
    "DragParameters",
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
    "Trajectory",
    "Vehicle",
    "VehicleParameters",
    "Wrench",
    "__version__",
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
