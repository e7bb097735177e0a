"""Flies a multicopter along a path through points: the race's pilot.

A cubic spline through the points gives the path, and what the vehicle's rotors can give decides how
fast it is flown: at every point the thrust that path, gravity and drag ask for,

    f(s) = m (p'' v^2 + p' dv/dt - g) + drag(v),

stays below a share of the greatest thrust (Bobrow, Dubowsky and Gibson, IJRR 1985, for a point
mass). A cascade holds the vehicle to it: position and velocity error to thrust vector, thrust
vector to attitude, attitude and rate error to angular acceleration, and that to the body rates
which make the rate controller of the vehicle give it. The state is taken as known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._rotation import rotation, tilts
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_SPACING = 0.1
_SMOOTHING = 0.30
_HEADING = 1.0
_TURNING = 150.0
_AWAY = 0.8
_LOOK_AHEAD = 0.03
"""s, by which motors and low-pass lag: rates and angular accelerations are asked for earlier."""


@dataclass(frozen=True)
class Limits:
    """How hard a nimble vehicle is flown; others are flown as much slower as they are less so."""

    thrust: float = 0.75
    """Share of the greatest thrust that the path may ask for."""
    speed: float = 16.0
    """m/s."""
    acceleration: float = 16.0
    """m/s^2, along the path."""


@dataclass(frozen=True)
class Gains:
    """Of the cascade, for motors that lag by 0.02 s; slower ones get less."""

    position: float = 16.0
    """1/s^2."""
    velocity: float = 7.0
    """1/s."""
    tilt: float = 250.0
    """1/s^2."""
    heading: float = 12.0
    """1/s^2."""
    tilt_rate: float = 26.0
    """1/s."""
    heading_rate: float = 6.0
    """1/s."""


class _Body:
    """What guidance knows of a vehicle."""

    def __init__(self, vehicle: VehicleParameters) -> None:
        self.mass = vehicle.body.mass
        self.against_gravity = -np.asarray(vehicle.body.gravity, dtype=np.float64)
        self._quadratic = vehicle.drag.translational / self.mass
        self._linear = float(np.mean(vehicle.rotor_drag.linear[:2]))
        self.greatest = vehicle.max_thrust
        """N, of all rotors."""
        arms = np.array([[r.position[1], r.position[0]] for r in vehicle.rotors])
        twist = [r.torque_coefficient / r.thrust_coefficient for r in vehicle.rotors]
        torques = np.abs(np.column_stack([arms, twist])).T @ vehicle.max_rotor_thrust
        self.turning = 0.35 * torques / np.diagonal(np.asarray(vehicle.body.inertia))
        """(3,) rad/s^2, most of what rotors at half thrust give about each axis."""
        lag = max(vehicle.motor_values("time_constant_up")) + vehicle.motor.command_delay
        slow = [0.02 / max(lag, 1e-6), *(self.turning[:2] / _TURNING)]
        self.agility = min(1.0, float(np.sqrt(min(slow))))
        """At most 1: less where motors are slow or turning is hard."""
        loop = vehicle.rate_controller
        gains = np.array([loop.proportional, loop.derivative])
        if not (gains[0] > 0.0).all():
            raise ValueError(
                f"vehicle {vehicle.name!r}: rate_controller.proportional = {loop.proportional}: "
                f"expected gains > 0 to fly by body rates"
            )
        # the rate loop gives dW/dt = P (W_c - W) - D dW/dt
        self.rate_lag = (1.0 + gains[1]) / gains[0]

    def drag(self, speed: float | Array) -> float | Array:
        """1/s: force = -mass * drag * velocity, where linear rotor drag is taken as isotropic."""
        return self._quadratic * speed + self._linear


@dataclass(frozen=True)
class Reference:
    """Where the vehicle is to be at times k * period, K rows, at rest at both ends."""

    period: float
    """s."""
    position: Array
    """(K, 3) m, world frame."""
    velocity: Array
    """(K, 3) m/s, world frame."""
    acceleration: Array
    """(K, 3) m/s^2, world frame."""
    attitude: Array
    """(K, 3, 3) body to world: headed along the path, then tilted until z is along the thrust."""
    rates: Array
    """(K, 3) rad/s, body frame."""
    angular_acceleration: Array
    """(K, 3) rad/s^2, body frame."""

    def __len__(self) -> int:
        return len(self.position)


def plan(
    points: Array,
    vehicle: VehicleParameters,
    period: float,
    heading: float | None = None,
    limits: Limits = Limits(),
) -> Reference:
    """A reference from rest at the first point through all (n, 3) points to rest at the last.

    heading: rad, kept at first, until the path leads that way; None: always along the path.
    """
    body = _Body(vehicle)
    path, tangent, curvature = _spline(points)
    speed = _speeds(tangent, curvature, body, limits)
    s = np.linspace(0.0, _SPACING * (len(path) - 1), len(path))
    along, rate = _timed(s, speed, period, _SMOOTHING / body.agility)

    def at(values: Array) -> Array:
        return np.stack([np.interp(along, s, column) for column in values.T], axis=1)

    direction = at(tangent)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    velocity = direction * rate[:, None]
    acceleration = at(curvature) * rate[:, None] ** 2
    acceleration += direction * np.gradient(rate, period)[:, None]
    acceleration = _averaged(acceleration, round(0.1 / body.agility / period))
    force = acceleration + body.against_gravity + body.drag(rate[:, None]) * velocity
    attitude = _attitudes(force, _headings(direction, period, heading))
    rates = _averaged(_rates(attitude, period), round(0.06 / period))
    angular = np.gradient(rates, period, axis=0)
    return Reference(period, at(path), velocity, acceleration, attitude, rates, angular)


class Pilot:
    """Body rates and thrust that keep a vehicle on a reference."""

    def __init__(
        self, reference: Reference, vehicle: VehicleParameters, gains: Gains = Gains()
    ) -> None:
        self.reference = reference
        self._body = body = _Body(vehicle)
        pace = body.agility**2
        self._position, self._velocity = pace * gains.position, body.agility * gains.velocity
        self._stiffness = pace * np.array([gains.tilt, gains.tilt, gains.heading])
        self._damping = body.agility * np.array(
            [gains.tilt_rate, gains.tilt_rate, gains.heading_rate]
        )

    def command(
        self, row: int, position: Array, velocity: Array, attitude: Array, body_rates: Array
    ) -> tuple[Array, float]:
        """(3,) rad/s and N, until the next row; after the last row it holds the end."""
        r, body = self.reference, self._body
        k = min(row, len(r) - 1)
        ahead = min(row + round(_LOOK_AHEAD / r.period), len(r) - 1)
        force = r.acceleration[k] + self._position * _bounded(r.position[k] - position, 2.0)
        force = force + self._velocity * (r.velocity[k] - velocity)
        force += body.against_gravity + body.drag(float(np.sqrt(velocity @ velocity))) * velocity
        force[2] = max(force[2], 0.1 * body.against_gravity[2])
        turned = rotation(attitude)
        towards = _minimal_turn(r.attitude[ahead][:, 2], force) @ r.attitude[ahead]
        feed = turned.T @ towards
        angular = self._stiffness * _tilt_and_heading(turned, towards)
        angular += self._damping * (feed @ r.rates[ahead] - body_rates)
        angular += feed @ r.angular_acceleration[ahead]
        rates = body_rates + body.rate_lag * np.clip(angular, -body.turning, body.turning)
        thrust = body.mass * float(force @ turned[:, 2])
        return rates, min(max(thrust, 0.0), 0.95 * body.greatest)


def _spline(points: Array) -> tuple[Array, Array, Array]:
    """Natural cubic spline over the chord length: points, tangents and curvatures by arc length."""
    chord = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(chord)])
    bend = _second_derivatives(knots, chord, points)
    u = np.linspace(0.0, knots[-1], max(2, round(4.0 * knots[-1] / _SPACING)))
    first = _evaluated(knots, chord, points, bend, u)[1]
    pace = np.linalg.norm(first, axis=1)
    lengths = np.concatenate([[0.0], np.cumsum(0.5 * (pace[1:] + pace[:-1]) * np.diff(u))])
    s = np.arange(0.0, lengths[-1], _SPACING)
    value, first, second = _evaluated(knots, chord, points, bend, np.interp(s, lengths, u))
    pace = np.linalg.norm(first, axis=1, keepdims=True)
    tangent = first / pace
    across = second - np.sum(second * tangent, axis=1, keepdims=True) * tangent
    return value, tangent, across / pace**2


def _second_derivatives(knots: Array, chord: Array, points: Array) -> Array:
    n = len(knots)
    matrix, right = np.eye(n), np.zeros((n, 3))
    slopes = np.diff(points, axis=0) / chord[:, None]
    for i in range(1, n - 1):
        matrix[i, i - 1 : i + 2] = chord[i - 1], 2.0 * (chord[i - 1] + chord[i]), chord[i]
        right[i] = 6.0 * (slopes[i] - slopes[i - 1])
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _evaluated(
    knots: Array, chord: Array, points: Array, bend: Array, u: Array
) -> tuple[Array, Array, Array]:
    i = np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(chord) - 1)
    h = chord[i][:, None]
    b = (u - knots[i])[:, None] / h
    a = 1.0 - b
    value = a * points[i] + b * points[i + 1]
    value = value + ((a**3 - a) * bend[i] + (b**3 - b) * bend[i + 1]) * h**2 / 6.0
    first = (points[i + 1] - points[i]) / h
    first = first + ((3 * b**2 - 1) * bend[i + 1] - (3 * a**2 - 1) * bend[i]) * h / 6.0
    return value, first, a * bend[i] + b * bend[i + 1]


def _speeds(tangent: Array, curvature: Array, body: _Body, limits: Limits) -> Array:
    """The fastest profile under the limits: forwards by what accelerates, backwards by what brakes.

    (S,) m/s by arc length, at rest at both ends.
    """
    most = (1.0 - (1.0 - limits.thrust) / body.agility**0.5) * body.greatest / body.mass
    bound = limits.acceleration * body.agility**2
    uphill = tangent @ body.against_gravity
    outward = curvature @ body.against_gravity
    bend = np.sum(curvature**2, axis=1)
    spare = most**2 - float(np.sum(body.against_gravity**2)) + uphill**2

    def span(i: Any, squared: Any) -> tuple[Any, Any]:
        """Middle and half of what acceleration along the path can be at a speed; NaN: too fast."""
        room = spare[i] - 2.0 * squared * outward[i] - squared**2 * bend[i]
        speed = np.sqrt(squared)
        return -uphill[i] - body.drag(speed) * speed, np.sqrt(np.where(room < 0.0, np.nan, room))

    every = np.arange(len(tangent))
    squared = np.full(len(tangent), (limits.speed * body.agility) ** 2)
    while not (fine := np.greater(sum(span(every, squared)), 0.0)).all():
        squared[~fine] *= 0.97
    squared[0] = squared[-1] = 0.0
    for i in every[:-1]:
        middle, half = span(i, squared[i])
        gain = min(middle + half, bound)
        squared[i + 1] = min(squared[i + 1], squared[i] + 2.0 * _SPACING * gain)
    for i in every[:0:-1]:
        middle, half = span(i, squared[i])
        loss = max(middle - half, -bound)
        squared[i - 1] = min(squared[i - 1], squared[i] - 2.0 * _SPACING * loss)
    return np.asarray(np.sqrt(squared))


def _timed(s: Array, speed: Array, period: float, smoothing: float) -> tuple[Array, Array]:
    """Arc length and speed at even times, of a profile whose corners in time are rounded."""
    along, rate = _driven(s, speed, period)
    rate = _averaged(rate, round(smoothing / period), turned=True)
    rate[0] = rate[-1] = 0.0
    return _driven(s, np.maximum(np.interp(s, along, rate), 0.0), period)


def _driven(s: Array, speed: Array, period: float) -> tuple[Array, Array]:
    """Arc length and speed at even times, at constant acceleration from place to place."""
    way = np.diff(s)
    taken = way / np.maximum(0.5 * (speed[1:] + speed[:-1]), 0.05)
    time = np.concatenate([[0.0], np.cumsum(taken)])
    even = np.arange(0.0, time[-1], period)
    i = np.clip(np.searchsorted(time, even, side="right") - 1, 0, len(way) - 1)
    since, start = even - time[i], speed[i]
    gain = (speed[i + 1] - start) / taken[i]
    return s[i] + (start + 0.5 * gain * since) * since, start + gain * since


def _averaged(values: Array, window: int, turned: bool = False) -> Array:
    """Weighted means over about `window` rows; beyond the ends values are held, or turned over."""
    half = max(1, window // 2)
    weights = np.hanning(2 * half + 3)[1:-1]
    weights /= weights.sum()
    columns = values.reshape(len(values), -1)
    if turned:
        padded = np.pad(columns, ((half, half), (0, 0)), mode="reflect", reflect_type="odd")
    else:
        padded = np.pad(columns, ((half, half), (0, 0)), mode="edge")
    smooth = [np.convolve(column, weights, mode="valid") for column in padded.T]
    return np.stack(smooth, axis=1).reshape(values.shape)


def _headings(direction: Array, period: float, first: float | None) -> Array:
    """rad, (K,): towards the path, smoothly; held where the path is all but vertical."""
    every = np.arange(len(direction))
    level = np.linalg.norm(direction[:, :2], axis=1) > 0.3
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    if first is not None:
        away = np.abs(np.angle(np.exp(1j * (angle - first))))
        until = every[level & (away < _AWAY)][:1]
        kept = every < (until[0] if len(until) else 0)
        angle, level = np.where(kept, first, angle), level | kept
    if not level.any():
        return np.zeros(len(direction))
    angle = np.interp(every, every[level], np.unwrap(angle[level]))
    return _averaged(angle, round(_HEADING / period))


def _attitudes(force: Array, heading: Array) -> Array:
    """(K, 3, 3): turned to the heading while level, then tilted so that z is along the force."""
    c, s, zero, one = (
        np.cos(heading),
        np.sin(heading),
        np.zeros_like(heading),
        np.ones_like(heading),
    )
    level = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]]), -1, 0)
    return np.asarray(tilts(force / np.linalg.norm(force, axis=1, keepdims=True)) @ level)


def _rates(attitude: Array, period: float) -> Array:
    """(K, 3) rad/s, body frame, by central differences."""
    before = np.concatenate([attitude[:1], attitude[:-1]])
    after = np.concatenate([attitude[1:], attitude[-1:]])
    turn = np.einsum("kji,kjl->kil", before, after)
    sine = 0.5 * np.stack(
        [
            turn[:, 2, 1] - turn[:, 1, 2],
            turn[:, 0, 2] - turn[:, 2, 0],
            turn[:, 1, 0] - turn[:, 0, 1],
        ],
        axis=1,
    )
    return np.asarray(sine / (2.0 * period))


def _bounded(vector: Array, most: float) -> Array:
    length = float(np.sqrt(vector @ vector))
    return vector if length <= most else vector * (most / length)


def _minimal_turn(start: Array, end: Array) -> Array:
    """The rotation matrix that takes the direction of one vector to another's by the least turn."""
    ax, ay, az = (start / np.sqrt(start @ start)).tolist()
    bx, by, bz = (end / np.sqrt(end @ end)).tolist()
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    c = ax * bx + ay * by + az * bz
    k = 1.0 / max(1.0 + c, 1e-6)
    return np.array(
        [
            [c + k * x * x, k * x * y - z, k * x * z + y],
            [k * x * y + z, c + k * y * y, k * y * z - x],
            [k * x * z - y, k * y * z + x, c + k * z * z],
        ]
    )


def _tilt_and_heading(body: Array, towards: Array) -> Array:
    """rad, body frame: the turn of the thrust axis, and about it what then is left."""
    axis = body.T @ towards[:, 2]
    sine = math.hypot(axis[0], axis[1])
    scale = math.atan2(sine, axis[2]) / max(sine, 1e-9)
    tilted = _minimal_turn(body[:, 2], towards[:, 2]) @ body
    left = tilted.T @ towards[:, 0]
    return np.array([-axis[1] * scale, axis[0] * scale, math.atan2(left[1], left[0])])
