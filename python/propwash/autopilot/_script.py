"""A scripted flight by the sticks: arm, take off, hold, follow the sticks, land."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.autopilot._firmware import IDLE
from propwash.autopilot._simulation import Sample, tilt
from propwash.vehicle import VehicleParameters

Array = NDArray[np.float64]
Script = Literal["hold", "sticks"]

MAX_ANGLE = math.radians(60.0)
"""rad, of a full roll or pitch stick in angle mode: Betaflight's default."""
MAX_RATE = math.radians(200.0)
"""rad/s, of a full stick in rate mode, set by our configuration file."""
_GRAVITY = 9.81
_ARMED = 0.02  # an output above it: the motors idle


@dataclass(frozen=True)
class Check:
    """One row of the result: what was expected, what was measured."""

    name: str
    """Name of the phase of the flight."""
    passed: bool
    """Whether it was as expected."""
    measured: str
    """With unit."""
    expected: str
    """With unit."""


@dataclass
class StickPositions:
    """Stick positions, -1 to 1, throttle 0 to 1, and switches; positive: right, forward, right."""

    roll: float = 0.0
    pitch: float = 0.0
    throttle: float = 0.0
    yaw: float = 0.0
    arm: bool = False
    angle: bool = True

    def channels(self) -> tuple[int, ...]:
        """Pulse widths in µs: roll, pitch, throttle, yaw, arm, angle mode."""
        levels = (self.roll, self.pitch, 2.0 * self.throttle - 1.0, self.yaw)
        switches = tuple(2000 if on else 1000 for on in (self.arm, self.angle))
        return (*(round(1500 + 500 * max(-1.0, min(1.0, level))) for level in levels), *switches)


