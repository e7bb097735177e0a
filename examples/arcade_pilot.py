"""A pilot for the arcade: flies courses with the sticks of a mode, and writes the logs.

It follows straight lines through the gates, slower near their corners. `--human` gives it the
errors of a person: it sees the vehicle 0.1 s late, moves the sticks with errors of 6 % of full
deflection, aims beside the centres of the gates, and chooses another speed in each flight.

    python examples/arcade_pilot.py --course slalom --mode acro --flights 3 --out arcade
    python -m propwash replay arcade/slalom_acro_0.csv --vehicle flightgoggles
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from propwash import arcade, logs, race
from propwash.arcade import MODES, FlightSnapshot, Game, Mode, StickMap, Sticks

Array = NDArray[np.float64]

FULL = np.array([6.0, 6.0, 2.0, 3.0])
"""Roll, pitch [m/s], yaw [rad/s] and throttle [m/s] at full deflection in assisted mode."""
MAX_TILT = math.radians(55.0)  # angle mode
GRAVITY = 9.81  # m/s^2
HELD = 4  # ticks with the same sticks
DELAY = 0.1  # s, of a person
AIM, HAND, HAND_TIME = 0.2, 0.06, 0.4  # m, fraction of full deflection, s


class Pilot:
    """Moves the sticks; call it with a snapshot every HELD ticks.

    speed: m/s, on straight lines. human: seed of the errors of a person; None: no errors.
    """

    def __init__(
        self, game: Game, mode: Mode = "assisted", speed: float = 3.0, human: int | None = None
    ) -> None:
        self.mode, self.speed = mode, speed
        self._rng = None if human is None else np.random.default_rng(human)
        if self._rng is not None:
            self.speed *= self._rng.uniform(0.85, 1.15)
        seen = 1 if human is None else 1 + round(DELAY / (HELD * arcade.TICK))
        self._seen: deque[FlightSnapshot] = deque(maxlen=seen)
        self._error = np.zeros(4)
        self._points = self._lines(game)
        steps = np.diff(self._points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        self._along = np.concatenate(([0.0], np.cumsum(lengths)))
        cosines = np.sum(steps[1:] * steps[:-1], axis=1) / (lengths[1:] * lengths[:-1])
        corners = np.interp(cosines, [0.0, 0.95, 1.0], [1.0, 2.0, 20.0])
        self._corner_speed = np.concatenate(([20.0], corners, [20.0]))
        self._place = 0.0  # m along the lines
        self._mass = game.vehicle.body.mass
        sticks = StickMap(game.vehicle)
        self._deflections = np.linspace(0.0, 1.0, 201)
        self._thrusts = [sticks.thrust(x) for x in self._deflections.tolist()]
        rates = [sticks.rates.of(Sticks(x, x, x)) for x in self._deflections.tolist()]
        self._rates = np.radians(rates).T

    def _lines(self, game: Game) -> Array:
        """Corners (k, 3): up to the start, then the route of `race`, straight at the gates."""
        start, gates = game.scene.start, race.course_gates(game.scene)
        assert start is not None
        route = race.route(start.position, gates)
        _, axes = route.axes(gates)
        points = [game.snapshot.position, np.array(start.position)]
        for k, point in enumerate(route.points(gates)[:-1]):
            forward, left, up = axes[route.gate[k]].T
            if route.is_passage[k]:
                aside = np.zeros(2) if self._rng is None else self._rng.uniform(-AIM, AIM, 2)
                points += [point - 1.2 * forward, point + aside[0] * left + aside[1] * up]
                points.append(point + 1.2 * forward)
            elif np.linalg.norm(point - points[-1]) > 0.3:
                points.append(point)
        points.append(points[-1] + 3.0 * axes[-1][:, 0])
        return np.array(points)

    def __call__(self, snapshot: FlightSnapshot) -> Sticks:
        """The sticks for the motion of a snapshot."""
        self._seen.append(snapshot)
        seen = self._seen[0]
        velocity, yaw_rate = self._desired(seen)
        if self.mode == "assisted":
            forward, left, up = level(seen.attitude, velocity)
            sticks = np.array([-left, forward, -yaw_rate, up]) / FULL
        else:
            sticks = self._thrust_sticks(seen, velocity, yaw_rate)
        if self._rng is not None:
            fraction = HELD * arcade.TICK / HAND_TIME
            noise = HAND * math.sqrt(2.0 * fraction) * self._rng.normal(size=4)
            self._error += noise - fraction * self._error
        roll, pitch, yaw, throttle = np.clip(sticks + self._error, -1.0, 1.0).tolist()
        return Sticks(roll, pitch, yaw, 0.5 + 0.5 * throttle)

    def _desired(self, seen: FlightSnapshot) -> tuple[Array, float]:
        """Velocity [m/s], world frame, and yaw rate [rad/s]."""
        ahead = self._place + np.linspace(0.0, 2.0, 41)
        distances = np.linalg.norm(self._at(ahead) - seen.position, axis=1)
        self._place = float(ahead[np.argmin(distances)])
        near = np.maximum(np.abs(self._along - self._place) - 0.5, 0.0)
        speed = min(self.speed, float((self._corner_speed + 0.8 * near).min()))
        aim = self._at(self._place + max(0.5 * speed, 0.7)) - seen.position
        velocity = speed * aim / np.linalg.norm(aim)
        velocity *= min(1.0, 2.5 / max(abs(float(velocity[2])), 1e-9))
        forward, left, _ = level(seen.attitude, aim)
        turn = math.atan2(left, forward) * min(1.0, math.hypot(forward, left))
        return velocity, min(max(1.5 * turn, -1.5), 1.5)

    def _thrust_sticks(self, seen: FlightSnapshot, velocity: Array, yaw_rate: float) -> Array:
        """Roll, pitch, yaw and throttle, each from -1 to 1, in angle and acro mode."""
        force = np.clip(2.0 * (velocity - seen.velocity), -5.0, 5.0)  # per mass, m/s^2
        force[2] += GRAVITY
        size = float(np.linalg.norm(force))
        axis = into_body(seen.attitude, force / size)
        thrust = self._mass * size * max(axis[2], 0.3)
        throttle = 2.0 * float(np.interp(thrust, self._thrusts, self._deflections)) - 1.0
        yaw = self._for_rate(2, -yaw_rate)
        if self.mode == "acro":
            roll, pitch = self._for_rate(0, -6.0 * axis[1]), self._for_rate(1, 6.0 * axis[0])
            return np.array([roll, pitch, yaw, throttle])
        forward, left, up = level(seen.attitude, force)
        aside = math.hypot(forward, left)
        scale = math.atan2(aside, up) / (MAX_TILT * max(aside, 1e-9))
        return np.array([-scale * left, scale * forward, yaw, throttle])

    def _at(self, along: Any) -> Array:
        """Points (…, 3) of the lines at distances from their start."""
        return np.stack([np.interp(along, self._along, axis) for axis in self._points.T], axis=-1)

    def _for_rate(self, axis: int, rate: float) -> float:
        """The deflection at which acro mode commands this rate [rad/s]."""
        return math.copysign(
            float(np.interp(abs(rate), self._rates[axis], self._deflections)), rate
        )


def level(attitude: Array, vector: Array) -> tuple[float, float, float]:
    """Parts of a world vector forwards and to the left of the heading, and upwards."""
    w, x, y, z = attitude
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    c, s = math.cos(yaw), math.sin(yaw)
    return c * vector[0] + s * vector[1], c * vector[1] - s * vector[0], float(vector[2])


def into_body(attitude: Array, vector: Array) -> Array:
    """A world vector in body axes."""
    axis = -attitude[1:]
    twice = 2.0 * np.cross(axis, vector)
    return np.asarray(vector + attitude[0] * twice + np.cross(axis, twice))


def fly(game: Game, pilot: Pilot, held: int = HELD) -> FlightSnapshot:
    """Flies until the end of the flight, with new sticks every `held` ticks."""
    while not game.has_ended:
        sticks = pilot(game.snapshot)
        for _ in range(held):
            game.tick(sticks, pilot.mode)
    return game.snapshot


def main() -> None:
    """Flies a course and writes the logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--course", default="alphapilot", help="default: %(default)s")
    add("--mode", choices=MODES, default="assisted", help="of the sticks (default: %(default)s)")
    add("--speed", type=float, default=3.0, help="m/s on straight lines (default: %(default)s)")
    add("--flights", type=int, default=1, help="number of flights (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the first course (default: %(default)s)")
    add("--human", action="store_true", help="with the errors of a person")
    add("--out", type=Path, help="folder of the logs")
    options = parser.parse_args()

    for seed in range(options.seed, options.seed + options.flights):
        game = Game(race.find_course(options.course), seed=seed)
        pilot = Pilot(game, options.mode, options.speed, seed if options.human else None)
        end = fly(game, pilot)
        of = len(race.course_gates(game.scene))
        text = f"seed {seed}: {len(end.passed)} of {of} gates, {end.phase}, {end.race_time:.1f} s"
        if options.out is not None and game.has_flown:
            options.out.mkdir(parents=True, exist_ok=True)
            file = options.out / f"{game.course.name}_{options.mode}_{seed}.csv"
            text += f", log {logs.write_record(file, game.record())}"
        print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except (ImportError, OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
