"""From a reference to what the vehicle must do for it: attitude, rates, thrust, rotor thrusts.

A multicopter is differentially flat (Mellinger and Kumar, "Minimum snap trajectory generation and
control for quadrotors", ICRA 2011): position and yaw over time tell all of its state and inputs.
Drag is taken in as well; with linear rotor drag as in Faessler, Franchi and Scaramuzza,
"Differential flatness of quadrotor dynamics subject to rotor drag", RA-L 2018, for one coefficient
across the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash._checks import ParameterError
from propwash.control import Allocation
from propwash.trajectories._reference import Reference
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flatness:
    """What a reference asks of a vehicle: T rows, of n vehicles (T, n, …)."""

    attitude: Array
    """(T, 4) unit quaternions, scalar first: body to world; without leaps of sign."""
    body_rates: Array
    """(T, 3) rad/s, body frame."""
    angular_acceleration: Array
    """(T, 3) rad/s^2, body frame."""
    thrust: Array
    """(T,) N, of all rotors, along body z."""
    torque: Array
    """(T, 3) N m, of the rotors, body frame."""
    rotor_thrusts: Array
    """(T, N) N; beyond what the rotors can give where the reference asks for it."""
    rotor_speeds: Array
    """(T, N) rad/s, at which they give it; negative for a negative thrust."""


def flatness(
    reference: Reference, vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles"
) -> Flatness:
    """What a reference asks of a vehicle, in air at rest.

    The rotors' momentum and lag, and command delays, are not in it; of the linear rotor drag across
    the body the mean of both axes is taken. Rows in free fall, or with the body's x axis vertical,
    have no attitude: theirs is NaN.

    Raises ParameterError for a vehicle whose rotors cannot give torque about each axis.
    """
    parameters = vehicles.load(vehicle)
    body = parameters.body
    force, force_rate, force_second = specific_forces(reference, parameters)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = _norm(force)
        z, z_rate, z_second = _directions(force, force_rate, force_second, size)
        x, y = _axes(z, reference.yaw)
        rates, angular = _turning(x, y, z, z_rate, z_second, reference)
    turn = np.stack([x, y, z], axis=-1)
    _, across, along = _linear_drag(parameters)
    thrust = body.mass * (size + (along - across) * _dot(z, reference.velocity))

    inertia, resistance = np.asarray(body.inertia), np.asarray(parameters.drag.rotational)
    torque = angular @ inertia.T + np.cross(rates, rates @ inertia.T)
    torque += _norm(rates)[..., None] * (rates @ resistance.T)
    drift = np.einsum("...ij,...i->...j", turn, reference.velocity)
    blown = np.stack([-drift[..., 1], drift[..., 0], np.zeros_like(thrust)], axis=-1)
    torque += parameters.rotor_drag.blow_back * blown

    squares = np.concatenate([torque, thrust[..., None]], axis=-1) @ _inverse(parameters).T
    coefficients = np.array([rotor.thrust_coefficient for rotor in parameters.rotors])
    return Flatness(
        quaternions(turn),
        rates,
        angular,
        thrust,
        torque,
        coefficients * squares,
        np.sign(squares) * np.sqrt(np.abs(squares)),
    )


def _linear_drag(vehicle: VehicleParameters) -> tuple[float, float, float]:
    """1/m, 1/s, 1/s: quadratic drag over mass, linear across the body, linear along its z."""
    across = 0.5 * (vehicle.rotor_drag.linear[0] + vehicle.rotor_drag.linear[1])
    return vehicle.drag.translational / vehicle.body.mass, across, vehicle.rotor_drag.linear[2]


def specific_forces(reference: Reference, vehicle: VehicleParameters) -> tuple[Array, ...]:
    """The thrust over mass, but for its part against drag along z, and two derivatives; m/s^2 ….

    It is the acceleration that is asked for, less gravity, and what works against drag.
    """
    quadratic, linear, _ = _linear_drag(vehicle)
    v, a, j = reference.velocity, reference.acceleration, reference.jerk
    speed = _norm(v)[..., None]
    slow = np.maximum(speed, 1e-12)
    gain = _dot(v, a)[..., None] / slow
    gain_rate = (_dot(a, a) + _dot(v, j))[..., None] / slow - gain * gain / slow
    force = a - np.asarray(vehicle.body.gravity) + quadratic * speed * v + linear * v
    first = j + quadratic * (gain * v + speed * a) + linear * a
    second = quadratic * (gain_rate * v + 2.0 * gain * a + speed * j) + linear * j
    return force, first, reference.snap + second


def _directions(force: Array, first: Array, second: Array, size: Array) -> tuple[Array, ...]:
    """The unit vector along a force, and its two derivatives."""
    length = size[..., None]
    z = force / length
    grow = _dot(z, first)[..., None]
    rate = (first - grow * z) / length
    grow_rate = _dot(rate, first)[..., None] + _dot(z, second)[..., None]
    return z, rate, (second - grow_rate * z - 2.0 * grow * rate) / length


def _headed(yaw: Array) -> tuple[Array, Array]:
    """The level unit vectors at a heading and to the left of it."""
    c, s, zero = np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)
    return np.stack([c, s, zero], axis=-1), np.stack([-s, c, zero], axis=-1)


def _axes(z: Array, yaw: Array) -> tuple[Array, Array]:
    """Body x and y for body z: x in the vertical plane of the heading."""
    _, left = _headed(yaw)
    x = np.cross(left, z)
    x = x / _norm(x)[..., None]
    return x, np.cross(z, x)


def _turning(
    x: Array, y: Array, z: Array, z_rate: Array, z_second: Array, reference: Reference
) -> tuple[Array, Array]:
    """Body rates and angular acceleration, both in the body frame.

    About x and y they follow from dz/dt = W × z; about z from x staying at right angles to the
    level axis on the left of the heading.
    """
    ahead, left = _headed(reference.yaw)
    turn, turn_rate = reference.yaw_rate, reference.yaw_acceleration
    p, q = -_dot(y, z_rate), _dot(x, z_rate)
    y_left, z_left = _dot(y, left), _dot(z, left)
    x_ahead, y_ahead, z_ahead = _dot(x, ahead), _dot(y, ahead), _dot(z, ahead)
    r = (turn * x_ahead + q * z_left) / y_left
    p_rate = -_dot(y, z_second) + q * r
    q_rate = _dot(x, z_second) - p * r
    y_left_rate = p * z_left - turn * y_ahead
    z_left_rate = -p * y_left - turn * z_ahead
    x_ahead_rate = r * y_ahead - q * z_ahead
    r_rate = (
        turn_rate * x_ahead
        + turn * x_ahead_rate
        + q_rate * z_left
        + q * z_left_rate
        - r * y_left_rate
    ) / y_left
    return np.stack([p, q, r], axis=-1), np.stack([p_rate, q_rate, r_rate], axis=-1)


def _inverse(vehicle: VehicleParameters) -> Array:
    """(N, 4): signed squares of rotor speeds from torque and thrust, eq. (23)."""
    allocation = Allocation(vehicle)
    if allocation.rank < 4:
        raise ParameterError(
            f"vehicle {vehicle.name!r}: expected rotors that give torque about each axis and "
            f"thrust, got an allocation of rank {allocation.rank}"
        )
    return np.asarray(allocation.inverse)


def quaternions(turn: Array) -> Array:
    """Unit quaternions (…, 4), scalar first, of matrices (…, 3, 3); one sign along the first axis.

    Of the four forms the one that divides by the greatest part (Shepperd, 1978).
    """
    m = np.moveaxis(turn, (-2, -1), (0, 1))
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    parts = np.stack([trace, m[0, 0], m[1, 1], m[2, 2]], axis=-1)
    a, b, c = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    d, e, f = m[1, 0] + m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2]
    w, x, y, z = 1.0 + 2.0 * np.moveaxis(parts, -1, 0) - trace
    forms = np.array([[w, a, b, c], [a, x, d, e], [b, d, y, f], [c, e, f, z]])
    best = np.argmax(parts, axis=-1)
    chosen = np.take_along_axis(np.moveaxis(forms, (0, 1), (-2, -1)), best[..., None, None], -2)
    chosen = chosen[..., 0, :]
    q: Array = chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)
    if q.ndim > 1:
        flips = np.where(_dot(q[1:], q[:-1]) < 0.0, -1.0, 1.0)
        q[1:] *= np.cumprod(flips, axis=0)[..., None]
    return q


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _norm(a: Array) -> Array:
    return np.asarray(np.sqrt(_dot(a, a)))