class ScriptedFlight:
    """A pilot that flies a script and checks each part of it; `checks` is the result.

    set_channels: receives the pulse widths before each step.
    is_connected: whether the flight controller answers.
    warm_up: s from its first answer to arming, in which it calibrates the gyroscope.
    """

    def __init__(
        self,
        vehicle: VehicleParameters,
        set_channels: Callable[[tuple[int, ...]], None],
        is_connected: Callable[[], bool],
        script: Script = "sticks",
        *,
        height: float = 2.0,
        hold: float = 8.0,
        warm_up: float = 7.0,
        wait: float = 20.0,
    ) -> None:
        self.checks: list[Check] = []
        self.phase = "connect"
        self._vehicle, self._set, self._is_connected = vehicle, set_channels, is_connected
        self._script, self._height, self._hold = script, height, hold
        self._warm_up, self._wait = warm_up, wait
        self._sticks = StickPositions()
        self._sample: Sample
        self._bias, self._steered = 0.0, 0.0
        self._parts = self._fly()

    @property
    def passed(self) -> bool:
        """Whether the flight is complete and all checks passed."""
        return self.phase == "end" and all(check.passed for check in self.checks)

    def __call__(self, sample: Sample) -> bool:
        """Sets the sticks for the next step; False at the end."""
        self._sample = sample
        going = next(self._parts, None) is not None
        self._set(self._sticks.channels())
        return going

    def _check(self, name: str, passed: bool, measured: str, expected: str) -> bool:
        self.checks.append(Check(name, bool(passed), measured, expected))
        return bool(passed)

    def _for(self, seconds: float) -> Iterator[float]:
        """Yields the time since now until `seconds` have passed."""
        start = self._sample.time
        while self._sample.time - start < seconds:
            yield self._sample.time - start

    def _fly(self) -> Iterator[float]:
        for part in (self._connect, self._arm, self._take_off, self._hover):
            self.phase = part.__name__.strip("_")
            yield from part()
            if not self.checks[-1].passed:
                return
        if self._script == "sticks":
            self.phase = "sticks"
            yield from self._follow()
        self.phase = "land"
        yield from self._land()
        self.phase = "end"

    def _connect(self) -> Iterator[float]:
        for t in self._for(self._wait):
            if self._is_connected():
                measured = f"{t:.1f} s"
                break
            yield t
        else:
            self._check("answers", False, "none", f"< {self._wait:.0f} s")
            return
        yield from self._for(self._warm_up)
        answers = self._is_connected()  # one packet does not mean that its control runs
        measured += "" if answers else ", then silent"
        self._check("answers", answers, measured, f"< {self._wait:.0f} s")

    def _arm(self) -> Iterator[float]:
        for attempt in range(1, 4):
            self._sticks.arm = True
            for t in self._for(3.0):
                yield t
                if self._sample.motors.min() > _ARMED:
                    self._check("armed", True, f"attempt {attempt}, {t:.1f} s", "motors idle")
                    yield from self._for(0.5)
                    return
            self._sticks.arm = False
            yield from self._for(1.0)
        self._check("armed", False, "motors off after 3 attempts", "motors idle")

    def _take_off(self) -> Iterator[float]:
        for t in self._for(10.0):
            self._steer(min(self._height, 0.2 + 0.8 * t))
            yield t
            if self._stopped():
                break
            if abs(self._sample.position[2] - self._height) < 0.1 and t > 2.0:
                self._check("took off", True, f"{t:.1f} s", "< 10 s")
                return
        measured = f"{self._sample.position[2]:.2f} m{', motors off' if self._stopped() else ''}"
        self._check("took off", False, measured, f"{self._height:.1f} m in 10 s")

    def _hover(self) -> Iterator[float]:
        worst, drift = 0.0, 0.0
        for t in self._for(self._hold):
            self._steer(self._height)
            yield t
            if t > 3.0:
                worst = max(worst, abs(self._sample.position[2] - self._height))
                drift = max(drift, float(np.hypot(*self._sample.position[:2])))
        passed = worst < 0.3 and drift < 1.0 and not self._stopped()
        self._check("held", passed, f"{worst:.2f} m, {drift:.2f} m", "height 0.3 m, place 1 m")

    def _follow(self) -> Iterator[float]:
        """Rate mode: a positive stick on each axis turns right, nose down, clockwise."""
        signs = {"roll": (0, 1.0), "pitch": (1, 1.0), "yaw": (2, -1.0)}
        for name, (axis, sign) in signs.items():
            rates = []
            for stick in (0.2, -0.2):
                start = self._sample.time
                for t in self._for(0.5):
                    self._steer(self._height)
                    self._sticks.angle = False
                    self._sticks.roll = self._sticks.pitch = self._sticks.yaw = 0.0
                    setattr(self._sticks, name, stick)
                    yield t
                    if self._sample.time - start > 0.3:
                        rates.append(sign * self._sample.body_rates[axis] / stick)
            measured, expected = float(np.mean(rates)), MAX_RATE
            self._check(
                f"{name} stick",
                0.75 < measured / expected < 1.25,
                f"{math.degrees(measured):.0f} deg/s",
                f"{math.degrees(expected):.0f} deg/s for a full stick",
            )
            self._sticks.yaw = 0.0
            for t in self._for(4.0):
                self._steer(self._height)
                yield t
            if self._stopped():
                return

    def _land(self) -> Iterator[float]:
        start = self._sample.position[2]
        for t in self._for(start / 0.5 + 4.0):
            self._steer(start - 0.5 * t)
            yield t
            if self._sample.position[2] < 0.03:
                break
        self._sticks = StickPositions(arm=True)
        yield from self._for(0.5)
        self._sticks = StickPositions()
        yield from self._for(1.5)
        height, lean = self._sample.position[2], math.degrees(tilt(self._sample.attitude))
        is_off = self._sample.motors.max() < _ARMED
        passed = height < 0.05 and lean < 5.0 and is_off
        motors = "motors off" if is_off else "motors on"
        expected = "on the ground, upright, motors off"
        self._check("landed", passed, f"{height:.2f} m, {lean:.0f} deg, {motors}", expected)

    def _stopped(self) -> bool:
        """Whether the motors stopped in flight."""
        return bool(self._sample.motors.max() < _ARMED)

    def _steer(self, height: float) -> None:
        """Holds the height and the place above the start, in angle mode."""
        s = self._sample
        error = max(-1.0, min(1.0, height - s.position[2]))
        elapsed, self._steered = s.time - self._steered, s.time
        self._bias = max(-0.3, min(0.3, self._bias + 0.06 * error * min(elapsed, 0.02)))
        climb = 4.0 * error - 3.5 * s.velocity[2]
        hover = self._vehicle.weight / self._vehicle.max_thrust
        output = hover * (1.0 + climb / _GRAVITY)
        self._sticks.throttle = max(0.02, (output - IDLE) / (1.0 - IDLE) + self._bias)
        yaw = _rotation.yaw(s.attitude)
        east, north = -1.0 * s.position[:2] - 1.4 * s.velocity[:2]
        forward = (math.cos(yaw) * east + math.sin(yaw) * north) / _GRAVITY
        left = (-math.sin(yaw) * east + math.cos(yaw) * north) / _GRAVITY
        limit = math.radians(20.0)
        self._sticks.angle = True
        self._sticks.pitch = max(-limit, min(limit, forward)) / MAX_ANGLE
        self._sticks.roll = max(-limit, min(limit, -left)) / MAX_ANGLE
