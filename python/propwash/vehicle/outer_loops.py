"""Gains and limits of the outer loops: attitude, velocity, position, trajectories.

`fleet.outer_loops` and `uav.outer_loops` read and set them; `OuterLoops.of(vehicle)` returns the
defaults for a vehicle, which docs/control/outer-loops.md derives.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from propwash import _core
from propwash._checks import ParameterError
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

__all__ = ["OuterLoops"]

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class OuterLoops:
    """Gains and limits of the outer loops of a vehicle or fleet.

    Change some with `dataclasses.replace(fleet.outer_loops, interval=1)`. Triples are for x, y and
    z: body axes for rates and attitude, else world axes.
    """

    interval: int
    """Physics steps between two updates of a loop."""
    tilt: float
    """1/s, gain from 2 sin(tilt error / 2) to rates about x and y."""
    heading: float
    """1/s, gain from 2 sin(heading error / 2) to the rate about z."""
    tilt_rate_limit: float
    """rad/s, limit on the norm of the rates about x and y."""
    heading_rate_limit: float
    """rad/s, limit on the rate about z."""
    rate_gain: Triple
    """Additional gain on the rate error."""
    velocity: Triple
    """1/s, gain from velocity error to acceleration."""
    velocity_integral: Triple
    """1/s^2, gain on the integral of the velocity error."""
    velocity_integral_bound: Triple
    """m/s^2, limit of the integral term."""
    tilt_limit: float
    """rad, largest tilt of velocity and position control."""
    position: Triple
    """1/s, gain from position error to velocity."""
    speed_limit: float
    """m/s, largest speed of position control."""
    thrust_min: float
    """N, smallest thrust command."""
    thrust_max: float
    """N, largest thrust command."""
    motor_time_constant: float
    """s, of rotors with the lead of the trajectory controllers, at most that of the motors."""
    tracking_position: float
    """1/s^2, gain on the position error, geometric and incremental control."""
    tracking_velocity: float
    """1/s, gain on the velocity error."""
    tracking_reach: float
    """m, limit on the norm of the position error."""
    tracking_attitude: Triple
    """1/s^2, gain on the attitude error."""
    tracking_rates: Triple
    """1/s, gain on the rate error."""
    tracking_tilt_limit: float
    """rad, largest tilt of the trajectory controllers."""
    filter_stiffness: float
    """1/s^2, low-pass filter on gyroscope, accelerometer and rotors, p of eq. (19)."""
    filter_damping: float
    """1/s, the same filter, q of eq. (19)."""
    prioritised: bool
    """Whether saturation reduces yaw first, then thrust, then tilt; False: rotors are clipped."""
    disturbance_bandwidth: float
    """1/s, of the disturbance observer of geometric and backstepping control; 0: none."""
    backstepping: Triple
    """1/s, alpha of position; of roll and pitch; of yaw."""
    backstepping_rate: Triple
    """1/s, alpha of their derivatives."""

    @classmethod
    def of(
        cls, vehicle: str | PathLike[str] | VehicleParameters, dt: float = 1.0 / 960.0
    ) -> OuterLoops:
        """The defaults for a vehicle and steps of dt [s].

        Raises ParameterError for a vehicle that outer loops cannot control.
        """
        parameters = vehicles.load(vehicle)
        with located(vehicle):
            return cls(**_core.outer_loops_for(parameters, dt))


def as_dict(value: Any) -> dict[str, Any]:
    """The fields as a dict. Raises ParameterError for other types."""
    if not isinstance(value, OuterLoops):
        raise ParameterError(f"outer_loops: expected an OuterLoops, got {value!r:.100}")
    return vars(value)
