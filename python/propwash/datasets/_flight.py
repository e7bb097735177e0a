"""The simulated flight that a data set records: a path from rest, at 1800 steps a second."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash import _checks, _rotation
from propwash.trajectories import Path, Reference, Repeated
from propwash.vehicle.multicopter import Multicopter, Trajectory
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]
Progress = Callable[[float], None]
"""Is called with the completed fraction."""

STEP_RATE = 1800
"""Hz; a multiple of the rates of pose (360), cameras (120, 60, 20) and IMU (100, 200)."""
REST = 3.0
"""s, hover at the start of the path before the flight."""
MAX_DURATION = 3600.0
"""s; a recording takes 0.5 MB for each second."""
_RAMP_ACCELERATION = 2.0
"""m/s^2, mean, of the start and the stop."""
_FULL_SPEED = 0.95
"""Fraction of the maximum speed that a flight should reach."""
_SAMPLES = 4000
"""Samples of a lap for its fastest point."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A flight: the state after every step, and the reference."""

    motion: Trajectory
    """One row for each step, at its end."""
    reference: Reference
    """At the same times; (T, …)."""
    vehicle: VehicleParameters

    def rows(self, rate: float) -> NDArray[np.intp]:
        """Rows nearest to the times k / rate, k = 1, 2, …; evenly spaced if `rate` divides 1800."""
        count = int(len(self.motion) * rate / STEP_RATE + 1e-9)
        steps = np.rint(np.arange(1, count + 1) * (STEP_RATE / rate)).astype(np.intp)
        return np.asarray(steps - 1)

    def imu(self, rate: int, first: int = 0) -> tuple[Array, Array, Array]:
        """Times (k,) [s], gyroscope (k, 3) [rad/s] and accelerometer (k, 3) [m/s^2] at `rate` [Hz].

        A reading is the mean of the readings of the steps in one period, from row `first` on, and
        its time is the mean of theirs: it has the noise density of the IMU and no delay.
        """
        steps = STEP_RATE // rate
        count = (len(self.motion) - first) // steps
        rows = slice(first, first + count * steps)

        def mean(values: Array) -> Array:
            groups = values[rows].reshape(count, steps, *values.shape[1:])
            return np.asarray(groups.mean(axis=1))

        return (
            mean(self.motion.time),
            mean(self.motion.angular_rate),
            mean(self.motion.specific_force),
        )


def check_duration(duration: float, speed: float) -> float:
    """The time [s] of the start, and of the stop, of a flight at a maximum speed [m/s].

    duration: s, of the whole flight. Raises ValueError if it is too short for them, or too long.
    """
    ramp = max(2.0, speed / _RAMP_ACCELERATION)
    minimum = REST + 2.0 * ramp
    _checks.number(
        "duration",
        duration,
        f"{minimum:g} to {MAX_DURATION:g} s: {REST:g} s of rest, and start and stop of {ramp:g} s",
        lambda x: minimum <= x <= MAX_DURATION,
    )
    return ramp


def full_speed_duration(path: Path, ramp: float) -> float:
    """The shortest duration [s] of a flight with 95 % of the maximum speed between start and stop.

    path: one lap. ramp: s, of the start and of the stop. The start ends half a ramp along the lap,
    and the stop begins when the next fast part of the lap is reached.
    """
    time = np.linspace(0.0, path.duration, _SAMPLES)
    speed = np.linalg.norm(path.sample(time).velocity, axis=1)
    fast = time[speed >= _FULL_SPEED * speed.max()]
    return REST + 2.0 * ramp + float(((fast - 0.5 * ramp) % path.duration).min())


def fly(
    path: Path,
    speed: float,
    vehicle: VehicleParameters,
    duration: float,
    seed: int = 0,
    extra_steps: int = 0,
) -> Recording:
    """Flies a closed path with the incremental (INDI) tracking controller and process noise.

    speed: m/s, maximum of the path. duration: s, total: 3 s of hover at the start, then the path
    again and again, with a smooth start and stop. extra_steps: steps of hover after it. Warns if
    the duration is too short for the speed. Raises ValueError for a duration without time for
    start and stop, and if the vehicle does not follow the path.
    """
    ramp = check_duration(duration, speed)
    time = np.arange(1, round(duration * STEP_RATE) + extra_steps + 1) / STEP_RATE
    course = Repeated(path, duration - REST, ramp)
    reference = course.sample(time - REST)
    fastest = float(np.linalg.norm(reference.velocity, axis=1).max())
    if fastest < _FULL_SPEED * speed:
        warnings.warn(
            f"duration = {duration:g} s: the flight reaches {fastest:.2f} m/s of {speed:g} m/s; "
            f"use at least {math.ceil(10.0 * full_speed_duration(path, ramp)) / 10.0:g} s",
            stacklevel=3,
        )
    uav = Multicopter(vehicle, seed=seed)
    first = reference[0]
    uav.reset(position=first.position, attitude=_rotation.about_z(float(first.yaw)))
    motion = uav.rollout(reference.command("indi"), 1.0 / STEP_RATE)
    error = np.linalg.norm(motion.position - reference.position, axis=1)
    worst = int(np.argmax(error))
    if not error[worst] < 1.0:
        raise ValueError(
            f"speed: expected one at which {vehicle.name} follows the path, got {speed:g} m/s: "
            f"{error[worst]:.2f} m from it at {time[worst]:.1f} s; fly slower"
        )
    return Recording(motion, reference, vehicle)
