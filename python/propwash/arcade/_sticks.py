"""Commands of the sticks: Betaflight's rates, tilt, or velocity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _models, _rotation
from propwash.arcade._interface import Mode, Sticks
from propwash.vehicle import (
    AttitudeThrust,
    MulticopterState,
    OuterLoops,
    RateThrust,
    VehicleParameters,
    VelocityCommand,
)
from propwash.vehicle import files as vehicles
from propwash.vehicle.commands import Command

Array = NDArray[np.float64]
Triple = tuple[float, float, float]

MAX_TILT = math.radians(55.0)
"""rad, angle mode."""
MAX_SPEED = 6.0
"""m/s, horizontal, assisted mode."""
MAX_CLIMB = 3.0
"""m/s, up and down, assisted mode."""
MAX_YAW_RATE = 2.0
"""rad/s, assisted mode."""
HOVER = 0.5
"""Throttle at which the thrust is the weight, or in assisted mode the height is held."""

_CENTRE = 0.02  # deflection up to which a stick is centred
_HOLD_SPEED = (1.0, 0.3)  # m/s, horizontal and vertical, below which centred sticks hold a position
_RETURN_SPEED = 1.0  # m/s, limit on the velocity towards the held position

# of Betaflight: src/main/fc/rc.c, applyBetaflightRates()
_RATE_UNIT = 200.0  # deg/s
_RATE_STEP = 14.54  # gain on the part of rc_rate above 2
_MIN_DENOMINATOR = 0.01
_RATE_LIMIT = 1998.0  # deg/s


@dataclass(frozen=True)
class StickRates:
    """Rates of acro mode, for roll, pitch and yaw, as in Betaflight; the defaults are its own.

    With the deflection x of a stick from -1 to 1, y = x (1 - expo + expo |x|^3), and
    c = rc_rate + 14.54 max(rc_rate - 2, 0):

        rate = 200 deg/s c y / max(1 - super_rate |x|, 0.01), at most 1998 deg/s

    Raises ValueError for values out of range.
    """

    rc_rate: Triple = (1.0, 1.0, 1.0)
    """0.01 to 2.55; the slope at the centre is 200 deg/s times rc_rate (1 - expo)."""
    super_rate: Triple = (0.7, 0.7, 0.7)
    """0 to 1, increases the rate at large deflections."""
    expo: Triple = (0.0, 0.0, 0.0)
    """0 to 1, decreases the rate at small deflections."""

    def __post_init__(self) -> None:
        for name, low, high in (("rc_rate", 0.01, 2.55), ("super_rate", 0, 1), ("expo", 0, 1)):
            values = _checks.shaped(name, getattr(self, name), (3,))
            _checks.refuse_where(
                (values < low) | (values > high), name, values, 1, f"from {low} to {high}"
            )

    def of(self, sticks: Sticks) -> Triple:
        """Rates [deg/s] of roll, pitch and yaw, with the signs of the sticks."""
        roll, pitch, yaw = (self._rate(i, x) for i, x in enumerate(_deflections(sticks)))
        return roll, pitch, yaw

    @property
    def max_rates(self) -> Triple:
        """Rates [deg/s] of roll, pitch and yaw at full deflection."""
        return self.of(Sticks(1.0, 1.0, 1.0))

    def _rate(self, axis: int, deflection: float) -> float:
        size, expo, gain = abs(deflection), self.expo[axis], self.rc_rate[axis]
        curved = deflection * (1.0 - expo + expo * size**3)
        gain += _RATE_STEP * max(gain - 2.0, 0.0)
        rate = _RATE_UNIT * gain * curved
        rate /= max(1.0 - self.super_rate[axis] * size, _MIN_DENOMINATOR)
        return max(-_RATE_LIMIT, min(_RATE_LIMIT, rate))


class StickMap:
    """Converts positions of the sticks to commands of a vehicle.

    | mode | roll, pitch | yaw | throttle |
    | --- | --- | --- | --- |
    | acro | body rates | body rate | thrust |
    | angle | tilt, at most 55 degrees | rate about the thrust axis | thrust |
    | assisted | velocity, at most 6 m/s | yaw rate, at most 2 rad/s | climb, at most 3 m/s |

    Positive roll moves to the right, positive pitch forwards, in axes of the heading; positive yaw
    rotates clockwise from above. The thrust is max_thrust t^e with the throttle t and
    e = log2(max_thrust / weight), so that it is the weight at t = 0.5. In assisted mode, centred
    sticks hold the position where the vehicle comes to rest, and the height.

    vehicle: a name, a TOML file or VehicleParameters. Raises ParameterError for a vehicle that
    outer loops cannot control.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters,
        rates: StickRates | None = None,
    ) -> None:
        parameters = vehicles.load(vehicle)
        self.rates = StickRates() if rates is None else rates
        self._hold_gain = OuterLoops.of(parameters).position
        self._max_thrust = parameters.max_thrust
        self._exponent = math.log(parameters.weight / parameters.max_thrust, HOVER)
        self.reset()

    def reset(self) -> None:
        """Forgets the held position."""
        self._hold: list[float | None] = [None, None, None]

    def thrust(self, throttle: float) -> float:
        """N, at a throttle from 0 to 1."""
        return float(self._max_thrust * throttle**self._exponent)

    def command(
        self, sticks: Sticks, mode: Mode, state: MulticopterState, on_ground: bool = False
    ) -> Command | None:
        """The command; None: motors stopped.

        On the ground the motors stop at throttle 0, in assisted mode up to throttle 0.5.
        """
        if mode == "assisted":
            return None if on_ground and _climb(sticks) <= 0.0 else self._velocity(sticks, state)
        self.reset()
        if on_ground and sticks.throttle == 0.0:
            return None
        thrust = self.thrust(sticks.throttle)
        roll, pitch, yaw = np.radians(self.rates.of(sticks))
        if mode == "acro":
            return RateThrust([roll, pitch, -yaw], thrust)
        return AttitudeThrust(_tilted(sticks, state), thrust, -yaw)

    def _velocity(self, sticks: Sticks, state: MulticopterState) -> VelocityCommand:
        forward, left = MAX_SPEED * sticks.pitch, -MAX_SPEED * sticks.roll
        excess = max(math.hypot(forward, left) / MAX_SPEED, 1.0)
        heading = _rotation.heading(state.attitude)
        cosine, sine = math.cos(heading) / excess, math.sin(heading) / excess
        velocity = np.array(
            [cosine * forward - sine * left, sine * forward + cosine * left, _climb(sticks)]
        )
        velocity += self._return_velocity(sticks, state)
        return VelocityCommand(velocity, yaw_rate=-MAX_YAW_RATE * sticks.yaw)

    def _return_velocity(self, sticks: Sticks, state: MulticopterState) -> Array:
        """m/s, towards the held position in the axes whose sticks are centred."""
        is_level = max(abs(sticks.roll), abs(sticks.pitch)) <= _CENTRE
        speed = math.hypot(*state.velocity[:2])
        self._hold_axes((0, 1), is_level, speed < _HOLD_SPEED[0], state)
        climbs = abs(state.velocity[2]) >= _HOLD_SPEED[1]
        self._hold_axes((2,), _climb(sticks) == 0.0, not climbs, state)
        held = [x if h is None else h for h, x in zip(self._hold, state.position, strict=True)]
        error = np.array(held) - state.position
        return np.array(_models.position_control(self._hold_gain, _RETURN_SPEED, error))

    def _hold_axes(
        self, axes: tuple[int, ...], is_centred: bool, is_slow: bool, state: MulticopterState
    ) -> None:
        for axis in axes:
            if not is_centred:
                self._hold[axis] = None
            elif self._hold[axis] is None and is_slow:
                self._hold[axis] = float(state.position[axis])


def _deflections(sticks: Sticks) -> Triple:
    return sticks.roll, sticks.pitch, sticks.yaw


def _climb(sticks: Sticks) -> float:
    """m/s, up, in assisted mode."""
    deflection = (sticks.throttle - HOVER) / HOVER
    return 0.0 if abs(deflection) <= _CENTRE else MAX_CLIMB * deflection


def _tilted(sticks: Sticks, state: MulticopterState) -> _rotation.Quaternion:
    """The attitude of angle mode: tilted in the plane of the stick, at the present heading."""
    size = math.hypot(sticks.roll, sticks.pitch)
    half = 0.5 * MAX_TILT * min(size, 1.0)
    scale = math.sin(half) / size if size > 0.0 else 0.0
    tilt = (math.cos(half), scale * sticks.roll, scale * sticks.pitch, 0.0)
    return _rotation.product(_rotation.about_z(_rotation.heading(state.attitude)), tilt)
