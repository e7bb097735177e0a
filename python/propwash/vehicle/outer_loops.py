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
    """Steps of the physics between two runs of a loop."""
    tilt: float
    """1/s, rates about x and y for 2 sin(angle / 2) of tilt."""
    heading: float
    """1/s, the same about z."""
    tilt_rate_limit: float
    """rad/s, of the rates about x and y together."""
    heading_rate_limit: float
    """rad/s, of the rate about z."""
    rate_gain: Triple
    """On the rate error, in addition to the rate controller's own 1."""
    velocity: Triple
    """1/s, acceleration for velocity."""
    velocity_integral: Triple
    """1/s^2, acceleration for the integral of velocity."""
    velocity_integral_bound: Triple
    """m/s^2, the integral stays within."""
    tilt_limit: float
    """rad, what velocity and position ask for at most."""
    position: Triple
    """1/s, velocity for position."""
    speed_limit: float
    """m/s, what position asks for at most."""
    thrust_min: float
    """N, what the loops command at least."""
    thrust_max: float
    """N, what the loops command at most."""
    motor_time_constant: float
    """s, of the rotors under the trajectory controllers; no longer than the motors' own."""
    tracking_position: float
    """1/s^2, gain on the position error, of the geometric and the incremental controller."""
    tracking_velocity: float
    """1/s, gain on the velocity error."""
    tracking_reach: float
    """m, a position error counts for no more."""
    tracking_attitude: Triple
    """1/s^2, gain on the attitude error."""
    tracking_rates: Triple
    """1/s, gain on the error of the rates."""
    tracking_tilt_limit: float
    """rad, of the trajectory controllers."""
    filter_stiffness: float
    """1/s^2, of the low-pass on gyroscope, accelerometer and rotors, as p of eq. (19)."""
    filter_damping: float
    """1/s, as q of eq. (19)."""
    prioritised: bool
    """Whether saturated rotors give up yaw, then thrust, then tilt; False: each is clipped."""
    backstepping: Triple
    """1/s, alpha of position, of roll and pitch, of yaw."""
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
