"""The rate controller and its parts, commands of the outer loops, linear and symbolic models."""

from __future__ import annotations

from propwash._core import AttitudeThrust, Pid, PositionCommand, TrajectoryCommand, VelocityCommand
from propwash.control._casadi import CasadiModel, casadi_model
from propwash.control._controllers import (
    Allocation,
    Discretisation,
    LowPass,
    RateController,
    RotorCommand,
    Wrench,
)
from propwash.control._linearize import LinearModel, linearize
from propwash.vehicle.outer_loops import OuterLoops

__all__ = [
    "Allocation",
    "AttitudeThrust",
    "CasadiModel",
    "Discretisation",
    "LinearModel",
    "LowPass",
    "OuterLoops",
    "Pid",
    "PositionCommand",
    "RateController",
    "RotorCommand",
    "TrajectoryCommand",
    "VelocityCommand",
    "Wrench",
    "casadi_model",
    "linearize",
]
