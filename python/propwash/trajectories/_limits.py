"""Limits on motion and rotor thrusts, and what a reference requires of them."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, control
from propwash._checks import checked_parameters
from propwash.trajectories._flatness import flatness
from propwash.trajectories._reference import Reference
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Limits on the motion and on the rotor thrusts that a path requires."""

    thrust: float = 0.8
    """Maximum thrust of each rotor, as a fraction of the thrust at its maximum speed."""
    rates: tuple[float, float, float] = (8.0, 8.0, 3.0)
    """rad/s, maximum about each body axis."""
    speed: float = np.inf
    """m/s, maximum."""
    tilt: float = 1.2
    """rad, maximum angle of the thrust axis to the vertical; the outer loops track up to 1.35."""
    rotor_thrust_min: float = 0.15
    """Minimum thrust of each rotor, from 0 (at minimum motor speed) to 1 (in hover). The margin
    above 0 is available to attitude control, where noise alone uses up to 0.07 (one standard
    deviation)."""
    vertical_thrust_min: float = 0.3
    """Minimum vertical component of the thrust, as a fraction of the weight. The outer loops
    command at least 0.2; the margin allows them to correct the acceleration by 1 m/s^2."""

    @checked_parameters()
    def __post_init__(self) -> None:
        rates = _checks.numeric("limits.rates", self.rates, "3 numbers [rad/s]").astype(np.float64)
        if rates.shape not in ((), (3,)):
            raise ValueError(f"limits.rates: expected 3 numbers [rad/s], got {self.rates!r:.100}")
        for name in ("thrust", "speed", "tilt", "rotor_thrust_min", "vertical_thrust_min"):
            _checks.numeric(f"limits.{name}", getattr(self, name), "a number")
        rates = np.broadcast_to(rates, 3)
        object.__setattr__(self, "rates", tuple(map(float, rates)))
        if not 0.0 < self.thrust <= 1.0:
            raise ValueError(
                f"limits.thrust: expected a fraction in (0, 1], got {self.thrust!r:.100}"
            )
        if not 0.0 <= self.rotor_thrust_min < 1.0:
            raise ValueError(
                f"limits.rotor_thrust_min: expected a fraction in [0, 1), got "
                f"{self.rotor_thrust_min!r:.100}"
            )
        if not self.vertical_thrust_min < 1.0:  # a negative value allows downward thrust
            raise ValueError(
                f"limits.vertical_thrust_min: expected a fraction < 1 of the weight, got "
                f"{self.vertical_thrust_min!r:.100}"
            )
        if not (rates > 0.0).all() or not self.speed > 0.0:
            raise ValueError(
                f"limits: expected rates [rad/s] and speed [m/s] > 0, got {self.rates} and "
                f"{self.speed}"
            )
        if not 0.0 < self.tilt <= np.pi:
            raise ValueError(f"limits.tilt: expected an angle in (0, pi] rad, got {self.tilt!r}")

    def check_hover(self, vehicle: VehicleParameters) -> None:
        """Raises ValueError if the vehicle cannot hover within the limits."""
        hover = vehicle.weight / vehicle.max_thrust
        if not self.thrust > hover:
            raise ValueError(
                f"limits.thrust = {self.thrust:g}: expected more than {hover:.3g}, with which the "
                f"vehicle hovers; raise it, or use a vehicle with more thrust"
            )


ROTOR_LIMITS = Limits(
    thrust=1.0,
    rates=(np.inf, np.inf, np.inf),
    tilt=np.pi,
    rotor_thrust_min=0.0,
    vertical_thrust_min=-np.inf,
)
"""Those of the rotors alone: a path within them leaves no margin to a controller."""


@dataclass(frozen=True)
class Demand:
    """The most critical limit of a reference."""

    fraction: float
    """Required value as a fraction of the limit; above 1, the limit is exceeded."""
    limit: str
    """Name of the limit."""
    time: float
    """Time of the violation [s]."""


def demands(
    reference: Reference, vehicle: str | PathLike[str] | VehicleParameters, limits: Limits
) -> dict[str, Array]:
    """Returns the fractions (T,) of each limit that a single-vehicle reference requires, by name.

    vehicle: a name, the path of a TOML file, or VehicleParameters.

    Above 1, the limit is exceeded; infinite where no attitude is defined. Raises ParameterError as
    flatness() does.
    """
    vehicle = vehicles.load(vehicle)
    required = flatness(reference, vehicle)
    squares = required.rotor_speeds * np.abs(required.rotor_speeds)
    min_squares, max_squares = (
        np.array(speeds) * np.abs(speeds)
        for speeds in map(vehicle.motor_values, ("speed_min", "speed_max"))
    )
    hover = control.Allocation(vehicle).inverse[:, 3] * vehicle.weight
    hover_margin = (hover - min_squares) * (1.0 - limits.rotor_thrust_min)
    sin_half_tilt = np.linalg.norm(required.attitude[..., 1:3], axis=-1)
    # the outer loops limit both (O16) and (O19), which differ by rotor drag along body z
    vertical = np.minimum(
        required.thrust * (1.0 - 2.0 * sin_half_tilt**2),
        vehicle.body.mass * required.specific_force[..., 2],
    )
    weight = vehicle.weight
    with np.errstate(divide="ignore", invalid="ignore"):  # zero weight
        fall = (weight - vertical) / (weight * (1.0 - limits.vertical_thrust_min))
    fractions = {
        "thrust of a rotor": (squares / (limits.thrust * max_squares)).max(axis=-1),
        "fall of a rotor's thrust below hover": (
            (hover - squares) / np.maximum(hover_margin, 1e-9 * max_squares)
        ).max(axis=-1),
        "fall of the vertical thrust below the weight": fall,
        "body rates": np.abs(required.body_rates / limits.rates).max(axis=-1),
        "speed": np.linalg.norm(reference.velocity, axis=-1) / limits.speed,
        "tilt": 2.0 * np.arcsin(np.minimum(sin_half_tilt, 1.0)) / limits.tilt,
    }
    return {
        name: np.where(np.isfinite(fraction), fraction, np.inf)
        for name, fraction in fractions.items()
    }


def demand(reference: Reference, vehicle: VehicleParameters, limits: Limits) -> Demand:
    """Returns the most critical limit of a single-vehicle reference."""
    fractions = demands(reference, vehicle, limits)
    limit = max(fractions, key=lambda name: float(fractions[name].max()))
    row = int(np.argmax(fractions[limit]))
    return Demand(float(fractions[limit][row]), limit, float(reference.time[row]))
