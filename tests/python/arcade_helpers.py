"""A pilot of the arcade for tests: moves the sticks of any mode along lines through the gates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from propwash import _rotation, race
from propwash.arcade import Game, Mode, Snapshot, StickMap, StickRates, Sticks
from propwash.arcade._sticks import MAX_CLIMB, MAX_SPEED, MAX_TILT, MAX_YAW_RATE

Array = NDArray[np.float64]

_DEFLECTIONS = np.linspace(0.0, 1.0, 201)
_THROTTLES = np.linspace(0.0, 1.0, 401)


class Pilot:
    """Follows straight lines, slower near their corners, with the heading along them.

    speed: m/s. mode: of the sticks.
    """

    def __init__(self, game: Game, mode: Mode, speed: float = 3.0) -> None:
        self.mode, self.speed = mode, speed
        self._points = _corners(game)
        steps = np.diff(self._points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        self._along = np.concatenate(([0.0], np.cumsum(lengths)))
        cosines = np.sum(steps[1:] * steps[:-1], axis=1) / (lengths[1:] * lengths[:-1])
        corners = np.interp(cosines, [0.0, 0.95, 1.0], [1.0, 2.0, 20.0])
        self._corner_speed = np.concatenate(([20.0], corners, [20.0]))
        self._place = 0.0
        self._mass = game.vehicle.body.mass
        sticks = StickMap(game.vehicle)
        self._thrusts = np.array([sticks.thrust(t) for t in _THROTTLES])
        self._rates = np.radians([StickRates().of(Sticks(x, x, x)) for x in _DEFLECTIONS])

    def __call__(self, snapshot: Snapshot) -> Sticks:
        """The sticks for the motion of a snapshot."""
        velocity, turn_rate = self._desired(snapshot)
        if self.mode == "assisted":
            yaw = _heading(snapshot.attitude)
            cosine, sine = math.cos(yaw), math.sin(yaw)
            forward = cosine * velocity[0] + sine * velocity[1]
            left = cosine * velocity[1] - sine * velocity[0]
            climb = 0.5 + 0.5 * velocity[2] / MAX_CLIMB
            return _sticks(-left / MAX_SPEED, forward / MAX_SPEED, -turn_rate / MAX_YAW_RATE, climb)
        force = np.clip(2.0 * (velocity - snapshot.velocity), -5.0, 5.0)
        force[2] += 9.81
        axes = _rotation.rotation(snapshot.attitude)
        size = float(np.linalg.norm(force))
        along_axis = max(float(force @ axes[:, 2]), 0.3 * size)
        throttle = float(np.interp(self._mass * along_axis, self._thrusts, _THROTTLES))
        if self.mode == "angle":
            yaw = _heading(snapshot.attitude)
            level = _rotation.rotation(_rotation.about_z(yaw)).T @ force
            tilt = math.atan2(math.hypot(*level[:2]), level[2]) / MAX_TILT
            scale = tilt / max(math.hypot(*level[:2]), 1e-9)
            return _sticks(
                -scale * level[1], scale * level[0], self._deflection(2, -turn_rate), throttle
            )
        axis = axes.T @ (force / size)  # desired thrust axis in body axes
        roll, pitch = self._deflection(0, -6.0 * axis[1]), self._deflection(1, 6.0 * axis[0])
        return _sticks(roll, pitch, self._deflection(2, -turn_rate), throttle)

    def _desired(self, snapshot: Snapshot) -> tuple[Array, float]:
        """Velocity [m/s], world frame, and yaw rate [rad/s]."""
        ahead = self._place + np.linspace(0.0, 2.0, 41)
        distances = np.linalg.norm(self._at(ahead) - snapshot.position, axis=1)
        self._place = float(ahead[np.argmin(distances)])
        braking = self._corner_speed + 0.8 * np.maximum(
            np.abs(self._along - self._place) - 0.5, 0.0
        )
        speed = min(self.speed, float(braking.min()))
        aim = self._at(self._place + max(0.5 * speed, 0.7)) - snapshot.position
        velocity = speed * aim / np.linalg.norm(aim)
        velocity *= min(1.0, 2.5 / max(abs(float(velocity[2])), 1e-9))
        turn = math.atan2(aim[1], aim[0]) - _heading(snapshot.attitude)
        turn = math.remainder(turn, 2.0 * math.pi) * min(1.0, math.hypot(*aim[:2]))
        return velocity, float(np.clip(1.5 * turn, -1.5, 1.5))

    def _at(self, along: NDArray[np.float64] | float) -> Array:
        return np.stack([np.interp(along, self._along, axis) for axis in self._points.T], axis=-1)

    def _deflection(self, axis: int, rate: float) -> float:
        """The deflection of a stick at which acro mode commands this rate [rad/s]."""
        return math.copysign(float(np.interp(abs(rate), self._rates[:, axis], _DEFLECTIONS)), rate)


def fly(game: Game, pilot: Pilot, period: int = 4) -> Snapshot:
    """Flies until the end of the flight, with new sticks every `period` ticks."""
    while not game.has_ended:
        sticks = pilot(game.snapshot)
        for _ in range(period):
            game.tick(sticks, pilot.mode)
    return game.snapshot


def _corners(game: Game) -> Array:
    """From the ground up to the start, and by the route of `race`, straight at the gates."""
    gates = race.course_gates(game.scene)
    assert game.scene.start is not None
    start = np.array(game.scene.start.position)
    route = race.route(start, gates)
    _, axes = route.axes(gates)
    points = [game.snapshot.position, start]
    for k, point in enumerate(route.points(gates)[:-1]):
        forward = axes[route.gate[k]][:, 0]
        if route.is_passage[k]:
            points += [point - 1.2 * forward, point, point + 1.2 * forward]
        elif np.linalg.norm(point - points[-1]) > 0.3:
            points.append(point)
    points.append(points[-1] + 3.0 * axes[-1][:, 0])
    return np.array(points)


def _heading(attitude: Array) -> float:
    w, x, y, z = attitude
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _sticks(roll: float, pitch: float, yaw: float, throttle: float) -> Sticks:
    deflections = (min(max(float(x), -1.0), 1.0) for x in (roll, pitch, yaw))
    return Sticks(*deflections, min(max(float(throttle), 0.0), 1.0))
