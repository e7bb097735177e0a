"""The attitude and rate loops of PX4 and ArduPilot, for the peers: filters, limits and mixers.

Written from their published sources: PX4 1.16 (MulticopterRateControl, RateControl,
ControlAllocationPseudoInverse) and ArduCopter 4.6 (AC_PID, AP_MotorsMatrix).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class LowPass:
    """First-order low-pass filter."""

    def __init__(self, frequency: float) -> None:
        self.frequency, self.value = frequency, np.zeros(3)

    def __call__(self, value: Array, dt: float) -> Array:
        """The filtered value."""
        self.value = self.value + dt / (dt + 1 / (2 * math.pi * self.frequency)) * (
            value - self.value
        )
        return self.value


class LowPass2:
    """Second-order Butterworth low-pass filter, bilinear."""

    def __init__(self, frequency: float) -> None:
        self.frequency = frequency
        self.before = np.zeros((2, 3))

    def __call__(self, value: Array, dt: float) -> Array:
        """The filtered value."""
        o = math.tan(math.pi * self.frequency * dt)
        c = 1 + math.sqrt(2) * o + o * o
        d1, d2 = self.before
        new = value - d1 * 2 * (o * o - 1) / c - d2 * (1 - math.sqrt(2) * o + o * o) / c
        self.before = np.array([new, d1])
        return np.asarray((new + 2 * d1 + d2) * o * o / c)


class RateLoop:
    """A program's loops for three axes; its default parameters are `DEFAULTS`."""

    DEFAULTS: ClassVar[Mapping[str, float]]
    RATES: tuple[str, str, str]
    ATTITUDES: tuple[str, str, str]
    MIX: tuple[float, float, float]
    """Change of a motor's output at u = 1."""

    def __init__(self, parameters: Mapping[str, float]) -> None:
        values = {**self.DEFAULTS, **parameters}
        self.p, self.i, self.d = (
            np.array([values[f"{name}_{part}"] for name in self.RATES]) for part in "PID"
        )
        self.attitude = np.array([values[name] for name in self.ATTITUDES])
        self.integral, self.last = np.zeros(3), np.zeros(3)

    def outputs(self, wanted: Array, rates: Array, dt: float) -> Array:
        """Changes of the motors' outputs by roll, pitch and yaw. wanted, rates: rad/s, FRD."""
        raise NotImplementedError


class Px4Loop(RateLoop):
    """PX4 on a symmetric quad-x: normalised mixer."""

    DEFAULTS: ClassVar = {
        "MC_ROLLRATE_P": 0.15, "MC_ROLLRATE_I": 0.2, "MC_ROLLRATE_D": 0.003, "MC_ROLL_P": 6.5,
        "MC_PITCHRATE_P": 0.15, "MC_PITCHRATE_I": 0.2, "MC_PITCHRATE_D": 0.003, "MC_PITCH_P": 6.5,
        "MC_YAWRATE_P": 0.2, "MC_YAWRATE_I": 0.1, "MC_YAWRATE_D": 0.0, "MC_YAW_P": 2.8,
    }  # fmt: skip
    RATES = ("MC_ROLLRATE", "MC_PITCHRATE", "MC_YAWRATE")
    ATTITUDES = ("MC_ROLL_P", "MC_PITCH_P", "MC_YAW_P")
    MIX = (math.sqrt(0.5), math.sqrt(0.5), 1.0)

    def __init__(self, parameters: Mapping[str, float]) -> None:
        super().__init__(parameters)
        self.gyroscope, self.slope, self.yaw = LowPass2(40.0), LowPass(30.0), LowPass(2.0)

    def outputs(self, wanted: Array, rates: Array, dt: float) -> Array:
        filtered = self.gyroscope(rates, dt)
        slope = self.slope((filtered - self.last) / dt, dt)
        self.last = filtered
        error = wanted - filtered
        torque = self.p * error + self.integral - self.d * slope
        self.integral = np.clip(self.integral + self.i * error * dt, -0.3, 0.3)
        torque[2] = self.yaw(torque, dt)[2]
        return torque * self.MIX


class ArduPilotLoop(RateLoop):
    """ArduCopter on quad-x: factors of 0.5."""

    DEFAULTS: ClassVar = {
        "ATC_RAT_RLL_P": 0.135, "ATC_RAT_RLL_I": 0.135, "ATC_RAT_RLL_D": 0.0036,
        "ATC_RAT_PIT_P": 0.135, "ATC_RAT_PIT_I": 0.135, "ATC_RAT_PIT_D": 0.0036,
        "ATC_RAT_YAW_P": 0.18, "ATC_RAT_YAW_I": 0.018, "ATC_RAT_YAW_D": 0.0,
        "ATC_ANG_RLL_P": 4.5, "ATC_ANG_PIT_P": 4.5, "ATC_ANG_YAW_P": 4.5,
    }  # fmt: skip
    RATES = ("ATC_RAT_RLL", "ATC_RAT_PIT", "ATC_RAT_YAW")
    ATTITUDES = ("ATC_ANG_RLL_P", "ATC_ANG_PIT_P", "ATC_ANG_YAW_P")
    MIX = (0.5, 0.5, 0.5)

    def __init__(self, parameters: Mapping[str, float]) -> None:
        super().__init__(parameters)
        self.gyroscope, self.slope, self.yaw = LowPass2(20.0), LowPass(20.0), LowPass(2.5)
        self.target = LowPass(20.0)

    def outputs(self, wanted: Array, rates: Array, dt: float) -> Array:
        error = self.target(wanted, dt) - self.gyroscope(rates, dt)
        error[2] = self.yaw(error, dt)[2]
        slope = self.slope((error - self.last) / dt, dt)
        self.last = error
        self.integral = np.clip(self.integral + self.i * error * dt, -0.5, 0.5)
        return (self.p * error + self.integral + self.d * slope) * self.MIX
